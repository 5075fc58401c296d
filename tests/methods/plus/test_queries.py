"""Every query moves by no more than its stated sensitivity when one edge changes."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest

from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import UNDIRECTED, Edges
from psgraph.methods.plus.hubs import NoisyHubs
from psgraph.methods.plus.mixing import CLASSES
from psgraph.methods.plus.queries import (
    QUERIES,
    KeptEdges,
    TriangleCount,
    measure_communities,
    measure_sizes,
    measure_structure,
)
from psgraph.methods.plus.shares import Shares
from psgraph.methods.plus.triangles import count_triangles, largest_common_neighbours
from psgraph.methods.private import PrivateEdges

from .snapshots import ENGINE, asking, one_edge_changed, random_snapshot, silent_budget

NODES = 40
EVERYTHING = Shares(
    timestamp=1,
    window=5,
    pool=Fraction(1),
    opens=True,
    **{field.name: Fraction(1) for field in fields(Shares)[4:]},
)


def asked_sizes(private):
    return measure_sizes(
        private,
        EVERYTHING,
        Fraction(0),
        buy=lambda shares, _: shares,
        divide=lambda shares, *_: shares,
    )


def sizes(snapshot, previous):
    return asked_sizes(asking(snapshot, silent_budget(), previous))


def structure(snapshot, classes, hubs):
    return measure_structure(asking(snapshot, silent_budget()), classes, hubs, EVERYTHING)


def moved(one, other) -> int:
    return int(np.abs(np.asarray(one) - np.asarray(other)).sum())


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.mark.parametrize("density", [0.02, 0.15, 0.6])
def test_one_edge_moves_no_query_by_more_than_its_sensitivity(rng, density):
    most = dict.fromkeys(["edges", "curve", "nodes", "mixing", "hubs"], 0)
    for _ in range(60):
        before = random_snapshot(rng, NODES, density)
        after = one_edge_changed(rng, before)
        classes = rng.integers(0, CLASSES, NODES).astype(np.int32)
        hubs = rng.permutation(NODES)[:7]
        one, other = sizes(before, None), sizes(after, None)
        here, there = structure(before, classes, hubs), structure(after, classes, hubs)
        change = {
            "edges": moved(one.noisy_edge_count, other.noisy_edge_count),
            "curve": moved(one.noisy_curve, other.noisy_curve),
            "nodes": moved(one.noisy_degrees, other.noisy_degrees),
            "mixing": moved(here.noisy_class_edges, there.noisy_class_edges),
            "hubs": moved(here.noisy_hub_edges, there.noisy_hub_edges),
        }
        most = {query: max(most[query], change[query]) for query in most}
    assert all(most[query] <= QUERIES[query][0].sensitivity for query in most), most
    assert most["nodes"] == QUERIES["nodes"][0].sensitivity  # and the bounds are reached


def test_edges_kept_move_by_one_for_each_of_the_two_snapshots(rng):
    most = 0
    for _ in range(80):
        previous, now = (random_snapshot(rng, 12, 0.5) for _ in range(2))
        kept = sizes(now, previous).noisy_kept_edges
        changed_now, changed_before = one_edge_changed(rng, now), one_edge_changed(rng, previous)
        assert abs(sizes(changed_now, previous).noisy_kept_edges - kept) <= 1
        assert abs(sizes(now, changed_before).noisy_kept_edges - kept) <= 1
        most = max(most, abs(sizes(changed_now, changed_before).noisy_kept_edges - kept))
    assert most == 2


@pytest.mark.parametrize("density", [0.05, 0.4])
def test_one_edge_changes_triangles_by_no_more_than_the_reach(rng, density):
    for _ in range(80):
        before = random_snapshot(rng, NODES, density)
        after = one_edge_changed(rng, before)
        facts = [
            (count_triangles(edges, NODES), largest_common_neighbours(edges, NODES))
            for edges in (Edges(before.u, before.v), Edges(after.u, after.v))
        ]
        (triangles, reach), (other_triangles, other_reach) = facts
        assert abs(triangles - other_triangles) <= min(reach, other_reach)
        assert abs(reach - other_reach) <= 1


def test_edges_are_matched_by_id_between_rosters():
    previous = Snapshot.from_edges([(1, 2), (2, 5), (5, 9)], roster=Roster([1, 2, 5, 9]))
    now = Snapshot.from_edges([(2, 5), (5, 9), (3, 9)], roster=Roster([2, 3, 5, 9]))
    assert KeptEdges().answer(PrivateEdges(now, ENGINE, previous=previous)) == 2
    other_ids = Snapshot.from_edges([("a", "b")], roster=Roster(["a", "b"]))
    assert KeptEdges().answer(PrivateEdges(now, ENGINE, previous=other_ids)) == 0


def test_edges_kept_are_not_asked_without_the_snapshot_before(rng):
    budget = silent_budget()
    readings = asked_sizes(asking(random_snapshot(rng, 9, 0.3), budget))
    assert readings.noisy_kept_edges is None
    assert KeptEdges.label not in {charge.label for charge in budget.trace}


def test_every_cell_is_released_also_the_empty_ones():
    empty = Snapshot(Roster.range(30), [], [])
    readings = sizes(empty, None)
    assert readings.noisy_degrees.shape == (30,)
    found = structure(empty, np.zeros(30, dtype=np.int32), np.arange(5))
    assert found.noisy_class_edges.shape == (CLASSES * (CLASSES + 1) // 2,)
    assert found.noisy_hub_edges.shape == (5 * CLASSES + 10,)


def test_hub_cells_are_where_they_are_said_to_be():
    #  hubs 3 and 1; nodes 0 and 2 in class 4, node 4 in class 6
    snapshot = Snapshot(Roster.range(5), [0, 1, 1, 2, 3, 0], [3, 3, 4, 3, 4, 2])
    classes = np.array([4, 0, 4, 0, 6], dtype=np.int32)
    found = structure(snapshot, classes, np.array([3, 1]))
    noisy = NoisyHubs(found.noisy_hub_edges, 2, noise=1.0)
    to_classes = noisy.to_classes
    assert to_classes[0].nonzero()[0].tolist() == [4, 6]
    assert to_classes[0, [4, 6]].tolist() == [2, 1]
    assert to_classes[1, [4, 6]].tolist() == [0, 1]
    assert noisy.pairs.tolist() == [1]
    inside = UNDIRECTED.cell_of(np.array([4]), np.array([4]), CLASSES, inside=True)
    assert found.noisy_class_edges[inside].tolist() == [1]


def test_the_curve_counts_nodes_with_at_least_k_neighbours():
    star = Snapshot(Roster.range(6), np.zeros(5, dtype=np.int32), np.arange(1, 6))
    assert sizes(star, None).noisy_curve.tolist() == [6, 1, 1, 1, 1]


def test_each_query_is_charged_what_it_was_given(rng):
    budget = silent_budget()
    snapshot = random_snapshot(rng, NODES, 0.2)
    asked_sizes(asking(snapshot, budget, snapshot))
    classes = np.zeros(NODES, dtype=np.int32)
    measure_structure(asking(snapshot, budget), classes, np.arange(3), EVERYTHING)
    order, degrees = np.arange(NODES), np.ones(NODES, dtype=np.int64)
    measure_communities(asking(snapshot, budget), None, order, degrees, EVERYTHING)
    stated = {
        (queries[0].label, queries[0].sensitivity)
        for share, queries in QUERIES.items()
        if hasattr(EVERYTHING, share) and share not in ("agreement", "label_edges")
    }
    stated.add((f"{KeptEdges.label}, at the next timestamp", KeptEdges.sensitivity))
    assert {(c.label, c.sensitivity) for c in budget.trace} == stated
    assert budget.spent == EVERYTHING.total - EVERYTHING.on_labels
    assert [charge.label for charge in budget.trace if charge.mechanism == "ladder"] == [
        TriangleCount.label
    ]
