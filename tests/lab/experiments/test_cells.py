"""A cell is its own recipe: equal cells give equal numbers, different ones different noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.graph import Graph
from psgraph.methods.registry import find_method
from psgraph.metrics import communities, edge_overlap
from psgraph.metrics.comparison import compare
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.streams.demo import demo_stream
from psgraph_lab.experiments.cells import (
    Cell,
    Originals,
    mean_over_time,
    publish_cell,
    run_cell,
)

STREAM = demo_stream(nodes=300, timestamps=4)
CELL = Cell("demo", "psgraph", "1", 5, 0)


def test_the_same_cell_gives_the_same_numbers() -> None:
    first, second = run_cell(CELL, STREAM), run_cell(CELL, STREAM)
    assert first[1] == second[1]
    assert first[0] == second[0]


def test_repetitions_differ() -> None:
    other = Cell("demo", "psgraph", "1", 5, 1)
    assert run_cell(CELL, STREAM)[1] != run_cell(other, STREAM)[1]


def test_it_is_what_publishing_and_comparing_gives() -> None:
    publisher = Publisher(find_method("psgraph")(), WEventPrivacy("1", 5), seed=CELL.seed)
    comparison = compare(STREAM, publisher.publish_all(STREAM))
    values, series = run_cell(CELL, STREAM)
    for name, mean in comparison.mean.to_dict().items():
        assert values[name] == pytest.approx(mean, rel=1e-12)
        assert series[name] == [getattr(row.fidelity, name) for row in comparison.rows]


def test_groups_add_metrics_and_change_none() -> None:
    plain, _ = run_cell(CELL, STREAM)
    values, series = run_cell(CELL, STREAM, groups=["communities", "stream"])
    assert {name: values[name] for name in plain} == plain
    assert {"adjusted_rand_index", "snapshot_overlap_error"} <= set(values) - set(plain)
    overlap = series["snapshot_overlap_error"]
    assert np.isnan(overlap[0])  # nothing to compare with at the first timestamp
    assert values["snapshot_overlap_error"] == pytest.approx(np.mean(overlap[1:]))


def test_a_metric_that_never_has_a_value_is_nan() -> None:
    assert np.isnan(mean_over_time([float("nan")] * 3))
    assert mean_over_time([float("nan"), 1.0, 3.0]) == 2.0
    assert mean_over_time([5e13, 7e13]) == 6e13


def test_statistics_of_the_originals_are_shared_by_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    real = communities.find_communities

    def counted(graph: Graph) -> object:
        calls.append(graph)
        return real(graph)

    monkeypatch.setattr(communities, "find_communities", counted)
    originals = Originals.of(STREAM)
    for repetition in range(3):
        cell = Cell("demo", "tmf", "1", 5, repetition)
        publish_cell(cell, originals, groups=["communities"])
    assert sum(graph in STREAM for graph in calls) == len(STREAM)
    assert len(calls) == len(STREAM) + 3 * len(STREAM)


def test_a_union_roster_is_one_declared_roster_with_the_same_edges() -> None:
    cell = Cell("demo", "tmf", "1", 5, 0, roster="union")
    fixed = cell.of(STREAM)
    assert len({id(snapshot.roster) for snapshot in fixed}) == 1
    assert fixed[0].roster.declared == "given"
    every = set().union(*(snapshot.roster.ids.tolist() for snapshot in STREAM))
    assert set(fixed[0].roster.ids.tolist()) == every
    for one, other in zip(STREAM, fixed, strict=True):
        assert edge_overlap(one, other) == 1.0
        assert one.time == other.time
    values, _ = run_cell(cell, STREAM, groups=["communities"])
    assert values["density_error"] < 1


def test_the_seeds_of_cells_on_snapshot_rosters_never_change() -> None:
    assert Cell("demo", "tmf", "1", 5, 0).seed == 3256181517154641327


def test_parameters_reach_the_method() -> None:
    always = Cell("demo", "psgraph", "4", 5, 0, parameters=(("always_repartition", True),))
    never = Cell("demo", "psgraph", "4", 5, 0, parameters=(("threshold", "1000000"),))
    assert run_cell(always, STREAM)[0]["communities_found"] == 1
    assert run_cell(never, STREAM)[0]["communities_found"] == 1 / len(STREAM)


def test_only_the_first_snapshots() -> None:
    cell = Cell("demo", "tmf", "1", 5, 0, timestamps=2)
    assert len(run_cell(cell, STREAM)[1]["density_error"]) == 2


def test_smaller_shares_are_part_of_larger_ones() -> None:
    half, most = (
        Cell("demo", "tmf", "1", 5, 0, share=share).of(STREAM)[0] for share in ("0.5", "0.8")
    )
    whole = STREAM[0]
    size = len(whole.roster)
    keys = [set((graph.u.astype(np.int64) * size + graph.v).tolist()) for graph in (half, most)]
    assert keys[0] < keys[1]
    assert half.roster is whole.roster
    # Binomial; six standard deviations.
    for graph, share in ((half, 0.5), (most, 0.8)):
        spread = 6 * (share * (1 - share) * whole.u.size) ** 0.5
        assert abs(graph.u.size - share * whole.u.size) < spread


cells = st.builds(
    Cell,
    st.sampled_from(["demo", "as-733"]),
    st.sampled_from(["psgraph", "tmf"]),
    st.sampled_from(["0.5", "1", "10"]),
    st.integers(1, 12),
    st.integers(0, 12),
    parameters=st.sampled_from([(), (("threshold", "1"),), (("fusion", False),)]),
    timestamps=st.sampled_from([None, 1, 11]),
    share=st.sampled_from(["1", "0.5"]),
    roster=st.sampled_from(["snapshot", "union"]),
)


@given(cells, cells)
def test_seeds_are_equal_only_where_cells_are(one: Cell, other: Cell) -> None:
    assert (one.seed == other.seed) == (one == other)
    assert 0 <= one.seed < 2**63
