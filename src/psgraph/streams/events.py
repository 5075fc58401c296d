"""Streams from an event table: rows u, v, time sorted by time, cut into periods."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph.errors import DataError
from psgraph.graph import Snapshot
from psgraph.graph.formats.batches import Batch, Columns, shortest_failure
from psgraph.graph.formats.columns import TIMES, find_column, find_ends
from psgraph.graph.formats.files import TableFile
from psgraph.graph.formats.parquet import ParquetFile
from psgraph.graph.formats.tables import is_text
from psgraph.streams.cumulative import accumulated
from psgraph.streams.nodes import Nodes
from psgraph.streams.spans import Span
from psgraph.streams.stream import Stream
from psgraph.streams.times import MOST_EMPTY, Period, microseconds

__all__ = ["event_stream"]


def event_stream(
    table: TableFile,
    nodes: Nodes,
    *,
    every: Period,
    cumulative: bool = False,
    span: Span = Span(),  # noqa: B008  (immutable)
) -> Stream:
    """Cut an event table into one snapshot per period.

    The periods run from the first event to the last, or between the declared ends of `span`;
    events outside those are refused. A period without events gives an empty snapshot. A
    snapshot's time is the first moment of its period, and a roster that changes over time is
    looked up at that moment.
    """
    ends, time = _find(table, declared=span.closed)
    type_ = pa.int64() if table.empty else table.type_of(time)
    columns = {**nodes.id_columns(table, ends), "time": (time, type_)}

    def snapshots() -> Iterator[Snapshot]:
        found = _snapshots(table, columns, nodes, every, span)
        if not cumulative:
            return found
        return accumulated(found, None if nodes.from_edges else nodes.everyone)

    kept = "; each snapshot keeps the edges of all earlier periods" if cumulative else ""
    return Stream(
        snapshots,
        length=lambda: _count(table, time, every, span),
        description=f"{table.name}, every {every}" + (", cumulative" if cumulative else ""),
        times=span.statement(every) + kept,
    )


def _find(table: TableFile, *, declared: bool) -> tuple[tuple[int, int], int]:
    names = table.names or []
    ends, time = find_ends(names), find_column(names, *TIMES)
    if ends is not None and time is not None:
        if table.empty and not declared:
            raise DataError(
                f"{table.name} has no rows, so nothing says which periods there are\n"
                "Declare them: start and until (--from, --until)."
            )
        return ends, time
    if table.names is None and table.empty:
        raise DataError(f"{table.name} is empty\nBegin the file with the line u,v,time.")
    if table.names is None:
        raise DataError(
            f"{table.name}: the first line does not name the columns u, v and time\n"
            "Begin the file with the line u,v,time. (The line is not shown: it may be an edge.)"
        )
    if ends is not None:
        raise DataError(
            f"{table.name} has no times to cut by: expected a column 'time', 'timestamp', 'date' "
            f"or 'datetime', found {table.listing}\n"
            "Leave out every (--every) if the table is cut into timestamps t already."
        )
    raise DataError(
        f"{table.name}: expected columns 'u', 'v' and 'time', found {table.listing}\n"
        "Rename the columns."
    )


def _snapshots(
    table: TableFile, columns: Columns, nodes: Nodes, every: Period, span: Span
) -> Iterator[Snapshot]:
    heads: list[pa.Array] = []
    tails: list[pa.Array] = []
    period, end = span.periods(every)
    last = None

    def finished() -> Snapshot:
        assert period is not None
        edges = pa.chunked_array(heads, columns["u"][1]), pa.chunked_array(tails, columns["v"][1])
        heads.clear()
        tails.clear()
        return nodes.snapshot(*edges, time=every.start(period))

    for batch in table.batches(columns) if not table.empty else ():
        times = _sorted_times(batch, table.name, last)
        _refuse_outside(batch, table.name, times, span)
        last = times[-1:]
        numbers = every.numbers(times)
        starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
        for start, stop in zip(starts, [*starts[1:], len(numbers)], strict=True):
            number = int(numbers[start])
            period = number if period is None else period
            if number - period > MOST_EMPTY:
                raise DataError(
                    f"{table.name}, {batch.locate(start)}: more than {MOST_EMPTY:,} periods of "
                    f"{every} without an event before it\nCheck the times, or use longer periods."
                )
            while period < number:
                yield finished()
                period += 1
            heads.append(batch.columns["u"][start:stop])
            tails.append(batch.columns["v"][start:stop])
    assert period is not None  # a table without rows has both ends declared
    while end is not None and period < end:
        yield finished()
        period += 1
    yield finished()


def _refuse_outside(batch: Batch, name: str, times: NDArray[np.int64], span: Span) -> None:
    outside = np.flatnonzero(span.outside(times))
    if outside.size:
        raise DataError(
            f"{name}, {batch.locate(int(outside[0]))}: the time lies outside the declared ends of "
            "the stream\nMove start or until (--from, --until), or leave the row out."
        )


def _sorted_times(batch: Batch, name: str, last: NDArray[np.int64] | None) -> NDArray[np.int64]:
    column = batch.columns["time"]
    try:
        times = microseconds(column)
    except DataError as error:
        row = shortest_failure(len(column), lambda size: _unreadable(column[:size])) - 1
        raise DataError(f"{name}, {batch.locate(row)}: {error}") from None
    before = times[:-1] if last is None else np.concatenate([last, times[:-1]])
    back = np.flatnonzero(times[times.size - before.size :] < before)
    if back.size:
        row = int(back[0]) + times.size - before.size
        raise DataError(
            f"{name}, {batch.locate(row)}: the time is earlier than in the row before\n"
            "Sort the rows by time."
        )
    return times


def _unreadable(times: pa.Array) -> bool:
    try:
        microseconds(times)
    except DataError:
        return True
    return False


def _count(table: TableFile, time: int, every: Period, span: Span) -> int | None:
    """Count the periods from the declared ends, or from those that a Parquet file records."""
    first, last = span.periods(every)
    if first is None or last is None:
        if not isinstance(table, ParquetFile) or is_text(table.type_of(time)):
            return None
        extremes = table.extremes(time)
        if None in extremes:
            return None
        recorded = [value for pair in extremes if pair is not None for value in pair]
        numbers = every.numbers(microseconds(pa.array(recorded, type=table.type_of(time))))
        first = int(numbers.min()) if first is None else first
        last = int(numbers.max()) if last is None else last
    return last - first + 1
