"""What is predicted: errors of a release against its original, and statistics of one graph.

All are functions of graphs. On private originals only the calibration experiment computes them, on
data that need no protection; here they are computed on releases and reruns of releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.sides import side_degrees, side_names, side_words
from psgraph.metrics.change import edge_overlap
from psgraph.metrics.clustering import clustering_coefficients
from psgraph.metrics.communities import find_communities, modularity
from psgraph.metrics.degrees import assortativity, node_degrees
from psgraph.metrics.direction import reciprocity
from psgraph.metrics.fidelity import MoreMetrics, compute_fidelity
from psgraph.metrics.groups import GROUPS, default_metrics
from psgraph.metrics.metric import UNDEFINED, GraphFacts, Group, Metric, Pair
from psgraph.metrics.weights import total_weight

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "CURVE_DEGREES",
    "DEGREE_CLASSES",
    "ERRORS",
    "STATISTICS",
    "Errors",
    "Scale",
    "StatisticInfo",
    "Statistics",
    "curve_name",
    "degree_class",
    "errors_of",
    "statistics_of",
]

#: ``log``: errors. ``count``: numbers of something. ``logit``: shares. ``atanh``: correlations.
Scale = Literal["log", "count", "logit", "atanh", "none"]
Values = dict[str, float]

#: Smallest and largest degree of the classes that nodes are divided into by published degree.
DEGREE_CLASSES = ((1, 3), (4, 15), (16, 63), (64, None))
#: The degrees at which the degree curve is compared.
CURVE_DEGREES = tuple(2**power for power in range(13))
_HUBS = 10


def _class_words(low: int, high: int | None) -> str:
    return f"{low} or more" if high is None else f"{low} to {high}"


def _degree_error(low: int, high: int | None) -> Metric:
    """The error of the degrees of a class of nodes."""

    def compute(pair: Pair) -> float | None:
        true, made = pair.both(node_degrees)
        there = (made >= low) & (made <= (made.max(initial=0) if high is None else high))
        off = np.abs(made - true)[there].sum()
        return float(off / made[there].sum()) if there.any() else None

    words = _class_words(low, high)
    return Metric(
        f"degree_error_from_{low}",
        unit="%",
        better="lower",
        reading=f"Mean error of the degrees of nodes with a published degree of {words}, relative "
        "to their mean published degree.",
        compute=compute,
        title=f"error of degrees of {words}",
    )


def _hubs_found(pair: Pair) -> float | None:
    true, made = pair.both(node_degrees)
    hubs = min(_HUBS, int((made > 0).sum()), true.size)
    if not hubs:
        return None
    largest = np.argsort(-made, kind="stable")[:hubs]
    limit = max(int(np.sort(true)[-hubs]), 1)
    return float((true[largest] >= limit).mean())


_OF_NODES = Group(
    "Single nodes",
    (
        Metric(
            "hubs_found",
            unit="%",
            better="higher",
            reading="The share of the ten nodes of highest published degree that are among the ten "
            "of highest degree in the original.",
            compute=_hubs_found,
            breaks_ties=True,
        ),
        *(_degree_error(*each) for each in DEGREE_CLASSES),
    ),
)


@cache
def errors_of(kind: Kind) -> Mapping[str, Metric]:
    """Return the errors that are predicted for a kind of graph, by name.

    Every metric of psgraph's own; of undirected graphs also the errors of single nodes.
    """
    groups = (group.on(kind) for group in GROUPS.values())
    metrics = [*default_metrics(kind), *(each for group in groups for each in group.metrics)]
    if kind.name == UNDIRECTED.name:
        metrics += _OF_NODES.metrics
    return MappingProxyType({metric.name: metric for metric in metrics})


#: The errors that are predicted for undirected graphs without weights, by name.
ERRORS: Mapping[str, Metric] = errors_of(UNDIRECTED)


class Errors:
    """Computes all errors of the next pair of a stream; keeps the previous pair.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.metrics.metric import GraphFacts
    >>> star = GraphFacts(SyntheticGraph(Roster.range(4), [0, 0, 0], [1, 2, 3]))
    >>> found = Errors().compute(star, star)
    >>> found["density_error"], found["hubs_found"], found["degree_error_from_1"]
    (0.0, 1.0, 0.0)
    """

    def __init__(self, kind: Kind = UNDIRECTED) -> None:
        wanted = [name for name, group in GROUPS.items() if group.on(kind).metrics]
        self._more = MoreMetrics(wanted, kind)
        self._of_nodes = _OF_NODES.on(kind)

    def compute(self, truth: GraphFacts, made: GraphFacts) -> Values:
        """Compute the errors; NaN where one has no value, or a true value of zero."""
        found: dict[str, float | None] = {
            **compute_fidelity(truth, made).to_dict(),
            **self._more.compute(truth, made),
            **self._of_nodes.compute(Pair(truth, made)),
        }
        return {
            name: np.nan if value is None or value >= UNDEFINED else value
            for name, value in found.items()
        }


@dataclass(frozen=True)
class StatisticInfo:
    """A statistic of a graph whose true value is estimated.

    Attributes
    ----------
    scale
        On which its errors are additive.
    """

    name: str
    words: str
    scale: Scale
    is_share: bool = False


def curve_name(degree: int, side: str = "") -> str:
    """Return the name of the number of nodes with at least this degree, on a side.

    >>> curve_name(4), curve_name(4, "out")
    ('degree_at_least_4', 'out_degree_at_least_4')
    """
    return f"{side}_degree_at_least_{degree}".lstrip("_")


def degree_class(degree: int) -> int:
    """Return the smallest degree of the class that a degree belongs to.

    >>> [degree_class(degree) for degree in (1, 3, 4, 64, 1000)]
    [1, 1, 4, 64, 64]
    """
    return max(low for low, _ in DEGREE_CLASSES if low <= degree)


@cache
def statistics_of(kind: Kind) -> Mapping[str, StatisticInfo]:
    """Return the statistics that get intervals for a kind of graph, by name."""
    found = [
        StatisticInfo("edges", "number of edges", "count"),
        StatisticInfo("edge_growth", "change of the number of edges", "none"),
    ]
    if kind.name == UNDIRECTED.name:
        found += [
            StatisticInfo("clustering", "clustering (transitivity)", "logit"),
            StatisticInfo("assortativity", "degree assortativity", "atanh"),
            StatisticInfo("modularity", "modularity", "logit"),
        ]
    if kind.directed:
        found.append(StatisticInfo("reciprocity", "share of answered edges", "logit", True))
    found.append(StatisticInfo("persisting_edges", "share of persisting edges", "logit", True))
    if kind.weighted:
        found.append(StatisticInfo("total_weight", "sum of all weights", "count"))
    found += [
        StatisticInfo(
            curve_name(degree, side),
            f"nodes of {side_words(side, 'degree')} {degree} or more",
            "count",
        )
        for side in side_names(kind)
        for degree in CURVE_DEGREES
    ]
    return MappingProxyType({info.name: info for info in found})


#: The statistics of undirected graphs without weights, by name.
STATISTICS: Mapping[str, StatisticInfo] = statistics_of(UNDIRECTED)


class Statistics:
    """Computes the statistics of the next graph of a stream; keeps the previous graph."""

    def __init__(self) -> None:
        self._before: Graph | None = None

    def compute(self, facts: GraphFacts) -> Values:
        """Compute the statistics; NaN where one has no value."""
        graph, before, kind = facts.graph, self._before, facts.graph.kind
        edges = int(graph.u.size)
        known = before is not None and before.u.size and edges
        found = {
            "edges": float(edges),
            "edge_growth": log(edges / before.u.size) if known and before is not None else np.nan,
            "persisting_edges": np.nan if before is None else edge_overlap(before, graph),
            **{
                curve_name(each, side): float((degrees >= each).sum())
                for side, degrees in zip(side_names(kind), facts.of(side_degrees), strict=True)
                for each in CURVE_DEGREES
            },
        }
        if kind.name == UNDIRECTED.name:
            found["clustering"] = facts.of(clustering_coefficients).transitivity
            found["assortativity"] = facts.of(assortativity)
            found["modularity"] = modularity(graph, facts.of(find_communities))
        if kind.directed:
            found["reciprocity"] = facts.of(reciprocity)
        if kind.weighted:
            found["total_weight"] = float(facts.of(total_weight))
        self._before = graph
        return found
