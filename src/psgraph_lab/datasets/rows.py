"""Rows of original files: the ends of edges as written, one timestamp at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from psgraph.errors import DataError
from psgraph.graph import Snapshot
from psgraph.graph.formats.columns import Columns
from psgraph.graph.formats.files import open_table
from psgraph.graph.formats.tables import from_columns
from psgraph.graph.formats.text import TextFile

__all__ = ["Rows", "graph_rows", "open_original", "read_columns"]


@dataclass(frozen=True)
class Rows:
    """One timestamp, still with directions, duplicates and self-loops."""

    time: str
    heads: pa.ChunkedArray
    tails: pa.ChunkedArray

    def snapshot(self) -> Snapshot:
        """The undirected graph over the nodes that have an edge, as in the paper."""
        return from_columns(
            self.heads, self.tails, graph_type=Snapshot, roster_from_edges=True, time=self.time
        )

    def self_loops(self) -> list[int | str]:
        """The nodes with a self-loop."""
        loops: list[int | str] = (
            self.heads.filter(pc.equal(self.heads, self.tails)).unique().to_pylist()
        )
        return loops


def open_original(path: Path, *, columns: int) -> TextFile:
    """Open a text file whose rows have at least `columns` columns."""
    table = open_table(path)
    if not isinstance(table, TextFile) or table.empty or table.width < columns:
        raise DataError(
            f"{path.name} is not the original file: text with {columns} columns was expected\n"
            "Copy or download it again."
        )
    return table


def read_columns(table: TextFile, columns: Columns) -> dict[str, pa.ChunkedArray]:
    """Read entire columns of a text file."""
    pieces: dict[str, list[pa.Array]] = {name: [] for name in columns}
    for batch in table.batches(columns):
        for name, column in batch.columns.items():
            pieces[name].append(column)
    return {name: pa.chunked_array(pieces[name], columns[name][1]) for name in columns}


def graph_rows(files: Iterable[Path]) -> Iterator[Rows]:
    """Read SNAP edge lists, one per day: two columns of ids, possibly followed by others.

    The last eight digits of a file name are its day.
    """
    for file in files:
        table = open_original(file, columns=2)
        ends = read_columns(table, {"u": (0, pa.int64()), "v": (1, pa.int64())})
        day = file.name.removesuffix(".gz").removesuffix(".txt")[-8:]
        yield Rows(f"{day[:4]}-{day[4:6]}-{day[6:]}", ends["u"], ends["v"])
