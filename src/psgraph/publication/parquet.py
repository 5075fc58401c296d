"""The graphs of releases as Parquet, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from psgraph.errors import DataError, OutsideRoster
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.formats.arrays import as_numpy
from psgraph.graph.formats.node_lists import decode_table, encode_table
from psgraph.graph.formats.tables import to_arrow

__all__ = ["edge_table", "graph_bytes", "read_graph"]


def graph_bytes(graph: SyntheticGraph) -> memoryview:
    """Encode a synthetic graph: columns ``u`` and ``v`` of original ids."""
    return encode_table(to_arrow(graph))


def edge_table(content: bytes, path: Path) -> Any:
    """Decode the columns ``u`` and ``v`` of a graph. `path` is for messages."""
    table = decode_table(content, path)
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
