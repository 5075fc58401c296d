"""Sampling random graphs on a runner: all models of a graph at once, each block by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers, Labels, Positions
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import add_key, key_set
from psgraph.engines.counter_based import derived_key, start_stream, uniform
from psgraph.engines.rank_one import TASK_EDGES, Blocks, block_job, cuts
from psgraph.engines.runner import Job, Runner
from psgraph.engines.sides import Sides
from psgraph.graph.kind import UNDIRECTED, pack_pair, pack_unordered

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts

__all__ = ["Model", "PairCounts", "pair_job", "sample"]


@dataclass(frozen=True)
class PairCounts:
    """Exactly `counts` distinct edges, uniformly chosen, between each pair of different blocks.

    A count is at most the number of pairs of nodes between the two blocks, and no pair of blocks
    is listed twice. If edges have two `sides`, they lead from the first block to the second one.
    """

    labels: Labels
    heads: Labels
    tails: Labels
    counts: Integers
    sides: Sides | None = None


Model = Blocks | PairCounts
"""A random graph that `sample` can draw."""


def sample(runner: Runner, *models: Model, seed: int) -> EdgeParts:
    """Draw the edges of all models, which must not have a pair of nodes in common.

    They have the same sides.

    What is drawn for a block depends on `seed`, the position of its model in the list and the
    block: not on threads, workers or parts, nor on a task being repeated.
    """
    jobs = (_job(model, derived_key(seed, number)) for number, model in enumerate(models))
    nodes, sides = max(model.labels.size for model in models), models[0].sides
    return runner.shuffle(jobs, nodes=nodes, kind=sides.kind if sides else UNDIRECTED)


def _job(model: Model, key: int) -> Job:
    return block_job(model, key=key) if isinstance(model, Blocks) else pair_job(model, key=key)


def pair_job(model: PairCounts, *, key: int, task_edges: int = TASK_EDGES) -> Job:
    """Return tasks that draw keys for some pairs of blocks each.

    The pairs of nodes between two blocks are numbered row by row, and Floyd's algorithm chooses
    `count` of the numbers: it takes one draw per pair, however few or many of them are wanted. A
    hash set holds what has been chosen, keyed by the two nodes. Every pair of blocks has its own
    stream of random numbers.

    Reference: Bentley and Floyd, "Programming Pearls: A Sample of Brilliance", CACM 1987.

    >>> from psgraph.graph.kind import unpack
    >>> labels = np.array([0, 0, 1], dtype=np.int32)
    >>> model = PairCounts(labels, labels[:1], labels[2:], np.array([2]))
    >>> job = pair_job(model, key=1)
    >>> [unpack(np.sort(job.work(item, *job.shared))) for item in job.items]
    [(array([0, 1], dtype=int32), array([2, 2], dtype=int32))]
    """
    sides = model.sides or Sides.undirected(model.labels.size)
    rows, columns = sides.grouped(model.labels)
    items = cuts(model.counts.astype(np.float64), task_edges)
    blocks = (model.heads, model.tails, model.counts)
    return Job(_draw_pairs, items, (*rows, *columns, not sides.alike, *blocks, key))


def _draw_pairs(
    blocks: tuple[int, int],
    rows: Positions,
    row_begins: Integers,
    columns: Positions,
    column_begins: Integers,
    ordered: bool,
    heads: Positions,
    tails: Positions,
    counts: Integers,
    key: int,
) -> Integers:
    chosen = slice(*blocks)
    return _choose(
        rows, row_begins, columns, column_begins, ordered, heads[chosen], tails[chosen],
        counts[chosen], np.uint64(key),
    )  # fmt: skip


@kernel
def _choose(
    rows: Positions,
    row_begins: Integers,
    columns: Positions,
    column_begins: Integers,
    ordered: bool,
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
        start_stream(state, key, pack_pair(a, b), 0)
        width = column_begins[b + 1] - column_begins[b]
        pairs = (row_begins[a + 1] - row_begins[a]) * width
        for last in range(pairs - counts[block], pairs):
            # Floyd: any number up to `last`; if it is taken already, `last`, which can't be.
            at = np.int64(uniform(state) * (last + 1))
            for _ in range(2):
                x = rows[row_begins[a] + at // width]
                y = columns[column_begins[b] + at % width]
                pair = pack_pair(x, y) if ordered else pack_unordered(x, y)
                if add_key(taken, pair):
                    break
                at = np.int64(last)
            keys[found] = pair
            found += 1
    return keys
