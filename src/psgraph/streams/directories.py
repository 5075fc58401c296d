"""Streams from a directory or a glob with one file for every timestamp."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Snapshot
from psgraph.graph.formats.columns import ENDS, RENAME
from psgraph.graph.formats.files import SUFFIXES, TableFile, open_table, stem, uncompressed
from psgraph.graph.formats.parquet import ParquetFile
from psgraph.graph.formats.tables import is_text
from psgraph.graph.formats.text import TextFile
from psgraph.streams.nodes import Nodes
from psgraph.streams.rows import Reading
from psgraph.streams.sequences import FileSequence, step_of_names
from psgraph.streams.stream import Stream
from psgraph.streams.time_source import TimeSource

__all__ = [
    "directory_stream",
    "file_snapshots",
    "glob_stream",
    "is_table",
    "name_order",
]


def directory_stream(directory: Path, nodes: Nodes, reading: Reading) -> Stream:
    """Read the table files of a directory, in the order of their names.

    Hidden files, other directories and files with other endings (a README, certificates) are
    left alone.
    """
    try:
        entries = list(directory.iterdir())
    except OSError as error:
        raise DataError(
            f"{directory} can't be listed: {error.strerror or 'I/O error'}\nCheck its permissions."
        ) from None
    files = [entry for entry in entries if is_table(entry)]
    if not files:
        raise DataError(
            f"{directory} holds no file to read\n"
            f"Put one file per timestamp there, ending in {', '.join(SUFFIXES)} (or that and .gz "
            "or .zst)."
        )
    return _stream(files, nodes, reading, f"{directory.name or directory}, {len(files)} files")


def glob_stream(pattern: str, nodes: Nodes, reading: Reading) -> Stream:
    """Read all files that match a pattern, in the order of their names."""
    # Path.glob refuses patterns that begin at the root.
    files = [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207
    files = [file for file in files if not file.is_dir()]
    if not files:
        raise DataError(f"no file matches {pattern}\nCheck the path.")
    return _stream(files, nodes, reading, f"{pattern}, {len(files)} files")


def is_table(path: Path) -> bool:
    """Whether a file in a directory is a snapshot, by its name.

    >>> [is_table(Path(name)) for name in ("1.csv", "2.TXT.gz", ".3.csv", "4.csv.part")]
    [True, True, False, False]
    """
    name = uncompressed(path.name.lower())
    return not name.startswith(".") and name.endswith(SUFFIXES) and not path.is_dir()


def _stream(files: Sequence[Path], nodes: Nodes, reading: Reading, description: str) -> Stream:
    ordered = sorted(files, key=lambda file: (name_order(stem(file)), str(file)))
    times = [stem(file) for file in ordered]
    if len(set(times)) < len(times):
        raise DataError(
            f"{description}: two files have the same name but different endings\n"
            "A timestamp can occur only once. Remove one of them."
        )
    if reading.gaps is not None:
        _refuse_gaps(times, reading)
    stream = Stream(
        lambda: nodes.checked(file_snapshots(ordered, nodes, reading)),
        length=lambda: len(ordered),
        description=description,
        times=TimeSource("files"),
        bad_rows=reading.bad,
        unknown=nodes.unknown,
        nodes=nodes.count,
        kind=nodes.kind,
        unit=None if nodes.owners is None else nodes.owners.unit,
    )
    stream.dropped = reading.dropped(open_table(ordered[0], columns=reading.columns))
    return stream


def _refuse_gaps(times: Sequence[str], reading: Reading) -> None:
    """Refuse a missing file, by dates or integers in the names."""
    if reading.gaps != "refuse":
        raise InvalidArgument(
            "gaps='empty' (--gaps empty) is for a table\n"
            "Write an empty file for a timestamp without edges."
        )
    sequence = FileSequence(step_of_names(times))
    for before, time in pairwise(times):
        missing = sequence.missing([before], time)
        if missing:
            raise DataError(
                f"there is no file {missing[0]!r} before {time!r}\n"
                "Add it (an empty file is an empty snapshot), or leave out gaps='refuse' "
                "(--gaps refuse)."
            )


def name_order(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers inside a name by their value.

    >>> sorted(["day10", "day9"], key=name_order)
    ['day9', 'day10']
    """
    parts = re.split(r"(\d+)", name, flags=re.ASCII)
    return [(int(part), "") if i % 2 else (-1, part) for i, part in enumerate(parts)]


