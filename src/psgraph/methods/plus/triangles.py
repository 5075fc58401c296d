"""Triangles, wedges and common neighbours of one graph.

The functions read plain edge arrays, so that they serve a private snapshot inside a mechanism call
and a synthetic graph alike.

The largest number of common neighbours over all pairs of nodes would take Σ d² steps by counting
every path of length two, 10¹⁰ with a heavy tail at a million nodes. The search here is exact and
skips what cannot matter. Nodes are visited by descending degree, and once `best` common neighbours
are known, only nodes of a higher degree are visited. A partner that shares more than `best` of the
d neighbours of x must be adjacent to one of any d - best of them, so the `best` largest neighbours
of x never propose a partner (prefix filtering; Chaudhuri, Ganti and Kaushik, ICDE 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import adjacency
from psgraph.engines.counting import degree_ranks, triangle_count
from psgraph.graph.kind import UNDIRECTED, Edges

__all__ = [
    "FEWEST_KEPT",
    "Cap",
    "best_cap",
    "count_triangles",
    "largest_common_neighbours",
    "node_degrees",
    "ranked_adjacency",
    "second_largest_degree",
    "wedge_count",
]

Integer = int | np.integer[Any]

FEWEST_KEPT, MOST_KEPT = 3, 256  # caps tried; a triangle needs two edges at each node


def count_triangles(edges: Edges, nodes: int) -> int:
    """Number of triangles. O(m^1.5).

    *Privacy*: one edge {a, b} changes it by the number of common neighbours of a and b, so it may
    only enter the ladder mechanism.

    >>> count_triangles(_example(), 4)
    1
    """
    return triangle_count(edges.u, edges.v, nodes)


def wedge_count(edges: Edges, nodes: int) -> int:
    """Number of paths of length two: the sum of d(d - 1)/2 over all nodes.

    For synthetic graphs only: one edge changes it by up to 2(n - 2).

    >>> wedge_count(_example(), 4)
    5
    """
    degree = node_degrees(edges.u, edges.v, nodes)
    return int(UNDIRECTED.pairs(degree).sum())


def second_largest_degree(edges: Edges, nodes: int) -> int:
    """The second largest degree: no two nodes have more common neighbours. O(n + m).

    *Privacy*: sensitivity 1. An edge adds 1 to two degrees, and the k-th largest of a set of
    numbers moves by at most 1 when each moves by at most 1 in the same direction.

    >>> second_largest_degree(_example(), 4)
    2
    """
    if nodes < 2:
        return 0
    degree = node_degrees(edges.u, edges.v, nodes)
    return int(np.partition(degree, nodes - 2)[nodes - 2])


def largest_common_neighbours(edges: Edges, nodes: int) -> int:
    """Largest number of common neighbours over all pairs of nodes, adjacent or not.

    *Privacy*: sensitivity 1. An edge {a, b} changes the count of the pairs {a, z} with z in N(b)
    and {b, z} with z in N(a) only, each by 1.

    >>> largest_common_neighbours(_example(), 4)
    1
    """
    rank = np.int32(nodes - 1) - degree_ranks(edges.u, edges.v, nodes)
    starts, neighbours = ranked_adjacency(rank[edges.u], rank[edges.v], nodes)
    return int(_search(starts, neighbours, nodes))


@kernel
def node_degrees(u: Positions, v: Positions, nodes: int) -> Integers:
    """The degree of every node: one edge changes two of them by 1 each."""
    degrees = np.zeros(nodes, dtype=np.int64)
    for edge in range(u.size):
        degrees[u[edge]] += 1
        degrees[v[edge]] += 1
    return degrees


def _example() -> Edges:
    """A triangle with one more edge, for the doctests."""
    return Edges(np.array([0, 0, 0, 1], dtype=np.int32), np.array([1, 2, 3, 2], dtype=np.int32))


@kernel
def ranked_adjacency(u: Positions, v: Positions, nodes: int) -> tuple[Integers, Positions]:
    """Neighbour lists in ascending order of number, by two counting passes."""
    starts, unsorted = adjacency(u, v, nodes)
    # Visiting the nodes in order and appending each to its neighbours' lists sorts every list.
    free = starts[:-1].copy()
    neighbours = np.empty(2 * u.size, dtype=np.int32)
    for node in range(nodes):
        for index in range(starts[node], starts[node + 1]):
            other = unsorted[index]
            neighbours[free[other]] = node
            free[other] += 1
    return starts, neighbours


@kernel
def _search(starts: Integers, neighbours: Positions, nodes: int) -> Integer:
    """The maximum over pairs; nodes are numbered by descending degree.

    A node looks for partners with a smaller number only. Its own neighbours are sorted by
    descending degree, so the largest come first.
    """
    best = np.int64(0)
    counts = np.zeros(nodes, dtype=np.int32)
    partners = np.empty(nodes, dtype=np.int32)
    for x in range(nodes):
        begin, end = starts[x], starts[x + 1]
        if end - begin <= best:
            break
        # The neighbours up to `split` only confirm partners, unless counting them costs little.
        split = begin + best
        if _entries(starts, neighbours, begin, split) <= _entries(starts, neighbours, split, end):
            split = begin
        found = 0
        for index in range(split, end):
            middle = neighbours[index]
            for inner in range(starts[middle], starts[middle + 1]):
                y = neighbours[inner]
                if y >= x:
                    break
                if counts[y] == 0:
                    partners[found] = y
                    found += 1
                counts[y] += 1
        proposed = found
        kept = partners if split == begin else partners[:found].copy()
        for index in range(split - 1, begin - 1, -1):
            # Every neighbour from `begin` to `index` may still add one.
            found = _still_open(kept, found, counts, best, index - begin + 1)
            if found == 0:
                break
            _count_middle(starts, neighbours, neighbours[index], x, kept, found, counts)
        for at in range(found):
            best = max(best, np.int64(counts[kept[at]]))
        for at in range(proposed):
            counts[partners[at]] = 0
    return best


@kernel
def _entries(starts: Integers, neighbours: Positions, begin: Integer, end: Integer) -> int:
    """Total length of the neighbour lists of some neighbours."""
    total = 0
    for index in range(begin, end):
        total += starts[neighbours[index] + 1] - starts[neighbours[index]]
    return total


@kernel
def _still_open(
    kept: Positions, found: Integer, counts: Positions, best: Integer, more: Integer
) -> int:
    """Move the partners that may still exceed `best` with `more` to come to the front."""
    left = 0
    for at in range(found):
        if counts[kept[at]] + more > best:
            kept[left] = kept[at]
            left += 1
    return left


@kernel
def _count_middle(
    starts: Integers,
    neighbours: Positions,
    middle: Integer,
    x: Integer,
    kept: Positions,
    found: Integer,
    counts: Positions,
) -> None:
    """Add one to every open partner that is adjacent to `middle`."""
    begin, end = starts[middle], starts[middle + 1]
    if end - begin <= 8 * found:
        for inner in range(begin, end):
            y = neighbours[inner]
            if y >= x:
                break
            if counts[y] > 0:
                counts[y] += 1
        return
    for at in range(found):
        y = kept[at]
        left, right = begin, end
        while left < right:
            half = (left + right) // 2
            if neighbours[half] < y:
                left = half + 1
            else:
                right = half
        if left < end and neighbours[left] == y:
            counts[y] += 1


# ---- which triangles to count
#
# The ladder mechanism counts all triangles, with noise that grows with the largest number of common
# neighbours and with 1/ε². Where most nodes have few neighbours and ε is small, a count over the
# first edges of every node says more; see `noisy_triangles`. Released degrees decide.


@dataclass(frozen=True)
class Cap:
    """How many edges a node keeps.

    Attributes
    ----------
    edges
        The cap itself, at least 2.
    share
        The expected share of triangles whose edges are all kept.
    """

    edges: int
    share: float

    @property
    def sensitivity(self) -> int:
        """How far one edge moves the number of triangles among kept edges."""
        return 2 * (self.edges - 1)


def best_cap(degrees: Integers, epsilon: float) -> Cap | None:
    """Return the cap with the best ratio of triangles to noise, None if the ladder has a better.

    On average the noise of the ladder mechanism is 2·LS/ε + 4/ε², where LS is the largest number
    of common neighbours: about half of the cap on the streams looked at.

    Parameters
    ----------
    degrees
        Released degrees of all nodes.
    epsilon
        What the count may spend.

    Examples
    --------
    >>> best_cap(np.full(100, 6), 0.1)
    Cap(edges=6, share=1.0)
    >>> best_cap(np.full(100, 6), 4.0) is None
    True
    """
    if epsilon == 0:
        return None
    degree, counts = np.unique(degrees, return_counts=True)
    stubs = float((degree * counts).sum())
    wedges = float((UNDIRECTED.pairs(degree) * counts).sum())
    if wedges == 0:
        return None
    caps = np.arange(FEWEST_KEPT, min(int(degree[-1]), MOST_KEPT) + 1)
    if not caps.size:
        return None
    kept = np.minimum(degree, caps[:, None])
    # Two edges of a node survive its own cap, and then those of their other ends.
    shares = UNDIRECTED.pairs(kept) @ counts / wedges * ((kept @ counts) / stubs) ** 2
    best = int(np.argmax(shares / (caps - 1)))
    cap = Cap(int(caps[best]), round(float(shares[best]), 9))
    return cap if cap.share * (cap.edges + 4 / epsilon) > cap.sensitivity else None
