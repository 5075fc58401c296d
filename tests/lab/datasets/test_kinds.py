"""Directed and two-sided data sets, and what publishing them as undirected makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psgraph.graph import DIRECTED, TWO_SIDED, Roster, Snapshot, SyntheticGraph, TwoSidedRoster
from psgraph.metrics import density_error
from psgraph_lab.datasets import find_dataset, load_dataset
from psgraph_lab.datasets.jumps import SETTLED, judged_timestamps
from psgraph_lab.datasets.kinds import published_as, turned_back
from psgraph_lab.datasets.public import PUBLIC_STREAMS
from psgraph_lab.datasets.snapshots import Origin, write_parquet
from psgraph_lab.experiments.cells import Cell, run_cell
from psgraph_lab.experiments.definition import find_experiment


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Trips of two timestamps; the rows of a pair, by rider, are added up."""
    rows = {"t": [0, 0, 0, 1], "u": [1, 1, 2, 2], "v": [2, 2, 1, 3], "weight": [3, 20, 1, 2]}
    pq.write_table(pa.table(rows), tmp_path / "nyc_trips_week.parquet")
    pq.write_table(pa.table(rows), tmp_path / "movielens_week.parquet")
    return tmp_path


def test_directed_rows_of_a_pair_are_added_up(data: Path) -> None:
    first, second = load_dataset("trips", directory=data)
    assert first.kind == DIRECTED.with_weights(16)
    assert first.roster is second.roster
    assert (first.to_edges(), first.weight.tolist()) == ([(1, 2), (2, 1)], [16, 1])


def test_equal_ids_of_two_sides_are_different_nodes(data: Path) -> None:
    first, _ = load_dataset("film-ratings", directory=data)
    assert first.roster.sizes == (2, 3)
    assert first.to_edges() == [(1, 2), (2, 1)]


def test_a_fetched_copy_keeps_directions_and_weights(data: Path, tmp_path: Path) -> None:
    stream = load_dataset("trips", directory=data)
    write_parquet(tmp_path / "copy" / "trips.parquet", stream, Origin())
    assert load_dataset("trips", directory=tmp_path / "copy") == stream


def test_as_undirected_the_originals_have_no_weights(data: Path) -> None:
    first, _ = load_dataset("trips:undirected", directory=data)
    assert first.kind == DIRECTED
    assert find_dataset("trips:undirected").kind == "directed"
    assert list(judged_timestamps("trips:undirected", 9, 5)[SETTLED]) == [5, 6, 7, 8]
    assert list(judged_timestamps("as-733", 9, 5)) == [""]


def test_directions_are_lost_and_drawn_again_once_for_a_pair() -> None:
    roster, ends = Roster.range(60), np.triu_indices(60, 1)
    both = np.concatenate(ends), np.concatenate(ends[::-1])
    original = Snapshot(roster, *both, kind=DIRECTED)
    given = published_as(original)
    assert given.u.size == ends[0].size
    release = SyntheticGraph(roster, given.u, given.v)
    made, again = (turned_back(release, original, 3) for _ in range(2))
    assert made == again
    assert made.kind == DIRECTED
    assert 0.45 < np.mean(made.u < made.v) < 0.55
    assert made != turned_back(release, original, 4)


def test_published_edges_inside_a_side_are_dropped() -> None:
    original = Snapshot(TwoSidedRoster(Roster.range(2), Roster.range(2)), [0, 1], [2, 3])
    given = published_as(original)
    assert len(given.roster) == 4
    made = turned_back(SyntheticGraph(given.roster, [0, 0, 2], [1, 2, 3]), original, 0)
    assert made.kind == TWO_SIDED
    assert made.to_edges() == [(0, 0)]
    assert density_error(original, made) == 0.5


def test_a_cell_has_every_metric_of_its_kind_and_no_value_for_others(data: Path) -> None:
    stream = load_dataset("trips:undirected", directory=data)
    values, series = run_cell(
        Cell("trips:undirected", "tmf", "4", 1, 0), stream, groups=("stream", "paths")
    )
    assert series["reciprocity_error"][0] == pytest.approx(1.0)
    assert np.isnan(values["weight_distance"])
    assert np.isnan(values["top_left_overlap"])
    wanted = find_experiment("kinds").metrics
    assert [name for name in wanted if name not in values] == []


def test_rehearsals_are_offered_undirected_streams_only() -> None:
    assert "as-733" in PUBLIC_STREAMS
    assert "trips" not in PUBLIC_STREAMS
