"""Two mechanisms for the number of triangles: the ladder, drawn exactly, and a capped count.

One edge can close as many triangles as its ends have common neighbours: at most n − 2, but in a
sparse graph far fewer. The ladder mechanism adds noise in proportion to what an edge changes in
*this* graph and still protects that proportion. The integers are arranged in rungs around the
true count T: rung 0 is T itself, rung j ≥ 1 the next I_{j−1} integers on either side, where
I_j = min(LS + j, n − 2) and LS is the largest number of common neighbours of any two nodes. Every
integer of rung j has weight exp(−ε·j/2).

All arithmetic is on integers. The rung is found by comparing a uniform number, drawn
bit by bit, with enclosures of its distribution function that are refined until they decide.
Proof: proofs/ladder.md.

For a capped count every node keeps its first `cap` edges in an order of nodes that is independent
of the edges; an edge counts if both of its ends keep it. One edge then moves the number of
triangles by at most 2(cap − 1). Proof: proofs/psgraph-plus.md.

References
----------
Zhang, Cormode, Procopiuc, Srivastava, Xiao: "Private Release of Graph Statistics using Ladder
Functions" (SIGMOD 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.errors import MethodError
from psgraph.graph.kind import Edges
from psgraph.methods.plus.triangles import ranked_adjacency
from psgraph.privacy.binomial import enclose_exp
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.laplace import LaplaceCount
from psgraph.privacy.samplers import Sampler

__all__ = ["CappedTriangles", "Interval", "Ladder", "RungWeights", "Rungs", "kept_by_both"]

FIRST_BITS = 128


@dataclass(frozen=True)
class Interval:
    """Bounds of a non-negative number, as integers that are multiples of 2^−bits."""

    below: int
    above: int
    bits: int

    @classmethod
    def exp(cls, exponent: Fraction, bits: int) -> Interval:
        """Bounds of exp(−exponent) that are 2^−bits apart, or little more."""
        return cls(*enclose_exp(exponent, bits), bits)

    @property
    def low(self) -> Fraction:
        return Fraction(self.below, 1 << self.bits)

    @property
    def high(self) -> Fraction:
        return Fraction(self.above, 1 << self.bits)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.below + other.below, self.above + other.above, self.bits)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(max(self.below - other.above, 0), self.above - other.below, self.bits)

    def __mul__(self, other: Interval) -> Interval:
        below, above = self.below * other.below, self.above * other.above
        return Interval(below >> self.bits, -(-above >> self.bits), self.bits)

    def times(self, factor: int) -> Interval:
        """Multiply by a non-negative integer, which is exact."""
        return Interval(factor * self.below, factor * self.above, self.bits)


@dataclass(frozen=True)
class Rungs:
    """The rungs of a ladder.

    Parameters
    ----------
    reach
        LS, the width of rung 1 on each side: private.
    widest
        n − 2, which no rung exceeds: public.
    rate
        ε/2, the decay from rung to rung.
    """

    reach: int
    widest: int
    rate: Fraction

    def width(self, rung: int) -> int:
        """Return I_{rung−1}, the integers of a rung ≥ 1 on each side."""
        return min(self.reach + rung - 1, self.widest)

    def inside(self, rung: int) -> int:
        """Return how many integers on each side are in rungs 1, …, rung − 1.

        >>> rungs = Rungs(reach=2, widest=4, rate=Fraction(1))
        >>> [rungs.inside(rung) for rung in range(1, 6)]
        [0, 2, 5, 9, 13]
        """
        before = rung - 1
        growing = min(before, self.widest - self.reach)
        return (
            self.reach * growing + growing * (growing - 1) // 2 + self.widest * (before - growing)
        )

    def weights(self, bits: int) -> RungWeights:
        """Return the weights of rungs with enclosures of the given precision."""
        return RungWeights(self, bits)


class RungWeights:
    """Weights of rungs times (1 − q)², q = exp(−rate), as enclosures."""

    def __init__(self, rungs: Rungs, bits: int) -> None:
        self.rungs, self.bits = rungs, bits
        self._growing = rungs.widest - rungs.reach + 1  # the last rung wider than the one before
        self._one = Interval(1 << bits, 1 << bits, bits)
        self._q = Interval.exp(rungs.rate, bits)
        self._rest = self._one - self._q
        self._last = Interval.exp(rungs.rate * (self._growing + 1), bits)

    @property
    def total(self) -> Interval:
        """The weight of all rungs."""
        q, rest = self._q, self._rest
        first = (q * rest).times(2 * self.rungs.reach)
        return rest * rest + first + (q * q - self._last).times(2)

    def beyond(self, rung: int) -> Interval:
        """Return the weight of all rungs after `rung`."""
        next_weight = Interval.exp(self.rungs.rate * (rung + 1), self.bits)
        if rung > self._growing:
            return (self._rest * next_weight).times(2 * self.rungs.widest)
        slope = self._one + self._rest.times(max(self.rungs.reach + rung - 1, 0))
        if self.rungs.reach + rung == 0:  # rung 0 of a graph in which no two nodes have a neighbour
            slope = self._q
        return (next_weight * slope - self._last).times(2)


@dataclass(frozen=True)
class Ladder(Mechanism[int]):
    """The number of triangles, or another count whose change by one edge is at most `reach`.

    Parameters
    ----------
    value
        T, the count: private.
    reach
        LS: private. At least what one edge changes, it moves by at most 1 itself.
    nodes
        n, the number of nodes: public.

    Notes
    -----
    Privacy: ε for one edge. The rung of any integer moves by at most 1 when one edge is added or
    removed. proofs/ladder.md.
    """

    value: int
    reach: int
    nodes: int

    name = "ladder"
    proof = "proofs/ladder.md"
    sensitivity = 1
    shape = (1,)

    def __post_init__(self) -> None:
        if not 0 <= self.reach <= max(self.nodes - 2, 0):
            raise MethodError("the reach of a ladder must lie between 0 and the nodes − 2")

    def distance(self, other: Self) -> int:
        """The most that the rung of any integer differs; the weights depend on nothing else."""
        self.same_public("nodes", self.nodes == other.nodes)
        widest = max(self.nodes - 2, 0)
        mine, theirs = (Rungs(x.reach, widest, Fraction(1)) for x in (self, other))
        apart = 0
        while not _climbs(mine, theirs, abs(self.value - other.value), apart):
            apart += 1
        return apart

    def draw(self, sampler: Sampler, epsilon: Fraction) -> int:
        if self.nodes <= 2:  # there is no triangle on any such roster
            return self.value
        rungs = Rungs(self.reach, self.nodes - 2, epsilon / 2)
        rung = _draw_rung(sampler, rungs)
        if rung == 0:
            return self.value
        offset = rungs.inside(rung) + 1 + int(sampler.integers(1, rungs.width(rung))[0])
        return self.value - offset if sampler.source.bits(1) else self.value + offset


def _climbs(one: Rungs, other: Rungs, shift: int, rungs: int) -> bool:
    """Whether no integer moves by more than `rungs` rungs between two ladders `shift` apart."""
    last = one.widest - min(one.reach, other.reach) + 2  # beyond, all rungs are equally wide
    if not one.widest:
        return shift == 0
    return all(
        shift + here.inside(rung + 1) <= there.inside(rung + rungs + 1)
        for here, there in ((one, other), (other, one))
        for rung in range(last + 1)
    )


class _Undecided(Exception):
    """The bits drawn so far don't tell the two sides of a comparison apart."""


