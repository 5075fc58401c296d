"""Radix sort for edge keys, several times quicker than a comparison sort on millions of them.

NumPy sorts 64-bit integers by comparison; edge keys are dense small integers, for which a few
passes over the array in digits of eleven bits do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph.jit import kernel

__all__ = ["sort_keys"]

_SMALL = 1 << 14


def sort_keys(keys: NDArray[np.int64], *, largest: int) -> NDArray[np.int64]:
    """Sort non-negative keys up to `largest`. May reorder `keys`; use what it returns.

    >>> sort_keys(np.array([5, 1, 3, 1]), largest=5)
    array([1, 1, 3, 5])
    """
    if keys.size < _SMALL:
        keys.sort()
        return keys
    spare = np.empty_like(keys)
    passes = -(-max(largest, 1).bit_length() // 11)
    for digit in range(passes):
        _radix_pass(keys, spare, 11 * digit)
        keys, spare = spare, keys
    return keys


@kernel
def _radix_pass(keys: NDArray[np.int64], out: NDArray[np.int64], shift: int) -> None:
    """Stable counting sort by the eleven bits above `shift`."""
    heads = np.zeros(2049, dtype=np.int64)
    for key in keys:
        heads[((key >> shift) & 2047) + 1] += 1
    for digit in range(2048):
        heads[digit + 1] += heads[digit]
    for key in keys:
        digit = (key >> shift) & 2047
        out[heads[digit]] = key
        heads[digit] += 1
