"""Rows that can't be read: refused all at once, or left out, and listed for the curator.

How many rows are bad and where they are depends on private rows. It is told to the curator: in
messages, on a terminal, and in a file that only the owner can read. It is part of no certificate
and no JSON output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

from psgraph._runtime.numbers import count
from psgraph._runtime.rows import rows_read
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph.formats.columns import Batch, Columns
from psgraph.graph.formats.files import TableFile
from psgraph.streams.curator_files import write_curator_file

__all__ = ["POLICIES", "BadRows", "Policy"]

Policy = Literal["refuse", "skip"]
POLICIES: tuple[Policy, ...] = ("refuse", "skip")

#: With more bad rows than this the file is another kind of table.
MOST_BAD = 100_000
_SHOWN = 5

Check = Callable[[Batch], Mapping[int, str]]
"""Returns what is wrong with rows of a batch, by row."""


class _Row(NamedTuple):
    file: str
    place: str
    problem: str
    content: str


@dataclass(frozen=True)
class BadRows:
    """What to do with rows that can't be read.

    Parameters
    ----------
    policy
        ``"refuse"`` the file, after all of it was read, or ``"skip"`` the rows.
    listing
        A file for the curator that lists the rows with their content. Only its owner can read it.
    """

    policy: Policy = "refuse"
    listing: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", [])
        if self.policy not in POLICIES:
            raise InvalidArgument(
                f"bad_rows={self.policy!r} is unknown\nGive one of: {', '.join(POLICIES)}."
            )

    @classmethod
    def choose(cls, policy: str, listing: str | PathLike[str] | None) -> BadRows:
        """Read the two arguments."""
        return cls(policy, None if listing is None else Path(listing))  # type: ignore[arg-type]

    @property
    def skipping(self) -> bool:
        """Whether bad rows are left out."""
        return self.policy == "skip"

    @property
    def rows(self) -> list[_Row]:
        """The bad rows found since the stream was last started. Curator only."""
        found: list[_Row] = self._rows  # type: ignore[attr-defined]
        return found

    def begin(self) -> None:
        """Forget the rows of an earlier reading."""
        self.rows.clear()

    def read(self, table: TableFile, columns: Columns, *checks: Check) -> Iterator[Batch]:
        """Yield the readable rows of a table.

        After the first bad row of a file that is to be refused nothing is yielded: the rest is
        read to find the other bad rows, so that one run reports them all.
        """
        before = len(self.rows)

        def report(place: str, problem: str, content: str) -> None:
            if len(self.rows) - before >= MOST_BAD:
                raise DataError(
                    f"{table.name}: more than {MOST_BAD:,} rows can't be read\n"
                    "It may be another kind of table. Check which columns are read (--columns) "
                    "and how (--ids)."
                )
            self.rows.append(_Row(table.name, place, problem, content))

        for batch in table.batches(columns, bad=report) if not table.empty else ():
            rows_read(len(batch))
            for check in checks:
                problems = check(batch)
                for row, problem in sorted(problems.items()):
                    report(batch.locate(row), problem, "")
                if problems:
                    batch = batch.without(problems)
            if len(batch) and (self.skipping or len(self.rows) == before):
                yield batch
        self._finish(self.rows[before:])

    def _finish(self, found: list[_Row]) -> None:
        if found and self.listing is not None:
            facts = (row._replace(problem=row.problem.partition("\n")[0]) for row in self.rows)
            write_curator_file(self.listing, _Row._fields, facts)
        if not found or self.skipping:
            return
        first, *others = found
        message = f"{first.file}, {first.place}: {first.problem}"
        if others:
            shown = ", ".join(row.place.split()[-1] for row in others[:_SHOWN])
            more = ", …" if len(others) > _SHOWN else ""
            kind = first.place.split()[0]
            message += (
                f"\n{count(len(others), 'more row')} can't be used: "
                f"{kind if len(others) == 1 else kind + 's'} {shown}{more}"
            )
        listed = (
            "bad_rows_to=FILE (--bad-rows-to FILE) lists them"
            if self.listing is None
            else f"{self.listing} lists them (for the curator only)"
        )
        raise DataError(f"{message}\nbad_rows='skip' (--bad-rows skip) leaves them out; {listed}.")
