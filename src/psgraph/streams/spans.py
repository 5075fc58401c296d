"""The ends of a stream that is cut into periods: declared, or read off the events.

A period is published only when it is over: events that come later would change a snapshot that is
sealed already. Whether it is over must not depend on single edges. With a declared end, `until`,
the data are complete up to then, and up to the present if that is earlier: both are public.
Without one, the period of the last event is taken to be unfinished and is held back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import InvalidArgument
from psgraph.streams.times import MOST_EMPTY, Period, Time

__all__ = ["Span"]

_NOW = "now"


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
                raise InvalidArgument("the stream ends before it begins\nSwap start and until.")
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
        """The number of the last period that can be published whatever the events are."""
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

    def outside(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which times lie outside the declared ends."""
        found = np.zeros(times.size, dtype=bool)
        if self.start is not None:
            found |= times < self.start
        if self.until is not None:
            found |= times >= self.until
        return found

    def statement(self) -> str:
        """Return where the timestamps come from, in a few words."""
        ends = self.start is not None, self.until is not None
        text = {
            (True, True): "the first and the last declared by the publisher",
            (True, False): "the first declared by the publisher, the last read off the edges",
            (False, True): "the first read off the edges, the last declared by the publisher",
            (False, False): "from the first to the last event, both ends read off the edges",
        }[ends]
        zone = "" if self.every.zone is None else f" in {self.every.zone.name}"
        return f"periods of {self.every}{zone}, {text}"


def _moment(name: str, time: Time | None, every: Period) -> int | None:
    if time is None:
        return None
    moment = every.moment(time)
    if moment is None:
        raise InvalidArgument(
            f"{name}: {time!r} is not a time\nGive an ISO date such as 2024-01-01."
        )
    return moment
