"""The clock of the service: moments in UTC, to the second.

A release can't be taken back, so a clock that jumps must not publish anything. The service takes
the time of the machine at its start and then counts seconds itself. It follows small corrections.
After a jump it continues on its own time, and says so, until the machine's clock returns or the
service is started again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

__all__ = ["SteadyClock", "after_days", "jump", "moment_text", "now", "now_text"]

_LARGEST_CORRECTION = 60.0  # seconds


def _counter() -> float:
    """Seconds since some moment, which no one can set; counted while the machine sleeps, too."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class SteadyClock:
    """The time of a machine, without the jumps of its clock.

    Parameters
    ----------
    wall
        The clock of the machine, in seconds since 1970.
    counter
        Seconds that can't be set.

    Examples
    --------
    >>> wall, seconds = [1000.0], [0.0]
    >>> clock = SteadyClock(lambda: wall[0], lambda: seconds[0])
    >>> wall[0], seconds[0] = 1010.5, 10.0  # a small correction
    >>> clock.now(), clock.jump()
    (1010.5, 0.0)
    >>> wall[0], seconds[0] = 4620.5, 20.0  # an hour ahead
    >>> clock.now(), clock.jump()
    (1020.5, 3600.0)
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, counter: Callable[[], float] = _counter
    ) -> None:
        self._wall, self._counter = wall, counter
        self._lock = threading.Lock()
        self._time, self._counted = wall(), counter()

    def now(self) -> float:
        """Return the current time in seconds since 1970."""
        with self._lock:
            wall, counted = self._wall(), self._counter()
            expected = self._time + counted - self._counted
            follow = abs(wall - expected) <= _LARGEST_CORRECTION
            self._time, self._counted = wall if follow else expected, counted
            return self._time

    def jump(self) -> float:
        """Return by how many seconds the machine's clock is ahead; 0 if it is followed."""
        ahead = self._wall() - self.now()
        return ahead if abs(ahead) > _LARGEST_CORRECTION else 0.0


_CLOCK = SteadyClock()


def now() -> float:
    """Return the current time in seconds since 1970."""
    return _CLOCK.now()


def jump() -> float:
    """Return by how many seconds the machine's clock has jumped; 0 if it has not."""
    return _CLOCK.jump()


def now_text() -> str:
    """Return the current time as text."""
    return moment_text(now())


def moment_text(seconds: float) -> str:
    """Return a moment in UTC in ISO format, so that texts sort by time.

    >>> moment_text(0)
    '1970-01-01T00:00:00Z'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def after_days(days: float) -> str:
    """Return the moment `days` from now."""
    return moment_text(now() + timedelta(days=days).total_seconds())
