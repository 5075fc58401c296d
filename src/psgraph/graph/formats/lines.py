"""Text files as blocks of whole lines, plain or compressed, in memory that stays small."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from psgraph.errors import DataError

__all__ = ["COMPRESSED", "blocks"]

LONGEST_LINE = 1 << 20

#: Endings of compressed text files, and the first bytes of their content.
COMPRESSED = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}


def blocks(path: Path, *, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, about `size` bytes at a time, with the number of the first of them.

    Line ends come out as LF; an empty file has no lines. Files that are not text (NUL bytes,
    UTF-16, no line ends) and damaged compressed files are refused.
    """
    line, rest, started = 1, b"", False
    try:
        with _opened(path) as stream:
            while piece := stream.read(size):
                if not started:
                    piece, started = _without_byte_order_mark(piece, path.name), True
                end = piece.rfind(b"\n") + 1
                if not end:
                    rest += piece
                    if len(rest) > size + LONGEST_LINE:
                        raise DataError(f"{path.name}: no line ends found\nIs it a text file?")
                    continue
                block, rest = rest + piece[:end], piece[end:]
                yield line, _checked(block, line, path.name)
                line += block.count(b"\n")
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise _damaged(path, "gzip") from None
    except OSError as error:
        if error.errno is None:  # Arrow's, about the content
            raise _damaged(path, "zstd") from None
        raise DataError(f"{path.name} can't be read: {error.strerror or 'I/O error'}") from None
    if rest:
        yield line, _checked(rest + b"\n", line, path.name)


def _damaged(path: Path, kind: str) -> DataError:
    return DataError(f"{path.name}: the {kind} data is damaged or cut off\nCopy the file again.")


def _opened(path: Path) -> IO[bytes] | Any:
    with path.open("rb") as stream:
        magic = stream.read(4)
    suffix = path.suffix.lower()
    if magic and suffix in COMPRESSED and not magic.startswith(COMPRESSED[suffix]):
        raise DataError(
            f"{path.name} is not compressed\nCopy the file again, or drop the {suffix}."
        )
    if magic.startswith(COMPRESSED[".gz"]):
        return gzip.open(path, "rb")
    if magic.startswith(COMPRESSED[".zst"]):
        return pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")
    return path.open("rb")


def _without_byte_order_mark(piece: bytes, name: str) -> bytes:
    if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{name} is UTF-16 text\nSave the file as UTF-8.")
    return piece.removeprefix(codecs.BOM_UTF8)


def _checked(block: bytes, line: int, name: str) -> bytes:
    if b"\0" in block:
        number = line + block.count(b"\n", 0, block.index(b"\0"))
        raise DataError(
            f"{name}, line {number}: this is not text\n"
            "Give UTF-8 text, plain or compressed, or Parquet."
        )
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
        if b"\r" in block:
            raise DataError(f"{name}: stray carriage returns\nEnd lines with LF or CRLF.")
    return block
