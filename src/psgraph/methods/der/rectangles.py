"""Rectangles in the upper triangle of an adjacency matrix, and the edges in them.

With nodes numbered 0, …, n − 1 an edge is one cell (row, column) with row < column. A rectangle
``[top, bottom) × [left, right)`` may reach below the diagonal; only cells above it are *valid*,
that is, pairs of nodes. Which cells these are is public geometry; which of them hold an edge is
private.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import pack, triangle
from psgraph.privacy.mechanism import changed_cells

__all__ = ["Rectangles", "Regions", "cells_in", "trimmed", "valid_cells"]

Rectangles = NDArray[np.int64]
"""One row (top, bottom, left, right) for each rectangle."""


@dataclass(frozen=True)
class Regions:
    """Rectangles that don't overlap, with the private edges in each.

    Attributes
    ----------
    rectangles
        Public, or already released.
    starts, rows, columns
        Edges in order of (row, column), rectangle by rectangle: those of rectangle r have the
        indices ``starts[r], …, starts[r + 1] − 1``.
    """

    rectangles: Rectangles
    starts: Integers
    rows: Positions
    columns: Positions

    def __len__(self) -> int:
        return len(self.rectangles)

    @property
    def cells(self) -> Integers:
        """How many valid cells each rectangle has: public."""
        return valid_cells(self.rectangles)

    @property
    def edges(self) -> Integers:
        """How many of them hold an edge: private, sensitivity 1 over all rectangles."""
        return np.diff(self.starts)

    def changed_edges(self, other: Regions) -> int:
        """Count the edges by which two sets of regions with the same rectangles differ."""
        return changed_cells(self._keys(), other._keys())

    def _keys(self) -> Integers:
        return pack(self.rows, self.columns)


@kernel
def _corner(bottom: int, right: int) -> int:
    """Count the valid cells of the rectangle from the origin to (bottom, right)."""
    rows = min(bottom, right)
    return rows * (right - 1) - triangle(rows)


@kernel
def cells_in(top: int, bottom: int, left: int, right: int) -> int:
    """Count the valid cells of one rectangle, for 0 ≤ top ≤ bottom and 0 ≤ left ≤ right."""
    return _corner(bottom, right) - _corner(top, right) - _corner(bottom, left) + _corner(top, left)


@kernel
def _fill_valid(rectangles: Rectangles, out: Integers) -> None:
    for index in range(out.size):
        top, bottom, left, right = rectangles[index]
        out[index] = cells_in(top, bottom, left, right)


def valid_cells(rectangles: Rectangles) -> Integers:
    """Count the pairs of nodes in each rectangle.

    >>> valid_cells(np.array([[0, 4, 0, 4], [0, 2, 2, 4], [2, 4, 0, 2]]))
    array([6, 4, 0])
    """
    out = np.empty(len(rectangles), dtype=np.int64)
    _fill_valid(rectangles, out)
    return out


@kernel
def trimmed(top: int, bottom: int, left: int, right: int) -> tuple[int, int, int, int]:
    """Return the smallest rectangle with the same valid cells, at least half of its cells.

    Every row and every column has a valid cell then. What is not valid is a triangle of side
    s in a corner, s·(s + 1)/2 cells, and both sides of the rectangle are longer than s.
    """
    return top, min(bottom, right - 1), max(left, top + 1), right
