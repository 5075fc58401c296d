"""The gate: who sends a request, and whether they may send another one now."""

from __future__ import annotations

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from psgraph.service.permissions import ANYONE, Identity
from psgraph.service.problems import Refusal
from psgraph.service.rate_limits import RateLimit
from psgraph.service.sessions import Session, Sessions
from psgraph.service.settings import Settings
from psgraph.service.tokens import Tokens

__all__ = ["CSRF_HEADER", "Gate"]

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
        # The prefix has browsers refuse the cookie from another host or without TLS.
        self.cookie_name = "__Host-psgraph" if settings.encrypted else "psgraph"
        self.secure = settings.encrypted

    async def identify(self, request: Request) -> Identity:
        """Return who sends a request; refuse a wrong token and too many requests.

        A session can change something only if the request carries its CSRF token, which no other
        site can read.
        """
        header = request.headers.get("Authorization")
        if header is not None:
            identity = await self.check_token(request, _bearer(header))
        else:
            identity = self._by_session(request)
        self.limit(identity, request)
        return identity

    async def check_token(self, request: Request, token: str) -> Identity:
        """Return the identity of a token; refuse a wrong one, after too many without looking."""
        known = self._tokens.recognised(token)
        if known is not None:
            return known
        address = _address(request)
        self._refuse_wait(self._failures.wait(address, cost=0))
        found = await run_in_threadpool(self._tokens.check, token)
        if found is None:
            self._failures.wait(address)
            raise _unknown_token()
        return found

    def session(self, request: Request) -> Session | None:
        """Return the session of a browser, None if it is not signed in, or no longer."""
        cookie = request.cookies.get(self.cookie_name)
        session = None if cookie is None else self._sessions.find(cookie)
        if session is None or self._tokens.identity(session.token) is None:
            return None
        return session

    def _by_session(self, request: Request) -> Identity:
        session = self.session(request)
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
        """Count a request of a token, or of an address without one; refuse too many."""
        self._refuse_wait(self._requests.wait(identity.token or _address(request)))

    @staticmethod
    def _refuse_wait(seconds: float) -> None:
        if seconds:
            raise Refusal(
                429,
                "too_many_requests",
                "There were too many requests.",
                "Wait as long as the header Retry-After says.",
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
    return f"address {request.client.host if request.client else 'unknown'}"
