"""Times: integers, ISO dates and instants as they are given, and periods that cut time.

Clock and calendar arithmetic is in UTC, or in the time zone of a `Period`.
"""

from __future__ import annotations

import re
import time as clock
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph.errors import InvalidArgument
from psgraph.streams.instants import column_instants
from psgraph.streams.zones import TimeZone

__all__ = [
    "MOST_EMPTY",
    "Period",
    "Time",
    "as_integer",
    "has_zone",
    "instant",
    "now",
    "time_text",
]

Time = str | int | date | datetime

#: The most timestamps without an edge that are filled in; beyond it the times are probably wrong.
MOST_EMPTY = 1_000_000

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d\d", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_NAMES = {
    "s": "second",
    "min": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
    "mo": "month",
    "y": "year",
}
_ZONED = re.compile(r".*(Z|[+-]\d\d(:?\d\d)?)", re.ASCII | re.IGNORECASE)
_LENGTHS = {"s": _SECOND, "min": 60 * _SECOND, "h": 3600 * _SECOND, "d": _DAY, "w": 7 * _DAY}
_CALENDAR = {"mo": "M", "y": "Y"}
_CLOCK_UNITS = ("s", "min", "h")
_MONDAY = 3 * _DAY  # 1970 began on a Thursday, three days after a Monday


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


@dataclass(frozen=True)
class Period:
    """A length of time such as ``1d``, ``2w`` or ``1mo``, and where each period begins.

    Weeks begin on Monday, months on the 1st; several of a unit are counted from 1970. Days and
    longer periods follow the calendar of the time zone: a day on which the clocks change has 23
    or 25 hours. Shorter periods have the same length always.

    Times are microseconds since 1970, *on the scale of the period*: of the clock on the wall
    where a time zone is given and the unit is a day or longer, otherwise in UTC.

    >>> Period.parse("1mo").start(Period.parse("1mo").numbers(np.array([0]))[0])
    '1970-01-01'
    """

    count: int
    unit: str
    zone: TimeZone | None = None

    @classmethod
    def parse(cls, text: str, timezone: str | None = None) -> Period:
        """Read ``<count><unit>`` with the units s, min, h, d, w, mo, y, and a time zone."""
        match = re.fullmatch(r"(\d{1,6})(s|min|h|d|w|mo|y)", str(text).strip(), re.ASCII)
        if match is None or int(match[1]) == 0:
            raise InvalidArgument(
                f"every={text!r} is not a length of time\n"
                "Give an integer and one of s, min, h, d, w, mo, y: for instance 1d or 1mo."
            )
        zone = None if timezone is None else TimeZone.parse(timezone)
        return cls(int(match[1]), match[2], zone)

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"

    def words(self, times: int = 1) -> str:
        """Return the length of several periods in words.

        >>> Period.parse("1mo").words(6), Period.parse("2w").words(1)
        ('6 months', '2 weeks')
        """
        number = self.count * times
        return f"{number:,} {_NAMES[self.unit]}{'' if number == 1 else 's'}"

    @property
    def by_calendar(self) -> bool:
        """Whether it follows the calendar of its time zone, as days and longer periods do."""
        return self.unit not in _CLOCK_UNITS

    def scale(self, times: NDArray[np.int64], *, zoned: bool) -> NDArray[np.int64]:
        """Bring times to the scale of the period; `zoned` ones are instants, others local."""
        if self.zone is None or zoned != self.by_calendar:
            return times
        return self.zone.wall(times) if zoned else self.zone.instants(times)

    def read(self, times: pa.Array) -> NDArray[np.int64]:
        """Bring a column of times to the scale of the period; see `column_instants`."""
        found, zoned = column_instants(times)
        return self.scale(found, zoned=zoned)

    def moment(self, time: Time) -> int | None:
        """Return one time on the scale of the period: integers are seconds since 1970."""
        seconds = as_integer(time)
        found = instant(time) if seconds is None else seconds * _SECOND
        if found is None:
            return None
        return int(self.scale(np.array([found]), zoned=seconds is not None or has_zone(time))[0])

    def present(self) -> int:
        """Return the present instant on the scale of the period."""
        return int(self.scale(np.array([now()]), zoned=True)[0])

    def numbers(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the period that contains each time."""
        if self.unit in _CALENDAR:
            dates = times.view("datetime64[us]").astype(f"datetime64[{_CALENDAR[self.unit]}]")
            return dates.astype(np.int64) // self.count
        offset = _MONDAY if self.unit == "w" else 0
        return (times + offset) // (self.count * _LENGTHS[self.unit])

    def start(self, number: int) -> str:
        """Return the first moment of a period in ISO form: a date, with the clock below a day.

        With a time zone the clock has its offset.
        """
        scale, offset = "us", _MONDAY if self.unit == "w" else 0
        first = int(number) * self.count
        if self.unit in _CALENDAR:
            scale = _CALENDAR[self.unit]
        else:
            first = first * _LENGTHS[self.unit] - offset
        if self.zone is not None and not self.by_calendar:
            return self.zone.format(first)
        shown = "D" if self.by_calendar else "s"
        return str(np.array(first, dtype=f"datetime64[{scale}]").astype(f"datetime64[{shown}]"))


def has_zone(time: Time) -> bool:
    """Whether a time says its zone.

    >>> has_zone("2004-01-05T13:00Z"), has_zone("2004-01-05T13:00:00-05:00"), has_zone("2004-01-05")
    (True, True, False)
    """
    if isinstance(time, str):
        _, clock_part, rest = time.partition(":")
        return bool(clock_part) and _ZONED.fullmatch(rest) is not None
    return isinstance(time, datetime) and time.tzinfo is not None
