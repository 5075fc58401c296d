"""The manifest of a store: what it holds, with a digest of every file and of itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from psgraph.errors import DataError
from psgraph.stores.places import Place

__all__ = ["MANIFEST", "Manifest", "PartFile", "StoredEntry"]

MANIFEST = "psgraph-store.json"
FORMAT = "psgraph store"
VERSION = 1


@dataclass(frozen=True)
class PartFile:
    """One Parquet file: its name inside the store, its number of rows and its SHA-256."""

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class StoredEntry:
    """One snapshot.

    Attributes
    ----------
    roster, nodes_sha256, nodes
        The digest of the roster, that of the file of its node list, and how many nodes it has.
    edges, lower
        The files by range of the smaller and of the larger end. A snapshot of one range has no
        `lower` files.
    self_loops, duplicates
        Rows of the input that were dropped. Curator only.
    """

    time: str | None
    roster: str
    nodes_sha256: str
    nodes: int
    edges: tuple[PartFile, ...]
    lower: tuple[PartFile, ...]
    self_loops: int
    duplicates: int


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
    """

    part_nodes: int
    times: str | None
    held_back: str | None
    snapshots: tuple[StoredEntry, ...]

    def to_json(self) -> str:
        fields = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps({**fields, "sha256": _digest(fields)}, indent=1) + "\n"

    @classmethod
    def read(cls, store: Place) -> Manifest:
        """Read the manifest of a store; refuse one that was changed."""
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
        if version != VERSION:
            newer = isinstance(version, int) and version > VERSION
            remedy = "Install the newer psgraph that wrote it, or prepare" if newer else "Prepare"
            raise DataError(
                f"{store} is a store of format {version!r}, and this psgraph reads format "
                f"{VERSION}\n{remedy} the store again: psgraph prepare."
            )
        known = fields.pop("sha256", None)
        if known != _digest({"format": FORMAT, "version": VERSION, **fields}):
            raise DataError(f"{path} was changed after the store was prepared\n{AGAIN}")
        try:
            snapshots = tuple(_entry(entry) for entry in fields.pop("snapshots"))
            return cls(snapshots=snapshots, **fields)
        except (KeyError, TypeError):
            raise DataError(f"{path} is not the manifest of a store\n{AGAIN}") from None


AGAIN = "Prepare the store again: psgraph prepare."


def _entry(fields: Mapping[str, Any]) -> StoredEntry:
    files = {name: tuple(PartFile(**file) for file in fields[name]) for name in ("edges", "lower")}
    return StoredEntry(**{**fields, **files})


def _digest(fields: Mapping[str, Any]) -> str:
    plain = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()
