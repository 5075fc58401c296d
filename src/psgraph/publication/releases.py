"""Releases read back from their directory. Needs no ledger and no original."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, overload

import pyarrow as pa

from psgraph._runtime.durable import as_path
from psgraph.errors import DataError, VerificationFailed
from psgraph.graph import Roster
from psgraph.graph.formats.parquet import edge_table, read_nodes
from psgraph.publication.certificate import Certificate, Release
from psgraph.publication.graph_files import PublishedFile, read_graph
from psgraph.publication.legacy import RosterSource, given_rosters, next_roster
from psgraph.publication.release_directory import ReleaseDirectory

__all__ = ["Releases", "read_releases"]

FileState = tuple[int, int, int]
"""When a file was modified, its size and its inode."""


def read_releases(
    directory: str | PathLike[str], *, roster: RosterSource | None = None
) -> Releases:
    """Read published releases; every file is checked against its certificate.

    Parameters
    ----------
    directory
        Where the releases are, or a copy of it.
    roster
        Only for releases of version 0.1.0, which are published without their node lists: a
        roster for all of them, or one for each, for example the stream they were made from.

    Returns
    -------
    Releases
        A sequence of `Release`. Certificates are read at once, graphs on access.

    Raises
    ------
    DataError
        If there is no release, or the nodes are not known.
    VerificationFailed
        If a file was changed or is missing; for a graph on access.

    Examples
    --------
    >>> import tempfile, psgraph as pg
    >>> guarantee = pg.WEventPrivacy("1", window=2)
    >>> with tempfile.TemporaryDirectory() as out:
    ...     with pg.Publisher(pg.PSGraph(), guarantee, out=out) as publisher:
    ...         _ = publisher.publish(pg.demo_stream(nodes=300, timestamps=1)[0])
    ...     releases = read_releases(out)
    ...     len(releases), releases[0].graph.roster
    (1, Roster(300 nodes))
    """
    files = ReleaseDirectory(as_path(directory, "the directory of the releases"))
    return Releases(files, roster, certificates=_certificates(files))


class Releases(Sequence[Release]):
    """The releases of a directory, in order, one graph in memory at a time.

    Published files never change, so certificates, digests and the last node list are kept. Threads
    can share it.

    Parameters
    ----------
    certificates
        Those that were read already; `refresh` reads the others.

    Attributes
    ----------
    certificates
        Of all releases.
    """

    def __init__(
        self,
        directory: ReleaseDirectory,
        roster: RosterSource | None = None,
        *,
        certificates: tuple[Certificate, ...] = (),
    ) -> None:
        self._directory, self._roster = directory, roster
        self.certificates = certificates
        self._nodes: tuple[str, Roster] | None = None
        self._checked: dict[Path, FileState] = {}
        self._parts: dict[int, tuple[PublishedFile, ...]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.certificates)

    def __repr__(self) -> str:
        number = len(self)
        return f"Releases({number} timestamp{'' if number == 1 else 's'})"

    def _repr_html_(self) -> str | None:
        from psgraph.publication.cards import releases_card

        return releases_card(self)

    @overload
    def __getitem__(self, index: int) -> Release: ...
    @overload
    def __getitem__(self, index: slice) -> list[Release]: ...
    def __getitem__(self, index: int | slice) -> Release | list[Release]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        certificate = self.certificates[index]
        return self._read(certificate, given_rosters(self._roster, certificate.timestamp))

    def __iter__(self) -> Iterator[Release]:
        rosters = given_rosters(self._roster, 0)
        for certificate in self.certificates:
            yield self._read(certificate, rosters)

    @property
    def path(self) -> Path:
        """The directory."""
        return self._directory.path

    def refresh(self) -> tuple[Certificate, ...]:
        """Read the certificates of new releases; return those of all."""
        with self._lock:
            while self._directory.has(following := len(self.certificates)):
                certificate = self._directory.certificate(following)
                before = self.certificates[-1].digest if following else None
                if certificate.previous != before:
                    raise VerificationFailed(
                        f"timestamp {following}: the previous certificate's digest does not match\n"
                        "psgraph verify lists everything that is wrong.",
                        code="chain",
                    )
                self.certificates = (*self.certificates, certificate)
            return self.certificates

    def graph_files(self, timestamp: int) -> list[Path]:
        """The file of a graph, or its parts in order, checked against the certificate."""
        certificate = self.certificates[timestamp]
        if certificate.graph_parts is None:
            path = self._directory.graph_path(timestamp)
            return [self._unchanged(path, certificate.graph_sha256)]
        if timestamp not in self._parts:
            self._parts[timestamp] = self._directory.graph(certificate)
        return [self._unchanged(file.path, file.sha256) for file in self._parts[timestamp]]

    def nodes_file(self, timestamp: int) -> Path | None:
        """The file of a node list, checked against the certificate; None if it names none."""
        digest = self.certificates[timestamp].nodes_sha256
        if digest is None:
            return None
        return self._unchanged(self._directory.nodes_path(digest), digest)

    def _unchanged(self, path: Path, sha256: str | None) -> Path:
        """Check the digest of a file, and again only if the file was modified since."""
        try:
            status = path.stat()
            state = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._checked.get(path) != state:
                with path.open("rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
                if found != sha256:
                    raise VerificationFailed(
                        f"{path} was changed after it was published", code="changed"
                    )
                self._checked[path] = state
        except OSError:
            raise VerificationFailed(f"{path} is missing", code="missing") from None
        return path

    def roster(self, timestamp: int) -> Roster | None:
        """The published node list of a timestamp; None if it has none, or is not published."""
        if timestamp >= len(self) or self.certificates[timestamp].nodes_sha256 is None:
            return None
        return self._roster_of(self.certificates[timestamp], iter(()))

    def edges(self, timestamp: int) -> Any:
        """The edges of a release as an Arrow table of ids ``u``, ``v``. Needs no roster."""
        return pa.concat_tables(self.edge_tables(timestamp))

    def edge_tables(self, timestamp: int) -> Iterator[Any]:
        """The same edges, file by file: a graph of many nodes is published in parts."""
        for file in self._directory.graph(self.certificates[timestamp]):
            yield edge_table(file.read(), file.path)

    def _read(self, certificate: Certificate, rosters: Iterator[Roster]) -> Release:
        roster = self._roster_of(certificate, rosters)
        graph = read_graph(self._directory.graph(certificate), certificate, roster)
        if len(roster) != certificate.nodes:
            raise DataError(
                f"timestamp {certificate.timestamp} has {certificate.nodes} nodes and its roster "
                f"{len(roster)}\nGive the roster of the stream that the releases were made from.",
                code="other_roster",
            )
        return Release(graph, certificate)

    def _roster_of(self, certificate: Certificate, rosters: Iterator[Roster]) -> Roster:
        """The published node list; without one, the next roster that was given."""
        digest = certificate.nodes_sha256
        if digest is None:
            return next_roster(
                self._roster, rosters, timestamp=certificate.timestamp, releases=len(self)
            )
        kept = self._nodes
        if kept is None or kept[0] != digest:
            content = self._directory.nodes(certificate)
            assert content is not None
            kept = digest, read_nodes(content, self._directory.nodes_path(digest))
            self._nodes = kept
        return kept[1]


def _certificates(directory: ReleaseDirectory) -> tuple[Certificate, ...]:
    """Read all certificates; a last graph without one is still being published."""
    if not directory.path.is_dir():
        raise DataError(
            f"{directory.path} is not a directory\nGive the directory of the releases.",
            code="not_a_directory",
        )
    directory.refuse_store()
    timestamps = directory.timestamps()
    if not timestamps:
        raise DataError(
            f"{directory.path} contains no releases (000000.parquet, 000000.json, …)",
            code="no_releases",
        )
    problems: list[str] = []
    finished = len(timestamps) - 1
    certificates = tuple(directory.certificates(problems, finished=finished, files=False))
    if problems or not certificates:
        raise VerificationFailed(
            f"the releases in {directory.path} can't be trusted: "
            f"{problems[0] if problems else 'there is no certificate'}\n"
            "psgraph verify lists everything that is wrong."
        )
    return certificates
