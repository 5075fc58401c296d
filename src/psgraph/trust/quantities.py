"""What is predicted: errors of a release against its original, and statistics of one graph.

All are functions of graphs. On private originals only the calibration experiment computes them, on
data that need no protection; here they are computed on releases and reruns of releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph.metrics.change import edge_overlap
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.fidelity import compute_fidelity
from psgraph.metrics.groups import GROUPS, METRICS, MetricInfo
from psgraph.metrics.more import MoreMetrics
from psgraph.metrics.relative import UNDEFINED
from psgraph.trust.scales import Scale

if TYPE_CHECKING:
    from psgraph.graph import Graph
    from psgraph.metrics.facts import GraphFacts

__all__ = [
    "CURVE_DEGREES",
    "DEGREE_CLASSES",
    "ERRORS",
    "STATISTICS",
    "Errors",
    "StatisticInfo",
    "Statistics",
    "curve_name",
    "degree_class",
]

Values = dict[str, float]

#: Smallest and largest degree of the classes that nodes are divided into by published degree.
DEGREE_CLASSES = ((1, 3), (4, 15), (16, 63), (64, None))
#: The degrees at which the degree curve is compared.
CURVE_DEGREES = tuple(2**power for power in range(13))
_HUBS = 10


def _class_words(low: int, high: int | None) -> str:
    return f"{low} or more" if high is None else f"{low} to {high}"


class _DegreeError(MetricInfo):
    """The error of the degrees of a class of nodes."""

    @property
    def words(self) -> str:
        low = int(self.name.rpartition("_")[2])
        return f"error of degrees of {_class_words(low, dict(DEGREE_CLASSES)[low])}"


def _degree_error(low: int, high: int | None) -> MetricInfo:
    return _DegreeError(
        f"degree_error_from_{low}",
        "%",
        "lower",
        "Mean error of the degrees of nodes with a published degree of "
        f"{_class_words(low, high)}, relative to their mean published degree.",
    )


#: The errors that are predicted, by name: every metric, and those of single nodes.
ERRORS: Mapping[str, MetricInfo] = MappingProxyType(
    {
        **METRICS,
        "hubs_found": MetricInfo(
            "hubs_found",
            "%",
            "higher",
            "The share of the ten nodes of highest published degree that are among the ten of "
            "highest degree in the original.",
        ),
        **{info.name: info for info in (_degree_error(*each) for each in DEGREE_CLASSES)},
    }
)


class Errors:
    """Computes all errors of the next pair of a stream; keeps the previous pair.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.metrics.facts import GraphFacts
    >>> star = GraphFacts(SyntheticGraph(Roster.range(4), [0, 0, 0], [1, 2, 3]))
    >>> found = Errors().compute(star, star)
    >>> found["density_error"], found["hubs_found"], found["degree_error_from_1"]
    (0.0, 1.0, 0.0)
    """

    def __init__(self) -> None:
        self._more = MoreMetrics(tuple(GROUPS))

    def compute(self, truth: GraphFacts, made: GraphFacts) -> Values:
        """Compute the errors; NaN where one has no value, or a true value of zero."""
        found: dict[str, float | None] = {
            **compute_fidelity(truth, made).to_dict(),
            **self._more.compute(truth, made),
            **_degree_errors(node_degrees(truth.graph), node_degrees(made.graph)),
        }
        return {
            name: np.nan if value is None or value >= UNDEFINED else value
            for name, value in found.items()
        }


def _degree_errors(true: NDArray[np.int64], made: NDArray[np.int64]) -> Values:
    found = {}
    for low, high in DEGREE_CLASSES:
        there = (made >= low) & (made <= (made.max(initial=0) if high is None else high))
        name = f"degree_error_from_{low}"
        off = np.abs(made - true)[there].sum()
        found[name] = float(off / made[there].sum()) if there.any() else np.nan
    hubs = min(_HUBS, int((made > 0).sum()), true.size)
    if not hubs:
        return {**found, "hubs_found": np.nan}
    largest = np.argsort(-made, kind="stable")[:hubs]
    limit = max(int(np.sort(true)[-hubs]), 1)
    return {**found, "hubs_found": float((true[largest] >= limit).mean())}


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


def curve_name(degree: int) -> str:
    """Return the name of the number of nodes with at least this degree."""
    return f"degree_at_least_{degree}"


def degree_class(degree: int) -> int:
    """Return the smallest degree of the class that a degree belongs to.

    >>> [degree_class(degree) for degree in (1, 3, 4, 64, 1000)]
    [1, 1, 4, 64, 64]
    """
    return max(low for low, _ in DEGREE_CLASSES if low <= degree)


#: The statistics that get intervals, by name.
STATISTICS: Mapping[str, StatisticInfo] = MappingProxyType(
    {
        info.name: info
        for info in (
            StatisticInfo("edges", "number of edges", "count"),
            StatisticInfo("edge_growth", "change of the number of edges", "none"),
            StatisticInfo("clustering", "clustering (transitivity)", "logit"),
            StatisticInfo("assortativity", "degree assortativity", "atanh"),
            StatisticInfo("modularity", "modularity", "logit"),
            StatisticInfo("persisting_edges", "share of persisting edges", "logit", True),
            *(
                StatisticInfo(curve_name(degree), f"nodes of degree {degree} or more", "count")
                for degree in CURVE_DEGREES
            ),
        )
    }
)


class Statistics:
    """Computes the statistics of the next graph of a stream; keeps the previous graph."""

    def __init__(self) -> None:
        self._before: Graph | None = None

    def compute(self, facts: GraphFacts) -> Values:
        """Compute the statistics; NaN where one has no value."""
        graph, before = facts.graph, self._before
        edges, degrees = int(graph.u.size), node_degrees(graph)
        known = before is not None and before.u.size and edges
        found = {
            "edges": float(edges),
            "edge_growth": log(edges / before.u.size) if known and before is not None else np.nan,
            "clustering": facts.clustering.transitivity,
            "assortativity": facts.assortativity,
            "modularity": facts.modularity,
            "persisting_edges": np.nan if before is None else edge_overlap(before, graph),
            **{curve_name(each): float((degrees >= each).sum()) for each in CURVE_DEGREES},
        }
        self._before = graph
        return found
