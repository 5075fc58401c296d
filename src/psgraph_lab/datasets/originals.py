"""Original files of the paper's data sets, as rows: the ends of edges, one timestamp at a time.

The internet graphs have one file per day. Cit-HepPh and Reddit have dated rows, which are split
into consecutive months.

*Cit-HepPh*: citations by the month of the citing paper. Ids are arXiv's, YYMMNNN as a number, so
leading zeros are lost. The file of dates lists a cross-listed paper under its id prefixed with 11,
with the date of cross-listing, often in addition to its own row; some papers have only that row.

*Reddit*: links from posts of one subreddit to another. The source has two files, links in titles
and links in bodies of posts, and the paper does not say which it used. All readings that the
available files allow are counted, and the one closest to the paper's counts is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.errors import DataError
from psgraph.graph import Snapshot
from psgraph.graph.formats.columns import Columns, find_column, find_ends
from psgraph.graph.formats.files import open_table
from psgraph.graph.formats.tables import from_columns
from psgraph.graph.formats.text import TextFile
from psgraph_lab.datasets.catalogue import find_dataset
from psgraph_lab.datasets.counts import Counter, distance
from psgraph_lab.datasets.further import Counts

__all__ = [
    "CITATION_MONTHS",
    "HYPERLINK_MONTHS",
    "MonthRange",
    "Rows",
    "citation_rows",
    "graph_rows",
    "hyperlink_rows",
    "month_numbers",
    "open_original",
    "paper_months",
    "read_columns",
]


@dataclass(frozen=True)
class Rows:
    """One timestamp, still with directions, duplicates and self-loops."""

    time: str
    heads: pa.ChunkedArray
    tails: pa.ChunkedArray

    def snapshot(self) -> Snapshot:
        """The undirected graph over the nodes that have an edge, as in the paper."""
        return from_columns(
            self.heads, self.tails, graph_type=Snapshot, roster_from_edges=True, time=self.time
        )

    def self_loops(self) -> list[int | str]:
        """The nodes with a self-loop."""
        loops: list[int | str] = (
            self.heads.filter(pc.equal(self.heads, self.tails)).unique().to_pylist()
        )
        return loops


def open_original(path: Path, *, columns: int) -> TextFile:
    """Open a text file whose rows have at least `columns` columns."""
    table = open_table(path)
    if not isinstance(table, TextFile) or table.empty or table.width < columns:
        raise DataError(
            f"{path.name} is not the original file: text with {columns} columns was expected\n"
            "Copy or download it again."
        )
    return table


def read_columns(table: TextFile, columns: Columns) -> dict[str, pa.ChunkedArray]:
    """Read entire columns of a text file."""
    pieces: dict[str, list[pa.Array]] = {name: [] for name in columns}
    for batch in table.batches(columns):
        for name, column in batch.columns.items():
            pieces[name].append(column)
    return {name: pa.chunked_array(pieces[name], columns[name][1]) for name in columns}


def graph_rows(files: Iterable[Path]) -> Iterator[Rows]:
    """Read SNAP edge lists, one per day: two columns of ids, possibly followed by others.

    The last eight digits of a file name are its day.
    """
    for file in files:
        table = open_original(file, columns=2)
        ends = read_columns(table, {"u": (0, pa.int64()), "v": (1, pa.int64())})
        day = file.name.removesuffix(".gz").removesuffix(".txt")[-8:]
        yield Rows(f"{day[:4]}-{day[4:6]}-{day[6:]}", ends["u"], ends["v"])


def month_numbers(times: pa.ChunkedArray) -> NDArray[np.int64]:
    """Months since January 1970.

    >>> import datetime
    >>> month_numbers(pa.chunked_array([[datetime.datetime(1971, 2, 3)]], pa.timestamp("us")))
    array([13])
    """
    moments = times.to_numpy().astype("datetime64[us]")
    months: NDArray[np.int64] = moments.astype("datetime64[M]").astype(np.int64)
    return months


@dataclass(frozen=True)
class MonthRange:
    """`count` consecutive months, starting at `first`."""

    first: str
    count: int

    def contains(self, months: NDArray[np.int64]) -> NDArray[np.bool_]:
        start = self._start
        inside: NDArray[np.bool_] = (months >= start) & (months < start + self.count)
        return inside

    @property
    def _start(self) -> int:
        return int(np.datetime64(self.first, "M").astype(np.int64))

    def rows(
        self, months: NDArray[np.int64], heads: pa.ChunkedArray, tails: pa.ChunkedArray, *, of: str
    ) -> Iterator[Rows]:
        """Split rows by month; raises if a month has none, since the file must be incomplete.

        >>> ids = pa.chunked_array([[1, 2]])
        >>> cut = MonthRange("1970-01", 2).rows(np.array([1, 0]), ids, ids, of="a file")
        >>> [(rows.time, rows.heads.to_pylist()) for rows in cut]
        [('1970-01', [2]), ('1970-02', [1])]
        """
        names = np.datetime_as_string(np.datetime64(self.first, "M") + np.arange(self.count))
        order = np.argsort(months, kind="stable")
        cuts = np.searchsorted(months[order], self._start + np.arange(self.count + 1))
        empty = names[cuts[1:] == cuts[:-1]]
        if empty.size:
            shown = ", ".join(empty[:3]) + (", …" if empty.size > 3 else "")
            raise DataError(
                f"{of}: {empty.size} of the {self.count} months from {names[0]} to {names[-1]} "
                f"have no rows ({shown})\n"
                "The file is incomplete. Copy or download it again."
            )
        for name, start, end in zip(names, cuts[:-1], cuts[1:], strict=True):
            chosen = pa.array(order[start:end])
            yield Rows(str(name), heads.take(chosen), tails.take(chosen))


CITATION_MONTHS = MonthRange("1997-01", 36)
_ALL_CITATIONS = 421_578
_SEVEN_DIGITS = 10**7


def citation_rows(citations: Path, dates: Path, remarks: list[str]) -> Iterator[Rows]:
    """Yield the citations made by the papers of each month, both papers within the range.

    Remarks about the files are appended to `remarks`.
    """
    papers, months = paper_months(dates)
    table = open_original(citations, columns=2)
    ends = read_columns(table, {"u": (0, pa.int64()), "v": (1, pa.int64())})
    rows = len(ends["u"])
    if rows < _ALL_CITATIONS:
        remarks.append(f"a partial copy: {rows:,} of {_ALL_CITATIONS:,} citations")
    citing = _months_of(ends["u"].to_numpy(), papers, months)
    cited = _months_of(ends["v"].to_numpy(), papers, months)
    undated = int(np.count_nonzero((citing == _UNDATED) | (cited == _UNDATED)))
    if undated:
        remarks.append(f"citations omitted because a paper has no date: {undated:,}")
    inside = CITATION_MONTHS.contains(citing) & CITATION_MONTHS.contains(cited)
    chosen = pa.array(inside)
    heads, tails = ends["u"].filter(chosen), ends["v"].filter(chosen)
    yield from CITATION_MONTHS.rows(citing[inside], heads, tails, of=citations.name)


_UNDATED = np.iinfo(np.int64).min


def _months_of(ids: Integers, papers: Integers, months: Integers) -> Integers:
    index = np.minimum(np.searchsorted(papers, ids), papers.size - 1)
    return np.where(papers[index] == ids, months[index], _UNDATED)


def paper_months(dates: Path) -> tuple[Integers, Integers]:
    """The ids of all dated papers, ascending, and the month of each.

    If a paper has several rows, its own take precedence over the cross-listing, then the earliest.
    """
    table = open_original(dates, columns=2)
    read = read_columns(table, {"id": (0, pa.int64()), "time": (1, pa.timestamp("us"))})
    ids, months = read["id"].to_numpy(), month_numbers(read["time"])
    crossed = ids >= _SEVEN_DIGITS
    plain = np.where(ids >= 10 * _SEVEN_DIGITS, ids - 11 * _SEVEN_DIGITS, ids)
    plain = np.where(crossed & (plain == ids), ids - 11 * _SEVEN_DIGITS // 10, plain)
    if ids.size and (plain.min() < 0 or plain.max() >= _SEVEN_DIGITS):
        raise DataError(
            f"{dates.name} is not the original file: ids of at most seven digits were expected, "
            "optionally prefixed with 11\nCopy or download it again."
        )
    order = np.lexsort((months, crossed, plain))
    papers = plain[order]
    first = np.append(True, papers[1:] != papers[:-1])
    return papers[first], months[order][first]


HYPERLINK_MONTHS = MonthRange("2014-01", 24)


class Links(NamedTuple):
    """The links of one file: month, from, to."""

    months: NDArray[np.int64]
    heads: pa.ChunkedArray
    tails: pa.ChunkedArray


def hyperlink_rows(files: Mapping[str, Path], remarks: list[str]) -> Iterator[Rows]:
    """Yield the links of each month, in the reading closest to the paper's counts.

    The counts of every reading are appended to `remarks`.
    """
    paper = find_dataset("reddit").paper
    assert paper is not None
    parts = {name: _links(path) for name, path in files.items()}
    readings = {_short(name): [part] for name, part in parts.items()}
    if len(parts) > 1:
        readings["both"] = list(parts.values())
    best: tuple[float, str, list[Rows]] | None = None
    for name, links in readings.items():
        rows = list(_cut(links))
        counts = _counted(rows)
        remarks.append(
            f"{name}: {counts.nodes:,} nodes, {counts.edges:,} edges, "
            f"{counts.self_loops:,} self-loops"
        )
        far = distance(counts, paper)
        if best is None or far < best[0]:
            best = far, name, rows
    assert best is not None
    remarks.append(f"used: {best[1]}" + ("" if len(parts) > 1 else ", the only file available"))
    yield from best[2]


def _short(name: str) -> str:
    """The name of a reading.

    >>> _short("soc-redditHyperlinks-title.tsv")
    'titles'
    """
    return "titles" if "-title" in name else "bodies"


def _links(path: Path) -> Links:
    table = open_original(path, columns=4)
    names = table.names or []
    ends, time = find_ends(names), find_column(names, "timestamp")
    if ends is None or time is None:
        raise DataError(
            f"{path.name} is not the original file: columns SOURCE_SUBREDDIT, TARGET_SUBREDDIT "
            "and TIMESTAMP were expected\nCopy or download it again."
        )
    # Some subreddits have numeric names, so types can't be inferred from the first row.
    read = read_columns(
        table,
        {
            "u": (ends[0], pa.string()),
            "v": (ends[1], pa.string()),
            "time": (time, pa.timestamp("us")),
        },
    )
    months = month_numbers(read["time"])
    inside = HYPERLINK_MONTHS.contains(months)
    chosen = pa.array(inside)
    return Links(months[inside], read["u"].filter(chosen), read["v"].filter(chosen))


def _cut(links: list[Links]) -> Iterator[Rows]:
    months = np.concatenate([part.months for part in links])
    heads = [chunk for part in links for chunk in part.heads.chunks]
    tails = [chunk for part in links for chunk in part.tails.chunks]
    return HYPERLINK_MONTHS.rows(
        months,
        pa.chunked_array(heads, pa.string()),
        pa.chunked_array(tails, pa.string()),
        of="the file of links" if len(links) == 1 else "the files of links",
    )


def _counted(rows: list[Rows]) -> Counts:
    counter = Counter()
    for each in rows:
        counter.add(each.snapshot(), loops=each.self_loops())
    return counter.counts()
