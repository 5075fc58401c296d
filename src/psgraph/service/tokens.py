"""Tokens: random secrets, hashed at rest, that expire and can be revoked.

A token is ``psg_<id>_<secret>``. The id is public and finds the row; the secret has 256 random
bits and only its argon2 hash is stored. The SHA-256 of a token that was checked is kept in memory,
so that argon2 runs once per token and process.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import threading
from collections import Counter
from typing import Any, cast

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from psgraph.service.audit_log import SERVICE, AuditLog
from psgraph.service.clock import after_days, now_text
from psgraph.service.database import Database
from psgraph.service.permissions import Identity, RoleName
from psgraph.service.problems import Refusal
from psgraph.service.schemas import NewToken, TokenCreated, TokenView

__all__ = ["Tokens"]

_FORM = re.compile(r"psg_([a-z0-9]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_COLUMNS = "id, role, label, streams, created, expires, revoked, used"
_MOST_REMEMBERED = 10_000

# No one can guess 256 random bits, so a slow hash would only slow down the service. These are the
# smallest parameters that argon2's authors still recommend.
_HASHER = PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1)
_DUMMY = _HASHER.hash("no token has this secret")


class Tokens:
    """The tokens of a service."""

    def __init__(
        self, database: Database, audit: AuditLog, *, shared: bool = False, reads_only: bool = False
    ) -> None:
        self._database, self._audit = database, audit
        self._reads_only = reads_only
        self._shared = shared  # with other processes
        self._checked: dict[bytes, str] = {}  # SHA-256 of a token → its id
        self._changing = threading.Lock()
        self._known: dict[str, TokenView] = {}
        self._used: dict[str, str] = {}  # id → day, until it is written
        self._failed: Counter[str] = Counter()
        self._remember()
        self._lock = threading.Lock()

    def create(self, new: NewToken, by: Identity) -> TokenCreated:
        """Create a token; only this result contains its secret."""
        if new.role == "administrator" and by.role != "administrator" and by.token != "service":
            raise Refusal(
                403,
                "forbidden",
                "Only an administrator can create a token of an administrator.",
                "The operator makes the first: psgraph serve DIR --new-administrator-token.",
            )
        identifier = "".join(secrets.choice(_LETTERS) for _ in range(12))
        token = f"psg_{identifier}_{secrets.token_urlsafe(32)}"
        expires = None if new.expires_days is None else after_days(new.expires_days)
        streams = None if new.streams is None else json.dumps(sorted(set(new.streams)))
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO tokens (id, hash, role, label, streams, created, expires) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    identifier,
                    _HASHER.hash(token),
                    new.role,
                    new.label,
                    streams,
                    now_text(),
                    expires,
                ),
            )
            self._audit.add(by, f"create {new.role} token", outcome=identifier)
        self._remember()
        return TokenCreated(token=token, **self._view(identifier).model_dump())

    def any_curator(self) -> bool:
        """Whether there is a valid curator token."""
        return any(
            view.role == "curator" and view.streams is None and self._works(view)
            for view in self._stored()
        )

    def views(self) -> list[TokenView]:
        """Return all tokens without their secrets, oldest first."""
        return list(self._known.values())

    def _remember(self) -> None:
        """Read all tokens again after a change; the last of several changes is read last."""
        with self._changing:
            self._known = {view.id: view for view in self._stored()}

    def look(self) -> None:
        """Learn about tokens that other processes created or revoked."""
        self._remember()

    def _stored(self) -> list[TokenView]:
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM tokens ORDER BY created, id")
        return [_as_view(row) for row in rows]

    def revoke(self, identifier: str, by: Identity) -> TokenView:
        """Revoke a token at once; refuse to revoke the last curator token."""
        view = self._view(identifier)
        if view.role == "administrator" and by.role != "administrator":
            raise Refusal(
                403,
                "forbidden",
                "Only an administrator can revoke the token of an administrator.",
                "Ask one.",
            )
        if view.revoked is None:
            with self._database.transaction() as connection:
                connection.execute(
                    "UPDATE tokens SET revoked = ? WHERE id = ?", (now_text(), identifier)
                )
                if view.role == "curator" and not self.any_curator():
                    raise Refusal(
                        409,
                        "last_curator",
                        "This is the last valid curator token.",
                        "Create another curator token first.",
                    )
                self._audit.add(by, f"revoke {view.role} token", outcome=identifier)
            self._remember()
        return self._view(identifier)

    # ---- checking ----

    def recognised(self, token: str) -> Identity | None:
        """Return the identity of a token that was checked before; None if it was not."""
        identifier = self._checked.get(_sha256(token))
        return None if identifier is None else self.identity(identifier)

    def named_by(self, token: str) -> str | None:
        """Return the id in a token if there is one; nothing is said about the secret."""
        match = _FORM.fullmatch(token)
        return match[1] if match and match[1] in self._known else None

    def failed(self, identifier: str | None) -> None:
        """Count a wrong token: one with the id of a token, or without."""
        self._failed[identifier or ""] += 1

    def write_down(self) -> None:
        """Write down when tokens were last used, and how often someone failed to sign in.

        The day of the last use is enough to find tokens that no one needs, and tells little about
        when data are posted.
        """
        used, self._used = self._used, {}
        failed, self._failed = self._failed, Counter()
        with self._database.transaction() as connection:
            for identifier, day in used.items():
                connection.execute("UPDATE tokens SET used = ? WHERE id = ?", (day, identifier))
            for identifier, number in sorted(failed.items()):
                attempt = "attempt" if number == 1 else "attempts"
                whose = f"a wrong secret for {identifier}" if identifier else "an unknown token"
                outcome = f"{number} {attempt} with {whose}"
                self._audit.add(SERVICE, "failed sign-in", outcome=outcome)
        if used:
            self._remember()

    @property
    def unwritten(self) -> bool:
        """Whether there is something to write down."""
        return bool(self._used or self._failed)

    def look_for(self, token: str) -> None:
        """Learn about a token that another process created just now."""
        match = _FORM.fullmatch(token) if self._shared else None
        if match and match[1] not in self._known:
            self._remember()

    def check(self, token: str) -> Identity | None:
        """Return the identity of a token, or None if it is not valid, by a slow hash.

        An unknown id takes as long as a wrong secret.
        """
        with self._lock:
            known = self.recognised(token)
            if known is not None:
                return known
            match = _FORM.fullmatch(token)
            row = match and self._database.row("SELECT hash FROM tokens WHERE id = ?", (match[1],))
            try:
                _HASHER.verify(row[0] if row else _DUMMY, token if match else "")
            except (Argon2Error, InvalidHashError):
                return None
            if not match or not row:
                return None
            if len(self._checked) >= _MOST_REMEMBERED:
                self._checked.clear()
            self._checked[_sha256(token)] = match[1]
            return self.identity(match[1])

    def identity(self, identifier: str) -> Identity | None:
        """Return the identity of a token by its id, or None if it is revoked or has expired.

        It is looked up in memory: every request does this, and none may wait for the database.
        """
        view = self._known.get(identifier)
        if view is None or not self._works(view):
            return None
        today = now_text()[:10]
        if view.used != today and self._used.get(identifier) != today:
            self._used[identifier] = today
        streams = None if view.streams is None else frozenset(view.streams)
        role = cast(RoleName, view.role)
        return Identity(identifier, role, streams, reads_only=self._reads_only)

    @staticmethod
    def _works(view: TokenView) -> bool:
        return view.revoked is None and (view.expires is None or view.expires > now_text())

    def _view(self, identifier: str) -> TokenView:
        if identifier not in self._known:
            raise Refusal(404, "not_found", "There is no such token.", "List the tokens.")
        return self._known[identifier]


def _as_view(row: tuple[Any, ...]) -> TokenView:
    identifier, role, label, streams, created, expires, revoked, used = row
    return TokenView(
        id=identifier,
        role=role,
        label=label,
        streams=None if streams is None else json.loads(streams),
        created=created,
        expires=expires,
        revoked=revoked,
        used=used,
    )


def _sha256(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
