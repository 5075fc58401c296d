"""Periods, by which events are cut into timestamps: their length, their time zone, and the ends.

A period is published only when it is over: events that come later would change a snapshot that is
already sealed. Whether it is over must not depend on single edges. With a declared end, `until`,
the data are complete up to then, and up to the present if that is earlier: both are public.
Without one, the period of the last event is taken to be unfinished and is held back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.errors import InvalidArgument
from psgraph.streams import times as clock
from psgraph.streams.times import (
    MOST_EMPTY,
    Time,
    as_integer,
    column_instants,
    has_zone,
    instant,
)

__all__ = ["Period", "Span", "TimeZone"]

_NOW = "now"
_EPOCH = datetime(1970, 1, 1)
_QUARTER = 900_000_000  # microseconds; clocks change at quarters of an hour, since 1972

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
_LENGTHS = {"s": _SECOND, "min": 60 * _SECOND, "h": 3600 * _SECOND, "d": _DAY, "w": 7 * _DAY}
_CALENDAR = {"mo": "M", "y": "Y"}
_CLOCK_UNITS = ("s", "min", "h")
_MONDAY = 3 * _DAY  # 1970 started on a Thursday, three days after a Monday


@dataclass(frozen=True)
class TimeZone:
    """A time zone by its IANA name.

    Times are microseconds since 1970: of an instant in UTC, or of the clock on the wall.

    >>> berlin = TimeZone.parse("Europe/Berlin")
    >>> berlin.wall(np.array([0])).tolist(), berlin.instants(np.array([0])).tolist()
    ([3600000000], [-3600000000])
    """

    name: str

    @classmethod
    def parse(cls, name: str) -> TimeZone:
        """Look up an IANA name."""
        try:
            ZoneInfo(name)
        except (KeyError, OSError, TypeError, ValueError):
            raise InvalidArgument(
                f"timezone={name!r} is unknown on this system\n"
                "Give an IANA name such as Europe/Berlin or UTC. If every name is unknown, "
                "install the package tzdata."
            ) from None
        return cls(name)

    def wall(self, instants: Integers) -> Integers:
        """Return the local time of instants."""
        zone = ZoneInfo(self.name)
        return instants + _by_quarter(
            instants, lambda moment: moment.replace(tzinfo=UTC).astimezone(zone).utcoffset()
        )

    def instants(self, wall: Integers) -> Integers:
        """Return when the clock shows a time; of two instants the first, in a gap after it."""
        zone = ZoneInfo(self.name)
        return wall - _by_quarter(wall, lambda moment: moment.replace(tzinfo=zone).utcoffset())

    def format(self, instant: int) -> str:
        """Write an instant with the offset of the zone, to the second."""
        moment = (_EPOCH + timedelta(microseconds=int(instant))).replace(tzinfo=UTC)
        return moment.astimezone(ZoneInfo(self.name)).isoformat(timespec="seconds")


def _by_quarter(times: Integers, offset: Callable[[datetime], timedelta | None]) -> Integers:
    """Look offsets up once per quarter of an hour."""
    quarters, inverse = np.unique(times // _QUARTER, return_inverse=True)
    found = np.zeros(quarters.size, dtype=np.int64)
    for index, quarter in enumerate(quarters.tolist()):
        moment = _EPOCH + timedelta(microseconds=quarter * _QUARTER)
        with suppress(OverflowError):  # at the ends of the calendar
            found[index] = (offset(moment) or timedelta()) // timedelta(microseconds=1)
    return found[inverse]


@dataclass(frozen=True)
class Period:
    """A length of time such as ``1d``, ``2w`` or ``1mo``, and where each period starts.

    Weeks start on Monday, months on the 1st; several of a unit are counted from 1970. Days and
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

    def scale(self, times: Integers, *, zoned: bool) -> Integers:
        """Bring times to the scale of the period; `zoned` ones are instants, others local."""
        if self.zone is None or zoned != self.by_calendar:
            return times
        return self.zone.wall(times) if zoned else self.zone.instants(times)

    def read(self, times: pa.Array) -> Integers:
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
        return int(self.scale(np.array([clock.now()]), zoned=True)[0])

    def numbers(self, times: Integers) -> Integers:
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
        first = self._begins(int(number))
        if self.zone is not None and not self.by_calendar:
            return self.zone.format(first)
        shown = "D" if self.by_calendar else "s"
        return str(np.array(first, dtype="datetime64[us]").astype(f"datetime64[{shown}]"))

    def late_start(self, event: int) -> tuple[str, ...]:
        """Say so if the first event comes late in its period. Depends on the event: curator only.

        Late is after half of a day or of a shorter period, and after a quarter of a longer one:
        many days begin with a night.
        """
        number = int(self.numbers(np.array([event]))[0])
        begins, ends = (self._begins(each) for each in (number, number + 1))
        late = 4 if self.by_calendar and self.unit != "d" else 2
        if late * (event - begins) < ends - begins:
            return ()
        return (
            f"The first event comes late in the period that starts {self.start(number)}, which may "
            "be partial. If the data don't cover all of it, start with the next one: --from "
            f"{self.start(number + 1)} (and leave out the rows before).",
        )

    def _begins(self, number: int) -> int:
        """Return the first moment of a period, on its scale."""
        first = number * self.count
        if self.unit in _CALENDAR:
            moment = np.array(first, dtype=f"datetime64[{_CALENDAR[self.unit]}]")
            return int(moment.astype("datetime64[us]").astype(np.int64))
        return first * _LENGTHS[self.unit] - (_MONDAY if self.unit == "w" else 0)


