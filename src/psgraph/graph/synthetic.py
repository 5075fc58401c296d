"""SyntheticGraph: the published graph of one timestamp."""

from __future__ import annotations

from psgraph._runtime.html import card, facts
from psgraph._runtime.numbers import significant
from psgraph.graph.base import Graph
from psgraph.graph.parts import degrees

__all__ = ["SyntheticGraph"]


class SyntheticGraph(Graph):
    """A graph made of noisy values only: safe to publish.

    >>> from psgraph.graph import Roster
    >>> SyntheticGraph(Roster.range(3), [0, 2], [1, 1])
    SyntheticGraph(3 nodes, 2 edges)
    """

    __slots__ = ()

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return self.parts.edge_count

    def __repr__(self) -> str:
        return f"SyntheticGraph({len(self.roster)} nodes, {self.edge_count} edges)"

    def _repr_html_(self) -> str | None:
        most = int(degrees(self.parts, len(self.roster)).max(initial=0))
        mean = 2 * self.edge_count / max(len(self.roster), 1)
        return card(
            "Synthetic graph",
            facts(
                [
                    ("time", self.time or ""),
                    ("nodes", f"{len(self.roster):,}"),
                    ("edges", f"{self.edge_count:,}"),
                    ("degree", f"mean {significant(mean)}, maximum {most:,}"),
                ]
            ),
        )
