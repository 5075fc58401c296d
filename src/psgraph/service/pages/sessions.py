"""Sessions of the dashboard: a cookie stands for a token that was typed in once.

The cookie holds a random name and nothing else. Sessions live in memory: a restart ends them all.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

__all__ = ["COOKIE", "Session", "Sessions"]

COOKIE = "psgraph_session"

_MOST_SESSIONS = 1_000


@dataclass
class Session:
    """Someone who signed in.

    Attributes
    ----------
    token_id
        The token that was used. It is looked up again for every request, so that revoking a token
        ends its sessions.
    csrf
        What every form of this session has to send back.
    """

    token_id: str
    begun: float
    seen: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def accepts(self, csrf: str) -> bool:
        """Whether a form came from a page of this session, compared in constant time."""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode())


class Sessions:
    """All sessions, by the digest of what their cookie holds.

    Parameters
    ----------
    idle_seconds
        How long a session lasts without a request.
    longest_seconds
        How long it lasts at most.

    Examples
    --------
    >>> sessions = Sessions(idle_seconds=60)
    >>> cookie = sessions.begin("token-1")
    >>> sessions.find(cookie).token_id, sessions.find("guess")
    ('token-1', None)
    """

    def __init__(
        self,
        *,
        idle_seconds: float = 30 * 60,
        longest_seconds: float = 12 * 3600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.idle_seconds, self.longest_seconds = idle_seconds, longest_seconds
        self._clock, self._lock = clock, Lock()
        self._sessions: dict[str, Session] = {}

    def begin(self, token_id: str) -> str:
        """Start a session and return the value of its cookie."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._drop_expired(now)
            while len(self._sessions) >= _MOST_SESSIONS:  # the one that was idle longest
                del self._sessions[min(self._sessions, key=lambda key: self._sessions[key].seen)]
            self._sessions[_key(cookie)] = Session(token_id, begun=now, seen=now)
        return cookie

    def find(self, cookie: str) -> Session | None:
        """Return the session of a cookie and note the request; None if it expired."""
        now = self._clock()
        with self._lock:
            self._drop_expired(now)
            session = self._sessions.get(_key(cookie))
            if session is not None:
                session.seen = now
            return session

    def end(self, cookie: str) -> None:
        """Forget a session."""
        with self._lock:
            self._sessions.pop(_key(cookie), None)

    def _drop_expired(self, now: float) -> None:
        expired = [
            key
            for key, session in self._sessions.items()
            if now - session.seen > self.idle_seconds or now - session.begun > self.longest_seconds
        ]
        for key in expired:
            del self._sessions[key]


def _key(cookie: str) -> str:
    """The digest of a cookie: comparing it takes the same time for every guess."""
    return hashlib.sha256(cookie.encode(errors="replace")).hexdigest()
