"""Streams from an event table: rows u, v, time in the order of time, cut into periods."""

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
from psgraph.streams.periods import Period, microseconds
from psgraph.streams.stream import Stream

__all__ = ["event_stream"]

MOST_SILENT_PERIODS = 1_000_000


def event_stream(table: TableFile, nodes: Nodes, *, every: Period, cumulative: bool) -> Stream:
    """Cut an event table into one snapshot per period, from the first event to the last.

    A period without events gives a snapshot without edges: the number and the times of the
    snapshots are public. A snapshot's time is the first moment of its period, and so is the
    moment at which a roster that changes over time is looked at.
    """
    ends, time = _find(table)
    columns = {**nodes.id_columns(table, ends), "time": (time, table.type_of(time))}

    def snapshots() -> Iterator[Snapshot]:
        found = _snapshots(table, columns, nodes, every)
        if not cumulative:
            return found
        return accumulated(found, None if nodes.from_edges else nodes.everyone)

    return Stream(
        snapshots,
        length=lambda: _count(table, time, every) if isinstance(table, ParquetFile) else None,
        description=f"{table.name}, every {every}" + (", cumulative" if cumulative else ""),
    )


def _find(table: TableFile) -> tuple[tuple[int, int], int]:
    names = table.names or []
    ends, time = find_ends(names), find_column(names, *TIMES)
    if ends is not None and time is not None:
        if table.empty:
            raise DataError(f"{table.name} has no rows\nGive a table with at least one row.")
        return ends, time
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
    table: TableFile, columns: Columns, nodes: Nodes, every: Period
) -> Iterator[Snapshot]:
    heads: list[pa.Array] = []
    tails: list[pa.Array] = []
    period: int | None = None
    last = None

    def finished() -> Snapshot:
        assert period is not None
        edges = pa.chunked_array(heads, columns["u"][1]), pa.chunked_array(tails, columns["v"][1])
        heads.clear()
        tails.clear()
        return nodes.snapshot(*edges, time=every.start(period))

    for batch in table.batches(columns):
        times = _sorted_times(batch, table.name, last)
        last = times[-1:]
        numbers = every.numbers(times)
        starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
        for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            number = int(numbers[start])
            period = number if period is None else period
            if number - period > MOST_SILENT_PERIODS:
                raise DataError(
                    f"{table.name}, {batch.locate(start)}: more than {MOST_SILENT_PERIODS} periods "
                    f"of {every} without an event before it\nCheck the times, or cut coarser."
                )
            while period < number:
                yield finished()
                period += 1
            heads.append(batch.columns["u"][start:end])
            tails.append(batch.columns["v"][start:end])
    yield finished()


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


def _count(table: ParquetFile, time: int, every: Period) -> int | None:
    """Count the periods from the extremes that the file records."""
    extremes, type_ = table.extremes(time), table.type_of(time)
    if None in extremes or is_text(type_):
        return None
    recorded = [value for pair in extremes if pair is not None for value in pair]
    times = microseconds(pa.array(recorded, type=type_))
    numbers = every.numbers(times)
    return int(numbers.max() - numbers.min()) + 1
