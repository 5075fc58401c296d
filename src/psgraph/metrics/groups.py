"""The registry of metrics: the paper's five, their variants, and groups requested by name.

The paper's five are always computed. The others come in groups that are requested by name, because
they take longer and few readers want all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType

from psgraph.errors import InvalidArgument
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
from psgraph.metrics.labels import LABELS
from psgraph.metrics.metric import Group, Metric
from psgraph.metrics.paths import PATHS
from psgraph.metrics.spectral import eigenvector_overlap
from psgraph.metrics.spreading import SPREADING

__all__ = [
    "GROUPS",
    "METRICS",
    "PAPER_METRICS",
    "VARIANTS",
    "chosen_groups",
    "find_metric",
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

#: psgraph's own groups, by the names under which they are requested.
GROUPS: Mapping[str, Group] = MappingProxyType(
    {
        "structure": Group("Structure", (triangle_error, degree_variance_error)),
        "paths": PATHS,
        "spreading": SPREADING,
        "communities": COMMUNITIES,
        "stream": CHANGE,
        "labels": LABELS,
    }
)

#: psgraph's own metrics by name.
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            *PAPER_METRICS,
            *VARIANTS,
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


def chosen_groups(names: Sequence[str]) -> dict[str, Group]:
    """Return the requested groups by name, each once, in the order of `metric_groups`.

    Raises
    ------
    InvalidArgument
        If there is no such group.

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
    return {name: group for name, group in known.items() if name in wanted}
