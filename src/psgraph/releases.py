"""Releases as files: ``NNNNNN.parquet`` and ``NNNNNN.json``, each written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from psgraph.certificate import Release
from psgraph.errors import OutputError
from psgraph.io.tables import to_arrow
from psgraph.timing import phase

__all__ = ["ReleaseWriter", "write_atomically"]


def write_atomically(path: Path, content: bytes | pa.Buffer) -> None:
    """Write beside the target, flush to the disk, then rename: a reader sees all or nothing."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(
            f"{path} could not be written: {error.strerror}\n"
            "Free some space or choose another --out directory."
        ) from None


class ReleaseWriter:
    """Writes releases into a directory that is empty to begin with.

    Parameters
    ----------
    directory
        Created with the first release, if need be.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        if self.directory.exists() and not self.directory.is_dir():
            raise OutputError(f"{self.directory} is not a directory\nChoose another for --out.")
        try:
            taken = self.directory.is_dir() and any(self.directory.iterdir())
        except OSError as error:
            raise OutputError(f"{self.directory} can't be read: {error.strerror}") from None
        if taken:
            raise OutputError(
                f"the output directory {self.directory} is not empty\n"
                "Publishing the same data twice would spend the budget twice. Choose another "
                "directory, or remove this one if its releases were never shown to anyone."
            )
        parent = self.directory
        while not parent.exists():
            parent = parent.parent
        if not os.access(parent, os.W_OK):
            raise OutputError(f"{parent} is not writable\nChoose another directory for --out.")

    def write(self, release: Release) -> Path:
        """Write the graph and then its certificate; the path of the graph."""
        with phase("write"):
            try:
                self.directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(
                    f"{self.directory} could not be made: {error.strerror}\n"
                    "Choose another directory for --out."
                ) from None
            stem = self.directory / f"{release.timestamp:06d}"
            sink = pa.BufferOutputStream()
            pq.write_table(to_arrow(release.graph), sink, compression="zstd", use_dictionary=False)
            path = stem.with_suffix(".parquet")
            write_atomically(path, sink.getvalue())
            write_atomically(stem.with_suffix(".json"), release.certificate.to_json().encode())
            return path
