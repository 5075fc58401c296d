"""Noise on a huge vector of counts, most of them zero, without storing the vector.

Adding independent noise to every cell and keeping those above a threshold has the same
distribution as this: for all cells with the same count, draw only *how many* get each noise value;
compute the threshold from these numbers; choose the cells above it uniformly within the group,
since independent and identically distributed noise is exchangeable. The largest group is the zero
cells, which are never listed. Proof: proofs/sparse-noise.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.privacy.binomial import BinaryDigits, binomial, fair_binomial
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.laplace import check_integers
from psgraph.privacy.samplers import Sampler, random_free_cells, random_subset

__all__ = [
    "NoisyCounts",
    "SparseLaplaceCounts",
    "Threshold",
    "histogram",
    "noise_histogram",
    "sparse_noise",
]

Threshold = Callable[[Integers, Integers], float]
"""Computes a threshold from the distinct noisy values (ascending) and how often each occurs."""

DENSE_UP_TO = 1 << 16  # cells; up to here the vector itself is faster
DENSE_AT_MOST = 1 << 24  # cells; beyond, the vector takes too much memory
STEP = 1 << 12  # single draws that take as long as one step of a histogram, or less
COMMON = 1 << 13  # cells with one count; from here on a histogram is faster than single draws


@dataclass(frozen=True)
class NoisyCounts:
    """The cells of a noisy vector of `size` counts that lie above `threshold`.

    Attributes
    ----------
    size
        Length of the whole vector.
    threshold
        Cells at or below it are left out.
    cells, values
        The other cells, in ascending order, and their noisy values.
    """

    size: int
    threshold: float
    cells: Integers
    values: Integers


@dataclass(frozen=True)
class SparseLaplaceCounts(Mechanism[NoisyCounts]):
    """A vector of counts plus discrete Laplace noise, of which only large values are returned.

    Parameters
    ----------
    cells, counts
        The cells that are not zero, in ascending order, and their counts: private.
    size
        Length of the whole vector: public.
    threshold
        Computes from the histogram of the noisy vector the level that values must exceed.
    sensitivity
        Δ, how far the whole vector moves in the L1 norm.

    Notes
    -----
    Privacy: ε for the stated unit, as post-processing of the whole noisy vector.
    proofs/sparse-noise.md.
    """

    cells: Integers
    counts: Integers
    size: int
    threshold: Threshold
    sensitivity: int

    name = "discrete Laplace"
    proof = "proofs/sparse-noise.md"

    def __post_init__(self) -> None:
        check_integers(self.counts)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def distance(self, other: Self) -> int:
        self.same_public("size", self.size == other.size)
        cells = np.union1d(self.cells, other.cells)
        mine, theirs = np.zeros((2, cells.size), dtype=np.int64)
        mine[np.searchsorted(cells, self.cells)] = self.counts
        theirs[np.searchsorted(cells, other.cells)] = other.counts
        return int(np.abs(mine - theirs).sum())

    def draw(self, sampler: Sampler, epsilon: Fraction) -> NoisyCounts:
        return sparse_noise(
            sampler,
            self.cells,
            self.counts,
            size=self.size,
            rate=epsilon / self.sensitivity,
            threshold=self.threshold,
        )


def sparse_noise(
    sampler: Sampler,
    cells: Integers,
    counts: Integers,
    *,
    size: int,
    rate: Fraction,
    threshold: Threshold,
) -> NoisyCounts:
    """Add discrete Laplace noise to all `size` cells; keep those above the threshold.

    Parameters
    ----------
    cells, counts
        The cells that are not zero, in ascending order, and their counts.
    rate
        The noise k has probability proportional to exp(−|k|·rate).
    threshold
        Computed from the histogram of the noisy vector and nothing else.
    """
    # A histogram takes as many steps as the noise is wide, so wide noise is drawn one by one.
    wide = min(int(STEP / rate), DENSE_AT_MOST)
    if not sampler.histograms or size <= max(DENSE_UP_TO, 4 * cells.size, wide):
        # Which of the two forms runs changes the time it takes, not the distribution.
        values = sampler.discrete_laplace(size, rate)
        values[cells] += counts
        level = threshold(*histogram(values))
        above = np.flatnonzero(values > level)
        return NoisyCounts(size, level, above, values[above])
    groups, rest = _alike(cells, counts)
    noisy_rest = counts[rest] + sampler.discrete_laplace(rest.size, rate)
    histograms = [noise_histogram(sampler, size - cells.size, rate)]
    for count, members in groups:
        noise, often = noise_histogram(sampler, members.size, rate)
        histograms.append((noise + count, often))
    level = threshold(*_merge([histogram(noisy_rest), *histograms]))

    (zero, *loud_groups) = [np.repeat(v[v > level], often[v > level]) for v, often in histograms]
    kept = noisy_rest > level
    kept_cells = [cells[rest[kept]], random_free_cells(sampler, cells, size=size, count=zero.size)]
    kept_values = [noisy_rest[kept], zero]
    for (_, members), loud in zip(groups, loud_groups, strict=True):
        kept_cells.append(members[random_subset(sampler, members.size, loud.size)])
        kept_values.append(loud)
    all_cells, all_values = np.concatenate(kept_cells), np.concatenate(kept_values)
    order = np.argsort(all_cells)
    return NoisyCounts(size, level, all_cells[order], all_values[order])


def _alike(cells: Integers, counts: Integers) -> tuple[list[tuple[int, Integers]], Integers]:
    """Return the cells of each common count, and the indices of all other cells."""
    values, often = histogram(counts)
    common = values[often >= COMMON]
    groups = [(int(count), cells[counts == count]) for count in common]
    alone = np.ones(counts.size, dtype=bool)
    for count in common:
        alone &= counts != count
    return groups, np.flatnonzero(alone)


def noise_histogram(sampler: Sampler, cells: int, rate: Fraction) -> tuple[Integers, Integers]:
    """Draw how many of `cells` independent discrete Laplace variables take each value."""
    rounded = Fraction(*sampler.rounded_rate(rate))
    q, first = BinaryDigits(rounded), BinaryDigits(rounded, odds=True)
    values, counts = [], []
    size, left = 0, cells
    while left:
        # |noise| ≥ 1 with probability 2q/(1+q); each further step up with probability q.
        beyond = binomial(sampler, left, q if size else first)
        here = left - beyond
        positive = fair_binomial(sampler, here) if size else here
        values += [size, -size]
        counts += [positive, here - positive]
        size, left = size + 1, beyond
    occurring = np.array(counts, dtype=np.int64) > 0
    return (
        np.array(values, dtype=np.int64)[occurring],
        np.array(counts, dtype=np.int64)[occurring],
    )


def histogram(values: Integers) -> tuple[Integers, Integers]:
    """Return the distinct values of an array, ascending, and how often each occurs."""
    if not values.size:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low > 8 * values.size + 1024:
        return np.unique(values, return_counts=True)
    counts = np.bincount(values - low)
    occurring = np.flatnonzero(counts)
    return occurring + low, counts[occurring]


def _merge(parts: list[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    values, inverse = np.unique(np.concatenate([v for v, _ in parts]), return_inverse=True)
    counts = np.zeros(values.size, dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate([often for _, often in parts]))
    return values, counts
