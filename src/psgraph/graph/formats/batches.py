"""Batches of columns that know where in a file their rows are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

__all__ = ["Batch", "Columns", "Report", "missing_value", "shortest_failure"]

Columns = Mapping[str, tuple[int, pa.DataType]]
"""The columns to read: name in the batch -> index in the file and type."""

Report = Callable[[str, str, str], None]
"""Called for a row that can't be read: where it is, why, and its text. For the curator only."""


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

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def without(self, rows: Collection[int]) -> Batch:
        """Return the batch without some of its rows."""
        keep = np.ones(len(self), dtype=bool)
        keep[list(rows)] = False
        kept, mask = np.flatnonzero(keep), pa.array(keep)
        return Batch(
            {name: array.filter(mask) for name, array in self.columns.items()},
            lambda row: self.locate(int(kept[row])),
        )


def missing_value(name: str) -> str:
    """Return the complaint about a row without a value."""
    return f"no value for {name}\nRepair the row or leave it out."


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
