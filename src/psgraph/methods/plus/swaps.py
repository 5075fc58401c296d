"""Swap edges until a graph has about a wanted number of triangles.

A swap replaces a-c and b-e by a-b and c-e, where b and c have the same label and the degrees of a
and e differ by at most a factor of two. Degrees and block counts stay exactly as they are, and the
joint degree distribution nearly so (without the second condition, swaps move hubs away from their
neighbours and cost overlap of the central nodes).

Post-processing of a synthetic graph only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.engines.base import Edges, Labels
from psgraph.methods.plus.neighbours import (
    Lists,
    adjacent,
    common_neighbours,
    neighbour_lists,
    replace,
    to_edges,
)
from psgraph.methods.plus.triangles import count_triangles

__all__ = ["swap_triangles"]

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]
Integer = int | np.integer[Any]

_CLOSE_ENOUGH = 2  # triangles off at which nothing is swapped
_OVERSHOOT = (5, 0.01)  # triangles, and share, that a swap may go beyond the wanted number
_TOURNAMENT = 4  # random neighbours of which the largest is taken
_SCANNED = 16  # neighbours tried as the other end of an edge to remove
_READS_PER_EDGE = 40  # work limit: adjacency reads per edge, up to four times as many
_READS_PER_TRY = 16
_READS_PER_PARTNER = 16
_PARTNERS = 4  # pairs of edges tried for one wedge
_MORE_READS = 500_000  # and a constant, some 3 ms, that lets small graphs reach their number
_MOST_READS = 40_000_000  # about a second on a graph that does not fit the cache


def swap_triangles(
    edges: Edges,
    *,
    nodes: int,
    labels: Labels,
    triangles: int,
    rng: np.random.Generator,
    current: int | None = None,
    tolerance: float = 0.02,
    work: int | None = None,
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
    current
        Number of triangles that `edges` has, counted if not given.
    tolerance
        The share of the wanted number that it may be off before anything is swapped.
    work
        Adjacency reads to spend at most. Default: 500,000 plus 40 per edge, up to 160 where
        triangles are to be multiplied, and at most 4·10⁷.

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
    move(lists, labels, np.bincount(labels), current, triangles, beyond, work, rng)
    return to_edges(lists)


def _allowance(triangles: int, limits: tuple[int, float]) -> int:
    return max(limits[0], int(limits[1] * triangles))


def _default_work(edge_count: int, current: int, wanted: int) -> int:
    ratio = min(max(wanted / max(current, 1), 1.0), 4.0)
    return min(int(_READS_PER_EDGE * edge_count * ratio) + _MORE_READS, _MOST_READS)


@kernel
def _swap_in(
    lists: Lists,
    labels: Positions,
    label_sizes: Integers,
    current: int,
    wanted: int,
    beyond: int,
    work: int,
    rng: np.random.Generator,
) -> None:
    """Close wedges a-v-b: join a and b, and join what each gives up for it."""
    starts, neighbours = lists[0], lists[1]
    while current < wanted and work > 0:
        work -= _READS_PER_TRY
        v = neighbours[int(rng.random() * neighbours.size)]  # in proportion to degree
        if starts[v + 1] - starts[v] < 2:
            continue
        a = _large_neighbour(lists, v, rng)
        b = _large_neighbour(lists, v, rng)
        if a == b or adjacent(lists, a, b):
            continue
        for _ in range(_PARTNERS):
            a, b = b, a
            if label_sizes[labels[b]] == 1:  # no other node has the label of b
                continue
            work -= _READS_PER_PARTNER
            c = _like(lists, a, b, v, labels, rng)
            if c < 0:
                continue
            e = _end_to_remove(lists, a, b, c, v, rng)
            if e < 0:
                continue
            gain, reads = _gain(lists, a, b, c, e)
            work -= reads
            if gain > 0 and current + gain <= wanted + beyond:
                work -= _swap(lists, a, b, c, e)
                current += gain
                break


@kernel
def _swap_out(
    lists: Lists,
    labels: Positions,
    label_sizes: Integers,
    current: int,
    wanted: int,
    beyond: int,
    work: int,
    rng: np.random.Generator,
) -> None:
    """Swap random edges a-c and b-e that are in more triangles than a-b and c-e would be."""
    starts, neighbours = lists[0], lists[1]
    while current > wanted and work > 0:
        work -= _READS_PER_TRY
        a = neighbours[int(rng.random() * neighbours.size)]
        c = neighbours[starts[a] + int(rng.random() * (starts[a + 1] - starts[a]))]
        if label_sizes[labels[c]] == 1:
            a, c = c, a
        b = neighbours[int(rng.random() * neighbours.size)]
        if labels[b] != labels[c] or a == b or b == c or adjacent(lists, a, b):
            continue
        e = _end_to_remove(lists, a, b, c, -1, rng)
        if e < 0:
            continue
        gain, reads = _gain(lists, a, b, c, e)
        work -= reads
        if gain < 0 and current + gain >= wanted - beyond:
            work -= _swap(lists, a, b, c, e)
            current += gain


@kernel
def _large_neighbour(lists: Lists, v: Integer, rng: np.random.Generator) -> Integer:
    """The largest of a few random neighbours of v."""
    starts, neighbours = lists[0], lists[1]
    begin, count = starts[v], starts[v + 1] - starts[v]
    largest, degree = neighbours[begin], -1
    for _ in range(_TOURNAMENT):
        x = neighbours[begin + int(rng.random() * count)]
        if starts[x + 1] - starts[x] > degree:
            largest, degree = x, starts[x + 1] - starts[x]
    return largest


@kernel
def _like(
    lists: Lists,
    a: Integer,
    b: Integer,
    v: Integer,
    labels: Positions,
    rng: np.random.Generator,
) -> Integer:
    """A neighbour of a, not b or v, with the label of b; -1 if none is found."""
    starts, neighbours = lists[0], lists[1]
    begin, count = starts[a], starts[a + 1] - starts[a]
    index = int(rng.random() * count)
    for _ in range(min(_SCANNED, count)):
        c = neighbours[begin + index]
        if labels[c] == labels[b] and c != b and c != v:
            return c
        index = index + 1 if index + 1 < count else 0
    return -1


@kernel
def _end_to_remove(
    lists: Lists,
    a: Integer,
    b: Integer,
    c: Integer,
    v: Integer,
    rng: np.random.Generator,
) -> Integer:
    """A neighbour e of b, not a, c or v, about as large as a and not adjacent to c; else -1."""
    starts, neighbours = lists[0], lists[1]
    begin, count = starts[b], starts[b + 1] - starts[b]
    degree = starts[a + 1] - starts[a]
    index = int(rng.random() * count)
    for _ in range(min(_SCANNED, count)):
        e = neighbours[begin + index]
        other = starts[e + 1] - starts[e]
        alike = other <= 2 * degree and degree <= 2 * other
        apart = e != a and e != c and e != v
        if alike and apart and not adjacent(lists, c, e):
            return e
        index = index + 1 if index + 1 < count else 0
    return -1


@kernel
def _gain(lists: Lists, a: Integer, b: Integer, c: Integer, e: Integer) -> tuple[Integer, Integer]:
    """Triangles gained by replacing a-c and b-e by a-b and c-e, and the reads it took.

    The removed edges close two wedges of the new ones, c between a and b and so on, wherever c-b
    or a-e is an edge.
    """
    closed, reads_ab = common_neighbours(lists, a, b)
    other, reads_ce = common_neighbours(lists, c, e)
    opened, reads_ac = common_neighbours(lists, a, c)
    last, reads_be = common_neighbours(lists, b, e)
    lost = 2 * adjacent(lists, b, c) + 2 * adjacent(lists, a, e)
    gain = closed + other - opened - last - lost
    return gain, reads_ab + reads_ce + reads_ac + reads_be


@kernel
def _swap(lists: Lists, a: Integer, b: Integer, c: Integer, e: Integer) -> Integer:
    """Replace a-c and b-e by a-b and c-e; how many list entries had to move."""
    moved = replace(lists, a, c, b) + replace(lists, c, a, e)
    return moved + replace(lists, b, e, a) + replace(lists, e, b, c)
