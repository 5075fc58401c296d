"""Triangles among the edges that both ends keep."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from psgraph.graph.kind import Edges
from psgraph.methods.plus import noisy_triangles
from psgraph.methods.plus.noisy_triangles import kept_by_both
from psgraph.methods.plus.queries import CappedTriangleCount, measure_structure
from psgraph.methods.plus.triangles import Cap, best_cap, count_triangles, wedge_count

from .snapshots import asking, one_edge_changed, random_snapshot, silent_budget
from .test_queries import EVERYTHING

PAIRS = list(combinations(range(5), 2))


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def graph_of(pairs) -> Edges:
    array = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return Edges(array[:, 0], array[:, 1])


def as_set(edges: Edges) -> set[tuple[int, int]]:
    return set(zip(edges.u.tolist(), edges.v.tolist(), strict=True))


@pytest.mark.parametrize("cap", [2, 3, 6])
def test_no_node_keeps_more_than_its_cap(rng, cap):
    snapshot = random_snapshot(rng, 60, 0.3)
    edges = Edges(snapshot.u, snapshot.v)
    kept = kept_by_both(edges, rng.permutation(60), cap)
    ends = np.bincount(np.concatenate([kept.u, kept.v]), minlength=60)
    assert ends.max() == cap
    assert as_set(kept) <= as_set(edges)


def test_the_kernel_does_the_same_uncompiled(rng, monkeypatch):
    snapshot = random_snapshot(rng, 40, 0.3)
    edges, order = Edges(snapshot.u, snapshot.v), rng.permutation(40)
    compiled = kept_by_both(edges, order, 4)
    kernel = noisy_triangles._kept
    monkeypatch.setattr(noisy_triangles, "_kept", getattr(kernel, "py_func", kernel))
    assert as_set(kept_by_both(edges, order, 4)) == as_set(compiled)


def test_a_cap_that_nobody_reaches_keeps_everything(rng):
    snapshot = random_snapshot(rng, 60, 0.1)
    edges = Edges(snapshot.u, snapshot.v)
    assert as_set(kept_by_both(edges, rng.permutation(60), 60)) == as_set(edges)


def test_one_edge_of_any_graph_of_five_nodes_moves_the_count_within_its_sensitivity():
    order = np.array([3, 0, 4, 1, 2])
    for edges in range(2, 5):
        cap, counts, kept = Cap(edges, 1.0), [], []
        for graph in range(1 << len(PAIRS)):
            chosen = [pair for bit, pair in enumerate(PAIRS) if graph >> bit & 1]
            found = kept_by_both(graph_of(chosen), order, edges)
            kept.append(as_set(found))
            counts.append(count_triangles(found, 5))
        for graph in range(1 << len(PAIRS)):
            for bit in range(len(PAIRS)):
                other = graph ^ 1 << bit
                assert abs(counts[graph] - counts[other]) <= cap.sensitivity
                assert len(kept[graph] ^ kept[other]) <= 3


def test_one_edge_can_move_the_count_by_the_whole_sensitivity():
    # a and b have cap − 1 common triangles each with their last kept neighbour, and a-b comes first
    cap = 3
    at_a = [(0, 2), (0, 3), (0, 6), (2, 6), (3, 6)]
    at_b = [(1, 4), (1, 5), (1, 7), (4, 7), (5, 7)]
    order = np.arange(8)
    without = count_triangles(kept_by_both(graph_of(at_a + at_b), order, cap), 8)
    together = count_triangles(kept_by_both(graph_of([(0, 1), *at_a, *at_b]), order, cap), 8)
    assert without - together == Cap(cap, 1.0).sensitivity


def test_the_capped_query_moves_by_no_more_than_it_states(rng):
    cap, most = Cap(4, 1.0), 0
    order, classes = rng.permutation(40), np.zeros(40, dtype=np.int32)
    for _ in range(60):
        before = random_snapshot(rng, 40, 0.4)
        budget = silent_budget()
        one, other = (
            measure_structure(
                asking(snapshot, budget),
                classes,
                np.arange(3),
                EVERYTHING,
                cap=cap,
                numbers=order,
            )
            for snapshot in (before, one_edge_changed(rng, before))
        )
        charged = [charge for charge in budget.trace if charge.label == CappedTriangleCount.label]
        assert {charge.sensitivity for charge in charged} == {cap.sensitivity}
        most = max(most, abs(one.noisy_triangles - other.noisy_triangles))
    assert 0 < most <= cap.sensitivity


def test_the_ladder_is_used_where_hubs_hold_the_wedges():
    hubs = np.concatenate([np.full(10, 300), np.ones(2000, dtype=np.int64)])
    assert best_cap(hubs, 0.05) is None


def test_the_ladder_is_used_where_epsilon_is_large():
    degrees = np.full(500, 8)
    assert best_cap(degrees, 0.05) is not None
    assert best_cap(degrees, 4.0) is None


@pytest.mark.parametrize("degrees", [[], [0, 0], [1, 1], [2, 2, 2]])
def test_graphs_without_room_for_a_cap_have_none(degrees):
    assert best_cap(np.array(degrees, dtype=np.int64), 0.1) is None


def test_the_share_predicts_how_many_wedges_are_kept(rng):
    snapshot = random_snapshot(rng, 400, 0.02)
    edges = Edges(snapshot.u, snapshot.v)
    degrees = np.bincount(np.concatenate([edges.u, edges.v]), minlength=400)
    cap = best_cap(degrees, 0.05)
    kept = kept_by_both(edges, rng.permutation(400), cap.edges)
    assert wedge_count(kept, 400) / wedge_count(edges, 400) == pytest.approx(cap.share, abs=0.1)
