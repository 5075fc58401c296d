"""Noise on a huge vector of counts of which few are not zero, without writing the vector down.

Adding independent noise to every cell and keeping those above a threshold has the same law as:
draw for all cells with the same count only *how many* got each noise; find the threshold from
these numbers; and let uniformly chosen cells of the group be those above it, since independent
identical noises are exchangeable. The largest group is the zero cells, which are never listed.
Proof: proofs/sparse-noise.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.privacy.binomial import BinaryDigits, binomial, fair_binomial
from psgraph.privacy.samplers import Place, Sampler, Words, _below, _ran_out, _width

__all__ = ["NoisyCounts", "Threshold", "histogram", "noise_histogram", "sparse_noise"]

Integers = NDArray[np.int64]
Threshold = Callable[[Integers, Integers], float]
"""From the distinct noisy values and how often each occurs, the value to stay above."""

DENSE_UP_TO = 1 << 16  # cells; up to here the vector itself is quicker
DENSE_AT_MOST = 1 << 24  # cells; beyond, the vector takes too much memory
STEP = 1 << 12  # noises drawn singly in the time of one step of a histogram, or fewer
COMMON = 1 << 13  # cells of one count; from here on a histogram is quicker than single draws


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
        Where the others are, in rising order, and their noisy values.
    """

    size: int
    threshold: float
    cells: Integers
    values: Integers


def sparse_noise(
    sampler: Sampler,
    cells: Integers,
    counts: Integers,
    *,
    size: int,
    rate: Fraction,
    threshold: Threshold,
) -> NoisyCounts:
    """Add discrete Laplace noise to all `size` cells; keep those above ``threshold``.

    Parameters
    ----------
    cells, counts
        The cells that are not zero, in rising order, and their counts.
    rate
        The noise k has probability proportional to exp(−|k|·rate).
    threshold
        Sees the histogram of the noisy vector and nothing else.
    """
    # A histogram takes as many steps as the noise is wide, so wide noise is better drawn singly.
    wide = min(int(STEP / rate), DENSE_AT_MOST)
    if not sampler.histograms or size <= max(DENSE_UP_TO, 4 * cells.size, wide):
        # Which of the two forms runs changes the time it takes, not the law of what comes out.
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
    kept_cells = [cells[rest[kept]], _free_places(sampler, cells, size=size, count=zero.size)]
    kept_values = [noisy_rest[kept], zero]
    for (_, members), loud in zip(groups, loud_groups, strict=True):
        kept_cells.append(members[_subset(sampler, members.size, loud.size)])
        kept_values.append(loud)
    all_cells, all_values = np.concatenate(kept_cells), np.concatenate(kept_values)
    order = np.argsort(all_cells)
    return NoisyCounts(size, level, all_cells[order], all_values[order])


def _alike(cells: Integers, counts: Integers) -> tuple[list[tuple[int, Integers]], Integers]:
    """The cells of each count that is common, and the indices of all others."""
    values, often = histogram(counts)
    common = values[often >= COMMON]
    groups = [(int(count), cells[counts == count]) for count in common]
    alone = np.ones(counts.size, dtype=bool)
    for count in common:
        alone &= counts != count
    return groups, np.flatnonzero(alone)


def noise_histogram(sampler: Sampler, cells: int, rate: Fraction) -> tuple[Integers, Integers]:
    """How many of `cells` independent discrete Laplace noises take each value."""
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
    """The distinct values of an array, rising, and how often each occurs."""
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


def _subset(sampler: Sampler, size: int, count: int) -> Integers:
    """`count` distinct indices below `size`, uniform."""
    if 2 * count > size:
        return sampler.permutation(size)[:count]
    return _free_places(sampler, np.empty(0, dtype=np.int64), size=size, count=count)


def _free_places(sampler: Sampler, cells: Integers, *, size: int, count: int) -> Integers:
    """`count` distinct cells, uniform among those not in `cells`."""
    places = np.empty(count, dtype=np.int64)
    slots = 1 << max(4, (2 * count - 1).bit_length())
    taken = np.full(slots, -1, dtype=np.int64)
    sampler.run(count, lambda done, w, p: _place(places, done, taken, cells, size, w, p))
    return places


@kernel
def _listed(cell: int, cells: Integers, size: int) -> bool:
    """Whether a sorted list of cells below `size` has a cell.

    Begins where the cell would stand if the cells were spread evenly, and widens from there:
    few steps for a random super-graph, never many more than a plain binary search.
    """
    at = min(int(cell / size * cells.size), cells.size - 1)
    left, right, step = max(at, 0), at + 1, 1
    while left > 0 and cells[left] > cell:
        left, step = max(left - step, 0), 2 * step
    step = 1
    while right < cells.size and cells[right] <= cell:
        right, step = min(right + step, cells.size), 2 * step
    while right - left > 1:
        middle = (left + right) // 2
        if cells[middle] <= cell:
            left = middle
        else:
            right = middle
    return left < cells.size and cells[left] == cell


@kernel
def _place(
    places: Integers,
    done: int,
    taken: Integers,
    cells: Integers,
    size: int,
    words: Words,
    place: Place,
) -> tuple[int, Place]:
    """Draw cells until one is free; `taken` is an open-addressing set of those already given."""
    width = _width(size)
    mask = taken.size - 1
    while done < places.size:
        cell, after = _below(size, width, words, place)
        if _ran_out(words, after):
            break
        place = after
        if _listed(cell, cells, size):
            continue
        slot = np.int64((np.uint64(cell) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
        while taken[slot] != -1 and taken[slot] != cell:
            slot = (slot + 1) & mask
        if taken[slot] == cell:
            continue
        taken[slot] = cell
        places[done] = cell
        done += 1
    return done, place
