"""The metrics of a pair of graphs: those always computed, and those requested.

Where one of the graphs is an original, the result is for the curator only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph._runtime.arrays import Frozen
from psgraph.errors import DataError
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.metrics.groups import chosen_groups, default_metrics
from psgraph.metrics.metric import GraphFacts, Metric, Pair

if TYPE_CHECKING:
    from psgraph.graph import Graph, Roster

__all__ = ["Fidelity", "MoreMetrics", "compute_fidelity", "mean_and_deviation"]


class Fidelity(Frozen):
    """The metrics of one release that are always computed; those of its kind of graph.

    Each is an attribute by its name. Undirected graphs have the paper's five and two variants:
    `eigenvector_overlap`, `assortativity_error`, `degree_divergence`, `density_error`,
    `clustering_error`, `degree_divergence_smoothed`, `average_clustering_error`; for other kinds
    see `psgraph.metrics.default_metrics`. A value is None where the metric is undefined, which
    happens for kinds other than undirected only.

    Examples
    --------
    >>> found = Fidelity(pagerank_overlap=0.5, density_error=None)
    >>> found.pagerank_overlap, found.to_dict()
    (0.5, {'pagerank_overlap': 0.5, 'density_error': None})
    """

    __slots__ = ("_values",)

    _fields = ("_values",)

    _values: Mapping[str, float | None]

    def __init__(self, **values: float | None) -> None:
        self._fill(_values=MappingProxyType(values))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"there is no metric {name!r} here")
        return self._values[name]

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        return f"Fidelity({', '.join(f'{name}={value}' for name, value in self._values.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fidelity) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (dict(self._values),)

    def to_dict(self) -> dict[str, Any]:
        """The metrics by name."""
        return dict(self._values)


def _restored(values: dict[str, float | None]) -> Fidelity:
    return Fidelity(**values)


def compute_fidelity(original: Graph | GraphFacts, synthetic: Graph | GraphFacts) -> Fidelity:
    """Compute the metrics of one synthetic graph against its original.

    Give `GraphFacts` instead of a graph to keep its statistics for other comparisons. Defined for
    every pair over one roster, including no nodes, one node and no edges.

    Raises
    ------
    DataError
        If the two graphs are not over the same nodes or not of the same kind.

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
    if before.kind != after.kind:
        raise DataError(
            f"the original is {before.kind}, but the synthetic graph is {after.kind}\n"
            "Read the original as it was published."
        )
    if not _same_nodes(before.roster, after.roster):
        raise DataError(
            "the original and the synthetic graph are not over the same nodes\n"
            "Compare each release with the snapshot it was made from, and read releases with that "
            "snapshot's roster."
        )
    return Fidelity(
        **{metric.name: metric.compute(pair) for metric in default_metrics(before.kind)}
    )


def _same_nodes(first: Roster, second: Roster) -> bool:
    """Whether both hold the same ids in the same order, however they were obtained."""
    return first is second or (
        first.sizes == second.sizes
        and all(
            one.strings == other.strings and np.array_equal(one.ids, other.ids)
            for one, other in zip(first.sides, second.sides, strict=True)
        )
    )


class MoreMetrics:
    """Compute the requested groups; keeps as many earlier pairs as their metrics look back to.

    Parameters
    ----------
    groups
        Names from `psgraph.metrics.groups.metric_groups`.
    kind
        The kind of the graphs; metrics that are not defined for it are left out.

    Raises
    ------
    InvalidArgument
        If there is no such group, or none of its metrics is defined for this kind.

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

    def __init__(self, groups: Sequence[str], kind: Kind = UNDIRECTED) -> None:
        self._groups = chosen_groups(groups, kind)
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
