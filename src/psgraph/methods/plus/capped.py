"""Triangles among edges that both ends keep: a count with a small, known sensitivity.

The ladder mechanism counts all triangles, with noise that grows with the largest number of common
neighbours and with 1/ε². Where most nodes have few neighbours and ε is small, a count over part of
the edges says more. Every node keeps its first `cap` edges in a public order of nodes; an edge
counts if both of its ends keep it. One edge then moves the count by at most 2(cap − 1); see
proofs/psgraph-plus.md. Which of the two is asked, and with which cap, depends on released degrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.engines.base import Edges
from psgraph.methods.plus.triangles import ranked_adjacency

__all__ = ["Cap", "best_cap", "kept_by_both"]

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]

LEAST, MOST = 3, 256  # caps tried; a triangle needs two edges at each node


@dataclass(frozen=True)
class Cap:
    """How many edges a node keeps.

    Attributes
    ----------
    edges
        The cap itself, at least 2.
    share
        The expected share of triangles whose edges are all kept.
    """

    edges: int
    share: float

    @property
    def sensitivity(self) -> int:
        """How far one edge moves the number of triangles among kept edges."""
        return 2 * (self.edges - 1)


def best_cap(degrees: Integers, epsilon: float) -> Cap | None:
    """Return the cap with the best ratio of triangles to noise, None if the ladder has a better.

    On average the noise of the ladder mechanism is 2·LS/ε + 4/ε², where LS is the largest number
    of common neighbours: about half of the cap on the streams looked at.

    Parameters
    ----------
    degrees
        Released degrees of all nodes.
    epsilon
        What the count may spend.

    Examples
    --------
    >>> best_cap(np.full(100, 6), 0.1)
    Cap(edges=6, share=1.0)
    >>> best_cap(np.full(100, 6), 4.0) is None
    True
    """
    degree, counts = np.unique(degrees, return_counts=True)
    stubs = float((degree * counts).sum())
    wedges = float((degree * (degree - 1) * counts).sum())
    if wedges == 0 or epsilon == 0:
        return None
    caps = np.arange(LEAST, min(int(degree[-1]), MOST) + 1)
    if not caps.size:
        return None
    kept = np.minimum(degree, caps[:, None])
    # Two edges of a node survive its own cap, and then those of their other ends.
    shares = (kept * (kept - 1)) @ counts / wedges * ((kept @ counts) / stubs) ** 2
    best = int(np.argmax(shares / (caps - 1)))
    cap = Cap(int(caps[best]), round(float(shares[best]), 9))
    return cap if cap.share * (cap.edges + 4 / epsilon) > cap.sensitivity else None


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
