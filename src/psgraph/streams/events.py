"""Streams from an event table: rows u, v, time, cut into periods.

A table that is not sorted by time is sorted in bounded memory: rows are gathered into runs and
sorted by period. If there is more than one run, they are written to a temporary file, one piece
per run and period; the pieces are then read period by period. The file holds private edges. It is
created in a scratch directory and removed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from psgraph._runtime.arrays import Integers
from psgraph._runtime.resources import check_space, scratch_directory, scratch_place
from psgraph.errors import DataError, OutputError
from psgraph.graph import Snapshot
from psgraph.graph.formats.columns import RENAME, TIMES, Batch, Columns, describe_columns
from psgraph.graph.formats.files import TableFile
from psgraph.graph.formats.parquet import ParquetFile
from psgraph.graph.formats.tables import is_text
from psgraph.streams.nodes import Nodes
from psgraph.streams.overflow import Gathering
from psgraph.streams.periods import Period, Span
from psgraph.streams.rows import Reading
from psgraph.streams.stream import Stream, accumulated
from psgraph.streams.time_source import TimeSource
from psgraph.streams.times import MOST_EMPTY, row_instants

__all__ = ["event_stream"]

#: Rows that are sorted in memory at once.
RUN_ROWS = 1 << 20

_FURTHER = ("weight", "owner")
"""The columns that a table may have beside both ends and the time."""

NEVER = np.iinfo(np.int64).max


def event_stream(
    table: TableFile,
    nodes: Nodes,
    *,
    span: Span,
    cumulative: bool = False,
    reading: Reading | None = None,
    once: bool = False,
    hold_later: bool = False,
) -> Stream:
    """Cut an event table into one snapshot per period.

    The periods run from the first event to the last, or between the declared ends of `span`;
    events outside those are refused, but with `hold_later` events after the end are left for a
    later run. The last period is held back unless it is over. A period
    without events gives an empty snapshot, unless gaps are refused. A snapshot's time is the
    first moment of its period, and a roster that changes over time is looked up at that moment.
    With `once` the table is read a single time.
    """
    reading = Reading() if reading is None else reading  # it collects bad rows
    source = _Source(table, nodes, span, reading, once=once, hold_later=hold_later)
    every = span.every

    def snapshots() -> Iterator[Snapshot]:
        found = nodes.checked(source.snapshots(stream))
        if not cumulative:
            return found
        return accumulated(found, None if nodes.from_edges else nodes.everyone)

    times = TimeSource(
        "periods",
        period=every,
        cumulative=cumulative,
        start_declared=span.start is not None,
        until_declared=span.until is not None,
    )
    stream = Stream(
        snapshots,
        length=source.count,
        description=f"{table.name}, every {every}" + (", cumulative" if cumulative else ""),
        times=times,
        bad_rows=reading.bad,
        unknown=nodes.unknown,
        nodes=nodes.count,
        kind=nodes.kind,
        unit=None if nodes.owners is None else nodes.owners.unit,
    )
    stream.dropped = reading.dropped(table)
    stream.column_words = describe_columns(table.names, source.columns)
    stream.remarks = span.remarks()
    return stream


def _find(table: TableFile, reading: Reading, *, declared: bool) -> tuple[tuple[int, int], int]:
    names = table.names
    ends = reading.columns.ends(names, table.width)
    time = reading.columns.find(names, table.width, "time", *TIMES)
    if ends is not None and time is not None:
        if table.empty and not declared:
            raise DataError(
                f"{table.name} has no rows, so its periods are unknown\n"
                "Declare them: start and until (--from, --until)."
            )
        return ends, time
    if names is None and table.empty:
        raise DataError(f"{table.name} is empty\nStart the file with the line u,v,time.")
    if names is None:
        remedy = (
            "Check columns (--columns)."
            if reading.columns.chosen
            else "Start the file with the line u,v,time, or say which columns they are: "
            "columns='u=…,v=…,time=…' (--columns u=…,v=…,time=…)."
        )
        raise DataError(
            f"{table.name}: the first line does not name the columns "
            f"{reading.columns.describe('u', 'v', 'time')}\n{remedy} (The line is not shown: it "
            "may be an edge.)"
        )
    if ends is not None:
        raise DataError(
            f"{table.name} has no times to cut by: expected a column "
            f"{', '.join(map(repr, TIMES[:-1]))} or {TIMES[-1]!r}, found {table.listing}\n"
            "Say which it is: columns='time=…' (--columns time=…). Leave out every (--every) if "
            "the table is cut into timestamps t already."
        )
    raise DataError(
        f"{table.name}: expected columns {reading.columns.describe('u', 'v', 'time')}, found "
        f"{table.listing}\n{RENAME}"
    )


class _Source:
    """An event table with the options for reading it."""

    def __init__(
        self,
        table: TableFile,
        nodes: Nodes,
        span: Span,
        reading: Reading,
        *,
        once: bool,
        hold_later: bool,
    ) -> None:
        self._once, self._hold_later = once, hold_later
        self._table, self._nodes, self._span, self._bad = table, nodes, span, reading.bad
        self._refuse_gaps = reading.gaps == "refuse"
        ends, self._time = _find(table, reading, declared=span.closed)
        reading.check(table)
        type_ = pa.int64() if table.empty else table.type_of(self._time)
        if reading.bad.skipping and not table.typed:
            type_ = pa.string()  # each row is read by itself; the first one decides nothing
        ids = nodes.id_columns(table, ends, fixed=reading.bad.skipping)
        further = nodes.further_columns(table, reading.weight(table), *ends, self._time)
        self.columns: Columns = {**ids, "time": (self._time, type_), **further}
        self._sorted: bool | None = None
        self._first_event = NEVER

    def snapshots(self, stream: Stream) -> Iterator[Snapshot]:
        """Yield the snapshot of every period that is over."""
        span, every = self._span, self._span.every
        types = self.columns["u"][1], self.columns["v"][1]
        gathered: Gathering | None = None
        period, last_event = span.first, None
        limit = span.limit

        def begin() -> Gathering:
            assert period is not None
            return self._nodes.gather(every.start(period), types)

        def finished() -> Snapshot:
            assert period is not None
            if self._refuse_gaps and gathered is None:
                raise DataError(
                    f"{self._table.name}: the period that starts {every.start(period)} has no "
                    "event\nAdd what is missing, or leave out gaps='refuse' (--gaps refuse) to "
                    "publish an empty snapshot."
                )
            return (gathered or begin()).snapshot()

        for events in self._events():
            last_event = events.period
            if limit is not None and last_event > limit:
                continue  # that period is not over
            period = last_event if period is None else period
            self._check_distance(period, events)
            while period < last_event:
                yield finished()
                period, gathered = period + 1, None
            gathered = gathered or begin()
            gathered.add(events.heads, events.tails, events.weight, events.owner)
        while period is not None and period <= span.last(
            period if last_event is None else last_event
        ):
            yield finished()
            period, gathered = period + 1, None
        if span.start is None and self._first_event < NEVER:
            stream.curator_remarks = span.every.late_start(int(self._first_event))
        stream.hold_back(span.held_back(last_event))

    def _events(self) -> Iterator[_Events]:
        """Yield events in the order of their periods.

        Only reading a table shows whether it is sorted. One that may be read only once is always
        sorted.
        """
        if self._sorted is None:
            self._sorted = not self._once and self._is_sorted()
        if not self._sorted:
            return _in_order(self._read())
        return (events for rows in self._read() for events in rows.pieces())

    def _is_sorted(self) -> bool:
        """Whether periods never go back; reads the times only. The order inside one is free."""
        last = None
        columns = {"time": self.columns["time"]}
        ignored: Batch
        for ignored in self._table.batches(columns, bad=lambda *_: None):
            numbers = self._numbers(self._in_time(ignored.without(self._problems(ignored))))
            if numbers.size:
                if (last is not None and numbers[0] < last) or (np.diff(numbers) < 0).any():
                    return False
                last = numbers[-1]
        return True

    def _read(self) -> Iterator[_Rows]:
        self._bad.begin()
        for batch in self._bad.read(self._table, self.columns, self._problems):
            kept = self._in_time(batch)
            self._bad.counts["later"] += len(batch) - len(kept)
            if len(kept):
                ends = kept.columns["u"], kept.columns["v"]
                weight, owner = (kept.columns.get(name) for name in _FURTHER)
                times = _scaled(kept.columns["time"], self._span.every)[0]
                self._first_event = min(times.min(initial=NEVER), self._first_event)
                numbers = self._span.every.numbers(times)
                yield _Rows(numbers, *ends, weight, owner, kept.locate)

    def _in_time(self, batch: Batch) -> Batch:
        """Return the rows that are not for a later run; all times can be read."""
        later = self._span.after(_scaled(batch.columns["time"], self._span.every)[0])
        return batch.where(~later) if later.any() else batch

    def _problems(self, batch: Batch) -> dict[int, str]:
        """Return the rows whose time can't be read, or is not one of this stream."""
        times, problems = _scaled(batch.columns["time"], self._span.every)
        for row in np.flatnonzero(self._span.before(times)).tolist():
            problems.setdefault(
                row,
                "the time is before the declared start of the stream\n"
                "Declare an earlier one (--from, start=…), or leave the row out.",
            )
        if not self._hold_later:
            for row in np.flatnonzero(self._span.after(times)).tolist():
                problems.setdefault(
                    row,
                    "the time is after the declared end of the stream\n"
                    "Declare a later one (until=…), or leave the row out.",
                )
        return problems

    def _numbers(self, batch: Batch) -> Integers:
        return self._span.every.numbers(_scaled(batch.columns["time"], self._span.every)[0])

    def _check_distance(self, period: int, events: _Events) -> None:
        if events.period < period:  # the order was checked
            raise DataError(f"{self._table.name} changed while it was being read\nRun it again.")
        if events.period - period > MOST_EMPTY:
            place = events.place()
            raise DataError(
                f"{self._table.name}{', ' if place else ''}{place}: more than "
                f"{MOST_EMPTY:,} periods of {self._span.every} without an event before it\n"
                "Check the times, or use longer periods."
            )

    def count(self) -> int | None:
        """Count the periods from the declared ends, or from those a Parquet file records."""
        span, table = self._span, self._table
        first, last = span.first, span.final
        if first is None or last is None:
            if not isinstance(table, ParquetFile) or is_text(table.type_of(self._time)):
                return None
            extremes = table.extremes(self._time)
            if None in extremes:
                return None
            recorded = [value for pair in extremes if pair is not None for value in pair]
            times = span.every.read(pa.array(recorded, type=table.type_of(self._time)))
            numbers = span.every.numbers(times)
            first = int(numbers.min()) if first is None else first
            last = span.last(int(numbers.max()))
        return max(0, last - first + 1)


