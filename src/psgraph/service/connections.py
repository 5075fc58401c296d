"""Connections: deadlines for what clients send and read, and a cap that silent ones don't fill.

A client has a few seconds to send the head of a request, and to continue reading a response. Bodies
have deadlines in `middleware` and `uploads`. When all connections are taken, a new one replaces the
one that has been silent for longest; if all carry requests, it is refused with 503.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from psgraph.service.problems import Refusal, problem

__all__ = ["ServerLoop", "limited_protocol", "raise_file_limit"]

HEAD_SECONDS = 10.0
"""The time for a TLS handshake, and for the head of a request."""

STALLED_SECONDS = 60.0
"""How long a client can leave a response unread."""


class LimitedProtocol(H11Protocol):
    """One connection, with deadlines; counted against a cap.

    Attributes
    ----------
    most
        How many connections there can be at the same time.
    silent_since
        When the client was last expected to send a request; None while one is in progress.
    """

    most: int
    silent_since: float | None = None
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, in place of a silent one if there are too many."""
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) <= self.most:
            return
        silent: list[Any] = [
            each for each in self.connections if _is_silent(each) and each is not self
        ]
        if silent:
            longest = min(silent, key=lambda each: each.silent_since)
            self.connections.discard(longest)  # it is lost only after other new ones
            longest.transport.abort()
        else:
            transport.write(_refused())
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._cancel_head()
        self._cancel_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; a complete head ends its deadline, not single bytes of it."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of a body that no one reads."""
        self._expect_head()
        super().on_response_complete()  # may start a request that was sent ahead
        self._look()

    def pause_writing(self) -> None:
        """Wait for the client to read; uvicorn would wait for ever."""
        super().pause_writing()
        self._cancel_read()
        self._read_timer = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Send on."""
        self._cancel_read()
        super().resume_writing()

    def _look(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel_head()

    def _expect_head(self) -> None:
        self._cancel_head()
        self.silent_since = self.loop.time()
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._end)

    def _end(self) -> None:
        """Close the connection once the client has read what was sent, which has a deadline too."""
        self._cancel_read()
        self._read_timer = self.loop.call_later(STALLED_SECONDS, self.transport.abort)
        self.transport.close()

    def _cancel_head(self) -> None:
        self.silent_since = None
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _cancel_read(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def _is_silent(connection: Any) -> bool:
    """Whether a client sends nothing, and has read all that was sent."""
    waiting = getattr(connection, "silent_since", None) is not None
    return waiting and not connection.transport.get_write_buffer_size()


def _refused() -> bytes:
    """Return the response on a connection above the cap."""
    refusal = Refusal(
        503,
        "busy",
        "The service has as many connections as it allows.",
        "Try again in a moment.",
        {"Retry-After": "5", "Connection": "close"},
    )
    response = problem(refusal)
    head = b"".join(b"%b: %b\r\n" % header for header in response.raw_headers)
    return b"HTTP/1.1 503 Service Unavailable\r\n" + head + b"\r\n" + bytes(response.body)


def limited_protocol(most: int) -> type[LimitedProtocol]:
    """Return the protocol of a server with at most this many connections."""
    return type("CappedProtocol", (LimitedProtocol,), {"most": most})


class ServerLoop(asyncio.SelectorEventLoop):
    """The event loop of a server, with a deadline for TLS handshakes."""

    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        """Listen."""
        if options.get("ssl") is not None:
            options.setdefault("ssl_handshake_timeout", HEAD_SECONDS)
        return await super().create_server(*arguments, **options)


def raise_file_limit(wanted: int) -> int:
    """Allow as many open files as the system permits, up to `wanted`; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft if soft != resource.RLIM_INFINITY else wanted
