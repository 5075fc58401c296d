"""Neighbour lists whose edges can be swapped without changing a degree.

The largest nodes have a bitmap of their neighbours, so that the common neighbours of a hub and any
other node take as many reads as that node has neighbours. The lists of all other nodes are sorted
and stay so. Compiled code passes the four arrays around as one tuple.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph._runtime.kernels import adjacency
from psgraph.graph.kind import Edges

__all__ = ["Lists", "adjacent", "common_neighbours", "neighbour_lists", "replace", "to_edges"]

Bitmaps = NDArray[np.uint64]
Integer = int | np.integer[Any]

Lists = tuple[Positions, Positions, Positions, Bitmaps]
"""Where every list starts, the lists, the bitmap row of every node or -1, and the bitmaps."""

_BITS_PER_ENTRY = 64  # the bitmaps take at most 8 bytes per node and edge,
_FEWEST_BITS = 1 << 25  # or 4 MB
_SMALLEST_HUB = 16  # degree from which a bitmap pays
_BLOCK = 32


def neighbour_lists(edges: Edges, nodes: int) -> Lists:
    """Neighbour lists of a simple graph with sorted edges. O(n + m) time and memory.

    >>> path = Edges(np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32))
    >>> starts, neighbours, _, _ = neighbour_lists(path, 3)
    >>> starts.tolist(), neighbours.tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1])
    """
    starts, neighbours = adjacency(edges.u, edges.v, nodes)
    degrees = np.diff(starts)
    hubs = np.flatnonzero(degrees >= _SMALLEST_HUB)
    most = max(_BITS_PER_ENTRY * (nodes + edges.u.size), _FEWEST_BITS) // max(nodes, 1)
    hubs = hubs[np.argsort(-degrees[hubs], kind="stable")[:most]]
    rows = np.full(nodes, -1, dtype=np.int32)
    rows[hubs] = np.arange(hubs.size, dtype=np.int32)
    bitmaps = np.zeros((hubs.size, nodes // 64 + 1), dtype=np.uint64)
    _fill_bitmaps(starts, neighbours, hubs, bitmaps)
    return starts.astype(np.int32), neighbours, rows, bitmaps


def to_edges(lists: Lists) -> Edges:
    """Turn neighbour lists back into sorted edges."""
    return Edges(*_list_edges(lists[0], lists[1]))


@lean_kernel
def adjacent(lists: Lists, x: Integer, y: Integer) -> bool:
    """Whether x and y are adjacent."""
    starts, neighbours, rows, bitmaps = lists
    if rows[x] >= 0:
        return bool(_bit(bitmaps, rows[x], y))
    if rows[y] >= 0:
        return bool(_bit(bitmaps, rows[y], x))
    if starts[x + 1] - starts[x] > starts[y + 1] - starts[y]:
        x, y = y, x
    for index in range(starts[x], starts[x + 1]):
        if neighbours[index] >= y:
            return bool(neighbours[index] == y)
    return False


@lean_kernel
def common_neighbours(lists: Lists, x: Integer, y: Integer) -> tuple[int, int]:
    """Number of common neighbours of x and y, and of the reads it took."""
    starts, neighbours, rows, bitmaps = lists
    if starts[x + 1] - starts[x] > starts[y + 1] - starts[y]:
        x, y = y, x
    i, j, end_x, end_y = starts[x], starts[y], starts[x + 1], starts[y + 1]
    found = 0
    row = rows[y]
    if row >= 0:
        for index in range(i, end_x):
            found += _bit(bitmaps, row, neighbours[index])
        return found, end_x - i
    reads = end_x - i + end_y - j
    while i < end_x and j < end_y:
        one, other = neighbours[i], neighbours[j]
        found += int(one == other)
        i += one <= other
        j += other <= one
    return found, reads


@lean_kernel
def replace(lists: Lists, x: Integer, old: Integer, new: Integer) -> int:
    """Put `new` into the list of x instead of `old`; how many entries had to be read."""
    starts, neighbours, rows, bitmaps = lists
    begin, end = starts[x], starts[x + 1]
    at = _index_of(neighbours, begin, int(end), old)
    if rows[x] >= 0:
        neighbours[at] = new
        _flip(bitmaps, rows[x], old)
        _flip(bitmaps, rows[x], new)
        return (end - begin) // _BLOCK
    while at + 1 < end and neighbours[at + 1] < new:
        neighbours[at] = neighbours[at + 1]
        at += 1
    while at > begin and neighbours[at - 1] > new:
        neighbours[at] = neighbours[at - 1]
        at -= 1
    neighbours[at] = new
    return end - begin


@lean_kernel
def _index_of(neighbours: Positions, begin: Integer, end: Integer, y: Integer) -> Integer:
    """Where y is in a list; searched in blocks, which the processor compares at once."""
    while begin + _BLOCK <= end:
        found = 0
        for offset in range(_BLOCK):
            found += neighbours[begin + offset] == y
        if found > 0:
            break
        begin += _BLOCK
    while neighbours[begin] != y:
        begin += 1
    return begin


@kernel
def _fill_bitmaps(
    starts: Integers, neighbours: Positions, hubs: Integers, bitmaps: Bitmaps
) -> None:
    for row in range(hubs.size):
        for index in range(starts[hubs[row]], starts[hubs[row] + 1]):
            _flip(bitmaps, row, neighbours[index])


@lean_kernel
def _flip(bitmaps: Bitmaps, row: Integer, y: Integer) -> None:
    bitmaps[row, y >> 6] ^= np.uint64(1) << np.uint64(y & 63)


@lean_kernel
def _bit(bitmaps: Bitmaps, row: Integer, y: Integer) -> int:
    return np.int64((bitmaps[row, y >> 6] >> np.uint64(y & 63)) & np.uint64(1))  # type: ignore[return-value]


@kernel
def _list_edges(starts: Positions, neighbours: Positions) -> tuple[Positions, Positions]:
    """Edges in ascending order from lists in any order: each node is appended to smaller ones."""
    nodes = starts.size - 1
    free = np.zeros(nodes + 1, dtype=np.int32)
    for node in range(nodes):
        for index in range(starts[node], starts[node + 1]):
            free[node + 1] += neighbours[index] > node
    for node in range(nodes):
        free[node + 1] += free[node]
    u = np.empty(neighbours.size // 2, dtype=np.int32)
    v = np.empty(neighbours.size // 2, dtype=np.int32)
    for node in range(nodes):
        for index in range(starts[node], starts[node + 1]):
            smaller = neighbours[index]
            if smaller < node:
                u[free[smaller]], v[free[smaller]] = smaller, node
                free[smaller] += 1
    return u, v
