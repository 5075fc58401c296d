"""Where the rows of snapshots go while input is read: memory, a store, or scratch files.

Input of any size is read once. The first rows stay in memory; the others are sorted into parts on
disk, as `psgraph prepare` does it. Only the place of the bytes differs: the snapshots are equal,
and so are the releases made of them. proofs/public-facts.md.
"""

from __future__ import annotations

import shutil
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.resources import scratch_directory, writing_scratch
from psgraph.graph import UNDIRECTED, Dropped, Kind, Roster, Snapshot
from psgraph.graph.bound import Bound
from psgraph.graph.formats.columns import as_numpy
from psgraph.graph.formats.tables import column_positions
from psgraph.graph.graphs import checked_weights
from psgraph.graph.parts import PART_NODES, MemoryParts
from psgraph.stores import SnapshotWriter, Store, StoreWriter
from psgraph.stores.part_files import StoredParts
from psgraph.stores.store import StoredEntry
from psgraph.stores.writer import RUN_KEYS

__all__ = [
    "LOOKED_UP",
    "MOST_HELD",
    "EdgeWriter",
    "Gathered",
    "Gathering",
    "Held",
    "InMemory",
    "InStore",
    "Overflow",
    "Rows",
    "SnapshotStore",
]

#: Rows, and nodes of different rosters, up to which snapshots are kept in memory. A snapshot
#: of this size takes about 0.5 GB while it is built.
MOST_HELD = 1 << 23

#: Rows whose ids are looked up together: a look-up may have to go over the whole roster.
LOOKED_UP = 1 << 20


class Rows(NamedTuple):
    """Rows of a table: two columns of ids, those of weights and of owners if there are any."""

    heads: pa.ChunkedArray
    tails: pa.ChunkedArray
    weight: pa.ChunkedArray | None = None
    owner: pa.ChunkedArray | None = None


Prepare = Callable[[Rows], Rows]


class Gathering(Protocol):
    """Takes the rows of one snapshot, and makes the snapshot of them."""

    def add(
        self,
        heads: pa.Array,
        tails: pa.Array,
        weight: pa.Array | None = None,
        owner: pa.Array | None = None,
    ) -> None:
        """Add rows."""
        ...

    def snapshot(self) -> Snapshot:
        """Build the snapshot of all rows added."""
        ...


class EdgeWriter(Protocol):
    """Takes the edges of one snapshot as positions, and makes the snapshot of them."""

    def add(self, a: Positions, b: Positions, weight: Integers | None = None) -> None: ...

    def finish(
        self,
        *,
        dropped: Dropped | None = None,
        owner_sizes: Integers | None = None,
        bound: Bound | None = None,
    ) -> Snapshot: ...


class SnapshotStore(Protocol):
    """Where readers write edges to: `psgraph.stores.StoreWriter`, or `Overflow`.

    Attributes
    ----------
    kind
        The kind of all snapshots; readers set it before the first.
    """

    kind: Kind

    def begin(self, roster: Roster, *, time: str | None) -> EdgeWriter:
        """Start the next snapshot."""
        ...


class Gathered:
    """Rows that were added so far."""

    def __init__(self) -> None:
        self._heads: list[pa.Array] = []
        self._tails: list[pa.Array] = []
        self._weights: list[pa.Array] = []
        self._owner_columns: list[pa.Array] = []

    def add(
        self,
        heads: pa.Array,
        tails: pa.Array,
        weight: pa.Array | None = None,
        owner: pa.Array | None = None,
    ) -> None:
        """Add rows."""
        self._heads.append(heads)
        self._tails.append(tails)
        for column, gathered in ((weight, self._weights), (owner, self._owner_columns)):
            if column is not None:
                gathered.append(column)

    def rows(self, types: tuple[pa.DataType | None, pa.DataType | None] = (None, None)) -> Rows:
        """Return all rows."""
        further = (
            pa.chunked_array(each) if each else None
            for each in (self._weights, self._owner_columns)
        )
        return Rows(
            pa.chunked_array(self._heads, types[0]),
            pa.chunked_array(self._tails, types[1]),
            *further,
        )

    def take(self, types: tuple[pa.DataType | None, pa.DataType | None]) -> Rows:
        """Return all rows, and start again without any."""
        rows = self.rows(types)
        for gathered in (self._heads, self._tails, self._weights, self._owner_columns):
            gathered.clear()
        return rows


class InMemory(Gathered):
    """Keeps all rows until the snapshot is built."""

    def __init__(
        self, types: tuple[pa.DataType, pa.DataType], build: Callable[[Rows], Snapshot]
    ) -> None:
        super().__init__()
        self._types, self._build = types, build

    def snapshot(self) -> Snapshot:
        return self._build(self.rows(self._types))


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
        self._gathered, self._size = Gathered(), 0

    def add(
        self,
        heads: pa.Array,
        tails: pa.Array,
        weight: pa.Array | None = None,
        owner: pa.Array | None = None,
    ) -> None:
        self._gathered.add(heads, tails, weight, owner)
        self._size += len(heads)
        if self._size >= LOOKED_UP:
            self._look_up()

    def snapshot(self) -> Snapshot:
        if self._size:
            self._look_up()
        return self._writer.finish()

    def _look_up(self) -> None:
        heads, tails, weight, _ = self._prepare(self._gathered.rows())
        self._gathered, self._size = Gathered(), 0
        ends = column_positions(heads, tails, self._roster)
        if weight is None:
            self._writer.add(*ends)
        else:
            self._writer.add(*ends, checked_weights(as_numpy(weight), len(heads)))


