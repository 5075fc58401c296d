"""PSGraph, PrivGraph and TmF on directed and two-sided graphs; what other methods refuse."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest

from psgraph.engines.sides import Sides
from psgraph.errors import KindMismatch
from psgraph.graph import (
    DIRECTED,
    TWO_SIDED,
    UNDIRECTED,
    Kind,
    Roster,
    Snapshot,
    SyntheticGraph,
    TwoSidedRoster,
)
from psgraph.methods.base import Method
from psgraph.methods.privgraph import PrivGraph
from psgraph.methods.psgraph import PSGraph
from psgraph.methods.psgraph.method import fuse
from psgraph.methods.queries import CommunityEdges, Degrees, InnerDegrees, SuperGraphEdges
from psgraph.methods.registry import check_kind, find_method
from psgraph.methods.steps.block_model import capped_inner_degrees, raked
from psgraph.methods.steps.communities import keep_communities
from psgraph.methods.timestamp import draw_graph, measure_stream
from psgraph.methods.tmf import LargestPairs, TmF
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication import records

from .streams import ENGINE, asking, hubs

KINDS = [DIRECTED, TWO_SIDED]
METHODS: list[Method] = [PSGraph(supernode_size=4), PrivGraph(supernode_size=4), TmF()]


def publish(
    method: Method, stream: list[Snapshot], *, epsilon: str = "20", seed: int = 5
) -> list[SyntheticGraph]:
    """The graphs of a stream, drawn from stored states, with `epsilon` for each timestamp."""
    guarantee = WEventPrivacy(2 * Fraction(epsilon), window=2)
    graphs = []
    for step in measure_stream(
        method,
        stream,
        guarantee,
        ENGINE,
        samplers=lambda number: Sampler(RandomSource.seeded(100 * seed + number)),
    ):
        data, rosters = records.encode(step.state)
        state = records.decode(data, classes=method.records, rosters=rosters.get)
        graphs.append(draw_graph(method, state, None, step.seed, ENGINE))
    return graphs


def check_normal(graph: SyntheticGraph, snapshot: Snapshot) -> None:
    """The drawn graph is a simple graph of the snapshot's kind and roster."""
    assert graph.kind == snapshot.kind
    assert graph.roster == snapshot.roster
    assert graph.kind.is_normal(graph.u, graph.v)
    graph.roster.refuse_outside(graph.u, graph.v, time=None)


def skewed(kind: Kind, edges: int, *, seed: int, left: int = 90, right: int = 40) -> Snapshot:
    """Edges whose first ends are few, in groups that are mostly connected among themselves."""
    rng = np.random.default_rng(seed)
    weights = (1 - rng.random(left)) ** -0.8
    u = rng.choice(left, edges, p=weights / weights.sum())
    same = rng.random(edges) < 0.7
    if kind.two_sided:
        v = rng.integers(0, right, edges)
        v = np.where(same, v - v % 3 + u % 3, v).clip(max=right - 1) + left
        return Snapshot(TwoSidedRoster(Roster.range(left), Roster.range(right)), u, v)
    v = rng.integers(0, left, edges)
    return Snapshot(Roster.range(left), u, np.where(same, v - v % 3 + u % 3, v), kind=kind)


def degrees(graph: Snapshot | SyntheticGraph) -> tuple[np.ndarray, np.ndarray]:
    nodes = len(graph.roster)
    return np.bincount(graph.u, minlength=nodes), np.bincount(graph.v, minlength=nodes)


# ---- what is drawn ----


