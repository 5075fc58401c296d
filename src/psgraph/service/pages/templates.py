"""Templates: one environment that escapes everything, its filters, and what every page needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from math import ceil
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from markupsafe import Markup

from psgraph._runtime.html import templates
from psgraph._runtime.numbers import NO_VALUE, brief, count, exact_decimal, significant
from psgraph._version import __version__
from psgraph.privacy.guarantee import exact_fraction
from psgraph.reports.sections import moment
from psgraph.service.api.access import service_of
from psgraph.service.permissions import ANYONE, Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import Budget, Preview, ReleaseView, StreamView

__all__ = ["FILTERS", "PERIODS", "POLICY", "error_page", "named_time", "render", "render_stream"]

PERIODS = {
    "": "none: release when a snapshot is posted",
    "1h": "every hour",
    "6h": "every 6 hours",
    "1d": "every day",
    "1w": "every week",
    "1mo": "every month",
}
"""The schedules that the form offers."""

#: What to do on a page, by the code of a refusal; the API's remedies are for programs.
_REMEDIES = {
    "busy": "Try again in a moment.",
    "media_type": "Choose a CSV or Parquet file.",
    "no_content": "Choose a file with at least its header line, such as u,v.",
    "no_originals": "Compare with your own copy of the originals: psgraph compare.",
    "no_roster": "Upload the roster above first.",
    "not_released": "Open the stream to see its releases and when the next one is due.",
    "outside_roster": "Add the node to the roster above, or leave such edges out.",
    "too_many_requests": "Wait a moment, then load the page again.",
    "unreadable": "Choose Preview to see what is wrong with the file.",
}
_FORMATS = {"parquet": "Parquet", "csv": "CSV", "graphml": "GraphML", "arrow": "Arrow"}


def share_spent(spending: StreamView | Budget) -> float:
    """Return the share of ε that the current window has spent."""
    return float(exact_fraction(spending.spent) / exact_fraction(spending.epsilon))


def short(number: str) -> str:
    """Return an exact number, rounded if it is long.

    >>> short("0.5"), short("473/375")
    ('0.5', '1.26')
    """
    return brief(exact_fraction(number))


def when(text: str) -> str:
    """Return a moment in UTC, to the minute.

    >>> when("2026-11-16T15:04:05.123456+00:00"), when("2026-11-16T16:04:00+01:00")
    ('2026-11-16 15:04 UTC', '2026-11-16 15:04 UTC')
    """
    return _moment(text).strftime("%Y-%m-%d %H:%M UTC")


def short_when(text: str) -> str:
    """Return a moment in UTC without its year, for a tile.

    >>> short_when("2026-11-06T15:04:05Z")
    '6 Nov, 15:04'
    """
    at = _moment(text)
    return f"{at.day} {at:%b, %H:%M}"


def day(text: str) -> str:
    """Return the day of a moment in UTC.

    >>> day("2026-11-16T15:04:05Z")
    '2026-11-16'
    """
    return _moment(text).strftime("%Y-%m-%d")


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def moment_of(release: ReleaseView) -> str:
    """Return the time of a release, or its number if it has no other time."""
    return moment(release.timestamp, named_time(release.timestamp, release.time))


def named_time(timestamp: int, time: str | None) -> str | None:
    """Return the time of a timestamp if it is more than its number.

    >>> named_time(3, "2026-01-04"), named_time(3, "3")
    ('2026-01-04', None)
    """
    return None if time == str(timestamp) else time


def schedule(period: str, stream: StreamView) -> str:
    """Return when releases are published."""
    words = PERIODS.get(period, f"every {period}")
    zone = f", {stream.timezone}" if stream.timezone else ""
    delay = f", {count(stream.delay_seconds, 'second')} later" if stream.delay_seconds else ""
    waits = stream.source == "snapshots" and stream.missing == "wait"
    missing = "; waits for a missing snapshot" if waits else ", even if it is empty"
    return f"a release {words}{zone}{delay}{missing}"


def spread(values: Sequence[float] | None, unit: str = "") -> str:
    """Return a range, or one number if both ends look the same.

    >>> spread([12.2, 30.7]), spread([0.1, 0.1], "%"), spread(None)
    ('13 – 31', '10 %', '–')
    """
    if values is None:
        return NO_VALUE
    shown = [f"{significant(100 * each)} %" if unit else f"{ceil(each):,}" for each in values]
    return " – ".join(dict.fromkeys(shown))


def preview_facts(preview: Preview) -> list[tuple[str, str | None]]:
    """Return names and values of what would be read."""

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
    """Return what to do about a refusal on a page."""
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


# ---- pages ----

POLICY = (
    "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'; "
    "object-src 'none'"
)
"""The content security policy of every page: no inline script or style, nothing from elsewhere."""

#: Messages after a redirect, by the code in ``?done=``: an address can't inject other text.
_NOTICES = {
    "created": "The stream was created. Its guarantee is now fixed.",
    "roster": "The roster was accepted.",
    "accepted": "The data was accepted and stored.",
    "changed": "The stream was changed.",
    "revoked": "The token was revoked. Its sessions ended.",
    "signed-out": "You have signed out.",
}
_TITLES = {
    401: "Sign in first",
    403: "Not allowed",
    404: "Not found",
    409: "Refused",
    413: "Too large",
    422: "Invalid input",
    429: "Too many requests",
    503: "Not available",
}


@cache
def _environment() -> Environment:
    environment = templates("psgraph.service")
    environment.filters.update(FILTERS)
    return environment


def render(
    request: Request, template: str, heading: str, *, status: int = 200, **context: Any
) -> HTMLResponse:
    """Render a template for the visitor who made the request."""
    visit = getattr(request.state, "visit", None)
    identity: Identity = ANYONE if visit is None else visit.identity
    csrf = "" if visit is None or visit.session is None else visit.session.csrf
    basics: dict[str, Any] = {
        "heading": heading,
        "subtitle": "",
        "banner": "" if identity.token is None else " ".join(service_of(request).problems()),
        "error": None,
        "notice": _NOTICES.get(request.query_params.get("done", "")),
        "me": identity,
        "menu": _menu(identity),
        "path": request.url.path,
        "csrf_field": Markup('<input type="hidden" name="csrf" value="{}">').format(csrf),
        "version": __version__,
    }
    text = _environment().get_template(template).render({**basics, **context})
    return HTMLResponse(
        text,
        status,
        {
            "Content-Security-Policy": POLICY,
            "Cache-Control": "no-store",
            # With "no-referrer" a browser sends no origin with our own forms either.
            "Referrer-Policy": "same-origin",
        },
    )


def render_stream(
    request: Request, template: str, stream: StreamView, *, status: int = 200, **context: Any
) -> HTMLResponse:
    """Render a page of a stream, with its title as heading."""
    heading = stream.title or stream.name
    subtitle = f"Stream {stream.name}" if stream.title else ""
    context = {"subtitle": subtitle, "stream": stream, **context}
    return render(request, template, heading, status=status, **context)


def error_page(request: Request, refusal: Refusal) -> HTMLResponse:
    """Render a refusal as a page."""
    heading = _TITLES.get(refusal.status, "Something went wrong")
    page = render(request, "error.html", heading, status=refusal.status, error=refusal)
    page.headers.update(refusal.headers)
    return page


def _menu(identity: Identity) -> list[tuple[str, str]]:
    """Return addresses and names of the pages that a role can open."""
    menu = [("/", "Streams")]
    if identity.may("create"):
        menu.append(("/new", "New stream"))
    if identity.may("tokens"):
        menu.append(("/tokens", "Tokens"))
    if identity.may("oversee"):
        menu.append(("/audit", "Audit log"))
    return menu
