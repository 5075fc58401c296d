"""The columns of an edge table: which is which, batches of them, and Arrow arrays as NumPy arrays.

Columns are found by the names they usually have, or as the user said. Case does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph.errors import DataError, InvalidArgument

__all__ = [
    "ALIASES",
    "BY_NAME",
    "ENDS",
    "HEADER_WORDS",
    "RENAME",
    "TIMES",
    "WEIGHT_PROBLEM",
    "Batch",
    "ColumnNames",
    "Columns",
    "Report",
    "as_arrow",
    "as_numpy",
    "describe_columns",
    "find_column",
    "find_ends",
    "list_names",
    "missing_value",
    "shortest_failure",
]

ENDS = (
    ("u", "v"),
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("fromnodeid", "tonodeid"),
    ("source_subreddit", "target_subreddit"),
)
TIMES = ("time", "timestamp", "date", "datetime")
HEADER_WORDS = frozenset(
    [*(end for pair in ENDS for end in pair), *TIMES, "t", "label", "id", "node", "until"]
)

#: The names that are recognised, for messages and help.
ALIASES = f"{', '.join(f'{u} and {v}' for u, v in ENDS[:4])}; {', '.join(TIMES)}"

_ROLES = ("u", "v", "t", "time", "weight")

_ONE_WAY = frozenset(
    [
        *(end for pair in ENDS[1:] for end in pair),
        *("caller", "callee", "sender", "receiver", "sender_id", "receiver_id"),
        *("origin", "destination", "payer", "payee", "buyer", "seller"),
        *("follower", "followee", "citing", "cited"),
    ]
)
"""Names of columns that say which end of an edge comes first."""


@dataclass(frozen=True)
class ColumnNames:
    """Which column is which: what the user named, otherwise the usual names.

    Attributes
    ----------
    chosen
        Role (``u``, ``v``, ``t``, ``time``, ``weight``) -> name of a column, or its number from 1.

    Examples
    --------
    >>> columns = ColumnNames.parse("u=caller,v=callee,time=start")
    >>> columns.ends(["start", "caller", "callee"], 3)
    (1, 2)
    >>> ColumnNames.parse("u=1,v=3").ends([], 3)
    (0, 2)
    """

    chosen: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, columns: str | Mapping[str, str | int] | None) -> ColumnNames:
        """Read ``u=caller,v=callee``, or a mapping of the same."""
        if columns is None:
            return BY_NAME
        pairs = (
            [part.partition("=")[::2] for part in columns.split(",")]
            if isinstance(columns, str)
            else [(str(role), str(name)) for role, name in dict(columns).items()]
        )
        chosen = {role.strip().lower(): name.strip().lower() for role, name in pairs}
        if not all(chosen.values()) or not {*chosen} <= {*_ROLES} or len(chosen) < len(pairs):
            raise InvalidArgument(
                f"columns={columns!r} does not say which column is which\n"
                "Give u=NAME,v=NAME and, where the table has it, time=NAME or t=NAME, and "
                "weight=NAME. A number counts columns from 1."
            )
        if len({*chosen.values()}) < len(chosen):
            raise InvalidArgument(f"columns={columns!r} names a column twice\nName each once.")
        if "t" in chosen and "time" in chosen:
            raise InvalidArgument(
                "columns names t and time\nKeep t for a table cut into timestamps, time for events."
            )
        return cls(chosen)

    @property
    def named(self) -> frozenset[str]:
        """The names that the line of names has to hold."""
        return frozenset(name for name in self.chosen.values() if not name.isdecimal())

    def ends(self, names: Sequence[str] | None, width: int) -> tuple[int, int] | None:
        """Return the indices of the two columns of ids, if the table has them."""
        if "u" not in self.chosen and "v" not in self.chosen:
            return find_ends(names or [])
        found = self.find(names, width, "u"), self.find(names, width, "v")
        return None if None in found else (found[0], found[1])  # type: ignore[return-value]

    def find(self, names: Sequence[str] | None, width: int, role: str, *usual: str) -> int | None:
        """Return the index of the column with a role: the chosen one, or one of the usual names."""
        name = self.chosen.get(role)
        if name is None:
            return find_column(names or [], *(usual or (role,)))
        if name.isdecimal():
            return int(name) - 1 if 1 <= int(name) <= width else None
        return find_column(names or [], name)

    def dropped(self, names: Sequence[str] | None, width: int) -> tuple[str, ...]:
        """Return what a table says about its edges, by the names of its columns alone.

        >>> ColumnNames.parse("u=caller,v=callee").dropped(["caller", "callee", "weight"], 3)
        ('direction', 'weights')
        """
        known, ends = names or [], self.ends(names, width)
        one_way = ends is not None and any(
            known[index].strip().lower() in _ONE_WAY for index in ends if index < len(known)
        )
        weights = self.find(names, width, "weight") is not None
        return (*(["direction"] if one_way else []), *(["weights"] if weights else []))

    def describe(self, *roles: str) -> str:
        """Return what was looked for, for a message.

        >>> ColumnNames.parse("u=caller,v=callee").describe("u", "v", "time")
        "'caller', 'callee' and 'time'"
        """
        words = [repr(self.chosen.get(role, role)) for role in roles]
        return f"{', '.join(words[:-1])} and {words[-1]}"


#: No column was named.
BY_NAME = ColumnNames()

RENAME = (
    "Rename the columns, or say which they are: columns='u=…,v=…' (--columns u=…,v=…). "
    f"Recognised names: {ALIASES}."
)


def find_column(names: Sequence[str], *wanted: str) -> int | None:
    """Return the index of the one column with one of the wanted names; refuse two.

    >>> find_column(["U", "V", "TIMESTAMP"], *TIMES)
    2
    """
    found = [index for index, name in enumerate(names) if name.strip().lower() in wanted]
    if len(found) > 1:
        raise DataError(
            f"columns {list_names([names[index] for index in found])} mean the same\nKeep one."
        )
    return found[0] if found else None


def find_ends(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the indices of the two id columns, by the first pair of names that is complete."""
    for heads, tails in ENDS:
        head, tail = find_column(names, heads), find_column(names, tails)
        if head is not None and tail is not None:
            return head, tail
    return None


