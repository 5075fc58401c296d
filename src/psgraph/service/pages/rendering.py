"""Templates: one environment that escapes everything, and what every page needs."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from psgraph._version import __version__
from psgraph.service.pages.wording import FILTERS
from psgraph.service.permissions import ANYONE, Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import StreamView

__all__ = ["POLICY", "error_page", "render", "render_stream"]

POLICY = (
    "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'; "
    "object-src 'none'"
)
"""The content security policy of every page: no inline script or style, nothing from elsewhere."""

#: Fixed messages after a redirect, by the code in ``?done=``: an address can't carry a text.
_NOTICES = {
    "created": "The stream was created. Its guarantee is fixed from now on.",
    "roster": "The roster was accepted.",
    "accepted": "The data was accepted and stored.",
    "revoked": "The token was revoked. Its sessions ended.",
    "signed-out": "You signed out.",
}
_TITLES = {
    401: "Sign in first",
    403: "Not allowed",
    404: "Not found",
    409: "Refused",
    413: "Too large",
    422: "Not usable",
    429: "Too many requests",
    503: "Not available",
}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("psgraph.service"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    return environment


def render(
    request: Request, template: str, heading: str, *, status: int = 200, **context: Any
) -> HTMLResponse:
    """Render a template for whoever made the request."""
    visit = getattr(request.state, "visit", None)
    identity: Identity = ANYONE if visit is None else visit.identity
    csrf = "" if visit is None or visit.session is None else visit.session.csrf
    basics: dict[str, Any] = {
        "heading": heading,
        "subtitle": "",
        "banner": "",
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
            # With "no-referrer" a browser hides from our own forms that they are ours.
            "Referrer-Policy": "same-origin",
        },
    )


def render_stream(
    request: Request, template: str, stream: StreamView, *, status: int = 200, **context: Any
) -> HTMLResponse:
    """Render a page of a stream under its title."""
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
    """Addresses and names of the pages that a role can open."""
    menu = [("/", "Streams")]
    if identity.may("create"):
        menu.append(("/new", "New stream"))
    if identity.may("tokens"):
        menu.append(("/tokens", "Tokens"))
    if identity.may("oversee"):
        menu.append(("/audit", "Audit log"))
    return menu
