"""Edges of released graphs as Parquet files: columns ``u`` and ``v`` of original ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Positions
from psgraph.errors import DataError, RosterError
from psgraph.graph import Roster
from psgraph.graph.formats.node_lists import decode_table, encode_table
from psgraph.graph.formats.tables import column_positions, edge_columns
from psgraph.graph.parts import Pairs

__all__ = ["edge_bytes", "edge_table", "encode_part", "read_pairs"]


def edge_bytes(roster: Roster, pairs: Pairs) -> memoryview:
    """Encode edges. The same edges give the same bytes.

    >>> pairs = Pairs(np.array([0]), np.array([2]))
    >>> edge_table(edge_bytes(Roster("abc"), pairs), Path("a.parquet")).to_pylist()
    [{'u': 'a', 'v': 'c'}]
    """
    return encode_table(edge_columns(roster, *pairs))


def encode_part(read: Callable[[], Pairs], roster: Roster) -> memoryview:
    """Read a part and encode it; what engines run for every part of a released graph."""
    return edge_bytes(roster, read())


def edge_table(content: bytes | memoryview, path: Path) -> Any:
    """Decode the columns ``u`` and ``v`` of a file. `path` is for messages."""
    table = decode_table(content, path)
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
    if not _is_ascending(u, v):
        raise DataError(f"{path} lists its edges in another order than a release does")
    return Pairs(u, v)


def _is_ascending(u: Positions, v: Positions) -> bool:
    """Whether edges are in normal form: ``u < v``, in ascending order, none twice."""
    keys = u.astype(np.int64) << 32 | v
    return bool(np.all(u < v) and np.all(keys[1:] > keys[:-1]))


def _outside(path: Path) -> DataError:
    return DataError(
        f"{path} has an edge outside the roster\n"
        "Give the roster of the stream that the releases were made from."
    )