def _draw_rung(sampler: Sampler, rungs: Rungs) -> int:
    """Draw a rung: the first whose probability of being exceeded is at most a uniform number."""
    bits = FIRST_BITS
    drawn = sampler.source.bits(bits)
    while True:
        try:
            return _first_rung(rungs, drawn, bits)
        except _Undecided:
            drawn, bits = drawn << bits | sampler.source.bits(bits), 2 * bits


def _first_rung(rungs: Rungs, drawn: int, bits: int) -> int:
    # Exponents of tiny rates lose bits in 1 − q; those of long ladders in q^j.
    weights = rungs.weights(bits + 2 * rungs.rate.denominator.bit_length() + 64)
    total = weights.total

    def exceeds(rung: int) -> bool:
        beyond = weights.beyond(rung)
        if (drawn + 1) * total.above <= beyond.below << bits:
            return True
        if drawn * total.below >= beyond.above << bits:
            return False
        raise _Undecided

    below, above = -1, 0
    while exceeds(above):
        below, above = above, 2 * above + 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if exceeds(middle) else (below, middle)
    return above


@dataclass(frozen=True)
class CappedTriangles(LaplaceCount):
    """The number of triangles among kept edges plus discrete Laplace noise.

    Parameters
    ----------
    value
        The number of triangles of `kept_by_both`: private.
    sensitivity
        2(cap − 1) for one edge, where the cap is public or released.

    Notes
    -----
    Privacy: ε for one edge. proofs/psgraph-plus.md.
    """

    name = "capped triangles"
    proof = "proofs/psgraph-plus.md"


def kept_by_both(edges: Edges, numbers: NDArray[Any], cap: int) -> Edges:
    """Return the edges that are among the first `cap` of both ends. O(n log n + m).

    Parameters
    ----------
    numbers
        One for each node, independent of the edges: neighbours with the smallest come first.

    *Privacy*: the result is private. Adding an edge {a, b} adds at most that edge and removes at
    most one edge of a and one edge of b.

    Examples
    --------
    >>> star = Edges(np.zeros(3, dtype=np.int32), np.arange(1, 4, dtype=np.int32))
    >>> kept_by_both(star, np.array([0, 3, 2, 1]), 2).v
    array([3, 2], dtype=int32)
    """
    node = np.argsort(numbers, kind="stable").astype(np.int32)
    rank = np.empty_like(node)
    rank[node] = np.arange(node.size, dtype=np.int32)
    starts, neighbours = ranked_adjacency(rank[edges.u], rank[edges.v], node.size)
    u, v = _kept(starts, neighbours, cap)
    return Edges(np.minimum(node[u], node[v]), np.maximum(node[u], node[v]))


@kernel
def _kept(starts: Integers, neighbours: Positions, cap: int) -> tuple[Positions, Positions]:
    """Pairs x < y, each among the first `cap` entries of the other's ascending list."""
    nodes = starts.size - 1
    u = np.empty(neighbours.size // 2, dtype=np.int32)
    v = np.empty(neighbours.size // 2, dtype=np.int32)
    found = 0
    for x in range(nodes):
        for index in range(starts[x], min(starts[x] + cap, starts[x + 1])):
            y = neighbours[index]
            if y < x:
                continue
            last = min(starts[y] + cap, starts[y + 1]) - 1
            if x <= neighbours[last]:  # x is in the list of y, so it is among the first ones
                u[found], v[found] = x, y
                found += 1
    return u[:found], v[:found]
