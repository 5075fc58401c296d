"""PSGraph+ where the unit of privacy is an owner, and on flows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from psgraph.audit.owned import owned_streams
from psgraph.audit.replay import replay
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Kind, Roster, Snapshot, SyntheticGraph, TwoSidedRoster
from psgraph.graph.kind import DIRECTED, TWO_SIDED, UNDIRECTED
from psgraph.graph.parts import MemoryParts, RepeatedParts
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.plus.flows import flow_rows
from psgraph.methods.plus.owner_queries import (
    OwnClassEdges,
    OwnerCount,
    OwnersBySize,
    SideCurveCounts,
    SideDegrees,
)
from psgraph.methods.plus.owners import Owners, next_owners, own_classes, owner_bounds
from psgraph.methods.plus.realisation import Target
from psgraph.methods.plus.shares import Components
from psgraph.methods.plus.state import OwnedState, SidedState
from psgraph.methods.plus.wanted import unthinned
from psgraph.methods.private import Previous
from psgraph.methods.timestamp import Timestamp, draw_graph, measure_timestamp
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.privacy.unit import Edge, Owner, Row, Unit
from psgraph.publication.records import decode, encode
from psgraph.testing import check_query

from .owned import bounded

PLUS = PSGraphPlus()
FLOWS = DIRECTED.with_flows()


def stream(
    kind: Kind, unit: Owner, *, owners: int = 300, others: int = 40, steps: int = 4, seed: int = 1
) -> list[tuple[Snapshot, Snapshot]]:
    """Pairs of all edges and of those used: most owners have few, places are popular or not."""
    rng = np.random.default_rng(seed)
    roster: Roster = Roster.range(owners)
    if kind.two_sided:
        roster = TwoSidedRoster(np.arange(owners), np.arange(others))
    pairs = []
    everything = Owner(unit.column, 10**6, flows=unit.flows)
    for _ in range(steps):
        sizes = np.minimum(rng.geometric(0.4, owners), 20)
        who = np.repeat(np.arange(owners), sizes)
        v = np.minimum(rng.exponential(others / 5, who.size), others - 1).astype(np.int64)
        u = who if unit.side else np.minimum(rng.exponential(others / 4, who.size), others - 1)
        rows = np.stack([who, u.astype(np.int64), v])
        rows = rows[:, (rows[1] != rows[2]) | kind.two_sided]
        if unit.side == "second":
            rows = rows[[0, 2, 1]]
        pairs.append(
            (
                bounded(rows, everything, kind, roster, key=1),
                bounded(rows, unit, kind, roster, key=1),
            )
        )
    return pairs


def published(
    snapshots: list[Snapshot],
    unit: Unit,
    *,
    epsilon: str = "4",
    window: int = 2,
    seed: int = 0,
    method: PSGraphPlus = PLUS,
) -> Iterator[tuple[Timestamp, SyntheticGraph]]:
    accountant = Accountant(WEventPrivacy(epsilon, window, unit))
    state: Any = None
    previous, graph, engine = None, None, LocalEngine()
    for number, snapshot in enumerate(snapshots):
        sampler = Sampler(RandomSource.seeded(100 * seed + number))
        done = measure_timestamp(
            method, snapshot, state, accountant, sampler, engine, previous=previous
        )
        accountant, state = done.spending, done.state
        previous = Previous.of(snapshot, done.charges)
        graph = draw_graph(method, state, graph, number, engine)
        yield done, graph


# ---- the queries


@pytest.mark.parametrize(("column", "side"), [("u", 0), ("v", 1)])
def test_no_owner_moves_a_query_further_than_it_states(column, side):
    units = [Edge(), Owner(column, 2)]
    # In these, owners have at most two edges: the other side has two nodes.
    sizes = (3, 2) if side == 0 else (2, 3)

    def of(query: type) -> Any:
        return lambda *given: query(given if len(given) == 2 else sizes, 1 - side, kind=TWO_SIDED)

    for make in (
        lambda *_: OwnerCount(),
        of(SideDegrees),
        of(SideCurveCounts),
        lambda *given: OwnClassEdges(
            np.arange((given if len(given) == 2 else sizes)[1 - side], dtype=np.int32),
            side,
            2,
            kind=TWO_SIDED,
        ),
    ):
        assert check_query(make, units=units[1:], kinds=["two-sided"]).largest == 1


@pytest.mark.parametrize("flows", [False, True])
def test_owners_by_size_have_sensitivity_1_and_edges_2(flows):
    units = [Edge(), Owner("u", 1, flows), Owner("u", 2, flows)]
    found = check_query(lambda *_: OwnersBySize(1), units=units, kinds=["two-sided"], flows=flows)
    assert found.largest == 1
    query = OwnersBySize(3)
    assert (query.sensitivity_for(Owner("any", 3)), query.sensitivity_for(Edge())) == (1, 2)
    assert OwnerCount().sensitivity_for(Edge()) == 1
    assert OwnClassEdges(np.zeros(0, np.int32), 0, 3).sensitivity_for(Owner("v", 3)) == 15


def test_rows_of_flows_are_counted_with_their_numbers():
    kept = RepeatedParts(MemoryParts(np.array([0, 1]), np.array([1, 2]), np.array([3, 1]), nodes=3))
    assert (kept.nodes, kept.edge_count, len(kept.rows())) == (3, 4, 1)
    assert kept.whole().u.tolist() == [0, 0, 0, 1]
    assert kept.part_nodes >= 3
    kept.let_go()


# ---- what one owner can change


@pytest.mark.parametrize("kind", [UNDIRECTED, TWO_SIDED, DIRECTED, FLOWS, DIRECTED.with_weights(5)])
def test_replay_of_an_owner_loses_no_more_than_is_charged(kind):
    for number, pair in enumerate(owned_streams(8 if kind.flows else 6, kind=kind)):
        assert replay(PLUS, pair, seed=number) <= pair.guarantee.epsilon, pair


# ---- releases


def _strengths(graph: Any) -> tuple[np.ndarray, np.ndarray]:
    weight = np.ones(graph.u.size) if graph.weight is None else graph.weight
    nodes = len(graph.roster)
    return np.bincount(graph.u, weight, nodes), np.bincount(graph.v, weight, nodes)


@pytest.mark.parametrize("at_most", [1, 3])
@pytest.mark.parametrize("kind", [TWO_SIDED, DIRECTED])
def test_edges_that_the_bound_leaves_out_come_back(kind, at_most):
    unit = Owner("u", at_most)
    pairs = stream(kind, unit)
    off = []
    for (truth, _), (done, graph) in zip(
        pairs, published([used for _, used in pairs], unit, epsilon="20"), strict=True
    ):
        assert isinstance(done.state, OwnedState)
        assert done.spending.guarantee.unit == unit
        off.append(graph.parts.edge_count / truth.parts.edge_count - 1)
        assert _strengths(graph)[0].max() <= 8 * at_most + 10
        data, rosters = encode(done.state)
        assert encode(decode(data, classes=PLUS.records, rosters=rosters.get))[0] == data
    assert abs(np.mean(off)) < 0.15
    assert "owners" in PLUS.summary(done.state)


def test_owners_on_the_right_are_those_on_the_left_mirrored():
    unit = Owner("v", 2)
    kind = TWO_SIDED
    roster = TwoSidedRoster(np.arange(20), np.arange(100))
    rng = np.random.default_rng(3)
    rows = np.stack([np.arange(100), rng.integers(20, size=100), np.arange(100)])
    used = bounded(rows, unit, kind, roster, key=1)
    for done, graph in published([used] * 3, unit, epsilon="30"):
        assert done.measurement.sizes.sides[1].noisy_degrees is None
        assert abs(graph.parts.edge_count - 100) < 40


def test_flows_are_published_with_their_rows():
    unit = Owner("rider", 2, flows=True)
    pairs = stream(FLOWS, unit)
    releases = published([used for _, used in pairs], unit, epsilon="20")
    for (truth, _), (done, graph) in zip(pairs, releases, strict=True):
        assert done.state.kind == FLOWS
        assert graph.kind == FLOWS
        rows, wanted = graph.weight.sum(), truth.weight.sum()
        assert abs(rows / wanted - 1) < 0.3
        top, best = (np.argsort(-_strengths(each)[1])[:5] for each in (graph, truth))
        assert np.intersect1d(top, best).size >= 3
    assert done.state.class_counts == (12, 12)
    assert done.state.classes[0].size == len(truth.roster)


def test_flows_without_owners_protect_a_row():
    unit = Owner("rider", 10**6, flows=True)
    truth = [whole for whole, _ in stream(FLOWS, unit, steps=3)]
    for (done, graph), exact in zip(published(truth, Row(), epsilon="8"), truth, strict=True):
        assert isinstance(done.state, SidedState)
        assert not isinstance(done.state, OwnedState)
        assert abs(graph.weight.sum() / exact.weight.sum() - 1) < 0.1


def test_an_empty_stream_and_one_without_nodes():
    unit = Owner("u", 2)
    for sizes in ((0, 0), (3, 0), (1, 1), (4, 5)):
        roster = TwoSidedRoster(*map(np.arange, sizes))
        empty = Snapshot(roster, [], [], kind=TWO_SIDED, owner_sizes=np.zeros(0, dtype=int))
        for _, graph in published([empty] * 3, unit):
            assert graph.parts.edge_count <= sizes[0] * sizes[1]
    empty = Snapshot(Roster.range(1), [], [], kind=FLOWS, owner_sizes=np.zeros(0, dtype=int))
    for _, graph in published([empty] * 3, Owner("rider", 1, flows=True)):
        assert graph.parts.edge_count == 0


# ---- plan


def test_the_plan_has_what_is_charged():
    unit = Owner("u", 2)
    pairs = stream(TWO_SIDED, unit, steps=3)
    planned = {
        (row.label, row.epsilon, row.sensitivity)
        for row in PLUS.plan(WEventPrivacy("4", 2, unit), nodes=340, kind=TWO_SIDED)
    }
    found = next(published([used for _, used in pairs], unit))
    drawn = [c for c in found[0].charges if c.mechanism not in ("reserved", "given back")]
    assert {(c.label, c.epsilon, c.sensitivity) for c in drawn} <= planned
    assert {row.label for row in PLUS.plan(WEventPrivacy("4", 2), nodes=9, kind=TWO_SIDED)} == {
        "edges",
        "edges kept",
        "degree curve",
        "degrees",
        "edges between degree classes",
    }
    remarks = PLUS.plan_remarks(WEventPrivacy("4", 2, unit), nodes=9, kind=TWO_SIDED)
    assert any("Owners" in remark for remark in remarks)


def test_where_one_edge_of_an_owner_is_used_no_mixing_is_measured():
    assert not Components().on(TWO_SIDED, Owner("u", 1)).mixing
    assert Components().on(FLOWS, Owner("rider", 1, flows=True)).mixing
    labels = {
        row.label
        for row in PLUS.plan(WEventPrivacy("4", 2, Owner("u", 1)), nodes=9, kind=TWO_SIDED)
    }
    assert "edges between degree classes" not in labels


# ---- estimates


def test_the_distribution_of_owners_is_found_and_its_tail_is_not_believed_from_noise():
    rng = np.random.default_rng(0)
    sizes = np.minimum(rng.zipf(2.2, 5000), 40)
    bounds = owner_bounds(5)
    exact = np.bincount(np.searchsorted(bounds, sizes), minlength=bounds.size)
    known = next_owners(Owners.start(5).with_count(5000), exact, noisy_count=5000, epsilon=50.0)
    ratio = sizes.sum() / np.minimum(sizes, 5).sum()
    assert abs(known.factor / ratio - 1) < 0.1
    assert abs(known.used / np.minimum(sizes, 5).sum() - 1) < 0.05
    few = np.array([20, 0, 0, 0, 0, 0, 3])
    noisy = next_owners(Owners.start(5).with_count(20), few, noisy_count=20, epsilon=0.1)
    assert noisy.factor < 2
    assert next_owners(noisy, None, noisy_count=20, epsilon=0.1) is noisy


def test_sizes_of_owners_add_up():
    owners = Owners.start(4).with_count(100)
    found = owners.sizes(260, 50)
    assert found.size == 100
    assert abs(found.sum() - 260) < 30
    assert (np.diff(found) <= 0).all()
    assert owners.sizes(0, 50).size == 0
    assert owners.with_count(1).sizes(1, 9).tolist() == [1]
    assert own_classes(np.array([5000]), 5000).tolist() == [11]


def test_a_thinned_curve_is_restored():
    rng = np.random.default_rng(1)
    degrees = np.minimum(rng.zipf(1.8, 20_000), 100)
    kept = rng.binomial(degrees, 0.5)
    curve = np.array([(kept >= k).mean() for k in range(1, 21)])
    restored = unthinned(curve, 0.5)
    for k in (1, 2, 4, 8):
        exact = (degrees >= k).mean()
        assert abs(restored[k - 1] - exact) < abs(curve[k - 1] - exact) / 2 + 0.02


def test_large_degrees_are_restored_in_proportion():
    rng = np.random.default_rng(2)
    degrees = np.sort((1 - rng.random(2_000)) ** -0.8 * 30)[::-1].astype(np.int64)
    kept = rng.binomial(degrees, 0.6)
    known = int(np.sort(kept)[-10])
    restored = unthinned(np.array([(kept >= k).mean() for k in range(1, known + 1)]), 0.6)
    assert restored.size == round(known / 0.6)
    assert (np.diff(restored) <= 0).all()
    for k in (50, 200, 800, restored.size):
        assert restored[k - 1] == pytest.approx((degrees >= k).mean(), rel=0.15)


# ---- rows of flows


def _target(u: np.ndarray, v: np.ndarray, rows: int, *, directed: bool) -> Target:
    labels = np.repeat([0, 1], [u.size, v.size]).astype(np.int32)
    one, other = np.zeros(1, np.int32), np.ones(1, np.int32)
    quotas = np.array([rows])
    degrees = np.concatenate([u, v])
    return Target(degrees, labels, one, other, quotas, rows, left=u.size, directed=directed)


def test_rows_have_the_wanted_strengths_and_keep_old_ones():
    rng = np.random.default_rng(2)
    u, v = np.array([6, 3, 1]), np.array([2, 3, 5])
    old = np.array([0, 0, 0], np.int32), np.array([5, 5, 5], np.int32)
    target = _target(u, v, 10, directed=False)
    found = flow_rows(target, kept=old, most_kept=2, rng=rng)
    assert np.bincount(found.u, minlength=3).tolist() == u.tolist()
    assert np.bincount(found.v - 3, minlength=3).tolist() == v.tolist()
    assert np.count_nonzero((found.u == 0) & (found.v == 5)) >= 2


def test_no_row_leads_from_a_node_to_itself():
    nothing = np.zeros(0, np.int32), np.zeros(0, np.int32)
    rng = np.random.default_rng(2)
    target = _target(np.full(4, 5), np.full(4, 5), 20, directed=True)
    found = flow_rows(target, kept=nothing, most_kept=0, rng=rng)
    assert (found.u != found.v - 4).all()
    assert found.u.size == 20
    one = _target(np.array([3, 0]), np.array([3, 0]), 3, directed=True)
    assert flow_rows(one, kept=nothing, most_kept=0, rng=rng).u.size == 0


def test_epsilon_of_an_edge_is_paid_for_each_edge_of_the_unit():
    unit = Owner("rider", 3)
    accountant = Accountant(WEventPrivacy("3", 1, unit))
    of_an_edge = PLUS.request(None, Accountant(WEventPrivacy("1", 1)))
    assert PLUS.request(None, accountant) == 3 * of_an_edge
