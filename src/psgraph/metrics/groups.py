"""The registry of metrics: those of each kind of graph, and groups requested by name.

The paper's five are always computed for undirected graphs, and similar ones for other kinds. The
others come in groups that are requested by name, because they take longer and few readers want all
of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType

from psgraph.errors import InvalidArgument
from psgraph.graph.kind import DIRECTED, TWO_SIDED, UNDIRECTED, Kind
from psgraph.graph.sides import side_names
from psgraph.metrics.change import CHANGE
from psgraph.metrics.clustering import average_clustering_error, clustering_error, triangle_error
from psgraph.metrics.communities import COMMUNITIES
from psgraph.metrics.degrees import (
    assortativity_error,
    degree_divergence,
    degree_variance_error,
    density_error,
    smoothed_degree_divergence,
)
from psgraph.metrics.direction import reciprocity_error, skeleton_clustering_error
from psgraph.metrics.labels import LABELS
from psgraph.metrics.metric import Group, Metric
from psgraph.metrics.paths import PATHS
from psgraph.metrics.sides import (
    joint_degree_divergence,
    side_assortativity_error,
    side_divergences,
    smoothed_side_divergences,
)
from psgraph.metrics.spectral import eigenvector_overlap
from psgraph.metrics.spreading import SPREADING
from psgraph.metrics.tops import pagerank_overlap, top_overlaps
from psgraph.metrics.weights import (
    strength_correlations,
    total_weight_error,
    weight_class_persistence_error,
    weight_cosine,
    weight_distance,
)

__all__ = [
    "GROUPS",
    "METRICS",
    "PAPER_METRICS",
    "VARIANTS",
    "chosen_groups",
    "default_metrics",
    "find_metric",
    "groups_for",
    "headline_metrics",
    "metric_groups",
]

ENTRY_POINTS = "psgraph.metrics"

#: The paper's five, in its order.
PAPER_METRICS = (
    eigenvector_overlap,
    assortativity_error,
    degree_divergence,
    density_error,
    clustering_error,
)

#: Computed with the five: alternative readings of two of them that the paper's wording allows.
VARIANTS = (smoothed_degree_divergence, average_clustering_error)

#: What reports show first of each kind, without weights.
_HEADLINES: Mapping[str, tuple[Metric, ...]] = MappingProxyType(
    {
        UNDIRECTED.name: PAPER_METRICS,
        DIRECTED.name: (
            pagerank_overlap,
            reciprocity_error,
            joint_degree_divergence,
            density_error,
            skeleton_clustering_error,
        ),
        TWO_SIDED.name: (
            top_overlaps["left"],
            top_overlaps["right"],
            smoothed_side_divergences["left"],
            smoothed_side_divergences["right"],
            density_error,
        ),
    }
)
_OF_WEIGHTS = (weight_distance, total_weight_error)


def headline_metrics(kind: Kind = UNDIRECTED) -> tuple[Metric, ...]:
    """The metrics that reports and pictures show first: the paper's five, or those of a kind.

    >>> from psgraph.graph.kind import DIRECTED
    >>> headline_metrics() == PAPER_METRICS
    True
    >>> [metric.name for metric in headline_metrics(DIRECTED)][:2]
    ['pagerank_overlap', 'reciprocity_error']
    """
    return (*_HEADLINES[kind.name], *(_OF_WEIGHTS if kind.weighted else ()))


def default_metrics(kind: Kind = UNDIRECTED) -> tuple[Metric, ...]:
    """The metrics that are always computed for a kind of graph, the headline ones first."""
    first, sides = headline_metrics(kind), side_names(kind)
    more: list[Metric] = []
    if kind.sides == 1:
        more += VARIANTS
    else:
        more += [top_overlaps[side] for side in sides]
        more += [smoothed_side_divergences[side] for side in sides]
        more += [side_divergences[side] for side in sides]
        more.append(side_assortativity_error)
    if kind.weighted:
        more += [weight_cosine, *(strength_correlations[side] for side in sides)]
    return tuple(dict.fromkeys((*first, *more)))


#: psgraph's own groups, by the names under which they are requested.
GROUPS: Mapping[str, Group] = MappingProxyType(
    {
        "structure": Group("Structure", (triangle_error, degree_variance_error)),
        "paths": PATHS,
        "spreading": SPREADING,
        "communities": COMMUNITIES,
        "stream": Group(CHANGE.title, (*CHANGE.metrics, weight_class_persistence_error)),
        "labels": LABELS,
    }
)

#: psgraph's own metrics by name.
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            *default_metrics(),
            *default_metrics(DIRECTED.with_weights(2)),
            *default_metrics(TWO_SIDED.with_weights(2)),
            *default_metrics(UNDIRECTED.with_weights(2)),
            *(metric for group in GROUPS.values() for metric in group.metrics),
        )
    }
)


@cache
def metric_groups() -> Mapping[str, Group]:
    """Return all groups that can be requested: psgraph's own, then those of other packages.

    A package adds a `Group`, or a single `Metric`, through the entry-point group
    ``psgraph.metrics``; the name of the entry is the name of the group.

    Raises
    ------
    InvalidArgument
        If an entry is something else, or a name is taken.
    """
    groups, names = dict(GROUPS), set(METRICS)
    for point in entry_points(group=ENTRY_POINTS):
        loaded = point.load()
        group = Group(loaded.words, (loaded,)) if isinstance(loaded, Metric) else loaded
        if not isinstance(group, Group):
            raise InvalidArgument(
                f"the entry point {point.name!r} of {ENTRY_POINTS} is neither a Metric nor a "
                f"Group, but {type(loaded).__name__}"
            )
        added = [metric.name for metric in group.metrics]
        if point.name in groups or names & set(added) or len(added) != len(set(added)):
            raise InvalidArgument(
                f"the metrics of entry point {point.name!r} have a name that is taken\n"
                "Rename the entry point or the metrics."
            )
        groups[point.name] = group
        names.update(added)
    return MappingProxyType(groups)


def find_metric(name: str) -> Metric:
    """Return a metric by its name, psgraph's own or one of another package.

    >>> find_metric("density_error").unit
    '%'
    """
    if name in METRICS:
        return METRICS[name]
    for group in metric_groups().values():
        for metric in group.metrics:
            if metric.name == name:
                return metric
    raise InvalidArgument(f"there is no metric {name!r}\nThere are: {', '.join(METRICS)}.")


def groups_for(kind: Kind) -> dict[str, Group]:
    """Return the groups that have metrics for a kind of graph, with these metrics only.

    >>> from psgraph.graph.kind import TWO_SIDED
    >>> {name: len(group.metrics) for name, group in groups_for(TWO_SIDED).items()}
    {'spreading': 1, 'stream': 3}
    """
    return {
        name: each for name, group in metric_groups().items() if (each := group.on(kind)).metrics
    }


def chosen_groups(names: Sequence[str], kind: Kind | None = None) -> dict[str, Group]:
    """Return the requested groups by name, each once, in the order of `metric_groups`.

    With a kind, the groups hold the metrics that are defined for it.

    Raises
    ------
    InvalidArgument
        If there is no such group, or none of its metrics is defined for this kind of graph.

    Examples
    --------
    >>> list(chosen_groups(["stream", "paths", "stream"]))
    ['paths', 'stream']
    """
    wanted = (names,) if isinstance(names, str) else tuple(names)
    known = GROUPS if all(name in GROUPS for name in wanted) else metric_groups()
    for name in wanted:
        if name not in known:
            raise InvalidArgument(
                f"there is no group of metrics {name!r}\nThere are: {', '.join(known)}."
            )
    chosen = {name: group for name, group in known.items() if name in wanted}
    if kind is None:
        return chosen
    found = {name: group.on(kind) for name, group in chosen.items()}
    for name, group in found.items():
        if not group.metrics:
            raise InvalidArgument(
                f"no metric of the group {name!r} is defined for graphs that are {kind}\n"
                f"There are: {', '.join(groups_for(kind))}."
            )
    return found
