"""Degrees per side: which degrees the nodes of a kind of graph have, and how they are listed.

A node of an undirected graph has one degree. In a graph with two sides an edge counts once for its
first end and once for its second end, so that a node of a directed graph has two degrees.

========== ============================================ =====================
kind       degrees, in this order                       how many
========== ============================================ =====================
undirected of every node                                n
directed   out-degrees of all nodes, then in-degrees    2n
two-sided  of the nodes on the left, then on the right  left + right
========== ============================================ =====================

One edge moves two of them by 1 each, whatever the kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels, Positions
from psgraph._runtime.kernels import group_nodes
from psgraph.graph.kind import UNDIRECTED, Kind

__all__ = ["Sides", "degree_count"]


def degree_count(kind: Kind, nodes: int) -> int:
    """Return how many degrees all nodes have together.

    >>> from psgraph.graph.kind import DIRECTED
    >>> degree_count(UNDIRECTED, 5), degree_count(DIRECTED, 5)
    (5, 10)
    """
    return 2 * nodes if kind.directed else nodes


@dataclass(frozen=True)
class Sides:
    """Where first and second ends of edges come from; all of it is public.

    Parameters
    ----------
    kind
        Which pairs of nodes can be edges.
    sizes
        The number of nodes of each roster.

    Examples
    --------
    >>> from psgraph.graph.kind import TWO_SIDED
    >>> sides = Sides(TWO_SIDED, (2, 3))
    >>> sides.nodes, sides.degrees, sides.pairs
    (5, 5, 6)
    >>> [each.tolist() for each in sides.split(np.array([4, 2, 3, 2, 1]))]
    [[4, 2, 0, 0, 0], [0, 0, 3, 2, 1]]
    """

    kind: Kind
    sizes: tuple[int, ...]

    @classmethod
    def undirected(cls, nodes: int) -> Sides:
        """Return those of an undirected graph, where both ends are alike."""
        return cls(UNDIRECTED, (nodes,))

    @property
    def alike(self) -> bool:
        """Whether both ends are alike."""
        return self.kind.sides == 1

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return sum(self.sizes)

    @property
    def pairs(self) -> int:
        """The number of pairs of nodes that can be edges."""
        return self.kind.pairs(*self.sizes)

    @property
    def offset(self) -> int:
        """The position of the first node that can be a second end."""
        return self.sizes[0] if self.kind.two_sided else 0

    @property
    def degrees(self) -> int:
        """How many degrees all nodes have together."""
        return degree_count(self.kind, self.nodes)

    @property
    def shift(self) -> int:
        """How much further than its position the degree of a second end is listed."""
        return self.degrees - self.nodes

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where the degrees of each side are listed."""
        if self.alike:
            return (slice(0, self.nodes),)
        cut = self.shift + self.offset
        return slice(0, cut), slice(cut, self.degrees)

    def split(self, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return values by degree as two arrays by position: of first ends, and of second ends.

        Nodes that can't be such an end have zeros.
        """
        if self.alike:
            return values, values
        if self.kind.directed:
            return values[: self.nodes], values[self.nodes :]
        left = np.arange(self.nodes) < self.offset
        nothing = values.dtype.type(0)
        return np.where(left, values, nothing), np.where(left, nothing, values)

    def joined(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """Return values of first and of second ends, both by position, by degree."""
        if self.alike:
            return first
        if self.kind.directed:
            return np.concatenate([first, second])
        return np.concatenate([first[: self.offset], second[self.offset :]])

    def sums(self, values: Floats, labels: Labels, blocks: int) -> tuple[Floats, Floats]:
        """Add up values by degree in every block: those of first ends, and of second ends."""
        first, second = self.split(values)
        of_first = np.bincount(labels, weights=first, minlength=blocks).astype(np.float64)
        if self.alike:
            return of_first, of_first
        of_second = np.bincount(labels, weights=second, minlength=blocks).astype(np.float64)
        return of_first, of_second

    def members(self, labels: Labels, blocks: int) -> tuple[Integers, Integers]:
        """Count the nodes of every block that can be first ends, and that can be second ends."""
        first, second = (
            np.bincount(labels[nodes], minlength=blocks) for nodes in (self._heads, self._tails)
        )
        return first, second

    def grouped(self, labels: Labels) -> tuple[tuple[Positions, Integers], ...]:
        """Return the nodes that can be first ends, and those that can be second ends, by block.

        Of each the nodes ordered by block, and where every block begins.
        """
        blocks = int(labels.max()) + 1 if labels.size else 0
        first = _grouped(labels, self._heads, blocks)
        return first, (_grouped(labels, self._tails, blocks) if self.kind.two_sided else first)

    @property
    def _heads(self) -> slice:
        return slice(0, self.offset if self.kind.two_sided else self.nodes)

    @property
    def _tails(self) -> slice:
        return slice(self.offset, self.nodes)


def _grouped(labels: Labels, nodes: slice, blocks: int) -> tuple[Positions, Integers]:
    chosen = labels[nodes]
    _, ordered = group_nodes(chosen.astype(np.int64), np.arange(nodes.start, nodes.stop))
    begins = np.append(0, np.bincount(chosen, minlength=blocks).cumsum())
    return ordered.astype(np.int32), begins
