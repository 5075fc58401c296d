"""The ladder mechanism for the number of triangles, drawn exactly.

One edge can close as many triangles as its ends have common neighbours: at most n − 2, but in a
sparse graph far fewer. The ladder mechanism adds noise in proportion to what an edge changes in
*this* graph and still protects that proportion. The integers are arranged in rungs around the
true count T: rung 0 is T itself, rung j ≥ 1 the next I_{j−1} integers on either side, where
I_j = min(LS + j, n − 2) and LS is the largest number of common neighbours of any two nodes. Every
integer of rung j has weight exp(−ε·j/2).

All arithmetic is on integers and rationals. The rung is found by comparing a uniform number, drawn
bit by bit, with enclosures of its distribution function that are refined until they decide.
Proof: proofs/ladder.md.

References
----------
Zhang, Cormode, Procopiuc, Srivastava, Xiao: "Private Release of Graph Statistics using Ladder
Functions" (SIGMOD 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from psgraph.errors import MethodError
from psgraph.privacy.binomial import enclose_exp
from psgraph.privacy.mechanism import Mechanism, per_edge
from psgraph.privacy.samplers import Sampler

__all__ = ["Interval", "Ladder", "Rungs"]

FIRST_BITS = 128


@dataclass(frozen=True)
class Interval:
    """Rational bounds of a non-negative number."""

    low: Fraction
    high: Fraction

    @classmethod
    def exp(cls, exponent: Fraction, bits: int) -> Interval:
        """Bounds of exp(−exponent) that are 2^−bits apart, or little more."""
        low, high = enclose_exp(exponent, bits)
        return cls(Fraction(low, 1 << bits), Fraction(high, 1 << bits))

    @classmethod
    def of(cls, value: int) -> Interval:
        """An integer."""
        return cls(Fraction(value), Fraction(value))

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(max(self.low - other.high, Fraction(0)), self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        return Interval(self.low * other.low, self.high * other.high)


@dataclass(frozen=True)
class Rungs:
    """The rungs of a ladder and their probabilities.

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

    def total(self, bits: int) -> Interval:
        """Return (1 − q)² times the weight of all rungs, q = exp(−rate)."""
        q = Interval.exp(self.rate, bits)
        rest = Interval.of(1) - q
        last = Interval.exp(self.rate * (self.widest - self.reach + 2), bits)
        tail = Interval.of(2) * (q * q - last)
        return rest * rest + Interval.of(2 * self.reach) * q * rest + tail

    def beyond(self, rung: int, bits: int) -> Interval:
        """Return (1 − q)² times the weight of all rungs after `rung`."""
        rest = Interval.of(1) - Interval.exp(self.rate, bits)
        next_weight = Interval.exp(self.rate * (rung + 1), bits)
        growing = self.widest - self.reach + 1  # the last rung that is wider than the one before
        if rung > growing:
            return Interval.of(2 * self.widest) * rest * next_weight
        slope = Interval.of(1) + Interval.of(max(self.reach + rung - 1, 0)) * rest
        if self.reach + rung == 0:  # rung 0 of a graph in which no two nodes have a neighbour
            slope = Interval.of(1) - rest
        last = Interval.exp(self.rate * (growing + 1), bits)
        return Interval.of(2) * (next_weight * slope - last)


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
    sensitivity = per_edge(1)
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
    low, high = Fraction(drawn, 1 << bits), Fraction(drawn + 1, 1 << bits)
    # Exponents of tiny rates lose bits in 1 − q; those of long ladders in q^j.
    precision = bits + 2 * rungs.rate.denominator.bit_length() + 64
    total = rungs.total(precision)

    def exceeds(rung: int) -> bool:
        beyond = rungs.beyond(rung, precision)
        if high * total.high <= beyond.low:
            return True
        if low * total.low >= beyond.high:
            return False
        raise _Undecided

    below, above = -1, 0
    while exceeds(above):
        below, above = above, 2 * above + 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if exceeds(middle) else (below, middle)
    return above
