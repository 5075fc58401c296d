"""Checks of a received file before it is read: decompressed and counted, within the limits.

Nothing here builds a table, and messages are constant.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from psgraph.graph.formats.lines import COMPRESSED
from psgraph.service.problems import Refusal
from psgraph.service.settings import Limits

__all__ = ["Kind", "new_file", "prepare", "too_large", "unreadable"]

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


def new_file(path: Path) -> IO[bytes]:
    """Open a new file that only its owner can read."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def too_large(most: int) -> Refusal:
    """Return the refusal of what is above the limit of bytes."""
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
        "Post it to /preview of the stream: that tells a curator what is wrong with it.",
    )


def prepare(raw: Path, path: Path, kind: Kind, limits: Limits) -> None:
    """Move a received file to its place, decompressed; refuse one beyond the limits."""
    with raw.open("rb") as file:
        magic = file.read(4)
    if not magic:
        raise Refusal(
            422,
            "no_content",
            "The request has no content.",
            "Send the file as the body. An empty table is its line of column names, such as u,v.",
        )
    if kind == "parquet":
        raw.rename(path)
        _check_parquet(path, limits)
        return
    if magic.startswith(b"PAR1"):
        raise unreadable()
    rows = size = 0
    with raw.open("rb") as file, new_file(path) as plain:
        for piece in _decompressed(file, magic):
            size += len(piece)
            rows += piece.count(b"\n")
            if size > limits.upload_bytes:
                raise too_large(limits.upload_bytes)
            if rows > limits.upload_rows + 1:
                raise _too_many_rows(limits.upload_rows)
            plain.write(piece)


def _decompressed(file: IO[bytes], magic: bytes) -> Iterator[bytes]:
    """Yield the content in pieces of bounded size, whatever it expands to."""
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
    """Refuse a Parquet file that is damaged, or larger than the limits once it is decoded."""
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
                raise too_large(limits.upload_bytes)
        _check_dictionaries(path, limits)
    except (pa.ArrowException, OSError, ValueError):
        raise unreadable() from None


def _check_dictionaries(path: Path, limits: Limits) -> None:
    """Refuse text that a dictionary of few long values would expand beyond the limit.

    Read with its dictionary, a column takes about its size on the disk.
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
                    raise too_large(limits.upload_bytes)
