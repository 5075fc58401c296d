"""Reddit: links from posts of one subreddit to another, by month.

The source has two files, links in titles and links in bodies of posts, and the paper does not
say which it used. All readings that the available files allow are counted, and the one closest to
the paper's counts is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph.errors import DataError
from psgraph.graph.formats.columns import find_column, find_ends
from psgraph_lab.datasets.catalogue import Counts, find_dataset
from psgraph_lab.datasets.counting import Counter, distance
from psgraph_lab.datasets.months import MonthRange, month_numbers
from psgraph_lab.datasets.rows import Rows, open_original, read_columns

__all__ = ["MONTHS", "hyperlink_rows"]

MONTHS = MonthRange("2014-01", 24)


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
    inside = MONTHS.contains(months)
    chosen = pa.array(inside)
    return Links(months[inside], read["u"].filter(chosen), read["v"].filter(chosen))


def _cut(links: list[Links]) -> Iterator[Rows]:
    months = np.concatenate([part.months for part in links])
    heads = [chunk for part in links for chunk in part.heads.chunks]
    tails = [chunk for part in links for chunk in part.tails.chunks]
    return MONTHS.rows(
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
