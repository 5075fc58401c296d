"""The directory that releases are published in. Each file is complete or absent.

``NNNNNN.parquet`` is a graph, ``NNNNNN.json`` its certificate, and ``nodes/<sha256>.parquet`` a
node list, shared by all releases whose certificates name it. A graph of many nodes is a directory
``NNNNNN/`` of parts instead (`psgraph.publication.graph_files`). ``index.csv`` has a row for each
release, and is derived from the certificates.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from psgraph._runtime.durable import make_directory, write_all_whole, write_whole
from psgraph.errors import OutputError, PsgraphError, VerificationFailed
from psgraph.publication.certificate import Certificate
from psgraph.publication.graph_files import (
    RESTORE,
    EncodedGraph,
    PublishedFile,
    parts_of,
    read_bytes,
)

__all__ = ["ReleaseDirectory"]

INDEX_NAME = "index.csv"
NODES_NAME = "nodes"

#: In a store. By name: what reads releases, as the public report does, imports no private edges.
_STORE = "psgraph-store.json"
_INDEX_HEADER = b"number,time,file,edges\n"
_LAST_ROWS = 1 << 16  # bytes at the end of the index that hold its last row
_RELEASE = re.compile(r"(\d{6}|[1-9]\d{6,})(\.parquet|\.json)?", re.ASCII)


class ReleaseDirectory:
    """The files of a release directory.

    Parameters
    ----------
    path
        Created with the first release if it does not exist. It must be empty, or contain the
        releases and the ledger of the same run.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def graph_path(self, timestamp: int) -> Path:
        return self.path / f"{timestamp:06d}.parquet"

    def parts_path(self, timestamp: int) -> Path:
        return self.path / f"{timestamp:06d}"

    def _graph_places(self, timestamp: int) -> tuple[Path, Path]:
        """Where a graph may be: in a file, or in a directory of parts."""
        return self.graph_path(timestamp), self.parts_path(timestamp)

    def certificate_path(self, timestamp: int) -> Path:
        return self.path / f"{timestamp:06d}.json"

    def nodes_path(self, sha256: str) -> Path:
        return self.path / NODES_NAME / f"{sha256}.parquet"

    # ---- writing ----

    def check_usable(self, *, ledger: Path) -> None:
        """Refuse a directory with other content, before anything is measured.

        If its `ledger` exists, the content of the directory is checked with that.
        """
        try:
            if self.path.exists() and not self.path.is_dir():
                raise OutputError(
                    f"{self.path} is not a directory\nChoose another for --out.",
                    code="not_a_directory",
                )
            # A run that was interrupted at its start leaves its ledger's lock, and hidden files.
            taken = self.path.is_dir() and any(
                entry.suffix != ".lock" and not entry.name.startswith(".")
                for entry in self.path.iterdir()
            )
            started = ledger.exists()  # after listing: another process may be starting it
            parent = self.path
            while not parent.exists():
                parent = parent.parent
            writable = os.access(parent, os.W_OK)
        except OutputError:
            raise
        except OSError as error:
            raise OutputError(f"{self.path} can't be read: {error.strerror}") from None
        except ValueError:
            raise OutputError(
                "the path of the output can't be used\nCheck it.", code="unusable_path"
            ) from None
        if taken and not started:
            raise OutputError(
                f"the output directory {self.path} is not empty, but its ledger "
                f"{ledger} does not exist\n"
                "Publishing the same data twice spends the budget twice. Name the ledger of these "
                "releases, choose another directory, or remove this one if its releases were "
                "never shown to anyone.",
                code="ledger_missing",
            )
        if not writable:
            raise OutputError(
                f"{parent} is not writable\nChoose another directory for --out.",
                code="not_writable",
            )

    def refuse_unsealed(self, sealed: int) -> None:
        """Refuse to measure a timestamp that already has a file."""
        for path in (*self._graph_places(sealed), self.certificate_path(sealed)):
            if path.exists():
                raise VerificationFailed(
                    f"{path} already exists, but the ledger has not sealed timestamp {sealed}\n"
                    "Another ledger, or a newer copy of this one, wrote it: continue with that "
                    "one. Nothing was measured.",
                    code="unsealed_file",
                )

    def write(self, graph: EncodedGraph, nodes: memoryview, certificate: Certificate) -> None:
        """Write node list, graph and certificate, in this order. Existing files must be equal."""
        assert certificate.nodes_sha256 is not None
        assert certificate.graph_sha256 == graph.sha256
        nodes_path = self.nodes_path(certificate.nodes_sha256)
        make_directory(nodes_path.parent)
        files: list[tuple[Path, memoryview | Path]] = []
        if not nodes_path.exists():  # named by its content
            files.append((nodes_path, nodes))
        if not self._holds_graph(certificate):
            assert graph.content is not None
            one, parts = self._graph_places(certificate.timestamp)
            files.append((one if graph.part_nodes is None else parts, graph.content))
        text = certificate.to_json().encode()
        path = self.certificate_path(certificate.timestamp)
        if not path.exists():
            files.append((path, memoryview(text)))
        elif read_bytes(path) != text:
            raise self._in_the_way(path, certificate)
        write_all_whole(files)
        self.add_to_index(certificate)

    def add_to_index(self, certificate: Certificate) -> None:
        """Add a release to the index unless it is listed; write an index that has gaps again.

        The row is not flushed to the disk: a lost one is added when the stream is continued.
        """
        path = self.path / INDEX_NAME
        try:
            listed = self._last_listed()
            if listed is not None and certificate.timestamp <= listed:
                return
            if listed is not None and certificate.timestamp == listed + 1:
                with path.open("ab") as file:
                    file.write(self._index_row(certificate))
                return
        except OSError as error:
            raise OutputError(f"{path} could not be written: {error.strerror}") from None
        self.write_index(self._readable_certificates())

    def write_index(self, certificates: Iterable[Certificate]) -> None:
        """Write ``index.csv``, with a row for each of the certificates."""
        rows = (self._index_row(certificate) for certificate in certificates)
        write_whole(self.path / INDEX_NAME, b"".join((_INDEX_HEADER, *rows)))

    def _readable_certificates(self) -> Iterator[Certificate]:
        for timestamp in self.timestamps():
            with suppress(PsgraphError):  # psgraph verify names those that are damaged
                yield self.certificate(timestamp)

    def _index_row(self, certificate: Certificate) -> bytes:
        one, parts = self._graph_places(certificate.timestamp)
        name = (one if certificate.graph_parts is None else parts).name
        row = io.StringIO()
        csv.writer(row, lineterminator="\n").writerow(
            (certificate.timestamp, certificate.time, name, certificate.edges)
        )
        return row.getvalue().encode()

    @property
    def _is_indexed(self) -> bool:
        return (self.path / INDEX_NAME).exists()

    def _last_listed(self) -> int | None:
        """The number in the last row of the index; None without an index or a complete row."""
        if not self._is_indexed:
            return None
        with (self.path / INDEX_NAME).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_ROWS))
            end = file.read()
        number = end[:-1].rpartition(b"\n")[2].partition(b",")[0]
        return int(number) if end.endswith(b"\n") and number.isdigit() else None

    def _holds_graph(self, certificate: Certificate) -> bool:
        """Whether the graph exists; refuse a different one, which may have been seen."""
        for path in self._graph_places(certificate.timestamp):
            if path.exists():
                try:
                    self.check_graph(certificate)
                except VerificationFailed:
                    raise self._in_the_way(path, certificate) from None
                return True
        return False

    def _in_the_way(self, path: Path, certificate: Certificate) -> VerificationFailed:
        """The error about a file where a release is to be written, and its remedy."""
        try:
            there = self.certificate(certificate.timestamp)
        except PsgraphError:
            there = None
        fact = f"{path} already exists with different content"
        if there is not None and certificate.is_another_draw(there):
            return VerificationFailed(
                f"{fact}\n"
                "It is another draw of the same timestamp, made by another ledger or a copy of "
                "this one. Never remove it: whoever saw it must not see this draw as well. "
                "Find the ledger that made it, and continue with that one only.",
                code="other_draw",
            )
        return VerificationFailed(
            f"{fact}\n"
            "It was changed, or was written with other versions of the libraries. Remove it and "
            "publish again only if no other ledger, and no copy of this one, ever published "
            "to this directory; otherwise it may be another draw, which must stay.",
            code="other_file",
        )

    # ---- reading ----

    def refuse_store(self) -> None:
        """Refuse a store of prepared input, whose directories have names like those of graphs."""
        if (self.path / _STORE).exists():
            raise VerificationFailed(
                f"{self.path} is a store that psgraph prepare wrote: private edges, not releases\n"
                "Give the directory of the releases.",
                code="store",
            )

    def has(self, timestamp: int) -> bool:
        """Whether the graph and the certificate of a timestamp exist."""
        return self.certificate_path(timestamp).exists() and any(
            path.exists() for path in self._graph_places(timestamp)
        )

    def missing(self, timestamps: int) -> list[Path]:
        """Return the graphs and certificates of the first timestamps that do not exist.

        Whether a missing graph was a file or a directory of parts is unknown; both are named.
        """
        found: list[Path] = []
        for timestamp in range(timestamps):
            graphs, certificate = self._graph_places(timestamp), self.certificate_path(timestamp)
            found += [] if any(path.exists() for path in graphs) else graphs
            found += [] if certificate.exists() else [certificate]
        return found

    def certificate(self, timestamp: int) -> Certificate:
        """Read the certificate of a timestamp; refuse one that was changed."""
        path = self.certificate_path(timestamp)
        try:
            certificate = Certificate.from_json(read_bytes(path))
        except VerificationFailed as error:
            if not path.exists():
                raise
            raise VerificationFailed(
                f"{path} was changed after it was published\n{RESTORE}",
                code="changed",
            ) from error
        if certificate.timestamp != timestamp:
            raise VerificationFailed(f"{path} is the certificate of another timestamp")
        return certificate

    def graph(self, certificate: Certificate) -> tuple[PublishedFile, ...]:
        """The files of a graph, in order. Each is checked when it is read.

        Parts are checked here already, together: the certificate states one digest of all.
        """
        one, parts = self._graph_places(certificate.timestamp)
        other = parts if certificate.graph_parts is None else one
        if other.exists():
            raise VerificationFailed(
                f"{other} is not the graph its certificate states, which is beside it\n"
                "Find out who put it there, and move it away.",
                code="misplaced",
            )
        if certificate.graph_parts is None:
            return (PublishedFile(one, certificate.graph_sha256),)
        return parts_of(parts, certificate.graph_parts, certificate.graph_sha256)

    def check_graph(self, certificate: Certificate) -> None:
        """Refuse a graph of which a file was changed, removed or added."""
        files = self.graph(certificate)
        if certificate.graph_parts is None:
            files[0].read()

    def nodes(self, certificate: Certificate) -> bytes | None:
        """Read the node list a certificate names; refuse one that was changed.

        None for releases of version 0.1.0, which wrote no node lists.
        """
        digest = certificate.nodes_sha256
        return None if digest is None else PublishedFile(self.nodes_path(digest), digest).read()

    def timestamps(self) -> list[int]:
        """The timestamps with at least one file, in order."""
        try:
            with os.scandir(self.path) as entries:  # there may be many, and only names matter
                names = [entry.name for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise OutputError(f"{self.path} can't be read: {error.strerror}") from None
        return sorted({int(name.partition(".")[0]) for name in names if _RELEASE.fullmatch(name)})

    def certificates(
        self, problems: list[str], *, finished: int | None = None, files: bool = True
    ) -> Iterator[Certificate]:
        """Read the certificates in order; add what is wrong with them to `problems`.

        Parameters
        ----------
        finished
            If it is known how many timestamps are finished, the next one may be incomplete.
        files
            Whether to check the graphs and node lists too.
        """
        before: Certificate | None = None
        checked: set[str] = set()
        # Read first: another process may be publishing. A run that was killed may lack a row.
        index = read_bytes(self.path / INDEX_NAME) if files and self._is_indexed else b""
        rows: list[bytes] = []
        for expected, timestamp in enumerate(self.timestamps()):
            if timestamp != expected:
                problems.append(f"timestamp {expected} is missing")
                return
            if finished is not None and timestamp >= finished and not self.has(timestamp):
                return
            try:
                certificate = self.certificate(timestamp)
            except PsgraphError as error:
                problems.append(str(error).splitlines()[0])
                before = None
                continue
            if files:
                self._check_files(certificate, checked, problems)
                rows.append(self._index_row(certificate))
            known = before is not None or timestamp == 0
            if known and certificate.previous != (before.digest if before else None):
                problems.append(
                    f"timestamp {timestamp}: the previous certificate's digest does not match"
                )
            before = certificate
            yield certificate
        if rows and not problems and not b"".join((_INDEX_HEADER, *rows)).startswith(index):
            problems.append(f"{self.path / INDEX_NAME} does not list what the certificates state")

    def _check_files(
        self, certificate: Certificate, checked: set[str], problems: list[str]
    ) -> None:
        """Check a graph, and its node list unless that was checked before."""
        try:
            self.check_graph(certificate)
            if certificate.nodes_sha256 not in checked:
                self.nodes(certificate)
                checked.add(certificate.nodes_sha256 or "")
        except PsgraphError as error:
            problems.append(str(error).splitlines()[0])
