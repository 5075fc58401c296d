"""Random graphs with hubs and planted communities, drawn edge by edge.

Both ends of an edge are drawn by weight, the second in the same community or anywhere. All steps
work on whole arrays. The demo stream and the benchmarks are built from it.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.kernels import sort_keys
from psgraph.graph.kind import UNDIRECTED, first_key

__all__ = ["Keys", "PlantedGraph", "pareto_weights"]

Keys = NDArray[np.int64]

_CHUNK = 1 << 23  # draws at a time


def pareto_weights(
    nodes: int, rng: np.random.Generator, *, exponent: float, largest: float
) -> NDArray[np.float64]:
    """Draw node weights from a Pareto distribution, capped at `largest`."""
    weights: NDArray[np.float64] = (1 - rng.random(nodes)) ** (-1 / exponent)
    return np.minimum(weights, largest)


class PlantedGraph:
    """Node weights and communities to draw edges from.

    Parameters
    ----------
    weights
        How likely each node is to be drawn, up to a common factor.
    communities
        The community of each node, numbered from 0.
    rng
        Where the randomness comes from.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> graph = PlantedGraph(np.ones(6), np.array([0, 0, 0, 1, 1, 1]), rng)
    >>> from psgraph.graph.kind import unpack
    >>> u, v = unpack(graph.extend(np.empty(0, dtype=np.int64), 4, inside=1.0))
    >>> u.size, bool((u < v).all()), bool(((u < 3) == (v < 3)).all())
    (4, True, True)
    """

    def __init__(
        self,
        weights: NDArray[np.float64],
        communities: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> None:
        self._rng = rng
        # With the nodes sorted by community, each community is one stretch of the running sum.
        self._nodes = np.argsort(communities, kind="stable")
        self._sums = np.append(0.0, np.cumsum(weights[self._nodes]))
        self._communities = communities[self._nodes]
        count = int(communities.max(initial=-1)) + 1
        self._starts = np.searchsorted(self._communities, np.arange(count + 1))

    def extend(self, keys: Keys, count: int, *, inside: float, surplus: float = 2.0) -> Keys:
        """Return `keys` followed by exactly `count` new ones, in random order.

        Parameters
        ----------
        keys
            Keys of edges, in any order.
        count
            How many edges to add.
        inside
            Share of the new edges that stay inside a community.
        surplus
            How many edges to draw for each that is missing, since some will be repeats.
        """
        taken = [self._sorted_distinct(keys.copy())]
        pieces, missing = [keys], count
        while missing > 0:
            drawn = self.draw(max(round(surplus * missing), missing), inside)
            new = reduce(_without, taken, self._sorted_distinct(drawn))
            pieces.append(self._rng.permutation(new)[:missing])
            taken.append(self._sorted_distinct(pieces[-1].copy()))
            missing -= pieces[-1].size
        return np.concatenate(pieces)

    def _sorted_distinct(self, keys: Keys) -> Keys:
        keys = sort_keys(keys, largest=first_key(self._nodes.size))
        return keys[np.append(True, keys[1:] != keys[:-1])] if keys.size else keys

    def draw(self, count: int, inside: float, *, ordered: bool = False) -> Keys:
        """Draw edges without self-loops; some are repeats.

        `ordered` draws first ends in ascending order: quicker for millions of nodes.
        """
        chunks = (min(_CHUNK, count - start) for start in range(0, count, _CHUNK))
        return np.concatenate([self._draw_chunk(chunk, inside, ordered) for chunk in chunks])

    def _draw_chunk(self, count: int, inside: float, ordered: bool) -> Keys:
        total = self._sums[-1]
        points = self._rng.random(count)
        if ordered:
            points.sort()
        first = self._find(points * total)
        community = self._communities[first]
        own = self._rng.random(count) < inside
        low = np.where(own, self._sums[self._starts[community]], 0.0)
        high = np.where(own, self._sums[self._starts[community + 1]], total)
        second = self._find(low + self._rng.random(count) * (high - low))
        apart = first != second
        return UNDIRECTED.keys(self._nodes[first[apart]], self._nodes[second[apart]])

    def _find(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index (in order of community) of the node at each point of the sum."""
        found = np.searchsorted(self._sums, points, side="right") - 1
        return np.minimum(found, self._nodes.size - 1)


def _without(keys: Keys, taken: Keys) -> Keys:
    """Return the sorted `keys` that are not among the sorted `taken`."""
    if not taken.size:
        return keys
    index = np.minimum(np.searchsorted(taken, keys), taken.size - 1)
    return keys[taken[index] != keys]
