"""Cit-HepPh: citations by the month of the citing paper.

Ids are arXiv's, YYMMNNN as a number, so leading zeros are lost. The file of dates lists a
cross-listed paper under its id prefixed with 11, with the date of cross-listing, often in addition
to its own row; some papers have only that row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from psgraph._runtime.arrays import Integers
from psgraph.errors import DataError
from psgraph_lab.datasets.months import MonthRange, month_numbers
from psgraph_lab.datasets.rows import Rows, open_original, read_columns

__all__ = ["MONTHS", "citation_rows", "paper_months"]

MONTHS = MonthRange("1997-01", 36)
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
    inside = MONTHS.contains(citing) & MONTHS.contains(cited)
    chosen = pa.array(inside)
    heads, tails = ends["u"].filter(chosen), ends["v"].filter(chosen)
    yield from MONTHS.rows(citing[inside], heads, tails, of=citations.name)


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
