"""PSGraph+ on directed and two-sided graphs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.graph import Roster, Snapshot, SyntheticGraph, TwoSidedRoster
from psgraph.graph.kind import DIRECTED, TWO_SIDED, Edges
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.plus.coupling import aligned, coupled_levels, coupling, pooled
from psgraph.methods.plus.curve import fit_curve
from psgraph.methods.plus.degrees import growth_since_fit, robust_share
from psgraph.methods.plus.nodes import Nodes
from psgraph.methods.plus.readings import SideReadings
from psgraph.methods.plus.realisation import Target, realise
from psgraph.methods.plus.reciprocity import reciprocated_pairs, swap_heads
from psgraph.methods.plus.sides import FilteredSide
from psgraph.methods.plus.tracking import Track
from psgraph.publication.records import decode, encode

from .snapshots import publish, released


def directed(nodes: int, u, v, roster: Roster | None = None) -> Snapshot:
    return Snapshot(roster or Roster.range(nodes), u, v, kind=DIRECTED)


def two_sided(left: int, right: int, u, v) -> Snapshot:
    roster = TwoSidedRoster(Roster.range(left), Roster.range(right))
    return Snapshot(roster, u, np.asarray(v) + left, kind=TWO_SIDED)


def hubs(nodes: int, edges: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ends of edges of which a few nodes have most."""
    rng = np.random.default_rng(seed)
    u, v = ((nodes * rng.random(edges) ** 3).astype(np.int64) for _ in range(2))
    return u[u != v], v[u != v]


def all_reciprocated(nodes: int, edges: int) -> Snapshot:
    u, v = hubs(nodes, edges // 2)
    return directed(nodes, np.append(u, v), np.append(v, u))


def never_reciprocated(nodes: int, edges: int) -> Snapshot:
    u, v = hubs(nodes, edges)
    return directed(nodes, np.minimum(u, v), np.maximum(u, v))


def reciprocity(graph: SyntheticGraph | Snapshot) -> float:
    return 2 * reciprocated_pairs(Edges(graph.u, graph.v)) / graph.u.size


def graphs_of(stream, *, epsilon="40", window=3, seed=1) -> list[SyntheticGraph]:
    rows = publish(PSGraphPlus(), stream, epsilon=epsilon, window=window, seed=seed)
    return list(released(row[3] for row in rows))


BIG = directed(300, *hubs(300, 1500))
SIDES = two_sided(200, 60, hubs(200, 900)[0], hubs(200, 900)[1] % 60)
COMPLETE = directed(12, *np.nonzero(~np.eye(12, dtype=bool)))
STAR = directed(40, np.zeros(39, dtype=np.int64), np.arange(1, 40))
EMPTY = directed(30, [], [])
STREAMS = {
    "no nodes": [directed(0, [], [])] * 2,
    "one node": [directed(1, [], [])] * 2,
    "no edges, and many": [EMPTY, EMPTY, BIG],
    "complete graphs": [COMPLETE] * 3,
    "edges from one node, and to it": [STAR, directed(40, STAR.v, STAR.u), STAR],
    "a tenth and back": [BIG, directed(300, BIG.u[::10], BIG.v[::10]), BIG, BIG],
    "a roster that grows": [directed(12, *hubs(12, 40)), directed(60, *hubs(60, 300)), BIG],
    "other nodes": [BIG, directed(300, BIG.u, BIG.v, Roster(range(200, 500))), EMPTY],
    "one node on the left": [two_sided(1, 30, np.zeros(9, dtype=np.int64), np.arange(9))] * 3,
    "nobody on the right": [two_sided(5, 0, [], [])] * 2,
    "all pairs of two sides": [two_sided(4, 3, *np.nonzero(np.ones((4, 3))))] * 3,
    "two sides": [SIDES, two_sided(40, 70, *hubs(40, 200)), SIDES],
}


@pytest.mark.parametrize("case", STREAMS)
@pytest.mark.parametrize(("epsilon", "window"), [("1", 1), ("0.01", 3), ("60", 2), ("1", 200)])
def test_it_is_defined_on_every_valid_stream(case, epsilon, window):
    stream = STREAMS[case]
    rows = list(publish(PSGraphPlus(), stream, epsilon=epsilon, window=window))
    assert all(budget.spent == granted for granted, budget, _, _ in rows)
    assert sum(granted for granted, *_ in rows[-window:]) <= Fraction(epsilon)
    states = [row[3] for row in rows]
    for snapshot, state, graph in zip(stream, states, released(states), strict=True):
        assert (graph.roster, graph.kind) == (snapshot.roster, snapshot.kind)
        assert graph.u.size == state.edge_count <= snapshot.pair_count


def test_degrees_of_both_sides_are_published():
    for stream in ([BIG] * 6, [SIDES] * 6):
        *_, graph = graphs_of(stream)
        nodes = len(graph.roster)
        for end in ("u", "v"):
            true, found = (
                np.bincount(getattr(each, end), minlength=nodes) for each in (stream[0], graph)
            )
            assert np.corrcoef(true, found)[0, 1] > 0.97
            assert np.abs(np.sort(true) - np.sort(found)).mean() < 0.4


def test_edges_persist_as_they_do_in_truth():
    before, after = graphs_of([BIG] * 6)[-2:]
    common = np.isin(DIRECTED.keys(after.u, after.v), DIRECTED.keys(before.u, before.v))
    assert common.mean() > 0.8


def test_reciprocity_is_published():
    assert reciprocity(graphs_of([all_reciprocated(400, 1600)] * 4, epsilon="20")[-1]) > 0.9
    assert reciprocity(graphs_of([never_reciprocated(400, 1600)] * 4, epsilon="20")[-1]) < 0.02


def test_states_survive_storage_and_give_the_same_graphs():
    method = PSGraphPlus()
    for stream in ([BIG, STAR, BIG], [SIDES] * 3):
        graph = again = state = None
        for index, (_, _, measurement, after) in enumerate(
            publish(method, stream, epsilon="4", window=2)
        ):
            data, rosters = encode(measurement)
            stored = decode(data, classes=method.records, rosters=rosters.get)
            state = PSGraphPlus().update(state, stored)
            data, rosters = encode(state)
            assert data == encode(after)[0]
            state = decode(data, classes=method.records, rosters=rosters.get)
            graph, again = (
                PSGraphPlus().synthesise(each, before, np.random.default_rng(index), None)
                for each, before in ((after, graph), (state, again))
            )
            assert np.array_equal(graph.u, again.u)
            assert np.array_equal(graph.v, again.v)


def test_a_seed_decides_everything():
    one, other, third = (graphs_of([BIG] * 2, seed=seed)[-1] for seed in (1, 1, 2))
    assert one == other
    assert one != third


# ---- realisation ----


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 9), st.integers(1, 9), st.booleans(), st.floats(0, 1), st.integers(0, 10**6))
def test_edges_lead_from_left_to_right_and_never_to_the_same_node(
    left, right, of_one_roster, density, seed
):
    right = left if of_one_roster else right
    rng = np.random.default_rng(seed)
    target = Target(
        rng.integers(0, 9, left + right),
        np.append(rng.integers(0, 2, left), 2 + rng.integers(0, 2, right)).astype(np.int32),
        np.array([1, 1, 0, 0], dtype=np.int32),
        np.array([3, 2, 3, 2], dtype=np.int32),
        rng.integers(0, 12, 4),
        edge_count=0,
        left=left,
        directed=of_one_roster,
    )
    target = Target(**{**vars(target), "edge_count": round(density * target.pairs)})
    edges = realise(target, rng=rng)
    pairs = set(zip(edges.u.tolist(), edges.v.tolist(), strict=True))
    assert len(pairs) == edges.u.size == target.edge_count
    assert all(x < left <= y < left + right for x, y in pairs)
    assert not of_one_roster or all(y - left != x for x, y in pairs)


