"""Downloads of releases: published files as they are, and other forms made from them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.csv
from fastapi import Request, Response
from fastapi.responses import FileResponse, StreamingResponse

from psgraph.publication.export import graphml_lines
from psgraph.publication.reading import Releases

if TYPE_CHECKING:
    from psgraph.service.streams import Stream

__all__ = ["certificate_file", "edges_file", "nodes_file"]

PARQUET = "application/vnd.apache.parquet"
_SMALL = 4 << 20  # bytes


def edges_file(stream: Stream, timestamp: int, format: str, request: Request) -> Response:
    """Return the synthetic graph of a release.

    Privacy: a function of published files. The entity tag is the digest in the certificate.
    """
    certificate = stream.shelf.certificate(timestamp)
    tag = f'"{certificate.graph_sha256}-{format}"'
    if request.headers.get("If-None-Match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    name = f"{stream.name}-{timestamp:06d}.{format}"
    path = stream.shelf.graph_path(certificate)
    if format == "parquet":
        return _file(path, name, tag)
    releases = Releases(stream.shelf.directory)
    headers = _headers(name, tag)
    if format == "csv":
        sink = io.BytesIO()
        pyarrow.csv.write_csv(releases.edges(timestamp), sink)
        return Response(sink.getvalue(), headers=headers, media_type="text/csv")
    lines = graphml_lines(releases[timestamp].graph)
    return StreamingResponse(lines, headers=headers, media_type="application/graphml+xml")


def certificate_file(stream: Stream, timestamp: int, request: Request) -> Response:
    """Return a certificate, byte by byte as it was published."""
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
    """Return a Parquet file: a small one at once, a large one piece by piece."""
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
