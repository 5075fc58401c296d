"""The style sheet, the scripts and the icon."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from psgraph.service.pages.visits import PageRoute, not_found

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@router.get("/static/{name}")
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
    """All files by name. The style sheet of the reports comes first, so that both look alike."""
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
