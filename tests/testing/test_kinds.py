"""check_method finds what is wrong on directed, two-sided and weighted graphs only."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from psgraph.graph import TWO_SIDED, UNDIRECTED, Snapshot, SyntheticGraph
from psgraph.graph.kind import KINDS
from psgraph.graph.parts import MemoryParts
from psgraph.testing import check_method
from psgraph.testing.cases import (
    all_graphs,
    kinds_of,
    neighbouring_pairs,
    neighbours,
    reweighted_pairs,
    streams,
)
from tests.insides import snapshot_of
from tests.testing.coarse import Coarse


def test_a_method_for_all_kinds_and_weights_passes():
    assert check_method(Coarse()).method == "coarse"


class Undirects(Coarse):
    """Publishes who is connected with whom, without direction."""

    def _graph(self, state, rng, roster, kind, u, v):
        if not kind.directed:
            return super()._graph(state, rng, roster, kind, u, v)
        plain = UNDIRECTED.with_weights(kind.largest_weight)
        return super()._graph(state, rng, roster, plain, u, v)


class JoinsOneSide(Coarse):
    """Publishes edges between nodes of the left side."""

    def _graph(self, state, rng, roster, kind, u, v):
        if kind.two_sided and roster.sizes[0] > 1:
            ends = np.array([0], np.int32), np.array([1], np.int32)
            weight = np.ones(1, np.int64) if kind.weighted else None
            parts = MemoryParts(*ends, weight, nodes=len(roster), kind=kind)
            return SyntheticGraph.from_parts(roster, parts)
        return super()._graph(state, rng, roster, kind, u, v)


class Repeats(Coarse):
    """Publishes both directions of a pair where there is one."""

    def _graph(self, state, rng, roster, kind, u, v):
        if kind == UNDIRECTED and len(roster) > 1:
            ends = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
            return SyntheticGraph.from_parts(roster, MemoryParts(*ends, nodes=len(roster)))
        return super()._graph(state, rng, roster, kind, u, v)


class Unweighted(Coarse):
    def _graph(self, state, rng, roster, kind, u, v):
        return SyntheticGraph(roster, u, v, kind=kind.unweighted)


class WeightsBeyondTheLargest(Coarse):
    def _graph(self, state, rng, roster, kind, u, v):
        graph = super()._graph(state, rng, roster, kind, u, v)
        if not kind.weighted:
            return graph
        weight = graph.weight + 1
        return SyntheticGraph.from_parts(
            roster, MemoryParts(graph.u, graph.v, weight, nodes=len(roster), kind=kind)
        )


class WeightsFirst(Coarse):
    """A change of weight would lose more than the timestamp is charged."""

    weight_share = Fraction(2, 3)


class TellsTheWeight(Coarse):
    def measure(self, private, state):
        measurement = super().measure(private, state)
        weight = snapshot_of(private).weight
        return replace(measurement, extra=0 if weight is None else int(weight.sum()))


class TellsWhatIsReciprocated(Coarse):
    def measure(self, private, state):
        measurement = super().measure(private, state)
        snapshot = snapshot_of(private)
        edges = {*zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True)}
        return replace(measurement, extra=sum((v, u) in edges for u, v in edges))


class KindFromTheEdges(Coarse):
    """Takes a graph for an undirected one if every edge is reciprocated."""

    def measure(self, private, state):
        measurement = super().measure(private, state)
        snapshot = snapshot_of(private)
        edges = {*zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True)}
        alike = private.kind.directed and all((v, u) in edges for u, v in edges)
        return replace(measurement, kind="undirected" if alike else private.kind.name)


class PlansWithoutWeights(Coarse):
    def plan(self, guarantee, *, nodes, kind=UNDIRECTED):
        return super().plan(guarantee, nodes=nodes, kind=kind)[:1]


class KeepsWeightsInMemory(Coarse):
    """Goes on with weights that no file has."""

    grows_from_release = True

    def synthesise(self, state, previous, rng, engine):
        graph = super().synthesise(state, previous, rng, engine)
        if not graph.kind.weighted:
            return graph
        heavier = getattr(previous, "time", None) == "kept"
        weight = np.minimum(graph.weight + heavier, graph.kind.largest_weight)
        return SyntheticGraph(
            graph.roster, graph.u, graph.v, kind=graph.kind, weight=weight, time="kept"
        )


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Undirects, "is defined on every graph"),
        (JoinsOneSide, "is defined on every graph"),
        (Repeats, "is defined on every graph"),
        (Unweighted, "is defined on every graph"),
        (WeightsBeyondTheLargest, "is defined on every graph"),
        (WeightsFirst, "is defined on every graph"),
        (KindFromTheEdges, "is defined on every graph"),
        (PlansWithoutWeights, "charges what it plans"),
        (TellsTheWeight, "shows nothing without noise"),
        (TellsWhatIsReciprocated, "shows nothing without noise"),
        (KeepsWeightsInMemory, "synthesises from sealed values alone"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_broken_method_fails_its_check(broken, check):
    with pytest.raises(AssertionError) as caught:
        check_method(broken())
    assert f"fails “{check}”" in str(caught.value)


# ---- the graphs that are checked ----


def _weights(snapshot: Snapshot) -> dict[tuple[int, int], int]:
    weight = np.ones_like(snapshot.u) if snapshot.weight is None else snapshot.weight
    return dict(zip(zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True), weight.tolist()))  # noqa: B905


def _changes(one: Snapshot, other: Snapshot) -> list[tuple[int, int]]:
    """The weights before and after of all pairs that differ; 0 without an edge."""
    mine, theirs = _weights(one), _weights(other)
    pairs = mine.keys() | theirs.keys()
    changes = ((mine.get(pair, 0), theirs.get(pair, 0)) for pair in pairs)
    return [(before, after) for before, after in changes if before != after]


@pytest.mark.parametrize("kind", kinds_of(Coarse()), ids=str)
def test_neighbours_differ_in_one_pair_of_their_kind(kind):
    assert all(each.kind == kind for stream in streams(kind).values() for each in stream)
    for one, other in neighbours(kind).values():
        assert one.roster == other.roster
        assert len(_changes(one, other)) == 1


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_all_weightings_of_three_pairs_and_all_three_ways_to_change_them(kind):
    weighted, sizes = kind.with_weights(2), (1, 3) if kind == TWO_SIDED else (3,)
    pairs = weighted.pairs(*sizes)
    graphs = all_graphs(*sizes, kind=weighted)
    assert len({tuple(sorted(_weights(graph).items())) for graph in graphs}) == 3**pairs
    appear = [_changes(graphs[a], graphs[b]) for a, b in neighbouring_pairs(*sizes, kind=weighted)]
    change = [_changes(graphs[a], graphs[b]) for a, b in reweighted_pairs(*sizes, kind=weighted)]
    rest = 3 ** (pairs - 1)
    assert appear.count([(0, 1)]) == appear.count([(0, 2)]) == pairs * rest == len(appear) / 2
    assert change.count([(1, 2)]) == pairs * rest == len(change)
