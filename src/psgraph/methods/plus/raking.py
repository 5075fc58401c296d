"""Scale a mixing matrix until its rows have the sums they should have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel

__all__ = ["rake"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TOLERANCE, ROUNDS = 1e-3, 60


def rake(matrix: Floats, stubs: Floats, sizes: Integers) -> Floats:
    """Scale rows and columns of a symmetric matrix until its row sums are the stubs.

    No cell exceeds the number of node pairs it stands for; a cell without pairs is 0.

    >>> rake(np.ones((2, 2)), np.array([2.0, 4.0]), np.array([5, 5])).round(1)
    array([[0.7, 1.3],
           [1.3, 2.7]])
    """
    matrix, count = matrix.copy(), sizes.astype(np.float64)
    total = float(stubs.sum())
    rows = _limit(matrix, count, 1e-9 * total / stubs.size**2)
    for _ in range(ROUNDS):
        if float(np.abs(rows - stubs).sum()) <= TOLERANCE * total:
            break
        factor = np.sqrt(np.divide(stubs, rows, out=np.zeros_like(rows), where=rows > 0))
        rows = _scale(matrix, factor, count)
    return matrix


@kernel
def _limit(matrix: Floats, count: Floats, least: float) -> Floats:
    """Raise cells to `least` and lower them to their node pairs; the row sums."""
    rows = np.zeros(count.size)
    for i in range(count.size):
        for j in range(count.size):
            pairs = count[i] * (count[j] - 1.0 if i == j else count[j])
            matrix[i, j] = min(max(matrix[i, j], least), pairs) if pairs > 0 else 0.0
            rows[j] += matrix[i, j]
    return rows


@kernel
def _scale(matrix: Floats, factor: Floats, count: Floats) -> Floats:
    """Multiply cells by the factors of both ends, up to their node pairs; the row sums.

    The matrix is symmetric, so sums over columns will do: the compiler can vectorise those.
    """
    rows = np.zeros(count.size)
    for i in range(count.size):
        line, own, size = matrix[i], factor[i], count[i]
        diagonal = min(line[i] * (own * own), size * (size - 1.0))
        for j in range(count.size):
            line[j] = min(line[j] * (own * factor[j]), size * count[j])
        line[i] = diagonal
        for j in range(count.size):
            rows[j] += line[j]
    return rows
