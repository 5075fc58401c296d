"""Drawing a graph from blocks of equally likely pairs: post-processing of released values."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import triangle, triangle_row

__all__ = ["draw_edges"]


def draw_edges(
    order: Positions,
    begin: Positions,
    middle: Positions,
    end: Positions,
    probabilities: Floats,
    *,
    pairs: Integers,
    rng: np.random.Generator,
) -> tuple[Positions, Positions]:
    """Every pair of a block is an edge with the block's probability, independently.

    Jumps of geometric length go from one edge to the next in the list of a block's pairs, so the
    time is O(blocks + edges drawn).

    Parameters
    ----------
    order
        The nodes in the order blocks refer to.
    begin, middle, end
        See `psgraph.methods.privhrg.blocks`.
    pairs
        How many pairs each block has.
    """
    room = int(float((pairs * probabilities).sum()) * 1.05) + 1024
    u, v = _draw(order, begin, middle, end, probabilities, pairs, room, rng)
    return u, v


@kernel
def _draw(
    order: Positions,
    begin: Positions,
    middle: Positions,
    end: Positions,
    probabilities: Floats,
    pairs: Integers,
    room: int,
    rng: np.random.Generator,
) -> tuple[Positions, Positions]:
    u = np.empty(room, dtype=np.int32)
    v = np.empty(room, dtype=np.int32)
    found = 0
    for block in range(pairs.size):
        chance = probabilities[block]
        if chance <= 0.0:
            continue
        log_miss = np.log1p(-chance) if chance < 1.0 else 0.0
        columns = np.int64(end[block] - middle[block])
        at = np.int64(-1)
        while True:
            step = 1.0
            if chance < 1.0:
                step += np.floor(np.log1p(-rng.random()) / log_miss)
            if step > pairs[block] - at - 1:
                break
            at += np.int64(step)
            if middle[block] == begin[block]:
                # The pairs (column < row) of a stretch, row by row.
                row = np.int64(triangle_row(at))
                column = at - triangle(row)
            else:
                row, column = at // columns, at % columns
            if found == u.size:
                u = np.concatenate((u, np.empty_like(u)))
                v = np.concatenate((v, np.empty_like(v)))
            u[found] = order[begin[block] + row]
            v[found] = order[middle[block] + column]
            found += 1
    return u[:found], v[:found]
