"""One sweep of the exponential mechanism over all nodes, exactly and in O(edges).

Every node in turn chooses a community, with probability proportional to exp(c·s) where s is the
number of its neighbours there at that moment. Drawing a candidate uniformly and keeping it with
probability exp(−c·(s_max − s)) gives this distribution with integer arithmetic alone. All
communities that have a member are candidates, also for a node without edges: a shorter list would
depend on the edges. Proof: proofs/community-choice.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.errors import MethodError
from psgraph.privacy.bits import Cursor, Words, bernoulli_exp, bit_width, ran_out, uniform_below
from psgraph.privacy.guarantee import round_down
from psgraph.privacy.mechanism import Mechanism, changed_edges, per_edge
from psgraph.privacy.samplers import Sampler

__all__ = ["CommunityChoice", "choice_sweep"]

Integers = NDArray[np.int64]
AHEAD = 64  # nodes


@dataclass(frozen=True)
class CommunityChoice(Mechanism[NDArray[np.int32]]):
    """One sweep in which every node picks a community by its number of neighbours there.

    A candidate with s neighbours has weight exp(strength·ε·s).

    Parameters
    ----------
    starts, neighbours
        The adjacency lists, private: those of x are ``neighbours[starts[x]:starts[x + 1]]``.
    labels
        The community of every node before the sweep: public or already released.
    strength
        At most ½, which spends ε fully.

    Notes
    -----
    Privacy: ε for one edge. An edge changes one score by 1 in the steps of its two ends, and
    each of these steps by a factor of at most exp(strength·ε). proofs/community-choice.md.
    """

    starts: Integers
    neighbours: NDArray[np.int32]
    labels: NDArray[np.int32]
    strength: Fraction = Fraction(1, 2)

    name = "exponential choice"
    proof = "proofs/community-choice.md"
    sensitivity = per_edge(1)

    def __post_init__(self) -> None:
        if not 0 < self.strength <= Fraction(1, 2):
            raise MethodError(f"the strength must lie in (0, 1/2], not {self.strength}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.labels.shape

    def distance(self, other: Self) -> int:
        self.same_public("labels", np.array_equal(self.labels, other.labels))
        self.same_public("strength", self.strength == other.strength)
        return changed_edges(self.starts, self.neighbours, other.starts, other.neighbours)

    def draw(self, sampler: Sampler, epsilon: Fraction) -> NDArray[np.int32]:
        return choice_sweep(
            sampler,
            self.starts,
            self.neighbours,
            self.labels,
            strength=self.strength * epsilon,
        )


def choice_sweep(
    sampler: Sampler,
    starts: Integers,
    neighbours: NDArray[np.int32],
    labels: NDArray[np.int32],
    *,
    strength: Fraction,
) -> NDArray[np.int32]:
    """Let every node, in uniformly random order, choose a community.

    Parameters
    ----------
    starts, neighbours
        The private adjacency lists: those of node x are ``neighbours[starts[x]:starts[x + 1]]``.
    labels
        The community of every node before the sweep: 0, …, H − 1, each with a member.
    strength
        c above, rounded down to a multiple of 2⁻²⁰ (and to 2¹⁰ at most).

    Returns
    -------
    The community of every node after the sweep. Some numbers may have become unused.
    """
    a, b = round_down(strength, denominator=1 << 20, largest=1 << 10)
    labels = labels.astype(np.int32)
    communities = int(labels.max()) + 1 if labels.size else 0
    order = sampler.permutation(labels.size)
    sizes = np.bincount(labels, minlength=communities)
    occupied = np.arange(communities, dtype=np.int32)  # its first entries are the candidates
    where = np.arange(communities, dtype=np.int32)
    count = np.array([communities, 0], dtype=np.int64)  # candidates; a sink, see `_sweep`
    score = np.zeros(communities, dtype=np.int32)
    sampler.run(
        labels.size,
        lambda done, w, p: _sweep(
            order,
            done,
            starts,
            neighbours,
            labels,
            sizes,
            occupied,
            where,
            count,
            score,
            a,
            b,
            w,
            p,
        ),
    )
    return labels


@kernel
def _sweep(
    order: Integers,
    done: int,
    starts: Integers,
    neighbours: NDArray[np.int32],
    labels: NDArray[np.int32],
    sizes: Integers,
    occupied: NDArray[np.int32],
    where: NDArray[np.int32],
    count: Integers,
    score: NDArray[np.int32],
    a: int,
    b: int,
    words: Words,
    cursor: Cursor,
) -> tuple[int, Cursor]:
    width = bit_width(b)
    while done < order.size:
        if done % AHEAD == 0:
            # Load what the next nodes will need, all at once: on a large graph nearly every load
            # misses the cache, and waiting for many at a time takes as long as for one.
            seen = 0
            for later in order[done : done + AHEAD]:
                for at in range(starts[later], starts[later + 1]):
                    seen += labels[neighbours[at]]
            count[1] = seen  # stored, so that the compiler does not leave the loop out
        node = order[done]
        best = 0
        for at in range(starts[node], starts[node + 1]):
            label = labels[neighbours[at]]
            score[label] += 1
            best = max(best, score[label])
        chosen, after = np.int32(0), cursor
        while True:
            index, after = uniform_below(count[0], bit_width(count[0]), words, after)
            if ran_out(words, after):
                break
            chosen = occupied[index]
            kept, after = bernoulli_exp((best - score[chosen]) * a, b, width, words, after)
            if kept or ran_out(words, after):
                break
        for at in range(starts[node], starts[node + 1]):
            score[labels[neighbours[at]]] = 0
        if ran_out(words, after):
            break
        before = labels[node]
        if chosen != before:
            labels[node] = chosen
            sizes[chosen] += 1
            sizes[before] -= 1
            if sizes[before] == 0:  # no longer a candidate
                count[0] -= 1
                last = occupied[count[0]]
                occupied[where[before]] = last
                where[last] = where[before]
        done += 1
        cursor = after
    return done, cursor
