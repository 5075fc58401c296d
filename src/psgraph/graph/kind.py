"""Kinds of graphs: which pairs of nodes can be edges, and how pairs are represented.

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
    "KEY_BITS",
    "KINDS",
    "UNDIRECTED",
    "Dropped",
    "Edges",
    "Kind",
    "find_kind",
    "first_end",
    "first_key",
    "key_bits",
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

KEY_BITS = 32
"""Bits of a key for its second end; positions have 31. See `key_bits` for narrower keys."""


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
class Edges:
    """Undirected edges in memory: positions ``u < v`` in ascending order of (u, v)."""

    u: Positions
    v: Positions


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

        >>> tuple(UNDIRECTED.pairs_of_rows(row, row + 1, 4) for row in range(4))
        (3, 2, 1, 0)
        """
        if self.sides == 1:
            return (last - first) * (2 * nodes - first - last - 1) // 2
        return (last - first) * self.largest_degree(nodes, others)

    def all_pairs(self, nodes: int, others: int | None = None) -> tuple[Integers, Integers]:
        """Return the ends of all pairs that can be edges, in ascending order. For small graphs.

        >>> tuple(ends.tolist() for ends in UNDIRECTED.all_pairs(3))
        ([0, 0, 1], [1, 2, 2])
        """
        numbers = np.arange(self.pairs(nodes, others))
        return self.pair_of(numbers, nodes, others, inside=self.rosters == 2)

    # ---- the normal form ----

    def ordered(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return the ends of each pair in their normal order: the smaller one first, if alike."""
        return (np.minimum(a, b), np.maximum(a, b)) if self.sides == 1 else (a, b)

    def keys(self, a: Any, b: Any, bits: int = KEY_BITS) -> Integers:
        """Return a key for each pair; alike for both orders of its ends if these are alike.

        >>> unpack(UNDIRECTED.keys([3, 1], [2, 2]))
        (array([2, 1], dtype=int32), array([3, 2], dtype=int32))
        """
        return pack(*self.ordered(a, b), bits)

    def normalise(self, a: Positions, b: Positions) -> tuple[Positions, Positions, Dropped]:
        """Return the edges without self-loops and repeats in ascending order; and what went.

        *Complexity*: O(m) for edges in normal form already, otherwise a sort.

        >>> u, v, dropped = UNDIRECTED.normalise(np.array([2, 0, 1]), np.array([1, 0, 2]))
        >>> u.tolist(), v.tolist(), dropped
        ([1], [2], Dropped(self_loops=1, duplicates=1))
        """
        if self.is_normal(a, b):
            return np.array(a, dtype=np.int32), np.array(b, dtype=np.int32), Dropped()
        a, b, loops = self.without_loops(a, b)
        key = self.keys(a, b)
        key.sort()
        distinct = np.ones(key.size, dtype=bool)
        np.not_equal(key[1:], key[:-1], out=distinct[1:])
        repeats = int(key.size - np.count_nonzero(distinct))
        return *unpack(key[distinct] if repeats else key), Dropped(loops, repeats)

    def without_loops(self, a: Any, b: Any) -> tuple[Any, Any, int]:
        """Return the pairs that are no self-loops, and how many were."""
        if self.rosters == 2:
            return a, b, 0
        apart = a != b
        loops = int(a.size - np.count_nonzero(apart))
        return (a[apart], b[apart], loops) if loops else (a, b, 0)

    def is_normal(self, a: Positions, b: Positions) -> bool:
        """Whether edges are in normal form: ends in order, no self-loops, strictly ascending."""
        if self.sides == 1:
            in_order = bool((a < b).all())
        else:
            in_order = self.rosters == 2 or bool((a != b).all())
        return in_order and _ascending(a, b)

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


def key_bits(nodes: int) -> int:
    """Return how many bits a node needs: narrower keys than usual are quicker to sort.

    >>> key_bits(1000)
    10
    """
    return max(1, nodes.bit_length())


def pack(u: Any, v: Any, bits: int = KEY_BITS) -> Integers:
    """Return the keys of pairs whose ends are in order already.

    >>> (pack([2, 3], [7, 0]) < first_key(3)).tolist()
    [True, False]
    """
    keys: Integers = np.asarray(u, dtype=np.int64) << bits | v
    return keys


def unpack(keys: Integers, bits: int = KEY_BITS) -> tuple[Positions, Positions]:
    """Return the ends of the pairs that have these keys.

    >>> [ends.tolist() for ends in unpack(pack([1, 2], [5, 7]))]
    [[1, 2], [5, 7]]
    """
    return (keys >> bits).astype(np.int32), (keys & ((1 << bits) - 1)).astype(np.int32)


def first_key(node: int, bits: int = KEY_BITS) -> int:
    """Return the smallest key with this first end; keys of smaller first ends are below it."""
    return node << bits


# ---- for kernels, on single pairs ----


@lean_kernel
def pack_pair(u: Whole, v: Whole, bits: int = 32) -> int:
    """Key of a pair whose ends are in order."""
    return (np.int64(u) << bits) | np.int64(v)  # type: ignore[return-value]


@lean_kernel
def pack_unordered(x: Whole, y: Whole, bits: int = 32) -> int:
    """Key of an undirected pair."""
    return pack_pair(x, y, bits) if x < y else pack_pair(y, x, bits)


@lean_kernel
def first_end(key: Whole, bits: int = 32) -> int:
    """First end of the pair with this key."""
    return key >> bits  # type: ignore[return-value]


@lean_kernel
def second_end(key: Whole, bits: int = 32) -> int:
    """Second end of the pair with this key."""
    return key & ((1 << bits) - 1)  # type: ignore[return-value]


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
