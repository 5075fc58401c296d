"""A set of non-negative integers for compiled code: open addressing in one array.

The array is at most half full and has a power of two of slots, so a look-up takes few steps on
average. Nothing that is drawn depends on where a key is stored, only on whether it is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.jit import kernel, lean_kernel

__all__ = ["KeySet", "add_key", "first_slot", "has_key", "key_set", "remove_key"]

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
