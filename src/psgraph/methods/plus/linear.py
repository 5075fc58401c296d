"""Small dense linear algebra on one core.

The matrices have a hundred rows. A threaded BLAS gains nothing on them, loses a lot on a busy
machine, and gives other last bits with another number of threads. The inner loops add four
multiples of a row at a time, so that a row of the result is read and written a quarter as often.
"""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph._runtime.jit import kernel

__all__ = ["cholesky", "gram", "solve"]

NEGLIGIBLE = 1e-9  # at the ends of a row of a product


@kernel
def gram(rows: Floats, weights: Floats) -> Floats:
    """Return rowsᵀ · diag(weights) · rows, without the negligible ends of the rows."""
    count, size = rows.shape
    out = np.zeros((size, size))
    for row in range(0, count, 4):
        first, last = size, 0
        for near in range(row, min(row + 4, count)):
            begin, end = 0, size
            while begin < end and abs(rows[near, begin]) <= NEGLIGIBLE:
                begin += 1
            while begin < end and abs(rows[near, end - 1]) <= NEGLIGIBLE:
                end -= 1
            first, last = min(first, begin), max(last, end)
        if row + 4 <= count:
            p, q, r, s = rows[row], rows[row + 1], rows[row + 2], rows[row + 3]
            for i in range(first, last):
                line = out[i]
                a, b = weights[row] * p[i], weights[row + 1] * q[i]
                c, d = weights[row + 2] * r[i], weights[row + 3] * s[i]
                for j in range(first, i + 1):
                    line[j] += a * p[j] + b * q[j] + c * r[j] + d * s[j]
        else:
            for near in range(row, count):
                for i in range(first, last):
                    a = weights[near] * rows[near, i]
                    for j in range(first, i + 1):
                        out[i, j] += a * rows[near, j]
    for i in range(size):
        for j in range(i):
            out[j, i] = out[i, j]
    return out


@kernel
def cholesky(matrix: Floats) -> Floats:
    """Return the upper factor R of a positive definite matrix RᵀR.

    A pivot that rounding made non-positive is replaced by a tiny one.
    """
    size = matrix.shape[0]
    factor = np.zeros((size, size))
    for i in range(size):
        line = factor[i]
        for j in range(i, size):
            line[j] = matrix[i, j]
        quads = i - i % 4
        for k in range(0, quads, 4):
            p, q, r, s = factor[k], factor[k + 1], factor[k + 2], factor[k + 3]
            a, b, c, d = p[i], q[i], r[i], s[i]
            for j in range(i, size):
                line[j] -= a * p[j] + b * q[j] + c * r[j] + d * s[j]
        for k in range(quads, i):
            a = factor[k, i]
            for j in range(i, size):
                line[j] -= a * factor[k, j]
        pivot = max(line[i], 1e-12 * abs(matrix[i, i]) + 1e-300) ** 0.5
        line[i] = pivot
        for j in range(i + 1, size):
            line[j] /= pivot
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
