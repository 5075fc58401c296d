"""Streams from one table with columns t, u, v: a row for every edge of every snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Snapshot
from psgraph.graph.formats.columns import (
    RENAME,
    TIMES,
    Batch,
    Columns,
    as_numpy,
    describe_columns,
    find_column,
)
from psgraph.graph.formats.files import TableFile
from psgraph.graph.formats.parquet import ParquetFile
from psgraph.graph.formats.tables import is_text
from psgraph.streams.nodes import Nodes
from psgraph.streams.overflow import Gathering
from psgraph.streams.rows import Reading
from psgraph.streams.stream import Stream
from psgraph.streams.time_source import TimeSource
from psgraph.streams.times import time_text
from psgraph.streams.timestamps import Clock, ConsecutiveTimes, DeclaredTimes, OccurringTimes

__all__ = ["table_stream"]


def table_stream(
    table: TableFile,
    nodes: Nodes,
    *,
    times: DeclaredTimes | None = None,
    time_label: str | None = None,
    reading: Reading | None = None,
) -> Stream:
    """Cut a table into one snapshot per timestamp; the rows are sorted by ``t``.

    Parameters
    ----------
    times
        The timestamps, if they are declared: rows of others are refused, and a timestamp without
        a row is an empty snapshot. Without them integers run from the first to the last without
        a gap; of dates and labels those that occur are the timestamps.
    time_label
        The column that gives snapshots their public time instead of ``t``. It has to be equal in
        all rows of a timestamp.
    reading
        Columns, bad rows and gaps.
    """
    reading = Reading() if reading is None else reading  # it collects bad rows
    if times is not None and times.labels is not None and time_label is not None:
        raise InvalidArgument("times has labels and time_label was given too\nLeave one out.")
    ends, t = _find(table, reading, declared=times is not None)
    reading.check(table)
    skipping = reading.bad.skipping
    ids = nodes.id_columns(table, ends, fixed=skipping)
    columns = {"t": (t, _type_of_t(table, t, times, fixed=skipping)), **ids}
    columns |= nodes.further_columns(table, reading.weight(table), *ends, t)
    if time_label is not None:
        columns["label"] = _find_label(table, time_label, taken={t, *ends})
    begin, source = _timestamps(columns["t"][1], times)
    stream = Stream(
        lambda: nodes.checked(_snapshots(table, columns, nodes, begin(), reading)),
        length=lambda: _count(table, t) if times is None else len(times.times),
        description=table.name,
        times=replace(source, column=time_label),
        bad_rows=reading.bad,
        unknown=nodes.unknown,
        nodes=nodes.count,
        kind=nodes.kind,
        unit=None if nodes.owners is None else nodes.owners.unit,
    )
    stream.column_words = describe_columns(table.names, columns)
    stream.dropped = reading.dropped(table)
    return stream


def _find(table: TableFile, reading: Reading, *, declared: bool) -> tuple[tuple[int, int], int]:
    names, chosen = table.names or [], reading.columns
    ends = chosen.ends(table.names, table.width)
    t = chosen.find(table.names, table.width, "t")
    if ends is not None and t is not None:
        if table.empty and not declared:
            raise DataError(
                f"{table.name} has no rows, so its timestamps are unknown\n"
                "Declare them: times='0..11' (--times 0..11), or a list."
            )
        return ends, t
    if table.names is None and table.empty:
        raise DataError(f"{table.name} is empty\nStart the file with the line t,u,v.")
    if table.names is None:
        remedy = (
            "Check columns (--columns)."
            if chosen.chosen
            else "Start the file with the line t,u,v, or say which columns they are: columns='t=…,"
            "u=…,v=…' (--columns t=…,u=…,v=…). If it is one snapshot of several, give the "
            "directory; its files need no such line."
        )
        raise DataError(
            f"{table.name}: the first line does not name the columns "
            f"{chosen.describe('t', 'u', 'v')}\n{remedy} (The line is not shown: it may be "
            "an edge.)"
        )
    if ends is not None and find_column(names, *TIMES) is not None:
        raise DataError(
            f"{table.name} has a column of times and no column {chosen.chosen.get('t', 't')!r}: "
            "an event table\n"
            "Say how to cut it into snapshots: every='1d' (--every 1d), or 1w, 1mo, …"
        )
    raise DataError(
        f"{table.name}: expected columns {chosen.describe('t', 'u', 'v')}, found "
        f"{table.listing}\n{RENAME}"
    )


def _find_label(table: TableFile, name: str, *, taken: set[int]) -> tuple[int, pa.DataType]:
    index = find_column(table.names or [], name.strip().lower())
    if index is None:
        raise DataError(
            f"{table.name}: there is no column {name!r}, which should name the times\n"
            "Check time_label (--time-label)."
        )
    if index in taken:
        raise InvalidArgument(
            f"the column {name!r} is one of t, u and v and can't name the times\n"
            "Leave time_label out; the values of t then name the times."
        )
    return index, _time_type(table, index, name)


def _type_of_t(
    table: TableFile, index: int, times: DeclaredTimes | None, *, fixed: bool
) -> pa.DataType:
    if table.empty:
        return pa.string()
    if fixed and not table.typed:
        if times is None:
            raise InvalidArgument(
                f"{table.name}: without declared times the first row decides whether t is an "
                "integer\nbad_rows='skip' (--bad-rows skip) needs times (--times)."
            )
        return pa.int64() if times.integers else pa.string()
    found = table.type_of(index)
    if not table.typed:
        return found if found == pa.int64() else pa.string()
    return _time_type(table, index, "t")


def _time_type(table: TableFile, index: int, name: str) -> pa.DataType:
    if not table.typed:
        return pa.string()
    found = table.type_of(index)
    if is_text(found) or any(
        fits(found) for fits in (pa.types.is_integer, pa.types.is_date, pa.types.is_timestamp)
    ):
        return found
    raise DataError(f"{table.name}: {name!r} must hold integers, dates or text, not {found}")


def _timestamps(
    type_: pa.DataType, times: DeclaredTimes | None
) -> tuple[Callable[[], Clock], TimeSource]:
    if times is not None:
        times.clock(type_)  # refuses times of another type before anything is read
        return lambda: times.clock(type_), times.source
    kind = ConsecutiveTimes if pa.types.is_integer(type_) else OccurringTimes
    return kind, kind.source


def _snapshots(
    table: TableFile, columns: Columns, nodes: Nodes, clock: Clock, reading: Reading
) -> Iterator[Snapshot]:
    """Yield snapshot after snapshot; only the rows of one timestamp are in memory."""
    gathered = _Gathered(columns, nodes, refuse_gaps=reading.gaps == "refuse")
    reading.bad.begin()
    for batch in reading.bad.read(table, columns, lambda batch: _unknown_times(batch, clock)):
        t = _comparable(batch.columns["t"], table.name)
        starts = _group_starts(t)
        for start, end in zip(starts, [*starts[1:], len(t)], strict=True):
            value = t[start].as_py()
            if value != gathered.value:
                with _located(table, batch, start):
                    missing = clock.advance(value)
                if gathered.value is not None:
                    yield gathered.snapshot()
                for name in missing:
                    yield gathered.empty(name)
                gathered.begin(value, clock.name(value))
            rows = {name: array[start:end] for name, array in batch.columns.items()}
            with _located(table, batch, start):
                gathered.read_label(rows)
            gathered.add(rows)
    if gathered.value is not None:
        yield gathered.snapshot()
    for name in clock.rest():
        yield gathered.empty(name)


def _unknown_times(batch: Batch, clock: Clock) -> dict[int, str]:
    """Return the rows whose timestamp was not declared."""
    t = batch.columns["t"]
    values = pc.unique(t)
    refused = [clock.problem(value.as_py()) for value in values]
    if not any(refused):
        return {}
    place = as_numpy(pc.index_in(t, value_set=values)).tolist()
    return {row: str(refused[k]) for row, k in enumerate(place) if refused[k]}


@contextmanager
def _located(table: TableFile, batch: Batch, row: int) -> Iterator[None]:
    """Add the position of the refused row to the message."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{table.name}, {batch.locate(row)}: {error}") from None