def _scaled(column: pa.Array, every: Period) -> tuple[Integers, dict[int, str]]:
    """Return times on the scale of a period, and the rows that can't be read."""
    try:
        return every.read(column), {}
    except DataError:
        found, zoned, problems = row_instants(column)
        for flag in (True, False):
            found[zoned == flag] = every.scale(found[zoned == flag], zoned=flag)
        return found, problems


class _Rows(NamedTuple):
    """Some rows of a table of events."""

    periods: Integers
    heads: pa.Array
    tails: pa.Array
    weight: pa.Array | None = None
    owner: pa.Array | None = None
    locate: Callable[[int], str] = lambda _: ""

    def pieces(self) -> Iterator[_Events]:
        """Split the rows where the period changes."""
        starts = [0, *(np.flatnonzero(np.diff(self.periods)) + 1).tolist()]
        for start, stop in zip(starts, [*starts[1:], len(self.periods)], strict=True):
            yield _Events(
                int(self.periods[start]),
                self.heads[start:stop],
                self.tails[start:stop],
                None if self.weight is None else self.weight[start:stop],
                None if self.owner is None else self.owner[start:stop],
                partial(self.locate, start),
            )


class _Events(NamedTuple):
    """Events of one period."""

    period: int
    heads: pa.Array
    tails: pa.Array
    weight: pa.Array | None = None
    owner: pa.Array | None = None
    place: Callable[[], str] = lambda: ""
    """Returns where in the table the first of them is."""


