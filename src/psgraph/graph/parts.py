"""Edges in parts: how engines read a graph that may be larger than memory.

A part holds the edges whose first end (the smaller one, if the graph is undirected) lies in a range
of node positions. The ranges depend on the number of nodes only, which is public, and never on the
edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from psgraph._runtime.arrays import Frozen, Integers, Positions
from psgraph._runtime.kernels import adjacency, rows_of_range
from psgraph.graph.kind import UNDIRECTED, Kind

__all__ = [
    "PART_NODES",
    "EdgeParts",
    "MemoryParts",
    "Pairs",
    "Read",
    "RepeatedParts",
    "Rows",
    "degrees",
    "ranges",
]

PART_NODES = 1 << 17


class _Ends(NamedTuple):
    u: Positions
    v: Positions


class Pairs(_Ends):
    """Edges as positions, in the normal form of their kind and in ascending order of (u, v).

    It unpacks into its two ends, ``u, v = pairs``; `weight` is None for edges without weights.

    >>> pairs = Pairs(np.array([0, 1]), np.array([1, 2]))
    >>> u, v = pairs
    >>> pairs.v is v, pairs.weight
    (True, None)
    """

    weight: Integers | None = None

    def __new__(cls, u: Positions, v: Positions, weight: Integers | None = None) -> Pairs:
        pairs = super().__new__(cls, u, v)
        if weight is not None:
            pairs.weight = weight
        return pairs

    def __reduce__(self) -> tuple[type[Pairs], tuple[Any, ...]]:
        return Pairs, (self.u, self.v, self.weight)

    def between(self, begin: int, end: int) -> Pairs:
        """Return the edges from number `begin` up to, not including, `end`."""
        weight = None if self.weight is None else self.weight[begin:end]
        return Pairs(self.u[begin:end], self.v[begin:end], weight)

    @classmethod
    def none(cls, kind: Kind) -> Pairs:
        """Return no edges; of a kind with weights, with none of them."""
        nothing = np.empty(0, dtype=np.int32)
        return cls(nothing, nothing, np.empty(0, dtype=np.int64) if kind.weighted else None)

    @classmethod
    def joined(cls, pieces: Sequence[Pairs]) -> Pairs:
        """Return the edges of all pieces, in their order."""
        nothing = np.empty(0, dtype=np.int32)
        u, v = (np.concatenate([nothing, *(piece[end] for piece in pieces)]) for end in (0, 1))
        weights = [piece.weight for piece in pieces if piece.weight is not None]
        return cls(u, v, np.concatenate(weights) if weights else None)


Read = Callable[[], Pairs]
"""Reads a part: the same edges each time, in any thread and on any worker."""


class Rows(NamedTuple):
    """The neighbour lists of consecutive nodes.

    Those of node ``first + i`` are ``neighbours[starts[i]:starts[i + 1]]``; in ascending order
    unless the graph is directed. There, both directions of a pair are in them.
    """

    first: int
    starts: Integers
    neighbours: Positions


class EdgeParts(Protocol):
    """The edges of a graph, part by part. Parts are read when their function is called.

    Reading a part twice gives the same edges, so parts can be read in any order, by any thread
    and again after a failure.
    """

    @property
    def kind(self) -> Kind:
        """The kind of the graph."""
        ...

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        ...

    @property
    def part_nodes(self) -> int:
        """Node positions in the range of a part; the last range may be shorter."""
        ...

    @property
    def edge_count(self) -> int:
        """The number of edges; private if the graph is."""
        ...

    def edges(self) -> Sequence[Callable[[], Pairs]]:
        """Return a function for every part; in order they give all edges in ascending order."""
        ...

    def rows(self) -> Sequence[Callable[[], Rows]]:
        """Return a function for every range of nodes, in order."""
        ...

    def whole(self) -> Pairs:
        """Return all edges at once, in memory."""
        ...

    def let_go(self) -> None:
        """Free memory that holds parts that can be read again, and keep no more of them."""
        ...


def ranges(nodes: int, part_nodes: int = PART_NODES) -> Iterator[tuple[int, int]]:
    """Cut node positions into ranges of `part_nodes`, the last one shorter.

    >>> list(ranges(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for first in range(0, nodes, part_nodes):
        yield first, min(first + part_nodes, nodes)


def degrees(parts: EdgeParts, nodes: int) -> Integers:
    """Count the neighbours of every node, one part in memory at a time.

    >>> degrees(MemoryParts(np.array([0, 1]), np.array([1, 2]), nodes=3, part_nodes=1), 3)
    array([1, 2, 1])
    """
    total = np.zeros(nodes, dtype=np.int64)
    for read in parts.edges():
        for ends in read():
            total += np.bincount(ends, minlength=nodes)
    return total


class MemoryParts(Frozen):
    """Edges that are in memory; a part is a view of them.

    >>> parts = MemoryParts(np.array([0, 1]), np.array([1, 2]), nodes=3)
    >>> [(read().u.tolist(), read().v.tolist()) for read in parts.edges()]
    [([0, 1], [1, 2])]
    """

    __slots__ = ("kind", "nodes", "part_nodes", "u", "v", "weight")

    _fields = ("u", "v", "weight", "nodes", "part_nodes", "kind")

    u: Positions
    v: Positions
    weight: Integers | None
    nodes: int
    part_nodes: int
    kind: Kind

    def __init__(
        self,
        u: Positions,
        v: Positions,
        weight: Integers | None = None,
        *,
        nodes: int,
        part_nodes: int = PART_NODES,
        kind: Kind = UNDIRECTED,
    ) -> None:
        self._fill(u=u, v=v, weight=weight, nodes=nodes, part_nodes=part_nodes, kind=kind)

    @property
    def edge_count(self) -> int:
        return int(self.u.size)

    def edges(self) -> list[Callable[[], Pairs]]:
        cuts = [first for first, _ in ranges(self.nodes, self.part_nodes)]
        begins = [*np.searchsorted(self.u, cuts).tolist(), self.u.size]
        return [partial(self.whole().between, begin, end) for begin, end in pairwise(begins)]

    def rows(self) -> list[Callable[[], Rows]]:
        if self.kind.directed:  # in-neighbours first, as from files: any engine gives this order
            order = np.argsort(self.v, kind="stable")
            ends = self.u, self.v, self.v[order], self.u[order]
            starts, neighbours = rows_of_range(0, self.nodes, *ends)
        else:
            starts, neighbours = adjacency(self.u, self.v, self.nodes)
        return [
            partial(
                Rows,
                first,
                starts[first : last + 1] - starts[first],
                neighbours[starts[first] : starts[last]],
            )
            for first, last in ranges(self.nodes, self.part_nodes)
        ]

    def let_go(self) -> None:
        """Nothing: memory is the only place these edges are in."""

    def whole(self) -> Pairs:
        return Pairs(self.u, self.v, self.weight)


@dataclass(frozen=True)
class RepeatedParts:
    """Flows as a list of their rows: every pair as often as its weight says.

    So whatever counts edges counts rows.

    >>> flows = MemoryParts(np.array([0, 1]), np.array([1, 2]), np.array([1, 2]), nodes=3)
    >>> RepeatedParts(flows).edge_count, RepeatedParts(flows).whole().v.tolist()
    (3, [1, 2, 2])
    """

    parts: EdgeParts

    @property
    def kind(self) -> Kind:
        return self.parts.kind

    @property
    def nodes(self) -> int:
        return self.parts.nodes

    @property
    def part_nodes(self) -> int:
        return self.parts.part_nodes

    @property
    def edge_count(self) -> int:
        return sum(int(_weights(read()).sum()) for read in self.parts.edges())

    def edges(self) -> list[Callable[[], Pairs]]:
        return [partial(_repeated, read) for read in self.parts.edges()]

    def rows(self) -> Sequence[Callable[[], Rows]]:
        """Return the neighbour lists, in which every neighbour is listed once."""
        return self.parts.rows()

    def whole(self) -> Pairs:
        return _repeated(self.parts.whole)

    def let_go(self) -> None:
        self.parts.let_go()


def _weights(pairs: Pairs) -> Integers:
    assert pairs.weight is not None
    return pairs.weight


def _repeated(read: Callable[[], Pairs]) -> Pairs:
    pairs = read()
    u, v = (np.repeat(end, _weights(pairs)) for end in pairs)
    return Pairs(u, v)
