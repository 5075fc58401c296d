"""Stubs that ranges could not join: a few pairs of nodes, joined across all parts of a graph.

A pair x-y that can't be an edge takes the place of a random edge p-q as x-q and p-y, whatever the
labels. Parts say which edges have the numbers drawn, and which pairs are edges already; the few
changes are decided in one place and applied to parts when they are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions, Words
from psgraph._runtime.jit import kernel
from psgraph.engines.counter_based import uniform
from psgraph.engines.runner import Job, Runner
from psgraph.graph.kind import UNDIRECTED, first_key, key_bits, pack_pair, unpack
from psgraph.graph.parts import Read
from psgraph.methods.plus.contingency import stream
from psgraph.methods.plus.kept_parts import add_degrees
from psgraph.methods.plus.spans import Changed
from psgraph.methods.plus.stub_tables import Layout

__all__ = ["completed"]

ROUNDS = 12
PROPOSALS = 8  # edges drawn for one pair in a round


def completed(
    runner: Runner,
    reads: Sequence[Read],
    layout: Layout,
    degrees: Integers,
    edge_count: int,
    key: int,
) -> tuple[list[Read], int]:
    """Return parts with the edges that are missing, and how many edges they have.

    Degrees are met as far as they can be; then random pairs, in proportion to the degrees, are
    added up to the edge count.
    """
    (have,) = runner.sum(Job(add_degrees, reads), sizes=(layout.nodes,))
    stubs = np.repeat(np.arange(layout.nodes), np.maximum(degrees - have, 0))
    changes = _Changes(runner, reads, layout, stream(key, 0))
    for _ in range(ROUNDS):
        room = 2 * (edge_count - changes.edges)
        if min(stubs.size, room) < 2:
            break
        _shuffle(changes.state, stubs)
        stubs = changes.join(stubs, room)
    for _ in range(ROUNDS):
        missing = edge_count - changes.edges
        if missing <= 0:
            break
        changes.pad(missing)
    return changes.parts(), changes.edges


class _Changes:
    """Edges removed from the parts of a graph and added to them, so far."""

    def __init__(self, runner: Runner, reads: Sequence[Read], layout: Layout, state: Words) -> None:
        self._runner, self._reads, self._layout, self.state = runner, reads, layout, state
        self._ends = np.cumsum(list(runner.map(Job(_size, reads))), dtype=np.int64)
        self._bits = key_bits(layout.nodes)
        self._removed, self._added = set[int](), set[int]()

    @property
    def edges(self) -> int:
        """How many edges there are now."""
        total = int(self._ends[-1]) if self._ends.size else 0
        return total + len(self._added) - len(self._removed)

    def join(self, stubs: Integers, room: int) -> Integers:
        """Join stubs in pairs where that is possible; those that are left."""
        left = []
        count = min(stubs.size, room) // 2
        x, y = stubs[: 2 * count : 2], stubs[1 : 2 * count : 2]
        p, q = self._drawn_edges(PROPOSALS * count)
        several = np.repeat(x, PROPOSALS), np.repeat(y, PROPOSALS)
        direct = self._keys(x, y)
        removed, one, other = self._keys(p, q), self._keys(several[0], q), self._keys(p, several[1])
        there = self._there(np.concatenate([direct, one, other]))
        for at in range(count):
            if x[at] != y[at] and not self._taken(int(direct[at]), there):
                self._added.add(int(direct[at]))
                continue
            for row in range(PROPOSALS * at, PROPOSALS * (at + 1) if p.size else 0):
                ends = {int(x[at]), int(y[at])} & {int(p[row]), int(q[row])}
                gone, first, second = int(removed[row]), int(one[row]), int(other[row])
                free = not self._taken(first, there) and not self._taken(second, there)
                if not ends and free and first != second and self._remove(gone):
                    self._added |= {first, second}
                    break
            else:
                left += [x[at], y[at]]
        return np.concatenate([np.asarray(left, dtype=np.int64), stubs[2 * count :]])

    def pad(self, missing: int) -> None:
        """Add random pairs, their ends in proportion to the degrees; some uniform ones as well."""
        x, _ = self._drawn_edges(missing)
        _, y = self._drawn_edges(missing)
        nodes = _below(self.state, 2 * PROPOSALS, self._layout.nodes)
        x, y = np.concatenate([x, nodes[::2]]), np.concatenate([y, nodes[1::2]])
        keys = self._keys(x, y)
        there = self._there(keys)
        for at, key in enumerate(keys.tolist()):
            if missing and x[at] != y[at] and not self._taken(key, there):
                self._added.add(key)
                missing -= 1

    def parts(self) -> list[Read]:
        """Return functions that read the parts as they are now."""
        removed, added = (
            np.array(sorted(keys), dtype=np.int64) for keys in (self._removed, self._added)
        )
        bounds = [first_key(at * self._layout.width, self._bits) for at in range(len(self._reads))]
        found: list[Read] = []
        without = np.split(removed, np.searchsorted(removed, bounds[1:]))
        more = np.split(added, np.searchsorted(added, bounds[1:]))
        for read, less, new in zip(self._reads, without, more, strict=True):
            changed = less.size or new.size
            found.append(Changed(read, less, new, self._layout.nodes) if changed else read)
        return found

    def _remove(self, key: int) -> bool:
        """Remove an edge of the parts; False if that was done before."""
        if key in self._removed:
            return False
        self._removed.add(key)
        return True

    def _taken(self, key: int, there: set[int]) -> bool:
        return key in self._added or (key in there and key not in self._removed)

    def _keys(self, x: Integers, y: Integers) -> Integers:
        return UNDIRECTED.keys(*UNDIRECTED.ordered(x, y), self._bits)

    def _drawn_edges(self, count: int) -> tuple[Integers, Integers]:
        """Draw edges of the parts, with repetition, their ends in random order."""
        if not self._ends.size or not self._ends[-1]:
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing
        numbers = _below(self.state, count, int(self._ends[-1]))
        order = np.argsort(numbers, kind="stable")
        cuts = np.searchsorted(numbers[order], self._ends)
        starts = self._ends - np.diff(self._ends, prepend=0)
        pieces = np.split(numbers[order], cuts[:-1])
        items = [
            (read, piece - start)
            for read, piece, start in zip(self._reads, pieces, starts, strict=True)
            if piece.size
        ]
        keys = np.empty(count, dtype=np.int64)
        found = list(self._runner.map(Job(_edges_at, items, (self._bits,))))
        keys[order] = np.concatenate([np.empty(0, dtype=np.int64), *found])
        u, v = (end.astype(np.int64) for end in unpack(keys, self._bits))
        turned = _below(self.state, count, 2) == 1
        return np.where(turned, v, u), np.where(turned, u, v)

    def _there(self, keys: Integers) -> set[int]:
        """Which pairs are edges of the parts."""
        keys = np.unique(keys)
        bounds = [first_key(at * self._layout.width, self._bits) for at in range(len(self._reads))]
        pieces = np.split(keys, np.searchsorted(keys, bounds[1:]))
        items = [
            (read, piece) for read, piece in zip(self._reads, pieces, strict=True) if piece.size
        ]
        found = self._runner.map(Job(_existing, items, (self._bits,)))
        return {key for some in found for key in some.tolist()}


def _size(read: Read) -> int:
    return int(read().u.size)


def _edges_at(item: tuple[Read, Integers], bits: int) -> Integers:
    read, numbers = item
    u, v = read()
    return UNDIRECTED.keys(u[numbers], v[numbers], bits)


def _existing(item: tuple[Read, Integers], bits: int) -> Integers:
    read, keys = item
    return keys[_among(*read(), keys, bits)]


@kernel
def _among(u: Positions, v: Positions, keys: Integers, bits: int) -> NDArray[np.bool_]:
    """Which of the keys are edges."""
    found = np.zeros(keys.size, dtype=np.bool_)
    for at in range(keys.size):
        left, right = 0, u.size
        while left < right:
            middle = (left + right) // 2
            if pack_pair(u[middle], v[middle], bits) < keys[at]:
                left = middle + 1
            else:
                right = middle
        found[at] = left < u.size and pack_pair(u[left], v[left], bits) == keys[at]
    return found


@kernel
def _below(state: Words, count: int, limit: int) -> Integers:
    """Uniform integers below a limit."""
    drawn = np.empty(count, dtype=np.int64)
    for at in range(count):
        drawn[at] = int(uniform(state) * limit)
    return drawn


@kernel
def _shuffle(state: Words, values: Integers) -> None:
    for last in range(values.size - 1, 0, -1):
        other = int(uniform(state) * (last + 1))
        values[last], values[other] = values[other], values[last]
