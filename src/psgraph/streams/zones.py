"""Time zones: from instants to what the clock on the wall shows, and back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import InvalidArgument

__all__ = ["TimeZone"]

_QUARTER = 900_000_000  # microseconds; clocks change at quarters of an hour, since 1972
_EPOCH = datetime(1970, 1, 1)


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
                f"timezone={name!r} is not known here\n"
                "Give an IANA name such as Europe/Berlin or UTC. If no name is known, install the "
                "package tzdata."
            ) from None
        return cls(name)

    def wall(self, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what the clock shows at instants."""
        zone = ZoneInfo(self.name)
        return instants + _by_quarter(
            instants, lambda moment: moment.replace(tzinfo=UTC).astimezone(zone).utcoffset()
        )

    def instants(self, wall: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return when the clock shows a time; of two instants the first, in a gap after it."""
        zone = ZoneInfo(self.name)
        return wall - _by_quarter(wall, lambda moment: moment.replace(tzinfo=zone).utcoffset())

    def format(self, instant: int) -> str:
        """Write an instant with the offset of the zone, to the second."""
        moment = (_EPOCH + timedelta(microseconds=int(instant))).replace(tzinfo=UTC)
        return moment.astimezone(ZoneInfo(self.name)).isoformat(timespec="seconds")


def _by_quarter(
    times: NDArray[np.int64], offset: Callable[[datetime], timedelta | None]
) -> NDArray[np.int64]:
    """Look offsets up once per quarter of an hour."""
    quarters, inverse = np.unique(times // _QUARTER, return_inverse=True)
    found = np.zeros(quarters.size, dtype=np.int64)
    for index, quarter in enumerate(quarters.tolist()):
        moment = _EPOCH + timedelta(microseconds=quarter * _QUARTER)
        with suppress(OverflowError):  # at the ends of the calendar
            found[index] = (offset(moment) or timedelta()) // timedelta(microseconds=1)
    return found[inverse]
