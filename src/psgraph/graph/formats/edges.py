"""Edges of released graphs as Parquet files: columns ``u`` and ``v`` of original ids.

The kind is in the metadata of the file; a file without it holds an undirected graph.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from psgraph.errors import DataError, RosterError
from psgraph.graph import Roster
from psgraph.graph.formats.node_lists import decode_table, encode_table
from psgraph.graph.formats.tables import column_positions, edge_columns
from psgraph.graph.kind import UNDIRECTED, Kind, find_kind
from psgraph.graph.parts import Pairs

__all__ = ["edge_bytes", "edge_table", "encode_part", "read_pairs"]

_KIND = b"kind"


def edge_bytes(roster: Roster, pairs: Pairs, kind: Kind = UNDIRECTED) -> memoryview:
    """Encode edges. The same edges give the same bytes.

    >>> import numpy as np
    >>> pairs = Pairs(np.array([0]), np.array([2]))
    >>> edge_table(edge_bytes(Roster("abc"), pairs), Path("a.parquet")).to_pylist()
    [{'u': 'a', 'v': 'c'}]
    """
    table = edge_columns(roster, *pairs)
    if kind != UNDIRECTED:
        table = table.replace_schema_metadata({_KIND: kind.name.encode()})
    return encode_table(table)


def encode_part(read: Callable[[], Pairs], roster: Roster, kind: Kind = UNDIRECTED) -> memoryview:
    """Read a part and encode it; what engines run for every part of a released graph."""
    return edge_bytes(roster, read(), kind)


def edge_table(content: bytes | memoryview, path: Path) -> Any:
    """Decode the columns ``u`` and ``v`` of a file. `path` is for messages.

    Raises
    ------
    UnknownKind
        If the graph is of a kind that this version can't read.
    """
    table = decode_table(content, path)
    _kind_of(table)
    if not {"u", "v"} <= set(table.column_names):
        raise DataError(f"{path} has no columns u and v\nA release lists its edges in them.")
    return table.select(["u", "v"])


def read_pairs(content: bytes | memoryview, path: Path, roster: Roster) -> Pairs:
    """Decode edges that were written in ascending order, as a part of a release is.

    Raises
    ------
    DataError
        If an edge is outside the roster, or the edges are not in normal form.
    """
    table = edge_table(content, path)
    try:
        u, v = column_positions(table.column("u"), table.column("v"), roster)
    except RosterError:
        raise _outside(path) from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    if u.size and min(int(u.min()), int(v.min())) < 0:
        raise _outside(path)
    if not _kind_of(table).is_normal(u, v):
        raise DataError(f"{path} lists its edges in a different order than a release does")
    return Pairs(u, v)


def _kind_of(table: Any) -> Kind:
    metadata = table.schema.metadata or {}
    return find_kind(metadata.get(_KIND, UNDIRECTED.name.encode()).decode(errors="replace"))


def _outside(path: Path) -> DataError:
    return DataError(
        f"{path} has an edge outside the roster\n"
        "Give the roster of the stream that the releases were made from."
    )
