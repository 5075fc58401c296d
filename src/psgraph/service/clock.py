"""Moments as the service writes them: UTC, to the second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["after_days", "moment_text", "now", "now_text"]


def now() -> float:
    """Return the present in seconds since 1970."""
    return datetime.now(UTC).timestamp()


def now_text() -> str:
    """Return the present as text."""
    return moment_text(now())


def moment_text(seconds: float) -> str:
    """Return a moment in ISO form, in UTC. Such texts sort by time.

    >>> moment_text(0)
    '1970-01-01T00:00:00Z'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def after_days(days: float) -> str:
    """Return the moment that many days from now."""
    return moment_text(now() + timedelta(days=days).total_seconds())
