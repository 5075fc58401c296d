"""Data frames in memory, read like files: pandas, polars, Arrow and whatever speaks Arrow.

A frame has the interface of a table file (`psgraph.graph.formats.files`), so that the readers of
streams need no second version. pandas and polars are never imported: a frame is recognised by its
methods, and its columns are taken over through Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psgraph.errors import DataError
from psgraph.graph.formats.columns import Batch, Columns, as_numpy, list_names
from psgraph.graph.formats.tables import is_text

__all__ = ["FrameTable", "is_frame"]

_SORTED_BY = ("time", "t")
_INTERFACES = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")


def is_frame(source: object) -> bool:
    """Whether an object is a table of columns: a frame, an Arrow table, a lazy polars query.

    >>> is_frame(pa.table({"u": [1]})), is_frame([[1, 2]])
    (True, False)
    """
    if isinstance(source, type):
        return False
    if _is_lazy(source):
        return True
    speaks_arrow = any(hasattr(source, name) for name in _INTERFACES)
    tabular = any(hasattr(source, name) for name in ("columns", "column_names", "schema"))
    return speaks_arrow and tabular


class FrameTable:
    """One data frame with the interface of a table file.

    Rows need not be sorted: they are sorted by the column of times when they are read, unless
    that column is a ``t`` of text, whose order only the user knows.

    >>> frame = FrameTable(pa.table({"u": [1, 2], "v": [2, 3], "t": [1, 0]}))
    >>> frame.names, frame.type_of(2)
    (['u', 'v', 't'], DataType(int64))
    """

    typed = True

    def __init__(self, frame: Any) -> None:
        self.name = f"the {type(frame).__name__}"
        if _is_lazy(frame):
            frame = frame.collect()
        if _is_pandas(frame):
            frame = _with_index(frame)
            self.names = [str(name) for name in frame.columns]
            self.empty = len(frame) == 0
        else:
            frame = _as_arrow(frame, self.name)
            self.names = list(frame.column_names)
            self.empty = frame.num_rows == 0
        self._frame = frame
        self._columns: dict[int, pa.Array] = {}
        self.width = len(self.names)

    @property
    def listing(self) -> str:
        """The column names for a message."""
        return list_names(self.names)

    def type_of(self, index: int) -> pa.DataType:
        """The type of a column; of a dictionary (a categorical) the type of its values."""
        return self._column(index).type

    def batches(
        self,
        columns: Columns,
        *,
        optional: Collection[str] = (),
        bad: Callable[[str, str, str], None] | None = None,
    ) -> Iterator[Batch]:
        """Give the columns as one batch, in the order of time.

        A missing value is refused, except in the `optional` columns. With `bad`, such rows are
        reported (where, why, and no text) and left out.
        """
        arrays = {name: self._column(index) for name, (index, _) in columns.items()}
        rows = self._complete(arrays, optional, bad)
        times = next((name for name in _SORTED_BY if name in arrays), None)
        if times is not None:
            rows = rows[_order(times, arrays[times].take(pa.array(rows)))]
        if not _is_range(rows) or len(rows) < len(next(iter(arrays.values()))):
            arrays = {name: array.take(pa.array(rows)) for name, array in arrays.items()}
        yield Batch(arrays, lambda row: f"row {rows[row]}")

    def _complete(
        self,
        arrays: Mapping[str, pa.Array],
        optional: Collection[str],
        bad: Callable[[str, str, str], None] | None,
    ) -> NDArray[np.int64]:
        """Return the rows that have a value in every column that needs one."""
        missing: dict[int, str] = {}
        for name, array in arrays.items():
            if array.null_count and name not in optional:
                for row in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist():
                    missing.setdefault(row, f"no value for {name}\nRepair the row or leave it out.")
        if missing and bad is None:
            raise DataError(f"{self.name}, row {min(missing)}: {missing[min(missing)]}")
        for row, problem in sorted(missing.items()):
            assert bad is not None
            bad(f"row {row}", problem, "")
        return np.delete(np.arange(len(next(iter(arrays.values())))), list(missing))

    def _column(self, index: int) -> pa.Array:
        """Convert a column when it is first used; others may hold anything."""
        if index not in self._columns:
            self._columns[index] = _plain(self._converted(index))
        return self._columns[index]

    def _converted(self, index: int) -> pa.Array:
        if isinstance(self._frame, pa.Table):
            return self._frame.column(index)
        try:
            return pa.array(self._frame.iloc[:, index], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # Arrow quotes the cell it can't convert; that text must not be shown.
            raise DataError(
                f"{self.name}: the column {self.names[index]!r} mixes types\n"
                "Use integers throughout or strings throughout."
            ) from None


def _is_lazy(frame: object) -> bool:
    """Whether a frame is a query that has not run, such as a polars `LazyFrame`."""
    return hasattr(frame, "collect_schema") and not hasattr(frame, "__arrow_c_stream__")


def _is_pandas(frame: object) -> bool:
    return hasattr(frame, "iloc") and hasattr(frame, "reset_index")


def _with_index(frame: Any) -> Any:
    """Turn a named index, such as one of times, into a column."""
    named = [name for name in frame.index.names if name is not None]
    if not named or any(name in frame.columns for name in named):
        return frame
    return frame.reset_index()


def _as_arrow(frame: Any, name: str) -> pa.Table:
    try:
        if isinstance(frame, pa.RecordBatch):
            return pa.Table.from_batches([frame])
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
        from pyarrow.interchange import from_dataframe

        return from_dataframe(frame)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError, RuntimeError):
        raise DataError(
            f"{name} can't be converted to an Arrow table\n"
            "Give a pandas or polars frame, or a pyarrow table."
        ) from None


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one array of plain values; every kind of text becomes large strings."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # no chunk, or more than one array can hold
            column = pa.concat_arrays(column.chunks) if column.num_chunks else _none(column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_string()) if is_text(column.type) else column


def _none(type_: pa.DataType) -> pa.Array:
    return pa.array([], type=type_)


def _order(name: str, times: pa.Array) -> NDArray[Any]:
    """Return the order of the rows by time; rows of one time stay as they are."""
    if name == "t" and is_text(times.type):
        return np.arange(len(times))
    try:
        return as_numpy(pc.sort_indices(times))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return np.arange(len(times))  # not a type of times; the reader says so


def _is_range(rows: NDArray[np.int64]) -> bool:
    return bool((np.diff(rows) == 1).all())
