"""Values of the service as text for a page: exact numbers, moments, schedules, previews."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Any

from psgraph._runtime.numbers import NO_VALUE, brief, count, exact_decimal, significant
from psgraph.privacy.guarantee import exact_fraction
from psgraph.reports.sections import moment
from psgraph.service.problems import Refusal
from psgraph.service.schemas import Budget, Preview, ReleaseView, StreamView

__all__ = ["FILTERS", "PERIODS", "named_time"]

PERIODS = {
    "": "none: release when a snapshot is posted",
    "1h": "every hour",
    "6h": "every 6 hours",
    "1d": "every day",
    "1w": "every week",
    "1mo": "every month",
}
"""The schedules that the form offers."""

#: By the code of the refusal.
_REMEDIES = {
    "busy": "Try again in a moment.",
    "media_type": "Choose a CSV or Parquet file.",
    "no_content": "Choose a file with at least its header line, such as u,v.",
    "no_originals": "Compare with your own copy of the originals: psgraph compare.",
    "no_roster": "Upload the roster above first.",
    "not_released": "Open the stream to see its releases and when the next one is due.",
    "outside_roster": "Add the node to the roster above, or leave such edges out.",
    "too_many_requests": "Wait a moment, then load the page again.",
    "unreadable": "Choose Preview: it tells what is wrong with the file.",
}
_FORMATS = {"parquet": "Parquet", "csv": "CSV", "graphml": "GraphML"}


def share_spent(spending: StreamView | Budget) -> float:
    """The share of ε that the current window has spent."""
    return float(exact_fraction(spending.spent) / exact_fraction(spending.epsilon))


def short(number: str) -> str:
    """An exact number, rounded if it is long.

    >>> short("0.5"), short("473/375")
    ('0.5', '1.26')
    """
    return brief(exact_fraction(number))


def when(text: str) -> str:
    """A moment in UTC, to the minute.

    >>> when("2026-11-16T15:04:05.123456+00:00"), when("2026-11-16T16:04:00+01:00")
    ('2026-11-16 15:04 UTC', '2026-11-16 15:04 UTC')
    """
    return _moment(text).strftime("%Y-%m-%d %H:%M UTC")


def short_when(text: str) -> str:
    """A moment in UTC without its year, for a tile.

    >>> short_when("2026-11-06T15:04:05Z")
    '6 Nov, 15:04'
    """
    at = _moment(text)
    return f"{at.day} {at:%b, %H:%M}"


def day(text: str) -> str:
    """The day of a moment in UTC.

    >>> day("2026-11-16T15:04:05Z")
    '2026-11-16'
    """
    return _moment(text).strftime("%Y-%m-%d")


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def moment_of(release: ReleaseView) -> str:
    """The time of a release, or its number if its time is just that."""
    return moment(release.timestamp, named_time(release.timestamp, release.time))


def named_time(timestamp: int, time: str | None) -> str | None:
    """The time of a timestamp if that says more than its number.

    >>> named_time(3, "2026-01-04"), named_time(3, "3")
    ('2026-01-04', None)
    """
    return None if time == str(timestamp) else time


def schedule(period: str, stream: StreamView) -> str:
    """When releases leave, in words."""
    words = PERIODS.get(period, f"every {period}")
    zone = f", {stream.timezone}" if stream.timezone else ""
    delay = f", {count(stream.delay_seconds, 'second')} later" if stream.delay_seconds else ""
    waits = stream.source == "snapshots" and stream.missing == "wait"
    missing = "; a missing snapshot is waited for" if waits else ", empty or not"
    return f"a release leaves {words}{zone}{delay}{missing}"


def spread(values: Sequence[float] | None, unit: str = "") -> str:
    """A range, or one number where both ends look the same.

    >>> spread([12.2, 30.7]), spread([0.1, 0.1], "%"), spread(None)
    ('13 – 31', '10 %', '–')
    """
    if values is None:
        return NO_VALUE
    shown = [f"{significant(100 * each)} %" if unit else f"{ceil(each):,}" for each in values]
    return " – ".join(dict.fromkeys(shown))


def preview_facts(preview: Preview) -> list[tuple[str, str | None]]:
    """Names and values of what would be read."""

    def number(value: int | None) -> str | None:
        return None if value is None else f"{value:,}"

    times = f"{preview.first_time} to {preview.last_time}" if preview.first_time else None
    return [
        ("Rows", number(preview.rows)),
        ("Edges", number(preview.edges)),
        ("Repeated rows", number(preview.duplicates)),
        ("Self-loops, ignored", number(preview.self_loops)),
        ("Nodes with an edge", number(preview.nodes_with_edges)),
        ("Nodes on the roster", number(preview.roster_nodes)),
        ("Ids not on the roster", number(preview.unknown_nodes)),
        ("Type of ids", preview.ids),
        ("Times", times),
        ("Timestamps", ", ".join(map(str, preview.timestamps))),
    ]


def remedy(refusal: Refusal) -> str:
    """What to do about a refusal on a page; the API's remedies are for programs."""
    return _REMEDIES.get(refusal.error, refusal.remedy)


FILTERS: dict[str, Callable[..., Any]] = {
    "amount": count,
    "day": day,
    "exact": short,
    "format_name": lambda name: _FORMATS.get(name, name),
    "fraction": exact_decimal,
    "moment": moment_of,
    "preview_facts": preview_facts,
    "remedy": remedy,
    "rounded": significant,
    "schedule": schedule,
    "share": share_spent,
    "short_when": short_when,
    "spread": spread,
    "when": when,
}
"""The filters of the templates."""
