"""Add edges to nodes that have too few: exactly as many as wanted, part by part.

Nodes are visited in descending order of what they lack and propose random partners of the kind
they lack. The parts then tell which of the pairs they have already; what is still missing is
proposed again, a few times. The rest is drawn uniformly from the free pairs of nodes, numbered
across all parts, so that it also works where hardly any pair is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import KeySet, add_key, has_key, key_set, sort_keys
from psgraph.engines.runner import Job, Runner
from psgraph.engines.sides import Sides
from psgraph.graph.kind import (
    first_end,
    pack,
    pack_pair,
    pack_unordered,
    second_end,
    unpack,
)

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts

__all__ = ["free_keys", "with_more"]

Read = Callable[[], Any]

ROUNDS = 8
"""How often pairs are proposed; what is missing then is drawn uniformly."""
CHUNK = 1 << 20
"""Proposals that are handed over at once."""


def with_more(
    parts: EdgeParts,
    missing: int,
    *,
    lack: Floats,
    labels: Positions,
    seed: int,
    runner: Runner,
    sides: Sides,
) -> EdgeParts:
    """Add `missing` edges; `lack` is what degrees per side lack, inside and then outside.

    There have to be as many free pairs of nodes.
    """
    nodes = labels.size
    rng = np.random.Generator(np.random.PCG64(seed))
    proposer = _Proposer(labels, lack, sides, rng)
    reads: list[list[Read]] = [[read] for read in parts.edges()]
    sizes = [0] * len(reads)
    for _ in range(ROUNDS):
        job = Job(_itself, proposer.propose(missing))
        proposed = runner.shuffle([job], nodes=nodes, kind=sides.kind)
        reads = [[*had, read] for had, read in zip(reads, proposed.edges(), strict=True)]
        known = list(runner.map(Job(_known, reads)))
        sizes = [size for size, _ in known]
        again = np.concatenate([keys for _, keys in known])
        missing -= proposed.edge_count - again.size
        if missing == 0 or not again.size:
            break
        proposer.take_back(again)
    ranks = _free_ranks(sides.pairs - sum(sizes), missing, rng)
    items = _with_ranks(reads, sizes, ranks, sides, part_nodes=runner.part_nodes)
    return runner.store(Job(_complete, items, (sides,)), nodes=nodes, kind=sides.kind)


class _Proposer:
    """Proposes edges for nodes that lack some, and remembers which pairs exist already."""

    def __init__(
        self, labels: Positions, lack: Floats, sides: Sides, rng: np.random.Generator
    ) -> None:
        self._labels, self._lack, self._sides, self._rng = labels, lack.copy(), sides, rng
        self._first, self._second = sides.grouped(labels)
        self._joined: list[Integers] = []

    def propose(self, missing: int) -> Iterator[Integers]:
        """Yield keys of at most `missing` pairs in all."""
        entries = np.flatnonzero(self._lack >= 0.5)
        # Integer noise makes many entries equal; visiting them in roster order would favour the
        # first nodes of the roster.
        self._rng.shuffle(entries)
        entries = entries[np.argsort(-self._lack[entries], kind="stable")]
        joined = _key_set_of(np.concatenate([np.empty(0, dtype=np.int64), *self._joined]))
        visited = np.full(self._labels.size, -1, dtype=np.int64)
        at = 0
        while missing > 0 and at < entries.size:
            keys = np.empty(min(missing, CHUNK), dtype=np.int64)
            found, at = _propose(
                self._labels, *self._first, *self._second, self._cut, self._sides.shift,
                not self._sides.alike, entries, at, self._lack, joined, visited, keys, self._rng,
            )  # fmt: skip
            missing -= found
            yield keys[:found]

    def take_back(self, keys: Integers) -> None:
        """Undo proposals of pairs that have an edge."""
        self._joined.append(keys)
        _give_back(keys, self._labels, self._sides.shift, self._lack)

    @property
    def _cut(self) -> int:
        """Where the degrees of second ends begin; after all if both ends are alike."""
        return self._sides.slices[0].stop


def _itself(keys: Integers) -> Integers:
    return keys


def _known(reads: Sequence[Read]) -> tuple[int, Integers]:
    """The number of distinct edges of a part, and the keys of the last list that were no news."""
    *had, new = (_keys(read) for read in reads)
    return repeated(union(had), new)


def _complete(
    item: tuple[Sequence[Read], int, int, Integers], sides: Sides
) -> tuple[Positions, Positions]:
    """The distinct edges of a part, and those free pairs of it that have the given numbers."""
    reads, first, last, ranks = item
    keys = union([_keys(read) for read in reads])
    if ranks.size:
        directed = sides.kind.directed
        free = free_keys(keys, first, last, sides.nodes, ranks, directed, sides.offset)
        keys = union([keys, free])
    return unpack(keys)


def _keys(read: Read) -> Integers:
    u, v = read()
    return pack(u, v)


def _free_ranks(free: int, wanted: int, rng: np.random.Generator) -> Integers:
    """Choose `wanted` of the free pairs of nodes, by number, in ascending order."""
    ranks = _distinct_numbers(free, wanted, rng)
    return sort_keys(ranks, largest=max(free, 1))


def _with_ranks(
    reads: Sequence[Sequence[Read]],
    sizes: Sequence[int],
    ranks: Integers,
    sides: Sides,
    *,
    part_nodes: int,
) -> list[tuple[Sequence[Read], int, int, Integers]]:
    """Give every part its range of nodes and the numbers, within it, of the pairs to add."""
    items, begin = [], 0
    rows = sides.sizes[0]  # nodes that can be first ends
    for number, (of_part, size) in enumerate(zip(reads, sizes, strict=True)):
        first, last = (min((number + at) * part_nodes, rows) for at in (0, 1))
        pairs = sides.kind.pairs_of_rows(first, last, *sides.sizes)
        end = begin + pairs - size
        left, right = np.searchsorted(ranks, [begin, end])
        items.append((of_part, first, last, ranks[left:right] - begin))
        begin = end
    return items


@kernel
def _key_set_of(keys: Integers) -> KeySet:
    found = key_set(keys.size)
    for key in keys:
        add_key(found, key)
    return found


@kernel
def _propose(
    labels: Positions,
    first: Positions,
    first_begins: Integers,
    second: Positions,
    second_begins: Integers,
    cut: int,
    shift: int,
    ordered: bool,
    entries: Integers,
    at: int,
    lack: Floats,
    joined: KeySet,
    visited: Integers,
    keys: Integers,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Fill `keys` from the entry `at` on; how many there are, and at which entry to continue.

    An entry is a degree inside or, from n + `shift` on, outside: up to `cut` that of a first end,
    then that of a second end. Partners come from the other side.
    """
    degrees = labels.size + shift
    found = 0
    while at < entries.size:
        entry = entries[at]
        outside = entry >= degrees
        base = degrees if outside else 0
        is_second = entry - base >= cut
        x = entry - base - shift if is_second else entry - base
        members = first if is_second else second
        begins = first_begins if is_second else second_begins
        begin, end = begins[labels[x]], begins[labels[x] + 1]
        pool = members.size - (end - begin) if outside else end - begin
        wanted = int(lack[entry] + 0.5)
        misses = 0
        while wanted > 0 and misses < 16 * pool:
            if found == keys.size:
                return found, at
            drawn = np.int64(rng.random() * pool)
            if outside:
                drawn = drawn + (end - begin) if drawn >= begin else drawn
            else:
                drawn += begin
            y = members[drawn]
            if ordered:
                key = pack_pair(y, x) if is_second else pack_pair(x, y)
            else:
                key = pack_unordered(x, y)
            if y == x or visited[y] == entry or has_key(joined, key):
                # Nearly all partners are taken: after sixteen rounds leave the rest to the end.
                misses += 1
                continue
            visited[y] = entry
            keys[found] = key
            found += 1
            wanted -= 1
            lack[entry] -= 1.0
            lack[base + y + (0 if is_second else shift)] -= 1.0
        at += 1
    return found, at


