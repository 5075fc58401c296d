"""Downloads of releases: as published, or in other formats.

Privacy: everything here is a function of published files.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import Request, Response
from fastapi.responses import FileResponse, StreamingResponse

from psgraph.errors import DataError
from psgraph.publication.certificate import Certificate
from psgraph.publication.export import csv_chunks
from psgraph.publication.graphml import graphml_chunks
from psgraph.service.problems import Refusal

if TYPE_CHECKING:
    from psgraph.service.streams import Stream

__all__ = [
    "EDGES_TYPES",
    "PARQUET",
    "certificate_file",
    "edges_file",
    "is_large",
    "nodes_file",
    "released",
]

PARQUET = "application/vnd.apache.parquet"
ARROW = "application/vnd.apache.arrow.stream"
TAR = "application/x-tar"
EDGES_TYPES = (PARQUET, TAR, "text/csv", "application/graphml+xml", ARROW)
"""What `edges_file` returns, by format."""

_TEXTS = ("csv", "graphml")
_BATCH = 1 << 16  # rows
_SMALL = 4 << 20  # bytes
_PIECE = 1 << 20
_LARGE = 100_000  # edges


def released(stream: Stream, timestamp: int) -> Certificate:
    """Return the certificate of a release; refuse a timestamp that is not released."""
    certificates = stream.releases.refresh()
    if timestamp >= len(certificates):
        raise Refusal(
            404,
            "not_released",
            "This timestamp is not released.",
            "List the releases; the state of the timestamp tells when it is due.",
        )
    return certificates[timestamp]


def is_large(stream: Stream, timestamp: int) -> bool:
    """Whether it takes long to write a release in another format."""
    return released(stream, timestamp).edges > _LARGE


def edges_file(
    stream: Stream, timestamp: int, format: str, part: int | None, request: Request
) -> Response:
    """Return the synthetic graph of a release; its entity tag is the digest in the certificate."""
    certificate = released(stream, timestamp)
    tag = f'"{certificate.graph_sha256}-{format}{"" if part is None else f"-{part}"}"'
    name = f"{stream.name}-{timestamp:06d}.{format}"
    compressed = format in _TEXTS and _takes_gzip(request)
    if compressed:
        tag = f'{tag[:-1]}-gzip"'
    if _has(request, tag):
        return Response(status_code=304, headers={"ETag": tag, "Vary": "Accept-Encoding"})
    files = stream.releases.graph_files(timestamp)
    if part is not None:
        return _part(files, part, format, name, tag, request)
    if format == "parquet":
        if certificate.graph_parts is None:
            return _file(files[0], name, tag, request)
        return _tar(files, name.replace(".parquet", ".tar"), tag)
    headers = _headers(name, tag)
    if format == "arrow":
        return StreamingResponse(_arrow(files), headers=headers, media_type=ARROW)
    headers |= {"Vary": "Accept-Encoding"}
    if compressed:
        headers["Content-Encoding"] = "gzip"
    if format == "csv":
        chunks = csv_chunks(stream.releases, timestamp)
        if certificate.graph_parts is None and not compressed:
            return Response(b"".join(chunks), headers=headers, media_type="text/csv")
        sent = _gzipped(chunks) if compressed else chunks
        return StreamingResponse(sent, headers=headers, media_type="text/csv")
    chunks = graphml_chunks(stream.releases[timestamp].graph)
    try:
        started: Iterator[bytes] = chain([next(chunks)], chunks)
    except DataError as error:  # an id that XML can't hold
        message, _, _ = str(error).partition("\n")
        remedy = "Download the release as parquet or csv."
        raise Refusal(409, error.code or "refused", f"{message}.", remedy) from None
    sent = _gzipped(started) if compressed else started
    return StreamingResponse(sent, headers=headers, media_type="application/graphml+xml")


def _has(request: Request, tag: str) -> bool:
    """Whether a client has this content: one of the tags in its list, or any."""
    listed = request.headers.get("If-None-Match", "")
    tags = {each.strip().removeprefix("W/") for each in listed.split(",")}
    return bool(tags & {tag, "*"})


def _takes_gzip(request: Request) -> bool:
    """Whether a client takes a compressed response."""
    for each in request.headers.get("Accept-Encoding", "").split(","):
        name, _, quality = each.partition(";")
        if name.strip().lower() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0")
    return False


def _gzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    for chunk in chunks:
        if packed := packer.compress(chunk):
            yield packed
    yield packer.flush()


def _arrow(files: list[Path]) -> Iterator[bytes]:
    """Yield the edges as a stream of Arrow, a batch at a time."""
    schema = pq.read_schema(files[0]).remove_metadata()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        for path in files:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_BATCH):
                    writer.write_batch(batch.replace_schema_metadata(None))
                    yield _taken(sink)
    yield _taken(sink)


def _taken(sink: io.BytesIO) -> bytes:
    content = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return content


def _part(
    files: list[Path], part: int, format: str, name: str, tag: str, request: Request
) -> Response:
    """Return one file of a graph."""
    if format != "parquet" or part >= len(files):
        raise Refusal(
            404,
            "no_such_part",
            "The graph has no such part.",
            "Parts are Parquet files, and the certificate states how many there are. Leave part "
            "out to get all of them.",
        )
    return _file(files[part], name.replace(".parquet", f"-{files[part].name}"), tag, request)


def _tar(files: list[Path], name: str, tag: str) -> Response:
    """Return the parts of a graph as one archive, which unpacks to a directory."""
    headers = _headers(name, tag)
    return StreamingResponse(_archived(files), headers=headers, media_type=TAR)


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
    certificate = released(stream, timestamp)
    tag = f'"{certificate.digest}"'
    if _has(request, tag):
        return Response(status_code=304, headers={"ETag": tag})
    content, name = certificate.to_json().encode(), f"{stream.name}-{timestamp:06d}.json"
    return Response(content, headers=_headers(name, tag), media_type="application/json")


def nodes_file(stream: Stream, timestamp: int, request: Request) -> Response:
    """Return the public node list of a release."""
    certificate = released(stream, timestamp)
    path = stream.releases.nodes_file(timestamp)
    if path is None:
        raise Refusal(
            404,
            "no_node_list",
            "This release has no node list.",
            "Version 0.1.0 wrote none; use the node list of a later release.",
        )
    tag = f'"{certificate.nodes_sha256}"'
    if _has(request, tag):
        return Response(status_code=304, headers={"ETag": tag})
    name = f"{stream.name}-{timestamp:06d}-nodes.parquet"
    return _file(path, name, tag, request)


def _file(path: Path, name: str, tag: str, request: Request) -> Response:
    """Return a Parquet file; a large one is streamed, and so are ranges of it."""
    headers = _headers(name, tag) | {"Accept-Ranges": "bytes"}
    if path.stat().st_size <= _SMALL and "Range" not in request.headers:
        return Response(path.read_bytes(), headers=headers, media_type=PARQUET)
    return FileResponse(path, headers=headers, media_type=PARQUET)


def _headers(name: str, tag: str) -> dict[str, str]:
    return {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'attachment; filename="{name}"',
    }
