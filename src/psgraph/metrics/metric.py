"""A metric as one object: how to compute it, how to show it and how to read it.

Other packages add metrics through the entry-point group ``psgraph.metrics``; see
`psgraph.metrics.groups.metric_groups`. `psgraph.testing.check_metric` checks one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from psgraph._runtime.numbers import NO_VALUE, power_of_ten
from psgraph.errors import InvalidArgument
from psgraph.graph.kind import KINDS, UNDIRECTED, Kind, find_kind

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "EVERY_KIND",
    "GAMMA",
    "UNDEFINED",
    "VERDICTS",
    "GraphFacts",
    "Group",
    "Limits",
    "Metric",
    "Pair",
    "Unit",
    "check_kinds",
    "defined_error",
    "facts_of",
    "kind_of",
    "relative_error",
]

Value = TypeVar("Value")


class GraphFacts:
    """A graph with its statistics, each computed when first needed and then kept.

    Keep it to compare one original with many releases. **For the curator only** where the graph is
    an original: every statistic is exact.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.metrics import find_communities
    >>> facts = GraphFacts(SyntheticGraph(Roster.range(4), [0, 2], [1, 3]))
    >>> facts.of(find_communities) is facts.of(find_communities)
    True
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[Callable[[Any], Any], Any] = {}

    def of(self, statistic: Callable[[Graph], Value]) -> Value:
        """Return a statistic of the graph, a function that is known by its identity."""
        if statistic not in self._known:
            self._known[statistic] = statistic(self.graph)
        return cast("Value", self._known[statistic])


def facts_of(graph: Graph | GraphFacts) -> GraphFacts:
    """Return the facts of a graph, or the argument itself if it is that already."""
    return graph if isinstance(graph, GraphFacts) else GraphFacts(graph)


@dataclass(frozen=True, eq=False)
class Pair:
    """An original and its release over the same nodes: what a metric is computed from.

    Attributes
    ----------
    before
        The pair of the previous timestamp, with those before it as far as metrics look back; None
        at the first one.
    """

    original: GraphFacts
    synthetic: GraphFacts
    before: Pair | None = None

    @classmethod
    def of(
        cls,
        original: Graph | GraphFacts,
        synthetic: Graph | GraphFacts,
        *,
        before: Pair | None = None,
    ) -> Pair:
        """Pair two graphs."""
        return cls(facts_of(original), facts_of(synthetic), before)

    def earlier(self, steps: int) -> Pair | None:
        """Return the pair this many timestamps before; None if there is none."""
        pair: Pair | None = self
        for _ in range(steps):
            pair = None if pair is None else pair.before
        return pair

    def graphs(self, steps: int) -> Pair | None:
        """Return the graphs of this many timestamps up to this one, without their statistics."""
        if not steps:
            return None
        before = None if self.before is None else self.before.graphs(steps - 1)
        return Pair.of(self.original.graph, self.synthetic.graph, before=before)

    def both(self, statistic: Callable[[Graph], Value]) -> tuple[Value, Value]:
        """Return a statistic of the original and of the release."""
        return self.original.of(statistic), self.synthetic.of(statistic)


Unit = Literal["%", "nats", "steps", ""]
Verdict = Literal["close", "some error", "poor"]

#: The words for a value of a metric, best first.
VERDICTS: tuple[Verdict, ...] = ("close", "some error", "poor")

#: The paper's γ, which keeps the denominator from zero; the value PrivGraph's code uses.
GAMMA = 1e-15
#: Relative errors this large have a true value of zero: means leave them out.
UNDEFINED = 1e6

#: For metrics that are defined on all kinds of graphs.
EVERY_KIND = frozenset(KINDS)

_LONGEST = 1e4  # larger values are shown as powers of ten


def relative_error(original: float, synthetic: float) -> float:
    r"""Distance of a synthetic value from the original, relative to the original.

    .. math:: \frac{|\hat{x} - x|}{\max(γ, |x|)}

    The paper prints :math:`\max(γ, x)`. Degree assortativity can be negative, and the printed form
    would then divide by γ; the absolute value is what is meant and what PrivGraph computes. If the
    original is exactly zero and the synthetic value is not, the error is enormous, as in the paper:
    check the rows before trusting a mean.

    Examples
    --------
    >>> relative_error(-0.2, -0.1)
    0.5
    >>> relative_error(0.0, 0.0)
    0.0
    """
    return abs(synthetic - original) / max(GAMMA, abs(original))


def defined_error(pair: Pair, original: float, synthetic: float) -> float | None:
    """Return the relative error; None where it is undefined.

    It is undefined where the original's value is zero and the release's is not. Undirected graphs
    have the paper's enormous value there instead; see `relative_error`.
    """
    if not original and synthetic and pair.original.graph.kind.name != UNDIRECTED.name:
        return None
    return relative_error(original, synthetic)


@dataclass(frozen=True)
class Limits:
    """Thresholds of *close* and *some error*: rules of thumb, the same for every data set.

    They are lower bounds where higher is better, and descend there.
    """

    close: float
    fair: float

    def verdict(self, value: float) -> Verdict:
        """Return close, some error or poor.

        >>> [Limits(0.1, 0.5).verdict(value) for value in (0.1, 0.3, 2.0)]
        ['close', 'some error', 'poor']
        >>> Limits(0.8, 0.5).verdict(0.9)
        'close'
        """
        sign = 1 if self.close < self.fair else -1
        for limit, verdict in zip((self.close, self.fair), VERDICTS, strict=False):
            if sign * value <= sign * limit:
                return verdict
        return VERDICTS[-1]


