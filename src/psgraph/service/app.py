"""The application of a service, and the server that runs it."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType

import uvicorn
from fastapi import APIRouter, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.routing import Match

from psgraph._version import __version__
from psgraph.errors import InvalidArgument, OutputError
from psgraph.service.api import administration, streams
from psgraph.service.api.description import describe, operation_id
from psgraph.service.connections import ServerLoop, limited_protocol, raise_file_limit
from psgraph.service.middleware import Guard
from psgraph.service.pages import add_pages
from psgraph.service.pages.charts import prepare_pictures
from psgraph.service.problems import add_handlers, log
from psgraph.service.service import Service
from psgraph.service.settings import Settings

__all__ = ["PREFIX", "create_app", "serve"]

PREFIX = "/api/v1"

_GRACE = 20  # seconds for requests in progress
_MOST_FILES = 65_536  # open at the same time, if the system permits

unknown = APIRouter(include_in_schema=False)


@unknown.api_route("/{path:path}", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
async def refuse_unknown(request: Request, path: str) -> None:
    """Refuse an address below the prefix: 405 if it takes other methods, otherwise 404.

    Without it such an address would get a page instead of an error in JSON.
    """
    del path
    known = any(route.matches(request.scope)[0] == Match.PARTIAL for route in request.app.routes)
    raise HTTPException(405 if known else 404)


def create_app(settings: Settings, service: Service | None = None) -> FastAPI:
    """Build the application of a service; its worker runs while the application does.

    Parameters
    ----------
    service
        A service that is already open; by default one is opened on the settings' directory.
    """
    opened = Service(settings) if service is None else service

    @asynccontextmanager
    async def running(application: FastAPI) -> AsyncIterator[None]:
        del application
        opened.worker.after_releases = partial(prepare_pictures, opened)
        opened.start()
        try:
            yield
        finally:
            await opened.in_thread(opened.stop)

    app = FastAPI(
        title="psgraph",
        version=__version__,
        description="Publish graph streams under w-event differential privacy.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        generate_unique_id_function=operation_id,
        lifespan=running,
    )
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    app.state.service = opened
    add_handlers(app)
    app.include_router(administration.operations)
    for router in (
        streams.router,
        streams.posting,
        streams.releases,
        administration.oversight,
        administration.router,
        unknown,  # last: it matches every address
    ):
        app.include_router(router, prefix=PREFIX)
    add_pages(app)
    app.add_middleware(Guard, service=opened)
    return app


class _Server(uvicorn.Server):
    """A server that exits with code 0 on a signal; uvicorn would raise the signal again."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after the requests in progress; on a second Ctrl-C stop without waiting."""
        del frame
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def serve(service: Service, settings: Settings, *, announce: Callable[[str], object]) -> None:
    """Answer requests until SIGINT or SIGTERM, then finish what is in progress.

    Parameters
    ----------
    announce
        Called with the address once connections are accepted.
    """
    try:
        files = raise_file_limit(_MOST_FILES)
        listening = _listen(settings)
        app = create_app(settings, service)
        config = uvicorn.Config(
            app,
            log_level="critical",  # psgraph writes its own log, without addresses and queries
            access_log=False,
            server_header=False,
            date_header=True,
            ssl_certfile=None if settings.tls_cert is None else str(settings.tls_cert),
            ssl_keyfile=None if settings.tls_key is None else str(settings.tls_key),
            proxy_headers=settings.behind_proxy,
            forwarded_allow_ips=list(settings.proxies),
            http=limited_protocol(min(settings.limits.connections, files // 2)),
            ws="none",
            timeout_graceful_shutdown=_GRACE,
            h11_max_incomplete_event_size=64 * 1024,
        )
        server = _Server(config)
        config.load()
    except (ssl.SSLError, FileNotFoundError, PermissionError):
        service.stop()
        raise InvalidArgument(
            "the TLS certificate and key can't be used\n"
            "Give a matching pair of PEM files with --tls-cert and --tls-key."
        ) from None
    except BaseException:
        service.stop()
        raise
    host, port = listening.getsockname()[:2]
    scheme = "https" if settings.tls_cert is not None else "http"
    shown = f"[{host}]" if ":" in host else host
    announce(f"{scheme}://{shown}:{port}")
    log("started")
    with asyncio.Runner(loop_factory=ServerLoop) as runner:
        runner.run(server.serve(sockets=[listening]))
    log("stopped")


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Without the protocol asyncio leaves Nagle's algorithm on, which costs 40 ms per response.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(1024)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or "the port is out of range"
        raise OutputError(
            f"can't listen on {settings.host}, port {settings.port}: {reason}\n"
            "Choose another address (--host) or port (--port); port 0 picks a free one."
        ) from None
    return listening
