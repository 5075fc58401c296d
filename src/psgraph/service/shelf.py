"""The published releases of a stream, by their certificates. Reads public files only."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from psgraph.errors import VerificationFailed
from psgraph.publication.certificate import Certificate
from psgraph.publication.graph_files import PublishedFile
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.service.problems import Refusal

__all__ = ["Shelf"]

Look = tuple[int, int, int]


class Shelf:
    """The releases in a directory. Certificates never change, so each is read once."""

    def __init__(self, path: Path) -> None:
        self.directory = ReleaseDirectory(path)
        self._certificates: list[Certificate] = []
        self._checked: dict[Path, Look] = {}
        self._parts: dict[int, tuple[PublishedFile, ...]] = {}
        self._lock = threading.Lock()

    def certificates(self) -> list[Certificate]:
        """Return the certificates of all releases, in order."""
        with self._lock:
            while self.directory.has(len(self._certificates)):
                self._certificates.append(self.directory.certificate(len(self._certificates)))
            return self._certificates[:]

    def certificate(self, timestamp: int) -> Certificate:
        """Return one certificate; refuse a timestamp that is not released."""
        certificates = self.certificates()
        if timestamp >= len(certificates):
            raise Refusal(
                404,
                "not_released",
                "This timestamp is not released.",
                "List the releases; the state of the timestamp says when it is due.",
            )
        return certificates[timestamp]

    def graph_files(self, certificate: Certificate) -> list[Path]:
        """Return the file of a graph, or its parts in order, checked against its certificate."""
        if certificate.graph_parts is None:
            path = self.directory.graph_path(certificate.timestamp)
            return [self._unchanged(path, certificate.graph_sha256)]
        known = self._parts.get(certificate.timestamp)
        if known is None:
            known = self._parts[certificate.timestamp] = self.directory.graph(certificate)
        return [self._unchanged(file.path, file.sha256) for file in known]

    def nodes_path(self, certificate: Certificate) -> Path:
        """Return the file of a node list, checked against its certificate."""
        if certificate.nodes_sha256 is None:
            raise Refusal(
                404,
                "no_node_list",
                "This release has no node list.",
                "Version 0.1.0 wrote none; use the node list of a later release.",
            )
        path = self.directory.nodes_path(certificate.nodes_sha256)
        return self._unchanged(path, certificate.nodes_sha256)

    def _unchanged(self, path: Path, sha256: str | None) -> Path:
        """Check the digest of a file, again only if the file was touched since."""
        try:
            status = path.stat()
            look = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._checked.get(path) != look:
                with path.open("rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
                if found != sha256:
                    raise VerificationFailed(f"{path} was changed after it was published")
                self._checked[path] = look
        except OSError:
            raise VerificationFailed(f"{path} is missing") from None
        return path
