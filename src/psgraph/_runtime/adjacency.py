"""Neighbour lists: of a whole graph, and of a range of its nodes."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel

__all__ = ["adjacency", "rows_of_range"]


@kernel
def adjacency(u: Positions, v: Positions, nodes: int) -> tuple[Integers, Positions]:
    """Neighbour lists of an undirected graph, each in ascending order."""
    starts = np.zeros(nodes + 1, dtype=np.int64)
    for edge in range(u.size):
        starts[u[edge] + 1] += 1
        starts[v[edge] + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    heads = starts[:-1].copy()
    neighbours = np.empty(2 * u.size, dtype=np.int32)
    for edge in range(u.size):
        x, y = u[edge], v[edge]
        neighbours[heads[x]] = y
        heads[x] += 1
        neighbours[heads[y]] = x
        heads[y] += 1
    return starts, neighbours


@kernel
def rows_of_range(
    first: int, last: int, u: Positions, v: Positions, upper: Positions, lower: Positions
) -> tuple[Integers, Positions]:
    """Neighbour lists of the nodes from `first` up to, not including, `last`.

    Parameters
    ----------
    u, v
        The edges whose smaller end u is in the range, in ascending order.
    upper, lower
        The edges whose larger end `upper` is in the range, in ascending order of (upper, lower).
    """
    starts = np.zeros(last - first + 1, dtype=np.int64)
    for node in u:
        starts[node - first + 1] += 1
    for node in upper:
        starts[node - first + 1] += 1
    for row in range(last - first):
        starts[row + 1] += starts[row]
    heads = starts[:-1].copy()
    neighbours = np.empty(u.size + upper.size, dtype=np.int32)
    for edge in range(upper.size):  # smaller neighbours come first
        row = upper[edge] - first
        neighbours[heads[row]] = lower[edge]
        heads[row] += 1
    for edge in range(u.size):
        row = u[edge] - first
        neighbours[heads[row]] = v[edge]
        heads[row] += 1
    return starts, neighbours
