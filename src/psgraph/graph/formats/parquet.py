"""Parquet files: tables read batch by batch, and the node lists and edges of releases.

Edges are columns ``u`` and ``v`` of original ids, and ``weight`` if they have weights. Kind and
largest weight are in the metadata of the file; a file without them holds an undirected graph, of
edges without weights. A node list is a column ``id``; that of a two-sided graph has a column
``side`` as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from psgraph._runtime.arrays import Integers
from psgraph.errors import DataError, RosterError
from psgraph.graph.blueprint import SIDES
from psgraph.graph.formats.columns import (
    Batch,
    Columns,
    Report,
    as_numpy,
    list_names,
    missing_value,
)
from psgraph.graph.formats.tables import column_positions, edge_columns
from psgraph.graph.kind import UNDIRECTED, Kind, find_kind
from psgraph.graph.labels import stored_labels
from psgraph.graph.parts import Pairs
from psgraph.graph.roster import DECLARATIONS, Declared, Roster
from psgraph.graph.two_sided import TwoSidedRoster

__all__ = [
    "ParquetFile",
    "decode_table",
    "edge_bytes",
    "edge_table",
    "encode_part",
    "encode_table",
    "kind_of_table",
    "nodes_bytes",
    "read_nodes",
    "read_pairs",
]

BATCH_ROWS = 1 << 18
_DECLARED, _KIND, _WEIGHTS = b"declared", b"kind", b"weights"  # in the metadata of released files
_FLOWS = b"flows"  # instead of a largest weight


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


# ---- node lists and edges of releases ----


def nodes_bytes(roster: Roster) -> memoryview:
    """Encode a roster: a column ``id``, ascending, and in the metadata how it was declared.

    The node list of a two-sided roster has the left side first and a column ``side``. Its ids are
    text if they are on either side; the metadata says on which side they are integers. Labels are
    columns of text beside the ids.
    """
    if isinstance(roster, TwoSidedRoster):
        text = any(side.strings for side in roster.sides)
        ids = [
            side.arrow_ids.cast(pa.large_string()) if text else side.arrow_ids
            for side in roster.sides
        ]
        sides = np.repeat(np.array(SIDES, dtype=object), roster.sizes)
        table = pa.table({"id": pa.concat_arrays(ids), "side": pa.array(sides, pa.string())})
        integers = {
            name.encode(): b"integers" if not side.strings else b"text"
            for name, side in zip(SIDES, roster.sides, strict=True)
        }
        return encode_table(
            table.replace_schema_metadata({_DECLARED: roster.declared.encode(), **integers})
        )
    columns = {} if roster.labels is None else roster.labels.arrow_columns()
    table = pa.table({"id": roster.arrow_ids, **columns})
    return encode_table(table.replace_schema_metadata({_DECLARED: roster.declared.encode()}))


def read_nodes(content: bytes, path: object) -> Roster:
    """Decode a node list."""
    table = decode_table(content, path)
    declared = (table.schema.metadata or {}).get(_DECLARED, b"").decode(errors="replace")
    metadata = table.schema.metadata or {}
    if table.column_names[:1] != ["id"]:
        raise DataError(f"{path} is not a node list: its first column has to be id")
    two_sided = all(side.encode() in metadata for side in SIDES)
    if two_sided and table.column_names != ["id", "side"]:
        raise DataError(f"{path} is not the node list of two sides: it needs columns id and side")
    labels = None
    if table.num_columns > 1 and not two_sided:
        labels = stored_labels(table.drop_columns("id"))
    for known in DECLARATIONS:
        if declared == known:
            if two_sided:
                return TwoSidedRoster(*_side_rosters(table, known, path))
            return Roster(as_numpy(table.column("id")), declared=known, labels=labels)
    raise DataError(f"{path} does not say how its nodes were declared")


def _side_rosters(table: Any, declared: Declared, path: object) -> Iterator[Roster]:
    metadata = table.schema.metadata or {}
    for side in SIDES:
        ids = table.filter(pc.equal(table.column("side"), side)).column("id")
        try:
            if metadata.get(side.encode()) == b"integers":
                ids = ids.cast(pa.int64())
        except pa.ArrowException:
            raise DataError(f"{path} has an id on the {side} that is no integer") from None
        yield Roster(as_numpy(ids), declared=declared)


def encode_table(table: Any) -> memoryview:
    """Encode a table in the form that all published and stored files have."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=False)
    return memoryview(sink.getvalue())


