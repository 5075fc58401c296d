"""Clustering coefficients from a single count of triangles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.metrics.degrees import node_degrees

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["Clustering", "clustering_coefficients", "triangles"]

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Clustering:
    """Both clustering coefficients of a graph.

    Attributes
    ----------
    transitivity
        Share of the paths of length two that are closed to a triangle; the paper's metric. 0 if
        there is no such path.
    average
        Mean of the same share over all nodes of the roster, 0 for nodes of degree 0 or 1. Small
        nodes weigh as much as hubs.
    """

    transitivity: float
    average: float


def clustering_coefficients(graph: Graph) -> Clustering:
    """Global transitivity and average local clustering coefficient. O(m^1.5).

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> clustering_coefficients(SyntheticGraph(Roster.range(4), [0, 0, 0, 1], [1, 2, 3, 2]))
    Clustering(transitivity=0.6, average=0.58...)
    """
    degree = node_degrees(graph)
    pairs = degree * (degree - 1) // 2
    closed = triangles(graph)
    wide = pairs > 0
    if not wide.any():
        return Clustering(0.0, 0.0)
    local = closed[wide] / pairs[wide]
    return Clustering(int(closed.sum()) / int(pairs.sum()), float(local.sum()) / degree.size)


def triangles(graph: Graph) -> Counts:
    """The number of triangles through every node, in roster order.

    Nodes are numbered by ascending degree and every edge points to the higher number. No node then
    has more than √(2m) edges going out, each triangle is met once, and the hubs, which most steps
    end at, lie side by side in memory.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> triangles(SyntheticGraph(Roster.range(4), [0, 1, 0, 0], [1, 2, 2, 3]))
    array([1, 1, 1, 0])
    """
    degree = node_degrees(graph)
    by_degree = np.argsort(degree, kind="stable")
    rank = np.empty(degree.size, dtype=np.int32)
    rank[by_degree] = np.arange(degree.size, dtype=np.int32)
    return _triangles_by_rank(rank[graph.u], rank[graph.v], degree.size)[rank]


@kernel
def _triangles_by_rank(u: NDArray[np.int32], v: NDArray[np.int32], n: int) -> Counts:
    offsets = np.zeros(n + 1, dtype=np.int64)
    for index in range(u.size):
        offsets[min(u[index], v[index]) + 1] += 1
    for node in range(n):
        offsets[node + 1] += offsets[node]
    place = offsets[:-1].copy()
    heads = np.empty(u.size, dtype=np.int32)
    for index in range(u.size):
        tail = min(u[index], v[index])
        heads[place[tail]] = max(u[index], v[index])
        place[tail] += 1

    counts = np.zeros(n, dtype=np.int64)
    seen_from = np.full(n, -1, dtype=np.int32)
    for node in range(n):
        if offsets[node + 1] - offsets[node] < 2:
            continue
        for index in range(offsets[node], offsets[node + 1]):
            seen_from[heads[index]] = node
        for index in range(offsets[node], offsets[node + 1]):
            middle = heads[index]
            for inner in range(offsets[middle], offsets[middle + 1]):
                if seen_from[heads[inner]] == node:
                    counts[node] += 1
                    counts[middle] += 1
                    counts[heads[inner]] += 1
    return counts