@kernel
def _give_back(keys: Integers, labels: Positions, shift: int, lack: Floats) -> None:
    for key in keys:
        x, y = first_end(key), second_end(key)
        base = 0 if labels[x] == labels[y] else labels.size + shift
        lack[base + x] += 1.0
        lack[base + y + shift] += 1.0


@kernel
def _distinct_numbers(size: int, wanted: int, rng: np.random.Generator) -> Integers:
    """`wanted` of the numbers below `size` by Floyd's algorithm (see `sampling.pair_job`)."""
    numbers = np.empty(wanted, dtype=np.int64)
    taken = key_set(wanted)
    for index in range(wanted):
        last = np.int64(size - wanted + index)
        number = np.int64(rng.random() * (last + 1))
        if not add_key(taken, number):
            number = last
            add_key(taken, number)
        numbers[index] = number
    return numbers


# ---- sorted lists of keys: their union, what they share, and what is missing ----


def union(lists: Sequence[Integers]) -> Integers:
    """Return the distinct keys of sorted lists, sorted.

    >>> union([np.array([1, 4]), np.array([2, 4])]).tolist()
    [1, 2, 4]
    """
    keys = lists[0]
    for more in lists[1:]:
        if more.size:
            keys = _merged(keys, more)
    return keys


@kernel
def _merged(one: Integers, other: Integers) -> Integers:
    """The distinct keys of two sorted lists."""
    keys = np.empty(one.size + other.size, dtype=np.int64)
    here = there = found = 0
    while here < one.size or there < other.size:
        if there == other.size or (here < one.size and one[here] <= other[there]):
            key = one[here]
            here += 1
        else:
            key = other[there]
            there += 1
        if found == 0 or keys[found - 1] != key:
            keys[found] = key
            found += 1
    return keys[:found]