def _in_order(table: Iterable[_Rows]) -> Iterator[_Events]:
    """Sort events by period; only a run, or the events of one period, are in memory.

    >>> rows = _Rows(np.array([5, 3, 5]), pa.array([1, 2, 3]), pa.array([4, 5, 6]))
    >>> [(each.period, each.heads.to_pylist()) for each in _in_order([rows])]
    [(3, [2]), (5, [1, 3])]
    """
    runs = _runs(table)
    first, second = next(runs, None), next(runs, None)
    if first is None:
        return
    if second is None:
        yield from first.pieces()
        return
    with scratch_directory() as directory:
        path = directory / "events.arrow"
        try:
            pieces = _spool(chain((first, second), runs), path)
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(
                f"the events can't be sorted: {error.strerror or 'I/O error'}\n"
                f"Sorting needs as much space in {scratch_place()} as the table has. Set TMPDIR to "
                "a directory on a disk with enough."
            ) from None
        del first, second
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
            for period in sorted(pieces):
                for number in pieces[period]:
                    piece = file.get_batch(number)
                    names = piece.schema.names
                    weight, owner = (piece[name] if name in names else None for name in _FURTHER)
                    yield _Events(period, piece["u"], piece["v"], weight, owner)


def _spool(runs: Iterable[_Rows], path: Path) -> dict[int, list[int]]:
    """Write sorted runs to a file; return the numbers of the pieces of every period."""
    pieces: dict[int, list[int]] = {}
    writer: pa.ipc.RecordBatchFileWriter | None = None
    written = 0
    try:
        for run in runs:
            check_space(path.parent, run.heads.nbytes + run.tails.nbytes)
            for each in run.pieces():
                columns = {"u": each.heads, "v": each.tails}
                for name in _FURTHER:
                    if getattr(each, name) is not None:
                        columns[name] = getattr(each, name)
                batch = pa.RecordBatch.from_pydict(columns)
                if writer is None:
                    writer = pa.ipc.new_file(str(path), batch.schema)
                writer.write_batch(batch)
                pieces.setdefault(each.period, []).append(written)
                written += 1
    finally:
        if writer is not None:
            writer.close()
    return pieces


def _runs(table: Iterable[_Rows]) -> Iterator[_Rows]:
    """Gather rows into runs of about `RUN_ROWS`, each sorted by period."""
    gathered: list[_Rows] = []
    size = 0
    for rows in table:
        gathered.append(rows)
        size += len(rows.periods)
        if size >= RUN_ROWS:
            yield _sorted(gathered)
            gathered, size = [], 0
    if gathered:
        yield _sorted(gathered)


def _sorted(gathered: list[_Rows]) -> _Rows:
    if len(gathered) == 1 and (np.diff(gathered[0].periods) >= 0).all():
        return gathered[0]
    periods = np.concatenate([rows.periods for rows in gathered])
    order = np.argsort(periods, kind="stable")
    heads, tails, weight, owner = (
        None
        if getattr(gathered[0], name) is None
        else pa.concat_arrays([getattr(rows, name) for rows in gathered]).take(pa.array(order))
        for name in ("heads", "tails", *_FURTHER)
    )
    return _Rows(periods[order], heads, tails, weight, owner)
