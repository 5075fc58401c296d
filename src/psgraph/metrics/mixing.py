"""Degree assortativity: whether nodes of high degree are linked to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.relative import relative_error

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["assortativity", "assortativity_error"]

#: Edges per block: the sum of degree products of a block stays far below 2⁶³.
_BLOCK = 1 << 18


def assortativity(graph: Graph) -> float:
    r"""Pearson correlation of the degrees at the two ends of an edge. O(n + m).

    .. math:: A = \frac{2m \cdot 2\sum_{uv} d_u d_v - (\sum_x d_x^2)^2}
                       {2m \sum_x d_x^3 - (\sum_x d_x^2)^2}

    All sums are exact integers, so nothing is lost to cancellation however heavy the tail. Where
    the correlation is undefined, because there is no edge or all edges have ends of the same degree
    (networkx returns NaN), it is 0: there is no preference.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> assortativity(SyntheticGraph(Roster.range(4), [0, 0, 0], [1, 2, 3]))
    -1.0
    >>> assortativity(SyntheticGraph(Roster.range(3), [0, 1, 0], [1, 2, 2]))
    0.0
    """
    degree = node_degrees(graph)
    counts = np.bincount(degree)
    present = np.flatnonzero(counts)
    histogram = list(zip(present.tolist(), counts[present].tolist(), strict=True))
    ends = 2 * int(graph.u.size)
    squares = sum(count * value**2 for value, count in histogram)
    cubes = sum(count * value**3 for value, count in histogram)
    products = 0
    for start in range(0, graph.u.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        products += 2 * int(np.dot(degree[graph.u[block]], degree[graph.v[block]]))
    spread = ends * cubes - squares**2
    return (ends * products - squares**2) / spread if spread else 0.0


def assortativity_error(original: Graph, synthetic: Graph) -> float:
    """Relative error of the degree assortativity, denominator max(γ, |A|); see `relative_error`.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> star = Snapshot(Roster.range(4), [0, 0, 0], [1, 2, 3])
    >>> assortativity_error(star, SyntheticGraph(star.roster, [0, 1, 2], [1, 2, 3]))
    0.5
    """
    return relative_error(assortativity(original), assortativity(synthetic))
