"""Releases as files: ``NNNNNN.parquet`` and ``NNNNNN.json``, each there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from psgraph._runtime.durable import make_directory, write_whole
from psgraph.errors import OutputError, PsgraphError, VerificationFailed
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.formats.tables import to_arrow
from psgraph.publication.certificate import Certificate, Release

__all__ = ["LEDGER_NAME", "ReleaseDirectory", "graph_bytes", "ledger_at"]

LEDGER_NAME = "ledger.sqlite"

_RELEASE = re.compile(r"(\d{6}|[1-9]\d{6,})\.(parquet|json)", re.ASCII)


def ledger_at(path: str | Path) -> Path:
    """The ledger that a path stands for: the file itself, or the one in a release directory.

    >>> ledger_at("run.ledger").name
    'run.ledger'
    """
    path = Path(path)
    try:
        return path / LEDGER_NAME if path.is_dir() else path
    except OSError:
        return path


def graph_bytes(graph: SyntheticGraph) -> memoryview:
    """A synthetic graph as the Parquet file it is published as: columns u and v, original ids."""
    sink = pa.BufferOutputStream()
    pq.write_table(to_arrow(graph), sink, compression="zstd", use_dictionary=False)
    return memoryview(sink.getvalue())


class ReleaseDirectory:
    """The directory releases are published in.

    Parameters
    ----------
    path
        Made with the first release, if need be. It must be empty, unless it holds the releases
        and the ledger of the same run.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def check_usable(self, *, ledger: Path) -> None:
        """Refuse a directory that holds something else, before anything is measured.

        If its `ledger` is there, what it holds is looked at with that.
        """
        try:
            if self.path.exists() and not self.path.is_dir():
                raise OutputError(f"{self.path} is not a directory\nChoose another for --out.")
            # A run that was cut off at its start leaves the lock of its ledger, and hidden files.
            taken = self.path.is_dir() and any(
                entry.suffix != ".lock" and not entry.name.startswith(".")
                for entry in self.path.iterdir()
            )
            begun = ledger.exists()  # after listing: another process may begin it right now
            parent = self.path
            while not parent.exists():
                parent = parent.parent
            writable = os.access(parent, os.W_OK)
        except OutputError:
            raise
        except OSError as error:
            raise OutputError(f"{self.path} can't be read: {error.strerror}") from None
        except ValueError:
            raise OutputError("the path of the output can't be used\nCheck it.") from None
        if taken and not begun:
            raise OutputError(
                f"the output directory {self.path} is not empty and its ledger is not there\n"
                "Publishing the same data twice spends the budget twice. Name the ledger of these "
                "releases, choose another directory, or remove this one if its releases were "
                "never shown to anyone."
            )
        if not writable:
            raise OutputError(f"{parent} is not writable\nChoose another directory for --out.")

    def write(self, graph: memoryview, certificate: Certificate) -> None:
        """Write a graph and then its certificate. What is already there must be the same."""
        make_directory(self.path)
        self._write_once(self.graph_path(certificate.timestamp), graph)
        content = memoryview(certificate.to_json().encode())
        self._write_once(self.certificate_path(certificate.timestamp), content)

    def _write_once(self, path: Path, content: memoryview) -> None:
        """A file that may have been seen is never replaced."""
        if not path.exists():
            write_whole(path, content)
        elif self._bytes(path) != bytes(content):
            raise VerificationFailed(
                f"{path} is already there and holds something else\n"
                "It was changed, or was made with other versions of the libraries that write it. "
                "Remove it, and publishing again makes it anew from the ledger."
            )

    def graph_path(self, timestamp: int) -> Path:
        return self.path / f"{timestamp:06d}.parquet"

    def certificate_path(self, timestamp: int) -> Path:
        return self.path / f"{timestamp:06d}.json"

    def has(self, timestamp: int) -> bool:
        """Whether both files of a timestamp are there."""
        return self.graph_path(timestamp).exists() and self.certificate_path(timestamp).exists()

    def read(self, timestamp: int, roster: Roster) -> Release:
        """A release as it was written; refuse one that was changed."""
        certificate = self.certificate(timestamp)
        content = self._bytes(self.graph_path(timestamp))
        if hashlib.sha256(content).hexdigest() != certificate.graph_sha256:
            raise VerificationFailed(
                f"{self.graph_path(timestamp)} was changed after it was published\n"
                "Remove it, and publishing again makes it anew from the ledger."
            )
        table = pq.read_table(pa.BufferReader(content))
        graph = SyntheticGraph.from_table(table, roster=roster)
        return Release(graph, certificate)

    def certificate(self, timestamp: int) -> Certificate:
        """The certificate of a timestamp; refuse one that was changed."""
        path = self.certificate_path(timestamp)
        try:
            certificate = Certificate.from_json(self._bytes(path))
        except VerificationFailed:
            raise VerificationFailed(
                f"{path} was changed after it was published\n"
                "Remove it, and publishing again makes it anew from the ledger."
            ) from None
        if certificate.timestamp != timestamp:
            raise VerificationFailed(f"{path} is the certificate of another timestamp")
        return certificate

    def timestamps(self) -> list[int]:
        """The timestamps of which at least one file is there, in order."""
        try:
            with os.scandir(self.path) as entries:  # many files, and only their names count
                names = [entry.name for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise OutputError(f"{self.path} can't be read: {error.strerror}") from None
        return sorted({int(name.partition(".")[0]) for name in names if _RELEASE.fullmatch(name)})

    def certificates(
        self, problems: list[str], *, finished: int | None = None
    ) -> Iterator[Certificate]:
        """The certificates in order; adds to `problems` what is wrong with them or their graphs.

        If it is known how many timestamps are `finished`, the one after them may be half there.
        """
        before: Certificate | None = None
        for expected, timestamp in enumerate(self.timestamps()):
            if timestamp != expected:
                problems.append(f"timestamp {expected} is missing")
                return
            if finished is not None and timestamp >= finished and not self.has(timestamp):
                return
            try:
                certificate = self.certificate(timestamp)
                content = self._bytes(self.graph_path(timestamp))
            except PsgraphError as error:
                problems.append(str(error).splitlines()[0])
                before = None
                continue
            if hashlib.sha256(content).hexdigest() != certificate.graph_sha256:
                problems.append(f"{self.graph_path(timestamp)} was changed after it was published")
            known = before is not None or timestamp == 0
            if known and certificate.previous != (before.digest if before else None):
                problems.append(f"timestamp {timestamp}: the certificate before it is another one")
            before = certificate
            yield certificate

    def _bytes(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise VerificationFailed(f"{path} is missing") from None
        except OSError as error:
            raise OutputError(f"{path} can't be read: {error.strerror}") from None
