"""The search for communities: asked only where it can succeed, used only where it did."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.plus.communities import (
    Bar,
    Communities,
    Search,
    Sizes,
    community_share,
    decide,
)
from psgraph.methods.plus.mixing import CLASSES, affinity, divided
from psgraph.methods.plus.queries import FoundCommunityEdges, GrowthRows
from psgraph.methods.plus.schedule import shares_of, with_search
from psgraph.methods.plus.shares import Components, Occasion
from psgraph.methods.plus.tracking import Track
from psgraph.metrics import modularity
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.records import decode, encode
from psgraph.publication.verification import verify

from .snapshots import ENGINE, asking, hubs_and_leaves, noisy_budget, planted, publish

DIVIDED, TRUTH = planted(500, 4, 24)
PLAIN = hubs_and_leaves(500)
QUERIES = {GrowthRows.label, FoundCommunityEdges.label}


def run(snapshots, *, epsilon="16", window=3, **switches):
    return list(publish(PSGraphPlus(**switches), snapshots, epsilon=epsilon, window=window))


@pytest.fixture(scope="module")
def rows():
    return run([DIVIDED] * 7)


def test_communities_are_found_and_published(rows):
    graph = PSGraphPlus().synthesise(rows[-1][3], None, np.random.default_rng(0), ENGINE)
    *_, (_, _, _, without) = run([DIVIDED] * 7, communities=False)
    plain = PSGraphPlus().synthesise(without, None, np.random.default_rng(0), ENGINE)
    assert rows[-1][3].search.used
    assert modularity(plain, TRUTH) < 0.1
    assert modularity(graph, TRUTH) > 0.6 * modularity(DIVIDED, TRUTH)


def test_the_timestamp_after_a_first_search_asks_for_all_that_is_left(rows):
    granted, first, second = [row[0] for row in rows], rows[0][3], rows[1][1]
    assert first.search.again
    assert {charge.label for charge in second.trace} >= QUERIES
    assert sum(row[2].sizes.shares.bought for row in rows[:2]) == rows[0][2].sizes.shares.pool
    assert not rows[1][3].search.again
    for start in range(len(granted)):
        assert sum(granted[start : start + 3]) <= 16


def test_a_search_changes_how_a_grant_is_divided_and_not_how_much_is_asked(rows):
    for granted, budget, measurement, _ in rows:
        assert budget.spent == granted == measurement.sizes.shares.total


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_nothing_is_asked_and_nothing_changes_where_a_search_cannot_succeed(epsilon):
    for one, other in zip(
        run([PLAIN] * 5, epsilon=epsilon),
        run([PLAIN] * 5, epsilon=epsilon, communities=False),
        strict=True,
    ):
        assert encode(one[2])[0] == encode(other[2])[0]
        assert encode(one[3])[0] == encode(other[3])[0]


def test_a_graph_without_communities_is_asked_and_gets_none():
    results = run([PLAIN] * 8, epsilon="40", window=2)
    asked = [index for index, row in enumerate(results) if row[2].communities is not None]
    assert asked[0] == 0
    assert not any(row[3].search.used for row in results)
    assert len(asked) <= 3  # failures are repeated later and later


def test_measurements_with_communities_survive_storage_and_give_the_same_states(rows):
    state = None
    for _, _, measurement, expected in rows:
        data, rosters = encode(measurement)
        again = decode(data, classes=PSGraphPlus.records, rosters=rosters.get)
        state = PSGraphPlus().update(state, again)
        assert encode(state)[0] == encode(expected)[0]
        data, rosters = encode(state)
        state = decode(data, classes=PSGraphPlus.records, rosters=rosters.get)


def test_a_published_stream_with_communities_is_verified(tmp_path):
    with Publisher(PSGraphPlus(), WEventPrivacy("16", window=2), out=tmp_path) as publisher:
        releases = [publisher.publish(DIVIDED) for _ in range(3)]
    assert {charge.label for charge in releases[0].certificate.charges} >= QUERIES
    assert verify(tmp_path).timestamps == 3


def test_communities_follow_nodes_to_another_roster():
    wider = Snapshot(Roster.range(600), DIVIDED.u, DIVIDED.v)
    other = Snapshot(Roster(["a", "b", "c"]), [0], [1])
    results = run([DIVIDED, DIVIDED, wider, other, DIVIDED], window=5)
    before, after = results[1][3].search.found, results[2][3].search.found
    assert (after.labels[:500] == before.labels).all()
    assert (after.evidence[500:] == 0).all()
    assert results[3][3].search.found.labels.size == 3


def test_communities_are_dropped_where_degrees_are_asked_at_every_timestamp(rows):
    state = replace(rows[5][3], mode="steady")
    accountant = Accountant(WEventPrivacy("16", window=3))
    for granted, *_ in rows[:6]:
        accountant = accountant.record(granted)
    method = PSGraphPlus()
    budget = noisy_budget(method.request(state, accountant), accountant, 3)
    measurement = method.measure(asking(DIVIDED, budget, DIVIDED), state)
    assert measurement.communities is None
    assert method.update(state, measurement).search == Search()


SHARE = {"window": 4, "granted": Fraction(2), "node_window": Fraction(3)}
DENSE = Sizes(nodes=2000, edges=20_000, connected=2000)


def test_the_share_of_a_search_is_limited_by_the_grant_and_by_the_window():
    used = Search(used=True)
    assert community_share(Search(), DENSE, **SHARE) == Fraction(3, 2)
    assert community_share(used, DENSE, **{**SHARE, "granted": Fraction(3)}) == Fraction(21, 10)


@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(2000, 7000, 2000),  # too few edges per node
        Sizes(40, 400, 40),  # too few edges to know the modularity
        Sizes(20, 20_000, 20),  # too few nodes
        Sizes(2000, -5, 2000),
    ],
)
def test_no_search_is_asked_where_released_sizes_say_that_it_cannot_succeed(sizes):
    assert community_share(Search(), sizes, **SHARE) == 0


def test_a_failed_search_waits_longer_each_time():
    first = Search().failed(0)
    second = first.failed(2)
    assert (first.next_window, second.next_window) == (2, 6)
    assert community_share(second, DENSE, **SHARE) == 0
    assert community_share(second, DENSE, **{**SHARE, "window": 6}) > 0


def test_dividing_a_grant_keeps_its_sum():
    shares = shares_of(Components(), Accountant(WEventPrivacy("4", window=5)), Occasion())
    new = with_search(shares, growth=Fraction(1, 2), blocks=Fraction(1, 10), hubs=True)
    assert new.total == shares.total
    assert new.nodes + new.hubs == shares.nodes + shares.hubs - Fraction(6, 10)


def found_with(count: int, nodes: int) -> Communities:
    labels = np.arange(nodes, dtype=np.int32) % count
    cells = UNDIRECTED.cell_count(count, inside=True)
    evidence = np.zeros((nodes, count), dtype=np.float32)
    return Communities(Roster.range(nodes), labels, evidence, Track.unseen(cells, drift=0.0025))


@pytest.mark.parametrize(
    ("inside", "used", "again"), [(900, True, True), (800, False, True), (760, False, False)]
)
def test_what_was_found_is_used_if_it_is_clearly_more_than_chance(inside, used, again):
    degrees, found = np.full(100, 20, dtype=np.int64), found_with(2, 100)
    blocks = np.array([inside // 2, 1000 - inside, inside - inside // 2])
    decided = decide(
        Search(),
        found,
        blocks,
        Bar(0.2 / 1.05, 0.04),
        degrees=degrees,
        blocks=Fraction(1),
        window=0,
    )
    assert (decided.used, decided.again) == (used, again)


def test_dividing_classes_keeps_their_mixing_and_the_degrees():
    rng = np.random.default_rng(3)
    degrees = rng.integers(5, 20, 400)
    labels = (degrees > 12).astype(np.int32)
    labels[:2] = CLASSES + np.arange(2, dtype=np.int32)
    found = found_with(2, 400)
    cells = np.zeros(3)
    cells[UNDIRECTED.cell_of(np.array([0, 1, 0]), np.array([0, 1, 1]), 2, inside=True)] = (
        0.4,
        0.4,
        0.2,
    )
    track = found.blocks.observe(cells, 1e-6, np.ones(3))
    ratios = affinity(track, found.labels, degrees, 2)
    assert ratios[0, 0] > 1.5 > 0.6 > ratios[0, 1]
    stubs = np.bincount(labels, weights=degrees, minlength=CLASSES + 2)
    matrix = np.outer(stubs, stubs) / stubs.sum()
    parts = divided(matrix, labels, found.labels, ratios, degrees)
    assert parts.classes == 4
    new = np.bincount(parts.labels, weights=degrees)
    assert np.abs(parts.matrix.sum(axis=1) - new).sum() < 0.01 * new.sum()
    implied = np.zeros_like(matrix)
    np.add.at(implied, (parts.parents[:, None], parts.parents[None, :]), parts.matrix)
    assert implied[:2, :2] == pytest.approx(matrix[:2, :2], rel=0.05)
