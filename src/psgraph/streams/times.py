"""Times as they come: whole numbers, or ISO dates and datetimes taken as instants."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

__all__ = ["Time", "instant", "whole_number"]

Time = str | int | date | datetime

_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d\d", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def whole_number(time: Time) -> int | None:
    """The time as a whole number, if it is one.

    >>> whole_number("17"), whole_number("2004-01-05")
    (17, None)
    """
    if isinstance(time, int):
        return int(time)
    return int(time) if isinstance(time, str) and _WHOLE.fullmatch(time.strip()) else None


def instant(time: Time) -> int | None:
    """The time as microseconds since 1970, if it is an ISO date or datetime; no zone means UTC.

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
