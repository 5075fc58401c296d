"""Which timestamps a table has: declared, or depending on as few rows as possible.

The set of timestamps is public, so it must not depend on edges. It can't if it was declared
(`DeclaredTimes`). Otherwise integers run from the first to the last without a gap
(`ConsecutiveTimes`): only the two ends depend on rows. Dates and labels have no successor, so those
that occur are the timestamps (`OccurringTimes`), and `Stream.times` says that they come from the
edges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph.formats.columns import find_column
from psgraph.graph.formats.files import open_table
from psgraph.streams.time_source import TimeSource
from psgraph.streams.times import MOST_EMPTY, Time, as_integer, instant, time_text

__all__ = [
    "Clock",
    "ConsecutiveTimes",
    "DeclaredTimes",
    "OccurringTimes",
    "TimesLike",
    "read_times",
]

TimesLike = str | PathLike[str] | Iterable[Time]

_RANGE = re.compile(r"\s*([+-]?\d{1,18})\.\.([+-]?\d{1,18})\s*", re.ASCII)


class Clock(Protocol):
    """The timestamps of a table, in order."""

    def advance(self, value: Any) -> Iterable[str]:
        """Move on to a value of t; return the times between, which have no row.

        Refuses a value that is not a timestamp, or that is not later than the one before.
        """

    def name(self, value: Any) -> str:
        """Return the public time of a value of t."""

    def problem(self, value: Any) -> str | None:
        """Return what is wrong with a row of a value that is no timestamp."""

    def rest(self) -> Iterable[str]:
        """Return the times after the last value, which have no row."""


class OccurringTimes:
    """The values that occur, in ascending order: they come from the edges."""

    source = TimeSource("values")

    def __init__(self) -> None:
        self._last: Any = None

    def advance(self, value: Any) -> Iterable[str]:
        if self._last is not None and value < self._last:
            raise DataError(
                "'t' is smaller than in the row before\n"
                "Sort the rows by t, so that each timestamp occurs once, in one piece."
            )
        self._last = value
        return ()

    def name(self, value: Any) -> str:
        return time_text(value)

    def problem(self, value: Any) -> str | None:  # noqa: ARG002
        return None

    def rest(self) -> Iterable[str]:
        return ()


class ConsecutiveTimes(OccurringTimes):
    """All integers from the first that occurs to the last: the ends come from the edges.

    >>> clock = ConsecutiveTimes()
    >>> [list(clock.advance(value)) for value in (3, 4, 7)]
    [[], [], ['5', '6']]
    """

    source = TimeSource("integers")

    def advance(self, value: int) -> Iterable[str]:
        last = value - 1 if self._last is None else self._last
        super().advance(value)
        if value - last > MOST_EMPTY:
            raise DataError(
                f"more than {MOST_EMPTY:,} integers between this 't' and the one before\n"
                "Integer timestamps are consecutive: number them 0, 1, 2, …, or list those that "
                "exist with times=… (--times FILE)."
            )
        return map(str, range(last + 1, value))


@dataclass(frozen=True)
class DeclaredTimes:
    """Timestamps declared by the publisher: none depends on an edge.

    Attributes
    ----------
    times
        In order. A `range`, or integers, dates or text.
    labels
        Public names for them; without, the times name themselves.
    """

    times: Sequence[Time]
    labels: Sequence[str] | None = None

    @property
    def source(self) -> TimeSource:
        """Where the timestamps come from. It does not change when a stream is extended."""
        if isinstance(self.times, range):
            return TimeSource("range", first=self.times[0])
        return TimeSource("listed")

    @property
    def integers(self) -> bool:
        """Whether all times are integers."""
        return isinstance(self.times, range) or None not in map(as_integer, self.times)

    def clock(self, type_: pa.DataType) -> Clock:
        """Return the clock for a column t of a type; refuse times that it can't hold."""
        keys: list[Any] = [_key(time, type_) for time in self.times]
        if None in keys:
            kind = "integers" if pa.types.is_integer(type_) else "ISO dates"
            raise DataError(
                f"the column 't' holds {kind}, but a declared time is different\n"
                "Declare the times in the form that the table has.",
                code="times_type",
            )
        ordered = pa.types.is_integer(type_) or _is_date(type_)
        if len(set(keys)) < len(keys) or (ordered and sorted(keys) != keys):
            raise DataError(
                "the declared times must be distinct and in order\nSort the list.",
                code="times_order",
            )
        names = self.labels or [time_text(time) for time in self.times]
        return _Listed(dict(zip(keys, range(len(keys)), strict=True)), names, type_)