def file_snapshots(files: Iterable[Path], nodes: Nodes, reading: Reading) -> Iterator[Snapshot]:
    """Yield the snapshots of files, each read on demand; the name is the time.

    An empty file is an empty snapshot, even among Parquet files: a timestamp without edges is
    published like any other.
    """
    text: bool | None = None
    reading.bad.begin()
    for file in files:
        table = open_table(file, columns=reading.columns)
        ends = _ends(table, nodes, reading)
        reading.check(table)
        columns = nodes.id_columns(table, ends, text=text or None, fixed=reading.bad.skipping)
        columns |= nodes.further_columns(table, reading.weight(table), *ends)
        gathered = nodes.gather(stem(file), (columns["u"][1], columns["v"][1]))
        for batch in reading.bad.read(table, columns):
            _refuse_lookalikes(table, batch.columns["u"], batch.columns["v"])
            further = (batch.columns.get(name) for name in ("weight", "owner"))
            gathered.add(batch.columns["u"], batch.columns["v"], *further)
        snapshot = gathered.snapshot()
        if snapshot.parts.edge_count:
            if text not in (None, snapshot.roster.strings):
                raise DataError(
                    f"{table.name}: node ids mix types: earlier files have the other one\n"
                    "Use integers throughout or strings throughout."
                )
            text = snapshot.roster.strings
        yield snapshot


def _ends(table: TableFile, nodes: Nodes, reading: Reading) -> tuple[int, int]:
    """Return the columns of ids: by their names, or the first two of a text file without names."""
    if not table.width:
        return 0, 1  # an empty file
    ends = reading.columns.ends(table.names, table.width)
    if ends is not None:
        if not reading.columns.chosen:
            _refuse_ambiguous(table, ends, nodes)
        return ends
    if (
        not isinstance(table, TextFile)
        or reading.columns.chosen
        or (table.names and table.odd_first_line)
    ):
        raise DataError(
            f"{table.name}: expected columns {reading.columns.describe('u', 'v')}, found "
            f"{table.listing}\n{RENAME}"
        )
    if table.odd_first_line:
        raise DataError(
            f"{table.name}: the first line is unlike the second and names no column 'u' and 'v'\n"
            "Name the columns u and v, or start the line with # to skip it. (The line is "
            "not shown: it may be an edge.)"
        )
    table.take_first_line_as_row()
    if table.width == 1:
        raise DataError(f"{table.name} has one column\nAn edge needs two: u and v.")
    return 0, 1


def _refuse_ambiguous(table: TableFile, ends: tuple[int, int], nodes: Nodes) -> None:
    """Refuse a first line of column names that could as well be an edge between two nodes."""
    if isinstance(table, ParquetFile) or nodes.roster is None:
        return
    assert table.names is not None
    head, tail = ([table.names[index]] for index in ends)
    if all((found >= 0).all() for found in nodes.everyone.ends(head, tail)):
        raise DataError(
            f"{table.name}: the first line may be column names or an edge, since nodes have the "
            "same names\nUse other column names, such as source,target.",
            code="header_or_edge",
        )


def _refuse_lookalikes(table: TableFile, heads: pa.Array, tails: pa.Array) -> None:
    """Refuse rows that would be read differently if they came first.

    In a file without a header line, a row that looks like a comment or like column names would be
    an edge or not depending on whether another edge stands above it; with another delimiter in
    it, it would decide how all rows are split.
    """
    if isinstance(table, ParquetFile) or table.names is not None or not is_text(heads.type):
        return
    pairs = pc.binary_join_element_wise(pc.utf8_lower(heads), pc.utf8_lower(tails), ",")
    refused = pc.or_(pc.match_substring_regex(heads, "^[#%]"), pc.is_in(pairs, _header_pairs()))
    if table.other_delimiters:
        for ids in (heads, tails):
            marked = pc.match_substring_regex(ids, f"[{table.other_delimiters}]")
            refused = pc.or_(refused, marked)
    if pc.any(refused).as_py():
        raise DataError(
            f"{table.name}: an edge looks like a comment, like column names, or holds another "
            "delimiter\nStart the file with the line u,v, or use Parquet."
        )


def _header_pairs() -> pa.Array:
    """All pairs of words that name the two ends, as they would stand in a line."""
    return pa.array([f"{a},{b}" for pair in ENDS for a, b in (pair, pair[::-1])])
