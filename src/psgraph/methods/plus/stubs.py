"""Kernels that join stubs to edges, one per step of `psgraph.methods.plus.realisation`.

A stub is an edge end that a node still wants. The edges so far are the first `done` entries of
`u` and `v`; `taken` holds the keys of all pairs that are edges or must not become one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Positions
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph._runtime.kernels import KeySet, add_key, first_slot, has_key, key_set, remove_key
from psgraph.graph.kind import pack_unordered

__all__ = [
    "fill_blocks",
    "keep",
    "leftovers",
    "match_leftovers",
    "other_keys",
    "pad",
    "room_ahead",
    "stub_pools",
    "take",
]

Integer = int | np.integer[Any]

_AHEAD = 16  # edges for which memory is read at once; below _BLOCK_DRAWS
_LARGE = 1 << 17  # slots of a set that does not fit the nearest caches

_BLOCK_DRAWS = 30  # pairs of stubs drawn for one edge of a block, and as many switches
_BLOCK_FAILURES = 3  # edges of a block given up in a row before the rest is left to step 3
_LEFTOVER_DRAWS = 5_000  # edges drawn for one pair of leftover stubs, half of them new ones
_DRAWS_PER_EDGE = 4  # draws for all leftover stubs together, as a multiple of the edge count
_MORE_DRAWS = 500_000  # and a constant that small dense graphs need, some 10 ms
_PAD_DRAWS = 30  # pairs drawn by degree for one missing edge, and as many uniformly


def room_ahead() -> Floats:
    """Return room for the numbers that kernels draw or read ahead."""
    return np.empty(2 * _AHEAD + 1)


@lean_kernel
def _below(limit: Integer, rng: np.random.Generator) -> int:
    """A uniform integer from 0 to limit - 1."""
    return int(rng.random() * limit)


@lean_kernel
def keep(
    kept_u: Positions,
    kept_v: Positions,
    wanted: Integers,
    labels: Positions,
    quotas: Integers,
    u: Positions,
    v: Positions,
    taken: KeySet,
    most: int,
    bits: int,
    ahead: Floats,
) -> int:
    """Step 1: keep up to `most` edges that degrees and quotas allow, and reduce both; how many."""
    done = read = 0
    for edge in range(kept_u.size):
        if done == most:
            break
        if edge % _AHEAD == 0 and taken.size >= _LARGE:
            # Memory is read for many edges at once, and not for one after the other.
            for index in range(edge, min(edge + _AHEAD, kept_u.size)):
                x, y = kept_u[index], kept_v[index]
                read += wanted[x] + wanted[y] + labels[x] + labels[y]
                read += taken[first_slot(taken, pack_unordered(x, y, bits))]
        x, y = kept_u[edge], kept_v[edge]
        if x == y or wanted[x] <= 0 or wanted[y] <= 0:
            continue
        a, b = min(labels[x], labels[y]), max(labels[x], labels[y])
        if quotas[a, b] <= 0 or not add_key(taken, pack_unordered(x, y, bits)):
            continue
        quotas[a, b] -= 1
        wanted[x] -= 1
        wanted[y] -= 1
        u[done], v[done] = x, y
        done += 1
    ahead[0] = read  # or the compiler would leave the reads out
    return done


@kernel
def take(taken: KeySet, keys: Integers) -> None:
    """Mark pairs that must not become edges."""
    for key in keys:
        add_key(taken, key)


@kernel
def stub_pools(wanted: Integers, labels: Positions, count: int) -> tuple[Positions, Integers]:
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
def fill_blocks(
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
                if x != y and add_key(taken, pack_unordered(x, y, bits)):
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
        read += taken[first_slot(taken, pack_unordered(x, y, bits))]
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
        one, other = pack_unordered(x, r, bits), pack_unordered(p, y, bits)
        if one == other or has_key(taken, one) or has_key(taken, other):
            continue
        remove_key(taken, pack_unordered(p, r, bits))
        add_key(taken, one)
        add_key(taken, other)
        u[edge], v[edge] = x, r
        u[done], v[done] = p, y
        return left
    return 0


@kernel
def leftovers(stubs: Positions, starts: Integers, sizes: Integers) -> Positions:
    """The stubs of all labels that are still free."""
    rest = np.empty(sizes.sum(), dtype=np.int32)
    found = 0
    for label in range(sizes.size):
        for index in range(starts[label], starts[label] + sizes[label]):
            rest[found] = stubs[index]
            found += 1
    return rest


@lean_kernel
def match_leftovers(
    rest: Positions,
    kept: int,
    done: int,
    u: Positions,
    v: Positions,
    taken: KeySet,
    bits: int,
    turn: bool,
    rng: np.random.Generator,
) -> int:
    """Step 3: join the leftover stubs in pairs. Kept edges are replaced only if no other can be.

    `turn` says whether both ends of an edge are alike.
    """
    budget = _DRAWS_PER_EDGE * u.size + _MORE_DRAWS
    for pair in range(rest.size // 2):
        if done == u.size:
            break
        x, y = rest[2 * pair], rest[2 * pair + 1]
        if x != y and add_key(taken, pack_unordered(x, y, bits)):
            u[done], v[done] = x, y
            done += 1
            continue
        for first in (kept, 0):
            draws = min(budget, _LEFTOVER_DRAWS // 2)
            left = _switch(x, y, first, done, draws, turn, u, v, taken, bits, rng)
            budget -= draws - left
            if left > 0:
                done += 1
                break
    return done


@lean_kernel
def pad(
    nodes: int,
    left: int,
    done: int,
    u: Positions,
    v: Positions,
    taken: KeySet,
    bits: int,
    rng: np.random.Generator,
) -> None:
    """Step 4: add random pairs up to the edge count, weighted by degree and then uniform.

    An end of a random edge is a node drawn in proportion to its degree. Where draws keep failing,
    the rest is chosen from the list of free pairs. With `left` nodes on the left, edges lead from
    one of them to one of the others.
    """
    while done < u.size:
        before = done
        for draw in range(2 * _PAD_DRAWS):
            if draw < _PAD_DRAWS and done > 0:
                one, other = _below(done, rng), _below(done, rng)
                x = u[one] if left > 0 or rng.random() < 0.5 else v[one]
                y = u[other] if left == 0 and rng.random() < 0.5 else v[other]
            elif left > 0:
                x, y = np.int32(_below(left, rng)), np.int32(left + _below(nodes - left, rng))
            else:
                x, y = np.int32(_below(nodes, rng)), np.int32(_below(nodes, rng))
            if x != y and add_key(taken, pack_unordered(x, y, bits)):
                u[done], v[done] = x, y
                done += 1
                break
        if done == before:
            _pad_from_list(nodes, left, done, u, v, taken, bits, rng)
            break


@lean_kernel
def _pad_from_list(
    nodes: int,
    left: int,
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
    for x in range(nodes if left == 0 else left):
        for y in range(max(x + 1, left), nodes):
            free += not has_key(taken, pack_unordered(x, y, bits))
    for x in range(nodes if left == 0 else left):
        for y in range(max(x + 1, left), nodes):
            if done < u.size and not has_key(taken, pack_unordered(x, y, bits)):
                if rng.random() * free < u.size - done:
                    u[done], v[done] = x, y
                    done += 1
                free -= 1


@kernel
def other_keys(absent: Integers, nodes: int, left: int, count: int, bits: int) -> Integers:
    """Keys of all `count` pairs that are not listed; see `pad` for `left`."""
    listed = key_set(absent.size)
    for key in absent:
        add_key(listed, key)
    keys = np.empty(count, dtype=np.int64)
    found = 0
    for x in range(nodes if left == 0 else left):
        for y in range(max(x + 1, left), nodes):
            key = pack_unordered(x, y, bits)
            if not has_key(listed, key):
                keys[found] = key
                found += 1
    return keys
