"""Sorted lists of edge keys ``u << 32 | v``: their union, what they share, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.jit import kernel

__all__ = ["free_keys", "repeated", "union"]


def union(lists: Sequence[Integers]) -> Integers:
    """Return the distinct keys of sorted lists, sorted.

    >>> union([np.array([1, 4]), np.array([2, 4])]).tolist()
    [1, 2, 4]
    """
    keys = lists[0]
    for more in lists[1:]:
        if more.size:
            keys = _merged(keys, more)
    return keys


@kernel
def _merged(one: Integers, other: Integers) -> Integers:
    """The distinct keys of two sorted lists."""
    keys = np.empty(one.size + other.size, dtype=np.int64)
    here = there = found = 0
    while here < one.size or there < other.size:
        if there == other.size or (here < one.size and one[here] <= other[there]):
            key = one[here]
            here += 1
        else:
            key = other[there]
            there += 1
        if found == 0 or keys[found - 1] != key:
            keys[found] = key
            found += 1
    return keys[:found]


@kernel
def repeated(before: Integers, new: Integers) -> tuple[int, Integers]:
    """Return the size of the union of two sorted lists, and which new keys are repeats.

    The first list has no repeats.

    >>> size, repeats = repeated(np.array([1, 4]), np.array([2, 2, 4]))
    >>> size, repeats.tolist()
    (3, [2, 4])
    """
    repeats = np.empty(new.size, dtype=np.int64)
    here = found = 0
    for at in range(new.size):
        while here < before.size and before[here] < new[at]:
            here += 1
        known = here < before.size and before[here] == new[at]
        if known or (at > 0 and new[at - 1] == new[at]):
            repeats[found] = new[at]
            found += 1
    return before.size + new.size - found, repeats[:found].copy()


@kernel
def free_keys(keys: Integers, first: int, last: int, nodes: int, ranks: Integers) -> Integers:
    """Return the keys of free pairs: those that have no edge, by number, in ascending order.

    Numbered are the free pairs whose smaller end is in the range from `first` to `last`.

    >>> [key & 3 for key in free_keys(np.array([2]), 0, 1, 4, np.array([0, 1])).tolist()]
    [1, 3]
    """
    found = np.empty(ranks.size, dtype=np.int64)
    here = done = 0
    passed = np.int64(0)  # free pairs before this row
    for u in range(first, last):
        begin = here
        while here < keys.size and keys[here] >> 32 == u:
            here += 1
        free = nodes - 1 - u - (here - begin)
        edge, v = begin, np.int64(u + 1)
        before = passed  # free pairs before v
        while done < ranks.size and ranks[done] < passed + free:
            # Jump from edge to edge to the pair with this number.
            while True:
                upto = keys[edge] & 0xFFFFFFFF if edge < here else np.int64(nodes)
                if ranks[done] < before + (upto - v):
                    break
                before += upto - v
                v = upto + 1
                edge += 1
            found[done] = (np.int64(u) << 32) | (v + ranks[done] - before)
            done += 1
        passed += free
    return found
