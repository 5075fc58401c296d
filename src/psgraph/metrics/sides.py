"""Degrees of the two sides of an edge: out and in of directed, left and right of two-sided graphs.

Every node of a side counts, including those without an edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.graph.kind import DIRECTED, TWO_SIDED
from psgraph.graph.sides import SIDES, side_degrees, side_words
from psgraph.metrics.degrees import degree_kl, degree_products, smoothed_degree_kl, smoothed_kl
from psgraph.metrics.metric import Limits, Metric, Pair

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "degree_octaves",
    "joint_degree_divergence",
    "joint_degrees",
    "side_assortativity",
    "side_assortativity_error",
    "side_divergences",
    "smoothed_side_divergences",
]

_BOTH = frozenset({DIRECTED.name, TWO_SIDED.name})


# ---- one side at a time ----


def _of_side(pair: Pair, side: int) -> tuple[Integers, Integers]:
    true, made = pair.both(side_degrees)
    return true[side], made[side]


def _divergence(name: str) -> Metric:
    kind, side = SIDES[name]
    return Metric(
        f"{name}_degree_divergence",
        unit="nats",
        better="lower",
        reading=f"Kullback–Leibler divergence of the {side_words(name, 'degrees')}. It counts "
        "holes: a degree that no node of the release has costs about 36 times its share, however "
        "close the next one is.",
        compute=lambda pair: degree_kl(*_of_side(pair, side)),
        kinds=frozenset({kind}),
        thresholds=Limits(0.5, 2.0),  # nats, of which a hole costs 36 times its share
    )


def _smoothed_divergence(name: str) -> Metric:
    kind, side = SIDES[name]
    return Metric(
        f"{name}_degree_divergence_smoothed",
        unit="nats",
        better="lower",
        reading=f"The divergence of the {side_words(name, 'degrees')} on bins that widen with the "
        "degree, with half a node added to each: a degree that no node has costs little where "
        "close degrees are present.",
        compute=lambda pair: smoothed_degree_kl(*_of_side(pair, side)),
        kinds=frozenset({kind}),
    )


#: The degree divergence of each side, by the name of the side.
side_divergences: Mapping[str, Metric] = MappingProxyType(
    {name: _divergence(name) for name in SIDES}
)

#: The same without counting holes.
smoothed_side_divergences: Mapping[str, Metric] = MappingProxyType(
    {name: _smoothed_divergence(name) for name in SIDES}
)


# ---- both sides together ----


def degree_octaves(degrees: Integers) -> Integers:
    """The classes of degrees 0, 1, 2, 3–4, 5–8, 9–16, … as numbers from 0.

    >>> degree_octaves(np.array([0, 1, 2, 3, 4, 5, 8, 9]))
    array([0, 1, 2, 3, 3, 4, 4, 5])
    """
    return np.where(degrees > 0, 1 + np.frexp(np.maximum(degrees - 1, 0))[1], 0).astype(np.int64)


def joint_degrees(graph: Graph) -> Integers:
    """The number of nodes of each octave of the out- and of the in-degree, as a matrix.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.graph.kind import DIRECTED
    >>> joint_degrees(SyntheticGraph(Roster.range(3), [0, 0, 1], [1, 2, 0], kind=DIRECTED))
    array([[0, 1],
           [0, 1],
           [0, 1]])
    """
    first, second = map(degree_octaves, side_degrees(graph))
    shape = (int(first.max(initial=0)) + 1, int(second.max(initial=0)) + 1)
    cells = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
    return cells.reshape(shape)


def _joint_divergence(pair: Pair) -> float:
    true, made = pair.both(joint_degrees)
    shape = np.maximum(true.shape, made.shape)
    return smoothed_kl(*(_padded(cells, *shape).ravel() for cells in (true, made)))


def _padded(cells: Integers, rows: int, columns: int) -> Integers:
    return np.pad(cells, ((0, rows - cells.shape[0]), (0, columns - cells.shape[1])))


joint_degree_divergence = Metric(
    "joint_degree_divergence",
    unit="nats",
    better="lower",
    reading="Kullback–Leibler divergence of the joint distributions of out- and in-degree, in "
    "classes that double in width, with half a node added to each pair of classes. High where "
    "nodes that send a lot are not those that receive a lot, as they are in the original.",
    compute=_joint_divergence,
    kinds=frozenset({DIRECTED.name}),
)


def side_assortativity(graph: Graph) -> float:
    r"""Pearson correlation over edges of the out-degree of u and the in-degree of v. O(n + m).

    .. math:: \frac{m \sum_{uv} a_u b_v - \sum_x a_x^2 \sum_x b_x^2}
                   {\sqrt{(m \sum_x a_x^3 - (\sum_x a_x^2)^2) (m \sum_x b_x^3 - (\sum_x b_x^2)^2)}}

    with a the out-degrees (on the left), b the in-degrees (on the right) and m the edges. The sums
    are exact integers. 0 where it is undefined: without edges, or if all edges have ends of the
    same degree on one side.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.graph.kind import DIRECTED
    >>> graph = SyntheticGraph(Roster.range(4), [0, 0, 1, 2], [1, 2, 0, 0], kind=DIRECTED)
    >>> side_assortativity(graph)
    -1.0
    """
    first, second = side_degrees(graph)
    edges, at = int(graph.u.size), graph.roster.offset
    ends = np.concatenate([np.zeros(at, dtype=np.int64), second])  # by position in the roster
    (means, spread), (other_means, other_spread) = _moments(first), _moments(second)
    scale = (edges * spread - means**2) * (edges * other_spread - other_means**2)
    if not scale:
        return 0.0
    together = edges * degree_products(graph, first, ends) - means * other_means
    # Rounding of the square root may lead a little beyond 1.
    return max(-1.0, min(1.0, together / sqrt(scale)))


def _moments(degrees: Integers) -> tuple[int, int]:
    """The sums of squares and cubes, exactly."""
    counts = np.bincount(degrees)
    present = np.flatnonzero(counts)
    histogram = list(zip(present.tolist(), counts[present].tolist(), strict=True))
    return (
        sum(count * value**2 for value, count in histogram),
        sum(count * value**3 for value, count in histogram),
    )


def _assortativity_error(pair: Pair) -> float:
    true, made = pair.both(side_assortativity)
    return abs(made - true)


side_assortativity_error = Metric(
    "side_assortativity_error",
    unit="",
    better="lower",
    reading="Difference between the correlations, over edges, of the out-degree of the first and "
    "the in-degree of the second end (left and right), in the original and in the release: "
    "whether large senders write to large receivers.",
    compute=_assortativity_error,
    kinds=_BOTH,
)
