"""The metrics of a pair of graphs: those always computed, and those requested.

Where one of the graphs is an original, the result is for the curator only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from psgraph.errors import DataError
from psgraph.metrics.groups import PAPER_METRICS, VARIANTS, chosen_groups
from psgraph.metrics.metric import GraphFacts, Metric, Pair, check_kinds

if TYPE_CHECKING:
    from psgraph.graph import Graph, Roster

__all__ = ["ALWAYS", "Fidelity", "MoreMetrics", "compute_fidelity", "mean_and_deviation"]

#: The metrics that are always computed.
ALWAYS = (*PAPER_METRICS, *VARIANTS)


@dataclass(frozen=True)
class Fidelity:
    """The metrics of one release; the first five are the paper's.

    Attributes
    ----------
    eigenvector_overlap
        Share of the 1 % most central nodes in common. 1 is best; for all others 0 is.
    assortativity_error, density_error, clustering_error
        Relative errors of degree assortativity, density and transitivity.
    degree_divergence
        Kullback–Leibler divergence of the degree distributions, smoothed as in PrivGraph's code.
    degree_divergence_smoothed
        The same on widening bins with half a node added to each, so that holes cost little.
    average_clustering_error
        Relative error of the average local clustering coefficient.
    """

    eigenvector_overlap: float
    assortativity_error: float
    degree_divergence: float
    density_error: float
    clustering_error: float
    degree_divergence_smoothed: float
    average_clustering_error: float

    def to_dict(self) -> dict[str, float]:
        """The metrics by name."""
        return asdict(self)


def compute_fidelity(original: Graph | GraphFacts, synthetic: Graph | GraphFacts) -> Fidelity:
    """Compute the metrics of one synthetic graph against its original.

    Give `GraphFacts` instead of a graph to keep its statistics for other comparisons. Defined for
    every pair over one roster, including no nodes, one node and no edges.

    Raises
    ------
    DataError
        If the two graphs are not over the same nodes.
    InvalidArgument
        If the metrics are not defined for graphs of their kind.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> star = Snapshot(Roster.range(4), [0, 0, 0], [1, 2, 3])
    >>> path = SyntheticGraph(star.roster, [0, 1, 2], [1, 2, 3])
    >>> compute_fidelity(star, star).degree_divergence
    0.0
    >>> compute_fidelity(star, path).assortativity_error
    0.5
    """
    pair = Pair.of(original, synthetic)
    before, after = pair.original.graph, pair.synthetic.graph
    check_kinds(ALWAYS, before, after)
    if not _same_nodes(before.roster, after.roster):
        raise DataError(
            "the original and the synthetic graph are not over the same nodes\n"
            "Compare each release with the snapshot it was made from, and read releases with that "
            "snapshot's roster."
        )
    values = {metric.name: metric.compute(pair) for metric in ALWAYS}
    return Fidelity(**{name: float(value) for name, value in values.items() if value is not None})


def _same_nodes(first: Roster, second: Roster) -> bool:
    """Whether both hold the same ids in the same order, however they were obtained."""
    return first is second or (
        first.strings == second.strings and np.array_equal(first.ids, second.ids)
    )


class MoreMetrics:
    """Compute the requested groups; keeps as many earlier pairs as their metrics look back to.

    Parameters
    ----------
    groups
        Names from `psgraph.metrics.groups.metric_groups`.

    Raises
    ------
    InvalidArgument
        If there is no such group.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> from psgraph.metrics.metric import GraphFacts
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
        self._groups = chosen_groups(groups)
        self._kept = max((metric.looks_back for metric in self.metrics), default=0)
        self._before: Pair | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups."""
        return tuple(self._groups)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, in the order of the groups."""
        return tuple(metric for group in self._groups.values() for metric in group.metrics)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return tuple(metric.name for metric in self.metrics)

    def compute(self, truth: GraphFacts, release: GraphFacts) -> dict[str, float | None]:
        """Compute the metrics of the next pair; None where one has no value.

        Both graphs must be over one roster; `compute_fidelity` checks it.
        """
        pair = Pair.of(truth, release, before=self._before)
        found: dict[str, float | None] = {}
        for group in self._groups.values():
            found |= group.compute(pair)
        self._before = pair.graphs(self._kept)
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
