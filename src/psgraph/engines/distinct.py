"""Distinct uniform pairs between many pairs of blocks, in time proportional to the pairs drawn.

The pairs between two blocks are numbered row by row, and Floyd's algorithm chooses `count` of
the numbers: it takes one draw per pair, however few or many of them are wanted. What has been
chosen is remembered in one hash set for all blocks, keyed by the two nodes.

Reference: Bentley and Floyd, "Programming Pearls: A Sample of Brilliance", CACM 1987.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel

__all__ = ["distinct_pair_keys"]

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]


def distinct_pair_keys(
    labels: Positions,
    heads: Positions,
    tails: Positions,
    counts: Integers,
    *,
    bits: int,
    rng: np.random.Generator,
) -> Integers:
    """Keys ``u << bits | v`` with u < v of the pairs chosen, in no particular order.

    Parameters
    ----------
    labels
        The block of every node.
    heads, tails, counts
        Pairs of different blocks, each listed once, and how many pairs of nodes to choose
        between them; at most as many as there are.

    Examples
    --------
    >>> labels = np.array([0, 0, 1], dtype=np.int32)
    >>> one, other = labels[:1], labels[2:]
    >>> rng = np.random.default_rng(1)
    >>> sorted(distinct_pair_keys(labels, one, other, np.array([2]), bits=4, rng=rng).tolist())
    [2, 18]
    """
    members = np.argsort(labels, kind="stable").astype(np.int32)
    blocks = int(labels.max()) + 1 if labels.size else 0
    begins = np.searchsorted(labels[members], np.arange(blocks + 1))
    total = int(counts.sum())
    slots = 1 << max(4, (2 * total - 1).bit_length())
    taken = np.full(slots, -1, dtype=np.int64)
    return _choose(members, begins, heads, tails, counts, total, taken, bits, rng)


@kernel
def _choose(
    members: Positions,
    begins: Integers,
    heads: Positions,
    tails: Positions,
    counts: Integers,
    total: int,
    taken: Integers,
    bits: int,
    rng: np.random.Generator,
) -> Integers:
    keys = np.empty(total, dtype=np.int64)
    mask = taken.size - 1
    found = 0
    for block in range(counts.size):
        a, b = heads[block], tails[block]
        columns = begins[b + 1] - begins[b]
        pairs = (begins[a + 1] - begins[a]) * columns
        for last in range(pairs - counts[block], pairs):
            # Floyd: any number up to `last`; if it is taken already, `last`, which can't be.
            at = np.int64(rng.random() * (last + 1))
            for _ in range(2):
                x = np.int64(members[begins[a] + at // columns])
                y = np.int64(members[begins[b] + at % columns])
                key = (x << bits) | y if x < y else (y << bits) | x
                slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(24))
                slot &= mask
                while taken[slot] != -1 and taken[slot] != key:
                    slot = (slot + 1) & mask
                if taken[slot] == -1:
                    break
                at = np.int64(last)
            taken[slot] = key
            keys[found] = key
            found += 1
    return keys
