"""A store: its manifest, its snapshots, and copying it to an object store.

The edges of a snapshot stay on disk until an engine reads a part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.errors import DataError, OutputError
from psgraph.graph import Dropped, Roster, Snapshot
from psgraph.graph.bound import Bound
from psgraph.graph.formats.parquet import read_nodes
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.stores.part_files import AGAIN, Address, PartFile, Place, StoredParts, existing_files

__all__ = [
    "MANIFEST",
    "Manifest",
    "Store",
    "StoredEntry",
    "check_free",
    "copy_store",
    "is_store",
    "manifest_digest",
    "open_store",
    "refuse_unfinished",
]

MANIFEST = "psgraph-store.json"
FORMAT = "psgraph store"
VERSION = 2
"""Format of stores; those of undirected graphs without weights have format 1, as ever."""


@dataclass(frozen=True)
class StoredEntry:
    """One snapshot.

    Attributes
    ----------
    roster, nodes_sha256, nodes
        The digest of the roster, that of the file of its node list, and how many nodes it has.
    edges, lower
        The files by range of the first and of the second end. A snapshot of one range has no
        `lower` files.
    self_loops, duplicates
        Rows of the input that were dropped. Curator only.
    owners
        For edges with owners: how many owners have each number of edges. Private.
    bound
        The bound on their edges. Both are not written for streams without owners.
    """

    time: str | None
    roster: str
    nodes_sha256: str
    nodes: int
    edges: tuple[PartFile, ...]
    lower: tuple[PartFile, ...]
    self_loops: int
    duplicates: int
    owners: tuple[tuple[int, int], ...] | None = None
    bound: Bound | None = None


@dataclass(frozen=True)
class Manifest:
    """What a store holds.

    Attributes
    ----------
    part_nodes
        Node positions in a range.
    times
        Where the timestamps come from, see `psgraph.streams.Stream`.
    held_back
        The first period of the input that was not over, if there was one.
    kind
        The kind of its graphs. Not written for undirected ones without weights, whose stores have
        no such fields.
    """

    part_nodes: int
    times: str | None
    held_back: str | None
    snapshots: tuple[StoredEntry, ...]
    kind: Kind = UNDIRECTED

    def to_json(self) -> str:
        own = asdict(self)
        del own["kind"]
        for entry in own["snapshots"]:
            for name in ("owners", "bound"):
                if entry[name] is None:
                    del entry[name]
        version = 1 if self.kind == UNDIRECTED else VERSION
        fields = {"format": FORMAT, "version": version, **own, **self.kind.to_dict()}
        return json.dumps({**fields, "sha256": manifest_digest(fields)}, indent=1) + "\n"

    @classmethod
    def read(cls, store: Place) -> Manifest:
        """Read the manifest of a store; refuse one that was changed, or of an unknown kind."""
        path = store / MANIFEST
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path} can't be read: {error.strerror or 'I/O error'}") from None
        try:
            fields = json.loads(content)
        except ValueError:
            fields = None
        if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
            raise DataError(f"{path} is not the manifest of a store\n{AGAIN}")
        version = fields.pop("version", None)
        if version not in (1, VERSION):
            newer = isinstance(version, int) and version > VERSION
            remedy = "Install the newer psgraph that wrote it, or prepare" if newer else "Prepare"
            raise DataError(
                f"{store} is a store of format {version!r}, and this psgraph reads formats 1 to "
                f"{VERSION}\n{remedy} the store again: psgraph prepare."
            )
        known = fields.pop("sha256", None)
        if known != manifest_digest({"format": FORMAT, "version": version, **fields}):
            raise DataError(f"{path} was changed after the store was prepared\n{AGAIN}")
        kind = Kind.from_dict(fields)
        for name in ("kind", "weights", "flows"):
            fields.pop(name, None)
        try:
            snapshots = tuple(_entry(entry) for entry in fields.pop("snapshots"))
            return cls(snapshots=snapshots, kind=kind, **fields)
        except (KeyError, TypeError):
            raise DataError(f"{path} is not the manifest of a store\n{AGAIN}") from None


def _entry(fields: Mapping[str, Any]) -> StoredEntry:
    files = {name: tuple(PartFile(**file) for file in fields[name]) for name in ("edges", "lower")}
    owners = fields.get("owners")
    pairs = None if owners is None else tuple((int(size), int(count)) for size, count in owners)
    bound = Bound(*fields["bound"]) if "bound" in fields else None
    return StoredEntry(**{**fields, **files, "owners": pairs, "bound": bound})


def _sizes(owners: tuple[tuple[int, int], ...]) -> Integers:
    """Return the number of edges of each owner from how many owners have each number."""
    sizes, counts = np.array(owners, dtype=np.int64).reshape(-1, 2).T
    return np.repeat(sizes, counts)


def manifest_digest(fields: Mapping[str, Any]) -> str:
    """Return the digest of a manifest that is written into it."""
    plain = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


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
    """Read the manifest of a store and check that all its files exist."""
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
        """Return a snapshot; its edges are read when an engine needs a part."""
        # Workers of a cluster may have another working directory.
        place = self.path.absolute() if isinstance(self.path, Path) else self.path
        manifest = self.manifest
        parts = StoredParts(
            place, entry.nodes, manifest.part_nodes, entry.edges, entry.lower, manifest.kind
        )
        return Snapshot.from_parts(
            self.roster(entry),
            parts,
            time=entry.time,
            dropped=Dropped(entry.self_loops, entry.duplicates),
            owner_sizes=None if entry.owners is None else _sizes(entry.owners),
            bound=entry.bound,
        )


def check_free(address: Address) -> None:
    """Refuse an address where there is something; nothing is ever replaced."""
    try:
        taken = bool(address.file_names())
    except FileNotFoundError:
        return
    except OSError as error:
        raise _failed(address, error) from None
    if taken:
        raise OutputError(f"{address} is not empty\nChoose another address, or remove it first.")


def copy_store(store: Path, address: Address) -> None:
    """Copy all files of a local store; without its manifest a copy is no store."""
    names = [path.relative_to(store).as_posix() for path in store.rglob("*") if path.is_file()]
    try:
        for name in sorted(names, key=lambda name: (name == MANIFEST, name)):
            (address / name).write_bytes((store / name).read_bytes())
    except OSError as error:
        raise _failed(address, error) from None


def _failed(address: Address, error: OSError) -> OutputError:
    return OutputError(
        f"{address} can't be written: {error.strerror or 'I/O error'}\n"
        "Check the address, the permissions and the space there."
    )
