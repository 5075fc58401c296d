"""Scale a mixing matrix until its rows have the sums they should have."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Floats, Integers
from psgraph._runtime.jit import kernel, lean_kernel

__all__ = ["rake"]


TOLERANCE, ROUNDS = 1e-3, 60


def rake(matrix: Floats, stubs: Floats, sizes: Integers) -> Floats:
    """Scale rows and columns of a symmetric matrix until its row sums are the stubs.

    No cell exceeds the number of node pairs it stands for; a cell without pairs is 0.

    >>> rake(np.ones((2, 2)), np.array([2.0, 4.0]), np.array([5, 5])).round(1)
    array([[0.7, 1.3],
           [1.3, 2.7]])
    """
    matrix = matrix.copy()
    _rake(matrix, stubs, sizes.astype(np.float64), float(stubs.sum()))
    return matrix


@kernel
def _rake(matrix: Floats, stubs: Floats, count: Floats, total: float) -> None:
    """`rake` in place; `total` is the sum of the stubs."""
    size = count.size
    rows, factor = np.zeros(size), np.zeros(size)
    _limit(matrix, count, 1e-9 * total / size**2, rows)
    for _ in range(ROUNDS):
        apart = 0.0
        for i in range(size):
            apart += abs(rows[i] - stubs[i])
        if apart <= TOLERANCE * total:
            break
        for i in range(size):
            factor[i] = np.sqrt(stubs[i] / rows[i]) if rows[i] > 0 else 0.0
        rows[:] = 0.0
        _scale(matrix, factor, count, rows)


@lean_kernel
def _limit(matrix: Floats, count: Floats, least: float, rows: Floats) -> None:
    """Raise cells to `least` and lower them to their node pairs; add up the rows."""
    for i in range(count.size):
        for j in range(count.size):
            pairs = count[i] * (count[j] - 1.0 if i == j else count[j])
            matrix[i, j] = min(max(matrix[i, j], least), pairs) if pairs > 0 else 0.0
            rows[j] += matrix[i, j]


@lean_kernel
def _scale(matrix: Floats, factor: Floats, count: Floats, rows: Floats) -> None:
    """Multiply cells by the factors of both ends, up to their node pairs; add up the rows.

    The matrix is symmetric, so sums over columns will do: the compiler can vectorise those.
    """
    for i in range(count.size):
        line, own, size = matrix[i], factor[i], count[i]
        diagonal = min(line[i] * (own * own), size * (size - 1.0))
        for j in range(count.size):
            line[j] = min(line[j] * (own * factor[j]), size * count[j])
        line[i] = diagonal
        for j in range(count.size):
            rows[j] += line[j]
