"""The application: routers, errors and the guard, around one service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from psgraph._version import __version__
from psgraph.service.api import (
    administration,
    operations,
    oversight,
    posting,
    releases,
    streams,
    unknown,
)
from psgraph.service.guard import Guard
from psgraph.service.pages.dashboard import add_pages
from psgraph.service.problems import add_handlers
from psgraph.service.service import Service
from psgraph.service.settings import Settings

__all__ = ["PREFIX", "create_app"]

PREFIX = "/api/v1"


def create_app(settings: Settings, service: Service | None = None) -> FastAPI:
    """Build the application of a service; its worker runs while the application does.

    Parameters
    ----------
    service
        An opened service; one is opened on the directory of the settings unless given.
    """
    opened = Service(settings) if service is None else service

    @asynccontextmanager
    async def running(application: FastAPI) -> AsyncIterator[None]:
        del application
        opened.start()
        try:
            yield
        finally:
            await opened.in_thread(opened.stop)

    app = FastAPI(
        title="psgraph",
        version=__version__,
        description="Publish graph streams under w-event edge differential privacy.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        lifespan=running,
    )
    app.state.service = opened
    add_handlers(app)
    app.include_router(operations.router)
    for router in (
        streams.router,
        posting.router,
        releases.router,
        oversight.router,
        administration.router,
    ):
        app.include_router(router, prefix=PREFIX)
    app.include_router(unknown.router, prefix=PREFIX)
    add_pages(app)
    app.add_middleware(Guard, service=opened)
    return app
