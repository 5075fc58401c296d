"""What a stream states about its times: whether two statements agree, how long a window is.

A statement is the text in `Stream.times`, in the ledger and in certificates: clauses, separated by
commas and semicolons. The first names the source of the times. Who chose the ends of the stream
may change while it grows; the source and the period may not, since a window is counted in
timestamps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from psgraph.streams.sequences import regular_step
from psgraph.streams.times import Period

__all__ = ["continues", "stated_period", "window_in_time"]

_PERIOD = re.compile(r"(?:periods of|every) (\d+(?:s|min|h|d|w|mo|y))\b(?: in ([\w+/-]+))?")


def continues(stated: str, before: str) -> bool:
    """Whether a stream with one statement can be continued with another.

    >>> ends = "the first read off the edges, the last declared by the publisher"
    >>> continues(f"periods of 1mo, {ends}", "periods of 1mo, from the first to the last event")
    True
    >>> continues(f"periods of 1d, {ends}", f"periods of 1mo, {ends}")
    False
    """
    periods = {found for text in (stated, before) if (found := _PERIOD.search(text)) is not None}
    return _essence(stated) == _essence(before) and len({found[0] for found in periods}) <= 1


def _essence(statement: str) -> tuple[str, ...]:
    """Return the source of the times, and what else was declared about the snapshots."""
    source, *others = statement.split(";")
    return source.partition(",")[0].strip(), *sorted(other.strip() for other in others)


def stated_period(statement: str | None) -> Period | None:
    """Return the period that a statement names.

    >>> str(stated_period("one per file, by file name, every 1d"))
    '1d'
    """
    found = _PERIOD.search(statement or "")
    return None if found is None else Period.parse(found[1], found[2])


def window_in_time(
    window: int, statement: str | None, names: Iterable[str | None] = ()
) -> str | None:
    """Return how long a window is: by the stated period, or by dates in file names without gap.

    >>> window_in_time(6, "periods of 1mo, the first and the last declared by the publisher")
    '6 months'
    """
    period = stated_period(statement)
    if period is None and (statement or "").startswith("one per file"):
        period = regular_step([name or "" for name in names])
    return None if period is None else period.words(window)
