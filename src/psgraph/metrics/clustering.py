"""Triangles and clustering coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psgraph._runtime.arrays import Integers
from psgraph.engines.counting import node_triangles
from psgraph.graph.kind import UNDIRECTED
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.metric import Metric, relative_error

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "Clustering",
    "average_clustering_error",
    "clustering_coefficients",
    "clustering_error",
    "triangle_count",
    "triangle_error",
    "triangles",
]


def triangles(graph: Graph) -> Integers:
    """The number of triangles through every node, in roster order.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> triangles(SyntheticGraph(Roster.range(4), [0, 1, 0, 0], [1, 2, 2, 3]))
    array([1, 1, 1, 0])
    """
    return node_triangles(graph.u, graph.v, len(graph.roster))


def triangle_count(graph: Graph) -> int:
    """The number of triangles. O(m^1.5); see `triangles`.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> triangle_count(SyntheticGraph(Roster.range(4), [0, 1, 0, 0], [1, 2, 2, 3]))
    1
    """
    return int(triangles(graph).sum()) // 3


triangle_error = Metric(
    "triangle_error",
    unit="%",
    better="lower",
    reading="Relative error of the number of triangles. Unlike the clustering error it is not "
    "divided by the number of possible triangles, so missing edges count as well.",
    compute=lambda pair: relative_error(*pair.both(triangle_count)),
)


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
    pairs = UNDIRECTED.pairs(degree)
    closed = triangles(graph)
    wide = pairs > 0
    if not wide.any():
        return Clustering(0.0, 0.0)
    local = closed[wide] / pairs[wide]
    return Clustering(int(closed.sum()) / int(pairs.sum()), float(local.sum()) / degree.size)


clustering_error = Metric(
    "clustering_error",
    unit="%",
    better="lower",
    reading="Relative error of the transitivity: how often two neighbours of a node are neighbours "
    "themselves. A graph without triangles has an error of 100 %.",
    compute=lambda pair: relative_error(
        *(each.transitivity for each in pair.both(clustering_coefficients))
    ),
)

average_clustering_error = Metric(
    "average_clustering_error",
    unit="%",
    better="lower",
    reading="Relative error of the clustering coefficient averaged over nodes, in which a node of "
    "degree two weighs as much as a hub.",
    compute=lambda pair: relative_error(
        *(each.average for each in pair.both(clustering_coefficients))
    ),
)
