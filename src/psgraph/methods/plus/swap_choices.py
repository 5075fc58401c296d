"""Choose four nodes for a swap that may open or close triangles.

A swap replaces x-c and b-e by x-b and c-e. Every choice here has b and c with the same label, x
and e with degrees within a factor of two, all four different and neither x-b nor c-e an edge. Work
is bounded: no list is searched further than a few entries from a random one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import lean_kernel
from psgraph.methods.plus.neighbours import Lists, adjacent

__all__ = [
    "State",
    "Swap",
    "below",
    "large_neighbour",
    "large_wedge",
    "searched_whole",
    "small_wedge",
    "triangle",
]

Integer = int | np.integer[Any]

Swap = tuple[np.int32, np.int32, np.int32, np.int32]
"""x, b, c and e; e is -1 where nothing was found."""

State = NDArray[np.uint64]
"""The state of the generator: one number, so that a draw takes a nanosecond."""

_TOURNAMENT = 4  # random neighbours of which the largest is taken
_SCANNED = 16  # entries of a list that are searched
_NONE = np.int32(-1)


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
