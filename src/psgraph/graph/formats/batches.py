"""What reading a table file yields: batches of columns that know where their rows came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

__all__ = ["Batch", "Columns", "shortest_failure"]

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
