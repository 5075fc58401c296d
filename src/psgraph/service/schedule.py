"""The schedule of a stream: when its timestamps begin, end and are released. All of it is public.

Timestamp t is period number ``first + t``. It is released when its period is over and the declared
delay has passed, whether or not it has edges, so the time of a release reveals nothing about them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psgraph.errors import InvalidArgument
from psgraph.service import clock
from psgraph.streams.periods import Period
from psgraph.streams.time_source import TimeSource
from psgraph.streams.times import instant

__all__ = ["Schedule"]

_MICRO = 1_000_000


@dataclass(frozen=True)
class Schedule:
    """The public schedule of a stream.

    Attributes
    ----------
    first
        The number of the period of timestamp 0.
    delay
        Seconds between the end of a period and its release.

    Examples
    --------
    >>> daily = Schedule.starting("1d", None, "2026-03-05")
    >>> daily.time(2), daily.due(2) - daily.due(1)
    ('2026-03-07', 86400.0)
    """

    period: Period
    first: int
    delay: float = 0.0

    @classmethod
    def starting(
        cls, period: str, timezone: str | None, moment: str | None, delay: float = 0.0
    ) -> Schedule:
        """Return the schedule whose first period contains `moment`; by default the present."""
        every = Period.parse(period, timezone)
        if moment is None:
            return cls(every, _current(every, clock.now()), delay)
        found = every.moment(moment)
        if found is None:
            raise InvalidArgument(
                "first_period is not a time\nGive an ISO date such as 2026-01-01."
            )
        return cls(every, int(every.numbers(np.array([found]))[0]), delay)

    def time(self, timestamp: int) -> str:
        """Return the public name of a timestamp: the first moment of its period."""
        try:
            name = self.period.start(self.first + timestamp)
        except (OverflowError, ValueError):
            raise _beyond(timestamp) from None
        if instant(name) is None:  # after the year 9999
            raise _beyond(timestamp)
        return name

    def start(self, timestamp: int) -> float:
        """Return when the period of a timestamp begins, in seconds since 1970."""
        found = instant(self.time(timestamp))
        assert found is not None  # `time` raises otherwise
        zone = self.period.zone
        if zone is not None and self.period.by_calendar:
            found = int(zone.instants(np.array([found]))[0])
        return found / _MICRO

    def due(self, timestamp: int) -> float:
        """Return when a timestamp is released, in seconds since 1970."""
        return self.start(timestamp + 1) + self.delay

    def current(self, at: float | None = None) -> int:
        """Return the timestamp whose period contains a moment; it may be negative."""
        return _current(self.period, clock.now() if at is None else at) - self.first

    @property
    def times(self) -> TimeSource:
        """Where the times of the stream come from, for certificates."""
        return TimeSource("periods", period=self.period, start_declared=True, until_declared=True)


def _beyond(timestamp: int) -> InvalidArgument:
    return InvalidArgument(
        f"timestamp {timestamp} is too far in the future\nThe stream states which one is next."
    )


def _current(period: Period, at: float) -> int:
    """The number of the period that contains a moment, in seconds since 1970."""
    return int(period.numbers(period.scale(np.array([int(at * _MICRO)]), zoned=True))[0])
