"""Change from one timestamp to the next, matched by id while nodes come and go."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.graph import Graph, Roster, Snapshot, SyntheticGraph
from psgraph.metrics import degree_change, degree_change_correlation, edge_overlap
from psgraph.metrics.change import CHANGE, LAG
from psgraph.metrics.fidelity import MoreMetrics
from psgraph.metrics.metric import GraphFacts, Pair


@st.composite
def rostered(draw: st.DrawFn, *, strings: bool | None = None) -> tuple[Snapshot, SyntheticGraph]:
    """Two graphs over one roster of ids from 0 to 11 with gaps, or of their names."""
    ids = sorted(draw(st.sets(st.integers(0, 11))))
    named = draw(st.booleans()) if strings is None else strings
    roster = Roster([f"n{number}" for number in ids] if named else np.array(ids, dtype=np.int64))
    node = st.integers(0, max(len(ids) - 1, 0))
    edges = st.lists(st.tuples(node, node), max_size=20 if ids else 0)
    arrays = [np.array(draw(edges), dtype=np.int64).reshape(-1, 2) for _ in range(2)]
    return (
        Snapshot(roster, arrays[0][:, 0], arrays[0][:, 1]),
        SyntheticGraph(roster, arrays[1][:, 0], arrays[1][:, 1]),
    )


def change_errors(
    before: tuple[Graph, Graph] | None, after: tuple[Graph, Graph]
) -> dict[str, float | None]:
    return CHANGE.compute(Pair.of(*after, before=None if before is None else Pair.of(*before)))


def edge_set(graph: Graph) -> set[frozenset[object]]:
    return {frozenset(edge) for edge in graph.to_edges()}


@given(rostered(), rostered())
@settings(max_examples=300, deadline=None)
def test_overlap_is_that_of_sets_of_ids(before, after):
    old, new = edge_set(before[0]), edge_set(after[0])
    expected = len(old & new) / len(old | new) if old | new else 1.0
    assert edge_overlap(before[0], after[0]) == pytest.approx(expected)
    assert edge_overlap(after[0], before[0]) == pytest.approx(expected)


@given(rostered(strings=False), rostered(strings=False))
@settings(max_examples=200, deadline=None)
def test_degree_change_follows_the_ids(before, after):
    old, new = before[0].to_networkx(), after[0].to_networkx()
    common = sorted(set(old) & set(new))
    expected = [new.degree(node) - old.degree(node) for node in common]
    assert degree_change(before[0], after[0]).tolist() == expected


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=30))
@settings(max_examples=300, deadline=None)
def test_correlation_is_that_of_numpy(changes):
    true, made = np.array(changes, dtype=np.int64).reshape(-1, 2).T
    found = degree_change_correlation(true, made)
    if np.unique(true).size < 2:
        assert found is None
    elif np.unique(made).size < 2:
        assert found == 0.0
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert found == pytest.approx(np.corrcoef(true, made)[0, 1], abs=1e-12)
            assert -1 <= found <= 1


def test_large_changes_stay_exact():
    change = np.arange(-(10**6), 10**6, 7)
    assert degree_change_correlation(change, change) == 1.0
    assert degree_change_correlation(change, -3 * change) == -1.0


@given(rostered(), rostered())
@settings(max_examples=200, deadline=None)
def test_an_identical_stream_is_perfect(before, after):
    pairs = [
        (original, SyntheticGraph(original.roster, original.u, original.v))
        for original, _ in (before, after)
    ]
    found = change_errors(*pairs)
    assert found["snapshot_overlap_error"] == 0.0
    varied = np.unique(degree_change(before[0], after[0])).size > 1
    assert found["degree_change_correlation"] == (1.0 if varied else None)


@given(rostered(), rostered())
@settings(max_examples=100, deadline=None)
def test_every_pair_of_pairs_has_values_in_range(before, after):
    found = change_errors(before, after)
    assert 0 <= found["snapshot_overlap_error"] <= 1
    assert found["degree_change_correlation"] is None or (
        -1 <= found["degree_change_correlation"] <= 1
    )


def test_a_position_is_not_an_id():
    # Node 0 leaves, so that every other node moves one position down; no edge changes.
    before = Snapshot.from_edges([(1, 2), (2, 3)], roster=Roster([0, 1, 2, 3]))
    after = Snapshot.from_edges([(1, 2), (2, 3)], roster=Roster([1, 2, 3]))
    assert edge_overlap(before, after) == 1.0
    assert degree_change(before, after).tolist() == [0, 0, 0]


def test_the_first_timestamp_has_no_change():
    graph = SyntheticGraph(Roster.range(2), [0], [1])
    assert set(change_errors(None, (graph, graph)).values()) == {None}


def test_lasting_edges_are_those_of_five_timestamps_before():
    """Half of the edges last in the original, none in the releases; no earlier graph counts."""
    roster = Roster.range(40)
    originals = [
        Snapshot.from_edges([(0, 1), (2, 3 + time)], roster=roster) for time in range(LAG + 2)
    ]
    made = [SyntheticGraph(roster, [2 * time], [2 * time + 1]) for time in range(LAG + 1)]
    made.append(SyntheticGraph(roster, [0, 2], [1, 3]))  # that of 0 is too old, that of 1 is not
    more = MoreMetrics(["stream"])
    found = [
        more.compute(GraphFacts(one), GraphFacts(other))["lasting_edges_error"]
        for one, other in zip(originals, made, strict=True)
    ]
    assert found[:LAG] == [None] * LAG
    assert found[LAG] == pytest.approx(1.0)  # 0 instead of 1/3
    assert found[LAG + 1] == pytest.approx(0.5)  # 1/2 instead of 1/3


def test_ids_of_another_type_are_other_nodes():
    numbers = SyntheticGraph(Roster([1, 2]), [0], [1])
    names = SyntheticGraph(Roster(["1", "2"]), [0], [1])
    assert edge_overlap(numbers, names) == 0.0
    assert degree_change(numbers, names).size == 0