@dataclass(frozen=True)
class Span:
    """The periods of a stream of events.

    Attributes
    ----------
    every
        How time is cut.
    start, until
        The declared ends on the scale of `every`, None if undeclared. `start` belongs to the
        span, `until` does not.
    close_last
        Whether the last period is published although it is not over.
    present
        The present instant, on the same scale.
    """

    every: Period
    start: int | None = None
    until: int | None = None
    close_last: bool = False
    present: int = 0

    @classmethod
    def parse(
        cls, start: Time | None, until: Time | None, *, every: Period, close_last: bool = False
    ) -> Span:
        """Read the ends: ISO dates, integers as seconds since 1970, or "now"."""
        present = every.present()
        span = cls(
            every,
            _moment("start (--from)", start, every),
            present if until == _NOW else _moment("until (--until)", until, every),
            close_last,
            present,
        )
        if span.start is not None and span.until is not None:
            if span.start >= span.until:
                raise InvalidArgument("the stream ends before it starts\nSwap start and until.")
            if span._number(span.until - 1) - span._number(span.start) >= MOST_EMPTY:
                raise InvalidArgument(
                    f"start and until are more than {MOST_EMPTY:,} periods of {every} apart\n"
                    "Check them, or use longer periods."
                )
        return span

    def _number(self, moment: int) -> int:
        return int(self.every.numbers(np.array([moment]))[0])

    @property
    def closed(self) -> bool:
        """Whether both ends are declared."""
        return self.start is not None and self.until is not None

    @property
    def first(self) -> int | None:
        """The number of the first period, if it is declared."""
        return None if self.start is None else self._number(self.start)

    @property
    def final(self) -> int | None:
        """The number of the last period to publish, if the end is declared."""
        if self.until is None:
            return None
        end = min(self.until, self.present)
        return self._number(end - 1) if self.close_last else self._number(end) - 1

    @property
    def limit(self) -> int | None:
        """The number of the last period that can be published, for any events."""
        if self.until is None and not self.close_last:
            return self._number(self.present) - 1
        return self.final

    def last(self, event: int) -> int:
        """Return the number of the last period to publish, given the period of the last event."""
        if self.final is not None:
            return self.final
        return event if self.close_last else min(event, self._number(self.present)) - 1

    def held_back(self, event: int | None) -> str | None:
        """Return the first period that is not over, if the data reach into it."""
        if self.until is not None:
            unfinished = self._number(self.until - 1)
        elif event is not None:
            unfinished = event
        else:
            return None
        following = self.last(unfinished) + 1
        return self.every.start(following) if following <= unfinished else None

    def remarks(self) -> tuple[str, ...]:
        """Say which periods at the ends are partial, or maybe empty.

        Privacy: from the declared ends, the calendar and the clock. No event is considered.

        >>> print(*Span.parse("2024-01-15", "2024-03-01", every=Period.parse("1mo")).remarks())
        The first period is partial: it starts 2024-01-01, and the stream (--from) later.
        """
        found = []
        if self.start is not None and self._number(self.start) == self._number(self.start - 1):
            begins = self.every.start(self._number(self.start))
            found.append(
                f"The first period is partial: it starts {begins}, and the stream (--from) later."
            )
        final = self.final
        if final is not None and self.until is not None and self.until > self.present:
            found.append(
                "The declared end (--until) is in the future. All periods up to today are "
                f"published, the last one starts {self.every.start(final)}; those after your data "
                "would be empty, and each spends its share of the budget."
            )
        if self.close_last and (
            self.until is None
            or self.until > self.present
            or self._number(self.until) == self._number(self.until - 1)
        ):
            found.append("The last period may be partial: --close-last publishes it unfinished.")
        return tuple(found)

    def before(self, times: Integers) -> NDArray[np.bool_]:
        """Return which times lie before the declared start."""
        return np.zeros(times.size, dtype=bool) if self.start is None else times < self.start

    def after(self, times: Integers) -> NDArray[np.bool_]:
        """Return which times lie after the declared end."""
        return np.zeros(times.size, dtype=bool) if self.until is None else times >= self.until


def _moment(name: str, time: Time | None, every: Period) -> int | None:
    if time is None:
        return None
    moment = every.moment(time)
    if moment is None:
        raise InvalidArgument(
            f"{name}: {time!r} is not a time\nGive an ISO date such as 2024-01-01."
        )
    return moment
