"""How the rows of an input are read, and what happens to rows that can't be used.

Bad rows are refused all at once, or left out, and listed for the curator. How many rows are bad
and where they are depends on private rows. It is told to the curator: in messages, on a terminal,
and in a file that only the owner can read. It is part of no certificate and no JSON output.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from psgraph._runtime.durable import write_whole
from psgraph._runtime.numbers import count
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph.formats.columns import (
    WEIGHT_PROBLEM,
    Batch,
    ColumnNames,
    Columns,
    as_numpy,
)
from psgraph.graph.formats.files import TableFile

if TYPE_CHECKING:
    from psgraph.streams.options import InputOptions

__all__ = ["PADDED_IDS", "BadRows", "Reading", "counting_rows", "write_curator_file"]

#: What is said about ids that lose their leading zeros.
PADDED_IDS = (
    "Leading zeros: ids are read as integers, so 0171 and 171 are one node. If they are different "
    "nodes, read ids as they are written: ids='text' (--ids text)."
)

#: With more bad rows than this the file is another kind of table.
MOST_BAD = 100_000
_SHOWN = 5

Check = Callable[[Batch], Mapping[int, str]]
"""Returns what is wrong with rows of a batch, by row."""

_listener: ContextVar[Callable[[int], object] | None] = ContextVar("rows", default=None)


@contextmanager
def counting_rows(listener: Callable[[int], object]) -> Iterator[None]:
    """Call `listener` with the number of new rows whenever a reader inside the block reads some.

    Privacy: the number of rows is private. It may be shown to the curator only.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


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

    policy: Literal["refuse", "skip"] = "refuse"
    listing: Path | None = None
    rows: list[_Row] = field(default_factory=list, init=False, repr=False, compare=False)
    """The bad rows found since the stream was last started. Curator only."""
    counts: Counter[str] = field(default_factory=Counter, init=False, repr=False, compare=False)
    """How many usable rows are for a ``"later"`` run, and whether ids lost leading zeros
    (``"padded"``), since then. Curator only."""

    @property
    def skipping(self) -> bool:
        """Whether bad rows are left out."""
        return self.policy == "skip"

    def begin(self) -> None:
        """Forget the rows of an earlier reading."""
        self.rows.clear()
        self.counts.clear()

    def read(self, table: TableFile, columns: Columns, *checks: Check) -> Iterator[Batch]:
        """Yield the readable rows of a table.

        After the first bad row of a file that is to be refused nothing is yielded: the rest is
        read to find the other bad rows, so that one run reports them all.
        """
        before = len(self.rows)
        listener = _listener.get()

        def report(place: str, problem: str, content: str) -> None:
            if len(self.rows) - before >= MOST_BAD:
                first = self.rows[before]
                raise DataError(
                    f"{first.file}, {first.place}: {first.problem}\n"
                    f"More than {MOST_BAD:,} rows can't be used. Leave them out of the input, or "
                    "check which columns are read (--columns) and how (--ids)."
                )
            self.rows.append(_Row(table.name, place, problem, content))

        for batch in table.batches(columns, bad=report) if not table.empty else ():
            if listener is not None:
                listener(len(batch))
            if not self.counts["padded"] and batch.padded():
                self.counts["padded"] = 1
                warnings.warn(PADDED_IDS, stacklevel=2)
            for check in (*checks, weight_problems):
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


@dataclass(frozen=True)
class Reading:
    """How rows are read, the same for all kinds of files.

    Attributes
    ----------
    columns
        Which column is which.
    bad
        What to do with rows that can't be read.
    gaps
        Whether a timestamp without a row is an empty snapshot or refused; None if not given.
    said
        Of "direction" and "weights", those about which the user decided.
    """

    columns: ColumnNames = field(default_factory=ColumnNames)
    bad: BadRows = field(default_factory=BadRows)
    gaps: Literal["empty", "refuse"] | None = None
    said: frozenset[str] = frozenset()

    @classmethod
    def of(cls, options: InputOptions) -> Reading:
        """Return what the options of an input say; they are checked."""
        listing = None if options.bad_rows_to is None else Path(options.bad_rows_to)
        return cls(
            ColumnNames.parse(options.columns),
            BadRows(options.bad_rows, listing),  # type: ignore[arg-type]
            options.gaps,  # type: ignore[arg-type]
            frozenset({"direction", "weights"} - {*options.dropped(("direction", "weights"))}),
        )

    def weight(self, table: TableFile) -> int | None:
        """Return the index of the column of weights, if the table has one."""
        return self.columns.find(table.names, table.width, "weight")

    def dropped(self, table: TableFile) -> tuple[str, ...]:
        """Return what the table says about its edges, by its columns, and the options do not."""
        found = self.columns.dropped(table.names, table.width)
        return tuple(each for each in found if each not in self.said)

    def check(self, table: TableFile) -> None:
        """Refuse to skip rows of a table whose first row decides how the others are read."""
        if self.bad.skipping and table.names is None and table.width:
            raise InvalidArgument(
                f"{table.name} has no line of column names, so its first row decides how the "
                "others are read\nbad_rows='skip' (--bad-rows skip) needs a line such as u,v."
            )


def weight_problems(batch: Batch) -> dict[int, str]:
    """Return the rows whose weight is no integer of at least 1."""
    if "weight" not in batch.columns:
        return {}
    weights = as_numpy(batch.columns["weight"])
    bad = ~(weights >= 1)
    if weights.dtype.kind == "f":
        bad |= ~np.isfinite(weights) | (weights != np.floor(weights))
    return dict.fromkeys(np.flatnonzero(bad).tolist(), WEIGHT_PROBLEM)


def write_curator_file(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file with private values, which only its owner can read (mode 0600)."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode(), owner_only=True)
