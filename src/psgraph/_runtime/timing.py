"""Where the time goes, by phase: one stopwatch that code deep down can add to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

__all__ = ["phase", "stopwatch"]

_running: ContextVar[dict[str, float] | None] = ContextVar("stopwatch", default=None)


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Collect the seconds of every `phase` inside the block."""
    seconds: dict[str, float] = {}
    token = _running.set(seconds)
    try:
        yield seconds
    finally:
        _running.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Add the time of the block to the running stopwatch, if one runs.

    >>> with stopwatch() as seconds, phase("reading"):
    ...     pass
    >>> list(seconds)
    ['reading']
    """
    begin = perf_counter()
    try:
        yield
    finally:
        seconds = _running.get()
        if seconds is not None:
            seconds[name] = seconds.get(name, 0.0) + perf_counter() - begin
