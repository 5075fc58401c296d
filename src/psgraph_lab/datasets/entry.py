"""What is known about a data set: an entry of the catalogue, or one of the user's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psgraph.errors import DataError

if TYPE_CHECKING:
    from psgraph.graph import Snapshot

__all__ = ["Counts", "Dataset", "OwnDataset", "add_dataset", "own_dataset"]


@dataclass(frozen=True)
class Counts:
    """The size of a stream: distinct nodes and undirected edges over all timestamps.

    Attributes
    ----------
    self_loops
        Distinct self-loops, which `edges` leaves out; None where they were dropped uncounted.
    """

    nodes: int
    edges: int
    timestamps: int
    self_loops: int | None = None


@dataclass(frozen=True)
class Dataset:
    """One data set.

    Attributes
    ----------
    paper
        Counts in the paper's table, self-loops included; None if the paper does not use it.
    stand_in_for
        The data set of the paper that this one replaces, if it is a stand-in.
    source
        A page about where it comes from.
    downloads
        Addresses of its original files; without any, it has to be given with ``--from``.
    checksum
        SHA-256 of the first of `downloads`, once known.
    files
        Names of its Parquet file; `fetch` writes the first.
    selection
        Which part of the source is used, and how.
    discrepancy
        Known differences from the paper's counts.
    paper_self_loops
        Self-loops among the paper's edges.
    """

    name: str
    title: str
    description: str
    source: str
    licence: str
    size: str
    selection: str
    files: tuple[str, ...] = ()
    downloads: tuple[str, ...] = ()
    checksum: str | None = None
    stand_in_for: str | None = None
    paper: Counts | None = None
    paper_self_loops: int = 0
    discrepancy: str = ""


_OWN: dict[str, OwnDataset] = {}


@dataclass(frozen=True)
class OwnDataset:
    """A file or directory, and how to read it.

    Attributes
    ----------
    title
        The name in the definition, which pages show.
    options
        Options of `psgraph.read_stream`: roster, every and so on.
    """

    title: str
    path: Path
    options: Mapping[str, Any]

    @cached_property
    def name(self) -> str:
        """The title and a digest of the data and the options.

        Results are stored under it, so that those of other data never count as results of these.
        """
        options = {name: str(value) for name, value in self.options.items()}
        digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
        roster = self.options.get("roster")
        for path in (self.path, *([roster] if isinstance(roster, Path) else [])):
            for file in _files(path):
                with file.open("rb") as stream:
                    digest.update(hashlib.file_digest(stream, "sha256").digest())
        return f"{self.title}@{digest.hexdigest()[:8]}"

    def load(self) -> list[Snapshot]:
        """Read all snapshots."""
        from psgraph.streams import read_stream

        return list(read_stream(self.path, **self.options))


def _files(path: Path) -> list[Path]:
    """The files of a directory in order, or the file itself."""
    return sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]


def add_dataset(dataset: OwnDataset) -> str:
    """Make a data set known in this process; returns the name that results are stored under."""
    try:
        name = dataset.name
    except OSError as error:
        raise DataError(
            f"the data set {dataset.title!r} can't be read: {error.strerror}\n"
            "Check its path and its roster; both are relative to the definition."
        ) from None
    _OWN[name] = dataset
    return name


def own_dataset(name: str) -> OwnDataset | None:
    """Return a data set that was made known; None for others."""
    return _OWN.get(str(name))