_LOWER, _HIGHER = Limits(0.1, 0.5), Limits(0.8, 0.5)


@dataclass(frozen=True)
class Metric:
    """One metric. Call it with an original and a synthetic graph to compute it.

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
    compute
        The value for a pair of graphs; None where it has none. Statistics that it takes from
        `GraphFacts.of` are computed once for all metrics.
    kinds
        The kinds of graph that it is defined for.
    of_weights
        Whether it needs weights.
    lowest
        The lowest value that a prediction of it may have.
    thresholds
        Its own thresholds of close and poor, where the usual ones do not fit.
    breaks_ties
        Whether ties between nodes are broken by their order in the roster, so that the value may
        change when nodes are renamed.
    looks_back
        How many timestamps before this one it needs the pairs of.
    title
        The name in words, if it differs from `name`.

    Examples
    --------
    >>> from psgraph.metrics import METRICS
    >>> overlap = METRICS["eigenvector_overlap"]
    >>> overlap.words, overlap.heading, overlap.number(0.4123), overlap.shown(0.4123)
    ('eigenvector overlap', 'eigenvector overlap, %', '41.2', '41.2 %')
    """

    name: str
    unit: Unit
    better: Literal["lower", "higher"]
    reading: str
    compute: Callable[[Pair], float | None] = field(repr=False)
    kinds: frozenset[str] = frozenset({UNDIRECTED.name})
    of_weights: bool = False
    lowest: float = 0.0
    thresholds: Limits | None = None
    breaks_ties: bool = False
    looks_back: int = 0
    title: str = ""

    def __call__(
        self,
        original: Graph | GraphFacts,
        synthetic: Graph | GraphFacts,
        *,
        before: Pair | None = None,
    ) -> float | None:
        """Compute the metric of one synthetic graph against its original.

        Raises
        ------
        InvalidArgument
            If it is not defined for graphs of this kind.
        """
        pair = Pair.of(original, synthetic, before=before)
        check_kinds([self], pair.original.graph, pair.synthetic.graph)
        return self.compute(pair)

    def defined_for(self, kind: Kind) -> bool:
        """Whether it is defined for graphs of a kind.

        >>> from psgraph.graph.kind import DIRECTED
        >>> from psgraph.metrics import clustering_error, density_error
        >>> density_error.defined_for(DIRECTED), clustering_error.defined_for(DIRECTED)
        (True, False)
        """
        return kind.name in self.kinds and (kind.weighted or not self.of_weights)

    @property
    def words(self) -> str:
        """The name as people read it: the name in data without underscores, Rand with a capital."""
        return self.title or self.name.replace("_", " ").replace("rand index", "Rand index")

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

    @property
    def limits(self) -> Limits:
        """The thresholds of close and poor."""
        return self.thresholds or (_HIGHER if self.better == "higher" else _LOWER)

    def scaled(self, value: float) -> float:
        """A value in the metric's unit: times 100 where that is per cent."""
        return 100 * value if self.is_share else value

    def number(self, value: float | None) -> str:
        """A value in the metric's unit, without the unit.

        >>> from psgraph.metrics import density_error
        >>> tuple(density_error.number(value) for value in (0.0123, 2.5, 3e6, None))
        ('1.2', '250', '3 × 10⁸', '–')
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

        >>> from psgraph.metrics import degree_divergence, density_error
        >>> degree_divergence.shown(1.034), density_error.shown(None)
        ('1.03 nats', '–')
        """
        return f"{self.number(value)} {self.unit}".strip() if value is not None else NO_VALUE


@dataclass(frozen=True)
class Group:
    """Metrics that are requested together."""

    title: str
    metrics: tuple[Metric, ...]

    def on(self, kind: Kind) -> Group:
        """Return the group with those metrics that are defined for a kind of graph."""
        return Group(self.title, tuple(each for each in self.metrics if each.defined_for(kind)))

    def compute(self, pair: Pair) -> dict[str, float | None]:
        """Compute all of them, by name; None where one has no value."""
        return {metric.name: metric.compute(pair) for metric in self.metrics}


def check_kinds(metrics: Sequence[Metric], *sources: object) -> None:
    """Refuse metrics that are not defined for the kind of a stream or graph. Reads no edge.

    A source that states no kind is not refused.

    Raises
    ------
    InvalidArgument
        If one of them is not.
    """
    for kind in filter(None, map(kind_of, sources)):
        for metric in metrics:
            if not metric.defined_for(kind):
                weights = " with weights" if metric.of_weights else ""
                raise InvalidArgument(
                    f"the metric {metric.words} is not defined for graphs that are {kind}\n"
                    f"It is defined for: {', '.join(sorted(metric.kinds))}{weights}."
                )


def kind_of(source: object) -> Kind | None:
    """Return the kind that a graph or a stream states, None if it states none. Reads no edge.

    A list or tuple is of the kind of its first graph, or of the graph that this carries.
    """
    if isinstance(source, list | tuple):
        return kind_of(getattr(source[0], "graph", source[0])) if source else None
    kind = getattr(source, "kind", None)
    return find_kind(kind) if isinstance(kind, str) else kind
