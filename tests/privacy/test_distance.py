"""How far two measurements are apart, as the auditor asks it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psgraph.engines.threads import LocalEngine
from psgraph.errors import MethodError
from psgraph.graph import Roster, Snapshot
from psgraph.methods import queries
from psgraph.methods.der.arrangement import EdgeArrangement
from psgraph.methods.der.rectangles import Regions
from psgraph.methods.der.splits import SplitChoice
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.labelling import Plan
from psgraph.methods.plus.noisy_triangles import Ladder
from psgraph.methods.private import PrivateEdges
from psgraph.methods.privhrg.dendrogram import Dendrogram
from psgraph.methods.privhrg.dendrogram_walk import DendrogramWalk
from psgraph.methods.tmf import UnprovenLinearFilter
from psgraph.privacy.mechanisms.laplace import LaplaceCount, LaplaceCounts
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts
from psgraph.privacy.mechanisms.top import LargestCells

ENGINE = LocalEngine()


def adjacency(*edges):
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    snapshot = Snapshot(Roster.range(4), ends[:, 0], ends[:, 1])
    return queries.adjacency(PrivateEdges(snapshot, ENGINE))


def test_noise_on_integers():
    one = LaplaceCounts(np.array([3, 4]), 2)
    assert one.distance(LaplaceCounts(np.array([4, 2]), 2)) == 3
    assert LaplaceCount(3, 1).distance(LaplaceCount(1, 1)) == 2
    with pytest.raises(MethodError, match="values"):
        one.distance(LaplaceCounts(np.array([3]), 2))
    with pytest.raises(MethodError, match="sensitivity"):
        one.distance(LaplaceCounts(np.array([3, 4]), 1))


def test_sparse_counts():
    one = SparseLaplaceCounts(np.array([1, 5]), np.array([2, 1]), 9, lambda _values, _often: 0.0, 1)
    assert one.distance(replace(one, cells=np.array([1, 6]), counts=np.array([1, 1]))) == 3
    with pytest.raises(MethodError, match="size"):
        one.distance(replace(one, size=8))


@pytest.mark.parametrize("kind", [LargestCells, UnprovenLinearFilter])
def test_cells(kind):
    one = kind(np.array([1, 4]), 9, 2)
    assert one.distance(kind(np.array([4, 5]), 9, 2)) == 2
    with pytest.raises(MethodError, match="keep"):
        one.distance(kind(np.array([1, 4]), 9, 3))


def test_community_choice():
    labels = np.array([0, 0, 1, 1], dtype=np.int32)

    def choice(labels, *edges):
        snapshot = Snapshot(Roster.range(4), *zip(*edges, strict=True))
        query = queries.CommunityChoices(labels)
        return query.mechanism(query.answer(PrivateEdges(snapshot, ENGINE)))

    one = choice(labels, (0, 1), (1, 2))
    assert one.distance(choice(labels, (0, 1), (1, 2), (2, 3))) == 1
    assert one.distance(choice(labels, (0, 1), (1, 3))) == 1  # node 1 sees the same
    with pytest.raises(MethodError, match="labels"):
        one.distance(choice(1 - labels, (0, 1)))


def test_regions():
    rectangles = np.array([[0, 4, 0, 4]])

    def regions(*edges):
        rows, columns = np.array(edges, dtype=np.int32).T
        return Regions(rectangles, np.array([0, len(edges)]), rows, columns)

    one, other = regions((0, 1), (1, 3)), regions((0, 1), (0, 2), (1, 3))
    assert SplitChoice(one, 1, 8).distance(SplitChoice(other, 1, 8)) == 1
    drawn = np.array([2])
    assert EdgeArrangement(one, drawn).distance(EdgeArrangement(other, drawn)) == 1
    with pytest.raises(MethodError, match="drawn"):
        EdgeArrangement(one, drawn).distance(EdgeArrangement(other, drawn + 1))


def test_a_dendrogram_walk():
    left, right = np.array([[0, 2, 4], [1, 3, 5]], dtype=np.int32)
    tree = Dendrogram(4, 6, left, right)
    one = DendrogramWalk(tree, *adjacency((0, 1)), 5)
    assert one.distance(DendrogramWalk(tree, *adjacency((0, 1), (2, 3)), 5)) == 1
    with pytest.raises(MethodError, match="steps"):
        one.distance(DendrogramWalk(tree, *adjacency((0, 1)), 6))
    with pytest.raises(MethodError, match="tree"):
        one.distance(DendrogramWalk(replace(tree, left=right), *adjacency((0, 1)), 5))


def test_a_growth_pass():
    plan = Plan(np.arange(4), np.ones(4), np.zeros((4, 2), dtype=np.float32), 0)
    one = GrowthPass(*adjacency((0, 1)), plan)
    assert one.distance(GrowthPass(*adjacency((0, 1), (2, 3)), plan)) == 1
    with pytest.raises(MethodError, match="order"):
        one.distance(GrowthPass(*adjacency((0, 1)), replace(plan, order=plan.order[::-1])))


def test_the_ladder_by_its_definition():
    # The rung of every integer, counted one by one.
    def rung(ladder, integer):
        far, step = abs(integer - ladder.value), 0
        while far > 0:
            far -= min(ladder.reach + step, ladder.nodes - 2)
            step += 1
        return step

    for one in (Ladder(5, 1, 8), Ladder(0, 1, 6), Ladder(9, 4, 6)):
        for other in (Ladder(5, 2, one.nodes), Ladder(7, 1, one.nodes), Ladder(6, 3, one.nodes)):
            brute = max(abs(rung(one, z) - rung(other, z)) for z in range(-60, 80))
            assert one.distance(other) == brute
    assert Ladder(0, 0, 2).distance(Ladder(0, 0, 2)) == 0
    with pytest.raises(MethodError, match="nodes"):
        Ladder(0, 1, 6).distance(Ladder(0, 1, 7))
