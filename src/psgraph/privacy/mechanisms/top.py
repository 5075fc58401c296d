"""The largest of a huge number of noisy cells, without storing the cells.

The textbook form: every cell holds 0 or 1; add independent noise to all of them and keep the
`keep` largest, breaking ties at random. Cells of one kind are exchangeable, so it is enough to
draw *how many* zeros and how many ones get each noise value, to compute from these numbers the
level that `keep` cells reach, and to choose the cells of each kind uniformly. The distribution is
exactly the same. O(ones + keep) time and memory. Proof: proofs/largest-cells.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.privacy.mechanism import Mechanism, changed_cells
from psgraph.privacy.mechanisms.sparse import COMMON, histogram, noise_histogram
from psgraph.privacy.samplers import Sampler, random_free_cells, random_subset

__all__ = ["LargestCells", "largest_cells"]


@dataclass(frozen=True)
class LargestCells(Mechanism[Integers]):
    """The cells, in ascending order, that are largest after discrete Laplace noise of scale 1/ε.

    Parameters
    ----------
    ones
        The cells that hold a one, in ascending order; all others hold a zero: private.
    size
        The number of cells: public.
    keep
        How many to return: public or already released.

    Notes
    -----
    Privacy: ε for one edge, where an edge is one cell, as post-processing of all noisy cells.
    proofs/largest-cells.md.
    """

    ones: Integers
    size: int
    keep: int

    name = "discrete Laplace"
    proof = "proofs/largest-cells.md"
    sensitivity = 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def distance(self, other: Self) -> int:
        self.same_public("size", self.size == other.size)
        self.same_public("keep", self.keep == other.keep)
        return changed_cells(self.ones, other.ones)

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Integers:
        return largest_cells(sampler, self.ones, size=self.size, keep=self.keep, rate=epsilon)


def largest_cells(
    sampler: Sampler, ones: Integers, *, size: int, keep: int, rate: Fraction
) -> Integers:
    """Return the `keep` largest of `size` cells after discrete Laplace noise, ascending.

    Parameters
    ----------
    ones
        The cells that hold a one, in ascending order; all others hold a zero.
    rate
        The noise k has probability proportional to exp(−|k|·rate).

    Examples
    --------
    >>> from psgraph.privacy.randomness import RandomSource
    >>> sampler = Sampler(RandomSource.seeded(1))
    >>> largest_cells(sampler, np.array([3, 5]), size=10**9, keep=2, rate=Fraction(50))
    array([3, 5])
    """
    zero_noise, zeros_often = _noises(sampler, size - ones.size, rate)
    one_noise, ones_often = _noises(sampler, ones.size, rate)
    one_values = one_noise + 1
    level = _level(
        np.concatenate([zero_noise, one_values]), np.concatenate([zeros_often, ones_often]), keep
    )
    zeros_kept = int(zeros_often[zero_noise > level].sum())
    ones_kept = int(ones_often[one_values > level].sum())
    # Of the cells exactly at the level only some are kept, chosen uniformly.
    tied_zeros = int(zeros_often[zero_noise == level].sum())
    tied_ones = int(ones_often[one_values == level].sum())
    room = keep - zeros_kept - ones_kept
    chosen_ones = int((random_subset(sampler, tied_zeros + tied_ones, room) < tied_ones).sum())
    ones_kept += chosen_ones
    zeros_kept += room - chosen_ones
    kept = np.concatenate(
        [
            ones[random_subset(sampler, ones.size, ones_kept)],
            random_free_cells(sampler, ones, size=size, count=zeros_kept),
        ]
    )
    kept.sort()
    return kept


def _noises(sampler: Sampler, cells: int, rate: Fraction) -> tuple[Integers, Integers]:
    """Draw how many of `cells` noise values take each value, one by one where that is faster."""
    if not sampler.histograms or cells < COMMON:
        return histogram(sampler.discrete_laplace(cells, rate))
    return noise_histogram(sampler, cells, rate)


def _level(values: Integers, often: Integers, keep: int) -> int:
    """Return the highest value that at least `keep` cells reach; above all of them for `keep` 0."""
    if keep == 0:
        return int(values.max(initial=0)) + 1
    order = np.argsort(-values, kind="stable")
    reached = np.cumsum(often[order])
    return int(values[order][np.searchsorted(reached, keep)])
