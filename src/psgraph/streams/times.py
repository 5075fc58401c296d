"""Times: integers, ISO dates and instants as they are given, and periods that cut time.

All clock and calendar arithmetic is in UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph.formats.tables import is_text

__all__ = ["MOST_EMPTY", "Period", "Time", "as_integer", "instant", "microseconds", "time_text"]

Time = str | int | date | datetime

#: The most timestamps without an edge that are filled in; beyond it the times are probably wrong.
MOST_EMPTY = 1_000_000

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d\d", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_LENGTHS = {"s": _SECOND, "min": 60 * _SECOND, "h": 3600 * _SECOND, "d": _DAY, "w": 7 * _DAY}
_CALENDAR = {"mo": "M", "y": "Y"}
_MONDAY = 3 * _DAY  # 1970 began on a Thursday, three days after a Monday
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 and 9999
_OUT_OF_RANGE = (
    "a time lies outside the years 1 to 9999\n"
    "Numbers are seconds since 1970: divide milliseconds by 1000."
)


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


@dataclass(frozen=True)
class Period:
    """A length of time such as ``1d``, ``2w`` or ``1mo``, and where each period begins.

    Weeks begin on Monday, months on the 1st; several of a unit are counted from 1970.

    >>> Period.parse("1mo").start(Period.parse("1mo").numbers(np.array([0]))[0])
    '1970-01-01'
    """

    count: int
    unit: str

    @classmethod
    def parse(cls, text: str) -> Period:
        """Read ``<count><unit>`` with the units s, min, h, d, w, mo, y."""
        match = re.fullmatch(r"(\d{1,6})(s|min|h|d|w|mo|y)", str(text).strip(), re.ASCII)
        if match is None or int(match[1]) == 0:
            raise InvalidArgument(
                f"every={text!r} is not a length of time\n"
                "Give an integer and one of s, min, h, d, w, mo, y: for instance 1d or 1mo."
            )
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"

    def numbers(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the period that contains each time (microseconds since 1970)."""
        if self.unit in _CALENDAR:
            dates = times.view("datetime64[us]").astype(f"datetime64[{_CALENDAR[self.unit]}]")
            return dates.astype(np.int64) // self.count
        offset = _MONDAY if self.unit == "w" else 0
        return (times + offset) // (self.count * _LENGTHS[self.unit])

    def start(self, number: int) -> str:
        """Return the first moment of a period in ISO form: a date, with the clock below a day."""
        scale, offset = "us", _MONDAY if self.unit == "w" else 0
        first = int(number) * self.count
        if self.unit in _CALENDAR:
            scale = _CALENDAR[self.unit]
        else:
            first = first * _LENGTHS[self.unit] - offset
        shown = "s" if self.unit in ("s", "min", "h") else "D"
        return str(np.array(first, dtype=f"datetime64[{scale}]").astype(f"datetime64[{shown}]"))


def microseconds(times: pa.Array) -> NDArray[np.int64]:
    """Convert times to microseconds since 1970: numbers are seconds, text is ISO in UTC.

    >>> microseconds(pa.array([1, 60])), microseconds(pa.array(["1970-01-02"]))
    (array([ 1000000, 60000000]), array([86400000000]))
    """
    kinds = pa.types
    if not (
        kinds.is_integer(times.type)
        or kinds.is_floating(times.type)
        or kinds.is_date(times.type)
        or kinds.is_timestamp(times.type)
        or is_text(times.type)
    ):
        raise DataError(f"the times must be ISO dates or seconds since 1970, not {times.type}")
    try:
        if kinds.is_integer(times.type) or kinds.is_floating(times.type):
            seconds = times.to_numpy(zero_copy_only=False)
            if not ((seconds >= _FIRST_SECOND) & (seconds <= _LAST_SECOND)).all():
                raise DataError(_OUT_OF_RANGE)
            whole = seconds.astype(np.int64)
            return whole * _SECOND + np.floor((seconds - whole) * _SECOND).astype(np.int64)
        if is_text(times.type):
            times = _instants_of_text(times)
        elif kinds.is_date(times.type):
            times = times.cast(pa.timestamp("s"))
        zone = times.type.tz
        counted = times.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        raise DataError(
            "a time can't be read\nUse one ISO form throughout, such as 2004-01-05T13:00:00."
        ) from None
    if not ((counted >= _FIRST_SECOND * _SECOND) & (counted < (_LAST_SECOND + 1) * _SECOND)).all():
        raise DataError(_OUT_OF_RANGE)
    return counted


def _instants_of_text(times: pa.Array) -> pa.Array:
    try:
        return times.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return times.cast(pa.timestamp("us", "UTC"))
