"""Running a service: its socket, TLS, and a graceful stop."""

from __future__ import annotations

import signal
import socket
import ssl
from collections.abc import Callable
from types import FrameType

import uvicorn

from psgraph.errors import InvalidArgument, OutputError
from psgraph.service.app import create_app
from psgraph.service.logs import log
from psgraph.service.service import Service
from psgraph.service.settings import Settings

__all__ = ["serve"]

PROXIES = "127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fd00::/8"
"""Addresses of proxies whose ``X-Forwarded-For`` is believed; clients could write it as well."""

_GRACE = 20  # seconds for requests in progress


class _Server(uvicorn.Server):
    """A server that ends with exit code 0 when it is asked to; uvicorn would raise the signal."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after the requests in progress; at a second Ctrl-C without waiting for them."""
        del frame
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def serve(service: Service, settings: Settings, *, announce: Callable[[str], object]) -> None:
    """Answer requests until SIGINT or SIGTERM; then finish what is in progress.

    Parameters
    ----------
    announce
        Called with the address once connections are accepted.
    """
    try:
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
            forwarded_allow_ips=PROXIES,
            timeout_graceful_shutdown=_GRACE,
            h11_max_incomplete_event_size=64 * 1024,
        )
        server = _Server(config)
        config.load()
    except (ssl.SSLError, FileNotFoundError, PermissionError):
        service.stop()
        raise InvalidArgument(
            "the TLS certificate and key can't be used\n"
            "Give PEM files that belong together: --tls-cert and --tls-key."
        ) from None
    except BaseException:
        service.stop()
        raise
    host, port = listening.getsockname()[:2]
    scheme = "https" if settings.tls_cert is not None else "http"
    shown = f"[{host}]" if ":" in host else host
    announce(f"{scheme}://{shown}:{port}")
    log("started")
    server.run(sockets=[listening])
    log("stopped")


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Without the protocol asyncio leaves Nagle's algorithm on, which costs 40 ms per answer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(1024)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or "the port is out of range"
        raise OutputError(
            f"{settings.host}, port {settings.port}, can't be listened on: {reason}\n"
            "Choose another address (--host) or port (--port); 0 takes a free one."
        ) from None
    return listening
