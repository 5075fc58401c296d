"""Reading a store: snapshots whose edges stay on disk until an engine asks for a part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from psgraph.errors import DataError
from psgraph.graph import Dropped, Roster, Snapshot
from psgraph.graph.formats.node_lists import read_nodes
from psgraph.stores.manifest import AGAIN, MANIFEST, Manifest, StoredEntry
from psgraph.stores.parts import StoredParts
from psgraph.stores.places import Place, existing_files

__all__ = ["Store", "is_store", "open_store", "refuse_unfinished"]


def is_store(path: Place) -> bool:
    """Whether a place is a directory with a manifest. Cheap; reads nothing."""
    try:
        return (path / MANIFEST).is_file()
    except (OSError, ValueError):
        return False


def refuse_unfinished(path: Path) -> None:
    """Refuse a directory with the files of a store and no manifest, which is written last."""
    try:
        unfinished = not is_store(path) and (path / "nodes").is_dir()
        unfinished = unfinished and any((path / "000000").glob("edges-*"))
    except (OSError, ValueError):
        return
    if unfinished:
        raise DataError(
            f"{path} is a store that is not complete: {MANIFEST} is missing\n"
            "It was left by a run that was killed, or only a part of it was copied. Remove it, "
            "and prepare the store again: psgraph prepare."
        )


def open_store(path: Place) -> Store:
    """Read the manifest of a store and check that all its files are there."""
    manifest = Manifest.read(path)
    names = [file.name for entry in manifest.snapshots for file in (*entry.edges, *entry.lower)]
    try:
        existing = existing_files(path, names)
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or 'I/O error'}") from None
    for name in names:
        if name not in existing:
            raise DataError(f"{path / name} is missing\n{AGAIN}")
    return Store(path, manifest)


class Store:
    """The snapshots of a store, in order.

    Attributes
    ----------
    path
        Where it is.
    manifest
        What it holds.
    """

    def __init__(self, path: Place, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        self._roster: Roster | None = None

    def __len__(self) -> int:
        return len(self.manifest.snapshots)

    def __iter__(self) -> Iterator[Snapshot]:
        for entry in self.manifest.snapshots:
            yield self.snapshot(entry)

    def roster(self, entry: StoredEntry) -> Roster:
        """Read the roster of a snapshot; refuse one that was changed."""
        if self._roster is not None and self._roster.digest == entry.roster:
            return self._roster
        path = self.path / "nodes" / f"{entry.nodes_sha256}.parquet"
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path} can't be read: {error.strerror or 'I/O error'}") from None
        if hashlib.sha256(content).hexdigest() != entry.nodes_sha256:
            raise DataError(f"{path} was changed after the store was prepared\n{AGAIN}")
        self._roster = read_nodes(content, path)
        return self._roster

    def snapshot(self, entry: StoredEntry) -> Snapshot:
        """Return a snapshot; its edges are read when an engine asks for a part."""
        # Workers of a cluster may have another working directory.
        place = self.path.absolute() if isinstance(self.path, Path) else self.path
        parts = StoredParts(place, entry.nodes, self.manifest.part_nodes, entry.edges, entry.lower)
        return Snapshot.from_parts(
            self.roster(entry),
            parts,
            time=entry.time,
            dropped=Dropped(entry.self_loops, entry.duplicates),
        )
