"""Text files as blocks of whole lines, plain or gzipped, in memory that stays small."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from psgraph.errors import DataError

__all__ = ["blocks"]

LONGEST_LINE = 1 << 20


def blocks(path: Path, *, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, about `size` bytes at a time, with the number of the first of them.

    Line ends come out as LF; an empty file has no lines. Files that are not text (NUL bytes,
    UTF-16, no line ends) and damaged gzip files are refused.
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
        raise DataError(
            f"{path.name}: the gzip data is damaged or cut off\nCopy the file again."
        ) from None
    except OSError as error:
        raise DataError(f"{path.name} can't be read: {error.strerror or 'I/O error'}") from None
    if rest:
        yield line, _checked(rest + b"\n", line, path.name)


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    with path.open("rb") as stream:
        zipped = stream.read(2) == b"\x1f\x8b"
    if path.suffix.lower() == ".gz" and not zipped and path.stat().st_size:
        raise DataError(f"{path.name} is not gzipped\nCopy the file again, or drop the .gz.")
    return gzip.open(path, "rb") if zipped else path.open("rb")


def _without_byte_order_mark(piece: bytes, name: str) -> bytes:
    if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{name} is UTF-16 text\nSave the file as UTF-8.")
    return piece.removeprefix(codecs.BOM_UTF8)


def _checked(block: bytes, line: int, name: str) -> bytes:
    if b"\0" in block:
        number = line + block.count(b"\n", 0, block.index(b"\0"))
        raise DataError(
            f"{name}, line {number}: this is not text\n"
            "Give UTF-8 text, plain or gzipped, or Parquet."
        )
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
        if b"\r" in block:
            raise DataError(f"{name}: stray carriage returns\nEnd lines with LF or CRLF.")
    return block
