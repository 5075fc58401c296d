"""The dashboard: pages rendered on the server from what the API returns.

Pages add no logic of their own: they call the functions behind the API's routes, as the same
caller, and place the results in templates. They work without JavaScript, except the verification
in the browser, and load nothing from other sites.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request, Response

from psgraph.service.pages import administration, data, reference, streams
from psgraph.service.pages.visits import PageRoute, identify_visit, not_found

__all__ = ["ROUTERS", "add_pages"]

static = APIRouter(route_class=PageRoute, include_in_schema=False)
"""The style sheet, the scripts and the icon."""

ROUTERS = (
    static,
    administration.router,
    streams.router,
    data.router,
    reference.router,
    administration.oversight,
)
"""All pages."""

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def add_pages(app: FastAPI) -> None:
    """Add all pages to an application after its API, and one for all other addresses."""
    for router in ROUTERS:
        app.include_router(router)
    app.router.add_api_route(
        "/{path:path}",
        _missing,
        methods=["GET"],
        include_in_schema=False,
        route_class_override=PageRoute,
    )


async def _missing(request: Request, path: str) -> Response:
    del path
    await identify_visit(request)
    raise not_found()


@static.get("/static/{name}")
def get_static(name: str, request: Request) -> Response:
    """Return a file; a browser keeps it while its content stays the same."""
    if name not in _contents():
        raise not_found()
    content, tag = _contents()[name]
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPES[name.rpartition(".")[2]], headers=headers)


@cache
def _contents() -> dict[str, tuple[bytes, str]]:
    """All files by name. The reports' style sheet comes first, so that both look alike."""
    folder = files("psgraph.service") / "static"
    found = {
        each.name: each.read_bytes()
        for each in folder.iterdir()
        if each.name.rpartition(".")[2] in _TYPES
    }
    report = (files("psgraph.reports") / "page.css").read_bytes()
    found["style.css"] = report + found.pop("dashboard.css")
    return {
        name: (content, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
        for name, content in found.items()
    }
