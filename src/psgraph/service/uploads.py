"""Uploads: received into a private file within limits, and checked before they are read.

Sizes are bounded as sent and decompressed, rows are counted before a table is built, and Parquet is
refused by its metadata. Only then do the readers of `psgraph.streams` see the file. Messages are
constant: they say nothing about the content.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from fastapi import Request
from starlette.requests import ClientDisconnect

from psgraph.graph.formats.text import COMPRESSED
from psgraph.service.problems import Refusal, refusal_of
from psgraph.service.settings import Limits

if TYPE_CHECKING:
    from psgraph.service.service import Service

__all__ = ["MEDIA_TYPES", "Upload", "receive", "received", "received_from", "unreadable"]

Kind = Literal["csv", "parquet"]

_PIECE = 1 << 18
_LONGEST_ID = 1 << 16  # bytes
_VARIABLE = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
)
_GZIP, _ZSTD = COMPRESSED[".gz"], COMPRESSED[".zst"]
_LONGEST_WAIT = 30.0  # seconds, for another upload to finish

MEDIA_TYPES: dict[str, Kind] = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
}


@dataclass(frozen=True)
class Upload:
    """A received file: plain text or Parquet, within the limits. Private, and deleted soon."""

    path: Path
    kind: Kind


@asynccontextmanager
async def receive(
    chunks: AsyncIterator[bytes], media_type: str | None, directory: Path, limits: Limits
) -> AsyncIterator[Upload]:
    """Write what a client sends to a file, check it, and delete it at the end of the block.

    Raises
    ------
    Refusal
        415 for an unsupported media type, 413 above a limit, 408 if it takes too long, 422 if it
        is damaged. Messages are constant.
    """
    kind = MEDIA_TYPES.get((media_type or "").partition(";")[0].strip().lower())
    if kind is None:
        raise Refusal(
            415,
            "media_type",
            "The service takes text/csv and application/vnd.apache.parquet.",
            "Set the header Content-Type, and send the file as the body.",
        )
    stem = directory / secrets.token_hex(8)
    raw, path = stem.with_suffix(".raw"), stem.with_suffix(f".{kind}")
    try:
        try:
            async with asyncio.timeout(limits.upload_seconds):
                await _write(chunks, raw, limits.upload_bytes)
        except TimeoutError:
            raise Refusal(
                408,
                "too_slow",
                f"The upload took longer than {limits.upload_seconds:g} seconds.",
                "Send it over a faster connection, or send less at once.",
                {"Connection": "close"},
            ) from None
        except ClientDisconnect:
            raise refusal_of(400) from None  # no one reads the response
        await asyncio.to_thread(_prepare, raw, path, kind, limits)
        yield Upload(path, kind)
    finally:
        raw.unlink(missing_ok=True)
        path.unlink(missing_ok=True)


async def _write(chunks: AsyncIterator[bytes], path: Path, most: int) -> None:
    size = 0
    with _new_file(path) as file:
        async for chunk in chunks:
            size += len(chunk)
            if size > most:
                raise _too_large(most)
            file.write(chunk)


@asynccontextmanager
async def received(request: Request, service: Service) -> AsyncIterator[Upload]:
    """Receive the body of a request; the file is deleted at the end of the block."""
    limits = service.settings.limits
    announced = request.headers.get("Content-Length", "")
    if announced.isascii() and announced.isdigit() and int(announced) > limits.upload_bytes:
        raise _too_large(limits.upload_bytes)
    media_type = request.headers.get("Content-Type")
    async with received_from(request.stream(), media_type, service) as upload:
        yield upload


@asynccontextmanager
async def received_from(
    chunks: AsyncIterator[bytes], media_type: str | None, service: Service
) -> AsyncIterator[Upload]:
    """Receive a file piece by piece; it is deleted at the end of the block."""
    try:
        async with asyncio.timeout(_LONGEST_WAIT):
            await service.uploading.acquire()
    except TimeoutError:
        raise Refusal(
            503,
            "busy",
            "The service is receiving as many uploads as it allows.",
            "Try again in a moment.",
            {"Retry-After": "5"},
        ) from None
    try:
        limits = service.settings.limits
        async with receive(chunks, media_type, service.incoming, limits) as upload:
            yield upload
    finally:
        service.uploading.release()


# ---- checks ----


def _new_file(path: Path) -> IO[bytes]:
    """Open a new file that only its owner can read."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _too_large(most: int) -> Refusal:
    """Return the refusal of an upload above the limit of bytes."""
    return Refusal(
        413,
        "too_large",
        f"The upload has more than {most:,} bytes, as sent or decompressed.",
        "Send less, or ask the operator for a higher limit.",
        {"Connection": "close"},
    )


