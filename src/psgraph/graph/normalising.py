"""Edges in their normal form: undirected, no self-loops, no repeats, sorted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Positions

__all__ = ["Dropped", "normalise"]


@dataclass(frozen=True)
class Dropped:
    """Rows that normalising removed. Curator only: the counts are exact."""

    self_loops: int = 0
    duplicates: int = 0

    @property
    def total(self) -> int:
        return self.self_loops + self.duplicates

    def __add__(self, other: Dropped) -> Dropped:
        return Dropped(self.self_loops + other.self_loops, self.duplicates + other.duplicates)


def normalise(a: Positions, b: Positions) -> tuple[Positions, Positions, Dropped]:
    """Return the edges as sorted arrays u < v, and what was removed.

    *Complexity*: O(m) for edges in normal form already, otherwise a sort.

    >>> u, v, dropped = normalise(np.array([2, 0, 1]), np.array([1, 0, 2]))
    >>> u.tolist(), v.tolist(), dropped
    ([1], [2], Dropped(self_loops=1, duplicates=1))
    """
    if (a < b).all() and _ascending(a, b):
        return np.array(a, dtype=np.int32), np.array(b, dtype=np.int32), Dropped()
    apart = a != b
    loops = int(a.size - np.count_nonzero(apart))
    if loops:
        a, b = a[apart], b[apart]
    key = (np.minimum(a, b).astype(np.int64) << 32) | np.maximum(a, b)
    key.sort()
    distinct = np.ones(key.size, dtype=bool)
    np.not_equal(key[1:], key[:-1], out=distinct[1:])
    repeats = int(key.size - np.count_nonzero(distinct))
    if repeats:
        key = key[distinct]
    u = (key >> 32).astype(np.int32)
    v = (key & 0xFFFFFFFF).astype(np.int32)
    return u, v, Dropped(loops, repeats)


def _ascending(a: Positions, b: Positions) -> bool:
    """Whether the pairs are in strictly ascending order."""
    if (a[1:] < a[:-1]).any():
        return False
    return bool(((a[1:] != a[:-1]) | (b[1:] > b[:-1])).all())
