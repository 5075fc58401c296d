"""Gathering the edges of one snapshot, batch by batch: in memory, or in a store on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from psgraph._runtime.arrays import Positions
from psgraph.graph import Roster, Snapshot
from psgraph.graph.formats.tables import column_positions

__all__ = ["EdgeWriter", "Gathering", "InMemory", "InStore", "SnapshotStore"]

#: Rows whose ids are looked up together: a look-up may have to go over the whole roster.
LOOKED_UP = 1 << 20


Prepare = Callable[[pa.ChunkedArray, pa.ChunkedArray], tuple[pa.ChunkedArray, pa.ChunkedArray]]


class Gathering(Protocol):
    """Takes the rows of one snapshot, and makes the snapshot of them."""

    def add(self, heads: pa.Array, tails: pa.Array) -> None:
        """Add rows."""
        ...

    def snapshot(self) -> Snapshot:
        """Build the snapshot of all rows added."""
        ...


class EdgeWriter(Protocol):
    """Takes the edges of one snapshot as positions, and makes the snapshot of them."""

    def add(self, a: Positions, b: Positions) -> None: ...

    def finish(self) -> Snapshot: ...


class SnapshotStore(Protocol):
    """Where readers write edges to: `psgraph.stores.StoreWriter`, or `Overflow`."""

    def begin(self, roster: Roster, *, time: str | None) -> EdgeWriter:
        """Begin the next snapshot."""
        ...


class InMemory:
    """Keeps all rows until the snapshot is built."""

    def __init__(
        self,
        types: tuple[pa.DataType, pa.DataType],
        build: Callable[[pa.ChunkedArray, pa.ChunkedArray], Snapshot],
    ) -> None:
        self._types, self._build = types, build
        self._heads: list[pa.Array] = []
        self._tails: list[pa.Array] = []

    def add(self, heads: pa.Array, tails: pa.Array) -> None:
        self._heads.append(heads)
        self._tails.append(tails)

    def snapshot(self) -> Snapshot:
        return self._build(
            pa.chunked_array(self._heads, self._types[0]),
            pa.chunked_array(self._tails, self._types[1]),
        )


class InStore:
    """Writes rows to a store as they come; memory does not grow with the snapshot.

    Parameters
    ----------
    prepare
        Brings two columns of ids to the type of the roster, and leaves out unknown ones that the
        curator wants listed.
    """

    def __init__(
        self, store: SnapshotStore, roster: Roster, *, time: str | None, prepare: Prepare
    ) -> None:
        self._roster, self._prepare = roster, prepare
        self._writer = store.begin(roster, time=time)
        self._heads: list[pa.Array] = []
        self._tails: list[pa.Array] = []
        self._rows = 0

    def add(self, heads: pa.Array, tails: pa.Array) -> None:
        self._heads.append(heads)
        self._tails.append(tails)
        self._rows += len(heads)
        if self._rows >= LOOKED_UP:
            self._look_up()

    def snapshot(self) -> Snapshot:
        if self._rows:
            self._look_up()
        return self._writer.finish()

    def _look_up(self) -> None:
        columns = self._prepare(pa.chunked_array(self._heads), pa.chunked_array(self._tails))
        self._heads, self._tails, self._rows = [], [], 0
        self._writer.add(*column_positions(*columns, self._roster))
