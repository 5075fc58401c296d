"""Delimited text, read block by block: CSV, TSV, and the edge lists of SNAP.

UTF-8, plain or compressed. Lines that start with ``#`` or ``%`` at the top are skipped; columns are
separated by tabs, commas, semicolons or runs of blanks, whichever the first line has. Arrow parses
the blocks. Its messages quote the cell that failed, so they are not passed on: the line is found
again here and described without its content.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Collection, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from psgraph.errors import DataError
from psgraph.graph.formats.columns import (
    BY_NAME,
    HEADER_WORDS,
    WEIGHT_PROBLEM,
    Batch,
    ColumnNames,
    Columns,
    Report,
    list_names,
    missing_value,
    shortest_failure,
)

__all__ = [
    "COMPRESSED",
    "TextFile",
    "blocks",
]

BLOCK_BYTES = 4 << 20
_DELIMITERS = "\t,;"  # the first of them that the first line holds, otherwise blanks
MISSING = frozenset(["", "nan", "na", "n/a", "<na>", "null", "none"])

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)  # a leading zero would be lost: that is a name
_MAY_BE_INTEGER = "^-?(0[xX][0-9a-fA-F]+|0*[0-9]{1,19})$"  # all forms that Arrow reads
_MAY_BE_TIME = "^[0-9]{4}-"
_PADDED = re.compile(rb"""0(?<![^\s",;]0)[\dxX]""")  # may be a part of a time
_DECIMAL = re.compile(r"-?\d+\.\d+", re.ASCII)
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d+)?)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)


