"""Node lists as Parquet files: a column ``id``, ascending, and how the nodes were declared."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from psgraph.errors import DataError
from psgraph.graph.formats.arrays import as_numpy
from psgraph.graph.roster import DECLARATIONS, Roster

__all__ = ["decode_table", "encode_table", "nodes_bytes", "read_nodes"]

_DECLARED = b"declared"


def nodes_bytes(roster: Roster) -> memoryview:
    """Encode a roster: a column ``id``, ascending, and in the metadata how it was declared."""
    table = pa.table({"id": roster.arrow_ids})
    return encode_table(table.replace_schema_metadata({_DECLARED: roster.declared.encode()}))


def read_nodes(content: bytes, path: object) -> Roster:
    """Decode a node list."""
    table = decode_table(content, path)
    declared = (table.schema.metadata or {}).get(_DECLARED, b"").decode(errors="replace")
    if table.column_names != ["id"]:
        raise DataError(f"{path} is not a node list: it needs one column, id")
    for known in DECLARATIONS:
        if declared == known:
            return Roster(as_numpy(table.column("id")), declared=known)
    raise DataError(f"{path} does not say how its nodes were declared")


def encode_table(table: Any) -> memoryview:
    """Encode a table in the form that all published and stored files have."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=False)
    return memoryview(sink.getvalue())


def decode_table(content: bytes | memoryview, path: object) -> Any:
    """Decode a Parquet file; what Arrow says about its content is not passed on.

    Without Arrow's threads and without `read_table`, which has some of its own: a thread that lets
    go of `content` last, while Python is shutting down, aborts the process.
    """
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            return file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} can't be read as Parquet ({type(error).__name__})") from None
