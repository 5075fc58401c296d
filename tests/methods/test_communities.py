"""Phase 1: finding communities again, and carrying them over to another roster."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.graph import Roster, Snapshot
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import SuperGraphEdges
from psgraph.methods.steps.communities import _louvain, find_communities, keep_communities
from psgraph.privacy.budget import Budget
from psgraph.privacy.mechanisms.sparse import NoisyCounts

from .streams import asking, budget, hubs


def find(snapshot: Snapshot, *, epsilon: str = "1", seed: int = 1, supernode_size: int = 20):
    money = budget(epsilon, seed=seed)
    labels = find_communities(
        asking(snapshot, money),
        epsilon=Fraction(epsilon),
        supernode_size=supernode_size,
        strength=Fraction(1, 2),
    )
    return labels, money


def check_labels(labels: np.ndarray, nodes: int) -> None:
    assert labels.dtype == np.int32
    assert labels.size == nodes
    assert np.array_equal(np.unique(labels), np.arange(labels.max(initial=-1) + 1))


@pytest.mark.parametrize("nodes", [0, 1, 2, 19, 20, 21, 400])
@pytest.mark.parametrize("epsilon", ["0.01", "3"])
def test_labels_are_consecutive_and_everything_is_charged(nodes, epsilon):
    snapshot = hubs(nodes, 3 * nodes, seed=1) if nodes else Snapshot(Roster.range(0), [], [])
    labels, money = find(snapshot, epsilon=epsilon)
    check_labels(labels, nodes)
    assert money.remaining == 0
    half = Fraction(epsilon) / 2
    assert [(c.label, c.epsilon, c.sensitivity) for c in money.trace] == [
        ("super-graph edges", half, 1),
        ("community choice", half, 1),
    ]
    groups = -(-nodes // 20)
    assert money.trace[0].shape == (groups * (groups + 1) // 2,)


def test_with_plenty_of_epsilon_cliques_are_found():
    blocks, size = 6, 12
    inside = [
        (block * size + x, block * size + y)
        for block in range(blocks)
        for x in range(size)
        for y in range(x)
    ]
    nodes = blocks * size
    snapshot = Snapshot(Roster.range(nodes), *zip(*inside, strict=True))
    labels, _ = find(snapshot, epsilon="2000", supernode_size=1)
    check_labels(labels, nodes)
    truth = np.arange(nodes) // size
    assert len(set(zip(labels.tolist(), truth.tolist(), strict=True))) == blocks


def test_supernodes_do_not_depend_on_edges(monkeypatch):
    """The same random words make the same super-nodes, whatever the edges."""
    groups = []
    answer = SuperGraphEdges.answer

    def watched(query, edges):
        groups.append(query.labels.copy())
        return answer(query, edges)

    monkeypatch.setattr(SuperGraphEdges, "answer", watched)
    for edges in (0, 500):
        snapshot = hubs(100, edges, seed=3) if edges else Snapshot(Roster.range(100), [], [])
        find(snapshot, supernode_size=7)
    assert np.array_equal(groups[0], groups[1])
    assert np.bincount(groups[0]).tolist() == [7] * 14 + [2]


# ---- Louvain on the noisy super-graph ----


def test_every_supernode_is_alone_without_weights():
    nothing = np.zeros(0, dtype=np.int64)
    assert _louvain(NoisyCounts(10, np.inf, nothing, nothing), 4, seed=1).tolist() == [0, 1, 2, 3]
    assert _louvain(NoisyCounts(0, np.inf, nothing, nothing), 0, seed=1).size == 0


def test_a_supernode_without_weights_is_its_own_community():
    # Weights inside {0, 1} and inside {2, 3}; super-node 4 has none.
    noisy = NoisyCounts(15, 0.5, np.array([1, 10]), np.array([9, 9]))
    labels = _louvain(noisy, 5, seed=1)
    check_labels(labels, 5)
    assert labels[0] == labels[1]
    assert labels[2] == labels[3]
    assert len(set(labels.tolist())) == 3


def test_louvain_is_repeatable():
    rng = np.random.default_rng(1)
    cells = np.unique(rng.integers(0, 210, size=80))
    noisy = NoisyCounts(210, 0.25, cells, rng.integers(1, 9, size=cells.size))
    assert np.array_equal(_louvain(noisy, 20, seed=7), _louvain(noisy, 20, seed=7))


# ---- carrying over ----


def nothing_in(roster: Roster, money: Budget | None = None) -> PrivateSnapshot:
    """A roster without edges: what is carried over depends on nodes only."""
    return asking(Snapshot(roster, [], []), money or budget())


@given(st.data())
@settings(max_examples=80)
def test_communities_are_carried_over_by_id(data):
    before = Roster(data.draw(st.sets(st.integers(0, 30), min_size=1)))
    after = Roster(sorted(data.draw(st.sets(st.integers(0, 30)))))
    raw = data.draw(st.lists(st.integers(0, 4), min_size=len(before), max_size=len(before)))
    labels = np.unique(raw, return_inverse=True)[1].astype(np.int32)
    money = budget()
    carried = keep_communities(before, labels, nothing_in(after, money))
    check_labels(carried, len(after))
    assert money.spent == 0
    old = dict(zip(before.ids.tolist(), labels.tolist(), strict=True))
    new = dict(zip(after.ids.tolist(), carried.tolist(), strict=True))
    stayed = old.keys() & new.keys()
    for x in stayed:
        for y in stayed:
            assert (old[x] == old[y]) == (new[x] == new[y])
    if stayed:  # newcomers join communities that are there
        assert set(new.values()) == {new[x] for x in stayed}


def test_the_same_roster_keeps_everything():
    labels = np.array([1, 0, 1], dtype=np.int32)
    roster = Roster.range(3)
    assert keep_communities(roster, labels, nothing_in(roster)) is labels
    assert keep_communities(roster, labels, nothing_in(Roster.range(3))) is labels


def test_newcomers_are_spread_evenly():
    labels = np.array([0, 1, 2, 2], dtype=np.int32)
    grown = Roster.range(3004)
    carried = keep_communities(Roster.range(4), labels, nothing_in(grown))
    counts = np.bincount(carried[4:])
    assert np.abs(counts - 1000).max() < 4 * np.sqrt(1000 * 2 / 3)


def test_all_nodes_new():
    labels = np.array([0, 1, 2, 2], dtype=np.int32)
    carried = keep_communities(Roster.range(4), labels, nothing_in(Roster(["a", "b"])))
    check_labels(carried, 2)