# ---- reciprocity ----


@settings(deadline=None, max_examples=60)
@given(st.integers(4, 30), st.integers(2, 200), st.floats(0, 1), st.integers(0, 10**6))
def test_swaps_of_heads_leave_degrees_as_they_are(nodes, count, share, seed):
    rng = np.random.default_rng(seed)
    snapshot = directed(nodes, *rng.integers(0, nodes, (2, count)))
    edges = Edges(snapshot.u, snapshot.v)
    labels = tuple(rng.integers(0, 3, nodes).astype(np.int32) for _ in range(2))
    before, wanted = reciprocated_pairs(edges), round(share * edges.u.size / 2)
    after = swap_heads(edges, nodes=nodes, labels=labels, pairs=wanted, rng=rng)
    assert directed(nodes, after.u, after.v).dropped.total == 0
    for ends in ("u", "v"):
        assert np.array_equal(*(np.bincount(getattr(each, ends)) for each in (edges, after)))
    found = reciprocated_pairs(after)
    assert min(before, wanted) <= found <= max(before, wanted) + 1


def test_swaps_of_heads_leave_block_counts_as_they_are_where_that_suffices():
    rng = np.random.default_rng(3)
    snapshot = directed(300, *rng.integers(0, 300, (2, 3000)))
    edges = Edges(snapshot.u, snapshot.v)
    labels = tuple(rng.integers(0, 4, 300).astype(np.int32) for _ in range(2))

    def blocks(of: Edges) -> np.ndarray:
        return np.bincount(4 * labels[0][of.u] + labels[1][of.v], minlength=16)

    after = swap_heads(edges, nodes=300, labels=labels, pairs=500, rng=rng)
    assert reciprocated_pairs(after) >= 500
    assert np.array_equal(blocks(edges), blocks(after))
    fewer = swap_heads(after, nodes=300, labels=labels, pairs=100, rng=rng)
    assert reciprocated_pairs(fewer) == 100
    assert np.array_equal(blocks(edges), blocks(fewer))


# ---- coupling ----


def fitted(degrees: np.ndarray):
    return fit_curve(
        degrees,
        scale=0.05,
        curve=np.zeros(0),
        curve_variance=np.zeros(0),
        mean_degree=float(degrees.mean()),
        mean_variance=1e-6,
        before=None,
    )


