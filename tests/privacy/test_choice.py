"""The sweep of community choices follows the exponential mechanism, node after node."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from psgraph.audit.enumeration import explore, extremes
from psgraph.audit.fit import p_value
from psgraph.engines.counting import adjacency
from psgraph.graph import Roster, Snapshot
from psgraph.privacy.mechanisms.exponential import CommunityChoice, choice_sweep
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

from .interpreted import Rationed, interpret

PATH = ([0, 1], [1, 2])  # 0 – 1 – 2
STAR = ([0, 0, 0], [1, 2, 3])
TRIANGLE_AND_ONE = ([0, 0, 1], [1, 2, 2])


def lists(edges: tuple[list[int], list[int]], nodes: int) -> tuple[np.ndarray, np.ndarray]:
    u, v = (np.array(ends, dtype=np.int32) for ends in edges)
    return adjacency(u, v, nodes)


def reference_distribution(
    edges, labels: list[int], strength: float
) -> dict[tuple[int, ...], float]:
    """The definition: every order equally likely, every node in turn among communities that
    have a member, with probability proportional to exp(strength · neighbours there)."""
    known = defaultdict(set)
    for x, y in zip(*edges, strict=True):
        known[x].add(y)
        known[y].add(x)
    distribution: dict[tuple[int, ...], float] = defaultdict(float)

    def go_on(order: tuple[int, ...], now: tuple[int, ...], chance: float) -> None:
        if not order:
            distribution[now] += chance
            return
        node, *rest = order
        candidates = sorted(set(now))
        weights = [
            math.exp(strength * sum(now[other] == label for other in known[node]))
            for label in candidates
        ]
        for label, weight in zip(candidates, weights, strict=True):
            after = (*now[:node], label, *now[node + 1 :])
            go_on(tuple(rest), after, chance * weight / sum(weights))

    orders = list(permutations(range(len(labels))))
    for order in orders:
        go_on(order, tuple(labels), 1 / len(orders))
    return distribution


CASES = [
    pytest.param(PATH, [0, 1, 2], Fraction(1), id="path"),
    pytest.param(([], []), [0, 1, 1], Fraction(1), id="no edges"),
    pytest.param(STAR, [0, 1, 1, 0], Fraction(3, 2), id="star"),
    pytest.param(TRIANGLE_AND_ONE, [0, 1, 2, 2], Fraction(1, 3), id="triangle and one"),
    pytest.param(TRIANGLE_AND_ONE, [0, 0, 1, 1], Fraction(2), id="strong"),
]


@pytest.mark.parametrize(("edges", "labels", "strength"), CASES)
def test_the_whole_vector_has_the_exact_distribution(edges, labels, strength):
    starts, neighbours = lists(edges, len(labels))
    sampler = Sampler(RandomSource.seeded(14))
    before = np.array(labels, dtype=np.int32)
    draws = [
        tuple(choice_sweep(sampler, starts, neighbours, before, strength=strength).tolist())
        for _ in range(15_000)
    ]
    assert p_value(draws, reference_distribution(edges, labels, float(strength))) > 1e-3
    assert before.tolist() == labels  # the labels handed in are left alone
    if edges[0]:
        # With three quarters of the strength the same sample would be rejected.
        assert p_value(draws, reference_distribution(edges, labels, 0.75 * float(strength))) < 1e-3


@pytest.mark.parametrize(("edges", "labels", "strength"), CASES)
def test_the_scripted_distribution_is_the_definition(edges, labels, strength):
    """What the privacy tests enumerate agrees with the definition to the last digit."""
    snapshot = Snapshot(Roster.range(len(labels)), *edges)
    start = np.array(labels, dtype=np.int32)
    orders = list(permutations(range(len(labels))))
    distribution: dict[tuple[int, ...], float] = defaultdict(float)
    for order in orders:
        transcripts = explore(
            lambda budget: budget.run(
                CommunityChoice(*lists((snapshot.u, snapshot.v), len(labels)), start),
                epsilon=2 * strength,
                label="choice",
            ),
            epsilon=2 * strength,
            window=extremes(0, 0),
            order=order,
        )
        for events, outcome in transcripts.items():
            chosen = [event[1] for event in events if event[0] == "community choice"]
            final = tuple(chosen[order.index(node)] for node in range(len(labels)))
            distribution[final] += math.exp(outcome.log_probability) / len(orders)
    assert dict(distribution) == pytest.approx(
        dict(reference_distribution(edges, labels, float(strength)))
    )


def test_a_node_without_edges_may_go_anywhere():
    starts, neighbours = lists(([0, 1], [1, 2]), 5)  # nodes 3 and 4 have no edges
    sampler = Sampler(RandomSource.seeded(1))
    labels = np.array([0, 1, 2, 0, 1], dtype=np.int32)
    seen = set()
    for _ in range(300):
        after = choice_sweep(sampler, starts, neighbours, labels, strength=Fraction(1))
        seen.add(int(after[3]))
    assert seen == {0, 1, 2}


def test_an_emptied_community_is_no_candidate():
    # Two nodes in two communities: whoever moves first leaves one community, for good.
    starts, neighbours = lists(([], []), 2)
    sampler = Sampler(RandomSource.seeded(2))
    labels = np.array([0, 1], dtype=np.int32)
    seen = {
        tuple(choice_sweep(sampler, starts, neighbours, labels, strength=Fraction(1)).tolist())
        for _ in range(200)
    }
    assert seen == {(0, 1), (0, 0), (1, 1)}


@pytest.mark.parametrize("nodes", [0, 1])
def test_smallest(nodes):
    starts, neighbours = lists(([], []), nodes)
    sampler = Sampler(RandomSource.seeded(2))
    labels = np.zeros(nodes, dtype=np.int32)
    after = choice_sweep(sampler, starts, neighbours, labels, strength=Fraction(1))
    assert after.tolist() == [0] * nodes


@pytest.mark.parametrize(
    "strength", [Fraction(1, 10**9), Fraction(1, 3), Fraction(7), Fraction(10**6)], ids=str
)
def test_same_words_same_choices(strength, monkeypatch):
    """However words are handed out, and compiled or interpreted."""
    rng = np.random.default_rng(5)
    u, v = rng.integers(0, 60, size=(2, 150))
    snapshot = Snapshot(Roster.range(60), u, v)
    starts, neighbours = adjacency(snapshot.u, snapshot.v, 60)
    labels = np.arange(60, dtype=np.int32) % 12

    def sweep(source: RandomSource) -> list[int]:
        return choice_sweep(Sampler(source), starts, neighbours, labels, strength=strength).tolist()

    expected = sweep(RandomSource.seeded(3))
    assert sweep(Rationed.of(3, 10_000)) == expected
    assert sweep(Rationed.of(3, 40)) == expected
    interpret(monkeypatch)
    assert sweep(Rationed.of(3, 10_000)) == expected
