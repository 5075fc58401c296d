"""Compiled building blocks: sorting keys, sets of keys, neighbour lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel, lean_kernel

__all__ = [
    "KeySet",
    "add_key",
    "adjacency",
    "bucket_keys",
    "distinct",
    "first_slot",
    "group_nodes",
    "has_key",
    "key_set",
    "remove_key",
    "rows_of_range",
    "sort_keys",
    "sorting_order",
]

# ---- sorting ----
#
# NumPy sorts 64-bit integers by comparison. Edge keys are dense small integers: a few passes over
# the array, eleven bits at a time, are several times quicker on millions of them.

_FEW = 1 << 11  # below this a comparison sort is as quick


def sort_keys(keys: Integers, *, largest: int) -> Integers:
    """Sort non-negative keys up to `largest`. May reorder `keys`; use what it returns.

    >>> sort_keys(np.array([5, 1, 3, 1]), largest=5)
    array([1, 1, 3, 5])
    """
    if keys.size < _FEW:
        keys.sort()
        return keys
    spare = np.empty_like(keys)
    passes = -(-max(largest, 1).bit_length() // 11)
    for digit in range(passes):
        _radix_pass(keys, spare, 11 * digit)
        keys, spare = spare, keys
    return keys


def sorting_order(keys: Integers) -> Integers:
    """Return the indices that sort non-negative keys; equal keys stay in order.

    >>> sorting_order(np.array([5, 1, 3, 1]))
    array([1, 3, 2, 0])
    """
    if keys.size < _FEW:
        return np.argsort(keys, kind="stable")
    pair, spare = (keys.copy(), np.arange(keys.size)), (np.empty_like(keys), np.empty_like(keys))
    for shift in range(0, int(keys.max()).bit_length(), 11):
        _radix_pass_with_order(*pair, *spare, shift)
        pair, spare = spare, pair
    return pair[1]


def distinct(values: Integers) -> tuple[Integers, Integers]:
    """Return the distinct values in ascending order, and the index there of each value.

    >>> distinct(np.array([7, -1, 7]))
    (array([-1,  7]), array([1, 0, 1]))
    """
    if not values.size:
        return values, values
    low, high = int(values.min()), int(values.max())
    if high - low > 8 * values.size:
        found, index = np.unique(values, return_inverse=True)
        return found, index
    shifted = values - low
    there = np.bincount(shifted) > 0
    return np.flatnonzero(there) + low, (np.cumsum(there) - 1)[shifted]


def group_nodes(groups: Integers, nodes: Integers) -> tuple[Integers, Integers]:
    """Sort nodes by their group (then by number); the sorted groups and the sorted nodes.

    >>> group_nodes(np.array([2, 0, 2]), np.array([5, 6, 7]))
    (array([0, 2, 2]), array([6, 5, 7]))
    """
    bits = int(nodes.max(initial=1)).bit_length()
    keys = groups << bits | nodes
    keys = sort_keys(keys, largest=int(keys.max(initial=0)))
    return keys >> bits, keys & ((1 << bits) - 1)


@kernel
def bucket_keys(keys: Integers, width: int, buckets: int) -> tuple[Integers, Integers]:
    """Group keys by ``key // width``, which is below `buckets`; where each group starts.

    >>> keys, begins = bucket_keys(np.array([9, 2, 8, 1]), 4, 3)
    >>> keys.tolist(), begins.tolist()
    ([2, 1, 9, 8], [0, 2, 2, 4])
    """
    begins = np.zeros(buckets + 1, dtype=np.int64)
    for key in keys:
        begins[key // width + 1] += 1
    for bucket in range(buckets):
        begins[bucket + 1] += begins[bucket]
    heads = begins[:-1].copy()
    grouped = np.empty_like(keys)
    for key in keys:
        bucket = key // width
        grouped[heads[bucket]] = key
        heads[bucket] += 1
    return grouped, begins


@kernel
def _radix_pass(keys: Integers, out: Integers, shift: int) -> None:
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


@kernel
def _radix_pass_with_order(
    keys: Integers,
    order: Integers,
    out_keys: Integers,
    out_order: Integers,
    shift: int,
) -> None:
    """`_radix_pass` that moves the indices along with the keys."""
    heads = np.zeros(2049, dtype=np.int64)
    for key in keys:
        heads[((key >> shift) & 2047) + 1] += 1
    for digit in range(2048):
        heads[digit + 1] += heads[digit]
    for index in range(keys.size):
        at = heads[(keys[index] >> shift) & 2047]
        out_keys[at], out_order[at] = keys[index], order[index]
        heads[(keys[index] >> shift) & 2047] += 1


# ---- sets of non-negative integers ----
#
# Open addressing in one array that is at most half full and has a power of two of slots, so a
# look-up takes few steps on average. Nothing that is drawn depends on where a key is stored, only
# on whether it is there.

KeySet = Integers
Key = int | np.integer[Any]

EMPTY = -1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio
_SHIFT = np.uint64(24)


@kernel
def key_set(capacity: int) -> KeySet:
    """An empty set with room for `capacity` keys.

    >>> keys = key_set(3)
    >>> add_key(keys, 7), add_key(keys, 7), has_key(keys, 7), has_key(keys, 8)
    (True, False, True, False)
    """
    slots = 16
    while slots < 2 * capacity:
        slots *= 2
    return np.full(slots, EMPTY, dtype=np.int64)


@lean_kernel
def first_slot(keys: KeySet, key: Key) -> int:
    """The slot where the search for a key starts."""
    return np.int64((np.uint64(key) * _MULTIPLIER) >> _SHIFT) & (keys.size - 1)  # type: ignore[return-value]


@lean_kernel
def _slot(keys: KeySet, key: Key) -> int:
    """The slot that holds a key, or the one where it would go."""
    mask = keys.size - 1
    slot = first_slot(keys, key)
    while keys[slot] != EMPTY and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@lean_kernel
def has_key(keys: KeySet, key: Key) -> bool:
    """Whether the set holds a key."""
    return keys[_slot(keys, key)] == key


@lean_kernel
def add_key(keys: KeySet, key: Key) -> bool:
    """Add a key; False if the set held it already."""
    slot = _slot(keys, key)
    if keys[slot] == key:
        return False
    keys[slot] = key
    return True


@lean_kernel
def remove_key(keys: KeySet, key: Key) -> bool:
    """Remove a key; False if the set did not hold it.

    Later keys of the same run move up, so that no marker is left behind.

    >>> keys = key_set(3)
    >>> add_key(keys, 7), remove_key(keys, 7), has_key(keys, 7), remove_key(keys, 7)
    (True, True, False, False)
    """
    mask = keys.size - 1
    hole = _slot(keys, key)
    if keys[hole] != key:
        return False
    slot = (hole + 1) & mask
    while keys[slot] != EMPTY:
        home = first_slot(keys, keys[slot])
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            keys[hole] = keys[slot]
            hole = slot
        slot = (slot + 1) & mask
    keys[hole] = EMPTY
    return True


# ---- neighbour lists ----


@kernel
def adjacency(u: Positions, v: Positions, nodes: int) -> tuple[Integers, Positions]:
    """Neighbour lists of an undirected graph, each in ascending order."""
    starts = np.zeros(nodes + 1, dtype=np.int64)
    for edge in range(u.size):
        starts[u[edge] + 1] += 1
        starts[v[edge] + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    heads = starts[:-1].copy()
    neighbours = np.empty(2 * u.size, dtype=np.int32)
    for edge in range(u.size):
        x, y = u[edge], v[edge]
        neighbours[heads[x]] = y
        heads[x] += 1
        neighbours[heads[y]] = x
        heads[y] += 1
    return starts, neighbours


@kernel
def rows_of_range(
    first: int, last: int, u: Positions, v: Positions, upper: Positions, lower: Positions
) -> tuple[Integers, Positions]:
    """Neighbour lists of the nodes from `first` up to, not including, `last`.

    Parameters
    ----------
    u, v
        The edges whose smaller end u is in the range, in ascending order.
    upper, lower
        The edges whose larger end `upper` is in the range, in ascending order of (upper, lower).
    """
    starts = np.zeros(last - first + 1, dtype=np.int64)
    for node in u:
        starts[node - first + 1] += 1
    for node in upper:
        starts[node - first + 1] += 1
    for row in range(last - first):
        starts[row + 1] += starts[row]
    heads = starts[:-1].copy()
    neighbours = np.empty(u.size + upper.size, dtype=np.int32)
    for edge in range(upper.size):  # smaller neighbours come first
        row = upper[edge] - first
        neighbours[heads[row]] = lower[edge]
        heads[row] += 1
    for edge in range(u.size):
        row = u[edge] - first
        neighbours[heads[row]] = v[edge]
        heads[row] += 1
    return starts, neighbours
