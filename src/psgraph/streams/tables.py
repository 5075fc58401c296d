"""Streams from one table with columns t, u, v: a row for every edge of every snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph.errors import DataError
from psgraph.graph import Snapshot
from psgraph.graph.formats.batches import Batch, Columns
from psgraph.graph.formats.columns import TIMES, find_column, find_ends
from psgraph.graph.formats.files import TableFile
from psgraph.graph.formats.parquet import ParquetFile
from psgraph.graph.formats.tables import is_text
from psgraph.streams.nodes import Nodes
from psgraph.streams.stream import Stream

__all__ = ["table_stream"]


def table_stream(table: TableFile, nodes: Nodes) -> Stream:
    """Cut a table into one snapshot for every value of ``t``.

    The rows of a timestamp stand together and the timestamps rise: integers, dates, or labels in
    the order of their characters. A gap between integers means nothing: there is no snapshot.
    A column ``label`` gives the time of the snapshots (its value in the first row of each),
    otherwise ``t`` does.
    """
    ends, t = _find(table)
    columns = {"t": (t, _type_of_t(table, t)), **nodes.id_columns(table, ends)}
    label = find_column(table.names or [], "label")
    if label is not None:
        columns["label"] = (label, table.type_of(label) if table.typed else pa.string())
    return Stream(
        lambda: _snapshots(table, columns, nodes),
        length=lambda: _count(table, t) if isinstance(table, ParquetFile) else None,
        description=table.name,
    )


def _find(table: TableFile) -> tuple[tuple[int, int], int]:
    names = table.names or []
    ends, t = find_ends(names), find_column(names, "t")
    if ends is not None and t is not None:
        if table.empty:
            raise DataError(f"{table.name} has no rows\nGive a table with at least one row.")
        return ends, t
    if table.names is None:
        raise DataError(
            f"{table.name}: the first line does not name the columns t, u and v\n"
            "Begin the file with the line t,u,v. If it is one snapshot of several, give the "
            "directory; its files need no such line. (The line is not shown: it may be an edge.)"
        )
    if ends is not None and find_column(names, *TIMES) is not None:
        raise DataError(
            f"{table.name} has a column of times and no column 't': an event table\n"
            "Say how to cut it into snapshots: every='1d' (--every 1d), or 1w, 1mo, …"
        )
    raise DataError(
        f"{table.name}: expected columns 't', 'u' and 'v', found {table.listing}\n"
        "Rename the columns."
    )


def _type_of_t(table: TableFile, index: int) -> pa.DataType:
    found = table.type_of(index)
    if not table.typed:
        return found if found == pa.int64() else pa.string()
    if is_text(found) or any(
        fits(found) for fits in (pa.types.is_integer, pa.types.is_date, pa.types.is_timestamp)
    ):
        return found
    raise DataError(f"{table.name}: 't' must hold integers, dates or text, not {found}")


def _snapshots(table: TableFile, columns: Columns, nodes: Nodes) -> Iterator[Snapshot]:
    """Gather the rows of one timestamp after the other; only those are in memory."""
    current: Any = None
    time = ""
    pieces: list[tuple[pa.Array, pa.Array]] = []
    for batch in table.batches(columns, optional=["label"]):
        t = _ordered(batch.columns["t"], table.name)
        starts = group_starts(t)
        for start, end in zip(starts, [*starts[1:], len(t)], strict=True):
            value = t[start].as_py()
            if current is None or value != current:
                if current is not None:
                    if value < current:
                        raise _unsorted(table, batch, start)
                    yield _gathered(pieces, nodes, time)
                current, time, pieces = value, _time(batch, start, value), []
            pieces.append((batch.columns["u"][start:end], batch.columns["v"][start:end]))
    yield _gathered(pieces, nodes, time)


def _gathered(pieces: list[tuple[pa.Array, pa.Array]], nodes: Nodes, time: str) -> Snapshot:
    heads, tails = zip(*pieces, strict=True)
    return nodes.snapshot(pa.chunked_array(heads), pa.chunked_array(tails), time=time)


def _unsorted(table: TableFile, batch: Batch, row: int) -> DataError:
    return DataError(
        f"{table.name}, {batch.locate(row)}: 't' is smaller than in the row before\n"
        "Sort the rows by t, so that each timestamp occurs once, in one piece."
    )


def _ordered(t: pa.Array, name: str) -> pa.Array:
    """Timestamps in a form that compares in Python; text by the order of its characters."""
    if not pa.types.is_timestamp(t.type):
        return t
    try:
        return t.cast(pa.timestamp("us", t.type.tz))
    except pa.ArrowInvalid:
        raise DataError(f"{name}: 't' is finer than microseconds\nRound it.") from None


def group_starts(values: pa.Array) -> list[int]:
    """The rows at which a value differs from the one before, and the first."""
    plain: NDArray[Any]
    if is_text(values.type):
        plain = values.dictionary_encode().indices.to_numpy()
    else:
        plain = values.to_numpy(zero_copy_only=False)
    return [0, *(np.flatnonzero(plain[1:] != plain[:-1]) + 1).tolist()] if plain.size else []


def _time(batch: Batch, row: int, t: Any) -> str:
    label = batch.columns["label"][row].as_py() if "label" in batch.columns else None
    shown = t if label is None else label
    return shown.isoformat() if isinstance(shown, date | datetime) else str(shown)


def _count(table: ParquetFile, t: int) -> int:
    """Count timestamps; a row group whose extremes are the same need not be read."""
    count, last = 0, None
    for group, extremes in enumerate(table.extremes(t)):
        if extremes is not None and extremes[0] == extremes[1]:
            count, last = count + (extremes[0] != last), extremes[0]
            continue
        values = _ordered(table.group(group, t), table.name)
        if not len(values):
            continue
        starts = group_starts(values)
        count += len(starts) - (values[0].as_py() == last)
        last = values[len(values) - 1].as_py()
    return count