def decode_table(content: bytes | memoryview, path: object) -> Any:
    """Decode a Parquet file; what Arrow says about its content is not passed on.

    Without Arrow's threads and without `read_table`, which has its own: a thread that releases
    `content` last, while Python is shutting down, aborts the process.
    """
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            return file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} can't be read as Parquet ({type(error).__name__})") from None


def edge_bytes(roster: Roster, pairs: Pairs, kind: Kind = UNDIRECTED) -> memoryview:
    """Encode edges. The same edges give the same bytes.

    >>> import numpy as np
    >>> pairs = Pairs(np.array([0]), np.array([2]))
    >>> edge_table(edge_bytes(Roster("abc"), pairs), Path("a.parquet")).to_pylist()
    [{'u': 'a', 'v': 'c'}]
    """
    table = edge_columns(roster, pairs)
    if kind != UNDIRECTED:
        stated: dict[Any, Any] = {_KIND: kind.name}
        if kind.weighted:
            stated[_WEIGHTS] = _FLOWS if kind.flows else str(kind.largest_weight)
        table = table.replace_schema_metadata(stated)
    return encode_table(table)


def encode_part(read: Callable[[], Pairs], roster: Roster, kind: Kind = UNDIRECTED) -> memoryview:
    """Read a part and encode it; what engines run for every part of a released graph."""
    return edge_bytes(roster, read(), kind)


def edge_table(content: bytes | memoryview, path: Path) -> Any:
    """Decode the columns ``u``, ``v``, and ``weight`` if there is one. `path` is for messages.

    Raises
    ------
    UnknownKind
        If the graph is of a kind that this version can't read.
    """
    table = decode_table(content, path)
    columns = ["u", "v", "weight"] if kind_of_table(table).weighted else ["u", "v"]
    if not set(columns) <= set(table.column_names):
        raise DataError(
            f"{path} has no columns {list_names(columns)}\nA release lists its edges in them."
        )
    return table.select(columns)


def read_pairs(
    content: bytes | memoryview, path: Path, roster: Roster, expected: Kind = UNDIRECTED
) -> Pairs:
    """Decode edges that were written in ascending order, as a part of a release is.

    Raises
    ------
    DataError
        If an edge is outside the roster, a weight outside its bounds, or the edges are not in
        normal form.
    """
    table = edge_table(content, path)
    kind = kind_of_table(table)
    if kind != expected:
        raise DataError(f"{path} is a graph that is {kind}, not {expected}")
    try:
        u, v = column_positions(table.column("u"), table.column("v"), roster)
    except RosterError:
        raise _outside(path) from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    if u.size and min(int(u.min()), int(v.min())) < 0:
        raise _outside(path)
    if not kind.is_normal(u, v):
        raise DataError(f"{path} lists its edges in a different order than a release does")
    return Pairs(u, v, _weights(table, kind, path))


def _weights(table: Any, kind: Kind, path: Path) -> Integers | None:
    if not kind.weighted:
        return None
    assert kind.largest_weight is not None
    column = table.column("weight")
    weights = np.zeros(1) if column.null_count else as_numpy(column)
    integers = weights.dtype.kind == "i"
    if weights.size and not (
        integers and 1 <= weights.min() <= weights.max() <= kind.largest_weight
    ):
        raise DataError(f"{path} has a weight that is no integer from 1 to {kind.largest_weight:,}")
    return weights.astype(np.int64, copy=False)


def kind_of_table(table: Any) -> Kind:
    """Return the kind that the metadata of a released table states.

    Raises
    ------
    UnknownKind
        If this version does not know it.
    """
    metadata = table.schema.metadata or {}
    name = metadata.get(_KIND, UNDIRECTED.name.encode()).decode(errors="replace")
    weights = metadata.get(_WEIGHTS)
    if weights is None or weights == _FLOWS:
        return find_kind(name, flows=weights == _FLOWS)
    return find_kind(name, int(weights) if weights.isdigit() and len(weights) < 11 else 0)


def _outside(path: Path) -> DataError:
    return DataError(
        f"{path} has an edge outside the roster\n"
        "Give the roster of the stream that the releases were made from."
    )
