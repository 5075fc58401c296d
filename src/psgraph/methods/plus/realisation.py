"""Realise a simple graph with given degrees, block quotas and edge count.

Post-processing of released values only. The graph is built in four steps, each linear in nodes and
edges and each bounded in work:

1. Edges of the last synthetic graph are kept, in the given order, while the degrees of both ends
   and the quota of their block allow it.
2. Blocks are filled in the given order with random pairs of free stubs. A pair that cannot be
   joined is inserted by a switch inside the block, which leaves every other degree and every block
   count as it is.
3. Stubs that are left over, because quotas and degrees do not agree, are matched regardless of
   labels; a pair that cannot be joined takes the place of an existing edge p-r as x-p and y-r.
4. Edges that are still missing are random pairs, drawn in proportion to the degrees.

Above density ½ steps 2 to 4 build the complement instead: there, free pairs are scarce and random
draws would mostly hit existing edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Positions
from psgraph._runtime.hash_set import KeySet, add_key, first_slot, has_key, key_set, remove_key
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph._runtime.sorting import sort_keys
from psgraph.engines.base import Edges
from psgraph.errors import InvalidArgument

__all__ = ["Target", "realise"]

Integer = int | np.integer[Any]

_AHEAD = 16  # edges for which memory is read at once; below _BLOCK_DRAWS
_LARGE = 1 << 17  # slots of a set that does not fit the nearest caches

_BLOCK_DRAWS = 30  # pairs of stubs drawn for one edge of a block, and as many switches
_BLOCK_FAILURES = 3  # edges of a block given up in a row before the rest is left to step 3
_LEFTOVER_DRAWS = 5_000  # edges drawn for one pair of leftover stubs, half of them new ones
_DRAWS_PER_EDGE = 4  # draws for all leftover stubs together, as a multiple of the edge count
_MORE_DRAWS = 500_000  # and a constant that small dense graphs need, some 10 ms
_PAD_DRAWS = 30  # pairs drawn by degree for one missing edge, and as many uniformly


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
        Exact number of edges, at most n(n - 1)/2. Degrees and quotas are met as far as they go.
    """

    degrees: Integers
    labels: Positions
    block_a: Positions
    block_b: Positions
    quotas: Integers
    edge_count: int


