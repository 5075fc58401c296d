"""Batches of columns that know where in a file their rows are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

__all__ = ["Batch", "Columns", "shortest_failure"]

Columns = Mapping[str, tuple[int, pa.DataType]]
"""The columns to read: name in the batch -> index in the file and type."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    columns
        The columns asked for, all of one length.
    locate
        Returns where in the file a row of this batch is, such as ``line 17``.
    """

    columns: Mapping[str, pa.Array]
    locate: Callable[[int], str]


def shortest_failure(size: int, fails: Callable[[int], bool]) -> int:
    """Return the smallest k ≤ size with ``fails(k)``, which is monotone. O(log size) calls.

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
