"""Sessions of browsers: a random cookie that stands for a token, for a limited time.

Sessions are kept in memory; a restart ends them. The token is looked up at every request, so a
revoked token ends its sessions at once.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass

__all__ = ["Session", "Sessions"]

_MOST_SESSIONS = 10_000


@dataclass(frozen=True)
class Session:
    """A signed-in browser: the id of its token, and what its forms must send back."""

    token: str
    csrf: str
    ends: float

    def owns(self, csrf: str | None) -> bool:
        """Whether a form or script of this session sent a request."""
        return csrf is not None and hmac.compare_digest(csrf.encode(), self.csrf.encode())


class Sessions:
    """The sessions of a service."""

    def __init__(self, minutes: float) -> None:
        self._seconds = minutes * 60
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    def begin(self, token: str) -> tuple[str, Session]:
        """Begin a session for the id of a token; return the value of its cookie too."""
        cookie = secrets.token_urlsafe(32)
        session = Session(token, secrets.token_urlsafe(32), time.monotonic() + self._seconds)
        with self._lock:
            self._drop_ended()
            if len(self._sessions) >= _MOST_SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
            self._sessions[_name(cookie)] = session
        return cookie, session

    def find(self, cookie: str) -> Session | None:
        """Return the session of a cookie, None if there is none any more."""
        with self._lock:
            session = self._sessions.get(_name(cookie))
        return session if session is not None and session.ends > time.monotonic() else None

    def end(self, cookie: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(_name(cookie), None)

    def _drop_ended(self) -> None:
        present = time.monotonic()
        for name in [name for name, each in self._sessions.items() if each.ends <= present]:
            del self._sessions[name]


def _name(cookie: str) -> str:
    """Sessions are found by a digest, so that the comparison does not depend on the cookie."""
    return hashlib.sha256(cookie.encode(errors="replace")).hexdigest()
