"""The registry of metrics: one name, one unit and one explanation each, wherever they are shown.

The paper's five are always computed. The others come in groups that are requested by name, because
they take longer and few readers want all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType
from typing import Literal

from psgraph._runtime.numbers import NO_VALUE, power_of_ten
from psgraph.errors import InvalidArgument

__all__ = ["GROUPS", "METRICS", "PAPER_METRICS", "VARIANTS", "Group", "MetricInfo", "chosen_groups"]

Unit = Literal["%", "nats", "steps", ""]

_LONGEST = 1e4  # larger values are shown as powers of ten


@dataclass(frozen=True)
class MetricInfo:
    """How to show one metric and how to read it.

    Attributes
    ----------
    name
        The name of the value in data: a field of `Fidelity`, or a key of `Row.more`.
    unit
        The unit in which it is shown. Values in data are fractions where it is ``"%"``.
    better
        ``"lower"``: 0 is best. ``"higher"``: 1 is best.
    reading
        One or two sentences for someone who sees the metric for the first time.

    Examples
    --------
    >>> info = METRICS["eigenvector_overlap"]
    >>> info.words, info.heading, info.number(0.4123), info.shown(0.4123)
    ('eigenvector overlap', 'eigenvector overlap, %', '41.2', '41.2 %')
    """

    name: str
    unit: Unit
    better: Literal["lower", "higher"]
    reading: str

    @property
    def words(self) -> str:
        """The name as people read it: the name in data without underscores, Rand with a capital."""
        return self.name.replace("_", " ").replace("rand index", "Rand index")

    @property
    def heading(self) -> str:
        """The name and the unit, for a column or an axis."""
        return f"{self.words}, {self.unit}" if self.unit else self.words

    @property
    def is_share(self) -> bool:
        """Whether values are fractions that are shown in per cent."""
        return self.unit == "%"

    @property
    def arrow(self) -> str:
        """↑ where higher is better, ↓ where lower is."""
        return "↑" if self.better == "higher" else "↓"

    def scaled(self, value: float) -> float:
        """A value in the metric's unit: times 100 where that is per cent."""
        return 100 * value if self.is_share else value

    def number(self, value: float | None) -> str:
        """A value in the metric's unit, without the unit.

        >>> error = METRICS["density_error"]
        >>> [error.number(value) for value in (0.0123, 2.5, 3e6, None)]
        ['1.2', '250', '3 × 10⁸', '–']
        """
        if value is None:
            return NO_VALUE
        scaled = self.scaled(value)
        if not isfinite(scaled):
            return "undefined"
        if abs(scaled) >= _LONGEST:
            return power_of_ten(scaled)
        if self.is_share:
            return f"{scaled:.1f}" if abs(scaled) < 100 else f"{scaled:,.0f}"
        return f"{scaled:,.2f}"

    def shown(self, value: float | None) -> str:
        """A value with its unit, for a sentence.

        >>> METRICS["degree_divergence"].shown(1.034), METRICS["density_error"].shown(None)
        ('1.03 nats', '–')
        """
        return f"{self.number(value)} {self.unit}".strip() if value is not None else NO_VALUE


@dataclass(frozen=True)
class Group:
    """Metrics that are requested together."""

    title: str
    metrics: tuple[MetricInfo, ...]


#: The paper's five, in its order.
PAPER_METRICS = (
    MetricInfo(
        "eigenvector_overlap",
        "%",
        "higher",
        "The share of the original's 1 % most central nodes (by eigenvector centrality) that are "
        "also among the release's 1 % most central nodes. 100 %: the same nodes; chance alone "
        "gives about 1 %.",
    ),
    MetricInfo(
        "assortativity_error",
        "%",
        "lower",
        "Relative error of the degree assortativity: whether nodes of high degree are linked to "
        "each other or to nodes of low degree. Huge where the original's value is close to zero.",
    ),
    MetricInfo(
        "degree_divergence",
        "nats",
        "lower",
        "Kullback–Leibler divergence of the degree distributions. It counts holes: a degree that "
        "no node of the release has costs about 36 times its share, however close the next one "
        "is.",
    ),
    MetricInfo(
        "density_error",
        "%",
        "lower",
        "Relative error of the number of edges. 10 %: one edge in ten is missing, or there is one "
        "extra for every ten.",
    ),
    MetricInfo(
        "clustering_error",
        "%",
        "lower",
        "Relative error of the transitivity: how often two neighbours of a node are neighbours "
        "themselves. A graph without triangles has an error of 100 %.",
    ),
)

