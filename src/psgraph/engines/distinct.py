"""Distinct uniform pairs between many pairs of blocks, in time proportional to the pairs drawn.

The pairs between two blocks are numbered row by row, and Floyd's algorithm chooses `count` of
the numbers: it takes one draw per pair, however few or many of them are wanted. One hash set for
all blocks holds what has been chosen, keyed by the two nodes.

Reference: Bentley and Floyd, "Programming Pearls: A Sample of Brilliance", CACM 1987.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.hash_set import add_key, key_set
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
    """Return keys ``u << bits | v`` with u < v of the pairs chosen, in no particular order.

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
    return _choose(members, begins, heads, tails, counts, total, bits, rng)


@kernel
def _choose(
    members: Positions,
    begins: Integers,
    heads: Positions,
    tails: Positions,
    counts: Integers,
    total: int,
    bits: int,
    rng: np.random.Generator,
) -> Integers:
    keys = np.empty(total, dtype=np.int64)
    taken = key_set(total)
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
                if add_key(taken, key):
                    break
                at = np.int64(last)
            keys[found] = key
            found += 1
    return keys
