"""Releases as files: ``NNNNNN.parquet`` and ``NNNNNN.json``, each there whole or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from psgraph.certificate import Certificate, Release
from psgraph.durable import write_whole
from psgraph.errors import OutputError, PsgraphError, VerificationFailed
from psgraph.graph import Roster, SyntheticGraph
from psgraph.io.tables import to_arrow

__all__ = ["LEDGER_NAME", "ReleaseDirectory", "graph_bytes"]

LEDGER_NAME = "ledger.sqlite"


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

    def check_usable(self, *, begun: bool) -> None:
        """Refuse a directory that holds something else, before anything is measured."""
        try:
            if self.path.exists() and not self.path.is_dir():
                raise OutputError(f"{self.path} is not a directory\nChoose another for --out.")
            taken = self.path.is_dir() and any(self.path.iterdir())
        except PermissionError as error:
            raise OutputError(f"{self.path} can't be read: {error.strerror}") from None
        if taken and not begun:
            raise OutputError(
                f"the output directory {self.path} is not empty and its ledger is not there\n"
                "Publishing the same data twice spends the budget twice. Name the ledger of these "
                "releases, choose another directory, or remove this one if its releases were "
                "never shown to anyone."
            )
        parent = self.path
        while not parent.exists():
            parent = parent.parent
        if not os.access(parent, os.W_OK):
            raise OutputError(f"{parent} is not writable\nChoose another directory for --out.")

    def write(self, graph: memoryview, certificate: Certificate) -> None:
        """Write a graph and then its certificate."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"{self.path} could not be made: {error.strerror}\n"
                "Choose another directory for --out."
            ) from None
        write_whole(self.graph_path(certificate.timestamp), graph)
        write_whole(self.certificate_path(certificate.timestamp), certificate.to_json().encode())

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
        if not self.path.is_dir():
            return []
        found = {
            int(path.stem)
            for path in self.path.iterdir()
            if path.suffix in (".parquet", ".json") and path.stem.isdecimal()
        }
        return sorted(found)

    def problems(self) -> Iterator[str]:
        """What is missing, changed or swapped among the files, in words."""
        before: Certificate | None = None
        for expected, timestamp in enumerate(self.timestamps()):
            if timestamp != expected:
                yield f"timestamp {expected} is missing"
                return
            try:
                certificate = self.certificate(timestamp)
                content = self._bytes(self.graph_path(timestamp))
            except PsgraphError as error:
                yield str(error).splitlines()[0]
                before = None
                continue
            if hashlib.sha256(content).hexdigest() != certificate.graph_sha256:
                yield f"{self.graph_path(timestamp)} was changed after it was published"
            if before is not None and certificate.previous != before.digest:
                yield f"timestamp {timestamp}: the certificate before it is another one"
            before = certificate

    def _bytes(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise VerificationFailed(f"{path} is missing") from None
        except OSError as error:
            raise OutputError(f"{path} can't be read: {error.strerror}") from None
