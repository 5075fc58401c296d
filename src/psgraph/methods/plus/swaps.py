"""Swap edges until a graph has about a wanted number of triangles.

A swap replaces x-c and b-e by x-b and c-e, where b and c have the same label and the degrees of x
and e differ by at most a factor of two. Degrees and block counts stay exactly as they are, and the
joint degree distribution nearly so (without the second condition, swaps move hubs away from their
neighbours and cost overlap of the central nodes). Old edges are spared while others can be found,
and the most lasting of them always. Post-processing of a synthetic graph only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels, Positions
from psgraph._runtime.jit import lean_kernel
from psgraph._runtime.kernels import KeySet, add_key, has_key, key_set
from psgraph.graph.kind import Edges, pack_unordered
from psgraph.methods.plus.neighbours import (
    Lists,
    adjacent,
    common_neighbours,
    neighbour_lists,
    replace,
    to_edges,
)
from psgraph.methods.plus.triangles import count_triangles

__all__ = ["State", "below", "swap_triangles"]

Integer = int | np.integer[Any]

Swap = tuple[np.int32, np.int32, np.int32, np.int32]  # x, b, c and e; e is -1: nothing found
State = NDArray[np.uint64]  # of the generator: one number, so that a draw takes a nanosecond

_CLOSE_ENOUGH = 2  # triangles off at which nothing is swapped
_OVERSHOOT = (5, 0.01)  # triangles, and share, that a swap may go beyond the wanted number
_SMALL_OF = 4  # wedges, of which one begins at a small node unless more are asked for
_PARTNERS = 4  # pairs of edges tried for one wedge
_READS_PER_EDGE = 12  # work limit: adjacency reads per edge, up to sixteen times as many
_SPARING = 0.5  # times the work is spent before old edges are swapped
_LASTING = 0.4  # of the old edges are never swapped
_READS_PER_TRY = 16
_MORE_TO_ADD, _MORE_TO_REMOVE = 60_000, 500_000  # and a constant, for small graphs
_MOST_READS = 20_000_000  # about half a second on a graph that does not fit the cache
_TOURNAMENT = 4  # random neighbours of which the largest is taken
_SCANNED = 16  # entries of a list that are searched
_NONE = np.int32(-1)


def swap_triangles(
    edges: Edges,
    *,
    nodes: int,
    labels: Labels,
    triangles: int,
    rng: np.random.Generator,
    tolerance: float = 0.02,
    work: int | None = None,
    patience: float = 1.0,
    current: int | None = None,
    spared: tuple[Positions, Positions] | None = None,
    small: int = 1,
) -> Edges:
    """Move the number of triangles towards `triangles`; degrees and block counts stay.

    Parameters
    ----------
    edges, nodes
        A simple graph, positions u < v in ascending order of (u, v), and its number of nodes.
    labels
        Block label of every node.
    triangles
        Wanted number of triangles.
    tolerance
        The share of the wanted number that it may be off before anything is swapped.
    work
        Adjacency reads to spend at most. Default: 12 per edge, up to 192 where triangles are to
        be multiplied, and 60,000 more to add triangles or 500,000 to remove some; at most 2·10⁷.
    patience
        How many times as much to spend by default. Running out of work is what keeps swaps from
        making too many small cliques.
    current
        The number of triangles of `edges`, where it is known; it is counted otherwise.
    spared
        Ends of edges to leave as they are, the most lasting first. Others are swapped first; if
        they do not suffice, all but the first two fifths of these.
    small
        How many of four wedges that are closed begin at a small node.

    Returns the input itself if it is within 2 triangles or the tolerance, or has no two edges.

    Examples
    --------
    >>> ring = [0, 0, 1, 2, 3, 4], [1, 5, 2, 3, 4, 5]
    >>> edges = Edges(*(np.array(ends, dtype=np.int32) for ends in ring))
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
        work = int(_default_work(edges.u.size, current, triangles) * patience)
    lists = neighbour_lists(edges, nodes)
    beyond = _allowance(triangles, _OVERSHOOT)
    adds = current < triangles
    state = rng.integers(1 << 63, size=1, dtype=np.uint64)
    sizes = np.bincount(labels)
    old_u, old_v = (labels[:0], labels[:0]) if spared is None else spared
    for part, times in ((1.0, _SPARING), (_LASTING, 1.0)):
        count = round(part * old_u.size)
        keys = key_set(count)
        _add_pairs(keys, old_u[:count], old_v[:count])
        most = int(times * work)
        limits = (current, triangles, beyond, most)
        if adds:
            current = _swap_in(lists, labels, sizes, keys, *limits, small, state)
        else:
            current = _swap_out(lists, labels, sizes, keys, *limits, state)
    return to_edges(lists)


