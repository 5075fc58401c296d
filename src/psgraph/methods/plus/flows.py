"""Rows of flows with given strengths and block quotas: stub matching in which pairs may repeat.

Post-processing of released values only. As in `realisation`, rows of the last release are kept
while strengths and quotas allow it, blocks are filled in order with random stubs of their labels,
and what is left over is matched regardless of labels. There is no test for repeated pairs, so that
nothing fails but a row from a node to itself; its head is exchanged with that of another row.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import Edges
from psgraph.methods.plus.realisation import Target
from psgraph.methods.plus.stubs import leftovers, stub_pools

__all__ = ["flow_rows"]

TRIES = 50  # rounds of exchanges until no row leads from a node to itself


def flow_rows(
    target: Target,
    *,
    kept: tuple[Positions, Positions],
    most_kept: int,
    rng: np.random.Generator,
) -> Edges:
    """Return rows in ascending order, at most `target.edge_count`.

    Ends are those of the target: on the right they begin at its `left`. Rows from a node to itself
    that no exchange can avoid are left out.

    Notes
    -----
    O(n + m + L²) time and memory for n nodes, m rows and L labels.
    """
    wanted, count = target.degrees.copy(), target.edge_count
    labels = int(max(target.labels.max(initial=-1), target.block_b.max(initial=-1))) + 1
    quotas = np.zeros((labels, labels), dtype=np.int64)
    quotas[target.block_a, target.block_b] = target.quotas
    stays = _kept(*kept, wanted, target.labels, quotas, min(most_kept, count))
    u, v = [kept[0][stays]], [kept[1][stays]]
    stubs, starts = stub_pools(wanted, target.labels, labels)
    for begin, end in pairwise(starts):
        rng.shuffle(stubs[begin:end])
    free = np.diff(starts)
    for a, b in zip(target.block_a, target.block_b, strict=True):
        size = min(quotas[a, b], free[a], free[b])
        free[a], free[b] = free[a] - size, free[b] - size
        u.append(stubs[starts[a] + free[a] :][:size])
        v.append(stubs[starts[b] + free[b] :][:size])
    rest = leftovers(stubs, starts, free)
    rng.shuffle(rest)
    heads, tails = rest[rest < target.left], rest[rest >= target.left]
    size = min(heads.size, tails.size)
    first, second = np.concatenate([*u, heads[:size]]), np.concatenate([*v, tails[:size]])
    if target.directed:
        first, second = _without_loops(first, second, target.left, rng)
    order = np.lexsort((second, first))[: max(count, 0)]
    return Edges(first[order], second[order])


@kernel
def _kept(
    u: Positions,
    v: Positions,
    wanted: Integers,
    labels: Positions,
    quotas: Integers,
    most: int,
) -> Integers:
    """Which of the old rows stay; strengths and quotas are reduced by them."""
    stays = np.empty(min(most, u.size), dtype=np.int64)
    done = 0
    for row in range(u.size):
        if done == most:
            break
        x, y = u[row], v[row]
        if wanted[x] > 0 and wanted[y] > 0 and quotas[labels[x], labels[y]] > 0:
            quotas[labels[x], labels[y]] -= 1
            wanted[x] -= 1
            wanted[y] -= 1
            stays[done] = row
            done += 1
    return stays[:done]


def _without_loops(
    u: Positions, v: Positions, shift: int, rng: np.random.Generator
) -> tuple[Positions, Positions]:
    """Exchange the heads of rows from a node to itself; leave out those that stay."""
    for _ in range(TRIES):
        loops = np.flatnonzero(u == v - shift)
        if not loops.size or u.size < 2:
            break
        for row in loops:
            other = int(rng.integers(u.size))
            v[row], v[other] = v[other], v[row]
    apart = u != v - shift
    return u[apart], v[apart]
