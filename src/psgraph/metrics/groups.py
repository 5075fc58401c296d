"""What there is to measure, said once: the names, words and directions that all reports share.

The paper's five are always measured. The others come in groups that are asked for by name, because
they take longer and few readers want all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from psgraph.errors import InvalidArgument

__all__ = ["GROUPS", "PAPER", "VARIANTS", "Group", "MetricInfo", "chosen_groups"]


@dataclass(frozen=True)
class MetricInfo:
    """How to show one metric and how to read it.

    Attributes
    ----------
    name
        What the value is called in data: a field of `Fidelity`, or a key of `Row.more`.
    words
        What a reader calls it, short enough for an axis.
    better
        ``"lower"``: 0 is best. ``"higher"``: 1 is best.
    is_share
        Whether it is shown in per cent.
    reading
        One or two sentences for somebody who sees it for the first time.
    """

    name: str
    words: str
    better: Literal["lower", "higher"]
    is_share: bool
    reading: str

    @property
    def arrow(self) -> str:
        """↑ where higher is better, ↓ where lower is."""
        return "↑" if self.better == "higher" else "↓"


@dataclass(frozen=True)
class Group:
    """Metrics that are asked for together."""

    title: str
    metrics: tuple[MetricInfo, ...]


#: The paper's five, in its order.
PAPER = (
    MetricInfo(
        "eigenvector_overlap",
        "top nodes shared",
        "higher",
        True,
        "The share of the 1 % most central nodes of the original that are among the 1 % most "
        "central of the release too. 100 %: the same nodes lead; chance alone gives about 1 %.",
    ),
    MetricInfo(
        "assortativity_error",
        "assortativity error",
        "lower",
        True,
        "How far off the release is in whether busy nodes are linked to busy ones or to quiet "
        "ones, measured in the original's own value. Huge where that value is close to zero.",
    ),
    MetricInfo(
        "degree_divergence",
        "degree divergence",
        "lower",
        False,
        "How much the distribution of degrees differs, in nats. It counts holes: a degree that "
        "no node of the release has costs about 36 times its share, however near the next one is.",
    ),
    MetricInfo(
        "density_error",
        "density error",
        "lower",
        True,
        "By how much the release has too many or too few edges. 10 %: every tenth edge is missing, "
        "or there is one in ten too many.",
    ),
    MetricInfo(
        "clustering_error",
        "clustering error",
        "lower",
        True,
        "How far off the release is in how often two neighbours of a node are neighbours "
        "themselves. 100 %: as far off as a graph without any triangle.",
    ),
)

_STRUCTURE = Group(
    "Structure",
    (
        MetricInfo(
            "triangle_error",
            "triangle error",
            "lower",
            True,
            "By how much the release has too many or too few triangles. Unlike the clustering "
            "error it is not divided by the places a triangle could be, so missing edges weigh "
            "in too.",
        ),
        MetricInfo(
            "degree_variance_error",
            "degree variance error",
            "lower",
            True,
            "How far off the spread of the degrees is. The few largest hubs decide it: near 100 % "
            "they were flattened, beyond 100 % the release has larger ones than the original.",
        ),
    ),
)

_PATHS = Group(
    "Shortest paths",
    (
        MetricInfo(
            "path_length_distance",
            "path length distance",
            "lower",
            False,
            "By how many steps the shortest paths of the release are off, on average over the "
            "distribution of their lengths. Below ½ most pairs are as far apart as they were.",
        ),
        MetricInfo(
            "connected_pairs_error",
            "connected pairs error",
            "lower",
            True,
            "The share of node pairs that are joined by some path in the original, against the "
            "same share in the release: the difference. It shows a release that fell apart, or "
            "grew together.",
        ),
        MetricInfo(
            "diameter_error",
            "diameter error",
            "lower",
            True,
            "How far off the longest of all shortest paths is. One long tail of a few nodes "
            "decides it; the effective diameter is calmer.",
        ),
        MetricInfo(
            "effective_diameter_error",
            "effective diameter error",
            "lower",
            True,
            "How far off the number of steps is within which nine of ten connected pairs reach "
            "each other.",
        ),
    ),
)

_COMMUNITIES = Group(
    "Communities",
    (
        MetricInfo(
            "modularity_error",
            "modularity error",
            "lower",
            True,
            "How far off the release is in how clearly it falls into communities, whichever nodes "
            "they consist of.",
        ),
        MetricInfo(
            "community_agreement",
            "community agreement",
            "higher",
            True,
            "How much the communities found in the release tell about those found in the original "
            "(normalised mutual information). 100 %: the same communities. Many small communities "
            "agree a good deal by chance alone: compare releases, not data sets.",
        ),
    ),
)

_STREAM = Group(
    "Change over time",
    (
        MetricInfo(
            "snapshot_overlap_error",
            "snapshot overlap error",
            "lower",
            True,
            "The share of edges kept from one timestamp to the next (Jaccard index) in the "
            "original, against the same share in the releases: the difference. High where the "
            "releases flicker although the original stands still.",
        ),
        MetricInfo(
            "degree_change_correlation",
            "degree change correlation",
            "higher",
            False,
            "Whether the nodes that gain or lose neighbours are the same in both. 1: every change "
            "is followed, 0: changes have nothing to do with each other, negative: they run "
            "against each other.",
        ),
    ),
)

#: Measured beside the five: other readings of two of them, which the paper's words allow.
VARIANTS = (
    MetricInfo(
        "degree_divergence_smoothed",
        "degree divergence in bins",
        "lower",
        False,
        "The divergence of degrees on bins that widen with the degree, each with half a node "
        "added: a degree that no node has costs little where its neighbours are there.",
    ),
    MetricInfo(
        "average_clustering_error",
        "average clustering error",
        "lower",
        True,
        "How far off the release is in the clustering coefficient averaged over nodes, in which a "
        "node of degree two weighs as much as a hub.",
    ),
)

#: The groups that can be asked for, by name.
GROUPS: Mapping[str, Group] = MappingProxyType(
    {
        "structure": _STRUCTURE,
        "paths": _PATHS,
        "communities": _COMMUNITIES,
        "stream": _STREAM,
    }
)


def chosen_groups(names: Sequence[str]) -> tuple[str, ...]:
    """The groups asked for, each once, in the order of `GROUPS`.

    Raises
    ------
    InvalidArgument
        If there is no such group.

    Examples
    --------
    >>> chosen_groups(["stream", "paths", "stream"])
    ('paths', 'stream')
    """
    wanted = (names,) if isinstance(names, str) else tuple(names)
    for name in wanted:
        if name not in GROUPS:
            raise InvalidArgument(
                f"there is no group of metrics {name!r}\nThere are: {', '.join(GROUPS)}."
            )
    return tuple(name for name in GROUPS if name in wanted)
