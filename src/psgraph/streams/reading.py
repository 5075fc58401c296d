"""How the rows of a stream are read, and what the curator learns about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Literal

from psgraph.errors import InvalidArgument
from psgraph.graph.formats.columns import ColumnNames
from psgraph.graph.formats.files import TableFile
from psgraph.streams.bad_rows import BadRows

__all__ = ["GAPS", "Gaps", "Reading"]

Gaps = Literal["empty", "refuse"]
GAPS: tuple[Gaps, ...] = ("empty", "refuse")


@dataclass(frozen=True)
class Reading:
    """The options that all kinds of files share.

    Attributes
    ----------
    columns
        Which column is which.
    bad
        What to do with rows that can't be read.
    gaps
        Whether a timestamp without a row is an empty snapshot or refused; None if not said.
    """

    columns: ColumnNames = field(default_factory=ColumnNames)
    bad: BadRows = field(default_factory=BadRows)
    gaps: Gaps | None = None

    @classmethod
    def choose(
        cls, columns: Any, bad_rows: str, bad_rows_to: str | PathLike[str] | None, gaps: str | None
    ) -> Reading:
        """Read the arguments of `psgraph.read_stream`."""
        if gaps is not None and gaps not in GAPS:
            raise InvalidArgument(f"gaps={gaps!r} is unknown\nGive one of: {', '.join(GAPS)}.")
        return cls(
            ColumnNames.parse(columns),
            BadRows.choose(bad_rows, bad_rows_to),
            gaps,
        )

    def check(self, table: TableFile) -> None:
        """Refuse to skip rows of a table whose first row decides how the others are read."""
        if self.bad.skipping and table.names is None and table.width:
            raise InvalidArgument(
                f"{table.name} has no line of column names, so its first row decides how the "
                "others are read\nbad_rows='skip' (--bad-rows skip) needs a line such as u,v."
            )
