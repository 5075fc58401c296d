"""Split dated rows into consecutive months."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph.errors import DataError
from psgraph_lab.datasets.rows import Rows

__all__ = ["MonthRange", "month_numbers"]


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
