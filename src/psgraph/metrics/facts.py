"""What metrics compute from: two graphs with their statistics, and the pair before them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["GraphFacts", "Pair", "facts_of"]

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
        The pair of the previous timestamp; None at the first one.
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
        """Pair two graphs; of the pair before, no pair before that is kept."""
        return cls(
            facts_of(original),
            facts_of(synthetic),
            None if before is None else replace(before, before=None),
        )

    def both(self, statistic: Callable[[Graph], Value]) -> tuple[Value, Value]:
        """Return a statistic of the original and of the release."""
        return self.original.of(statistic), self.synthetic.of(statistic)
