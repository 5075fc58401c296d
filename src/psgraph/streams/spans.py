"""The declared ends of a stream that is cut into periods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import InvalidArgument
from psgraph.streams.times import MOST_EMPTY, Period, Time, as_integer, instant

__all__ = ["Span"]


@dataclass(frozen=True)
class Span:
    """The declared ends of a stream of events in microseconds since 1970; None is undeclared.

    `start` belongs to the span, `until` does not.
    """

    start: int | None = None
    until: int | None = None

    @classmethod
    def parse(cls, start: Time | None, until: Time | None, *, every: Period) -> Span:
        """Read the ends: ISO dates, or integers as seconds since 1970."""
        span = cls(_moment("start (--from)", start), _moment("until (--until)", until))
        if span.start is not None and span.until is not None:
            if span.start >= span.until:
                raise InvalidArgument("the stream ends before it begins\nSwap start and until.")
            first, last = (int(n) for n in every.numbers(np.array([span.start, span.until - 1])))
            if last - first >= MOST_EMPTY:
                raise InvalidArgument(
                    f"start and until are more than {MOST_EMPTY:,} periods of {every} apart\n"
                    "Check them, or use longer periods."
                )
        return span

    @property
    def closed(self) -> bool:
        """Whether both ends are declared."""
        return self.start is not None and self.until is not None

    def periods(self, every: Period) -> tuple[int | None, int | None]:
        """Return the numbers of the first and the last period."""
        last = None if self.until is None else self.until - 1
        first, final = (
            None if moment is None else int(every.numbers(np.array([moment]))[0])
            for moment in (self.start, last)
        )
        return first, final

    def outside(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which times lie outside the declared ends."""
        found = np.zeros(times.size, dtype=bool)
        if self.start is not None:
            found |= times < self.start
        if self.until is not None:
            found |= times >= self.until
        return found

    def statement(self, every: Period) -> str:
        """Return where the timestamps come from, in a few words."""
        ends = self.start is not None, self.until is not None
        text = {
            (True, True): "the first and the last declared by the publisher",
            (True, False): "the first declared by the publisher, the last read off the edges",
            (False, True): "the first read off the edges, the last declared by the publisher",
            (False, False): "from the first to the last event, both ends read off the edges",
        }[ends]
        return f"periods of {every}, {text}"


def _moment(name: str, time: Time | None) -> int | None:
    if time is None:
        return None
    seconds = as_integer(time)
    moment = instant(time) if seconds is None else seconds * 1_000_000
    if moment is None:
        raise InvalidArgument(
            f"{name}: {time!r} is not a time\nGive an ISO date such as 2024-01-01."
        )
    return moment
