"""Distinct uniform pairs between many pairs of blocks, in time proportional to the pairs drawn.

The pairs between two blocks are numbered row by row, and Floyd's algorithm chooses `count` of
the numbers: it takes one draw per pair, however few or many of them are wanted. A hash set holds
what has been chosen, keyed by the two nodes. Every pair of blocks has a stream of random numbers
of its own.

Reference: Bentley and Floyd, "Programming Pearls: A Sample of Brilliance", CACM 1987.
"""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.hash_set import add_key, key_set
from psgraph._runtime.jit import kernel
from psgraph._runtime.sorting import group_nodes
from psgraph.engines.base import PairCounts
from psgraph.engines.counter_based import start_stream, uniform
from psgraph.engines.running import Job
from psgraph.engines.sampling import TASK_EDGES, cuts

__all__ = ["pair_job"]


def pair_job(model: PairCounts, *, key: int, task_edges: int = TASK_EDGES) -> Job:
    """Return tasks that draw keys ``u << 32 | v`` for some pairs of blocks each.

    >>> labels = np.array([0, 0, 1], dtype=np.int32)
    >>> model = PairCounts(labels, labels[:1], labels[2:], np.array([2]))
    >>> job = pair_job(model, key=1)
    >>> [sorted(job.work(item, *job.shared).tolist()) for item in job.items]
    [[2, 4294967298]]
    """
    nodes = np.arange(model.labels.size)
    _, ordered = group_nodes(model.labels.astype(np.int64), nodes)
    begins = np.append(0, np.bincount(model.labels).cumsum())
    items = cuts(model.counts.astype(np.float64), task_edges)
    shared = (ordered.astype(np.int32), begins, model.heads, model.tails, model.counts, key)
    return Job(_draw, items, shared)


def _draw(
    blocks: tuple[int, int],
    members: Positions,
    begins: Integers,
    heads: Positions,
    tails: Positions,
    counts: Integers,
    key: int,
) -> Integers:
    chosen = slice(*blocks)
    return _choose(members, begins, heads[chosen], tails[chosen], counts[chosen], np.uint64(key))


@kernel
def _choose(
    members: Positions,
    begins: Integers,
    heads: Positions,
    tails: Positions,
    counts: Integers,
    key: np.uint64,
) -> Integers:
    total = counts.sum()
    keys = np.empty(total, dtype=np.int64)
    taken = key_set(total)
    state = np.empty(4, dtype=np.uint64)
    found = 0
    for block in range(counts.size):
        a, b = heads[block], tails[block]
        start_stream(state, key, (np.int64(a) << 32) | np.int64(b), 0)
        columns = begins[b + 1] - begins[b]
        pairs = (begins[a + 1] - begins[a]) * columns
        for last in range(pairs - counts[block], pairs):
            # Floyd: any number up to `last`; if it is taken already, `last`, which can't be.
            at = np.int64(uniform(state) * (last + 1))
            for _ in range(2):
                x = np.int64(members[begins[a] + at // columns])
                y = np.int64(members[begins[b] + at % columns])
                pair = (x << 32) | y if x < y else (y << 32) | x
                if add_key(taken, pair):
                    break
                at = np.int64(last)
            keys[found] = pair
            found += 1
    return keys