@lean_kernel
def _add_pairs(keys: KeySet, u: Positions, v: Positions) -> None:
    for edge in range(u.size):
        add_key(keys, pack_unordered(u[edge], v[edge]))


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
    spared: KeySet,
    current: int,
    wanted: int,
    beyond: int,
    work: int,
    small: int,
    state: State,
) -> int:
    """Close wedges x-v-b: join x and b, and join what each gives up for it.

    Some of the wedges are between two large nodes, the others begin at a small one: the first
    kind alone leaves the small nodes with too few triangles, the second gives them too many.
    """
    starts, neighbours = lists[0], lists[1]
    while current < wanted and work > 0:
        work -= _READS_PER_TRY
        if below(state, _SMALL_OF) < small:
            swap = small_wedge(lists, labels, label_sizes, state)
            gain, reads = _try_swap(lists, swap, spared, -1, 1, wanted + beyond - current)
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
            gain, reads = _try_swap(lists, swap, spared, closed, 1, wanted + beyond - current)
            work -= reads
            current += gain
            if gain:
                break
    return current


@lean_kernel
def _swap_out(
    lists: Lists,
    labels: Positions,
    label_sizes: Integers,
    spared: KeySet,
    current: int,
    wanted: int,
    beyond: int,
    work: int,
    state: State,
) -> int:
    """Open triangles x-a-c: join x to a random node b instead of to c."""
    while current > wanted and work > 0:
        swap = triangle(lists, labels, label_sizes, state)
        gain, reads = _try_swap(lists, swap, spared, -1, wanted - beyond - current, -1)
        work -= _READS_PER_TRY + reads
        current += gain
    return current


@lean_kernel
def _try_swap(
    lists: Lists, swap: Swap, spared: KeySet, closed: Integer, least: int, most: int
) -> tuple[Integer, Integer]:
    """Make a swap of edges not spared if it gains `least` to `most` triangles; gain and reads.

    `closed` is the number of common neighbours of x and b, -1 if it is not known.
    """
    x, b, c, e = swap
    if e < 0 or has_key(spared, pack_unordered(x, c)) or has_key(spared, pack_unordered(b, e)):
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


# ---- the choice of four nodes: all different, neither x-b nor c-e an edge. No list is searched
# further than a few entries from a random one.


