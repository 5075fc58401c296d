"""Radix sort for edge keys, several times quicker than a comparison sort on millions of them.

NumPy sorts 64-bit integers by comparison; edge keys are dense small integers, for which a few
passes over the array in digits of eleven bits do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel

__all__ = ["group_nodes", "sort_keys"]

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


def group_nodes(
    groups: NDArray[np.int64], nodes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort nodes by their group (then by number); the sorted groups and the sorted nodes.

    >>> group_nodes(np.array([2, 0, 2]), np.array([5, 6, 7]))
    (array([0, 2, 2]), array([6, 5, 7]))
    """
    bits = int(nodes.max(initial=1)).bit_length()
    keys = groups << bits | nodes
    keys = sort_keys(keys, largest=int(keys.max(initial=0)))
    return keys >> bits, keys & ((1 << bits) - 1)


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
