"""The published releases of a stream, and their download: as published, or in other formats.

Privacy: everything here is a function of published files.
"""

from __future__ import annotations

import hashlib
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Request, Response
from fastapi.responses import FileResponse, StreamingResponse

from psgraph.errors import VerificationFailed
from psgraph.publication.certificate import Certificate
from psgraph.publication.export import csv_chunks, graphml_lines
from psgraph.publication.graph_files import PublishedFile
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.releases import Releases
from psgraph.service.problems import Refusal

if TYPE_CHECKING:
    from psgraph.service.streams import Stream

__all__ = ["Shelf", "certificate_file", "edges_file", "nodes_file"]

PARQUET = "application/vnd.apache.parquet"
_SMALL = 4 << 20  # bytes
_PIECE = 1 << 20

Look = tuple[int, int, int]
"""When a file was modified, its size and its inode."""


class Shelf:
    """The releases in a directory, by their certificates; each is read once, as none changes."""

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
                "List the releases; the state of the timestamp tells when it is due.",
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
        """Check the digest of a file, and again only if the file was modified since."""
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


def edges_file(
    stream: Stream, timestamp: int, format: str, part: int | None, request: Request
) -> Response:
    """Return the synthetic graph of a release; its entity tag is the digest in the certificate."""
    certificate = stream.shelf.certificate(timestamp)
    tag = f'"{certificate.graph_sha256}-{format}{"" if part is None else f"-{part}"}"'
    if request.headers.get("If-None-Match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    name = f"{stream.name}-{timestamp:06d}.{format}"
    files = stream.shelf.graph_files(certificate)
    if part is not None:
        return _part(files, part, format, name, tag)
    if format == "parquet":
        if certificate.graph_parts is None:
            return _file(files[0], name, tag)
        return _tar(files, name.replace(".parquet", ".tar"), tag)
    releases = Releases(stream.shelf.directory)
    headers = _headers(name, tag)
    if format == "csv":
        chunks = csv_chunks(releases, timestamp)
        if certificate.graph_parts is None:
            return Response(b"".join(chunks), headers=headers, media_type="text/csv")
        return StreamingResponse(chunks, headers=headers, media_type="text/csv")
    lines = graphml_lines(releases[timestamp].graph)
    return StreamingResponse(lines, headers=headers, media_type="application/graphml+xml")


def _part(files: list[Path], part: int, format: str, name: str, tag: str) -> Response:
    """Return one file of a graph."""
    if format != "parquet" or part >= len(files):
        raise Refusal(
            404,
            "no_such_part",
            "The graph has no such part.",
            "Parts are Parquet files, and the certificate states how many there are. Leave part "
            "out to get all of them.",
        )
    return _file(files[part], name.replace(".parquet", f"-{files[part].name}"), tag)


def _tar(files: list[Path], name: str, tag: str) -> Response:
    """Return the parts of a graph as one archive, which unpacks to a directory."""
    headers = _headers(name, tag)
    return StreamingResponse(_archived(files), headers=headers, media_type="application/x-tar")


def _archived(files: list[Path]) -> Iterator[bytes]:
    for path in files:
        entry = tarfile.TarInfo(f"{path.parent.name}/{path.name}")
        entry.size = path.stat().st_size
        yield entry.tobuf()
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield piece
        yield bytes(-entry.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def certificate_file(stream: Stream, timestamp: int, request: Request) -> Response:
    """Return a certificate, byte for byte as published."""
    certificate = stream.shelf.certificate(timestamp)
    tag = f'"{certificate.digest}"'
    if request.headers.get("If-None-Match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    content, name = certificate.to_json().encode(), f"{stream.name}-{timestamp:06d}.json"
    return Response(content, headers=_headers(name, tag), media_type="application/json")


def nodes_file(stream: Stream, timestamp: int, request: Request) -> Response:
    """Return the public node list of a release."""
    certificate = stream.shelf.certificate(timestamp)
    path = stream.shelf.nodes_path(certificate)
    tag = f'"{certificate.nodes_sha256}"'
    if request.headers.get("If-None-Match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    name = f"{stream.name}-{timestamp:06d}-nodes.parquet"
    return _file(path, name, tag)


def _file(path: Path, name: str, tag: str) -> Response:
    """Return a Parquet file; a large one is streamed."""
    headers = _headers(name, tag)
    if path.stat().st_size <= _SMALL:
        return Response(path.read_bytes(), headers=headers, media_type=PARQUET)
    return FileResponse(path, headers=headers, media_type=PARQUET)


def _headers(name: str, tag: str) -> dict[str, str]:
    return {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'attachment; filename="{name}"',
    }