_STRUCTURE = Group(
    "Structure",
    (
        MetricInfo(
            "triangle_error",
            "%",
            "lower",
            "Relative error of the number of triangles. Unlike the clustering error it is not "
            "divided by the number of possible triangles, so missing edges count as well.",
        ),
        MetricInfo(
            "degree_variance_error",
            "%",
            "lower",
            "Relative error of the variance of the degrees. The few largest hubs decide it: near "
            "100 % they were flattened, above 100 % the release has larger ones than the original.",
        ),
    ),
)

_PATHS = Group(
    "Shortest paths",
    (
        MetricInfo(
            "path_length_distance",
            "steps",
            "lower",
            "Wasserstein distance between the distributions of shortest-path lengths: by how many "
            "steps they differ on average. Below ½ most pairs are as far apart as before.",
        ),
        MetricInfo(
            "connected_pairs_error",
            "%",
            "lower",
            "Difference between the shares of node pairs that are connected by some path, in the "
            "original and in the release. It reveals a release that fell apart or grew together.",
        ),
        MetricInfo(
            "diameter_error",
            "%",
            "lower",
            "Relative error of the longest shortest path. One long tail of a few nodes decides "
            "it; the effective diameter is more robust.",
        ),
        MetricInfo(
            "effective_diameter_error",
            "%",
            "lower",
            "Relative error of the number of steps within which nine of ten connected pairs reach "
            "each other.",
        ),
    ),
)

_COMMUNITIES = Group(
    "Communities",
    (
        MetricInfo(
            "modularity_error",
            "%",
            "lower",
            "Relative error of the modularity: how clearly the graph splits into communities, "
            "whichever nodes they contain.",
        ),
        MetricInfo(
            "community_modularity_error",
            "%",
            "lower",
            "Relative error of the modularity that the original's communities have in the release. "
            "100 %: no trace of them is left.",
        ),
        MetricInfo(
            "community_agreement",
            "%",
            "higher",
            "Normalised mutual information between the communities of the release and those of "
            "the original. 100 %: the same communities. Misleading: it is not corrected for "
            "chance, and a release of isolated nodes scores up to 75 %. Prefer the adjusted Rand "
            "index.",
        ),
        MetricInfo(
            "adjusted_rand_index",
            "",
            "higher",
            "Agreement of the communities of the release with those of the original, corrected for "
            "chance, over the nodes with an edge in the original. 1: the same communities, 0: no "
            "better than shuffled ones.",
        ),
    ),
)

_STREAM = Group(
    "Change over time",
    (
        MetricInfo(
            "snapshot_overlap_error",
            "%",
            "lower",
            "Difference between the shares of edges kept from one timestamp to the next (Jaccard "
            "index), in the original and in the releases. High where the releases flicker although "
            "the original is stable.",
        ),
        MetricInfo(
            "degree_change_correlation",
            "",
            "higher",
            "Whether the same nodes gain or lose neighbours in both. 1: every change is followed, "
            "0: the changes are unrelated, negative: they go in opposite directions.",
        ),
    ),
)

#: Computed with the five: alternative readings of two of them that the paper's wording allows.
VARIANTS = (
    MetricInfo(
        "degree_divergence_smoothed",
        "nats",
        "lower",
        "The degree divergence on bins that widen with the degree, with half a node added to each: "
        "a degree that no node has costs little where close degrees are present.",
    ),
    MetricInfo(
        "average_clustering_error",
        "%",
        "lower",
        "Relative error of the clustering coefficient averaged over nodes, in which a node of "
        "degree two weighs as much as a hub.",
    ),
)

#: The groups that can be requested, by name.
GROUPS: Mapping[str, Group] = MappingProxyType(
    {
        "structure": _STRUCTURE,
        "paths": _PATHS,
        "communities": _COMMUNITIES,
        "stream": _STREAM,
    }
)

#: All metrics by name.
METRICS: Mapping[str, MetricInfo] = MappingProxyType(
    {
        info.name: info
        for info in (
            *PAPER_METRICS,
            *VARIANTS,
            *(info for group in GROUPS.values() for info in group.metrics),
        )
    }
)


def chosen_groups(names: Sequence[str]) -> tuple[str, ...]:
    """Return the requested groups, each once, in the order of `GROUPS`.

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
