"""Weights of edges: their distribution, sum and place, the strengths of nodes, how they last.

The strength of a node is the sum of the weights of its edges. Weights of both graphs are limited to
the largest one that was declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.graph.kind import UNDIRECTED
from psgraph.graph.sides import SIDES, edge_weights, side_sums, side_words
from psgraph.metrics.change import kept_edges
from psgraph.metrics.metric import EVERY_KIND, Metric, Pair, defined_error
from psgraph.metrics.sides import degree_octaves

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "same_class_share",
    "side_strengths",
    "strength_correlations",
    "total_weight",
    "total_weight_error",
    "weight_class_persistence_error",
    "weight_cosine",
    "weight_distance",
]


def total_weight(graph: Graph) -> int:
    """The sum of all weights."""
    return int(edge_weights(graph).sum())


def side_strengths(graph: Graph) -> tuple[Integers, ...]:
    """The strengths of the nodes of each side, like `psgraph.graph.sides.side_degrees`. O(n + m).

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.graph.kind import DIRECTED
    >>> kind = DIRECTED.with_weights(8)
    >>> graph = SyntheticGraph(Roster.range(3), [0, 0, 1], [1, 2, 0], kind=kind, weight=[5, 1, 2])
    >>> side_strengths(graph)
    (array([6, 2, 0]), array([2, 5, 1]))
    """
    return side_sums(graph, weighted=True)


def _distance(pair: Pair) -> float:
    r"""Kolmogorov–Smirnov distance of the weights of all edges.

    .. math:: \max_x |F(x) - \hat{F}(x)|

    with F the share of edges of weight x or less. 1 if only one of the graphs has edges.
    """
    true, made = (np.sort(each) for each in pair.both(edge_weights))
    if not true.size or not made.size:
        return float(true.size != made.size)
    values = np.union1d(true, made)
    shares = (np.searchsorted(each, values, side="right") / each.size for each in (true, made))
    return float(np.abs(np.subtract(*shares)).max())


weight_distance = Metric(
    "weight_distance",
    unit="",
    better="lower",
    reading="Kolmogorov–Smirnov distance between the weights of the edges: the largest difference "
    "between the shares of edges up to some weight.",
    compute=_distance,
    kinds=EVERY_KIND,
    of_weights=True,
)

total_weight_error = Metric(
    "total_weight_error",
    unit="%",
    better="lower",
    reading="Relative error of the sum of all weights. A few edges of the largest weight decide it "
    "in small graphs.",
    compute=lambda pair: defined_error(pair, *pair.both(total_weight)),
    kinds=EVERY_KIND,
    of_weights=True,
)


def _cosine(pair: Pair) -> float | None:
    r"""Cosine of the two matrices of weights, as vectors.

    .. math:: \frac{\sum_{uv} w_{uv} \hat{w}_{uv}}
                   {\sqrt{\sum_{uv} w_{uv}^2 \sum_{uv} \hat{w}_{uv}^2}}

    None if the original has no edges. O(m log m).
    """
    true, made = (each.graph for each in (pair.original, pair.synthetic))
    if not true.u.size:
        return None
    at, there = kept_edges(true, made)
    weights, others = (each.astype(np.float64) for each in pair.both(edge_weights))
    if not others.size:
        return 0.0
    together = float((weights[at] * others[there]).sum())
    # One root of the product: for equal graphs it is exactly the sum of their squares.
    return min(1.0, together / sqrt(float((weights**2).sum()) * float((others**2).sum())))


weight_cosine = Metric(
    "weight_cosine",
    unit="",
    better="higher",
    reading="Cosine of the two matrices of weights: 1 if the same pairs have the same weights, up "
    "to one factor for all, 0 if no pair of the original has an edge in the release. Of flows the "
    "matrix of origins and destinations.",
    compute=_cosine,
    kinds=EVERY_KIND,
    of_weights=True,
)


def _correlation(true: Integers, made: Integers) -> float | None:
    """Pearson correlation of log(1 + strength); None where the true ones are equal."""
    if np.array_equal(true, made):
        return 1.0 if true.size and np.ptp(true) else None
    if not true.size or not np.ptp(true):
        return None
    if not np.ptp(made):
        return 0.0
    return float(np.clip(np.corrcoef(np.log1p(true), np.log1p(made))[0, 1], -1.0, 1.0))


def _strength_correlation(name: str) -> Metric:
    """The metric of a side; of all nodes, if both ends of an edge are alike."""
    kind, side = SIDES.get(name, (UNDIRECTED.name, 0))

    def compute(pair: Pair) -> float | None:
        true, made = pair.both(side_strengths)
        return _correlation(true[side], made[side])

    return Metric(
        f"{name}_strength_correlation" if name else "strength_correlation",
        unit="",
        better="higher",
        reading=f"Correlation over nodes of the logarithms of the {side_words(name, 'strengths')} "
        "(sums of weights, plus 1) in the original and in the release. 1: the same strengths, 0: "
        "unrelated ones.",
        compute=compute,
        kinds=frozenset({kind}),
        of_weights=True,
        lowest=-1.0,
    )


#: The correlation of strengths on each side, by the name of the side; "" if ends are alike.
strength_correlations: Mapping[str, Metric] = MappingProxyType(
    {name: _strength_correlation(name) for name in ("", *SIDES)}
)


def same_class_share(before: Graph, after: Graph) -> float | None:
    """The share of kept edges whose weight stays in its class: 1, 2, 3–4, 5–8, ….

    Edges are matched by the ids of their ends. None if no edge was kept. O(n + m log m).

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.graph.kind import DIRECTED
    >>> edges = {"roster": Roster.range(3), "u": [0, 0], "v": [1, 2]}
    >>> kind = DIRECTED.with_weights(8)
    >>> before = SyntheticGraph(**edges, kind=kind, weight=[3, 1])
    >>> same_class_share(before, SyntheticGraph(**edges, kind=kind, weight=[4, 2]))
    0.5
    """
    then, now = kept_edges(before, after)
    if not then.size:
        return None
    classes = (degree_octaves(edge_weights(before)[then]), degree_octaves(edge_weights(after)[now]))
    return float(np.mean(classes[0] == classes[1]))


def _class_persistence_error(pair: Pair) -> float | None:
    if pair.before is None:
        return None
    true, made = (
        same_class_share(before.graph, after.graph)
        for before, after in (
            (pair.before.original, pair.original),
            (pair.before.synthetic, pair.synthetic),
        )
    )
    return None if true is None or made is None else abs(made - true)


weight_class_persistence_error = Metric(
    "weight_class_persistence_error",
    unit="%",
    better="lower",
    reading="Of the edges kept from one timestamp to the next, a share keeps the class of its "
    "weight (1, 2, 3–4, 5–8, …): the difference between these shares in the original and in the "
    "releases.",
    compute=_class_persistence_error,
    kinds=EVERY_KIND,
    of_weights=True,
    looks_back=1,
)
