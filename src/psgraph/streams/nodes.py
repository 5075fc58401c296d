"""Who the nodes of each snapshot are: given from outside, or read off the edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import pyarrow as pa

from psgraph.errors import DataError, InvalidArgument, RosterError
from psgraph.graph import Roster, Snapshot
from psgraph.graph.formats.files import TableFile
from psgraph.graph.formats.tables import from_columns
from psgraph.streams.rosters import TimedRoster, read_roster

__all__ = ["Nodes", "RosterLike"]

RosterLike = str | PathLike[str] | Roster | TimedRoster | Iterable[Any]


@dataclass(frozen=True)
class Nodes:
    """The roster of every snapshot of a stream; without one it is read off the edges."""

    roster: Roster | TimedRoster | None
    from_edges: bool

    @classmethod
    def choose(cls, roster: RosterLike | None, roster_from_edges: bool) -> Nodes:
        """Read what the user gave; both at once contradict each other."""
        if roster is not None and roster_from_edges:
            raise InvalidArgument(
                "a roster and roster_from_edges were both given\n"
                "Keep the roster, unless node presence is public."
            )
        if isinstance(roster, str | PathLike):
            roster = read_roster(roster)
        elif roster is not None and not isinstance(roster, Roster | TimedRoster):
            roster = Roster(roster)  # type: ignore[arg-type]
        return cls(roster, roster_from_edges)

    @property
    def known(self) -> bool:
        return self.roster is not None or self.from_edges

    def require(self) -> None:
        """Refuse to guess the nodes."""
        if not self.known:
            raise RosterError(
                "no roster given: who the nodes are must not be guessed from private edges\n"
                "Give the public list of nodes (roster=…, --roster FILE); or say "
                "roster_from_edges=True (--roster-from-edges), which makes public which nodes "
                "have an edge at each timestamp."
            )

    @cached_property
    def names(self) -> bool:
        """Whether the roster holds text that is more than digits, so that ids must be text."""
        if self.roster is None:
            return False
        everyone = self.everyone
        return everyone.strings and not all(id_.lstrip("-").isdecimal() for id_ in everyone.ids)

    @cached_property
    def everyone(self) -> Roster:
        """All nodes that are on the roster at any time."""
        if isinstance(self.roster, TimedRoster):
            return self.roster.everyone
        assert self.roster is not None
        return self.roster

    def at(self, time: str | None) -> Roster | None:
        """The roster at a time, or None where it comes from the edges."""
        return self.roster.at(time) if isinstance(self.roster, TimedRoster) else self.roster

    def snapshot(self, heads: pa.ChunkedArray, tails: pa.ChunkedArray, *, time: str) -> Snapshot:
        """The snapshot of two columns of ids."""
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
        """How to read the two columns of ids.

        A text file has no types: its first row decides between integers and text, unless ids
        are known to be text, from earlier files or because the roster holds names.
        """
        types = [table.type_of(index) for index in ends]
        if not table.typed:
            whole = [type_ == pa.int64() for type_ in types]
            text = text or self.names
            if whole[0] != whole[1] and not text and not table.empty:
                raise DataError(
                    f"{table.name}: node ids mix types in the first row\n"
                    "Use integers throughout or strings throughout. If some names look like "
                    "numbers, give a roster of names, or a Parquet file with text columns."
                )
            types = [pa.int64() if all(whole) and not text else pa.string()] * 2
        return {"u": (ends[0], types[0]), "v": (ends[1], types[1])}
