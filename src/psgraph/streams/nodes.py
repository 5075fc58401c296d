"""Who the nodes of each snapshot of a stream are, as the user declared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import pyarrow as pa

from psgraph.errors import DataError, RosterError
from psgraph.graph import Roster, Snapshot
from psgraph.graph.declarations import Declared, declare
from psgraph.graph.formats.files import TableFile
from psgraph.graph.formats.tables import from_columns
from psgraph.graph.roster import as_roster
from psgraph.streams.rosters import TimedRoster, read_roster

__all__ = ["Nodes", "RosterLike"]

RosterLike = str | PathLike[str] | Roster | TimedRoster | Iterable[Any]


@dataclass(frozen=True)
class Nodes:
    """Where the roster of every snapshot comes from: one of the three declarations, or none yet.

    None is enough for snapshots, which carry a roster that was declared when they were built.
    """

    roster: Roster | TimedRoster | None
    declared: Declared | None

    @classmethod
    def choose(
        cls,
        roster: RosterLike | None,
        roster_from_edges: bool = False,
        nodes_are_public: bool = False,
    ) -> Nodes:
        """Read what the user declared; contradictions are refused."""
        declared: Declared | None = None
        if roster is not None or roster_from_edges or nodes_are_public:
            declared = declare(
                roster, roster_from_edges=roster_from_edges, nodes_are_public=nodes_are_public
            )
        if isinstance(roster, str | PathLike):
            roster = read_roster(roster)
        elif roster is not None and not isinstance(roster, Roster | TimedRoster):
            roster = as_roster(roster)  # type: ignore[arg-type]
        return cls(roster, declared)

    @property
    def from_edges(self) -> bool:
        """Whether the roster is read off the edges."""
        return self.declared == "edges"

    def require_declaration(self) -> None:
        """Refuse to guess who the nodes are."""
        if self.declared is None:
            declare(None)

    def require(self, *, of: str = "a file") -> None:
        """Refuse input that lists edges only, unless a roster or `roster_from_edges` was given."""
        self.require_declaration()
        if self.declared == "nodes":
            raise RosterError(
                f"nodes_are_public was given, but {of} lists edges and no nodes\n"
                "Give the public list of nodes (roster=…), or roster_from_edges=True, which "
                "makes public which nodes have an edge at each timestamp."
            )

    @cached_property
    def everyone(self) -> Roster:
        """All nodes that are on the roster at any time."""
        if isinstance(self.roster, TimedRoster):
            return self.roster.everyone
        assert self.roster is not None
        return self.roster

    def at(self, time: str | None) -> Roster | None:
        """Return the roster at a time, or None unless one was given."""
        return self.roster.at(time) if isinstance(self.roster, TimedRoster) else self.roster

    def snapshot(self, heads: pa.ChunkedArray, tails: pa.ChunkedArray, *, time: str) -> Snapshot:
        """Build the snapshot of two columns of ids."""
        return from_columns(
            heads,
            tails,
            kind=Snapshot,
            roster=self.at(time),
            roster_from_edges=self.from_edges,
            time=time,
        )

    def id_columns(
        self, table: TableFile, ends: tuple[int, int], *, text: bool = False
    ) -> dict[str, tuple[int, pa.DataType]]:
        """Return how to read the two columns of ids.

        A text file has no types. The type comes from the roster where one with text ids was
        given, otherwise from earlier files (`text`) or the first row.
        """
        types = [table.type_of(index) for index in ends]
        if not table.typed:
            integers = [type_ == pa.int64() for type_ in types]
            text = text or (self.roster is not None and self.everyone.strings)
            if integers[0] != integers[1] and not text and not table.empty:
                raise DataError(
                    f"{table.name}: node ids mix types in the first row\n"
                    "Use integers throughout or strings throughout. If some names look like "
                    "numbers, give a roster of names, or a Parquet file with text columns."
                )
            types = [pa.int64() if all(integers) and not text else pa.string()] * 2
        return {"u": (ends[0], types[0]), "v": (ends[1], types[1])}