def realise(
    target: Target, *, kept: tuple[Positions, Positions] | None = None, rng: np.random.Generator
) -> Edges:
    """Build a simple graph with exactly `target.edge_count` edges.

    Parameters
    ----------
    target
        Degrees, blocks and edge count.
    kept
        Ends of the edges to keep if possible, the most important first; none unless given. Loops
        and repeated edges are ignored.
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
    nodes = target.degrees.size
    pairs = nodes * (nodes - 1) // 2
    if not 0 <= target.edge_count <= pairs:
        raise InvalidArgument(
            f"{nodes} nodes can have 0 to {pairs} edges, not {target.edge_count}. "
            "Limit the edge count first."
        )
    if kept is None:
        kept = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    if 2 * target.edge_count <= pairs:
        keys = _sparse_keys(target, kept, rng)
    else:
        keys = _dense_keys(target, kept, rng)
    bits = _bits(nodes)
    keys = sort_keys(keys, largest=nodes << bits)
    return Edges((keys >> bits).astype(np.int32), (keys & ((1 << bits) - 1)).astype(np.int32))


def _sparse_keys(
    target: Target, kept: tuple[Positions, Positions], rng: np.random.Generator
) -> Integers:
    """Build the graph itself."""
    wanted = np.clip(target.degrees, 0, target.degrees.size - 1)
    quotas = _quota_matrix(target)
    u, v, taken = _edge_arrays(target.edge_count, target.edge_count)
    bits = _bits(wanted.size)
    done = _keep(*kept, wanted, target.labels, quotas, u, v, taken, bits, _room_ahead())
    return _complete(target, wanted, quotas, done, u, v, taken, rng)


def _dense_keys(
    target: Target, kept: tuple[Positions, Positions], rng: np.random.Generator
) -> Integers:
    """Build the complement, which must avoid the kept edges, and return what it leaves free."""
    nodes = target.degrees.size
    pairs = nodes * (nodes - 1) // 2
    wanted = np.clip(target.degrees, 0, nodes - 1)
    u, v, taken = _edge_arrays(target.edge_count, pairs)
    bits = _bits(nodes)
    quotas = _quota_matrix(target)
    _keep(*kept, wanted, target.labels, quotas, u, v, taken, bits, _room_ahead())
    inverse = _complement(target)
    u, v, _ = _edge_arrays(inverse.edge_count, 0)
    quotas = _quota_matrix(inverse)
    absent = _complete(inverse, inverse.degrees.copy(), quotas, 0, u, v, taken, rng)
    return _other_keys(absent, nodes, pairs - absent.size, bits)


def _complement(target: Target) -> Target:
    """The target of the complement graph.

    All pairs of labels are listed, those without a quota first and the others in reverse, because
    the nodes with the fewest edges have the most in the complement.
    """
    nodes = target.degrees.size
    quotas = _quota_matrix(target)
    sizes = np.bincount(target.labels, minlength=quotas.shape[0])
    a, b = (half.astype(np.int32) for half in np.triu_indices(sizes.size))
    rooms = np.where(a == b, sizes[a] * (sizes[a] - 1) // 2, sizes[a] * sizes[b])
    order = np.zeros_like(quotas)
    order[target.block_a, target.block_b] = np.arange(target.quotas.size, 0, -1)
    by_order = np.argsort(order[a, b], kind="stable")
    a, b, rooms = a[by_order], b[by_order], rooms[by_order]
    return Target(
        degrees=nodes - 1 - np.clip(target.degrees, 0, nodes - 1),
        labels=target.labels,
        block_a=a,
        block_b=b,
        quotas=np.maximum(rooms - quotas[a, b], 0),
        edge_count=nodes * (nodes - 1) // 2 - target.edge_count,
    )


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
    nodes, bits, kept = wanted.size, _bits(wanted.size), done
    stubs, starts = _stub_pools(wanted, target.labels, quotas.shape[0])
    sizes = np.diff(starts)
    done = _fill_blocks(
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
        _room_ahead(),
    )
    rest = _leftovers(stubs, starts, sizes)
    rng.shuffle(rest)
    done = _match_leftovers(rest, kept, done, u, v, taken, bits, rng)
    _pad(nodes, done, u, v, taken, bits, rng)
    return np.minimum(u, v).astype(np.int64) << bits | np.maximum(u, v)


def _bits(nodes: int) -> int:
    """Width of a node number in an edge key."""
    return max(1, nodes.bit_length())


def _edge_arrays(edge_count: int, capacity: int) -> tuple[Positions, Positions, KeySet]:
    """Room for the ends of the edges, and the set of pairs that are taken."""
    u, v = np.empty(edge_count, dtype=np.int32), np.empty(edge_count, dtype=np.int32)
    return u, v, key_set(capacity)


def _quota_matrix(target: Target) -> Integers:
    """Quotas by pair of labels, in the upper triangle."""
    count = int(max(target.labels.max(initial=-1), target.block_b.max(initial=-1))) + 1
    quotas = np.zeros((count, count), dtype=np.int64)
    quotas[target.block_a, target.block_b] = target.quotas
    return quotas


# ---- kernels that join stubs to edges, one per step
#
# A stub is an edge end that a node still wants. The edges so far are the first `done` entries of
# `u` and `v`; `taken` holds the keys of all pairs that are edges or must not become one.


def _room_ahead() -> Floats:
    """Return room for the numbers that kernels draw or read ahead."""
    return np.empty(2 * _AHEAD + 1)


@lean_kernel
def _pair_key(x: Integer, y: Integer, bits: int) -> Integer:
    low, high = (x, y) if x < y else (y, x)
    return (np.int64(low) << bits) | np.int64(high)


@lean_kernel
def _below(limit: Integer, rng: np.random.Generator) -> int:
    """A uniform integer from 0 to limit - 1."""
    return int(rng.random() * limit)


@lean_kernel
def _keep(
    kept_u: Positions,
    kept_v: Positions,
    wanted: Integers,
    labels: Positions,
    quotas: Integers,
    u: Positions,
    v: Positions,
    taken: KeySet,
    bits: int,
    ahead: Floats,
) -> int:
    """Step 1: keep edges while degrees and quotas allow, and reduce both; how many were kept."""
    done = read = 0
    for edge in range(kept_u.size):
        if done == u.size:
            break
        if edge % _AHEAD == 0 and taken.size >= _LARGE:
            # Memory is read for many edges at once, and not for one after the other.
            for index in range(edge, min(edge + _AHEAD, kept_u.size)):
                x, y = kept_u[index], kept_v[index]
                read += wanted[x] + wanted[y] + labels[x] + labels[y]
                read += taken[first_slot(taken, _pair_key(x, y, bits))]
        x, y = kept_u[edge], kept_v[edge]
        if x == y or wanted[x] <= 0 or wanted[y] <= 0:
            continue
        a, b = min(labels[x], labels[y]), max(labels[x], labels[y])
        if quotas[a, b] <= 0 or not add_key(taken, _pair_key(x, y, bits)):
            continue
        quotas[a, b] -= 1
        wanted[x] -= 1
        wanted[y] -= 1
        u[done], v[done] = x, y
        done += 1
    ahead[0] = read  # or the compiler would leave the reads out
    return done


@kernel
def _stub_pools(wanted: Integers, labels: Positions, count: int) -> tuple[Positions, Integers]:
    """Every node once per wanted edge, grouped by label, and where each group begins."""
    starts = np.zeros(count + 1, dtype=np.int64)
    for node in range(wanted.size):
        starts[labels[node] + 1] += wanted[node]
    for label in range(count):
        starts[label + 1] += starts[label]
    free = starts[:-1].copy()
    stubs = np.empty(starts[count], dtype=np.int32)
    for node in range(wanted.size):
        at = free[labels[node]]
        for index in range(at, at + wanted[node]):
            stubs[index] = node
        free[labels[node]] = at + wanted[node]
    return stubs, starts


@lean_kernel
def _fill_blocks(
    block_a: Positions,
    block_b: Positions,
    quotas: Integers,
    stubs: Positions,
    starts: Integers,
    sizes: Integers,
    done: int,
    u: Positions,
    v: Positions,
    taken: KeySet,
    bits: int,
    rng: np.random.Generator,
    ahead: Floats,
) -> int:
    """Step 2: draw the edges of each block from the free stubs of its two labels.

    In a large graph the numbers for `_AHEAD` edges are drawn before they are used, so that memory
    is read for all of them at once. They are used in the order in which they were drawn, and
    before the block ends: it has room for as many edges, and one that can't be joined uses
    2·`_BLOCK_DRAWS` numbers.
    """
    large = taken.size >= _LARGE
    at = drawn = 0
    for block in range(block_a.size):
        a, b = block_a[block], block_b[block]
        first, demand, failures = done, quotas[a, b], 0
        while demand > 0 and failures < _BLOCK_FAILURES and done < u.size:
            if sizes[a] == 0 or sizes[b] == 0 or (a == b and sizes[a] < 2):
                break
            free = sizes[a] // 2 if a == b else min(sizes[a], sizes[b])
            if large and at == drawn and min(demand, u.size - done, free) >= _AHEAD:
                _look_ahead(a, b, stubs, starts, sizes, taken, bits, rng, ahead)
                at, drawn = 0, 2 * _AHEAD
            joined = False
            i = j = 0
            for _ in range(_BLOCK_DRAWS):
                if at < drawn:
                    i, j = int(ahead[at] * sizes[a]), int(ahead[at + 1] * sizes[b])
                    at += 2
                else:
                    i, j = _below(sizes[a], rng), _below(sizes[b], rng)
                if a == b and i == j:
                    j = (i + 1) % sizes[a]
                x, y = stubs[starts[a] + i], stubs[starts[b] + j]
                if x != y and add_key(taken, _pair_key(x, y, bits)):
                    u[done], v[done] = x, y
                    joined = True
                    break
            if not joined:
                x, y = stubs[starts[a] + i], stubs[starts[b] + j]
                left = _switch(x, y, first, done, _BLOCK_DRAWS, a == b, u, v, taken, bits, rng)
                joined = left > 0
            if not joined:
                failures += 1
                continue
            failures = 0
            done += 1
            demand -= 1
            _take(stubs, starts, sizes, a, i)
            # Inside one label the last stub has just moved to i.
            _take(stubs, starts, sizes, b, i if a == b and j == sizes[a] else j)
    return done


@lean_kernel
def _look_ahead(
    a: Integer,
    b: Integer,
    stubs: Positions,
    starts: Integers,
    sizes: Integers,
    taken: KeySet,
    bits: int,
    rng: np.random.Generator,
    ahead: Floats,
) -> None:
    """Draw numbers for the next edges of a block, and read what they will probably need."""
    for index in range(2 * _AHEAD):
        ahead[index] = rng.random()
    read = np.int64(0)
    for index in range(0, 2 * _AHEAD, 2):
        used = index if a == b else index // 2  # stubs of each label, if all edges can be joined
        x = stubs[starts[a] + int(ahead[index] * (sizes[a] - used))]
        y = stubs[starts[b] + int(ahead[index + 1] * (sizes[b] - used))]
        read += taken[first_slot(taken, _pair_key(x, y, bits))]
    ahead[2 * _AHEAD] = read  # or the compiler would leave the reads out


@lean_kernel
def _take(
    stubs: Positions, starts: Integers, sizes: Integers, label: Integer, index: Integer
) -> None:
    """Remove a free stub of a label; the last one takes its index."""
    sizes[label] -= 1
    stubs[starts[label] + index] = stubs[starts[label] + sizes[label]]


@lean_kernel
def _switch(
    x: Integer,
    y: Integer,
    first: int,
    done: int,
    draws: int,
    turn: bool,
    u: Positions,
    v: Positions,
    taken: KeySet,
    bits: int,
    rng: np.random.Generator,
) -> int:
    """Replace a random edge p-r with an index from `first` to `done` by x-r and p-y.

    In a block, where p and x have one label and r and y the other, this adds exactly the edge x-y
    that was wanted to all degrees and block counts. With `turn` either end may be p.
    Returns how many draws were left when one succeeded, 0 if none did.
    """
    if first == done:
        return 0
    for left in range(draws, 0, -1):
        edge = first + _below(done - first, rng)
        turned = turn and rng.random() < 0.5
        p, r = (v[edge], u[edge]) if turned else (u[edge], v[edge])
        if p == y or r == x:
            continue
        one, other = _pair_key(x, r, bits), _pair_key(p, y, bits)
        if one == other or has_key(taken, one) or has_key(taken, other):
            continue
        remove_key(taken, _pair_key(p, r, bits))
        add_key(taken, one)
        add_key(taken, other)
        u[edge], v[edge] = x, r
        u[done], v[done] = p, y
        return left
    return 0


@kernel
def _leftovers(stubs: Positions, starts: Integers, sizes: Integers) -> Positions:
    """The stubs of all labels that are still free."""
    rest = np.empty(sizes.sum(), dtype=np.int32)
    found = 0
    for label in range(sizes.size):
        for index in range(starts[label], starts[label] + sizes[label]):
            rest[found] = stubs[index]
            found += 1
    return rest


@lean_kernel
def _match_leftovers(
    rest: Positions,
    kept: int,
    done: int,
    u: Positions,
    v: Positions,
    taken: KeySet,
    bits: int,
    rng: np.random.Generator,
) -> int:
    """Step 3: join the leftover stubs in pairs. Kept edges are replaced only if no other can be."""
    budget = _DRAWS_PER_EDGE * u.size + _MORE_DRAWS
    for pair in range(rest.size // 2):
        if done == u.size:
            break
        x, y = rest[2 * pair], rest[2 * pair + 1]
        if x != y and add_key(taken, _pair_key(x, y, bits)):
            u[done], v[done] = x, y
            done += 1
            continue
        for first in (kept, 0):
            draws = min(budget, _LEFTOVER_DRAWS // 2)
            left = _switch(x, y, first, done, draws, True, u, v, taken, bits, rng)
            budget -= draws - left
            if left > 0:
                done += 1
                break
    return done


@lean_kernel
def _pad(
    nodes: int,
    done: int,
    u: Positions,
    v: Positions,
    taken: KeySet,
    bits: int,
    rng: np.random.Generator,
) -> None:
    """Step 4: add random pairs up to the edge count, weighted by degree and then uniform.

    An end of a random edge is a node drawn in proportion to its degree. Where draws keep failing,
    the rest is chosen from the list of free pairs.
    """
    while done < u.size:
        before = done
        for draw in range(2 * _PAD_DRAWS):
            if draw < _PAD_DRAWS and done > 0:
                one, other = _below(done, rng), _below(done, rng)
                x = u[one] if rng.random() < 0.5 else v[one]
                y = u[other] if rng.random() < 0.5 else v[other]
            else:
                x, y = np.int32(_below(nodes, rng)), np.int32(_below(nodes, rng))
            if x != y and add_key(taken, _pair_key(x, y, bits)):
                u[done], v[done] = x, y
                done += 1
                break
        if done == before:
            _pad_from_list(nodes, done, u, v, taken, bits, rng)
            break


@lean_kernel
def _pad_from_list(
    nodes: int,
    done: int,
    u: Positions,
    v: Positions,
    taken: KeySet,
    bits: int,
    rng: np.random.Generator,
) -> None:
    """Choose the missing edges uniformly from the list of free pairs.

    Reached only where random draws keep failing, that is in small graphs or where most pairs are
    taken; the n²/2 pairs are then few.
    """
    free = 0
    for x in range(nodes):
        for y in range(x + 1, nodes):
            free += not has_key(taken, _pair_key(x, y, bits))
    for x in range(nodes):
        for y in range(x + 1, nodes):
            if done < u.size and not has_key(taken, _pair_key(x, y, bits)):
                if rng.random() * free < u.size - done:
                    u[done], v[done] = x, y
                    done += 1
                free -= 1


@kernel
def _other_keys(absent: Integers, nodes: int, count: int, bits: int) -> Integers:
    """Keys of all `count` pairs that are not listed."""
    listed = key_set(absent.size)
    for key in absent:
        add_key(listed, key)
    keys = np.empty(count, dtype=np.int64)
    found = 0
    for x in range(nodes):
        for y in range(x + 1, nodes):
            key = _pair_key(x, y, bits)
            if not has_key(listed, key):
                keys[found] = key
                found += 1
    return keys
