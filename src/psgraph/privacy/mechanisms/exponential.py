"""One round of the exponential mechanism in which all nodes choose a community at once.

Every node chooses a community with probability proportional to exp(c·s), where s is the number of
its neighbours that were there before the round. Nobody sees what others choose in the same round,
so nodes can be counted in any order and in any parts. Drawing a candidate uniformly and keeping it
with probability exp(−c·(s_max − s)) gives this distribution with integer arithmetic alone. All
communities are candidates, also for a node without edges: a shorter list would depend on the
edges. Proof: proofs/community-choice.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np

from psgraph._runtime.arrays import Integers, Labels, Words
from psgraph._runtime.jit import kernel
from psgraph.errors import MethodError
from psgraph.privacy.guarantee import round_down
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.randomness import Cursor, bernoulli_exp, bit_width, ran_out, uniform_below
from psgraph.privacy.samplers import Sampler

__all__ = ["CommunityChoice", "Scores", "choose_communities"]


class Scores(NamedTuple):
    """The private scores of consecutive nodes: in which communities their neighbours are.

    Node ``first + i`` has ``counts[k]`` neighbours in the community ``communities[k]`` for k in
    ``starts[i]:starts[i + 1]``, and none in others.
    """

    first: int
    starts: Integers
    communities: Labels
    counts: Labels


@dataclass(frozen=True)
class CommunityChoice(Mechanism[Labels]):
    """One round in which every node picks a community by its number of neighbours there.

    A candidate with s neighbours has weight exp(strength·ε·s).

    Parameters
    ----------
    scores
        The scores of all nodes before the round, private: ranges of nodes in order, each read
        when it is needed.
    labels
        The community of every node before the round, 0, …, H − 1: public or already released.
        All H communities are candidates.
    strength
        At most ½, which spends ε fully.

    Notes
    -----
    Privacy: ε for one edge. An edge changes one score by 1 in the choices of its two ends, and
    each of these choices by a factor of at most exp(strength·ε). proofs/community-choice.md.
    """

    scores: Iterable[Scores]
    labels: Labels
    strength: Fraction = Fraction(1, 2)

    name = "exponential choice"
    proof = "proofs/community-choice.md"
    sensitivity = 1

    def __post_init__(self) -> None:
        if not 0 < self.strength <= Fraction(1, 2):
            raise MethodError(f"the strength must lie in (0, 1/2], not {self.strength}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.labels.shape

    def distance(self, other: Self) -> int:
        self.same_public("labels", np.array_equal(self.labels, other.labels))
        self.same_public("strength", self.strength == other.strength)
        counts: dict[tuple[int, int], int] = {}
        for scores, sign in ((self.scores, 1), (other.scores, -1)):
            for node, community, count in _entries(scores):
                counts[node, community] = counts.get((node, community), 0) + sign * count
        return -(-sum(map(abs, counts.values())) // 2)  # an edge has two ends

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Labels:
        return choose_communities(
            sampler, self.scores, self.labels, strength=self.strength * epsilon
        )


def choose_communities(
    sampler: Sampler, scores: Iterable[Scores], labels: Labels, *, strength: Fraction
) -> Labels:
    """Let all nodes choose a community by the same labels; return what they chose.

    Parameters
    ----------
    scores, labels
        As in `CommunityChoice`.
    strength
        c above, rounded down to a multiple of 2⁻²⁰ (and to 2¹⁰ at most).

    Returns
    -------
    The community of every node after the round. Some numbers may have become unused.
    """
    a, b = round_down(strength, denominator=1 << 20, largest=1 << 10)
    nodes, communities = labels.size, int(labels.max(initial=-1)) + 1
    chosen = np.empty(nodes, dtype=np.int32)
    score = np.zeros(communities, dtype=np.int32)
    ranges = _checked(scores, nodes)
    now = Scores(0, np.zeros(1, dtype=np.int64), chosen[:0], chosen[:0])

    def step(done: int, words: Words, cursor: Cursor) -> tuple[int, Cursor]:
        # One run over all nodes: where a range ends makes no difference to the words used.
        nonlocal now
        if done == now.first + now.starts.size - 1:
            now = next(ranges)
        return _choose(*now, chosen, score, done, a, b, words, cursor)

    sampler.run(nodes, step)
    return chosen


def _checked(scores: Iterable[Scores], nodes: int) -> Iterator[Scores]:
    """Refuse ranges that leave out a node or have one twice; it would have no choice, or two."""
    expected = 0
    for each in scores:
        following = expected + each.starts.size - 1
        if each.first != expected or not expected < following <= nodes:
            break
        expected = following
        yield each
    raise MethodError(f"the scores of node {expected} of {nodes} are missing or there twice")


def _entries(scores: Iterable[Scores]) -> Iterator[tuple[int, int, int]]:
    """Yield node, community and count."""
    for first, starts, communities, counts in scores:
        owners = first + np.repeat(np.arange(starts.size - 1), np.diff(starts))
        yield from zip(owners.tolist(), communities.tolist(), counts.tolist(), strict=True)


@kernel
def _choose(
    first: int,
    starts: Integers,
    communities: Labels,
    counts: Labels,
    chosen: Labels,
    score: Labels,
    done: int,
    a: int,
    b: int,
    words: Words,
    cursor: Cursor,
) -> tuple[int, Cursor]:
    """Let nodes of a range choose, from `done` on; return how many have, and the cursor."""
    width = bit_width(b)
    candidates = score.size
    bits = bit_width(candidates)
    while done < first + starts.size - 1:
        begin, end = starts[done - first], starts[done - first + 1]
        best = 0
        for at in range(begin, end):
            score[communities[at]] = counts[at]
            best = max(best, counts[at])
        choice, after = 0, cursor
        while True:
            choice, after = uniform_below(candidates, bits, words, after)
            if ran_out(words, after):
                break
            kept, after = bernoulli_exp((best - score[choice]) * a, b, width, words, after)
            if kept or ran_out(words, after):
                break
        for at in range(begin, end):
            score[communities[at]] = 0
        if ran_out(words, after):
            break
        chosen[done] = choice
        done += 1
        cursor = after
    return done, cursor