@lean_kernel
def below(state: State, limit: Integer) -> int:
    """A uniform integer from 0 to limit - 1, limit < 2³² (SplitMix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    high = (mixed >> np.uint64(32)) * np.uint64(limit) >> np.uint64(32)
    return np.int64(high)  # type: ignore[return-value]


@lean_kernel
def large_neighbour(lists: Lists, v: Integer, state: State) -> np.int32:
    """The largest of a few random neighbours of v."""
    starts, neighbours = lists[0], lists[1]
    begin, count = starts[v], starts[v + 1] - starts[v]
    largest, degree = neighbours[begin], -1
    for _ in range(_TOURNAMENT):
        x = neighbours[begin + below(state, count)]
        if starts[x + 1] - starts[x] > degree:
            largest, degree = x, starts[x + 1] - starts[x]
    return largest


@lean_kernel
def large_wedge(
    lists: Lists,
    x: np.int32,
    b: np.int32,
    v: np.int32,
    labels: Positions,
    state: State,
) -> Swap:
    """Close the wedge x-v-b: c is a neighbour of x, e one of b."""
    starts, neighbours = lists[0], lists[1]
    begin, count = starts[x], starts[x + 1] - starts[x]
    index = below(state, count)
    for _ in range(min(_SCANNED, count)):
        c = neighbours[begin + index]
        if labels[c] == labels[b] and c != b and c != v:
            return x, b, c, _end_to_remove(lists, x, b, c, v, state)
        index = index + 1 if index + 1 < count else 0
    return x, b, _NONE, _NONE


@lean_kernel
def searched_whole(lists: Lists, x: Integer) -> bool:
    """Whether a search in the list of x looks at every entry, so that another finds no more."""
    return bool(lists[0][x + 1] - lists[0][x] <= _SCANNED)


@lean_kernel
def small_wedge(lists: Lists, labels: Positions, label_sizes: Integers, state: State) -> Swap:
    """Close a wedge x-v-b at a small b, which gives up e: e-b-v is no triangle."""
    starts, neighbours = lists[0], lists[1]
    b, v = _random_edge(lists, state)
    e = _other_neighbour(lists, b, v, state)
    if e < 0 or label_sizes[labels[b]] == 1 or adjacent(lists, v, e):
        return _NONE, b, _NONE, _NONE
    begin, count = starts[v], starts[v + 1] - starts[v]
    index = below(state, count)
    for _ in range(min(_SCANNED, count)):
        x = neighbours[begin + index]
        if x != b and _alike(starts, x, e) and not adjacent(lists, x, b):
            c = _same_label(lists, x, b, e, v, labels, state)
            return x, b, c, e if c >= 0 else _NONE
        index = index + 1 if index + 1 < count else 0
    return _NONE, b, _NONE, _NONE


@lean_kernel
def triangle(lists: Lists, labels: Positions, label_sizes: Integers, state: State) -> Swap:
    """Open a triangle x-v-c at a small x, which gets a random neighbour b instead of c."""
    neighbours = lists[1]
    x, v = _random_edge(lists, state)
    c = _other_neighbour(lists, x, v, state)
    if c < 0 or label_sizes[labels[c]] == 1 or not adjacent(lists, v, c):
        return x, _NONE, c, _NONE
    for _ in range(_SCANNED):
        b = neighbours[below(state, neighbours.size)]
        if labels[b] == labels[c] and b != x and b != c and not adjacent(lists, x, b):
            return x, b, c, _end_to_remove(lists, x, b, c, v, state)
    return x, _NONE, c, _NONE


@lean_kernel
def _random_edge(lists: Lists, state: State) -> tuple[np.int32, np.int32]:
    """A random edge, the end with the lower degree first."""
    starts, neighbours = lists[0], lists[1]
    one = neighbours[below(state, neighbours.size)]
    other = neighbours[starts[one] + below(state, starts[one + 1] - starts[one])]
    if starts[other + 1] - starts[other] > starts[one + 1] - starts[one]:
        return one, other
    return other, one


@lean_kernel
def _other_neighbour(lists: Lists, x: np.int32, v: np.int32, state: State) -> np.int32:
    """A random neighbour of x that is not v; -1 if there is none."""
    starts, neighbours = lists[0], lists[1]
    begin, count = starts[x], starts[x + 1] - starts[x]
    index = below(state, count)
    if neighbours[begin + index] == v:
        index = index + 1 if index + 1 < count else 0
    c = neighbours[begin + index]
    return c if c != v else _NONE


@lean_kernel
def _alike(starts: Positions, x: Integer, y: Integer) -> bool:
    """Whether the degrees of x and y are within a factor of two."""
    one, other = starts[x + 1] - starts[x], starts[y + 1] - starts[y]
    return bool(one <= 2 * other and other <= 2 * one)


@lean_kernel
def _end_to_remove(
    lists: Lists,
    x: np.int32,
    b: np.int32,
    c: np.int32,
    v: np.int32,
    state: State,
) -> np.int32:
    """A neighbour e of b, not x, c or v, about as large as x and not adjacent to c; else -1."""
    starts, neighbours = lists[0], lists[1]
    begin, count = starts[b], starts[b + 1] - starts[b]
    index = below(state, count)
    for _ in range(min(_SCANNED, count)):
        e = neighbours[begin + index]
        apart = e != x and e != c and e != v
        if apart and _alike(starts, x, e) and not adjacent(lists, c, e):
            return e
        index = index + 1 if index + 1 < count else 0
    return _NONE


@lean_kernel
def _same_label(
    lists: Lists,
    x: np.int32,
    b: np.int32,
    e: np.int32,
    v: np.int32,
    labels: Positions,
    state: State,
) -> np.int32:
    """A neighbour c of x, not e or v, with the label of b; not adjacent to e or v; else -1."""
    starts, neighbours = lists[0], lists[1]
    begin, count = starts[x], starts[x + 1] - starts[x]
    index = below(state, count)
    for _ in range(min(_SCANNED, count)):
        c = neighbours[begin + index]
        apart = labels[c] == labels[b] and c != e and c != v
        if apart and not adjacent(lists, c, e) and not adjacent(lists, c, v):
            return c
        index = index + 1 if index + 1 < count else 0
    return _NONE
