"""Uploads: received into a private file within limits, and checked before they are read.

Sizes are bounded as sent and decompressed, rows are counted before a table is built, and Parquet is
refused by its metadata. The memory that reading will take is estimated, and reserved before the
readers of `psgraph.streams` see the file. Messages are constant: they say nothing about the
content.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import zlib
from collections import Counter
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
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal, refusal_of
from psgraph.service.settings import Limits

if TYPE_CHECKING:
    from psgraph.service.service import Service

__all__ = [
    "MEDIA_TYPES",
    "Upload",
    "UploadSpace",
    "receive",
    "received",
    "received_from",
    "unreadable",
]

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

# Bytes of memory that reading takes at most, measured: for an integer, for a text and each of its
# letters, in at most four columns (u, v, time, weight).
_INTEGER, _TEXT, _LETTER = 48, 160, 5
_COLUMNS = 4
_OF_INTEGERS = b'0123456789-,;\t\r\n "'

MEDIA_TYPES: dict[str, Kind] = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
}


@dataclass(frozen=True)
class Upload:
    """A received file: plain text or Parquet, within the limits. Private, and deleted soon.

    Attributes
    ----------
    memory
        The bytes of memory that reading it takes at most; an estimate.
    """

    path: Path
    kind: Kind
    memory: int


class UploadSpace:
    """What uploads share: places to be received, and memory to be read.

    Parameters
    ----------
    limits
        How many places and how much memory there are. A token can take half of the places.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._places: Counter[str] = Counter()
        self._memory = 0
        self._freed, self._turn = asyncio.Condition(), asyncio.Lock()

    @asynccontextmanager
    async def place(self, caller: str) -> AsyncIterator[None]:
        """Wait for a place and hold it during the block; refuse with 503 after a while."""
        most = self._limits.concurrent_uploads
        of_one = (most + 1) // 2
        async with _patience(), self._freed:
            await self._freed.wait_for(
                lambda: self._places.total() < most and self._places[caller] < of_one
            )
            self._places[caller] += 1
        try:
            yield
        finally:
            async with self._freed:
                self._places -= Counter([caller])
                self._freed.notify_all()

    @asynccontextmanager
    async def memory(self, needed: int) -> AsyncIterator[None]:
        """Wait for memory, in order, and reserve it during the block."""
        most = self._limits.upload_memory
        async with _patience(), self._turn, self._freed:
            await self._freed.wait_for(lambda: self._memory + needed <= most)
            self._memory += needed
        try:
            yield
        finally:
            async with self._freed:
                self._memory -= needed
                self._freed.notify_all()


@asynccontextmanager
async def _patience() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_LONGEST_WAIT):
            yield
    except TimeoutError:
        raise Refusal(
            503,
            "busy",
            "The service is receiving as many uploads as it allows.",
            "Try again in a moment.",
            {"Retry-After": "5"},
        ) from None


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
        yield Upload(path, kind, await asyncio.to_thread(_prepare, raw, path, kind, limits))
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
async def received(request: Request, service: Service, caller: Identity) -> AsyncIterator[Upload]:
    """Receive the body of a request; the file is deleted at the end of the block."""
    limits = service.settings.limits
    announced = request.headers.get("Content-Length", "")
    if announced.isascii() and announced.isdigit() and int(announced) > limits.upload_bytes:
        raise _too_large(limits.upload_bytes)
    media_type = request.headers.get("Content-Type")
    async with received_from(request.stream(), media_type, service, caller) as upload:
        yield upload


@asynccontextmanager
async def received_from(
    chunks: AsyncIterator[bytes], media_type: str | None, service: Service, caller: Identity
) -> AsyncIterator[Upload]:
    """Receive a file piece by piece; it is deleted at the end of the block."""
    space = service.upload_space
    async with (
        space.place(caller.token or ""),
        receive(chunks, media_type, service.incoming, service.settings.limits) as upload,
        space.memory(upload.memory),
    ):
        yield upload


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


def _too_much_memory(most: int) -> Refusal:
    return Refusal(
        413,
        "too_much_memory",
        f"Reading the upload could take more than {most:,} bytes of memory.",
        "Send fewer rows or shorter ids at once, or ask the operator for a higher limit.",
    )


