"""Snapshot: the private graph of one timestamp."""

from __future__ import annotations

from psgraph._runtime.html import card, facts
from psgraph.graph.base import Graph

__all__ = ["Snapshot"]


class Snapshot(Graph):
    """The roster and the **private** edges at one timestamp.

    Its text form says nothing about the edges, not even how many there are.

    >>> from psgraph.graph import Roster
    >>> Snapshot(Roster.range(3), [0], [1])
    Snapshot(3 nodes, edges private)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        when = f", time={self.time!r}" if self.time is not None else ""
        return f"Snapshot({len(self.roster)} nodes, edges private{when})"

    def _repr_html_(self) -> str | None:
        return card(
            "Snapshot",
            facts(
                [
                    ("time", self.time or ""),
                    ("nodes", f"{len(self.roster):,}"),
                    ("edges", "private"),
                    ("roster", self.roster.statement),
                ]
            ),
        )
