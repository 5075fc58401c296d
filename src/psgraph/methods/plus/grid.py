"""Cells of degrees: where the degree curve is measured and where its density is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["Grid", "degree_grid", "log_likelihood", "moments_inside", "thresholds"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FLAT = 0.05  # a cell this much narrower than the noise is one point


@lru_cache(maxsize=64)
def thresholds(nodes: int) -> Integers:
    """Return the degrees k < nodes at which the curve is measured: 1, …, 8, then × 1.25.

    >>> thresholds(20)
    array([ 1,  2,  3,  4,  5,  6,  7,  8, 10, 13, 17])
    """
    found, k = [], 1
    while k < nodes:
        found.append(k)
        k = k + 1 if k < 8 else -(-5 * k // 4)
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class Grid:
    """Cells of degrees: cell i holds ``low[i]``, …, ``high[i] − 1``."""

    low: Integers
    high: Integers

    @property
    def middle(self) -> Floats:
        return (self.low + self.high - 1) / 2

    @property
    def width(self) -> Floats:
        return (self.high - self.low).astype(np.float64)

    @property
    def position(self) -> Floats:
        """u, the log scale on which the density is smooth."""
        return np.log(self.middle + 1)


@lru_cache(maxsize=64)
def degree_grid(nodes: int) -> Grid:
    """Return about 100 cells, 6 % wide, that cover 0, …, nodes − 1; thresholds are cell edges.

    >>> degree_grid(12).low
    array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11])
    """
    end = max(nodes, 3)
    stops = [*thresholds(end).tolist(), end]
    low, index = [0], 0
    while True:
        k = low[-1]
        while stops[index] <= k:
            index += 1
        k = min(max(k + 1, int(1.06 * k)), stops[index])
        if k >= end:
            break
        low.append(k)
    edges = np.array([*low, end], dtype=np.int64)
    return Grid(edges[:-1], edges[1:])


def log_likelihood(grid: Grid, noisy: Floats, scale: float) -> Floats:
    """Return log P(noisy degree | cell), an array of noisy degrees × cells.

    Degrees are uniform inside a cell. Up to the constant log((1 − r)/(1 + r)), r = exp(−1/scale).
    """
    rate = 1 / scale
    low, high, width = grid.low[None, :], grid.high[None, :] - 1, grid.width[None, :]
    y = noisy[:, None]
    # The distance from y to the cell, and the sums of exp(−rate·j) on either side of the point
    # of the cell that is nearest to y.
    nearest = np.clip(np.rint(y), low, high)
    left, right = nearest - low, high - nearest
    one = -np.expm1(-rate)
    below, above = -np.expm1(-rate * (left + 1)) / one, -np.expm1(-rate * (right + 1)) / one
    inside = (left > 0) & (right > 0)
    total = np.where(inside, below + above - 1, np.maximum(below, above))
    return -rate * np.abs(y - nearest) + np.log(total / width)


def moments_inside(grid: Grid, noisy: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return mean and variance of a degree given its cell and its noisy value.

    Arrays of noisy degrees × cells, or of one row where the noise tells nothing inside a cell.
    """
    rate = 1 / scale
    flat = rate * grid.width < FLAT
    middle, uniform = grid.middle[None, :], (grid.width[None, :] ** 2 - 1) / 12
    if flat.all():
        return middle, uniform
    low, high = grid.low[None, :], grid.high[None, :] - 1
    nearest = np.clip(np.rint(noisy[:, None]), low, high)
    # Offsets j from the nearest point have weight r^|j|.
    down, up = _sums(nearest - low, rate), _sums(high - nearest, rate)
    total = down[0] + up[0] - 1
    shift = (up[1] - down[1]) / total
    variance = np.maximum((up[2] + down[2]) / total - shift**2, 0)
    return np.where(flat, middle, nearest + shift), np.where(flat, uniform, variance)


def _sums(count: Floats, rate: float) -> tuple[Floats, Floats, Floats]:
    """Return the sums of r^j, j·r^j and j²·r^j over j = 0, …, count, r = exp(−rate)."""
    r, one = np.exp(-rate), -np.expm1(-rate)
    last = np.exp(-rate * count)
    zeroth = (1 - last * r) / one
    first = r * (1 - (count + 1) * last + count * last * r) / one**2
    square = (count + 1) ** 2 - (2 * count**2 + 2 * count - 1) * r + count**2 * r**2
    return zeroth, first, r * (1 + r - last * square) / one**3
