"""Who sends a request: bearer tokens, browser sessions, and the rate limit of each caller.

A session is a random cookie that stands for a token for a limited time. The database has a digest
of the cookie; what is sent back with forms is computed from it. The token is looked up at every
request, so a revoked token ends its sessions at once.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from psgraph.service import clock
from psgraph.service.database import Database
from psgraph.service.permissions import ANYONE, Identity
from psgraph.service.problems import Refusal
from psgraph.service.settings import Settings
from psgraph.service.tokens import Tokens

__all__ = ["CSRF_HEADER", "Gate", "RateLimit", "Session", "Sessions"]

_MOST_CALLERS = 100_000


class RateLimit:
    """A token bucket per caller: `rate` requests per second, and `burst` at once.

    >>> limit = RateLimit(rate=0.001, burst=2)
    >>> [limit.wait("ann") for _ in range(2)], limit.wait("ann") > 0, limit.wait("bob")
    ([0.0, 0.0], True, 0.0)
    """

    def __init__(self, *, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, float(burst)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, caller: str, *, cost: float = 1.0) -> float:
        """Take from a caller's bucket; return 0, or the seconds until that is possible.

        With a cost of 0 nothing is taken: this only tells whether the bucket is empty.
        """
        with self._lock:
            present = time.monotonic()
            level, at = self._buckets.pop(caller, (self._burst, present))
            level = min(self._burst, level + (present - at) * self._rate)
            needed = max(cost, 1.0) - level
            self._buckets[caller] = (level - (cost if needed <= 0 else 0.0), present)
            if len(self._buckets) > _MOST_CALLERS:
                self._buckets.popitem(last=False)
            return 0.0 if needed <= 0 else needed / self._rate


_MOST_SESSIONS = 10_000


@dataclass(frozen=True)
class Session:
    """A signed-in browser: the id of its token, and the CSRF token its forms must send back."""

    token: str
    csrf: str
    ends: float

    def owns(self, csrf: str | None) -> bool:
        """Whether a form or script of this session sent a request."""
        return csrf is not None and hmac.compare_digest(csrf.encode(), self.csrf.encode())


class Sessions:
    """The sessions of a service, in its database and in memory; they outlast a restart."""

    def __init__(
        self,
        minutes: float,
        database: Database,
        clock: Callable[[], float] = clock.now,
        *,
        shared: bool = False,
    ) -> None:
        self.clock = clock
        self._seconds, self._database = minutes * 60, database
        self._shared, self._lock = shared, threading.Lock()
        self._known: dict[str, tuple[str, float]] = {}  # name → token, end
        self.look()

    def start(self, token: str) -> tuple[str, Session]:
        """Start a session for the id of a token; return its cookie and the session."""
        cookie = secrets.token_urlsafe(32)
        name, ends = _name(cookie), self.clock() + self._seconds
        with self._lock, self._database.transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE ends <= ?", (self.clock(),))
            (number,) = connection.execute("SELECT count(*) FROM sessions").fetchone()
            if number >= _MOST_SESSIONS:
                connection.execute(
                    "DELETE FROM sessions WHERE ends = (SELECT min(ends) FROM sessions)"
                )
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (name, token, ends))
            self._read()
        return cookie, Session(token, _csrf(cookie), ends)

    def find(self, cookie: str) -> Session | None:
        """Return the session of a cookie, or None if it has ended.

        It is looked up in memory: every request of a browser does this.
        """
        token, ends = self._known.get(_name(cookie), ("", 0.0))
        return Session(token, _csrf(cookie), ends) if ends > self.clock() else None

    def end(self, cookie: str) -> None:
        """End a session."""
        with self._lock:
            self._database.write("DELETE FROM sessions WHERE name = ?", (_name(cookie),))
            self._known.pop(_name(cookie), None)

    def look(self) -> None:
        """Learn about sessions that other processes started or ended."""
        with self._lock:
            self._read()

    def _read(self) -> None:
        rows = self._database.rows("SELECT name, token, ends FROM sessions")
        self._known = {name: (token, ends) for name, token, ends in rows}

    def unseen(self, cookie: str) -> bool:
        """Whether another process may have started the session of a cookie just now."""
        return self._shared and _name(cookie) not in self._known


def _name(cookie: str) -> str:
    """Return the key of a session: a digest, so that lookup time does not depend on the cookie."""
    return hashlib.sha256(cookie.encode(errors="replace")).hexdigest()


def _csrf(cookie: str) -> str:
    """Return what forms of a session send back: no one can compute it without the cookie."""
    return hmac.new(cookie.encode(errors="replace"), b"form", "sha256").hexdigest()


CSRF_HEADER = "X-CSRF-Token"
_SAFE = ("GET", "HEAD", "OPTIONS")


class Gate:
    """Identifies callers by bearer token or session cookie, and limits their rate."""

    def __init__(self, settings: Settings, tokens: Tokens, sessions: Sessions) -> None:
        limits = settings.limits
        self._tokens, self._sessions = tokens, sessions
        self._requests = RateLimit(rate=limits.requests_per_second, burst=limits.burst)
        self._failures = RateLimit(
            rate=limits.failures_per_minute / 60, burst=limits.failures_per_minute
        )
        # With this prefix browsers reject the cookie from another host or without TLS.
        self.cookie_name = "__Host-psgraph" if settings.encrypted else "psgraph"
        self.secure = settings.encrypted

    async def identify(self, request: Request) -> Identity:
        """Return who sends a request; refuse a wrong token and too many requests.

        A session may change something only if the request carries its CSRF token, which no other
        site can read.
        """
        header = request.headers.get("Authorization")
        if header is not None:
            identity = await self.check_token(request, _bearer(header))
        else:
            identity = await self._by_session(request)
        self.limit(identity, request)
        return identity

    async def check_token(self, request: Request, token: str) -> Identity:
        """Return the identity of a token; refuse a wrong one, unchecked after too many of them.

        Wrong secrets of an id are counted apart from tokens whose id does not exist: those who
        guess do not lock out a token from the same address.
        """
        known = self._tokens.recognised(token)
        if known is not None:
            return known
        named = self._tokens.named_by(token)
        if named is None:
            await run_in_threadpool(self._tokens.look_for, token)
            named = self._tokens.named_by(token)
        failing = _address(request) if named is None else f"{_address(request)} {named}"
        self._refuse_wait(self._failures.wait(failing, cost=0))
        found = await run_in_threadpool(self._tokens.check, token)
        if found is None:
            self._failures.wait(failing)
            self._tokens.failed(named)
            raise _unknown_token()
        return found

    async def session(self, request: Request) -> Session | None:
        """Return the session of a browser, or None if it is not signed in (any more)."""
        cookie = request.cookies.get(self.cookie_name)
        if cookie is not None and self._sessions.unseen(cookie):
            self._refuse_wait(self._requests.wait(_address(request), cost=0))
            await run_in_threadpool(self._sessions.look)
        session = None if cookie is None else self._sessions.find(cookie)
        if session is None or self._tokens.identity(session.token) is None:
            return None
        return session

    async def _by_session(self, request: Request) -> Identity:
        session = await self.session(request)
        identity = None if session is None else self._tokens.identity(session.token)
        if session is None or identity is None:
            return ANYONE
        if request.method not in _SAFE and not session.owns(request.headers.get(CSRF_HEADER)):
            raise Refusal(
                403,
                "csrf",
                "The request does not come from a page of this session.",
                "Reload the page and try again.",
            )
        return identity

    def limit(self, identity: Identity, request: Request) -> None:
        """Count a request by its token, or by its address without one; refuse too many."""
        self._refuse_wait(self._requests.wait(identity.token or _address(request)))

    @staticmethod
    def _refuse_wait(seconds: float) -> None:
        if seconds:
            raise Refusal(
                429,
                "too_many_requests",
                "Too many requests.",
                "Wait for the number of seconds in the header Retry-After.",
                {"Retry-After": str(int(seconds) + 1)},
            )


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token or len(token) > 200:
        raise _unknown_token()
    return token.strip()


def _unknown_token() -> Refusal:
    return Refusal(
        401,
        "unauthorised",
        "The token is unknown, expired or revoked.",
        "Ask a curator for a new token.",
        {"WWW-Authenticate": "Bearer"},
    )


def _address(request: Request) -> str:
    """Return the address that a caller is counted by: for IPv6 its network, which one user has.

    A proxy may pass on any text, of any length.
    """
    try:
        address = ipaddress.ip_address(request.client.host if request.client else "")
    except ValueError:
        return "address unknown"
    if address.version == 6:
        return f"network {ipaddress.ip_network((address, 64), strict=False)}"
    return f"address {address}"
