"""Times: integers, ISO dates and instants, one at a time and in columns.

An instant is a number of microseconds since 1970, in UTC unless a time says its zone.
"""

from __future__ import annotations

import re
import time as clock
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.errors import DataError
from psgraph.graph.formats.columns import as_numpy
from psgraph.graph.formats.tables import is_text

__all__ = [
    "MOST_EMPTY",
    "Time",
    "as_integer",
    "column_instants",
    "has_zone",
    "instant",
    "microseconds",
    "now",
    "row_instants",
    "time_text",
]

Time = str | int | date | datetime

#: The most timestamps without an edge that are filled in; beyond it the times are probably wrong.
MOST_EMPTY = 1_000_000

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d\d", re.ASCII)
_ZONE = re.compile(r".*(Z|[+-]\d\d(:?\d\d)?)", re.ASCII | re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 and 9999
_OUT_OF_RANGE = (
    "a time lies outside the years 1 to 9999\n"
    "Numbers are seconds since 1970: divide milliseconds by 1000."
)
_UNREADABLE = "a time can't be read\nUse one ISO form throughout, such as 2004-01-05T13:00:00."
_NUMBER, _ZONED = r"^[+-]?\d+(\.\d+)?$", r"\d(Z|[+-]\d\d:?\d\d)$"


def now() -> int:
    """Return the present instant in microseconds since 1970."""
    return clock.time_ns() // 1000


def as_integer(time: Time) -> int | None:
    """Return the time as an integer, if it is one.

    >>> as_integer("17"), as_integer("2004-01-05")
    (17, None)
    """
    if isinstance(time, int):
        return int(time)
    return int(time) if isinstance(time, str) and _INTEGER.fullmatch(time.strip()) else None


def instant(time: Time) -> int | None:
    """Return an ISO date or datetime as microseconds since 1970, otherwise None.

    A time without a zone is in UTC.

    >>> instant("1970-01-01T00:00:01"), instant("1970-01-02"), instant("1970-02"), instant("soon")
    (1000000, 86400000000, 2678400000000, None)
    """
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if not isinstance(time, datetime):
        text = str(time).strip()
        try:
            time = datetime.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)
        except ValueError:
            return None
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def time_text(time: Any) -> str:
    """Return the public name of a time: ISO form for dates, otherwise its plain text.

    >>> time_text(date(2004, 1, 5)), time_text(17)
    ('2004-01-05', '17')
    """
    return time.isoformat() if isinstance(time, date | datetime) else str(time).strip()


def has_zone(time: Time) -> bool:
    """Whether a time says its zone.

    >>> has_zone("2004-01-05T13:00Z"), has_zone("2004-01-05T13:00:00-05:00"), has_zone("2004-01-05")
    (True, True, False)
    """
    if isinstance(time, str):
        _, clock_part, rest = time.partition(":")
        return bool(clock_part) and _ZONE.fullmatch(rest) is not None
    return isinstance(time, datetime) and time.tzinfo is not None


def microseconds(times: pa.Array) -> Integers:
    """Convert times to microseconds since 1970: numbers are seconds, text is ISO in UTC.

    >>> microseconds(pa.array([1, 60])), microseconds(pa.array(["1970-01-02"]))
    (array([ 1000000, 60000000]), array([86400000000]))
    """
    return column_instants(times)[0]


def column_instants(times: pa.Array) -> tuple[Integers, bool]:
    """Convert times like `microseconds`; also return whether they say their zone (numbers do)."""
    kinds = pa.types
    if kinds.is_integer(times.type) or kinds.is_floating(times.type):
        return _seconds(times), True
    if not (kinds.is_date(times.type) or kinds.is_timestamp(times.type) or is_text(times.type)):
        raise DataError(f"the times must be ISO dates or seconds since 1970, not {times.type}")
    try:
        if is_text(times.type):
            times = _instants_of_text(times)
        elif kinds.is_date(times.type):
            times = times.cast(pa.timestamp("s"))
        zone = times.type.tz
        counted = times.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        raise DataError(_UNREADABLE) from None
    if not ((counted >= _FIRST_SECOND * _SECOND) & (counted < (_LAST_SECOND + 1) * _SECOND)).all():
        raise DataError(_OUT_OF_RANGE)
    return counted, zone is not None


def _seconds(times: pa.Array) -> Integers:
    seconds = times.to_numpy(zero_copy_only=False)
    if not ((seconds >= _FIRST_SECOND) & (seconds <= _LAST_SECOND)).all():
        raise DataError(_OUT_OF_RANGE)
    whole = seconds.astype(np.int64)
    return whole * _SECOND + np.floor((seconds - whole) * _SECOND).astype(np.int64)


def _instants_of_text(times: pa.Array) -> pa.Array:
    try:
        return times.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return times.cast(pa.timestamp("us", "UTC"))


def row_instants(times: pa.Array) -> tuple[Integers, NDArray[np.bool_], dict[int, str]]:
    """Convert times row by row: no row depends on the form of another.

    Returns
    -------
    tuple
        Microseconds since 1970, which rows say their zone, and what is wrong with the others.

    >>> found, _, problems = row_instants(pa.array(["1", "1970-01-02", "soon"]))
    >>> found.tolist(), list(problems)
    ([1000000, 86400000000, 0], [2])
    """
    found = np.zeros(len(times), dtype=np.int64)
    zoned = np.zeros(len(times), dtype=bool)
    problems: dict[int, str] = {}
    for rows, kind in _forms(times):
        values = times.take(pa.array(rows)) if rows.size < len(times) else times
        if kind is not None:
            values = values.cast(kind)
        bad = _unreadable(values)
        if bad:
            problems.update((int(rows[row]), reason) for row, reason in bad.items())
            keep = np.delete(np.arange(rows.size), [*bad])
            rows, values = rows[keep], values.take(pa.array(keep))
        found[rows], zoned[rows] = column_instants(values)
    return found, zoned, problems


def _forms(times: pa.Array) -> list[tuple[Integers, pa.DataType | None]]:
    """Divide text into numbers, times with a zone and times without; other types are one form."""
    if not is_text(times.type):
        return [(np.arange(len(times)), None)]
    numbers = as_numpy(pc.match_substring_regex(times, _NUMBER)).astype(bool)
    zoned = as_numpy(pc.match_substring_regex(times, _ZONED)).astype(bool) & ~numbers
    forms = [(numbers, pa.float64()), (zoned, None), (~numbers & ~zoned, None)]
    return [(np.flatnonzero(mask), kind) for mask, kind in forms if mask.any()]


def _unreadable(times: pa.Array) -> dict[int, str]:
    """Return the rows that can't be read and why. O(such rows · log rows) conversions."""
    found: dict[int, str] = {}
    pieces = [(0, len(times))]
    while pieces:
        start, stop = pieces.pop()
        try:
            column_instants(times[start:stop])
        except DataError as error:
            middle = (start + stop) // 2
            if stop - start > 1:
                pieces += [(middle, stop), (start, middle)]
            else:
                found[start] = str(error)
    return found