class _Gathered:
    """The rows of one timestamp."""

    def __init__(self, columns: Columns, nodes: Nodes, *, refuse_gaps: bool) -> None:
        self._columns, self._nodes, self._refuse_gaps = columns, nodes, refuse_gaps
        self._rows: Gathering | None = None
        self._time, self._label = "", None
        self.value: Any = None

    def begin(self, value: Any, time: str) -> None:
        self.value, self._time, self._label = value, time, None
        self._rows = None

    def add(self, rows: dict[str, pa.Array]) -> None:
        """Add rows, after their label was read."""
        self._rows = self._rows or self._gather(self._time)
        self._rows.add(rows["u"], rows["v"], rows.get("weight"), rows.get("owner"))

    def read_label(self, rows: dict[str, pa.Array]) -> None:
        """Take the public time from the rows, if a column names it."""
        if "label" not in rows:
            return
        label = rows["label"][0] if self._label is None else self._label
        if not pc.all(pc.equal(rows["label"], label)).as_py():
            raise DataError(
                "the column that names the times has several values at one timestamp\n"
                "A public time must not depend on single rows. Repair the column, or leave out "
                "time_label (--time-label)."
            )
        self._label, self._time = label, time_text(label.as_py())

    def snapshot(self) -> Snapshot:
        return (self._rows or self._gather(self._time)).snapshot()

    def _gather(self, time: str) -> Gathering:
        return self._nodes.gather(time, (self._columns["u"][1], self._columns["v"][1]))

    def empty(self, time: str) -> Snapshot:
        """Build the snapshot of a timestamp without a row."""
        if self._refuse_gaps:
            raise DataError(
                f"the timestamp {time!r} has no row\n"
                "Add what is missing, or leave out gaps='refuse' (--gaps refuse) to publish an "
                "empty snapshot."
            )
        if "label" in self._columns:
            raise DataError(
                "a timestamp without rows has no label\n"
                "Leave out time_label (--time-label), and list all timestamps with their labels: "
                "times=… (--times FILE with columns t and label)."
            )
        return self._gather(time).snapshot()


