"""Writing a store: snapshot after snapshot, out of core; it appears complete or not at all."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from psgraph._runtime.arrays import Integers, Positions, summed
from psgraph._runtime.durable import new_folder
from psgraph._runtime.kernels import sort_keys
from psgraph._runtime.resources import check_space
from psgraph.errors import InvalidArgument
from psgraph.graph import Dropped, Roster, Snapshot
from psgraph.graph.blueprint import checked_weights
from psgraph.graph.bound import Bound
from psgraph.graph.formats.parquet import nodes_bytes
from psgraph.graph.kind import UNDIRECTED, Kind, first_key, pack, unpack
from psgraph.graph.parts import PART_NODES, ranges
from psgraph.stores.part_files import EDGES, LOWER, PartFile, StoredParts, write_part
from psgraph.stores.store import MANIFEST, Manifest, StoredEntry

__all__ = ["RUN_KEYS", "ExternalSort", "SnapshotWriter", "SortedKeys", "StoreWriter", "new_store"]

RUN_KEYS = 1 << 22


@contextmanager
def new_store(
    path: Path,
    *,
    part_nodes: int = PART_NODES,
    run_keys: int = RUN_KEYS,
    kind: Kind = UNDIRECTED,
) -> Iterator[StoreWriter]:
    """Write a store; the directory appears when the block is done, and not if it fails.

    Parameters
    ----------
    part_nodes
        Node positions in a part: public, and the same for all snapshots. Fewer need less memory.
    run_keys
        Edges that are sorted in memory at once.
    kind
        The kind of all its snapshots.
    """
    if part_nodes < 1:
        raise InvalidArgument(f"a part has at least 1 node, not {part_nodes}")
    with new_folder(path, mode=0o700) as directory:
        writer = StoreWriter(directory, part_nodes=part_nodes, run_keys=run_keys, kind=kind)
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

    def __init__(
        self, directory: Path, *, part_nodes: int, run_keys: int, kind: Kind = UNDIRECTED
    ) -> None:
        self.directory, self.part_nodes, self.run_keys = directory, part_nodes, run_keys
        self.kind = kind
        self.times: str | None = None
        self.held_back: str | None = None
        self.entries: list[StoredEntry] = []
        self._nodes: dict[str, str] = {}
        (directory / "nodes").mkdir()

    def __len__(self) -> int:
        return len(self.entries)

    def begin(self, roster: Roster, *, time: str | None) -> SnapshotWriter:
        """Start the next snapshot."""
        return SnapshotWriter(self, roster, time=time)

    def add(self, snapshot: Snapshot) -> None:
        """Write a snapshot that is in memory."""
        if snapshot.kind != self.kind:
            raise InvalidArgument(
                f"the store holds graphs that are {self.kind}, and this one is {snapshot.kind}\n"
                "All snapshots of a stream are of one kind.",
                code="kind",
            )
        writer = self.begin(snapshot.roster, time=snapshot.time)
        writer.add(snapshot.u, snapshot.v, snapshot.weight)
        writer.finish(
            dropped=snapshot.dropped, owner_sizes=snapshot.owner_sizes, bound=snapshot.bound
        )

    def record(self, entry: StoredEntry) -> None:
        """Record a snapshot whose files are written."""
        self.entries.append(entry)

    def write_nodes(self, roster: Roster) -> str:
        """Write a node list unless it exists; returns the SHA-256 of its file."""
        if roster.digest not in self._nodes:
            content = nodes_bytes(roster)
            sha256 = hashlib.sha256(content).hexdigest()
            (self.directory / "nodes" / f"{sha256}.parquet").write_bytes(content)
            self._nodes[roster.digest] = sha256
        return self._nodes[roster.digest]

    def manifest(self) -> Manifest:
        """Return what the store holds so far."""
        return Manifest(self.part_nodes, self.times, self.held_back, tuple(self.entries), self.kind)

    def write_manifest(self) -> None:
        """Write the manifest, with which the store is complete."""
        (self.directory / MANIFEST).write_text(self.manifest().to_json(), encoding="utf-8")


class SnapshotWriter:
    """Gathers the edges of one snapshot, in any order, and writes them as parts."""

    def __init__(self, store: StoreWriter, roster: Roster, *, time: str | None) -> None:
        self._store, self._roster, self._time = store, roster, time
        self._directory = store.directory / f"{len(store):06d}"
        self._directory.mkdir(mode=0o700)
        self._edges = self._sorter("edges", store.kind.largest_weight)
        self._rows = self._loops = 0

    def _sorter(self, name: str, largest_weight: int | None = None) -> ExternalSort:
        return ExternalSort(
            self._directory / f"{name}-runs",
            nodes=len(self._roster),
            part_nodes=self._store.part_nodes,
            run_keys=self._store.run_keys,
            largest_weight=largest_weight,
        )

    def add(self, a: Positions, b: Positions, weight: Integers | None = None) -> None:
        """Add edges as positions of their ends, in any direction; loops are dropped.

        Edges of a kind with weights have weight 1 unless given; those of repeats add up.
        """
        self._roster.refuse_outside(a, b, time=self._time)
        kind, weights = self._store.kind, None
        if kind.weighted:
            weights = checked_weights(weight, a.size)
            weights = weights if kind.two_sided else weights[a != b]
        a, b, loops = kind.without_loops(a, b)
        self._loops += loops
        self._rows += a.size
        self._edges.add(kind.keys(a, b), weights)

    def finish(
        self,
        *,
        dropped: Dropped | None = None,
        owner_sizes: Integers | None = None,
        bound: Bound | None = None,
    ) -> Snapshot:
        """Write the parts; returns the snapshot as it is stored."""
        nodes, part_nodes = len(self._roster), self._store.part_nodes
        several = nodes > part_nodes
        lower = self._sorter("lower")
        edge_files: list[PartFile] = []
        for number, (keys, weight) in enumerate(self._edges.parts()):
            check_space(self._directory, keys.nbytes * (1 if weight is None else 2))
            path = self._directory / f"edges-{number:05d}.parquet"
            edge_files.append(write_part(path, EDGES, keys, weight))
            if several:
                u, v = unpack(keys)
                lower.add(pack(v, u))
        lower_files = [
            write_part(self._directory / f"lower-{number:05d}.parquet", LOWER, keys)
            for number, (keys, _) in enumerate(lower.parts() if several else ())
        ]
        for runs in self._directory.glob("*-runs"):
            shutil.rmtree(runs)
        repeats = self._rows - sum(file.rows for file in edge_files)
        found = Dropped(self._loops, 0 if self._store.kind.weighted else repeats)
        found = found if dropped is None else found + dropped
        parts = StoredParts(
            self._store.directory,
            nodes,
            part_nodes,
            tuple(edge_files),
            tuple(lower_files),
            self._store.kind,
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
                owners=None if owner_sizes is None else _counted(owner_sizes),
                bound=bound,
            )
        )
        return Snapshot.from_parts(
            self._roster,
            parts,
            time=self._time,
            dropped=found,
            owner_sizes=owner_sizes,
            bound=bound,
        )


def _counted(sizes: Integers) -> tuple[tuple[int, int], ...]:
    """Return how many owners have each number of edges."""
    values, counts = np.unique(sizes, return_counts=True)
    return tuple(zip(values.tolist(), counts.tolist(), strict=True))


class SortedKeys(NamedTuple):
    """Distinct keys in ascending order, with their weights if they have any."""

    keys: Integers
    weight: Integers | None = None


class ExternalSort:
    """Sort more keys than fit into memory: in runs, split by range of the first end, then merged.

    Gives distinct keys in ascending order. The weights of repeats are added up, and sums beyond
    the largest weight count as the largest: in any order and in steps, since weights are positive.

    Parameters
    ----------
    directory
        Where runs are written that don't fit into memory. They hold private edges, so nobody
        else may enter it, and are removed as soon as they are merged.
    run_keys
        Keys that are gathered in memory.
    largest_weight
        If keys have weights, the largest one.

    Examples
    --------
    >>> sorter = ExternalSort(Path("unused"), nodes=4, part_nodes=2)
    >>> sorter.add(pack([3, 0, 3], [1, 2, 1]))
    >>> [unpack(part.keys)[0].tolist() for part in sorter.parts()]
    [[0], [3]]
    """

    def __init__(
        self,
        directory: Path,
        *,
        nodes: int,
        part_nodes: int,
        run_keys: int = RUN_KEYS,
        largest_weight: int | None = None,
    ) -> None:
        self._directory, self._run_keys = directory, run_keys
        self._largest, self._largest_weight = first_key(max(nodes, 1)), largest_weight
        self._cuts = [first_key(first) for first, _ in ranges(nodes, part_nodes)]
        self._gathered: list[Integers] = []
        self._weights: list[Integers] = []
        self._size = 0
        self._spilled = False

    def add(self, keys: Integers, weight: Integers | None = None) -> None:
        """Add keys, with their weights if they have any; writes a run if enough are gathered."""
        self._gathered.append(keys)
        if self._largest_weight is not None:
            assert weight is not None
            self._weights.append(np.minimum(weight, self._largest_weight))
        self._size += keys.size
        if self._size >= self._run_keys:
            self._spill()

    def parts(self) -> Iterator[SortedKeys]:
        """Yield the keys of every range. Only those of one range are in memory, if any spilled."""
        if not self._spilled:
            yield from self._split(self._sorted())
            return
        self._spill()
        for number in range(len(self._cuts)):
            yield self._merged(*self._read(number))

    def _sorted(self) -> SortedKeys:
        nothing = np.empty(0, dtype=np.int64)
        keys = np.concatenate([nothing, *self._gathered])
        weight = np.concatenate([nothing, *self._weights])
        self._gathered, self._weights, self._size = [], [], 0
        return self._merged(keys, None if self._largest_weight is None else weight)

    def _merged(self, keys: Integers, weight: Integers | None) -> SortedKeys:
        """Sort keys; drop repeats, or add up their weights if they have any."""
        if weight is None or self._largest_weight is None:
            return SortedKeys(_distinct(sort_keys(keys, largest=self._largest)))
        return SortedKeys(*summed(keys, weight, self._largest_weight))

    def _split(self, found: SortedKeys) -> list[SortedKeys]:
        if not self._cuts:
            return []
        cuts = np.searchsorted(found.keys, self._cuts[1:])
        keys = np.split(found.keys, cuts)
        if found.weight is None:
            return [SortedKeys(piece) for piece in keys]
        return [*map(SortedKeys, keys, np.split(found.weight, cuts))]

    def _spill(self) -> None:
        """Write what is gathered to the files of its ranges."""
        found = self._sorted()
        self._spilled = True
        self._directory.mkdir(mode=0o700, exist_ok=True)
        check_space(self._directory, found.keys.nbytes * self._columns)
        for number, piece in enumerate(self._split(found)):
            if piece.keys.size:
                keys, weight = piece
                rows = keys if weight is None else np.stack([keys, weight], axis=1)
                with self._run(number).open("ab") as file:
                    rows.tofile(file)

    @property
    def _columns(self) -> int:
        """Integers for each key in the file of a range: the key, and its weight if it has one."""
        return 1 if self._largest_weight is None else 2

    def _read(self, number: int) -> tuple[Integers, Integers | None]:
        """Return what was written for a range, and remove its file."""
        run = self._run(number)
        rows = np.fromfile(run, dtype=np.int64) if run.exists() else np.empty(0, dtype=np.int64)
        run.unlink(missing_ok=True)
        if self._largest_weight is None:
            return rows, None
        keys, weight = rows.reshape(-1, 2).T
        return np.ascontiguousarray(keys), weight

    def _run(self, number: int) -> Path:
        return self._directory / f"run-{number:05d}"


def _distinct(keys: Integers) -> Integers:
    """Drop repeats from sorted keys."""
    if keys.size < 2:
        return keys
    new = np.ones(keys.size, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys if new.all() else keys[new]
