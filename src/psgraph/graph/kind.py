"""Kinds of graphs: which pairs of nodes can be edges, and how pairs are represented.

========== ======= ======================= ================ ==================================
kind       rosters pairs that can be edges how many         sides of an edge
========== ======= ======================= ================ ==================================
undirected 1       {u, v}, u ≠ v           n(n−1)/2         one: two ends of the same kind
directed   1       (u, v), u ≠ v           n(n−1)           two: from u, to v
two-sided  2       (u, v)                  left · right     two: u on the left, v on the right
========== ======= ======================= ================ ==================================

Edges of any kind may carry a weight: an integer from 1 to a public largest one. With **flows**
(directed or two-sided) every row of the input counts, and the weight is the number of rows.

Positions of nodes are positions in one roster. A two-sided graph has a roster of two sides
(`psgraph.graph.roster.TwoSidedRoster`), the nodes on the right after those on the left, so that an
edge of it always leads from a smaller position to a larger one.

No other module puts the ends of an edge into their normal order, packs them into a key, numbers
pairs or counts them. Kernels use the functions at the end of this file, which become part of their
callers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from psgraph._runtime.arrays import Integers, Positions, summed
from psgraph._runtime.jit import lean_kernel
from psgraph.errors import InvalidArgument, UnknownKind

__all__ = [
    "DIRECTED",
    "KEY_BITS",
    "KINDS",
    "MOST_WEIGHT",
    "TWO_SIDED",
    "UNDIRECTED",
    "Dropped",
    "Edges",
    "Kind",
    "find_kind",
    "first_end",
    "first_key",
    "key_bits",
    "ordered_cell",
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

MOST_WEIGHT = 2**31 - 1
"""The largest weight that a stream can declare."""

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
    """Edges in memory: positions in the normal form of their kind, ascending by (u, v)."""

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
    largest_weight
        The largest weight of an edge, as declared; larger ones count as this one. None if edges
        carry no weight.
    flows
        Whether weights are numbers of rows, with the largest possible `largest_weight`.

    Examples
    --------
    >>> UNDIRECTED.pairs(4), UNDIRECTED.largest_degree(4)
    (6, 3)
    >>> DIRECTED.pairs(4), TWO_SIDED.pairs(4, 3), str(DIRECTED.with_weights(64))
    (12, 12, 'directed, with weights up to 64')
    >>> str(DIRECTED.with_flows())
    'directed, with flows'
    """

    name: str
    sides: Literal[1, 2] = 1
    rosters: Literal[1, 2] = 1
    largest_weight: int | None = None
    flows: bool = False

    def __str__(self) -> str:
        weights = f", with weights up to {self.largest_weight:,}" if self.weighted else ""
        return f"{self.name}{', with flows' if self.flows else weights}"

    @property
    def weighted(self) -> bool:
        """Whether an edge carries a weight, in snapshots and in releases; true of flows."""
        return self.largest_weight is not None

    @property
    def directed(self) -> bool:
        """Whether both ends are nodes of one roster, and u → v differs from v → u."""
        return self.sides == 2 and self.rosters == 1

    @property
    def two_sided(self) -> bool:
        """Whether the two ends come from rosters of their own."""
        return self.rosters == 2

    @property
    def unweighted(self) -> Kind:
        """The same pairs, without weights."""
        return replace(self, largest_weight=None, flows=False) if self.weighted else self

    def with_weights(self, largest: int | None) -> Kind:
        """Return the same pairs with weights up to `largest`, or without weights.

        Raises
        ------
        InvalidArgument
            `largest` is not an integer of at least 2.
        """
        if largest is None:
            return self.unweighted
        plain = isinstance(largest, int | np.integer) and not isinstance(largest, bool)
        if not plain or not 2 <= largest <= MOST_WEIGHT:
            raise InvalidArgument(
                f"the largest weight is an integer from 2 to {MOST_WEIGHT:,}, not {largest!r}\n"
                "Larger weights count as this one. Amounts need a public grid of integers.",
                code="weights",
            )
        return replace(self, largest_weight=int(largest), flows=False)

    def with_flows(self) -> Kind:
        """Return the same pairs, each with a number of rows; refuse undirected ones."""
        if self.sides == 1:
            raise InvalidArgument(
                "undirected graphs have no flows\nUse directed or two-sided ones, or weights",
                code="flows",
            )
        return replace(self, largest_weight=MOST_WEIGHT, flows=True)

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Kind:
        """The inverse of `to_dict`; ignores other keys. `UnknownKind` for other kinds."""
        name = str(content.get("kind", UNDIRECTED.name))
        return find_kind(name, content.get("weights"), content.get("flows", False))

    def to_dict(self) -> dict[str, Any]:
        """Return the kind for files; nothing for undirected, unweighted graphs.

        >>> UNDIRECTED.to_dict(), DIRECTED.with_weights(8).to_dict()
        ({}, {'kind': 'directed', 'weights': 8})
        """
        if self == UNDIRECTED:
            return {}
        if self.flows:
            return {"kind": self.name, "flows": True}
        weights = {"weights": self.largest_weight} if self.weighted else {}
        return {"kind": self.name, **weights}

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

    def normalise_weighted(
        self, a: Positions, b: Positions, weight: Integers
    ) -> tuple[Positions, Positions, Integers, Dropped]:
        """Return edges of a weighted kind in normal form: the weights of repeats are added up.

        Sums beyond the largest weight count as the largest one; no sum can overflow.

        >>> ends = np.array([2, 0, 1]), np.array([1, 1, 2])
        >>> kind, weight = UNDIRECTED.with_weights(5), np.array([4, 1, 4])
        >>> u, v, weight, _ = kind.normalise_weighted(*ends, weight)
        >>> u.tolist(), v.tolist(), weight.tolist()
        ([0, 1], [1, 2], [1, 5])
        """
        assert self.largest_weight is not None
        weight = np.minimum(weight, self.largest_weight)
        if self.is_normal(a, b):
            return np.array(a, np.int32), np.array(b, np.int32), weight.astype(np.int64), Dropped()
        loops = 0
        if self.rosters == 1:
            apart = a != b
            loops = int(a.size - np.count_nonzero(apart))
            a, b, weight = (a[apart], b[apart], weight[apart]) if loops else (a, b, weight)
        keys, weight = summed(self.keys(a, b), weight, self.largest_weight)
        return *unpack(keys), weight, Dropped(loops)

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
DIRECTED = Kind("directed", sides=2)
TWO_SIDED = Kind("two-sided", sides=2, rosters=2)

KINDS = {kind.name: kind for kind in (UNDIRECTED, DIRECTED, TWO_SIDED)}
"""The kinds that this version reads and publishes, without weights."""


def find_kind(name: str, largest_weight: int | None = None, flows: object = False) -> Kind:
    """Return the kind of what was read from a file; `UnknownKind` for others."""
    try:
        if flows is True and largest_weight in (None, MOST_WEIGHT):
            return KINDS[name].with_flows()
        return KINDS[name if flows is False else ""].with_weights(largest_weight)
    except (KeyError, InvalidArgument):
        known = ", ".join(KINDS)
        raise UnknownKind(
            f"this graph is {name}; this version of psgraph reads graphs that are {known}\n"
            "Use a newer version of psgraph."
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


@lean_kernel
def ordered_cell(a: Whole, b: Whole, columns: int, inside: bool) -> int:
    """`Kind.cell_of` of a pair of blocks of an edge with two sides; −1 for one left out."""
    if inside:
        return a * columns + b
    if a == b:
        return -1
    return a * (columns - 1) + (b - 1 if b > a else b)
