"""Realise a simple graph with given degrees, block quotas and edge count.

Post-processing of released values only. The graph is built in four steps, each linear in nodes and
edges and each bounded in work:

1. Edges of the last synthetic graph are kept, in the given order, while the degrees of both ends
   and the quota of their block allow it.
2. Blocks are filled in the given order with random pairs of free stubs. A pair that cannot be
   joined is inserted by a switch inside the block, which leaves every other degree and every block
   count as it is.
3. Stubs that are left over, because quotas and degrees do not agree, are matched by coarser
   labels if there are any, and then regardless of labels; a pair that cannot be joined takes the
   place of an existing edge p-r as x-p and y-r.
4. Edges that are still missing are random pairs, drawn in proportion to the degrees.

Above density ½ steps 2 to 4 build the complement instead: there, free pairs are scarce and random
draws would mostly hit existing edges.

Directed and two-sided graphs are built in the same way. A directed graph counts every node twice,
once on the left, where edges start, and once on the right. Labels of the two sides differ, so that
blocks join left and right, and the pairs of a node with itself are taken from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.kernels import KeySet, key_set, sort_keys
from psgraph.errors import InvalidArgument
from psgraph.graph.kind import (
    DIRECTED,
    TWO_SIDED,
    UNDIRECTED,
    Edges,
    first_key,
    key_bits,
    unpack,
)
from psgraph.methods.plus.stubs import (
    fill_blocks,
    keep,
    leftovers,
    match_leftovers,
    other_keys,
    pad,
    room_ahead,
    stub_pools,
    take,
)

__all__ = ["Coarse", "Target", "quota_matrix", "realise"]


@dataclass(frozen=True)
class Coarse:
    """Coarser labels with quotas of their own, for stubs that the blocks leave over.

    Attributes
    ----------
    labels
        The coarse label of every node.
    block_a, block_b, quotas
        Pairs of coarse labels a ≤ b, and the number of edges wanted between them in all.
    """

    labels: Positions
    block_a: Positions
    block_b: Positions
    quotas: Integers


@dataclass(frozen=True)
class Target:
    """What the graph should look like.

    Attributes
    ----------
    degrees
        Wanted degree of every node; the sum is twice `edge_count` where that is feasible.
    labels
        Block label of every node, from 0 on: degree classes, and one label for each hub.
    block_a, block_b
        Pairs of labels a ≤ b, each listed at most once. A pair that is not listed has quota 0.
        The order is the order of filling: the tightest first, that is hub rows, largest hub
        first, then class blocks from the highest class down.
    quotas
        Number of edges wanted between the labels of each pair.
    edge_count
        Exact number of edges, at most `pairs`. Degrees and quotas are met as far as they go.
    left
        How many nodes, the first ones, are on the left of a graph with two sides; 0 if the ends of
        an edge are alike.
    directed
        Whether the nodes on the right are those on the left once more.
    coarse
        Coarser labels; None if there are none.
    """

    degrees: Integers
    labels: Positions
    block_a: Positions
    block_b: Positions
    quotas: Integers
    edge_count: int
    left: int = 0
    directed: bool = False
    coarse: Coarse | None = None

    @property
    def pairs(self) -> int:
        """How many pairs of nodes can be edges."""
        if self.directed:
            return DIRECTED.pairs(self.left)
        if self.left:
            return TWO_SIDED.pairs(self.left, self.degrees.size - self.left)
        return UNDIRECTED.pairs(self.degrees.size)

    @property
    def largest(self) -> Integers:
        """The largest degree that each node can have."""
        size = self.degrees.size
        if not self.left:
            return np.full(size, max(size - 1, 0))
        others = np.where(np.arange(size) < self.left, size - self.left, self.left)
        return others - 1 if self.directed else others

    @property
    def loops(self) -> tuple[Positions, Positions]:
        """The pairs of a node with itself."""
        nodes = np.arange(self.left if self.directed else 0, dtype=np.int32)
        return nodes, nodes + np.int32(self.left)


def realise(
    target: Target,
    *,
    kept: tuple[Positions, Positions] | None = None,
    most_kept: int | None = None,
    rng: np.random.Generator,
) -> Edges:
    """Build a simple graph with exactly `target.edge_count` edges.

    Ends of a graph with two sides are those of the target: on the right they begin at its `left`.

    Parameters
    ----------
    target
        Degrees, blocks and edge count.
    kept
        Ends of the edges to keep if possible, the most important first; none unless given. Loops
        and repeated edges are ignored.
    most_kept
        How many of them to keep; as many as fit unless given.
    rng
        Source of all random choices; the result is a function of it and the other arguments.

    Notes
    -----
    O(n + m + L²) time and memory for n nodes, m edges and L labels.

    Examples
    --------
    >>> one = np.zeros(1, dtype=np.int32)
    >>> ring = Target(np.full(3, 2), np.zeros(3, dtype=np.int32), one, one, np.array([3]), 3)
    >>> realise(ring, rng=np.random.default_rng(0))
    Edges(u=array([0, 0, 1], dtype=int32), v=array([1, 2, 2], dtype=int32))
    """
    nodes, pairs = target.degrees.size, target.pairs
    if not 0 <= target.edge_count <= pairs:
        raise InvalidArgument(
            f"{nodes} nodes can have 0 to {pairs} edges, not {target.edge_count}. "
            "Limit the edge count first."
        )
    if kept is None:
        kept = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    if 2 * target.edge_count <= pairs:
        keys = _sparse_keys(target, kept, most_kept, rng)
    else:
        keys = _dense_keys(target, kept, most_kept, rng)
    bits = key_bits(nodes)
    return Edges(*unpack(sort_keys(keys, largest=first_key(nodes, bits)), bits))


def _sparse_keys(
    target: Target,
    kept: tuple[Positions, Positions],
    most_kept: int | None,
    rng: np.random.Generator,
) -> Integers:
    """Build the graph itself."""
    wanted = np.clip(target.degrees, 0, target.largest)
    quotas = quota_matrix(target)
    u, v, taken = _edge_arrays(target, target.edge_count)
    bits = key_bits(wanted.size)
    most = u.size if most_kept is None else min(most_kept, u.size)
    done = keep(*kept, wanted, target.labels, quotas, u, v, taken, most, bits, room_ahead())
    return _complete(target, wanted, quotas, done, u, v, taken, rng)


def _dense_keys(
    target: Target,
    kept: tuple[Positions, Positions],
    most_kept: int | None,
    rng: np.random.Generator,
) -> Integers:
    """Build the complement, which must avoid the kept edges, and return what it leaves free."""
    nodes, pairs = target.degrees.size, target.pairs
    wanted = np.clip(target.degrees, 0, target.largest)
    u, v, taken = _edge_arrays(target, pairs)
    bits = key_bits(nodes)
    quotas = quota_matrix(target)
    most = u.size if most_kept is None else min(most_kept, u.size)
    keep(*kept, wanted, target.labels, quotas, u, v, taken, most, bits, room_ahead())
    inverse = _complement(target)
    u, v, _ = _edge_arrays(inverse, 0)
    quotas = quota_matrix(inverse)
    absent = _complete(inverse, inverse.degrees.copy(), quotas, 0, u, v, taken, rng)
    count = pairs - absent.size
    absent = np.concatenate([absent, UNDIRECTED.keys(*target.loops, bits)])
    return other_keys(absent, nodes, target.left, count, bits)


def _complement(target: Target) -> Target:
    """The target of the complement graph.

    All pairs of labels are listed, those without a quota first and the others in reverse, because
    the nodes with the fewest edges have the most in the complement.
    """
    quotas = quota_matrix(target)
    a, b = (half.astype(np.int32) for half in np.triu_indices(quotas.shape[0]))
    rooms = _rooms(target, quotas.shape[0])[a, b]
    order = np.zeros_like(quotas)
    order[target.block_a, target.block_b] = np.arange(target.quotas.size, 0, -1)
    by_order = np.argsort(order[a, b], kind="stable")
    a, b, rooms = a[by_order], b[by_order], rooms[by_order]
    return Target(
        degrees=target.largest - np.clip(target.degrees, 0, target.largest),
        labels=target.labels,
        block_a=a,
        block_b=b,
        quotas=np.maximum(rooms - quotas[a, b], 0),
        edge_count=target.pairs - target.edge_count,
        left=target.left,
        directed=target.directed,
    )


def _rooms(target: Target, count: int) -> Integers:
    """How many pairs of nodes each pair of labels has, in the upper triangle."""
    sizes = np.bincount(target.labels, minlength=count)
    if not target.left:
        return np.where(np.eye(count, dtype=bool), UNDIRECTED.pairs(sizes), np.outer(sizes, sizes))
    first = np.bincount(target.labels[: target.left], minlength=count)
    rooms = np.outer(first, sizes - first)
    start, end = target.loops
    np.subtract.at(rooms, (target.labels[start], target.labels[end]), 1)
    return rooms


def _complete(
    target: Target,
    wanted: Integers,
    quotas: Integers,
    done: int,
    u: Positions,
    v: Positions,
    taken: KeySet,
    rng: np.random.Generator,
) -> Integers:
    """Steps 2 to 4 after the first `done` edges; the keys of all edges.

    `wanted` and `quotas` are what the kept edges have left of degrees and blocks. `taken` holds
    the pairs that are edges or must not become one.
    """
    nodes, bits, kept = wanted.size, key_bits(wanted.size), done
    stubs, starts = stub_pools(wanted, target.labels, quotas.shape[0])
    sizes = np.diff(starts)
    done = fill_blocks(
        target.block_a,
        target.block_b,
        quotas,
        stubs,
        starts,
        sizes,
        done,
        u,
        v,
        taken,
        bits,
        rng,
        room_ahead(),
    )
    rest = leftovers(stubs, starts, sizes)
    if target.coarse is not None:
        done, rest = _fill_coarse(target.coarse, nodes, rest, done, u, v, taken, rng)
    rng.shuffle(rest)
    if target.left:
        rest = _across(rest, target.left)
    done = match_leftovers(rest, kept, done, u, v, taken, bits, not target.left, rng)
    pad(nodes, target.left, done, u, v, taken, bits, rng)
    return UNDIRECTED.keys(u, v, bits)


def _across(rest: Positions, left: int) -> Positions:
    """Stubs of the left and of the right in turn, as many as both have."""
    first, second = rest[rest < left], rest[rest >= left]
    count = min(first.size, second.size)
    return np.stack([first[:count], second[:count]], axis=1).ravel()


def _fill_coarse(
    coarse: Coarse,
    nodes: int,
    rest: Positions,
    done: int,
    u: Positions,
    v: Positions,
    taken: KeySet,
    rng: np.random.Generator,
) -> tuple[int, Positions]:
    """Join stubs that are left over where coarse blocks lack edges; what is still left then."""
    count = int(max(coarse.labels.max(initial=-1), coarse.block_b.max(initial=-1))) + 1
    lacking = np.zeros((count, count), dtype=np.int64)
    lacking[coarse.block_a, coarse.block_b] = coarse.quotas
    x, y = coarse.labels[u[:done]], coarse.labels[v[:done]]
    np.subtract.at(lacking, (np.minimum(x, y), np.maximum(x, y)), 1)
    first, second = np.nonzero(lacking > 0)
    order = np.argsort(-lacking[first, second], kind="stable")
    a, b = first[order].astype(np.int32), second[order].astype(np.int32)
    wanted = np.bincount(rest, minlength=nodes)
    stubs, starts = stub_pools(wanted, coarse.labels, count)
    sizes = np.diff(starts)
    bits, ahead = key_bits(nodes), room_ahead()
    done = fill_blocks(a, b, lacking, stubs, starts, sizes, done, u, v, taken, bits, rng, ahead)
    return done, leftovers(stubs, starts, sizes)


def _edge_arrays(target: Target, capacity: int) -> tuple[Positions, Positions, KeySet]:
    """Room for the ends of the edges, and the set of pairs that are taken."""
    u, v = (np.empty(target.edge_count, dtype=np.int32) for _ in range(2))
    start, end = target.loops
    taken = key_set(capacity + start.size)
    if start.size:
        take(taken, UNDIRECTED.keys(start, end, key_bits(target.degrees.size)))
    return u, v, taken


def quota_matrix(target: Target) -> Integers:
    """Quotas by pair of labels, in the upper triangle."""
    count = int(max(target.labels.max(initial=-1), target.block_b.max(initial=-1))) + 1
    quotas = np.zeros((count, count), dtype=np.int64)
    quotas[target.block_a, target.block_b] = target.quotas
    return quotas