@pytest.fixture
def degrees():
    """Out- and in-degrees that are correlated; half of the nodes have none."""
    rng = np.random.default_rng(5)
    normal = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 2000).T
    return [np.where(each > 0, np.exp(1.5 * each), 0).astype(np.int64) for each in normal]


def joint_of(degrees, *, variance: float, active=(0.0, np.inf), share=0.0):
    curves = [fitted(each) for each in degrees]
    estimates = [each.astype(np.float64) for each in degrees]
    return coupling(
        curves, estimates, [np.full(2000, variance)] * 2, active=active, reciprocity=share
    )


def test_the_coupling_has_the_distributions_of_both_sides(degrees):
    joint = joint_of(degrees, variance=np.inf, active=(0.6, 1e-4)).joint
    for side, axis in ((0, 1), (1, 0)):
        idle = float((degrees[side] == 0).mean())
        assert joint.sum(axis=axis)[0] == pytest.approx(idle, abs=0.02)
    assert joint.sum() == pytest.approx(1)


def test_idle_nodes_are_found_from_degrees_or_from_active_nodes(degrees):
    idle = float(((degrees[0] == 0) & (degrees[1] == 0)).mean())
    independent = float((degrees[0] == 0).mean() * (degrees[1] == 0).mean())
    assert joint_of(degrees, variance=np.inf).joint[0, 0] < (independent + idle) / 2
    assert joint_of(degrees, variance=0.01).joint[0, 0] == pytest.approx(idle, abs=0.03)
    counted = joint_of(degrees, variance=np.inf, active=(1 - idle, 1e-5))
    assert counted.joint[0, 0] == pytest.approx(idle, abs=0.03)


def test_a_node_of_unknown_out_degree_is_ranked_by_its_in_degree(degrees):
    found = joint_of(degrees, variance=0.01)
    doubts = [np.full(2000, np.inf), np.full(2000, 0.01)]
    out, _ = coupled_levels(found, [each.astype(np.float64) for each in degrees], doubts)
    assert out[degrees[1] > 0].min() > out[degrees[1] == 0].max()


def test_aligned_orders_agree_but_for_the_largest_nodes():
    rng = np.random.default_rng(7)
    levels = [rng.random(1000) for _ in range(2)]
    one, other = aligned(levels, 1.0)
    largest = [np.argsort(-level)[:15] for level in levels]
    rest = np.setdiff1d(np.arange(1000), np.concatenate(largest))
    assert np.array_equal(np.argsort(one[rest]), np.argsort(other[rest]))
    assert np.array_equal(np.argsort(-one)[:15], largest[0])
    assert np.array_equal(np.argsort(-other)[:15], largest[1])


def test_curves_are_pooled_only_as_far_as_noise_explains_their_distance():
    def tracks(variance: float) -> list[Track]:
        curves = (0.5, 0.2), (0.4, 0.1)
        return [Track.start(*levels, variance=variance, drift=1e-4) for levels in curves]

    one, other, same = pooled(*tracks(1e-2))
    assert np.array_equal(one.level, other.level)
    assert same == 1
    *found, same = pooled(*tracks(1e-8))
    assert same == pytest.approx(0, abs=1e-3)
    for before, after in zip(tracks(1e-8), found, strict=True):
        assert after.level == pytest.approx(before.level, abs=1e-3)


def fitted_side(nodes: int, edges: int, *, fitted_edges: int, seed: int = 3) -> FilteredSide:
    """A side with a curve fitted to a graph of `edges` edges, when there seemed to be others."""
    degrees = np.bincount(hubs(nodes, edges, seed)[0], minlength=nodes)
    curve = fit_curve(
        degrees,
        scale=0.5,
        curve=np.zeros(0),
        curve_variance=np.zeros(0),
        mean_degree=edges / nodes,
        mean_variance=1e-4,
        before=None,
        largest=nodes - 1,
    )
    readings = SideReadings(Roster.range(nodes), nodes - 1, None, None)
    track = Track.unseen(0, drift=1e-4)
    return FilteredSide(None, readings, track, curve, Nodes.start(), 0.0, fitted_edges)


def test_a_curve_from_before_a_fall_is_not_stretched_once_the_edges_are_back():
    per_node = Track.start(2.7, variance=1e-4, drift=0.01)
    side = fitted_side(300, 800, fitted_edges=300)  # it could not be measured in between
    assert growth_since_fit(side, 810, per_node) == 1
    assert 2 < growth_since_fit(replace(side, fitted_edges=800), 2400, per_node) < 3


def test_one_odd_reading_does_not_replace_what_is_known_of_reciprocity():
    known = robust_share(Track.start(0.3, variance=0.06, drift=0.0025), 0.68, 0.02)
    assert 0.6 < known.level[0] < 0.7
    odd = robust_share(known, 0.1, 0.05)  # twelve scales away, which noise may be
    assert odd.level[0] > 0.5
    assert abs(robust_share(known, 0.1, 1e-9).level[0] - 0.1) < 0.01  # no noise: it is true
