"""Which edges of the release before are kept, part by part.

As in memory, edges are offered by a rank that never changes, and kept while both ends and the
block have room. Ranks are cut into bins. Edges between two nodes that had no more edges than they
want now can't be refused for their ends: parts only count these by bin and block. The others are
looked at one by one, by bin, with state for nodes and blocks only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels, Positions, Words
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph.engines.runner import Job, Runner
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED
from psgraph.graph.parts import Pairs, Read
from psgraph.methods.plus.common_parts import moved
from psgraph.methods.plus.spans import cut, store_parts
from psgraph.methods.plus.ties import pair_rank

__all__ = ["add_degrees", "kept_parts"]

OFFERED = 2  # old edges are offered for each that is kept
BINS = 1024  # of the ranks of offered edges
RANKS = 1 << 33


class _Scanned(NamedTuple):
    """What the driver gets of a part: counts by block and bin, and edges to look at by bin."""

    counts: Integers
    u: Positions
    v: Positions
    begins: Integers


def kept_parts(
    runner: Runner,
    previous: SyntheticGraph,
    roster: Roster,
    numbers: Words,
    share: float,
    degrees: Integers,
    labels: Labels,
    quotas: Integers,
    groups: int,
    width: int,
) -> list[Read]:
    """Return functions that read the kept edges of every range of `width` nodes.

    Parameters
    ----------
    share
        Of the edges of the release before, as many are kept if possible.
    degrees, quotas
        Wanted degrees, and edges between labels a ≤ b.
    groups
        Labels from this one on are single nodes.
    """
    old, nodes = previous.parts, len(roster)
    where = None
    if previous.roster is not roster and previous.roster != roster:
        where = roster.positions_of(previous.roster)
    reads = old.edges()
    (before,) = runner.sum(Job(_add_moved, reads, (where,)), sizes=(nodes,))
    tight = (before > degrees) | (labels >= groups)
    del before
    limit = min(int(OFFERED * share * RANKS), RANKS)
    known = where, _words(numbers, labels, tight), limit
    scanned = list(runner.map(Job(_scan, reads, (*known, groups))))
    last_bins, accepted = _choose(
        scanned, degrees, labels, quotas, groups, round(share * old.edge_count)
    )
    del scanned
    job = Job(_filter, list(zip(reads, accepted, strict=True)), (*known, last_bins))
    if where is None:
        kept, _ = store_parts(runner, job, old.part_nodes, nodes)
        return cut(kept, old.part_nodes, nodes, width)
    shuffled = runner.shuffle([Job(_filtered_keys, job.items, job.shared)], nodes=nodes)
    return cut(shuffled.edges(), shuffled.part_nodes, nodes, width)


def _choose(
    scanned: Sequence[_Scanned],
    degrees: Integers,
    labels: Labels,
    quotas: Integers,
    groups: int,
    most: int,
) -> tuple[Integers, list[NDArray[np.bool_]]]:
    """Fix up to which bin each block keeps the edges that fit, and which of the others are kept.

    A block that has no room for all of a bin keeps nothing from that bin on.
    """
    counts = np.zeros((groups, groups, BINS), dtype=np.int64)
    for part in scanned:
        counts += part.counts
    room, left = degrees.astype(np.int32), quotas.copy()
    last_bins = np.full((groups, groups), BINS, dtype=np.int64)
    accepted = [np.zeros(part.u.size, dtype=np.bool_) for part in scanned]
    kept = 0
    for at in range(BINS):
        if kept >= most:
            np.minimum(last_bins, at, out=last_bins)
            break
        here = counts[:, :, at]
        last_bins[(here > left[:groups, :groups]) & (last_bins == BINS)] = at
        fits = np.where(at < last_bins, here, 0)
        left[:groups, :groups] -= fits
        kept += int(fits.sum())
        for part, chosen in zip(scanned, accepted, strict=True):
            begin, end = part.begins[at], part.begins[at + 1]
            kept += _accept(part.u, part.v, begin, end, labels, room, left, chosen)
    return last_bins, accepted


@kernel
def _accept(
    u: Positions,
    v: Positions,
    begin: int,
    end: int,
    labels: Labels,
    room: Positions,
    left: Integers,
    chosen: NDArray[np.bool_],
) -> int:
    found = 0
    for edge in range(begin, end):
        x, y = u[edge], v[edge]
        a, b = min(labels[x], labels[y]), max(labels[x], labels[y])
        if room[x] > 0 and room[y] > 0 and left[a, b] > 0:
            room[x] -= 1
            room[y] -= 1
            left[a, b] -= 1
            chosen[edge] = True
            found += 1
    return found


# ---- tasks ----


def add_degrees(read: Read, degrees: Integers) -> None:
    """Count the neighbours of every node."""
    _count_ends(*read(), degrees)


def _add_moved(read: Read, where: Positions | None, degrees: Integers) -> None:
    _count_ends(*moved(read(), where), degrees)


@kernel
def _count_ends(u: Positions, v: Positions, degrees: Integers) -> None:
    for edge in range(u.size):
        degrees[u[edge]] += 1
        degrees[v[edge]] += 1


# All that an edge needs to know of a node is in one word: reading it is what takes the time.


@kernel
def _words(numbers: Words, labels: Labels, tight: NDArray[np.bool_]) -> Words:
    """48 bits of the number of every node, its label, and whether it is tight."""
    words = np.empty(numbers.size, dtype=np.uint64)
    for node in range(numbers.size):
        words[node] = (
            numbers[node] >> np.uint64(4) << np.uint64(16)
            | np.uint64(labels[node]) << np.uint64(1)
            | np.uint64(tight[node])
        )
    return words


@lean_kernel
def _bin(x: np.uint64, y: np.uint64, limit: int) -> int:
    """The bin of the rank of a pair; those beyond the limit have none and get `BINS`."""
    rank = np.int64(pair_rank(x >> np.uint64(16), y >> np.uint64(16)))
    return min(rank * BINS // limit, BINS)  # type: ignore[return-value]


@lean_kernel
def _is_tight(x: np.uint64, y: np.uint64) -> bool:
    """Whether one end could refuse an edge."""
    return (x | y) & np.uint64(1) == np.uint64(1)


@lean_kernel
def _label(word: np.uint64) -> int:
    return np.int64(word & np.uint64(0xFFFF)) >> 1  # type: ignore[return-value]


def _scan(read: Read, where: Positions | None, words: Words, limit: int, groups: int) -> _Scanned:
    u, v = moved(read(), where)
    return _Scanned(*_scanned(u, v, words, limit, groups))


@kernel
def _scanned(
    u: Positions, v: Positions, words: Words, limit: int, groups: int
) -> tuple[Integers, Positions, Positions, Integers]:
    counts = np.zeros((groups, groups, BINS), dtype=np.int64)
    begins = np.zeros(BINS + 1, dtype=np.int64)
    bins = np.full(u.size, BINS, dtype=np.int16)  # of the edges to look at
    for edge in range(u.size):
        x, y = words[u[edge]], words[v[edge]]
        at = _bin(x, y, limit)
        if at == BINS:
            continue
        if _is_tight(x, y):
            bins[edge] = at
            begins[at + 1] += 1
        else:
            a, b = _label(x), _label(y)
            counts[min(a, b), max(a, b), at] += 1
    for at in range(BINS):
        begins[at + 1] += begins[at]
    free = begins[:-1].copy()
    some_u, some_v = np.empty(begins[BINS], np.int32), np.empty(begins[BINS], np.int32)
    for edge in range(u.size):
        if bins[edge] < BINS:
            at = free[bins[edge]]
            some_u[at], some_v[at] = u[edge], v[edge]
            free[bins[edge]] += 1
    return counts, some_u, some_v, begins


def _filter(
    item: tuple[Read, NDArray[np.bool_]],
    where: Positions | None,
    words: Words,
    limit: int,
    last_bins: Integers,
) -> Pairs:
    read, accepted = item
    u, v = moved(read(), where)
    return Pairs(*_kept(u, v, words, limit, last_bins, accepted))


def _filtered_keys(*arguments: object) -> Integers:
    return UNDIRECTED.keys(*_filter(*arguments))  # type: ignore[arg-type]


@kernel
def _kept(
    u: Positions,
    v: Positions,
    words: Words,
    limit: int,
    last_bins: Integers,
    accepted: NDArray[np.bool_],
) -> tuple[Positions, Positions]:
    bins = np.empty(u.size, dtype=np.int16)  # below 0: an edge that was looked at
    begins = np.zeros(BINS + 1, dtype=np.int64)  # of those, by bin
    for edge in range(u.size):
        x, y = words[u[edge]], words[v[edge]]
        at = _bin(x, y, limit)
        bins[edge] = BINS
        if at < BINS and _is_tight(x, y):
            bins[edge] = -1 - at
            begins[at + 1] += 1
        elif at < BINS:
            a, b = _label(x), _label(y)
            bins[edge] = 0 if at < last_bins[min(a, b), max(a, b)] else BINS
    for at in range(BINS):
        begins[at + 1] += begins[at]
    found = 0
    kept_u, kept_v = np.empty(u.size, dtype=np.int32), np.empty(u.size, dtype=np.int32)
    for edge in range(u.size):
        keep = bins[edge] == 0
        if bins[edge] < 0:
            at = -1 - bins[edge]
            keep = accepted[begins[at]]
            begins[at] += 1
        kept_u[found], kept_v[found] = u[edge], v[edge]
        found += int(keep)
    return kept_u[:found].copy(), kept_v[:found].copy()
