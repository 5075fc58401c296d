"""Phase 2: what is measured, fusion and caps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.private import PrivateEdges
from psgraph.methods.psgraph.method import (
    capped_degrees,
    fuse,
    measure_structure,
)
from psgraph.methods.queries import InnerDegrees, OuterDegrees, block_counts
from psgraph.methods.steps.block_model import capped_community_edges
from psgraph.privacy.mechanisms.sparse import NoisyCounts

from .streams import ENGINE, asking, budget, hubs


def test_budgets_and_sensitivities():
    money = budget("3")
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    snapshot = Snapshot(Roster.range(4), [0, 0], [1, 2])
    measure_structure(asking(snapshot, money), labels, epsilon=Fraction(1))
    assert money.spent == 1
    assert [(c.label, c.epsilon, c.sensitivity, c.shape, c.part) for c in money.trace] == [
        ("inner degrees", Fraction(1), 2, (4,), "inside communities"),
        ("outer degrees", Fraction(1, 2), 2, (4,), "between communities"),
        ("community edges", Fraction(1, 2), 1, (1,), "between communities"),
    ]


def test_with_plenty_of_epsilon_the_truth_comes_out():
    snapshot = hubs(50, 200, seed=1)
    labels = np.arange(50, dtype=np.int32) % 4
    inner, outer, between = measure_structure(
        asking(snapshot, "4000000"), labels, epsilon=Fraction(4_000_000)
    )
    edges = PrivateEdges(snapshot, ENGINE)
    assert np.array_equal(inner, InnerDegrees(labels).answer(edges))
    assert np.array_equal(outer, OuterDegrees(labels).answer(edges))
    cells, counts = block_counts(edges, labels, 4, inside=False)
    assert np.array_equal(between.cells, cells)
    assert np.array_equal(between.values, counts)
    assert between.threshold == 0


# ---- fusion ----


@given(st.data())
@settings(max_examples=80)
def test_fusion_by_id(data):
    before = Roster(sorted(data.draw(st.sets(st.integers(0, 20)))))
    after = Roster(sorted(data.draw(st.sets(st.integers(0, 20)))))
    numbers = st.floats(0, 50)
    old = np.array([data.draw(numbers) for _ in range(len(before))])
    new = np.array([data.draw(numbers) for _ in range(len(after))])
    weight = data.draw(st.floats(0, 1))
    fused = fuse(new, old, roster=after, roster_before=before, weight=weight)
    past = dict(zip(before.ids.tolist(), old.tolist(), strict=True))
    for node, now, value in zip(after.ids.tolist(), new.tolist(), fused.tolist(), strict=True):
        if node in past:
            assert value == pytest.approx(weight * now + (1 - weight) * past[node])
        else:
            assert value == now


def test_fusion_leaves_its_arguments_alone():
    new, old = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    fuse(new, old, roster=Roster([1, 2]), roster_before=Roster([2, 3]), weight=0.5)
    fuse(new, old, roster=Roster([1, 2]), roster_before=Roster([1, 2]), weight=0.5)
    assert new.tolist() == [1, 2]
    assert old.tolist() == [3, 4]


# ---- caps ----


def test_degrees_are_capped_by_the_communities():
    labels = np.array([0, 0, 0, 1, 1, 2], dtype=np.int32)
    inner, outer = capped_degrees(np.full(6, 99.0), np.full(6, 99.0), labels)
    assert inner.tolist() == [2, 2, 2, 1, 1, 0]
    assert outer.tolist() == [3, 3, 3, 4, 4, 5]
    inner, outer = capped_degrees(np.full(6, 0.5), np.full(6, 0.25), labels)
    assert inner.tolist() == [0.5] * 5 + [0]
    assert outer.tolist() == [0.25] * 6
    nothing = np.zeros(0)
    assert capped_degrees(nothing, nothing, labels[:0]) == (nothing, nothing)


def test_community_edges_are_capped_by_the_pairs_of_nodes():
    labels = np.array([0, 0, 0, 1, 1, 2], dtype=np.int32)
    a, b = np.array([0, 0, 1]), np.array([1, 2, 2])
    cells = UNDIRECTED.cell_of(a, b, 3, inside=False)
    noisy = NoisyCounts(3, 0.5, cells, np.array([50, 3, 2]))
    heads, tails, values = capped_community_edges(noisy, labels)
    assert heads.tolist() == a.tolist()
    assert tails.tolist() == b.tolist()
    assert values.tolist() == [6, 2.5, 1.5]


@pytest.mark.parametrize("communities", [0, 1])
def test_no_pairs_of_communities(communities):
    nothing = np.zeros(0, dtype=np.int64)
    labels = np.zeros(communities, dtype=np.int32)
    heads, tails, values = capped_community_edges(NoisyCounts(0, np.inf, nothing, nothing), labels)
    assert heads.size == tails.size == values.size == 0
