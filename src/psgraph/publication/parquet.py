"""The published files: graphs and node lists as Parquet, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from psgraph.errors import DataError, OutsideRoster
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.declarations import DECLARATIONS
from psgraph.graph.formats.arrays import as_numpy
from psgraph.graph.formats.tables import to_arrow

__all__ = ["edge_table", "graph_bytes", "nodes_bytes", "read_graph", "read_nodes"]

_DECLARED = b"declared"


def graph_bytes(graph: SyntheticGraph) -> memoryview:
    """Encode a synthetic graph: columns ``u`` and ``v`` of original ids."""
    return _encode(to_arrow(graph))


def nodes_bytes(roster: Roster) -> memoryview:
    """Encode a roster: a column ``id``, ascending, and in the metadata how it was declared."""
    table = pa.table({"id": roster.arrow_ids})
    return _encode(table.replace_schema_metadata({_DECLARED: roster.declared.encode()}))


def _encode(table: Any) -> memoryview:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=False)
    return memoryview(sink.getvalue())


def edge_table(content: bytes, path: Path) -> Any:
    """Decode the columns ``u`` and ``v`` of a graph. `path` is for messages."""
    table = _decode(content, path)
    if not {"u", "v"} <= set(table.column_names):
        raise DataError(f"{path} has no columns u and v\nA release lists its edges in them.")
    return table.select(["u", "v"])


def read_graph(
    content: bytes, path: Path, *, roster: Roster, time: str | None = None
) -> SyntheticGraph:
    """Decode a graph over its roster."""
    table = edge_table(content, path)
    try:
        heads, tails = (as_numpy(table.column(name)) for name in "uv")
        return SyntheticGraph.from_ids(heads, tails, roster=roster, time=time)
    except OutsideRoster:
        raise DataError(
            f"{path} has an edge outside the roster\n"
            "Give the roster of the stream that the releases were made from."
        ) from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def read_nodes(content: bytes, path: Path) -> Roster:
    """Decode a node list."""
    table = _decode(content, path)
    declared = (table.schema.metadata or {}).get(_DECLARED, b"").decode(errors="replace")
    if table.column_names != ["id"]:
        raise DataError(f"{path} is not a node list: it needs one column, id")
    for known in DECLARATIONS:
        if declared == known:
            return Roster(as_numpy(table.column("id")), declared=known)
    raise DataError(f"{path} does not say how its nodes were declared")


def _decode(content: bytes, path: Path) -> Any:
    try:
        return pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} can't be read as Parquet ({type(error).__name__})") from None
