"""Edges of a range of nodes from dealt stubs: joined, checked and repaired inside the range.

Every range shuffles its stubs by label and cuts them as the tables say. Two ranges are joined by
putting two slices side by side: both are in random order. A pair that would be a loop or a repeated
edge takes the place of an edge p-q as x-q and p-y, with y and q, or x and p, of one label: degrees
and blocks stay, and both edges are in the range of x and p again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels, Positions
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph._runtime.kernels import KeySet, add_key, has_key, key_set, sort_keys
from psgraph.engines.counter_based import start_stream, uniform
from psgraph.graph.kind import first_end, first_key, pack_pair, second_end
from psgraph.graph.parts import Pairs, Read
from psgraph.methods.plus.stub_tables import Layout, StubTables

__all__ = ["match", "send"]

Integer = int | np.integer[Any]

_DRAWS = 200  # of edges, to repair one pair
_REPAIR = 1 << 20  # the piece of a stream


def send(
    number: int,
    rest: Positions,
    labels: Labels,
    tables: StubTables,
    layout: Layout,
    key: int,
) -> Positions:
    """Return the stubs of a range that the edges of earlier ranges take, range by range."""
    dealt, starts = _deal_range(number, rest, labels, tables, layout, key)
    return _to_earlier(
        dealt, starts, tables.cells[number], tables.to_hubs[number], tables.begins, number
    )


def match(
    item: tuple[int, list[Positions], tuple[Read, ...]],
    rest: Positions,
    labels: Labels,
    tables: StubTables,
    layout: Layout,
    key: int,
) -> Pairs:
    """Return the edges of a range in ascending order.

    Parameters
    ----------
    item
        The number of the range, the stubs that later ranges send, in order, and functions that
        read edges of the range that are there already.
    """
    number, sent, reads = item
    first, _ = layout.bounds(number)
    bits = max(layout.nodes - 1, 1).bit_length()
    dealt, starts = _deal_range(number, rest, labels, tables, layout, key)
    theirs = np.concatenate([np.empty(0, dtype=np.int32), *sent])
    keys = _joined(
        dealt, starts, theirs, tables.cells[number], tables.to_hubs, tables.hubs, tables.begins,
        number, first, bits,
    )  # fmt: skip
    u, v = tables.hub_pairs
    own = slice(*np.searchsorted(u, layout.bounds(number)))
    keys = np.concatenate([keys, _keys(u[own], v[own], first, bits)])
    largest = first_key(layout.width, bits) - 1
    old = np.empty(0, dtype=np.int64)
    for read in reads:
        old = _merged(old, _keys(*read(), first, bits))
    settled = _settled(
        sort_keys(keys, largest=largest), old, labels, first, bits, np.uint64(key), number
    )
    return Pairs(*_taken_apart(settled, first, bits))


def _deal_range(
    number: int,
    rest: Positions,
    labels: Labels,
    tables: StubTables,
    layout: Layout,
    key: int,
) -> tuple[Positions, Integers]:
    first, last = layout.bounds(number)
    groups = tables.cells.shape[1]
    return _deal(rest[first:last], labels[first:last], first, groups, np.uint64(key), number)


@kernel
def _deal(
    rest: Positions, labels: Labels, first: int, groups: int, key: np.uint64, number: int
) -> tuple[Positions, Integers]:
    """The stubs of a range by group, each group in random order, and where the groups begin."""
    starts = np.zeros(groups + 1, dtype=np.int64)
    for node in range(rest.size):
        if labels[node] < groups:
            starts[labels[node] + 1] += rest[node]
    for group in range(groups):
        starts[group + 1] += starts[group]
    free, stubs = starts[:-1].copy(), np.empty(starts[groups], dtype=np.int32)
    for node in range(rest.size):
        group = labels[node]
        if group < groups:
            for _ in range(rest[node]):
                stubs[free[group]] = first + node
                free[group] += 1
    state = np.empty(4, dtype=np.uint64)
    for group in range(groups):
        start_stream(state, key, number, group)
        begin = starts[group]
        for last in range(starts[group + 1] - begin - 1, 0, -1):
            other = int(uniform(state) * (last + 1))
            stubs[begin + last], stubs[begin + other] = stubs[begin + other], stubs[begin + last]
    return stubs, starts


# The slices of a group are in the order of its cells: by range, by group there, and then hubs.


@kernel
def _to_earlier(
    dealt: Positions,
    starts: Integers,
    cells: Positions,
    to_hubs: Positions,
    begins: Integers,
    number: int,
) -> Positions:
    groups, ranges = cells.shape[0], cells.shape[1]
    out, found = np.empty(dealt.size, dtype=np.int32), 0
    for to in range(number):
        for a in range(groups):
            at = starts[a] + cells[a, :to].sum()
            for index in range(at, at + cells[a, to].sum()):
                out[found] = dealt[index]
                found += 1
        for a in range(groups):
            at = starts[a] + cells[a, :ranges].sum() + to_hubs[a, : begins[to]].sum()
            for index in range(at, at + to_hubs[a, begins[to] : begins[to + 1]].sum()):
                out[found] = dealt[index]
                found += 1
    return out[:found].copy()


@kernel
def _joined(
    dealt: Positions,
    starts: Integers,
    theirs: Positions,
    cells: Positions,
    to_hubs: Positions,
    hubs: Positions,
    begins: Integers,
    number: int,
    first: int,
    bits: int,
) -> Integers:
    """The keys of all pairs of a range, in the order of its stubs."""
    groups, ranges = cells.shape[0], cells.shape[1]
    keys, found = np.empty(dealt.size + theirs.size, dtype=np.int64), 0
    at = np.empty((groups, groups), dtype=np.int64)  # where the slices for a range begin
    sent = 0
    for other in range(number, ranges):
        for a in range(groups):
            begin = starts[a] + cells[a, :other].sum()
            for b in range(groups):
                at[a, b] = begin
                begin += cells[a, other, b]
        if other == number:
            for a in range(groups):
                for index in range(0, cells[a, number, a] - 1, 2):
                    x, y = dealt[at[a, a] + index], dealt[at[a, a] + index + 1]
                    keys[found] = _key(x, y, first, bits)
                    found += 1
                for b in range(a + 1, groups):
                    for index in range(cells[a, number, b]):
                        x, y = dealt[at[a, b] + index], dealt[at[b, a] + index]
                        keys[found] = _key(x, y, first, bits)
                        found += 1
            continue
        for b in range(groups):
            for a in range(groups):
                for index in range(cells[a, other, b]):
                    keys[found] = _key(dealt[at[a, b] + index], theirs[sent], first, bits)
                    found += 1
                    sent += 1
        for b in range(groups):
            for hub in range(begins[number], begins[number + 1]):
                for _ in range(to_hubs[other, b, hub]):
                    keys[found] = _key(hubs[hub], theirs[sent], first, bits)
                    found += 1
                    sent += 1
    for a in range(groups):
        index = starts[a] + cells[a].sum() + to_hubs[number, a, : begins[number]].sum()
        for hub in range(begins[number], hubs.size):
            for _ in range(to_hubs[number, a, hub]):
                keys[found] = _key(dealt[index], hubs[hub], first, bits)
                found += 1
                index += 1
    return keys[:found]


@lean_kernel
def _key(x: Integer, y: Integer, first: int, bits: int) -> int:
    return pack_pair(min(x, y) - first, max(x, y), bits)


@kernel
def _keys(u: Positions, v: Positions, first: int, bits: int) -> Integers:
    keys = np.empty(u.size, dtype=np.int64)
    for edge in range(u.size):
        keys[edge] = pack_pair(u[edge] - first, v[edge], bits)
    return keys


@kernel
def _merged(one: Integers, other: Integers) -> Integers:
    """All keys of two sorted lists, sorted."""
    merged, at, here = np.empty(one.size + other.size, dtype=np.int64), 0, 0
    for key in one:
        while here < other.size and other[here] < key:
            merged[at] = other[here]
            here += 1
            at += 1
        merged[at] = key
        at += 1
    merged[at:] = other[here:]
    return merged


@kernel
def _taken_apart(keys: Integers, first: int, bits: int) -> tuple[Positions, Positions]:
    u, v = np.empty(keys.size, dtype=np.int32), np.empty(keys.size, dtype=np.int32)
    for at in range(keys.size):
        u[at], v[at] = first_end(keys[at], bits) + first, second_end(keys[at], bits)
    return u, v


@kernel
def _settled(
    new: Integers,
    old: Integers,
    labels: Labels,
    first: int,
    bits: int,
    key: np.uint64,
    number: int,
) -> Integers:
    """All edges, sorted: the old ones and the new ones, repaired. Pairs beyond repair are missing.

    Both lists are sorted; the old one has no loops or repeats.
    """
    edges = np.empty(new.size + old.size, dtype=np.int64)
    fresh, rejected = np.empty(new.size, dtype=np.int64), np.empty(new.size, dtype=np.int64)
    found = drawn = failed = here = 0
    for at in range(new.size):
        while here < old.size and old[here] < new[at]:
            edges[found] = old[here]
            found += 1
            here += 1
        loop = first_end(new[at], bits) + first == second_end(new[at], bits)
        again = (found > 0 and edges[found - 1] == new[at]) or (
            here < old.size and old[here] == new[at]
        )
        if loop or again:
            rejected[failed] = new[at]
            failed += 1
        else:
            edges[found] = new[at]
            fresh[drawn] = found
            found += 1
            drawn += 1
    while here < old.size:
        edges[found] = old[here]
        found += 1
        here += 1
    edges = edges[:found]
    if failed == 0:
        return edges
    return _repaired(edges, fresh[:drawn], rejected[:failed], labels, first, bits, key, number)


@kernel
def _repaired(
    edges: Integers,
    fresh: Integers,
    rejected: Integers,
    labels: Labels,
    first: int,
    bits: int,
    key: np.uint64,
    number: int,
) -> Integers:
    state = np.empty(4, dtype=np.uint64)
    start_stream(state, key, number, _REPAIR)
    gone = np.zeros(edges.size, dtype=np.uint8)
    added, inserted, found = key_set(2 * rejected.size), np.empty(2 * rejected.size, np.int64), 0
    for pair in rejected:
        x, y = first_end(pair, bits) + first, second_end(pair, bits)
        for draw in range(_DRAWS):
            if edges.size == 0:
                break
            if 2 * draw < _DRAWS and fresh.size > 0:
                at = fresh[int(uniform(state) * fresh.size)]
            else:
                at = int(uniform(state) * edges.size)
            p, q = first_end(edges[at], bits) + first, second_end(edges[at], bits)
            if gone[at] or p in (x, y) or q in (x, y):
                continue
            if labels[q] != labels[y] and labels[p] != labels[x]:
                continue
            one, other = _key(x, q, first, bits), _key(p, y, first, bits)
            if _there(edges, gone, added, one) or _there(edges, gone, added, other):
                continue
            gone[at] = 1
            add_key(added, one)
            add_key(added, other)
            inserted[found], inserted[found + 1] = one, other
            found += 2
            break
    inserted = np.sort(inserted[:found])
    merged, size, here = np.empty(edges.size + found, dtype=np.int64), 0, 0
    for at in range(edges.size):
        while here < found and inserted[here] < edges[at]:
            merged[size] = inserted[here]
            size += 1
            here += 1
        if not gone[at]:
            merged[size] = edges[at]
            size += 1
    while here < found:
        merged[size] = inserted[here]
        size += 1
        here += 1
    return merged[:size]


@lean_kernel
def _there(edges: Integers, gone: NDArray[np.uint8], added: KeySet, key: Integer) -> bool:
    """Whether a pair is an edge by now."""
    left, right = 0, edges.size
    while left < right:
        middle = (left + right) // 2
        if edges[middle] < key:
            left = middle + 1
        else:
            right = middle
    if left < edges.size and edges[left] == key and not gone[left]:
        return True
    return has_key(added, key)
