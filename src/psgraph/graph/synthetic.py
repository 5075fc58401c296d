"""SyntheticGraph: the published graph of one timestamp."""

from __future__ import annotations

from psgraph.graph.base import Graph

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
        return int(self.u.size)

    def __repr__(self) -> str:
        return f"SyntheticGraph({len(self.roster)} nodes, {self.edge_count} edges)"
