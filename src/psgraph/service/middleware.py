"""The middleware around every request: host names, body size, security headers, log lines.

A plain ASGI layer, so that it also covers requests that the application itself never sees.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from psgraph.service.problems import Refusal, log, problem, refusal_of

if TYPE_CHECKING:
    from psgraph.service.service import Service

__all__ = ["Guard", "RequestCounts"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)

HEADERS = {
    b"content-security-policy": CONTENT_POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"cache-control": b"no-store",
}
"""Added to every response that does not set them itself."""

_UPLOADS = ("/roster", "/events", "/preview", "/data")


class RequestCounts:
    """Request counters of the routes whose traffic reveals nothing about private data."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, int]] = Counter()
        self._lock = threading.Lock()
        self.started = time.time()

    def add(self, method: str, route: str, status: int) -> None:
        """Count one request."""
        with self._lock:
            self._counts[method, route, status] += 1

    def items(self) -> list[tuple[tuple[str, str, int], int]]:
        """Return the counts, in a fixed order."""
        with self._lock:
            return sorted(self._counts.items())


class Guard:
    """Check every request before the application sees it, and every response after.

    Parameters
    ----------
    application
        Answers the requests that pass.
    service
        Provides the settings and counters.
    """

    def __init__(self, application: Application, service: Service) -> None:
        self._application, self._service = application, service
        self._hosts = service.settings.allowed_hosts
        self._headers = dict(HEADERS)
        if service.settings.encrypted:
            self._headers[b"strict-transport-security"] = b"max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        started, answered = time.perf_counter(), {"status": 500}
        head = scope["method"] == "HEAD"
        if head:  # what GET answers, without the content
            scope = {**scope, "method": "GET"}

        async def send_guarded(message: Message) -> None:
            if head and message["type"] == "http.response.body":
                message["body"] = b""
            if message["type"] == "http.response.start":
                answered["status"] = message["status"]
                present = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *((name, value) for name, value in message["headers"] if name != b"server"),
                    *(
                        (name, value)
                        for name, value in self._headers.items()
                        if name not in present
                    ),
                ]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await problem(refusal)(scope, receive, send_guarded)
        else:
            await self._application(scope, self._bounded(scope, receive), send_guarded)
        self._record(scope, answered["status"], time.perf_counter() - started)

    def _refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused: its host, or a body that is ambiguous or too large."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name not in self._hosts:
            return Refusal(
                421,
                "unknown_host",
                "The service does not answer for this host name.",
                "Use its own name; the operator adds names with --hostname.",
            )
        if b"content-length" in headers and b"transfer-encoding" in headers:
            return refusal_of(400, {"Connection": "close"})  # a proxy may read the other one
        length = headers.get(b"content-length", b"0")
        if not _is_upload(scope) and length.isdigit():
            most = self._service.settings.limits.body_bytes
            if int(length) > most:
                return refusal_of(413)
        return None

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """Limit the size of a body, and the time to send it; uploads have their own limits."""
        if _is_upload(scope):
            return receive
        limits, size, more = self._service.settings.limits, 0, True
        deadline = asyncio.get_running_loop().time() + limits.body_seconds

        async def receive_bounded() -> Message:
            nonlocal size, more
            try:  # FastAPI passes on no exception but HTTPException from here
                async with asyncio.timeout_at(deadline if more else None):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, headers={"Connection": "close"}) from None
            more = bool(message.get("more_body"))
            size += len(message.get("body", b""))
            if size > limits.body_bytes:
                raise HTTPException(413)
            return message

        return receive_bounded

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        """Log and count a request, unless the number or duration could reveal something."""
        route = scope.get("route")
        path = str(getattr(route, "path", "other"))
        if route is not None and scope["path"].startswith("/api/") and path[:5] != "/api/":
            path = f"/api/v1{path}"  # a router does not know its prefix
        extra = getattr(route, "openapi_extra", None) or {}
        if extra.get("x-private"):
            return
        method = scope["method"] if scope["method"] in _METHODS else "other"
        if _is_upload(scope):  # its status and duration depend on what was sent
            log("request", method=method, route=path)
            return
        log("request", method=method, route=path, status=status, seconds=round(seconds, 4))
        self._service.counts.add(method, path, status)


_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")


def _is_upload(scope: Scope) -> bool:
    """Whether a request carries data for a stream."""
    path = scope["path"]
    if scope["method"] not in ("POST", "PUT") or "/streams/" not in path:
        return False
    return "/snapshots/" in path or path.endswith(_UPLOADS)
