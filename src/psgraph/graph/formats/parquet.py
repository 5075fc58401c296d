"""Parquet files, read batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from psgraph.errors import DataError
from psgraph.graph.formats.arrays import as_numpy
from psgraph.graph.formats.columns import Batch, Columns, Report, list_names, missing_value

__all__ = ["ParquetFile"]

BATCH_ROWS = 1 << 18


class ParquetFile:
    """One Parquet file."""

    typed = True

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        self.path, self.name = path, name or path.name
        with self._opened() as file:
            schema = file.schema_arrow
            self.names = list(schema.names)
            self.width = len(self.names)
            self._types = list(schema.types)
            self.empty = file.metadata.num_rows == 0

    @property
    def listing(self) -> str:
        """The column names for a message."""
        return list_names(self.names)

    def type_of(self, index: int) -> pa.DataType:
        """The type of a column in the schema; of a dictionary the type of its values."""
        type_ = self._types[index]
        return type_.value_type if pa.types.is_dictionary(type_) else type_

    def batches(
        self, columns: Columns, *, optional: Collection[str] = (), bad: Report | None = None
    ) -> Iterator[Batch]:
        """Read columns from the first row on, in the types they have in the file.

        A missing value is refused, except in the `optional` columns. With `bad`, such rows are
        reported and left out.
        """
        names = {name: self.names[index] for name, (index, _) in columns.items()}
        row = 1
        with self._opened() as file:
            for batch in _record_batches(file, list(names.values())):
                arrays = {name: _decoded(batch[column]) for name, column in names.items()}
                found = Batch(arrays, partial(_row_text, row))
                problems: dict[int, str] = {}
                for name, array in arrays.items():
                    if array.null_count and name not in optional:
                        for index in np.flatnonzero(as_numpy(array.is_null())).tolist():
                            problems.setdefault(index, missing_value(name))
                if problems and bad is None:
                    first = min(problems)
                    raise DataError(f"{self.name}, {found.locate(first)}: {problems[first]}")
                if problems:
                    assert bad is not None
                    for index, reason in sorted(problems.items()):
                        bad(found.locate(index), reason, "")
                    found = found.without(problems)
                yield found
                row += len(batch)
            if row - 1 != file.metadata.num_rows:  # in all or by row group: one of them is wrong
                raise ValueError

    def extremes(self, index: int) -> list[tuple[Any, Any] | None]:
        """Smallest and largest value of a flat column per row group, where they are recorded."""
        with self._opened() as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            leaf = file.schema_arrow.names[index]
            found: list[tuple[Any, Any] | None] = []
            for group in groups:
                chunks = [group.column(i) for i in range(group.num_columns)]
                chunk = next(chunk for chunk in chunks if chunk.path_in_schema == leaf)
                known = chunk.is_stats_set and chunk.statistics.has_min_max
                found.append((chunk.statistics.min, chunk.statistics.max) if known else None)
            return found

    def group(self, number: int, index: int) -> pa.Array:
        """One column of one row group."""
        with self._opened() as file:
            column = file.read_row_group(number, columns=[self.names[index]])[0]
            return _decoded(column.combine_chunks())

    @contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        """Open the file; what Arrow says about its content is not passed on."""
        try:
            with pq.ParquetFile(self.path) as file:
                yield file
        except DataError:
            raise
        except PermissionError:
            raise DataError(f"{self.name} can't be opened: no permission") from None
        except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError):
            raise DataError(
                f"{self.name}: the Parquet data is damaged or cut off\nCopy the file again."
            ) from None


def _record_batches(file: pq.ParquetFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Read row group by row group: reading all at once, Arrow keeps each in memory."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns)


def _decoded(array: pa.Array) -> pa.Array:
    """Plain values; text is checked here, since Arrow takes any bytes for it when it reads."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array.validate(full=True)
    return array


def _row_text(first: int, row: int) -> str:
    return f"row {first + row}"
