"""Two properties that the paper's five metrics omit: triangles and the variance of degrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph.metrics.clustering import triangles
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.relative import relative_error

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["degree_variance", "degree_variance_error", "triangle_count", "triangle_error"]


def triangle_count(graph: Graph) -> int:
    """The number of triangles. O(m^1.5); see `triangles`.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> triangle_count(SyntheticGraph(Roster.range(4), [0, 1, 0, 0], [1, 2, 2, 3]))
    1
    """
    return int(triangles(graph).sum()) // 3


def triangle_error(original: Graph, synthetic: Graph) -> float:
    """Relative error of the number of triangles; see `relative_error`.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> two = Snapshot(Roster.range(4), [0, 0, 0, 1, 2], [1, 2, 3, 2, 3])
    >>> triangle_error(two, SyntheticGraph(two.roster, [0, 1, 0], [1, 2, 2]))
    0.5
    """
    return relative_error(triangle_count(original), triangle_count(synthetic))


def degree_variance(graph: Graph) -> float:
    r"""Variance of the degrees over all nodes of the roster, 0 without nodes. O(n + m).

    .. math:: \frac{n \sum_x d_x^2 - (\sum_x d_x)^2}{n^2}

    The sums are exact integers, so equal degrees have a variance of exactly 0.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> degree_variance(SyntheticGraph(Roster.range(4), [0, 0, 0], [1, 2, 3]))
    0.75
    """
    degree = node_degrees(graph)
    if not degree.size:
        return 0.0
    squares = int(np.dot(degree, degree))
    return (degree.size * squares - int(degree.sum()) ** 2) / degree.size**2


def degree_variance_error(original: Graph, synthetic: Graph) -> float:
    """Relative error of the variance of the degrees; see `relative_error`.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> star = Snapshot(Roster.range(4), [0, 0, 0], [1, 2, 3])
    >>> round(degree_variance_error(star, SyntheticGraph(star.roster, [0, 1, 2], [1, 2, 3])), 3)
    0.667
    """
    return relative_error(degree_variance(original), degree_variance(synthetic))
