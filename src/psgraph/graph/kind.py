"""Kinds of graphs: which pairs of nodes can be edges, and how a pair is written down.

========== ======= ======================= ================ ==================================
kind       rosters pairs that can be edges how many         sides of an edge
========== ======= ======================= ================ ==================================
undirected 1       {u, v}, u ≠ v           n(n−1)/2         one: two ends of the same kind
directed   1       (u, v), u ≠ v           n(n−1)           two: from u, to v
two-sided  2       (u, v)                  left · right     two: u on the left, v on the right
========== ======= ======================= ================ ==================================

Version 0.3 publishes `UNDIRECTED` graphs alone; the other two rows say what the interface has room
for. No other module puts the ends of an edge into their normal order, packs them into a key,
numbers pairs or counts them. Kernels use the functions at the end of this file, which become part
of their callers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import lean_kernel
from psgraph.errors import UnknownKind

__all__ = [
    "KINDS",
    "UNDIRECTED",
    "Dropped",
    "Kind",
    "find_kind",
    "first_end",
    "first_key",
    "pack",
    "pack_pair",
    "pack_unordered",
    "second_end",
    "triangle",
    "triangle_row",
    "triangular_cell",
    "unpack",
]

Count = TypeVar("Count", int, Integers)
Whole = int | np.integer[Any]

_BITS = 32  # of a key, for the second end; positions have 31
_SECOND = (1 << _BITS) - 1


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


@dataclass(frozen=True)
class Kind:
    """The space of pairs that can be edges. Public, and one for all snapshots of a stream.

    Where a method takes the numbers of nodes or blocks, `others` is the number on the second side
    of a kind with two rosters; leave it out for one roster.

    Parameters
    ----------
    name
        As written in files and certificates.
    sides
        1 if both ends of an edge are alike, 2 if the first end differs from the second.
    rosters
        1 if both ends come from the same nodes. Then a node forms no pair with itself.

    Examples
    --------
    >>> UNDIRECTED.pairs(4), UNDIRECTED.largest_degree(4)
    (6, 3)
    >>> Kind("directed", sides=2).pairs(4), Kind("two-sided", sides=2, rosters=2).pairs(4, 3)
    (12, 12)
    """

    name: str
    sides: Literal[1, 2] = 1
    rosters: Literal[1, 2] = 1

    # ---- how many pairs ----

    def pairs(self, nodes: Count, others: Count | None = None) -> Count:
        """Return how many pairs of nodes can be edges.

        >>> UNDIRECTED.pairs(np.array([2, 3, 4]))
        array([1, 3, 6])
        """
        return self.cell_count(nodes, others, inside=self.rosters == 2)

    def largest_degree(self, nodes: int, others: int | None = None, *, side: int = 0) -> int:
        """Return the largest number of edges that a node of a side can have."""
        if self.rosters == 1:
            return max(nodes - 1, 0)
        assert others is not None
        return others if side == 0 else nodes

    def pairs_of_rows(self, first: int, last: int, nodes: int, others: int | None = None) -> int:
        """Return how many pairs have their first end in a range of nodes, without `last`.

        >>> [UNDIRECTED.pairs_of_rows(row, row + 1, 4) for row in range(4)]
        [3, 2, 1, 0]
        """
        if self.sides == 1:
            return (last - first) * (2 * nodes - first - last - 1) // 2
        return (last - first) * self.largest_degree(nodes, others)

    # ---- the normal form ----

    def ordered(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return the ends of each pair in their normal order: the smaller one first, if alike."""
        return (np.minimum(a, b), np.maximum(a, b)) if self.sides == 1 else (a, b)

    def keys(self, a: Any, b: Any) -> Integers:
        """Return a key for each pair; alike for both orders of its ends if these are alike.

        >>> unpack(UNDIRECTED.keys([3, 1], [2, 2]))
        (array([2, 1], dtype=int32), array([3, 2], dtype=int32))
        """
        return pack(*self.ordered(a, b))

    def normalise(self, a: Positions, b: Positions) -> tuple[Positions, Positions, Dropped]:
        """Return the edges without self-loops and repeats in ascending order; and what went.

        *Complexity*: O(m) for edges in normal form already, otherwise a sort.

        >>> u, v, dropped = UNDIRECTED.normalise(np.array([2, 0, 1]), np.array([1, 0, 2]))
        >>> u.tolist(), v.tolist(), dropped
        ([1], [2], Dropped(self_loops=1, duplicates=1))
        """
        if self._in_order(a, b) and _ascending(a, b):
            return np.array(a, dtype=np.int32), np.array(b, dtype=np.int32), Dropped()
        loops = 0
        if self.rosters == 1:
            apart = a != b
            loops = int(a.size - np.count_nonzero(apart))
            if loops:
                a, b = a[apart], b[apart]
        key = self.keys(a, b)
        key.sort()
        distinct = np.ones(key.size, dtype=bool)
        np.not_equal(key[1:], key[:-1], out=distinct[1:])
        repeats = int(key.size - np.count_nonzero(distinct))
        return *unpack(key[distinct] if repeats else key), Dropped(loops, repeats)

    def _in_order(self, a: Positions, b: Positions) -> bool:
        """Whether the ends of every pair are in order, and no pair is a self-loop."""
        if self.sides == 1:
            return bool((a < b).all())
        return self.rosters == 2 or bool((a != b).all())

    # ---- numbering: pairs of nodes, and pairs of blocks of nodes ----

    def cell_count(self, blocks: Count, others: Count | None = None, *, inside: bool) -> Count:
        """Return how many pairs of blocks there are, with or without a block and itself.

        >>> UNDIRECTED.cell_count(4, inside=True), UNDIRECTED.cell_count(4, inside=False)
        (10, 6)
        """
        if self.sides == 1:
            return blocks * (blocks + 1) // 2 if inside else blocks * (blocks - 1) // 2
        columns = blocks if others is None else others
        return blocks * columns if inside else blocks * (columns - 1)

    def cell_of(
        self, a: Integers, b: Integers, blocks: int, others: int | None = None, *, inside: bool
    ) -> Integers:
        """Return the number of each pair in normal order: row by row, ascending.

        >>> UNDIRECTED.cell_of(np.array([0, 0, 1]), np.array([1, 2, 2]), 3, inside=False)
        array([0, 1, 2])
        """
        columns = blocks if others is None else others
        if self.sides == 1:
            if not inside:
                b, columns = b - 1, columns - 1
            return a * columns - a * (a - 1) // 2 + (b - a)
        return a * columns + b if inside else a * (columns - 1) + b - (b > a)

    def pair_of(
        self, cells: Integers, blocks: int, others: int | None = None, *, inside: bool
    ) -> tuple[Integers, Integers]:
        """Return the pairs with these numbers; the inverse of `cell_of`.

        >>> UNDIRECTED.pair_of(np.array([0, 1, 2]), 3, inside=False)
        (array([0, 0, 1]), array([1, 2, 2]))
        """
        columns = blocks if others is None else others
        size = columns if inside else columns - 1
        if self.sides == 2:
            a, b = np.divmod(cells, max(size, 1))
            return a, b if inside else b + (b >= a)
        # Counted from the end, the last `row` rows have row(row+1)/2 pairs.
        left = size * (size + 1) // 2 - 1 - cells
        row = np.floor((np.sqrt(1.0 + 8.0 * left) - 1.0) / 2.0).astype(np.int64)
        row -= row * (row + 1) // 2 > left  # the square root may be off in the last digit
        row += (row + 1) * (row + 2) // 2 <= left
        a = size - 1 - row
        b = a + row - (left - row * (row + 1) // 2)
        return a, b if inside else b + 1


UNDIRECTED = Kind("undirected")

KINDS = {UNDIRECTED.name: UNDIRECTED}
"""The kinds that this version reads and publishes."""


def find_kind(name: str) -> Kind:
    """Return the kind of a name that was read from a file.

    Raises
    ------
    UnknownKind
        This version doesn't know it.
    """
    try:
        return KINDS[name]
    except KeyError:
        raise UnknownKind(
            f"this graph is {name}; this version of psgraph reads graphs that are "
            f"{' or '.join(KINDS)}\nUse a newer version of psgraph."
        ) from None


def _ascending(a: Positions, b: Positions) -> bool:
    """Whether the pairs are in strictly ascending order."""
    if (a[1:] < a[:-1]).any():
        return False
    return bool(((a[1:] != a[:-1]) | (b[1:] > b[:-1])).all())


# ---- keys: two positions in 64 bits, in the order of (first end, second end) ----


def pack(u: Any, v: Any) -> Integers:
    """Return the keys of pairs whose ends are in order already.

    >>> (pack([2, 3], [7, 0]) < first_key(3)).tolist()
    [True, False]
    """
    keys: Integers = np.asarray(u, dtype=np.int64) << _BITS | v
    return keys


def unpack(keys: Integers) -> tuple[Positions, Positions]:
    """Return the ends of the pairs that have these keys.

    >>> [ends.tolist() for ends in unpack(pack([1, 2], [5, 7]))]
    [[1, 2], [5, 7]]
    """
    return (keys >> _BITS).astype(np.int32), (keys & _SECOND).astype(np.int32)


def first_key(node: int) -> int:
    """Return the smallest key with this first end; keys of smaller first ends are below it."""
    return node << _BITS


# ---- for kernels, on single pairs ----


@lean_kernel
def pack_pair(u: Whole, v: Whole) -> int:
    """Key of a pair whose ends are in order."""
    return (np.int64(u) << 32) | np.int64(v)  # type: ignore[return-value]


@lean_kernel
def pack_unordered(x: Whole, y: Whole) -> int:
    """Key of an undirected pair."""
    return pack_pair(x, y) if x < y else pack_pair(y, x)


@lean_kernel
def first_end(key: Whole) -> int:
    """First end of the pair with this key."""
    return key >> 32  # type: ignore[return-value]


@lean_kernel
def second_end(key: Whole) -> int:
    """Second end of the pair with this key."""
    return key & 0xFFFFFFFF  # type: ignore[return-value]


@lean_kernel
def triangle(rows: Whole) -> int:
    """Undirected pairs of `rows` nodes; also the number of the first pair of that row.

    Here row r holds the pairs (r, 0), …, (r, r − 1).
    """
    return rows * (rows - 1) // 2


@lean_kernel
def triangle_row(number: Whole) -> int:
    """Row of the undirected pair with this number; the inverse of `triangle`."""
    row = np.int64((1.0 + np.sqrt(1.0 + 8.0 * number)) / 2.0)
    while triangle(row) > number:  # the square root may be off in the last digit
        row -= 1
    while triangle(row + 1) <= number:
        row += 1
    return row  # type: ignore[return-value]


@lean_kernel
def triangular_cell(a: Whole, b: Whole, blocks: int, inside: bool) -> int:
    """`Kind.cell_of` of an undirected pair of blocks in any order; −1 for one left out."""
    if a > b:
        a, b = b, a
    if not inside:
        if a == b:
            return -1
        b -= 1
        blocks -= 1
    return a * blocks - a * (a - 1) // 2 + (b - a)