def list_names(names: Sequence[str]) -> str:
    """Format column names for a message, shortened when there are many.

    >>> list_names(["t", "u"]), list_names([])
    ("'t', 'u'", 'none')
    """
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown}, … ({len(names)} in all)" if len(names) > 12 else shown or "none"


# ---- batches of columns that know where in a file their rows are ----

Columns = Mapping[str, tuple[int, pa.DataType]]
"""The columns to read: name in the batch -> index in the file and type."""


def describe_columns(names: Sequence[str] | None, columns: Columns) -> dict[str, str]:
    """Return in words which column is read as what. The types may come from a private row.

    >>> describe_columns(["caller", "callee"], {"u": (0, pa.int64()), "v": (1, pa.string())})
    {'u': "'caller' as int64", 'v': "'callee' as string"}
    """
    return {
        role: f"{index + 1 if names is None else repr(names[index])} as {type_}"
        for role, (index, type_) in columns.items()
    }


Report = Callable[[str, str, str], None]
"""Called for a row that can't be read: where it is, why, and its text. For the curator only."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    columns
        The requested columns, all of one length.
    locate
        Returns where in the file a row of this batch is, such as ``line 17``.
    padded
        Returns whether ids that were read as integers had leading zeros. Curator only.
    """

    columns: Mapping[str, pa.Array]
    locate: Callable[[int], str]
    padded: Callable[[], bool] = lambda: False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def without(self, rows: Collection[int]) -> Batch:
        """Return the batch without some of its rows."""
        keep = np.ones(len(self), dtype=bool)
        keep[list(rows)] = False
        return self.where(keep)

    def where(self, keep: NDArray[np.bool_]) -> Batch:
        """Return the batch with some of its rows only."""
        kept, mask = np.flatnonzero(keep), pa.array(keep)
        return Batch(
            {name: array.filter(mask) for name, array in self.columns.items()},
            lambda row: self.locate(int(kept[row])),
        )


WEIGHT_PROBLEM = (
    "a weight must be an integer of at least 1, below 2⁶³\n"
    "Leave out rows without weight, and bin amounts to a public grid of integers."
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


# ---- Arrow and NumPy, without Arrow's own conversions: they import pandas, which is slow ----


def as_numpy(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Convert an Arrow array; numbers without missing values are not copied if in one chunk.

    >>> as_numpy(pa.chunked_array([[1, 2], [3]])), as_numpy(pa.array(["a"]))
    (array([1, 2, 3]), array(['a'], dtype=object))
    """
    kinds = pa.types
    plain = kinds.is_integer(array.type) or kinds.is_floating(array.type)
    if array.null_count or not plain:
        if isinstance(array, pa.ChunkedArray):
            return array.to_numpy()
        return array.to_numpy(zero_copy_only=False)
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    dtype = np.dtype(array.type.to_pandas_dtype())
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype, len(chunk), chunk.offset * dtype.itemsize)
        for chunk in chunks
        if len(chunk)
    ]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def as_arrow(array: NDArray[Any]) -> pa.Array:
    """Convert a NumPy array of numbers, without copying it.

    >>> as_arrow(np.array([1, 2])).to_pylist()
    [1, 2]
    """
    plain = np.ascontiguousarray(array)
    kind = pa.from_numpy_dtype(plain.dtype)
    return pa.Array.from_buffers(kind, plain.size, [None, pa.py_buffer(plain)])
