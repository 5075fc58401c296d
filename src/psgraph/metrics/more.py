"""The optional metrics of a stream, pair by pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from psgraph.metrics.agreement import community_errors
from psgraph.metrics.change import change_errors
from psgraph.metrics.groups import GROUPS, chosen_groups
from psgraph.metrics.paths import path_errors
from psgraph.metrics.structure import degree_variance_error, triangle_error

if TYPE_CHECKING:
    from psgraph.graph import Graph
    from psgraph.metrics.facts import GraphFacts

__all__ = ["MoreMetrics", "mean_and_deviation"]


class MoreMetrics:
    """Compute the requested groups; keeps the previous pair, which the group *stream* needs.

    Parameters
    ----------
    groups
        Names from `psgraph.metrics.groups.GROUPS`.

    Raises
    ------
    InvalidArgument
        If there is no such group.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> from psgraph.metrics.facts import GraphFacts
    >>> star = Snapshot(Roster.range(4), [0, 0, 0], [1, 2, 3])
    >>> copy = SyntheticGraph(star.roster, star.u, star.v)
    >>> more = MoreMetrics(["structure", "stream"])
    >>> pair = GraphFacts(star), GraphFacts(copy)
    >>> more.compute(*pair)["snapshot_overlap_error"] is None
    True
    >>> more.compute(*pair)["snapshot_overlap_error"]
    0.0
    """

    def __init__(self, groups: Sequence[str]) -> None:
        self.groups = chosen_groups(groups)
        self._before: tuple[Graph, Graph] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics, in the order of the groups."""
        return tuple(metric.name for group in self.groups for metric in GROUPS[group].metrics)

    def compute(self, truth: GraphFacts, release: GraphFacts) -> dict[str, float | None]:
        """Compute the metrics of the next pair; None where one has no value.

        Both graphs must be over one roster; `psgraph.metrics.fidelity.compute_fidelity` checks it.
        """
        original, synthetic = truth.graph, release.graph
        found: dict[str, float | None] = {}
        if "structure" in self.groups:
            found["triangle_error"] = triangle_error(original, synthetic)
            found["degree_variance_error"] = degree_variance_error(original, synthetic)
        if "paths" in self.groups:
            found |= path_errors(original, synthetic)
        if "communities" in self.groups:
            found |= community_errors(truth, release)
        if "stream" in self.groups:
            found |= change_errors(self._before, (original, synthetic))
            self._before = original, synthetic
        return found


def mean_and_deviation(values: Iterable[float | None]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation, ignoring None; None if there is no value.

    Examples
    --------
    >>> mean_and_deviation([None, 1.0, 3.0])
    (2.0, 1.4142135623730951)
    >>> mean_and_deviation([None, 1.0])
    (1.0, 0.0)
    >>> mean_and_deviation([None])
    (None, None)
    """
    there = np.array([value for value in values if value is not None])
    if not there.size:
        return None, None
    return float(there.mean()), float(there.std(ddof=1)) if there.size > 1 else 0.0