def _too_many_rows(most: int) -> Refusal:
    return Refusal(
        413,
        "too_many_rows",
        f"The upload has more than {most:,} rows.",
        "Send less, or ask the operator for a higher limit.",
    )


def unreadable() -> Refusal:
    """Return the refusal of a file that can't be read; it says nothing about its content."""
    return Refusal(
        422,
        "unreadable",
        "The upload can't be read as a table of edges.",
        "Post it to /preview of the stream, which tells a curator what is wrong with it.",
    )


def _prepare(raw: Path, path: Path, kind: Kind, limits: Limits) -> None:
    """Move a received file to its place, decompressed; refuse one above the limits."""
    with raw.open("rb") as file:
        magic = file.read(4)
    if not magic:
        raise Refusal(
            422,
            "no_content",
            "The request has no content.",
            "Send the file as the body. An empty table still has its header line, such as u,v.",
        )
    if kind == "parquet":
        raw.rename(path)
        _check_parquet(path, limits)
        return
    if magic.startswith(b"PAR1"):
        raise unreadable()
    rows = size = 0
    with raw.open("rb") as file, _new_file(path) as plain:
        for piece in _decompressed(file, magic):
            size += len(piece)
            rows += piece.count(b"\n")
            if size > limits.upload_bytes:
                raise _too_large(limits.upload_bytes)
            if rows > limits.upload_rows + 1:
                raise _too_many_rows(limits.upload_rows)
            plain.write(piece)


def _decompressed(file: IO[bytes], magic: bytes) -> Iterator[bytes]:
    """Yield the content in pieces of bounded size, however far it expands."""
    try:
        if magic.startswith(_GZIP):
            yield from _gunzipped(file)
        elif magic.startswith(_ZSTD):
            stream = pa.CompressedInputStream(file, "zstd")
            while piece := stream.read(_PIECE):
                yield piece
        else:
            while piece := file.read(_PIECE):
                yield piece
    except (zlib.error, OSError, EOFError):
        raise unreadable() from None


def _gunzipped(file: IO[bytes]) -> Iterator[bytes]:
    engine = zlib.decompressobj(wbits=31)
    while piece := file.read(_PIECE):
        while piece:
            yield engine.decompress(piece, _PIECE)
            piece = engine.unconsumed_tail
            if engine.eof and engine.unused_data:  # several members, one after the other
                piece, engine = engine.unused_data, zlib.decompressobj(wbits=31)
    if not engine.eof:
        raise EOFError


def _check_parquet(path: Path, limits: Limits) -> None:
    """Refuse a Parquet file that is damaged, or above the limits once decoded."""
    try:
        with pq.ParquetFile(path) as file:
            found: Any = file.metadata
            rows, size = found.num_rows, 0
            for group in range(found.num_row_groups):
                for column in range(found.num_columns):
                    size += found.row_group(group).column(column).total_uncompressed_size
            if rows > limits.upload_rows:
                raise _too_many_rows(limits.upload_rows)
            if size > limits.upload_bytes or size < 0:
                raise _too_large(limits.upload_bytes)
        _check_dictionaries(path, limits)
    except (pa.ArrowException, OSError, ValueError):
        raise unreadable() from None


def _check_dictionaries(path: Path, limits: Limits) -> None:
    """Refuse text that a dictionary of a few long values would expand beyond the limit.

    Read with its dictionary, a column takes about as much memory as space on disk.
    """
    with pq.ParquetFile(path) as file:
        names = [
            field.name
            for field in file.schema_arrow
            if any(is_kind(field.type) for is_kind in _VARIABLE)
        ]
    if not names:
        return
    decoded = 0
    with pq.ParquetFile(path, read_dictionary=names) as file:
        for batch in file.iter_batches(columns=names):
            for column in batch.columns:
                if not pa.types.is_dictionary(column.type):
                    decoded += column.nbytes
                    continue
                longest = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
                if longest > _LONGEST_ID:
                    raise unreadable()
                decoded += longest * len(column)
                if decoded > 8 * limits.upload_bytes:
                    raise _too_large(limits.upload_bytes)
