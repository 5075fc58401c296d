"""Kernels that count: the edges of a part by block or group, and the triangles of a graph.

Counts of private edges go into a mechanism.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.engines.parallel import mapped, thread_count
from psgraph.graph.kind import ordered_cell, triangular_cell

__all__ = [
    "add_block_counts",
    "add_group_degrees",
    "add_split_degrees",
    "block_keys",
    "common_edges",
    "community_counts",
    "degree_ranks",
    "node_triangles",
    "run_lengths",
    "triangle_count",
]


@kernel
def add_split_degrees(
    u: Positions, v: Positions, labels: Positions, shift: int, inner: Integers, outer: Integers
) -> None:
    """Count neighbours inside and outside the own block, per side.

    The degree of a second end is listed `shift` further on: see `psgraph.engines.sides`.
    """
    for edge in range(u.size):
        x, y = u[edge], v[edge]
        if labels[x] == labels[y]:
            inner[x] += 1
            inner[y + shift] += 1
        else:
            outer[x] += 1
            outer[y + shift] += 1


@kernel
def common_edges(u: Positions, v: Positions, other_u: Positions, other_v: Positions) -> int:
    """Edges in both of two sorted lists; of those listed several times, the smaller number."""
    found = here = 0
    for edge in range(other_u.size):
        x, y = other_u[edge], other_v[edge]
        while here < u.size and (u[here] < x or (u[here] == x and v[here] < y)):
            here += 1
        if here < u.size and u[here] == x and v[here] == y:
            found += 1
            here += 1  # a pair that is listed several times is found once for each
    return found


@kernel
def add_group_degrees(u: Positions, v: Positions, labels: Positions, degrees: Integers) -> None:
    """Count neighbours in each group, in an array of nodes × groups."""
    for edge in range(u.size):
        x, y = u[edge], v[edge]
        degrees[x, labels[y]] += 1
        degrees[y, labels[x]] += 1


@kernel
def add_block_counts(
    u: Positions,
    v: Positions,
    labels: Positions,
    tail_labels: Positions,
    columns: int,
    ordered: bool,
    inside: bool,
    counts: Integers,
) -> None:
    """Count edges per cell, for a number of cells that fits into memory.

    `columns` is the number of blocks of second ends; pairs of blocks are `ordered` if edges have
    two sides.
    """
    for edge in range(u.size):
        a, b = np.int64(labels[u[edge]]), np.int64(tail_labels[v[edge]])
        if ordered:
            cell = ordered_cell(a, b, columns, inside)
        else:
            cell = triangular_cell(a, b, columns, inside)
        if cell >= 0:
            counts[cell] += 1


@kernel
def block_keys(
    u: Positions,
    v: Positions,
    labels: Positions,
    tail_labels: Positions,
    columns: int,
    ordered: bool,
    inside: bool,
) -> Integers:
    """The cell of every edge, leaving out those inside a block unless `inside`."""
    keys = np.empty(u.size, dtype=np.int64)
    found = 0
    for edge in range(u.size):
        a, b = np.int64(labels[u[edge]]), np.int64(tail_labels[v[edge]])
        if ordered:
            cell = ordered_cell(a, b, columns, inside)
        else:
            cell = triangular_cell(a, b, columns, inside)
        if cell >= 0:
            keys[found] = cell
            found += 1
    return keys[:found]


@kernel
def run_lengths(keys: Integers) -> tuple[Integers, Integers]:
    """Distinct values of a sorted array and how often each occurs."""
    values = np.empty(keys.size, dtype=np.int64)
    counts = np.empty(keys.size, dtype=np.int64)
    found = 0
    for index in range(keys.size):
        if index == 0 or keys[index] != keys[index - 1]:
            values[found] = keys[index]
            counts[found] = 1
            found += 1
        else:
            counts[found - 1] += 1
    return values[:found].copy(), counts[:found].copy()


@kernel
def community_counts(
    starts: Integers, neighbours: Positions, labels: Positions, communities: int
) -> tuple[Integers, Positions, Positions]:
    """For each row of neighbours the communities that occur in it, and how often each does."""
    begins = np.empty(starts.size, dtype=np.int64)
    occurring = np.empty(neighbours.size, dtype=np.int32)
    counts = np.empty(neighbours.size, dtype=np.int32)
    count = np.zeros(communities, dtype=np.int32)
    found = 0
    for row in range(starts.size - 1):
        begins[row] = found
        for at in range(starts[row], starts[row + 1]):
            label = labels[neighbours[at]]
            if count[label] == 0:
                occurring[found] = label
                found += 1
            count[label] += 1
        for at in range(begins[row], found):
            counts[at] = count[occurring[at]]
            count[occurring[at]] = 0
    begins[starts.size - 1] = found
    return begins, occurring[:found], counts[:found]


# ---- triangles ----
#
# Nodes are ranked by ascending degree and every edge points to the higher rank. No node then has
# more than √(2m) outgoing edges, each triangle is met once, and the hubs, where most steps end, are
# adjacent in memory. Below 2³¹ edges.

_LARGE = 1 << 18  # edges from which threads pay
_SHARES = 4  # ranges of ranks for each thread: their numbers of triangles differ


def node_triangles(u: Positions, v: Positions, nodes: int) -> Integers:
    """Number of triangles through every node of a simple graph. O(m^1.5).

    Examples
    --------
    >>> u, v = np.array([0, 1, 0, 0], dtype=np.int32), np.array([1, 2, 2, 3], dtype=np.int32)
    >>> node_triangles(u, v, 4)
    array([1, 1, 1, 0])
    """
    ranks = degree_ranks(u, v, nodes)
    return _node_counts(*_outgoing(u, v, ranks))[ranks]


def triangle_count(u: Positions, v: Positions, nodes: int) -> int:
    """Number of triangles of a simple graph. O(m^1.5), half the time of `node_triangles`.

    Those of a large graph are counted by as many threads as there are cores.

    Examples
    --------
    >>> u, v = np.array([0, 1, 0, 0], dtype=np.int32), np.array([1, 2, 2, 3], dtype=np.int32)
    >>> triangle_count(u, v, 4)
    1
    """
    starts, heads = _outgoing(u, v, degree_ranks(u, v, nodes))
    if u.size < _LARGE:
        return int(_count(starts, heads, 0, nodes))
    threads = thread_count()
    shares = np.linspace(0, u.size, _SHARES * threads + 1)
    bounds = np.searchsorted(starts, shares[1:-1])  # as many edges begin in each range of ranks
    ranges = pairwise([0, *bounds.tolist(), nodes])
    tasks = (partial(_count, starts, heads, first, last) for first, last in ranges)
    return sum(mapped(tasks, threads=threads))


@kernel
def degree_ranks(u: Positions, v: Positions, nodes: int) -> Positions:
    """The rank of every node by ascending degree; equal degrees keep the order of the nodes.

    >>> degree_ranks(np.array([0, 0], dtype=np.int32), np.array([1, 3], dtype=np.int32), 4)
    array([3, 1, 0, 2], dtype=int32)
    """
    degrees = np.zeros(nodes, dtype=np.int32)
    for edge in range(u.size):
        degrees[u[edge]] += 1
        degrees[v[edge]] += 1
    largest = 0
    for node in range(nodes):
        largest = max(largest, degrees[node])
    free = np.zeros(largest + 2, dtype=np.int32)
    for node in range(nodes):
        free[degrees[node] + 1] += 1
    for degree in range(largest + 1):
        free[degree + 1] += free[degree]
    ranks = np.empty(nodes, dtype=np.int32)
    for node in range(nodes):
        ranks[node] = free[degrees[node]]
        free[degrees[node]] += 1
    return ranks


@kernel
def _outgoing(u: Positions, v: Positions, ranks: Positions) -> tuple[Positions, Positions]:
    """Where the outgoing edges of each rank begin, and the ranks they lead to."""
    starts = np.zeros(ranks.size + 1, dtype=np.int32)
    for edge in range(u.size):
        starts[min(ranks[u[edge]], ranks[v[edge]]) + 1] += 1
    for rank in range(ranks.size):
        starts[rank + 1] += starts[rank]
    heads = np.empty(u.size, dtype=np.int32)
    # Each end is counted down to the begin of its list.
    for edge in range(u.size - 1, -1, -1):
        x, y = ranks[u[edge]], ranks[v[edge]]
        tail = min(x, y)
        starts[tail + 1] -= 1
        heads[starts[tail + 1]] = max(x, y)
    return _shifted(starts, u.size), heads


@kernel
def _shifted(begins: Positions, end: int) -> Positions:
    """Turn the begins of all lists, which are at 1, …, n, into boundaries from 0 to `end`."""
    starts = np.empty(begins.size, dtype=np.int32)
    starts[:-1] = begins[1:]
    starts[-1] = end
    return starts


@kernel
def _count(starts: Positions, heads: Positions, begin: int, end: int) -> int:
    """The triangles whose lowest rank is from `begin` up to, not including, `end`."""
    longest = 0
    for node in range(begin, end):
        longest = max(longest, starts[node + 1] - starts[node])
    begins, ends = np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.int32)
    near = np.zeros(starts.size - 1, dtype=np.uint8)
    found = 0
    for node in range(begin, end):
        first, last = starts[node], starts[node + 1]
        if last - first < 2:
            continue
        # Looked up ahead of the scan, so that the processor waits for all of them at once.
        for index in range(first, last):
            head = heads[index]
            near[head] = 1
            begins[index - first], ends[index - first] = starts[head], starts[head + 1]
        for at in range(last - first):
            for inner in range(begins[at], ends[at]):
                found += near[heads[inner]]
        for index in range(first, last):
            near[heads[index]] = 0
    return found


@kernel
def _node_counts(starts: Positions, heads: Positions) -> Integers:
    nodes = starts.size - 1
    counts = np.zeros(nodes, dtype=np.int64)
    near = np.zeros(nodes, dtype=np.uint8)
    for node in range(nodes):
        first, last = starts[node], starts[node + 1]
        if last - first < 2:
            continue
        for index in range(first, last):
            near[heads[index]] = 1
        for index in range(first, last):
            middle = heads[index]
            for inner in range(starts[middle], starts[middle + 1]):
                if near[heads[inner]]:
                    counts[node] += 1
                    counts[middle] += 1
                    counts[heads[inner]] += 1
        for index in range(first, last):
            near[heads[index]] = 0
    return counts
