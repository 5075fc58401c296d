"""Writing a store: snapshot after snapshot, out of core, whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from psgraph._runtime.arrays import Positions
from psgraph._runtime.folder import new_folder
from psgraph._runtime.scratch import check_space
from psgraph.errors import InvalidArgument
from psgraph.graph import Dropped, Roster, Snapshot
from psgraph.graph.formats.node_lists import nodes_bytes
from psgraph.graph.parts import PART_NODES
from psgraph.stores.external_sort import RUN_KEYS, ExternalSort
from psgraph.stores.manifest import MANIFEST, Manifest, PartFile, StoredEntry
from psgraph.stores.parts import EDGES, LOWER, StoredParts, write_part

__all__ = ["SnapshotWriter", "StoreWriter", "new_store"]


@contextmanager
def new_store(
    path: Path, *, part_nodes: int = PART_NODES, run_keys: int = RUN_KEYS
) -> Iterator[StoreWriter]:
    """Write a store; the directory appears when the block is done, and not if it fails.

    Parameters
    ----------
    part_nodes
        Node positions in a part: public, and the same for all snapshots. Fewer need less memory.
    run_keys
        Edges that are sorted in memory at once.
    """
    if part_nodes < 1:
        raise InvalidArgument(f"a part has at least 1 node, not {part_nodes}")
    with new_folder(path, mode=0o700) as directory:
        writer = StoreWriter(directory, part_nodes=part_nodes, run_keys=run_keys)
        yield writer
        writer.write_manifest()


class StoreWriter:
    """Writes the files of a store; see `new_store`.

    Attributes
    ----------
    times, held_back
        What the manifest says about the stream; set them before the block ends.
    entries
        The snapshots that are written.
    """

    def __init__(self, directory: Path, *, part_nodes: int, run_keys: int) -> None:
        self.directory, self.part_nodes, self.run_keys = directory, part_nodes, run_keys
        self.times: str | None = None
        self.held_back: str | None = None
        self.entries: list[StoredEntry] = []
        self._nodes: dict[str, str] = {}
        (directory / "nodes").mkdir()

    def __len__(self) -> int:
        return len(self.entries)

    def begin(self, roster: Roster, *, time: str | None) -> SnapshotWriter:
        """Begin the next snapshot."""
        return SnapshotWriter(self, roster, time=time)

    def add(self, snapshot: Snapshot) -> None:
        """Write a snapshot that is in memory."""
        writer = self.begin(snapshot.roster, time=snapshot.time)
        writer.add(snapshot.u, snapshot.v)
        writer.finish(dropped=snapshot.dropped)

    def record(self, entry: StoredEntry) -> None:
        """Record a snapshot whose files are written."""
        self.entries.append(entry)

    def write_nodes(self, roster: Roster) -> str:
        """Write a node list, unless it is there; returns the SHA-256 of its file."""
        if roster.digest not in self._nodes:
            content = nodes_bytes(roster)
            sha256 = hashlib.sha256(content).hexdigest()
            (self.directory / "nodes" / f"{sha256}.parquet").write_bytes(content)
            self._nodes[roster.digest] = sha256
        return self._nodes[roster.digest]

    def manifest(self) -> Manifest:
        """Return what the store holds so far."""
        return Manifest(self.part_nodes, self.times, self.held_back, tuple(self.entries))

    def write_manifest(self) -> None:
        """Write the manifest, with which the store is complete."""
        (self.directory / MANIFEST).write_text(self.manifest().to_json(), encoding="utf-8")


class SnapshotWriter:
    """Gathers the edges of one snapshot, in any order, and writes them as parts."""

    def __init__(self, store: StoreWriter, roster: Roster, *, time: str | None) -> None:
        self._store, self._roster, self._time = store, roster, time
        self._directory = store.directory / f"{len(store):06d}"
        self._directory.mkdir(mode=0o700)
        self._edges = self._sorter("edges")
        self._rows = self._loops = 0

    def _sorter(self, name: str) -> ExternalSort:
        return ExternalSort(
            self._directory / f"{name}-runs",
            nodes=len(self._roster),
            part_nodes=self._store.part_nodes,
            run_keys=self._store.run_keys,
        )

    def add(self, a: Positions, b: Positions) -> None:
        """Add edges as positions of their ends, in any direction; loops are dropped."""
        self._roster.refuse_outside(a, b, time=self._time)
        apart = a != b
        loops = int(a.size - np.count_nonzero(apart))
        if loops:
            a, b = a[apart], b[apart]
        self._loops += loops
        self._rows += a.size
        self._edges.add(np.minimum(a, b).astype(np.int64) << 32 | np.maximum(a, b))

    def finish(self, *, dropped: Dropped | None = None) -> Snapshot:
        """Write the parts; returns the snapshot as it is stored."""
        nodes, part_nodes = len(self._roster), self._store.part_nodes
        several = nodes > part_nodes
        lower = self._sorter("lower")
        edge_files: list[PartFile] = []
        for number, keys in enumerate(self._edges.parts()):
            check_space(self._directory, keys.nbytes)
            path = self._directory / f"edges-{number:05d}.parquet"
            edge_files.append(write_part(path, EDGES, keys))
            if several:
                lower.add((keys & 0xFFFFFFFF) << 32 | keys >> 32)
        lower_files = [
            write_part(self._directory / f"lower-{number:05d}.parquet", LOWER, keys)
            for number, keys in enumerate(lower.parts() if several else ())
        ]
        for runs in self._directory.glob("*-runs"):
            shutil.rmtree(runs)
        found = Dropped(self._loops, self._rows - sum(file.rows for file in edge_files))
        found = found if dropped is None else found + dropped
        parts = StoredParts(
            self._store.directory, nodes, part_nodes, tuple(edge_files), tuple(lower_files)
        )
        self._store.record(
            StoredEntry(
                time=self._time,
                roster=self._roster.digest,
                nodes_sha256=self._store.write_nodes(self._roster),
                nodes=nodes,
                edges=parts.edge_files,
                lower=parts.lower_files,
                self_loops=found.self_loops,
                duplicates=found.duplicates,
            )
        )
        return Snapshot.from_parts(self._roster, parts, time=self._time, dropped=found)
