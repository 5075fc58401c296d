"""The clock of the service: moments in UTC, to the second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["after_days", "moment_text", "now", "now_text"]


def now() -> float:
    """Return the current time in seconds since 1970."""
    return datetime.now(UTC).timestamp()


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
