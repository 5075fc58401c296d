"""Small dense linear algebra on one core.

The matrices have a hundred rows. A threaded BLAS gains nothing on them, loses a lot on a busy
machine, and gives other last bits with another number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel

__all__ = ["cholesky", "gram", "solve", "weighted_product"]

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-9


@kernel
def weighted_product(left: Floats, weights: Floats, right: Floats) -> Floats:
    """Return leftᵀ · diag(weights) · right."""
    out = np.zeros((left.shape[1], right.shape[1]))
    for row in range(left.shape[0]):
        for i in range(left.shape[1]):
            factor = weights[row] * left[row, i]
            if abs(factor) > NEGLIGIBLE * weights[row]:
                for j in range(right.shape[1]):
                    out[i, j] += factor * right[row, j]
    return out


@kernel
def gram(rows: Floats, weights: Floats) -> Floats:
    """Return rowsᵀ · diag(weights) · rows for non-negative rows, without their negligible ends."""
    size = rows.shape[1]
    out = np.zeros((size, size))
    for row in range(rows.shape[0]):
        first, last = 0, size
        while first < last and rows[row, first] <= NEGLIGIBLE:
            first += 1
        while first < last and rows[row, last - 1] <= NEGLIGIBLE:
            last -= 1
        for i in range(first, last):
            factor = weights[row] * rows[row, i]
            for j in range(first, i + 1):
                out[i, j] += factor * rows[row, j]
    for i in range(size):
        for j in range(i):
            out[j, i] = out[i, j]
    return out


@kernel
def cholesky(matrix: Floats) -> Floats:
    """Return the upper factor R of a positive definite matrix RᵀR.

    A pivot that rounding made non-positive is replaced by a tiny one.
    """
    factor = matrix.copy()
    size = factor.shape[0]
    for k in range(size):
        pivot = max(factor[k, k], 1e-12 * abs(matrix[k, k]) + 1e-300) ** 0.5
        for j in range(k + 1, size):
            factor[k, j] /= pivot
        factor[k, k] = pivot
        for j in range(k):
            factor[k, j] = 0.0
        for i in range(k + 1, size):
            scale = factor[k, i]
            for j in range(i, size):
                factor[i, j] -= scale * factor[k, j]
    return factor


@kernel
def solve(factor: Floats, right: Floats) -> Floats:
    """Solve RᵀR·X = right for a matrix of right-hand sides."""
    out = right.copy()
    size = factor.shape[0]
    for i in range(size):
        for j in range(out.shape[1]):
            out[i, j] /= factor[i, i]
        for k in range(i + 1, size):
            for j in range(out.shape[1]):
                out[k, j] -= factor[i, k] * out[i, j]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            for j in range(out.shape[1]):
                out[i, j] -= factor[i, k] * out[k, j]
        for j in range(out.shape[1]):
            out[i, j] /= factor[i, i]
    return out
