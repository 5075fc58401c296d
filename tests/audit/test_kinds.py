"""The audit on directed, two-sided and weighted graphs: its neighbours, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice

import numpy as np
import pytest

from psgraph.audit.enumeration import compare, explore, extremes
from psgraph.audit.neighbours import (
    PATTERNS,
    hard_streams,
    neighbouring_streams,
    unrelated_streams,
)
from psgraph.audit.places import PLACES, places_of
from psgraph.audit.reach import all_reached
from psgraph.audit.replay import pairs_for, replay_all
from psgraph.engines.threads import LocalEngine
from psgraph.errors import MethodError
from psgraph.graph import DIRECTED, TWO_SIDED, UNDIRECTED
from psgraph.graph.kind import KINDS
from psgraph.methods.private import PrivateSnapshot
from psgraph.testing.cases import all_graphs, kinds_of, neighbouring_pairs, reweighted_pairs
from psgraph_lab.mutants.mutant import Edit
from tests.insides import snapshot_of
from tests.testing.coarse import AllEdges, Coarse, WeightCounts

ENGINE = LocalEngine()
ONE = Fraction(1)
OTHER_KINDS = kinds_of(Coarse())[1:]
UNCOVERED = Edit("psgraph.privacy.budget:Budget.run", "if slack < 0:", "if False:")


def weights_of(snapshot):
    """The weight of each edge by the ids of its ends; 1 without weights."""
    weight = np.ones_like(snapshot.u) if snapshot.weight is None else snapshot.weight
    heads, tails = snapshot.roster.end_ids(snapshot.u, snapshot.v)
    edges = zip(heads.tolist(), tails.tolist(), strict=True)
    return dict(zip(edges, weight.tolist(), strict=True))


# ---- neighbours ----


@pytest.mark.parametrize("kind", OTHER_KINDS, ids=str)
def test_neighbours_of_a_kind_differ_by_one_edge_or_its_weight_inside_one_window(kind):
    pairs = [*neighbouring_streams(len(PLACES) * len(PATTERNS), kind=kind), *hard_streams(kind)]
    ways = set()
    for pair in (each for each in pairs if not each.unrelated):
        differing = set()
        for timestamp, (one, other) in enumerate(zip(pair.one, pair.other, strict=True)):
            assert one.roster == other.roster
            assert one.kind == other.kind == pair.kind
            assert pair.kind.name == kind.name
            mine, theirs = weights_of(one), weights_of(other)
            edges = [
                edge for edge in mine.keys() | theirs.keys() if mine.get(edge) != theirs.get(edge)
            ]
            assert len(edges) == (timestamp in pair.differing)
            for edge in edges:
                before, after = mine.get(edge, 0), theirs.get(edge, 0)
                assert (timestamp in pair.reweighted) == (before > 0 and after > 0)
                differing.add(timestamp)
                ways.add("appears" if not before else "changes" if after else "disappears")
        assert max(differing) - min(differing) < pair.guarantee.window
    assert ways == {"appears", "disappears", *(["changes"] if kind.weighted else [])}


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_places_of_a_kind_come_in_all_patterns(kind):
    places = places_of(kind)
    assert places.keys() >= PLACES.keys()
    found = {pair.name for pair in neighbouring_streams(len(places) * len(PATTERNS), kind=kind)}
    assert found == {f"{place} ({pattern})" for place in places for pattern in PATTERNS}


def test_one_direction_comes_and_goes_where_the_other_is_there():
    [pair] = islice(neighbouring_streams(1, kind=DIRECTED), 1)
    assert pair.name.startswith("the way back")
    [timestamp] = pair.differing
    one, other = weights_of(pair.one[timestamp]), weights_of(pair.other[timestamp])
    [(head, tail)] = one.keys() ^ other.keys()
    assert (tail, head) in one.keys() & other.keys()


@pytest.mark.parametrize("kind", OTHER_KINDS, ids=str)
def test_unrelated_streams_of_a_kind_share_what_is_public(kind):
    for pair in unrelated_streams(2, kind=kind):
        assert [each.roster for each in pair.one] == [each.roster for each in pair.other]
        assert {each.kind for each in (*pair.one, *pair.other)} == {pair.kind}


# ---- replay ----


def test_a_method_for_all_kinds_holds_and_every_kind_is_reached():
    replayed = replay_all(Coarse(), pairs_for(Coarse(), 22, thorough=False))
    assert replayed.divergences == ()
    assert replayed.largest_loss == 1
    rows = all_reached(Coarse(), replayed.reach)
    assert [row for row in rows if not row.held] == []
    settings = {row.name for row in rows if row.kind == "setting" and row.name.endswith("graphs")}
    assert {"directed graphs", "two-sided graphs", "directed, weighted graphs"} <= settings
    assert {"AllEdges (two-sided)", "WeightCounts (undirected, weighted)"} <= {
        row.name for row in rows if row.kind == "query" and row.attained == 1
    }


def test_a_kind_that_was_never_tried_is_told():
    replayed = replay_all(Coarse(), neighbouring_streams(4, kind=DIRECTED))
    missing = {row.name for row in all_reached(Coarse(), replayed.reach) if not row.held}
    assert {"two-sided graphs", "AllEdges (two-sided)"} <= missing
    assert {"directed graphs", "AllEdges (directed)"}.isdisjoint(missing)


@dataclass(frozen=True)
class StatesNoWeights(WeightCounts):
    weight_sensitivity = 0


class HidesTheWeights(Coarse):
    """States that weights move nothing."""

    queries = (AllEdges, StatesNoWeights)
    weight_query = StatesNoWeights


class ClippedAtTheLargestTrueWeight(Coarse):
    def measure(self, private, state):
        measurement = super().measure(private, state)
        weight = snapshot_of(private).weight
        if weight is None or not weight.size:
            return measurement
        return replace(measurement, noisy_weights=measurement.noisy_weights[: weight.max()])


class DecidesByReciprocity(Coarse):
    def measure(self, private, state):
        edges = weights_of(snapshot_of(private))
        if private.kind.directed and any((v, u) in edges for u, v in edges):
            private.random_order(1)
        return super().measure(private, state)


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (HidesTheWeights, "sensitivity"),
        (ClippedAtTheLargestTrueWeight, "results"),
        (DecidesByReciprocity, "queries"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_method_that_is_broken_on_one_kind_diverges(broken, code):
    replayed = replay_all(broken(), pairs_for(broken(), 22, thorough=False), most=1)
    assert replayed.codes == (code,)


class WeightsFirst(Coarse):
    weight_share = Fraction(2, 3)


def test_weights_with_more_than_half_of_a_timestamp_are_refused_and_would_lose_too_much():
    pairs = list(neighbouring_streams(8, kind=DIRECTED.with_weights(5), plain=True))
    assert set(replay_all(WeightsFirst(), pairs).codes) == {"error"}
    with UNCOVERED.applied():
        assert "loss" in replay_all(WeightsFirst(), pairs).codes


# ---- enumeration: all weightings of three pairs ----


def loss_of(kind, sizes, topology, weights):
    """The exact loss of edges and weights together, for an edge and for another weight."""

    def run(graph, budget):
        private = PrivateSnapshot(graph, budget, ENGINE)
        private.ask(AllEdges(), epsilon=topology)
        private.ask(WeightCounts(2), epsilon=weights)

    distributions = [
        explore(
            partial(run, graph),
            epsilon=topology + weights,
            window=extremes(-1, 6),
            terminal=frozenset({"edges", "weights"}),
        )
        for graph in all_graphs(*sizes, kind=kind)
    ]
    return [
        max((compare(distributions[a], distributions[b]) for a, b in pairs), key=lambda v: v.loss)
        for pairs in (neighbouring_pairs(*sizes, kind=kind), reweighted_pairs(*sizes, kind=kind))
    ]


@pytest.mark.parametrize(
    ("kind", "sizes"), [(UNDIRECTED, (3,)), (DIRECTED, (2,)), (TWO_SIDED, (1, 3))], ids=str
)
def test_another_weight_loses_no_more_than_an_edge_if_weights_get_at_most_half(kind, sizes):
    for topology, weights in ((ONE, ONE / 4), (ONE, ONE)):
        edge, weight = loss_of(kind.with_weights(2), sizes, topology, weights)
        assert edge.loss == pytest.approx(float(topology + weights))
        assert weight.loss == pytest.approx(float(2 * weights))
        assert edge.holds
        assert weight.holds


def test_more_than_half_for_weights_is_refused_and_would_lose_more_than_is_charged():
    kind = UNDIRECTED.with_weights(2)
    with pytest.raises(MethodError):
        loss_of(kind, (3,), ONE, 2 * ONE)
    with UNCOVERED.applied():
        edge, weight = loss_of(kind, (3,), ONE, 2 * ONE)
    assert edge.holds
    assert not weight.holds
    assert weight.loss == pytest.approx(4)
