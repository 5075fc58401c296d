"""Cells of degrees: where the degree curve is measured and where its density is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers
from psgraph.graph.kind import Kind

__all__ = [
    "Grid",
    "degree_grid",
    "log_likelihood",
    "moments_inside",
    "most_edges",
    "thresholds",
]

FLAT = 0.05  # a cell this much narrower than the noise is one point


MOST_ROWS = 1 << 20  # of flows at one node: more are not told apart


def most_edges(kind: Kind, sizes: tuple[int, ...], side: int) -> int:
    """Return the largest degree of a node on a side that estimates reckon with; of flows, rows.

    >>> from psgraph.graph.kind import DIRECTED
    >>> most_edges(DIRECTED, (5,), 0), most_edges(DIRECTED.with_flows(), (5,), 0)
    (4, 1048576)
    """
    return MOST_ROWS if kind.flows else kind.largest_degree(*sizes, side=side)


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
    nearest, rows, cells = _nearest(grid, noisy)
    one = -np.expm1(-rate)

    def reach(count: NDArray[Any]) -> Floats:
        """The sum of exp(−rate·j) over j = 0, …, count."""
        return -np.expm1(-rate * (count + 1)) / one

    # A cell that lies on one side of the noisy degree has the same weight for all of these.
    total = np.maximum(reach(np.zeros(grid.low.size)), reach(grid.high - 1 - grid.low))
    result = -rate * np.abs(noisy[:, None] - nearest) + np.log(total / grid.width)
    near = nearest[rows, cells]
    below, above = reach(near - grid.low[cells]), reach(grid.high[cells] - 1 - near)
    inside = np.log((below + above - 1) / grid.width[cells])
    result[rows, cells] = -rate * np.abs(noisy[rows] - near) + inside
    return result


def moments_inside(grid: Grid, noisy: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return mean and variance of a degree given its cell and its noisy value.

    Arrays of noisy degrees × cells, or of one row where the noise tells nothing inside a cell.
    """
    rate = 1 / scale
    flat = rate * grid.width < FLAT
    uniform = (grid.width[None, :] ** 2 - 1) / 12
    if flat.all():
        return grid.middle[None, :], uniform
    low, high = grid.low, grid.high - 1
    nearest, rows, cells = _nearest(grid, noisy)
    # A cell that lies on one side of the noisy degree has the same moments for all of these.
    span, nothing = high - low, np.zeros(low.size)
    shift_above, variance_above = _moments(nothing, span, rate)
    shift_below, variance_below = _moments(span, nothing, rate)
    above = nearest == low
    mean = np.where(above, low + shift_above, high + shift_below)
    variance = np.where(above, variance_above, variance_below)
    near = nearest[rows, cells]
    shift, variance[rows, cells] = _moments(near - low[cells], high[cells] - near, rate)
    mean[rows, cells] = near + shift
    return np.where(flat, grid.middle, mean), np.where(flat, uniform, variance)


def _nearest(grid: Grid, noisy: Floats) -> tuple[Floats, Integers, Integers]:
    """Return the degree of each cell nearest to each noisy one, and where it is not at an end."""
    low, high = grid.low[None, :], grid.high[None, :] - 1
    nearest = np.clip(np.rint(noisy[:, None]), low, high)
    rows, cells = np.nonzero((nearest > low) & (nearest < high))
    return nearest, rows, cells


def _moments(left: NDArray[Any], right: NDArray[Any], rate: float) -> tuple[Floats, Floats]:
    """Return mean and variance of an offset j from −left to right that has weight r^|j|."""
    down, up = _sums(left, rate), _sums(right, rate)
    total = down[0] + up[0] - 1
    shift = (up[1] - down[1]) / total
    return shift, np.maximum((up[2] + down[2]) / total - shift**2, 0)


def _sums(count: NDArray[Any], rate: float) -> tuple[Floats, Floats, Floats]:
    """Return the sums of r^j, j·r^j and j²·r^j over j = 0, …, count, r = exp(−rate)."""
    r, one = np.exp(-rate), -np.expm1(-rate)
    last = np.exp(-rate * count)
    zeroth = (1 - last * r) / one
    first = r * (1 - (count + 1) * last + count * last * r) / one**2
    square = (count + 1) ** 2 - (2 * count**2 + 2 * count - 1) * r + count**2 * r**2
    return zeroth, first, r * (1 + r - last * square) / one**3