class TextFile:
    """One delimited text file.

    Parameters
    ----------
    path
        The file.
    blanks
        Whether blanks separate columns in a file that has neither tab, comma nor semicolon.
    columns
        The columns that the user named.
    name
        The name for messages.

    Attributes
    ----------
    names
        The column names, if the first line has all columns that the user named; or, if none was
        named, a word of `HEADER_WORDS` and no number.
        Otherwise that line is a row, and private like any row: no message may quote it.
    odd_first_line
        Whether the first line has no numbers where the second has: an unknown header.
    """

    typed = False

    def __init__(
        self,
        path: Path,
        *,
        blanks: bool = True,
        columns: ColumnNames = BY_NAME,
        name: str | None = None,
    ) -> None:
        self.path, self.name = path, name or path.name
        self._delimiter = ","
        self._start, rows = self._peek(blanks)
        first, second = self._head = (*rows, [], [])[:2]
        self.width = len(first)
        words = {field.lower() for field in first}
        if columns.named:
            known = columns.named <= words
        else:
            known = bool(words & HEADER_WORDS) and not any(map(_NUMBER.fullmatch, words))
        self.names = first if known else None
        self.odd_first_line = (
            bool(second)
            and not any(map(_NUMBER.fullmatch, first[:2]))
            and all(map(_NUMBER.fullmatch, second[:2]))
        )

    @property
    def _first_row(self) -> list[str]:
        return self._head[0 if self.names is None else 1]

    @property
    def listing(self) -> str:
        """The known column names for a message; others are counted, since they may be ids."""
        return self.listed(HEADER_WORDS)

    def listed(self, words: Collection[str]) -> str:
        """The column names that are among `words`, for a message; others are counted."""
        first, _ = self._head
        known = [name for name in first if name.lower() in words]
        others = len(first) - len(known)
        if not known:
            return f"{others} with other names" if others > 1 else "one with another name"
        if not others:
            return list_names(known)
        return f"{list_names(known)} and {others} other{'' if others == 1 else 's'}"

    @property
    def other_delimiters(self) -> str:
        """The characters that would be the delimiter if the first line held them."""
        if self._delimiter == " ":  # tabs are blanks then
            return _DELIMITERS.replace("\t", "")
        return _DELIMITERS[: _DELIMITERS.index(self._delimiter)]

    @property
    def empty(self) -> bool:
        """Whether it holds no row at all."""
        return not self._first_row

    def take_first_line_as_row(self) -> None:
        """Treat the first line as a row: it only looked like column names."""
        self.names = None

    def take_first_line_as_names(self) -> None:
        """Treat the first line as column names, whatever it holds: the user said so."""
        self.names = self._head[0]

    def type_of(self, index: int) -> pa.DataType:
        """Return the type of the first value of a column: integer, decimal, time or text."""
        value = self._first_row[index] if index < len(self._first_row) else ""
        if _INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**63:
            return pa.int64()
        if _DECIMAL.fullmatch(value):
            return pa.float64()
        if time := _TIME.fullmatch(value):
            return pa.timestamp("us", "UTC" if time["zone"] else None)
        return pa.string()

    def batches(
        self, columns: Columns, *, optional: Collection[str] = (), bad: Report | None = None
    ) -> Iterator[Batch]:
        """Read columns from the first row on, some megabytes of text at a time.

        A missing value is refused, except in the `optional` columns. With `bad`, rows that can't
        be read are reported and left out.
        """
        if self.empty:
            return
        row_line = self._start + (self.names is not None)
        for line, block in blocks(self.path, size=BLOCK_BYTES):
            if line < row_line:
                block = _without_lines(block, row_line - line)
                line = row_line
            if self._delimiter == " ":
                block = _single_blanks(block)
            if not block.strip():
                continue
            try:
                arrays = self._parse(block, columns, optional)
            except _Unreadable:
                if bad is None:
                    raise self._failure(block, line, columns, optional) from None
                block = self._without_bad_lines(block, line, columns, optional, bad)
                if not block.strip():
                    continue
                try:
                    arrays = self._parse(block, columns, optional)
                except _Unreadable:  # a quote that reaches over lines
                    raise self._failure(block, line, columns, optional) from None
            padded = partial(self._padded, block, columns)
            yield Batch(arrays, _LineNumbers(block, line), padded)

    def _peek(self, blanks: bool) -> tuple[int, list[list[str]]]:
        """Return the line number of the first row below the comments, and the first two rows."""
        start = 1
        rows: list[list[str]] = []
        for first, block in blocks(self.path, size=1 << 16):
            for line, content in enumerate(block.split(b"\n")[:-1], first):
                if not content.strip() or (not rows and content.startswith((b"#", b"%"))):
                    continue
                if not rows:
                    start = line
                    self._delimiter = _delimiter(content, blanks)
                try:
                    rows.append([field.strip() for field in self._split(content)])
                except DataError as error:
                    raise DataError(f"{self.name}, line {line}: {error}") from None
                if len(rows) == 2:
                    return start, rows
        return start, rows

    def _split(self, content: bytes) -> list[str]:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise DataError("this is not UTF-8 text\nSave the file as UTF-8.") from None
        if self._delimiter == " ":
            return re.split("[ \t]+", text.strip(" \t"))
        try:
            return next(csv.reader([text], delimiter=self._delimiter), [])
        except csv.Error:
            raise DataError("it can't be cut into columns") from None

    def _parse(
        self, block: bytes, columns: Columns, optional: Collection[str]
    ) -> dict[str, pa.Array]:
        wanted = {f"f{index}": type_ for index, type_ in columns.values()}
        try:
            table = pa.csv.read_csv(
                pa.BufferReader(block),
                read_options=pa.csv.ReadOptions(column_names=[f"f{i}" for i in range(self.width)]),
                parse_options=pa.csv.ParseOptions(delimiter=self._delimiter),
                convert_options=pa.csv.ConvertOptions(
                    column_types=wanted,
                    include_columns=list(wanted),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
        except (pa.ArrowException, UnicodeError):
            raise _Unreadable from None
        arrays = {}
        for name, (index, type_) in columns.items():
            column = table[f"f{index}"].combine_chunks()
            if type_ == pa.string():
                column = pc.utf8_trim_whitespace(column)
                # A scalar made from a Python value would import pandas where it is installed.
                missing = pa.nulls(1, pa.string())[0]
                column = pc.if_else(pc.match_substring_regex(column, "^$"), missing, column)
            if column.null_count and name not in optional:
                raise _Unreadable
            arrays[name] = column
        return arrays

    def _fails(self, block: bytes, columns: Columns, optional: Collection[str]) -> bool:
        try:
            self._parse(block, columns, optional)
        except _Unreadable:
            return bool(block.strip())
        return False

    def _failure(
        self, block: bytes, line: int, columns: Columns, optional: Collection[str]
    ) -> DataError:
        """Find the first line that can't be read and say what is wrong with it."""
        lines = block.splitlines(keepends=True)
        bad = shortest_failure(
            len(lines), lambda k: self._fails(b"".join(lines[:k]), columns, optional)
        )
        reason = self._reason(lines[bad - 1], columns, optional)
        return DataError(f"{self.name}, line {line + bad - 1}: {reason}")

    def _without_bad_lines(
        self, block: bytes, line: int, columns: Columns, optional: Collection[str], bad: Report
    ) -> bytes:
        """Report the lines that can't be read and blank them.

        Missing values and cells of another form are found at once; other bad lines take
        O(log lines) parses each.
        """
        lines = block.split(b"\n")
        found: dict[int, tuple[str, str]] = {}

        def blank(index: int, reason: str) -> None:
            found[index] = reason, lines[index].decode(errors="replace")
            lines[index] = b""

        for index, content in enumerate(lines):
            if content and not content.strip():
                blank(index, "the row is blank\nLeave it out.")
        pieces = [(0, len(lines))]
        while pieces:
            start, stop = pieces.pop()
            if not self._fails(b"\n".join(lines[start:stop]) + b"\n", columns, optional):
                continue
            if stop - start == 1:
                blank(start, self._reason(lines[start], columns, optional))
            elif clear := self._clearly_bad(lines[start:stop], columns, optional):
                for index, reason in clear.items():
                    blank(start + index, reason)
                pieces.append((start, stop))
            else:
                middle = (start + stop) // 2
                pieces += [(start, middle), (middle, stop)]
        for index, (reason, text) in sorted(found.items()):
            bad(f"line {line + index}", reason, text)
        return b"\n".join(lines)

    def _clearly_bad(
        self, lines: list[bytes], columns: Columns, optional: Collection[str]
    ) -> dict[int, str]:
        """Return lines with a missing value or a cell of another form, and what is wrong."""
        text = {name: (index, pa.string()) for name, (index, _) in columns.items()}
        try:
            cells = self._parse(b"\n".join(lines) + b"\n", text, optional=columns)
        except _Unreadable:
            return {}
        filled = [index for index, content in enumerate(lines) if content]
        found: dict[int, str] = {}
        for name, (_, type_) in columns.items():
            if len(cells[name]) != len(filled):  # a quote that reaches over lines
                return {}
            pattern = _MAY_BE_INTEGER if type_ == pa.int64() else ""
            if pa.types.is_timestamp(type_):
                pattern = _MAY_BE_TIME
            good = pc.match_substring_regex(cells[name], pattern).fill_null(name in optional)
            for row in np.flatnonzero(~good.to_numpy(zero_copy_only=False)).tolist():
                value = cells[name][row].as_py() or ""
                found.setdefault(filled[row], _complaint(name, value, type_))
        return found

    def _padded(self, block: bytes, columns: Columns) -> bool:
        """Whether an id of a block that was read as an integer has leading zeros."""
        ids = [columns[name] for name in ("u", "v") if name in columns]
        text = {str(index): (index, pa.string()) for index, type_ in ids if type_ == pa.int64()}
        starts = (f"{mark}0".encode() for mark in f'{self._delimiter}\n "')
        possible = block.startswith(b"0") or any(start in block for start in starts)
        if not text or not possible or not _PADDED.search(block):  # cheapest test first
            return False
        cells = self._parse(block, text, optional=text).values()
        return any(pc.any(pc.match_substring_regex(each, "^0[0-9xX]")).as_py() for each in cells)

    def _reason(self, content: bytes, columns: Columns, optional: Collection[str]) -> str:
        """Say what is wrong with a line, without quoting it."""
        try:
            fields = self._split(content.rstrip(b"\n"))
        except DataError as error:
            return str(error)
        if len(fields) != self.width:
            return (
                f"{len(fields)} columns where the first line has {self.width}\n"
                "Give every row the same columns."
            )
        for name, (index, type_) in columns.items():
            if self._fails(content, {name: (index, type_)}, optional):
                return _complaint(name, fields[index].strip(), type_)
        return "the row can't be read\nRepair it or leave it out."


class _Unreadable(Exception):
    """A block can't be parsed, or lacks a value."""


def _delimiter(line: bytes, blanks: bool) -> str:
    found = (mark for mark in _DELIMITERS if mark.encode() in line)
    return next(found, " " if blanks else ",")


def _without_lines(block: bytes, count: int) -> bytes:
    start = 0
    for _ in range(count):
        start = block.find(b"\n", start) + 1
        if not start:
            return b""
    return block[start:]


def _single_blanks(block: bytes) -> bytes:
    """Reduce blanks to one between columns and none around them, as Arrow needs it."""
    if b"\t" in block or b"  " in block or b" \n" in block or b"\n " in block or block[:1] == b" ":
        block = re.sub(rb"(?m)^ | $", b"", re.sub(rb"[ \t]+", b" ", block))
    return block


class _LineNumbers:
    """Returns in which line the rows of a block are; the block is split once, when first asked."""

    def __init__(self, block: bytes, first: int) -> None:
        self._block, self._first = block, first

    @cached_property
    def _filled(self) -> list[int]:
        lines = enumerate(self._block.split(b"\n"), self._first)
        return [number for number, content in lines if content]

    def __call__(self, row: int) -> str:
        return f"line {self._filled[row]}"


def _complaint(name: str, value: str, type_: pa.DataType) -> str:
    if value.lower() in MISSING:
        return missing_value(name)
    if pa.types.is_timestamp(type_):
        return (
            f"{name} is not a time like those before it\n"
            "Use one ISO form throughout, such as 2004-01-05 or 2004-01-05T13:00:00."
        )
    if name == "weight":
        return WEIGHT_PROBLEM
    if name not in ("u", "v"):
        return f"{name} is not an integer like those before it\nRepair the row."
    if _INTEGER.fullmatch(value):
        return "an integer id is beyond 64 bits\nRead ids as text: ids='text' (--ids text)."
    return (
        "node ids mix types: text where the roster or the first row has integers\n"
        "Use integers throughout or strings throughout. If some names look like numbers, read "
        "all as text: ids='text' (--ids text)."
    )


# ---- blocks of complete lines, plain or compressed, in memory that stays small ----

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
