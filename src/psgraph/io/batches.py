"""What reading a table file yields: batches of columns that know where their rows came from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

__all__ = ["Batch", "Columns", "TableFile", "shortest_failure"]

Columns = Mapping[str, tuple[int, pa.DataType]]
"""The columns to read: for each the name it goes by, its place in the file and its type."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    columns
        The columns asked for, all of one length.
    locate
        Says where in the file a row of this batch stands, such as ``line 17``.
    """

    columns: Mapping[str, pa.Array]
    locate: Callable[[int], str]


class TableFile(Protocol):
    """A file of rows and columns that can be read from the start as often as wanted.

    Attributes
    ----------
    name
        The name of the file, for messages.
    typed
        Whether the file itself says which type a column has.
    names
        The names of the columns; None for a text file without a line of names.
    empty
        Whether it holds no row at all.
    """

    name: str
    typed: bool
    names: list[str] | None
    empty: bool

    def type_of(self, index: int) -> pa.DataType:
        """The type of a column; in a text file what its first value looks like."""

    def batches(self, columns: Columns, *, optional: Collection[str] = ()) -> Iterator[Batch]:
        """Read columns, a bounded number of rows at a time.

        A missing value is refused, except in the `optional` columns.
        """


def shortest_failure(size: int, fails: Callable[[int], bool]) -> int:
    """The smallest k ≤ size with ``fails(k)``, where failing is for good. O(log size) calls.

    >>> shortest_failure(100, lambda k: k >= 17)
    17
    """
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if fails(middle):
            high = middle
        else:
            low = middle
    return high