@pytest.mark.parametrize("epsilon", ["1/10", "20"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_edges_are_pairs_of_the_kind(kind: Kind, method: Method, epsilon: str) -> None:
    stream = [skewed(kind, 300, seed=seed) for seed in range(3)]
    for graph, snapshot in zip(publish(method, stream, epsilon=epsilon), stream, strict=True):
        check_normal(graph, snapshot)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_with_hardly_any_noise_both_degrees_of_a_node_are_kept_on_average(
    kind: Kind, method: Method
) -> None:
    snapshot = skewed(kind, 900, seed=3)
    found = [publish(method, [snapshot], epsilon="200", seed=seed)[0] for seed in range(12)]
    wanted = degrees(snapshot)
    means = [np.mean([degrees(graph)[side] for graph in found], axis=0) for side in (0, 1)]
    off = [np.abs(mean - each).sum() / each.sum() for mean, each in zip(means, wanted, strict=True)]
    # PrivGraph measures no degrees outside communities: an edge between them ends anywhere there.
    assert max(off) < (0.35 if method.name == "privgraph" else 0.12)
    assert np.abs(means[0] - wanted[1]).sum() / wanted[1].sum() > 0.4  # the sides are not mixed up


@pytest.mark.parametrize("between", ["printed", "symmetric"])
def test_the_direction_between_communities_is_kept(between: str) -> None:
    """Two groups of 40; all edges between them lead from the first to the second."""
    rng = np.random.default_rng(1)
    inside = rng.integers(0, 40, (2, 900)) + 40 * rng.integers(0, 2, 900)
    across = np.stack([rng.integers(0, 40, 300), 40 + rng.integers(0, 40, 300)])
    snapshot = Snapshot(Roster.range(80), *np.concatenate([inside, across], axis=1), kind=DIRECTED)
    method = PSGraph(between=between, supernode_size=1)
    (graph,) = publish(method, [snapshot], epsilon="200")
    forth = ((graph.u < 40) & (graph.v >= 40)).sum()
    back = ((graph.u >= 40) & (graph.v < 40)).sum()
    assert forth > 200
    assert back < 0.1 * forth


def stars(kind: Kind) -> Snapshot:
    """All edges start at one node."""
    if kind.two_sided:
        return Snapshot(TwoSidedRoster(Roster.range(3), Roster.range(15)), [0] * 15, range(3, 18))
    return Snapshot(Roster.range(16), [0] * 15, range(1, 16), kind=kind)


def complete(kind: Kind) -> Snapshot:
    if kind.two_sided:
        u, v = kind.all_pairs(6, 5)
        return Snapshot(TwoSidedRoster(Roster.range(6), Roster.range(5)), u, v + 6)
    return Snapshot(Roster.range(8), *kind.all_pairs(8), kind=kind)


def empty(kind: Kind, left: int, right: int) -> Snapshot:
    if kind.two_sided:
        return Snapshot(TwoSidedRoster(Roster.range(left), Roster.range(right)), [], [])
    return Snapshot(Roster.range(left), [], [], kind=kind)


def grown(kind: Kind) -> list[Snapshot]:
    """Rosters that grow, shrink and have nothing in common."""
    found = []
    for first, last in ((0, 20), (5, 30), (100, 110), (0, 0), (0, 9)):
        one, other = Roster(range(first, last)), Roster(range(last, last + 7 * (last > 0)))
        roster = TwoSidedRoster(one, other) if kind.two_sided else one
        pairs = np.arange(0, kind.pairs(*roster.sizes), 7)
        u, v = kind.pair_of(pairs, *roster.sizes, inside=kind.two_sided)
        found.append(Snapshot(roster, u, v + roster.offset, kind=kind))
    return found


CASES = {
    "no edges": lambda kind: [empty(kind, 12, 9)] * 2,
    "all edges": lambda kind: [complete(kind)] * 2,
    "edges of one node": lambda kind: [stars(kind)] * 2,
    "no nodes": lambda kind: [empty(kind, 0, 0)] * 2,
    "one node": lambda kind: [empty(kind, 1, 0)] * 2,
    "one node on each side": lambda kind: [empty(kind, 1, 1)] * 2,
    "one node on the left": lambda kind: [empty(kind, 1, 20)] * 2,
    "rosters that change": grown,
}


@pytest.mark.parametrize("epsilon", ["1/10", "20"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_methods_are_defined_on_every_graph(kind: Kind, case: str, epsilon: str) -> None:
    stream = CASES[case](kind)
    for method in (*METHODS, PSGraph(threshold="1000"), PSGraph(always_repartition=True)):
        for seed in range(3):
            graphs = publish(method, stream, epsilon=epsilon, seed=seed)
            for graph, snapshot in zip(graphs, stream, strict=True):
                check_normal(graph, snapshot)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_graph_of_all_pairs_stays_one(kind: Kind) -> None:
    for method in (TmF(), PSGraph(supernode_size=1)):
        (graph,) = publish(method, [complete(kind)], epsilon="5000")
        assert graph.edge_count >= 0.7 * graph.pair_count


def test_the_nodes_of_both_sides_keep_apart() -> None:
    """User 7 and item 7 are different nodes, also when rosters change."""
    before = TwoSidedRoster(Roster(range(5)), Roster(range(5)))
    after = TwoSidedRoster(Roster(range(2, 7)), Roster(range(5)))
    labels = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2, 2], dtype=np.int32)
    kept = keep_communities(before, labels, asking(Snapshot(after, [], [])))
    assert kept[:3].tolist() == [kept[0]] * 3
    assert len(set(kept[5:].tolist())) == 1
    assert kept[5] != kept[0]


# ---- steps ----


def test_raking_makes_the_sums_of_both_sides_equal_in_each_community() -> None:
    rng = np.random.default_rng(2)
    for sides in (Sides(DIRECTED, (30,)), Sides(TWO_SIDED, (20, 10))):
        labels = (np.arange(sides.nodes) % 4).astype(np.int32)
        values = rng.uniform(0, 5, sides.degrees)
        first, second = sides.sums(values, labels, 4)
        found = sides.sums(raked(values, labels, sides), labels, 4)
        np.testing.assert_allclose(found[0], (first + second) / 2)
        np.testing.assert_allclose(found[1], (first + second) / 2)


def test_caps_count_the_nodes_that_can_be_the_other_end() -> None:
    labels = np.array([0, 0, 0, 1, 0, 1, 1], dtype=np.int32)
    directed = capped_inner_degrees(np.full(14, 99.0), labels, Sides(DIRECTED, (7,)))
    assert directed.tolist() == 2 * [3.0, 3.0, 3.0, 2.0, 3.0, 2.0, 2.0]
    two_sided = capped_inner_degrees(np.full(7, 99.0), labels, Sides(TWO_SIDED, (4, 3)))
    assert two_sided.tolist() == [1.0, 1.0, 1.0, 2.0, 3.0, 1.0, 1.0]


def test_degrees_are_fused_with_those_of_the_same_node_and_side() -> None:
    now, before = Roster([2, 3, 4]), Roster([1, 2, 3])
    out_before, in_before = [10.0, 20.0, 30.0], [1.0, 2.0, 3.0]
    fused = fuse(
        np.zeros(6),
        np.array(out_before + in_before),
        roster=now,
        roster_before=before,
        weight=0.5,
        kind=DIRECTED,
    )
    assert fused.tolist() == [10.0, 15.0, 0.0, 1.0, 1.5, 0.0]


# ---- what is measured, and what is refused ----


@pytest.mark.parametrize("kind", [UNDIRECTED, *KINDS], ids=str)
def test_shapes_follow_from_public_numbers(kind: Kind) -> None:
    labels = np.zeros(5, dtype=np.int32)
    sizes = (2, 3) if kind.two_sided else (5,)
    ordered = kind.sides == 2
    assert Degrees(kind=kind).shape(5) == InnerDegrees(labels, kind=kind).shape(5)
    assert Degrees(kind=kind).shape(5) == ((10,) if kind.directed else (5,))
    assert CommunityEdges(labels, 3, kind=kind).shape(5) == ((6,) if ordered else (3,))
    assert SuperGraphEdges(labels, 3, kind=kind).shape(5) == ((9,) if ordered else (6,))
    assert LargestPairs(0, sizes, kind=kind).shape(5) == (kind.pairs(*sizes),)


def test_a_query_made_for_another_kind_is_refused() -> None:
    private = asking(skewed(DIRECTED, 50, seed=1))
    with pytest.raises(KindMismatch):
        private.ask(Degrees(), epsilon=Fraction(1, 2))
    assert private.ask(Degrees(kind=DIRECTED), epsilon=Fraction(1, 2)).size == 180


@pytest.mark.parametrize("name", ["der", "ldpgen", "privhrg"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_method_for_undirected_graphs_names_those_that_publish_others(
    kind: Kind, name: str
) -> None:
    with pytest.raises(KindMismatch) as refusal:
        check_kind(find_method(name)(), kind)
    assert all(method.name in str(refusal.value) for method in METHODS)


@pytest.mark.parametrize("kind", [UNDIRECTED, *KINDS], ids=str)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_methods_without_weights_refuse_them(method: Method, kind: Kind) -> None:
    check_kind(method, kind)
    with pytest.raises(KindMismatch):
        check_kind(method, kind.with_weights(8))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_methods_without_flows_refuse_them(method: Method, kind: Kind) -> None:
    with pytest.raises(KindMismatch):
        check_kind(method, kind.with_flows())
    check_kind(find_method("psgraph-plus")(), kind.with_flows())


# ---- undirected graphs ----

MEASURED = {
    "psgraph": "8e430029074058c4",
    "privgraph": "57178c3a6ee567be",
    "tmf": "c11c12f83681a3b8",
}
"""Digests of what version 0.2.0 measures here."""


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_undirected_measurements_have_the_bytes_they_always_had(method: Method) -> None:
    measurement = method.measure(asking(hubs(60, 200, seed=3), "2"), None)
    data, _ = records.encode(measurement)
    assert b"kind" not in data
    assert hashlib.sha256(data).hexdigest()[:16] == MEASURED[method.name]