class Overflow:
    """Takes the rows of snapshots while they are read, first in memory, then on disk.

    Readers write to it as they write to a `StoreWriter`. The scratch directory is made when it is
    needed, and removed when the block ends, also after an error.

    Parameters
    ----------
    most
        Rows and nodes that are kept in memory; `MOST_HELD` unless given.
    run_keys
        Edges that are sorted in memory at once.

    Examples
    --------
    >>> with Overflow(most=2) as overflow:
    ...     writer = overflow.begin(Roster.range(9), time="monday")
    ...     writer.add(np.array([0, 5, 7]), np.array([4, 4, 8]))
    ...     writer.finish().to_edges()
    [(0, 4), (4, 5), (7, 8)]
    """

    def __init__(self, *, most: int | None = None, run_keys: int = RUN_KEYS) -> None:
        self.kind = UNDIRECTED
        self._most = MOST_HELD if most is None else most
        self._run_keys = run_keys
        self._size = 0
        self._rosters: set[str] = set()
        self._scratch = ExitStack()
        self._disk: StoreWriter | None = None
        self.reads_ahead = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.close()

    def begin(self, roster: Roster, *, time: str | None) -> OverflowWriter:
        """Start the next snapshot. Its files are removed when it is no longer in use."""
        return OverflowWriter(self, roster, time=time)

    def read(self, stream: Iterable[Snapshot]) -> Held:
        """Read all of a stream whose readers write to this object, and keep its snapshots."""
        self.reads_ahead = True
        held: list[Snapshot | StoredEntry] = []
        for snapshot in stream:
            held.append(self._kept(snapshot))
            del snapshot
        return Held(held, self._disk)

    def _kept(self, snapshot: Snapshot) -> Snapshot | StoredEntry:
        if isinstance(snapshot.parts, MemoryParts):
            roster = snapshot.roster
            new = 0 if roster.digest in self._rosters else len(roster)
            size = snapshot.parts.edge_count + new + 1
            if self.fits(size):
                self._size += size
                self._rosters.add(roster.digest)
                return snapshot
            with writing_scratch():
                self.disk.add(snapshot)
        return self.disk.entries[-1]

    def fits(self, size: int) -> bool:
        """Whether `size` more rows and nodes can be kept in memory."""
        return self._size + size <= self._most

    @property
    def disk(self) -> StoreWriter:
        """The store in the scratch directory, created when it is first used."""
        if self._disk is None:
            directory = self._scratch.enter_context(scratch_directory())
            self._disk = StoreWriter(
                directory, part_nodes=PART_NODES, run_keys=self._run_keys, kind=self.kind
            )
        return self._disk


class OverflowWriter:
    """Gathers the edges of one snapshot: in memory while they fit, otherwise on disk."""

    def __init__(self, overflow: Overflow, roster: Roster, *, time: str | None) -> None:
        self._overflow, self._roster, self._time = overflow, roster, time
        self._gathered: list[tuple[Positions, Positions, Integers | None]] = []
        self._rows = 0
        self._disk: SnapshotWriter | None = None

    def add(self, a: Positions, b: Positions, weight: Integers | None = None) -> None:
        """Add edges as positions of their ends."""
        self._roster.refuse_outside(a, b, time=self._time)
        self._rows += a.size
        self._gathered.append((a, b, weight))
        if self._disk is None and self._overflow.fits(self._rows):
            return
        with writing_scratch():
            if self._disk is None:
                self._disk = self._overflow.disk.begin(self._roster, time=self._time)
            for ends in self._gathered:
                self._disk.add(*ends)
        self._gathered = []

    def finish(
        self,
        *,
        dropped: Dropped | None = None,
        owner_sizes: Integers | None = None,
        bound: Bound | None = None,
    ) -> Snapshot:
        """Return the snapshot of all edges added."""
        if self._disk is None:
            nothing = np.empty(0, dtype=np.int32)
            u, v = (
                np.concatenate([nothing, *(row[end] for row in self._gathered)]) for end in (0, 1)
            )
            weights = [row[2] for row in self._gathered if row[2] is not None]
            self._gathered = []
            return Snapshot(
                self._roster,
                u,
                v,
                time=self._time,
                kind=self._overflow.kind,
                weight=np.concatenate(weights) if weights else None,
                dropped=dropped,
                owner_sizes=owner_sizes,
                bound=bound,
            )
        with writing_scratch():
            snapshot = self._disk.finish(dropped=dropped, owner_sizes=owner_sizes, bound=bound)
        if not self._overflow.reads_ahead:
            _remove_with(snapshot, self._overflow.disk.directory)
        return snapshot


class Held:
    """Snapshots that were read, in order. They can be iterated over once: used ones are freed."""

    def __init__(self, snapshots: list[Snapshot | StoredEntry], disk: StoreWriter | None) -> None:
        self._waiting, self._length = deque(snapshots), len(snapshots)
        self._disk = disk
        self._store = None if disk is None else Store(disk.directory, disk.manifest())

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Snapshot]:
        while self._waiting:
            yield self._snapshot(self._waiting.popleft())

    def _snapshot(self, kept: Snapshot | StoredEntry) -> Snapshot:
        if isinstance(kept, Snapshot):
            return kept
        assert self._store is not None
        assert self._disk is not None
        snapshot = self._store.snapshot(kept)
        _remove_with(snapshot, self._disk.directory)
        return snapshot


def _remove_with(snapshot: Snapshot, store: Path) -> None:
    """Remove the files of a stored snapshot when it is no longer in use."""
    parts = snapshot.parts
    assert isinstance(parts, StoredParts)
    if parts.edge_files:
        directory = store / Path(parts.edge_files[0].name).parent
        weakref.finalize(parts, shutil.rmtree, directory, ignore_errors=True)
