"""The ends of edges that are not on the roster, listed for the curator."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from psgraph.errors import OutsideRoster
from psgraph.graph import Roster
from psgraph.graph.formats.tables import is_text
from psgraph.streams.curator_files import write_curator_file

__all__ = ["UnknownNodes"]


class UnknownNodes:
    """Collects the ids that are not on the roster, so that one run finds them all.

    Parameters
    ----------
    path
        The file to write: every unknown id with the first time at which it has an edge. Only its
        owner can read it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._first: dict[str, str] = {}

    @property
    def found(self) -> bool:
        """Whether an id was unknown."""
        return bool(self._first)

    def begin(self) -> None:
        """Forget the ids of an earlier reading."""
        self._first.clear()

    def collect(
        self, heads: pa.ChunkedArray, tails: pa.ChunkedArray, roster: Roster, time: str
    ) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """Return the edges between nodes of the roster; remember the ends of the others.

        What is left after the first unknown id must not be published; see `Nodes.checked`.
        """
        if is_text(heads.type) != roster.strings or is_text(tails.type) != roster.strings:
            return heads, tails  # refused by type
        known = []
        for column in (heads, tails):
            column = column.cast(roster.arrow_ids.type)
            inside = pc.is_in(column, value_set=roster.arrow_ids)
            for unknown in pc.unique(column.filter(pc.invert(inside))).to_pylist():
                self._first.setdefault(str(unknown), time)
            known.append(inside)
        both = pc.and_(*known)
        return heads.filter(both), tails.filter(both)

    def finish(self) -> None:
        """Refuse the input if an end of an edge was unknown."""
        if not self._first:
            return
        write_curator_file(self._path, ("id", "first_time"), self._first.items())
        raise OutsideRoster(
            "edges have ends outside the roster\n"
            f"{self._path} lists them (for the curator only). Add the missing nodes to the roster, "
            "or leave such edges out of the input."
        )
