"""Community choices follow the exponential mechanism, all nodes at once."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from psgraph.audit.enumeration import explore, extremes
from psgraph.audit.fit import p_value
from psgraph.engines.threads import LocalEngine
from psgraph.errors import MethodError
from psgraph.graph import Roster, Snapshot
from psgraph.graph.parts import MemoryParts
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import CommunityChoices
from psgraph.privacy.mechanisms.exponential import CommunityChoice, Scores, choose_communities
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

from .interpreted import Rationed, interpret

PATH = ([0, 1], [1, 2])  # 0 – 1 – 2
STAR = ([0, 0, 0], [1, 2, 3])
TRIANGLE_AND_ONE = ([0, 0, 1], [1, 2, 2])


def scores_of(edges, labels: list[int] | np.ndarray, *, part_nodes: int = 100) -> list[Scores]:
    """The scores of all nodes, in ranges of `part_nodes`."""
    u, v = Snapshot(Roster.range(len(labels)), *edges).parts.whole()
    parts = MemoryParts(u, v, nodes=len(labels), part_nodes=part_nodes)
    snapshot = Snapshot.from_parts(Roster.range(len(labels)), parts)
    query = CommunityChoices(np.array(labels, dtype=np.int32))
    return list(query.answer(PrivateEdges(snapshot, LocalEngine())))


def chosen(sampler: Sampler, edges, labels: list[int], strength: Fraction) -> tuple[int, ...]:
    before = np.array(labels, dtype=np.int32)
    after = choose_communities(sampler, scores_of(edges, labels), before, strength=strength)
    assert before.tolist() == labels  # the labels handed in are left alone
    return tuple(after.tolist())


def reference_distribution(
    edges, labels: list[int], strength: float
) -> dict[tuple[int, ...], float]:
    """The definition: every node by itself, among all communities, with probability proportional
    to exp(strength · neighbours that were there before)."""
    known = defaultdict(set)
    for x, y in zip(*edges, strict=True):
        known[x].add(y)
        known[y].add(x)
    candidates = range(max(labels) + 1)
    weights = [
        [
            math.exp(strength * sum(labels[other] == label for other in known[node]))
            for label in candidates
        ]
        for node in range(len(labels))
    ]
    return {
        after: math.prod(row[label] / sum(row) for row, label in zip(weights, after, strict=True))
        for after in product(candidates, repeat=len(labels))
    }


CASES = [
    pytest.param(PATH, [0, 1, 2], Fraction(1), id="path"),
    pytest.param(([], []), [0, 1, 1], Fraction(1), id="no edges"),
    pytest.param(STAR, [0, 1, 1, 0], Fraction(3, 2), id="star"),
    pytest.param(TRIANGLE_AND_ONE, [0, 1, 2, 2], Fraction(1, 3), id="triangle and one"),
    pytest.param(TRIANGLE_AND_ONE, [0, 0, 1, 1], Fraction(2), id="strong"),
]


@pytest.mark.parametrize(("edges", "labels", "strength"), CASES)
def test_the_whole_vector_has_the_exact_distribution(edges, labels, strength):
    sampler = Sampler(RandomSource.seeded(14))
    scores, before = scores_of(edges, labels), np.array(labels, dtype=np.int32)
    draws = [
        tuple(choose_communities(sampler, scores, before, strength=strength).tolist())
        for _ in range(15_000)
    ]
    assert p_value(draws, reference_distribution(edges, labels, float(strength))) > 1e-3
    if edges[0]:
        # With three quarters of the strength the same sample would be rejected.
        assert p_value(draws, reference_distribution(edges, labels, 0.75 * float(strength))) < 1e-3


@pytest.mark.parametrize(("edges", "labels", "strength"), CASES)
def test_the_scripted_distribution_is_the_definition(edges, labels, strength):
    """What the privacy tests enumerate agrees with the definition to the last digit."""
    scores, before = scores_of(edges, labels), np.array(labels, dtype=np.int32)
    transcripts = explore(
        lambda budget: budget.run(
            CommunityChoice(scores, before), epsilon=2 * strength, label="choice"
        ),
        epsilon=2 * strength,
        window=extremes(0, 0),
    )
    distribution = {
        tuple(event[1] for event in events): math.exp(outcome.log_probability)
        for events, outcome in transcripts.items()
    }
    assert distribution == pytest.approx(reference_distribution(edges, labels, float(strength)))


def test_a_node_without_edges_may_go_anywhere():
    sampler = Sampler(RandomSource.seeded(1))
    edges, labels = ([0, 1], [1, 2]), [0, 1, 2, 0, 1]  # nodes 3 and 4 have no edges
    seen = {chosen(sampler, edges, labels, Fraction(1))[3] for _ in range(300)}
    assert seen == {0, 1, 2}


def test_nobody_sees_what_others_choose_in_the_same_round():
    # A strong choice swaps two connected nodes; one after the other, they would end up together.
    sampler = Sampler(RandomSource.seeded(2))
    assert chosen(sampler, ([0], [1]), [0, 1], Fraction(1000)) == (1, 0)


@pytest.mark.parametrize("nodes", [0, 1])
def test_smallest(nodes):
    assert (
        chosen(Sampler(RandomSource.seeded(2)), ([], []), [0] * nodes, Fraction(1)) == (0,) * nodes
    )


@pytest.mark.parametrize("ranges", [[], [1], [0, 0], [0, 2]], ids=str)
def test_scores_that_leave_out_a_node_or_have_one_twice_are_refused(ranges):
    whole = scores_of(PATH, [0, 1, 2, 0], part_nodes=2)
    scores = [whole[0]._replace(first=2 * index) for index in ranges]
    with pytest.raises(MethodError):
        choose_communities(
            Sampler(RandomSource.seeded(2)),
            scores,
            np.array([0, 1, 2, 0], dtype=np.int32),
            strength=Fraction(1),
        )


@pytest.mark.parametrize("part_nodes", [1, 7, 59])
def test_the_choices_do_not_depend_on_the_ranges(part_nodes):
    rng = np.random.default_rng(5)
    edges, labels = rng.integers(0, 60, size=(2, 150)), np.arange(60, dtype=np.int32) % 12

    def choices(**options) -> list[int]:
        scores = scores_of(edges, labels, **options)
        sampler = Sampler(RandomSource.seeded(3))
        return choose_communities(sampler, scores, labels, strength=Fraction(1)).tolist()

    assert choices(part_nodes=part_nodes) == choices()


@pytest.mark.parametrize(
    "strength", [Fraction(1, 10**9), Fraction(1, 3), Fraction(7), Fraction(10**6)], ids=str
)
def test_same_words_same_choices(strength, monkeypatch):
    """However words are handed out, and compiled or interpreted."""
    labels = np.arange(60, dtype=np.int32) % 12
    scores = scores_of(np.random.default_rng(5).integers(0, 60, size=(2, 150)), labels)

    def choices(source: RandomSource) -> list[int]:
        return choose_communities(Sampler(source), scores, labels, strength=strength).tolist()

    expected = choices(RandomSource.seeded(3))
    assert choices(Rationed.of(3, 10_000)) == expected
    assert choices(Rationed.of(3, 40)) == expected
    interpret(monkeypatch)
    assert choices(Rationed.of(3, 10_000)) == expected
