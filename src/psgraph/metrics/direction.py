"""Directed graphs: reciprocity, and the clustering of the graph without its directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph.graph import SyntheticGraph
from psgraph.graph.kind import DIRECTED, UNDIRECTED
from psgraph.metrics.clustering import clustering_coefficients
from psgraph.metrics.metric import Metric, Pair

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["reciprocity", "reciprocity_error", "skeleton", "skeleton_clustering_error"]

_DIRECTED = frozenset({DIRECTED.name})


def reciprocity(graph: Graph) -> float:
    r"""The share of edges whose reverse is an edge too; 0 without edges. O(m log m).

    .. math:: \frac{|\{(u, v) \in E : (v, u) \in E\}|}{|E|}

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.graph.kind import DIRECTED
    >>> reciprocity(SyntheticGraph(Roster.range(3), [0, 1, 0, 2], [1, 0, 2, 1], kind=DIRECTED))
    0.5
    """
    if not graph.u.size:
        return 0.0
    forth, back = graph.kind.keys(graph.u, graph.v), graph.kind.keys(graph.v, graph.u)
    return float(np.intersect1d(forth, back, assume_unique=True).size / graph.u.size)


def skeleton(graph: Graph) -> SyntheticGraph:
    """The undirected graph of the pairs that have an edge in some direction. O(m log m).

    Of an original it is as private as the original.
    """
    u, v, _ = UNDIRECTED.normalise(graph.u, graph.v)
    return SyntheticGraph(graph.roster, u, v)


def _skeleton_clustering(graph: Graph) -> float:
    return clustering_coefficients(skeleton(graph)).transitivity


def _reciprocity_error(pair: Pair) -> float:
    true, made = pair.both(reciprocity)
    return abs(made - true)


def _clustering_error(pair: Pair) -> float:
    true, made = pair.both(_skeleton_clustering)
    return abs(made - true)


reciprocity_error = Metric(
    "reciprocity_error",
    unit="%",
    better="lower",
    reading="Difference between the shares of edges whose reverse is an edge too, in the original "
    "and in the release: whether messages are answered as often.",
    compute=_reciprocity_error,
    kinds=_DIRECTED,
)

skeleton_clustering_error = Metric(
    "skeleton_clustering_error",
    unit="%",
    better="lower",
    reading="Difference between the transitivities of both graphs without their directions: how "
    "often two neighbours of a node are neighbours themselves.",
    compute=_clustering_error,
    kinds=_DIRECTED,
)