def _comparable(t: pa.Array, name: str) -> pa.Array:
    """Return timestamps in a form that compares in Python; text by the order of its characters."""
    if not pa.types.is_timestamp(t.type):
        return t
    try:
        return t.cast(pa.timestamp("us", t.type.tz))
    except pa.ArrowInvalid:
        raise DataError(f"{name}: 't' is finer than microseconds\nRound it.") from None


def _group_starts(values: pa.Array) -> list[int]:
    """Return the rows at which a value differs from the one before, and the first."""
    plain: NDArray[Any]
    if is_text(values.type):
        plain = as_numpy(values.dictionary_encode().indices)
    else:
        plain = as_numpy(values)
    return [0, *(np.flatnonzero(plain[1:] != plain[:-1]) + 1).tolist()] if plain.size else []


def _count(table: TableFile, t: int) -> int | None:
    """Count the timestamps of a Parquet file from the extremes of its row groups."""
    if not isinstance(table, ParquetFile):
        return None
    if pa.types.is_integer(table.type_of(t)):
        ends = [
            _ends_of_group(table, group, t, each) for group, each in enumerate(table.extremes(t))
        ]
        known = [each for each in ends if each is not None]
        return max(high for _, high in known) - min(low for low, _ in known) + 1
    count, last = 0, None
    for group, extremes in enumerate(table.extremes(t)):
        if extremes is not None and extremes[0] == extremes[1]:
            count, last = count + (extremes[0] != last), extremes[0]
            continue
        values = _comparable(table.group(group, t), table.name)
        if not len(values):
            continue
        starts = _group_starts(values)
        count += len(starts) - (values[0].as_py() == last)
        last = values[len(values) - 1].as_py()
    return count


def _ends_of_group(
    table: ParquetFile, group: int, t: int, extremes: tuple[int, int] | None
) -> tuple[int, int] | None:
    """Return the least and the largest integer of a row group; None if it has no rows."""
    if extremes is not None:
        return extremes
    values = table.group(group, t)
    found = pc.min_max(values).as_py()
    return (found["min"], found["max"]) if len(values) else None
