"""All pages, added to an application."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from psgraph.service.pages import (
    adding_data,
    curating,
    overseeing,
    reading,
    signing_in,
    static,
    tokens,
)
from psgraph.service.pages.visits import PageRoute, identify_visit, not_found

__all__ = ["ROUTERS", "add_pages"]

ROUTERS = tuple(
    module.router
    for module in (static, signing_in, reading, curating, adding_data, tokens, overseeing)
)
"""All pages."""


def add_pages(app: FastAPI) -> None:
    """Add all pages to an application, after its API: unknown addresses outside it get a page."""
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
