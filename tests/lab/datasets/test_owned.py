"""Data sets with owners: what is published of them, and what releases are compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import TWO_SIDED
from psgraph.privacy.unit import Edge, Owner
from psgraph.streams.owners import unit_of
from psgraph_lab.datasets import find_dataset, load_dataset
from psgraph_lab.datasets.riders import riders_rows
from psgraph_lab.experiments.cells import Cell
from psgraph_lab.experiments.definition import find_experiment
from psgraph_lab.experiments.runner import originals_of, run_cell_of

ROWS = {"t": [0] * 5 + [1], "u": [1, 1, 1, 2, 2, 2], "v": [2, 2, 3, 1, 3, 3]}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Rider 7 makes four trips, two of them between the same zones, rider 8 makes one a week."""
    owned = pa.table({**ROWS, "owner": [7, 7, 7, 7, 8, 8], "weight": [1] * 6})
    pq.write_table(owned, tmp_path / "nyc_trips_week.parquet")
    pq.write_table(pa.table(ROWS), tmp_path / "collegemsg_week.parquet")
    return tmp_path


def test_releases_are_compared_with_all_rows_and_made_of_those_in_use(data: Path) -> None:
    cell = Cell("trips:people-2", "psgraph-plus", "1", 5, 0)
    originals = originals_of(cell, data)
    assert [each.weight.sum() for each in originals.snapshots] == [5, 1]
    assert originals.given is not None
    assert [each.weight.sum() for each in originals.given] == [3, 1]
    assert cell.guarantee.unit == unit_of(originals.given[0]) == Owner("owner", 2, flows=True)


def test_group_privacy_is_the_same_edges_without_owners_at_a_part_of_epsilon(data: Path) -> None:
    owned = load_dataset("college-messages:people-2", directory=data)
    plain = load_dataset("college-messages:people-2-group", directory=data)
    assert [each.to_edges() for each in owned] == [each.to_edges() for each in plain]
    assert unit_of(owned[0]) is not None
    assert unit_of(plain[0]) is None
    cell = Cell("college-messages:people-2-group", "psgraph-plus", "1", 5, 0)
    assert (cell.guarantee.unit, float(cell.guarantee.epsilon)) == (Edge(), 0.5)


def test_lines_of_the_experiment_share_one_run_on_single_edges() -> None:
    people = find_experiment("people").narrowed(datasets=["trips:people-1", "trips:people-5"])
    found = {cell.dataset for cell in people.cells() if cell.epsilon == "2"}
    bounded = {f"trips:people-{most}{group}" for most in (1, 5) for group in ("", "-group")}
    assert found == bounded | {"trips:people"}
    assert len(people.cells()) == 3 * 10 * (2 * 4 + 1)


def test_a_cell_of_noise_on_tables_is_run_like_one_of_a_method(data: Path) -> None:
    outcome = run_cell_of(Cell("trips:people-1", "laplace-table", "4", 5, 0), (), data)
    assert 0 <= outcome.values["weight_cosine"] <= 1
    assert np.isnan(outcome.values["top_left_overlap"])


def test_what_has_no_owners_is_refused(data: Path) -> None:
    with pytest.raises(InvalidArgument):
        find_dataset("as-733:people-2")
    (data / "nyc_trips_week.parquet").rename(data / "original.parquet")
    pq.write_table(pa.table(ROWS), data / "trips.parquet")  # as `datasets fetch` writes it
    with pytest.raises(DataError):
        load_dataset("trips:people-2", directory=data)


def test_simulated_people_are_as_documented() -> None:
    rows = riders_rows(riders=5_000, places=40, active=0.2, timestamps=4, seed=3)
    u, v, owner = (rows[name].to_numpy() for name in ("u", "v", "owner"))
    assert (u != v).all()
    assert len(rows) == pytest.approx(4 * 5_000 * 0.2 * (1 + np.exp(0.32)), rel=0.1)
    here = rows["t"].to_numpy() == 0
    assert np.unique(owner[here]).size == pytest.approx(1_000, rel=0.1)
    # Seven in ten lead between the same two places of a rider.
    ends = np.stack([owner, np.minimum(u, v), np.maximum(u, v)])
    _, times = np.unique(ends, axis=1, return_counts=True)
    assert times[times > 1].sum() / len(rows) > 0.5
    assert rows != riders_rows(riders=5_000, places=40, active=0.2, timestamps=4, seed=4)


def test_simulated_views_have_people_on_the_left() -> None:
    first = load_dataset("simulated-views:people-1")[0]
    assert first.kind == TWO_SIDED
    assert np.bincount(first.u).max() == 1
    assert first.owner_sizes is not None
    assert first.owner_sizes.size == pytest.approx(1_040, rel=0.1)