@kernel
def repeated(before: Integers, new: Integers) -> tuple[int, Integers]:
    """Return the size of the union of two sorted lists, and which new keys are repeats.

    The first list has no repeats.

    >>> size, repeats = repeated(np.array([1, 4]), np.array([2, 2, 4]))
    >>> size, repeats.tolist()
    (3, [2, 4])
    """
    repeats = np.empty(new.size, dtype=np.int64)
    here = found = 0
    for at in range(new.size):
        while here < before.size and before[here] < new[at]:
            here += 1
        known = here < before.size and before[here] == new[at]
        if known or (at > 0 and new[at - 1] == new[at]):
            repeats[found] = new[at]
            found += 1
    return before.size + new.size - found, repeats[:found].copy()


@kernel
def free_keys(
    keys: Integers,
    first: int,
    last: int,
    nodes: int,
    ranks: Integers,
    directed: bool = False,
    offset: int = 0,
) -> Integers:
    """Return the keys of free pairs: those that have no edge, by number, in ascending order.

    The free pairs whose first end is in the range from `first` to `last` are numbered. Second ends
    are all other nodes if the graph is `directed`, otherwise those after the first end and from
    `offset` on.

    >>> unpack(free_keys(pack([0], [2]), 0, 1, 4, np.array([0, 1])))[1].tolist()
    [1, 3]
    """
    found = np.empty(ranks.size, dtype=np.int64)
    here = done = 0
    passed = np.int64(0)  # free pairs before this row
    for u in range(first, last):
        begin = here
        while here < keys.size and first_end(keys[here]) == u:
            here += 1
        edge, v = begin, np.int64(0 if directed else max(u + 1, offset))
        free = nodes - v - (here - begin) - (1 if directed else 0)
        before = passed  # free pairs before v
        while done < ranks.size and ranks[done] < passed + free:
            # Jump from edge to edge to the pair with this number.
            while True:
                upto = np.int64(second_end(keys[edge]) if edge < here else nodes)
                if v <= u < upto:
                    upto = np.int64(u)  # a node forms no pair with itself
                if ranks[done] < before + (upto - v):
                    break
                before += upto - v
                v = upto + 1
                if upto != u:
                    edge += 1
            found[done] = pack_pair(u, v + ranks[done] - before)
            done += 1
        passed += free
    return found
