"""Swap edges until a graph has about a wanted number of triangles.

A swap replaces x-c and b-e by x-b and c-e, where b and c have the same label and the degrees of x
and e differ by at most a factor of two. Degrees and block counts stay exactly as they are, and the
joint degree distribution nearly so (without the second condition, swaps move hubs away from their
neighbours and cost overlap of the central nodes).

Post-processing of a synthetic graph only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers, Labels, Positions
from psgraph._runtime.jit import lean_kernel
from psgraph.engines.base import Edges
from psgraph.methods.plus.neighbours import (
    Lists,
    adjacent,
    common_neighbours,
    neighbour_lists,
    replace,
    to_edges,
)
from psgraph.methods.plus.swap_choices import (
    State,
    Swap,
    below,
    large_neighbour,
    large_wedge,
    searched_whole,
    small_wedge,
    triangle,
)
from psgraph.methods.plus.triangles import count_triangles

__all__ = ["swap_triangles"]

Integer = int | np.integer[Any]

_CLOSE_ENOUGH = 2  # triangles off at which nothing is swapped
_OVERSHOOT = (5, 0.01)  # triangles, and share, that a swap may go beyond the wanted number
_SMALL_IN = 4  # one wedge in four begins at a small node
_PARTNERS = 4  # pairs of edges tried for one wedge
_READS_PER_EDGE = 12  # work limit: adjacency reads per edge, up to sixteen times as many
_READS_PER_TRY = 16
_MORE_TO_ADD, _MORE_TO_REMOVE = 60_000, 500_000  # and a constant, for small graphs
_MOST_READS = 20_000_000  # about half a second on a graph that does not fit the cache


def swap_triangles(
    edges: Edges,
    *,
    nodes: int,
    labels: Labels,
    triangles: int,
    rng: np.random.Generator,
    tolerance: float = 0.02,
    work: int | None = None,
    current: int | None = None,
) -> Edges:
    """Move the number of triangles towards `triangles`; degrees and block counts stay.

    Parameters
    ----------
    edges
        A simple graph; positions u < v in ascending order of (u, v).
    nodes
        Number of nodes.
    labels
        Block label of every node.
    triangles
        Wanted number of triangles.
    rng
        Source of all random choices.
    tolerance
        The share of the wanted number that it may be off before anything is swapped.
    work
        Adjacency reads to spend at most. Default: 12 per edge, up to 192 where triangles are to
        be multiplied, and 60,000 more to add triangles or 500,000 to remove some; at most 2·10⁷.
    current
        The number of triangles of `edges`, where it is known; it is counted otherwise.

    Returns
    -------
    Edges
        The input itself if it is within 2 triangles or the tolerance already, or has no two edges.

    Examples
    --------
    >>> ring = np.arange(6, dtype=np.int32)
    >>> edges = Edges(np.minimum(ring, (ring + 1) % 6), np.maximum(ring, (ring + 1) % 6))
    >>> order = np.lexsort((edges.v, edges.u))
    >>> edges = Edges(edges.u[order], edges.v[order])
    >>> one_label, rng = np.zeros(6, dtype=np.int32), np.random.default_rng(1)
    >>> after = swap_triangles(edges, nodes=6, labels=one_label, triangles=3, rng=rng)
    >>> count_triangles(after, 6)
    2
    """
    if current is None:
        current = count_triangles(edges, nodes)
    close = abs(current - triangles) <= _allowance(triangles, (_CLOSE_ENOUGH, tolerance))
    if close or edges.u.size < 2:
        return edges
    if work is None:
        work = _default_work(edges.u.size, current, triangles)
    lists = neighbour_lists(edges, nodes)
    beyond = _allowance(triangles, _OVERSHOOT)
    move = _swap_in if current < triangles else _swap_out
    state = rng.integers(1 << 63, size=1, dtype=np.uint64)
    move(lists, labels, np.bincount(labels), current, triangles, beyond, work, state)
    return to_edges(lists)


def _allowance(triangles: int, limits: tuple[int, float]) -> int:
    return max(limits[0], int(limits[1] * triangles))


def _default_work(edge_count: int, current: int, wanted: int) -> int:
    ratio = min(max(wanted / max(current, 1), 1.0), 16.0)
    more = _MORE_TO_ADD if current < wanted else _MORE_TO_REMOVE
    return min(int(_READS_PER_EDGE * edge_count * ratio) + more, _MOST_READS)


@lean_kernel
def _swap_in(
    lists: Lists,
    labels: Positions,
    label_sizes: Integers,
    current: int,
    wanted: int,
    beyond: int,
    work: int,
    state: State,
) -> None:
    """Close wedges x-v-b: join x and b, and join what each gives up for it.

    Some of the wedges are between two large nodes, the others begin at a small one: the first
    kind alone leaves the small nodes with too few triangles, the second gives them too many.
    """
    starts, neighbours = lists[0], lists[1]
    while current < wanted and work > 0:
        work -= _READS_PER_TRY
        if below(state, _SMALL_IN) == 0:
            swap = small_wedge(lists, labels, label_sizes, state)
            gain, reads = _try_swap(lists, swap, -1, 1, wanted + beyond - current)
            work -= reads
            current += gain
            continue
        v = neighbours[below(state, neighbours.size)]  # in proportion to degree
        if starts[v + 1] - starts[v] < 2:
            continue
        x, b = large_neighbour(lists, v, state), large_neighbour(lists, v, state)
        if x == b or adjacent(lists, x, b):
            continue
        closed = -1
        # Nothing can be exchanged for b where no other node has its label.
        hopeless, other_way = label_sizes[labels[b]] == 1, label_sizes[labels[x]] == 1
        for _ in range(_PARTNERS):
            x, b = b, x
            hopeless, other_way = other_way, hopeless
            if hopeless:
                continue
            swap = large_wedge(lists, x, b, v, labels, state)
            hopeless = swap[2] < 0 and searched_whole(lists, x)
            if swap[3] >= 0 and closed < 0:
                closed, reads = common_neighbours(lists, x, b)
                work -= reads
            gain, reads = _try_swap(lists, swap, closed, 1, wanted + beyond - current)
            work -= reads
            current += gain
            if gain:
                break


@lean_kernel
def _swap_out(
    lists: Lists,
    labels: Positions,
    label_sizes: Integers,
    current: int,
    wanted: int,
    beyond: int,
    work: int,
    state: State,
) -> None:
    """Open triangles x-a-c: join x to a random node b instead of to c."""
    while current > wanted and work > 0:
        swap = triangle(lists, labels, label_sizes, state)
        gain, reads = _try_swap(lists, swap, -1, wanted - beyond - current, -1)
        work -= _READS_PER_TRY + reads
        current += gain


@lean_kernel
def _try_swap(
    lists: Lists, swap: Swap, closed: Integer, least: int, most: int
) -> tuple[Integer, Integer]:
    """Make a swap if it gains `least` to `most` triangles; its gain, and the reads.

    `closed` is the number of common neighbours of x and b, -1 if it is not known.
    """
    x, b, c, e = swap
    if e < 0:
        return 0, _READS_PER_TRY
    gain, reads = _gain(lists, closed, least, x, b, c, e)
    if least <= gain <= most:
        return gain, reads + _swap(lists, x, b, c, e)
    return 0, reads


@lean_kernel
def _gain(
    lists: Lists,
    closed: Integer,
    least: int,
    x: Integer,
    b: Integer,
    c: Integer,
    e: Integer,
) -> tuple[Integer, Integer]:
    """Triangles gained by replacing x-c and b-e by x-b and c-e, and the reads it took.

    The removed edges close two wedges of the new ones, c between x and b and so on, wherever c-b
    or x-e is an edge. Where triangles are to be gained and x alone loses some, the other edges
    would rarely make up for it and are not looked at.
    """
    reads_xb = 0
    if closed < 0:
        closed, reads_xb = common_neighbours(lists, x, b)
    opened, reads_xc = common_neighbours(lists, x, c)
    reads = reads_xb + reads_xc
    if closed - opened < min(least, 0):
        return closed - opened, reads
    last, reads_be = common_neighbours(lists, b, e)
    other, reads_ce = common_neighbours(lists, c, e)
    lost = 2 * adjacent(lists, b, c) + 2 * adjacent(lists, x, e)
    gain = closed + other - opened - last - lost
    return gain, reads + reads_be + reads_ce


@lean_kernel
def _swap(lists: Lists, x: Integer, b: Integer, c: Integer, e: Integer) -> Integer:
    """Replace x-c and b-e by x-b and c-e; how many list entries had to move."""
    moved = replace(lists, x, c, b) + replace(lists, c, x, e)
    return moved + replace(lists, b, e, x) + replace(lists, e, b, c)
