"""The largest of a huge number of noisy cells, without writing the cells down.

The textbook form: every cell holds 0 or 1; add independent noise to all of them and keep the
`keep` largest, ties broken by uniform random choice. Cells of one kind are exchangeable, so it is
enough to draw *how many* zeros and how many ones got each noise, to find from these numbers the
level at which the wanted number is reached, and then to let uniformly chosen cells of each kind
be the ones kept. This is the same law, not one near it. O(ones + keep) time and memory.
Proof: proofs/largest-cells.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from psgraph.privacy.mechanisms.sparse import (
    COMMON,
    _free_places,
    _subset,
    histogram,
    noise_histogram,
)
from psgraph.privacy.samplers import Sampler

__all__ = ["largest_cells"]

Integers = NDArray[np.int64]


def largest_cells(
    sampler: Sampler, ones: Integers, *, size: int, keep: int, rate: Fraction
) -> Integers:
    """The `keep` largest of `size` cells after discrete Laplace noise, in rising order.

    Parameters
    ----------
    ones
        The cells that hold a one, in rising order; all others hold a zero.
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
    # Of the cells exactly at the level only some fit. Which ones is uniform, so the ones among
    # them are as many as fall into a uniform choice of places.
    tied_zeros = int(zeros_often[zero_noise == level].sum())
    tied_ones = int(ones_often[one_values == level].sum())
    room = keep - zeros_kept - ones_kept
    chosen_ones = int((_subset(sampler, tied_zeros + tied_ones, room) < tied_ones).sum())
    ones_kept += chosen_ones
    zeros_kept += room - chosen_ones
    kept = np.concatenate(
        [
            ones[_subset(sampler, ones.size, ones_kept)],
            _free_places(sampler, ones, size=size, count=zeros_kept),
        ]
    )
    kept.sort()
    return kept


def _noises(sampler: Sampler, cells: int, rate: Fraction) -> tuple[Integers, Integers]:
    """How many of `cells` noises take each value; drawn one by one where that is quicker."""
    if not sampler.histograms or cells < COMMON:
        return histogram(sampler.discrete_laplace(cells, rate))
    return noise_histogram(sampler, cells, rate)


def _level(values: Integers, often: Integers, keep: int) -> int:
    """The highest value that at least `keep` cells reach (any above all of them, for none)."""
    if keep == 0:
        return int(values.max(initial=0)) + 1
    order = np.argsort(-values, kind="stable")
    reached = np.cumsum(often[order])
    return int(values[order][np.searchsorted(reached, keep)])
