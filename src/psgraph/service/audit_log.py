"""The audit log: append-only, and chained so that no entry can change unnoticed.

Each entry's digest covers its content and the previous digest. An auditor who notes the head can
check later that nothing up to it was changed or removed. There are two logs: *main*, for auditors,
and *events*, with every post of events. The number and times of those posts may depend on private
edges, so only curators see it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from psgraph.service.clock import now_text
from psgraph.service.database import Database
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import AuditEntry, AuditPage, AuditVerification

__all__ = ["SERVICE", "AuditLog", "LogName"]

LogName = Literal["main", "events"]
_START = "0" * 64


class AuditLog:
    """The two logs in the database of a service."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        identity: Identity,
        action: str,
        *,
        stream: str | None = None,
        timestamp: int | None = None,
        outcome: str = "done",
        log: LogName = "main",
    ) -> None:
        """Append an entry; durable when this returns. All values are public."""
        with self._database.transaction() as connection:
            last = connection.execute(
                "SELECT number, digest FROM audit WHERE log = ? ORDER BY number DESC LIMIT 1",
                (log,),
            ).fetchone()
            number, before = (0, _START) if last is None else (last[0] + 1, last[1])
            content = json.dumps(
                {
                    "number": number,
                    "at": now_text(),
                    "token": identity.token,
                    "role": "service" if identity == SERVICE else identity.role,
                    "action": action,
                    "stream": stream,
                    "timestamp": timestamp,
                    "outcome": outcome,
                },
                sort_keys=True,
            )
            connection.execute(
                "INSERT INTO audit VALUES (?, ?, ?, ?)",
                (log, number, content, _digest(before, content)),
            )

    @contextmanager
    def noting_refusals(
        self,
        identity: Identity,
        action: str,
        *,
        stream: str,
        timestamp: int | None = None,
        log: LogName = "main",
    ) -> Iterator[None]:
        """Record a refusal in the block by its code; the block itself records a success."""
        try:
            yield
        except Refusal as refusal:
            self.add(
                identity,
                action,
                stream=stream,
                timestamp=timestamp,
                outcome=refusal.error,
                log=log,
            )
            raise

    def page(self, caller: Identity, log: LogName, *, before: int | None, limit: int) -> AuditPage:
        """Return the entries of a log that a caller may see.

        A token that is limited to some streams sees only the entries about those.
        """
        if log == "events" and caller.role != "curator":
            raise Refusal(
                403,
                "forbidden",
                "The number of posts of events may depend on private data.",
                "Use a curator's token.",
            )
        streams = None if caller.streams is None else sorted(caller.streams)
        return AuditPage(
            entries=self.entries(log, before=before, limit=limit, streams=streams),
            total=self.count(log, streams=streams),
            head=self.head(log),
        )

    def entries(
        self,
        log: LogName = "main",
        *,
        before: int | None = None,
        limit: int = 100,
        streams: Collection[str] | None = None,
    ) -> list[AuditEntry]:
        """Return entries, newest first; only those about `streams` if given."""
        rows = self._database.rows(
            f"SELECT content, digest FROM audit WHERE log = ? AND number < ? {_about(streams)}"
            "ORDER BY number DESC LIMIT ?",
            (log, 2**62 if before is None else before, *(streams or ()), limit),
        )
        return [AuditEntry(**json.loads(content), digest=digest) for content, digest in rows]

    def count(self, log: LogName, *, streams: Collection[str] | None = None) -> int:
        """Return the number of entries, or of those about `streams`."""
        row = self._database.row(
            f"SELECT count(*) FROM audit WHERE log = ? {_about(streams)}", (log, *(streams or ()))
        )
        return 0 if row is None else int(row[0])

    def head(self, log: LogName = "main") -> str:
        """Return the digest of the last entry."""
        last = self._database.row(
            "SELECT digest FROM audit WHERE log = ? ORDER BY number DESC LIMIT 1", (log,)
        )
        return _START if last is None else str(last[0])

    def verify(self, log: LogName = "main", *, known_head: str | None = None) -> AuditVerification:
        """Check every link of a chain, and that it still contains a head noted earlier."""
        before, problem = _START, None
        seen = known_head in (None, _START)
        rows: list[tuple[Any, ...]] = self._database.rows(
            "SELECT number, content, digest FROM audit WHERE log = ? ORDER BY number", (log,)
        )
        for expected, (number, content, digest) in enumerate(rows):
            if number != expected:
                problem = f"entry {expected} is missing"
            elif digest != _digest(before, content):
                problem = f"entry {number} was changed"
            if problem:
                break
            before, seen = digest, seen or digest == known_head
        if problem is None and not seen:
            problem = "the log does not contain the head noted earlier: entries were removed"
        return AuditVerification(
            ok=problem is None, entries=len(rows), head=before, problem=problem
        )


def _about(streams: Collection[str] | None) -> str:
    """Return the condition that entries are about some streams."""
    if streams is None:
        return ""
    return f"AND json_extract(content, '$.stream') IN ({', '.join('?' * len(streams))}) "


def _digest(before: str, content: str) -> str:
    return hashlib.sha256(f"{before} {content}".encode()).hexdigest()


SERVICE = Identity("service", "curator")
"""The service itself, for entries about what its worker did."""
