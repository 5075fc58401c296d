"""How many rows were read so far, told by code deep down to whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["rows_read", "rows_told_to"]

_listener: ContextVar[Callable[[int], object] | None] = ContextVar("rows", default=None)


@contextmanager
def rows_told_to(listener: Callable[[int], object]) -> Iterator[None]:
    """Call `listener` with the number of rows whenever some are read inside the block.

    >>> with rows_told_to(print):
    ...     rows_read(3)
    3
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def rows_read(count: int) -> None:
    """Tell that rows were read. Their number is private: it may be shown to the curator only."""
    listener = _listener.get()
    if listener is not None:
        listener(count)