def unreadable() -> Refusal:
    """Return the refusal of a file that can't be read; it says nothing about its content."""
    return Refusal(
        422,
        "unreadable",
        "The upload can't be read as a table of edges.",
        "Post it to /preview of the stream, which tells a curator what is wrong with it.",
    )


def _prepare(raw: Path, path: Path, kind: Kind, limits: Limits) -> int:
    """Move a received file to its place, decompressed; refuse one above the limits.

    Returns the memory that reading it takes.
    """
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
        memory = _checked_parquet(path, limits)
    elif magic.startswith(b"PAR1"):
        raise unreadable()
    else:
        memory = _checked_text(raw, path, magic, limits)
    if memory > limits.upload_memory:
        raise _too_much_memory(limits.upload_memory)
    return memory


def _checked_text(raw: Path, path: Path, magic: bytes, limits: Limits) -> int:
    """Decompress text within the limits; return the memory that reading it takes."""
    rows = size = 0
    columns, integers = _COLUMNS, True
    with raw.open("rb") as file, _new_file(path) as plain:
        for piece in _decompressed(file, magic):
            rest = piece
            if not size:
                names, _, rest = piece.partition(b"\n")
                columns = min(columns, 1 + sum(names.count(each) for each in b",;\t "))
            integers = integers and not rest.translate(None, _OF_INTEGERS)
            size += len(piece)
            rows += piece.count(b"\n")
            if size > limits.upload_bytes:
                raise _too_large(limits.upload_bytes)
            if rows > limits.upload_rows + 1:
                raise _too_many_rows(limits.upload_rows)
            plain.write(piece)
    cells = columns * (rows + 1)
    return _INTEGER * cells if integers else _TEXT * cells + _LETTER * size


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


def _checked_parquet(path: Path, limits: Limits) -> int:
    """Refuse a Parquet file that is damaged, or above the limits once decoded.

    Returns the memory that reading it takes: rows × width, whatever few bytes encode them.
    """
    try:
        with pq.ParquetFile(path) as file:
            found: Any = file.metadata
            rows, size = found.num_rows, 0
            texts = [
                field.name
                for field in file.schema_arrow
                if any(is_kind(field.type) for is_kind in _VARIABLE)
            ]
            for group in range(found.num_row_groups):
                for column in range(found.num_columns):
                    chunk = found.row_group(group).column(column)
                    size += chunk.total_uncompressed_size
                    if "DELTA_BYTE_ARRAY" in chunk.encodings:
                        raise _unknown_size()
            if rows > limits.upload_rows:
                raise _too_many_rows(limits.upload_rows)
            if size > limits.upload_bytes or size < 0:
                raise _too_large(limits.upload_bytes)
            columns = min(found.num_columns, _COLUMNS)
        if not texts:
            return int(_INTEGER * columns * rows)
        return int(_TEXT * columns * rows) + _LETTER * _letters(path, texts, limits)
    except (pa.ArrowException, OSError, ValueError):
        raise unreadable() from None


def _unknown_size() -> Refusal:
    """Return the refusal of text whose size is known only after decoding."""
    return Refusal(
        422,
        "encoding",
        "A column of the Parquet file has the encoding DELTA_BYTE_ARRAY.",
        "Write it with dictionaries or PLAIN, the defaults of most writers, or send CSV.",
    )


def _letters(path: Path, texts: list[str], limits: Limits) -> int:
    """Return the bytes of all texts, decoded; refuse long values and too many bytes.

    A dictionary of a few values can stand for many bytes. Read with its dictionary, a column takes
    about as much memory as space on disk.
    """
    decoded = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(columns=texts):
            for column in batch.columns:
                if not pa.types.is_dictionary(column.type):
                    decoded += column.nbytes
                    continue
                longest = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
                if longest > _LONGEST_ID:
                    raise unreadable()
                decoded += longest * len(column)
                if _LETTER * decoded > limits.upload_memory:
                    raise _too_much_memory(limits.upload_memory)
    return decoded
