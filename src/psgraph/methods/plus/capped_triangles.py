"""Triangles among edges that both ends keep: a count with a small, known sensitivity.

Every node keeps its first `cap` edges in an order of nodes that is independent of the edges; an
edge counts if both of its ends keep it. One edge then moves the number of triangles by at most
2(cap − 1). Proof: proofs/psgraph-plus.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import Edges
from psgraph.methods.plus.triangles import ranked_adjacency
from psgraph.privacy.mechanisms.laplace import LaplaceCount

__all__ = ["CappedTriangles", "kept_by_both"]


@dataclass(frozen=True)
class CappedTriangles(LaplaceCount):
    """The number of triangles among kept edges plus discrete Laplace noise.

    Parameters
    ----------
    value
        The number of triangles of `kept_by_both`: private.
    sensitivity
        2(cap − 1) for one edge, where the cap is public or released.

    Notes
    -----
    Privacy: ε for one edge. proofs/psgraph-plus.md.
    """

    name = "capped triangles"
    proof = "proofs/psgraph-plus.md"


def kept_by_both(edges: Edges, numbers: NDArray[Any], cap: int) -> Edges:
    """Return the edges that are among the first `cap` of both ends. O(n log n + m).

    Parameters
    ----------
    numbers
        One for each node, independent of the edges: neighbours with the smallest come first.

    *Privacy*: the result is private. Adding an edge {a, b} adds at most that edge and removes at
    most one edge of a and one edge of b.

    Examples
    --------
    >>> star = Edges(np.zeros(3, dtype=np.int32), np.arange(1, 4, dtype=np.int32))
    >>> kept_by_both(star, np.array([0, 3, 2, 1]), 2).v
    array([3, 2], dtype=int32)
    """
    node = np.argsort(numbers, kind="stable").astype(np.int32)
    rank = np.empty_like(node)
    rank[node] = np.arange(node.size, dtype=np.int32)
    starts, neighbours = ranked_adjacency(rank[edges.u], rank[edges.v], node.size)
    u, v = _kept(starts, neighbours, cap)
    return Edges(np.minimum(node[u], node[v]), np.maximum(node[u], node[v]))


@kernel
def _kept(starts: Integers, neighbours: Positions, cap: int) -> tuple[Positions, Positions]:
    """Pairs x < y, each among the first `cap` entries of the other's ascending list."""
    nodes = starts.size - 1
    u = np.empty(neighbours.size // 2, dtype=np.int32)
    v = np.empty(neighbours.size // 2, dtype=np.int32)
    found = 0
    for x in range(nodes):
        for index in range(starts[x], min(starts[x] + cap, starts[x + 1])):
            y = neighbours[index]
            if y < x:
                continue
            last = min(starts[y] + cap, starts[y + 1]) - 1
            if x <= neighbours[last]:  # x is in the list of y, so it is among the first ones
                u[found], v[found] = x, y
                found += 1
    return u[:found], v[:found]