class _Listed:
    """A clock over declared times; rows have to come in their order."""

    def __init__(self, index: dict[Any, int], names: Sequence[str], type_: pa.DataType) -> None:
        self._index, self._names, self._type = index, names, type_
        self._next = 0

    def advance(self, value: Any) -> Iterable[str]:
        found = self._index[_key(value, self._type)]
        if found < self._next:
            raise DataError(
                "'t' is earlier than in the row before, in the order of the declared times\n"
                "Sort the rows, so that each timestamp occurs once, in one piece."
            )
        missing = self._names[self._next : found]
        self._next = found + 1
        return missing

    def problem(self, value: Any) -> str | None:
        if _key(value, self._type) in self._index:
            return None
        return (
            "'t' is not one of the declared times\n"
            "Declare it too (times=…, --times), or leave the row out."
        )

    def name(self, value: Any) -> str:
        return self._names[self._index[_key(value, self._type)]]

    def rest(self) -> Iterable[str]:
        return self._names[self._next :]


def _is_date(type_: pa.DataType) -> bool:
    return pa.types.is_date(type_) or pa.types.is_timestamp(type_)


def _key(time: Time, type_: pa.DataType) -> int | str | None:
    """Return what times of a column are compared by; None for a time that it can't hold."""
    if pa.types.is_integer(type_):
        return as_integer(time)
    return instant(time) if _is_date(type_) else time_text(time)


def read_times(times: TimesLike) -> DeclaredTimes:
    """Read declared times: ``"0..11"``, the path of a file, or times in order.

    A file has one time per row, in the column ``t`` or in the only column. A column ``label``
    gives them public names.

    >>> read_times("0..11").source.first, len(read_times(["spring", "summer"]).times)
    (0, 2)
    """
    labels = None
    listed: Sequence[Time]
    if isinstance(times, str) and (ends := _RANGE.fullmatch(times)):
        listed = range(int(ends[1]), int(ends[2]) + 1)
    elif isinstance(times, str | PathLike):
        listed, labels = _read_file(Path(times))
    elif isinstance(times, range) and times.step == 1:
        listed = times
    elif not isinstance(times, Iterable):
        raise InvalidArgument(
            f"times lists timestamps, not one {type(times).__name__}\n"
            "Give '0..11', a file, or a list in order."
        )
    else:
        listed = list(times)
    if not listed:
        raise InvalidArgument(
            "times lists no timestamp\nGive 0..11, or a file with one per line.", code="no_times"
        )
    if len(listed) > MOST_EMPTY:
        raise InvalidArgument(
            f"times lists {len(listed):,} timestamps; at most {MOST_EMPTY:,} can be declared",
            code="too_many_times",
        )
    if not all(isinstance(time, Time) for time in listed):
        raise InvalidArgument("times must be integers, dates or text", code="not_a_time")
    return DeclaredTimes(listed, labels)


def _read_file(path: Path) -> tuple[list[Time], list[str] | None]:
    table = open_table(path, blanks=False)
    names = table.names or []
    t, label = find_column(names, "t"), find_column(names, "label")
    if t is None and table.width - (label is not None) == 1:
        t = 1 if label == 0 else 0
    if t is None:
        raise DataError(
            f"{table.name}: a list of times needs one column, or a column 't'\n"
            "Give one time per line, and its public name in a column 'label' if it has one.",
            code="times_columns",
        )
    indices = {"t": t} if label is None else {"t": t, "label": label}
    columns = {
        name: (index, table.type_of(index) if table.typed else pa.string())
        for name, index in indices.items()
    }
    found: dict[str, list[Any]] = {name: [] for name in columns}
    for batch in table.batches(columns):
        for name, column in batch.columns.items():
            found[name] += column.to_pylist()
    return found["t"], [time_text(label) for label in found["label"]] if "label" in found else None
