"""TmF's published filter, which takes linear time and is not private; for comparison only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.privacy.mechanism import Mechanism, changed_cells
from psgraph.privacy.samplers import Sampler

__all__ = ["UnprovenLinearFilter", "passing_chance"]


@dataclass(frozen=True)
class UnprovenLinearFilter(Mechanism[Integers]):
    """The published shortcut: true edges above a threshold, then uniform other pairs.

    Parameters
    ----------
    ones
        The cells that hold an edge, in ascending order: private.
    size
        The number of cells: public.
    keep
        How many cells to return: public or already released.

    Notes
    -----
    Privacy: **none.** It keeps true edges by one rule and fills up with other pairs by another.
    proofs/largest-cells.md.
    """

    ones: Integers
    size: int
    keep: int

    name = "linear filter"
    proof = "proofs/largest-cells.md"
    proven = False
    sensitivity = 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def distance(self, other: Self) -> int:
        self.same_public("size", self.size == other.size)
        self.same_public("keep", self.keep == other.keep)
        return changed_cells(self.ones, other.ones)

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Integers:
        ones = self.ones
        chance = passing_chance(size=self.size, keep=self.keep, epsilon=float(epsilon))
        passed = sampler.integers(ones.size, 1 << 53) < chance * 2.0**53
        survivors = ones[passed]
        others = self.size - ones.size
        wanted = min(max(self.keep - survivors.size, 0), others)
        ranks = _distinct(sampler, others, wanted)
        # The r-th pair that is no edge comes after as many edges as start at or before it.
        filled = ranks + np.searchsorted(ones - np.arange(ones.size), ranks, side="right")
        return np.sort(np.concatenate([survivors, filled]))


def passing_chance(*, size: int, keep: int, epsilon: float) -> float:
    """Return the probability that 1 + Laplace(1/ε) exceeds the published threshold θ.

    θ is where `keep` of `size` cells pass if `keep` of them hold a one:

    >>> passing = passing_chance(size=1000, keep=100, epsilon=1.0)
    >>> round(100 * passing + 900 * passing / np.e, 9)      # θ ≥ 1 here
    100.0
    """
    if keep in (0, size):
        return float(keep > 0)
    odds = math.log(size / keep - 1)
    if epsilon <= odds:
        above = math.log((size + keep * math.expm1(epsilon)) / (2 * keep)) - epsilon  # ε(θ − 1)
        return 0.5 * math.exp(-above)
    below = (epsilon - odds) / 2  # ε(1 − θ)
    return 1 - 0.5 * math.exp(-below)


def _distinct(sampler: Sampler, bound: int, count: int) -> Integers:
    """Draw `count` distinct uniform integers below `bound`."""
    if 2 * count > bound:
        return sampler.permutation(bound)[:count]
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < count:
        drawn = np.union1d(drawn, sampler.integers(count - drawn.size, bound))
    return drawn
