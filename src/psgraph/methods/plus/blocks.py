"""Round a mixing matrix to an integer number of edges for every pair of labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph._runtime.jit import kernel
from psgraph._runtime.sorting import sorting_order

__all__ = ["integer_blocks"]


ORDER_BITS = 22  # of the random number by which the cells of a row are ordered


def integer_blocks(
    matrix: Floats, identities: NDArray[np.uint64], seed: int, *, classes: int
) -> tuple[Labels, Labels, Integers]:
    """Round a mixing matrix at random to edges per pair of labels.

    Parameters
    ----------
    matrix
        Edges between labels: symmetric, and the diagonal counts every edge twice.
    identities
        A number for each label that stays with it: the class, or a number of the hub. With the
        same seed a pair of them is always rounded in the same way, whatever labels it has, so
        that blocks are stable from one timestamp to the next.
    classes
        How many labels, the first ones, stand for more than one node.

    Returns
    -------
    Labels a ≤ b and quotas, in the order in which they are to be filled: first the rows of
    single-node labels (beyond the classes) from the first on, each in random order, then the
    classes from the highest down.
    """
    bits = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    a, b, quotas, keys = _rounded(matrix, identities, bits, classes)
    order = sorting_order(keys)
    return a[order], b[order], quotas[order]


@kernel
def _pair_bits(one: np.uint64, other: np.uint64, seed: np.uint64) -> np.uint64:
    """53 bits for an unordered pair of numbers, by hashing it (SplitMix64)."""
    low, high = min(one, other), max(one, other)
    mixed = low * np.uint64(0x9E3779B97F4A7C15) + high * np.uint64(0xC2B2AE3D27D4EB4F) + seed
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed >> np.uint64(11)


@kernel
def _rounded(
    matrix: Floats, identities: NDArray[np.uint64], seed: np.uint64, classes: int
) -> tuple[Labels, Labels, Integers, Integers]:
    """The pairs of labels with a quota, the quotas, and keys that sort them for filling."""
    size = identities.size
    all_quotas = np.zeros((size, size), dtype=np.int32)
    found = 0
    for a in range(size):
        for b in range(a, size):
            uniform = np.float64(_pair_bits(identities[a], identities[b], seed)) * 2.0**-53
            edges = matrix[a, b] / 2 if a == b else matrix[a, b]
            all_quotas[a, b] = int(np.floor(edges + uniform))
            found += all_quotas[a, b] > 0
    heads, tails = np.empty(found, dtype=np.int32), np.empty(found, dtype=np.int32)
    quotas, keys = np.empty(found, dtype=np.int64), np.empty(found, dtype=np.int64)
    at = 0
    for a in range(size):
        for b in range(a, size):
            if all_quotas[a, b] > 0:
                heads[at], tails[at], quotas[at] = a, b, all_quotas[a, b]
                # The row of a cell is its hub; of two hubs the larger, which has the smaller label.
                row, within = size + classes - b, np.int64(classes - a)
                if b >= classes:
                    row = a if a >= classes else b
                    drawn = _pair_bits(identities[a], identities[b], ~seed)
                    within = np.int64(drawn >> np.uint64(53 - ORDER_BITS))
                keys[at] = (row << ORDER_BITS) | within
                at += 1
    return heads, tails, quotas, keys
