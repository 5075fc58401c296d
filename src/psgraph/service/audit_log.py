"""The audit log: append-only, and chained so that no entry can change unnoticed.

Each entry's digest covers its content and the previous digest. An auditor who notes the head can
check later that nothing up to it was changed or removed. There are two logs.

main
    For auditors and curators: what does not depend on private data. A post of a snapshot is
    recorded before its body is read, as "received", so that the entry is the same for every body.
curators
    For curators: the outcome of every post, with the code of a refusal, and every post of events,
    whose number may depend on private edges. Its entries are salted: a digest confirms no guess.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from psgraph.service.clock import now_text
from psgraph.service.database import Database
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import AuditEntry, AuditPage, AuditVerification

__all__ = ["RECEIVED", "SERVICE", "AuditLog", "LogName"]

LogName = Literal["main", "curators"]
RECEIVED = "received"
"""The outcome of every post of a snapshot in the main log."""

_START = "0" * 64
_STEP = 2000  # entries that are read at once


@dataclass(frozen=True)
class _Verified:
    """The first entries of a log, which are verified: how many, and the digest of the last."""

    entries: int = 0
    head: str = _START
    seen: bool = True


class AuditLog:
    """The two logs in the database of a service."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._verified: dict[LogName, _Verified] = {}

    def add(
        self,
        identity: Identity,
        action: str,
        *,
        stream: str | None = None,
        timestamp: int | None = None,
        outcome: str = "done",
        log: LogName = "main",
        also_in: Sequence[str] = (),
    ) -> None:
        """Append an entry; durable when this returns. In the main log all values are public.

        Parameters
        ----------
        also_in
            Other streams that the same data were posted to; for the log of curators.
        """
        private = {"also_in": list(also_in), "salt": secrets.token_hex(16)}
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
                    **(private if log == "curators" else {}),
                },
                sort_keys=True,
            )
            connection.execute(
                "INSERT INTO audit VALUES (?, ?, ?, ?)",
                (log, number, content, _digest(before, content)),
            )

    def page(self, caller: Identity, log: LogName, *, before: int | None, limit: int) -> AuditPage:
        """Return the entries of a log that a caller may see.

        A token that is limited to some streams sees only the entries about those, and no other
        stream in them. Version 0.2.0 wrote the outcome of posts to the main log; others than
        curators see these entries as later versions write them.
        """
        if log == "curators" and caller.role != "curator":
            raise Refusal(
                403,
                "forbidden",
                "The outcome and number of posts may depend on private data.",
                "Use a curator's token.",
            )
        streams = None if caller.streams is None else sorted(caller.streams)
        total = self.count(log, streams=streams)
        entries = self.entries(log, before=before, limit=limit, streams=streams)
        return AuditPage(
            entries=[_shown(entry, caller) for entry in entries],
            total=total,
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
        """Return entries, newest first; only those about `streams` if given.

        These are numbered among themselves, since the numbers of all would tell how much happens in
        other streams.
        """
        total = self.count(log, streams=streams)
        end = total if before is None else min(before, total)
        rows = self._database.rows(
            f"SELECT content, digest FROM audit WHERE log = ? {_about(streams)}"
            "ORDER BY number DESC LIMIT ? OFFSET ?",
            (log, *(streams or ()), limit, total - end),
        )
        return [
            _entry(content, digest, number=end - 1 - place)
            for place, (content, digest) in enumerate(rows)
        ]

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

    def verify(
        self,
        caller: Identity,
        log: LogName = "main",
        *,
        known_head: str | None = None,
        whole: bool = True,
    ) -> AuditVerification:
        """Check every link of a chain, and that it still contains a head noted earlier.

        Parameters
        ----------
        caller
            A token that is limited to some streams is told how many entries are about those.
        whole
            Check from the beginning. Otherwise only what was added since the last check of this
            process, unless the head that was noted is older.
        """
        start = _Verified() if whole else self._verified.get(log, _Verified())
        found, problem = self._check(log, start, known_head)
        if not found.seen and start.entries and problem is None:
            found, problem = self._check(log, _Verified(), known_head)
        if problem is None:
            self._verified[log] = _Verified(found.entries, found.head)
            if not found.seen:
                problem = "the log does not contain the head noted earlier: entries were removed"
        streams = caller.streams
        entries = found.entries if streams is None else self.count(log, streams=sorted(streams))
        return AuditVerification(
            ok=problem is None, entries=entries, head=found.head, problem=problem
        )

    def _check(
        self, log: LogName, start: _Verified, known_head: str | None
    ) -> tuple[_Verified, str | None]:
        """Check the entries after some that are verified, in steps that others can read between."""
        number, before = start.entries, start.head
        seen = known_head in (None, _START, before)
        last = self._database.row(
            "SELECT digest FROM audit WHERE log = ? AND number = ?", (log, number - 1)
        )
        if number and (last is None or last[0] != before):
            return _Verified(number, before, seen), f"entry {number - 1} was changed"
        while rows := self._database.rows(
            "SELECT number, content, digest FROM audit WHERE log = ? AND number >= ? "
            "ORDER BY number LIMIT ?",
            (log, number, _STEP),
        ):
            for found, content, digest in rows:
                if found != number:
                    return _Verified(number, before, seen), f"entry {number} is missing"
                if digest != _digest(before, content):
                    return _Verified(number, before, seen), f"entry {number} was changed"
                number, before, seen = number + 1, digest, seen or digest == known_head
        return _Verified(number, before, seen), None


def _about(streams: Collection[str] | None) -> str:
    """Return the condition that entries are about some streams."""
    if streams is None:
        return ""
    return f"AND json_extract(content, '$.stream') IN ({', '.join('?' * len(streams))}) "


def _entry(content: str, digest: str, *, number: int) -> AuditEntry:
    values = json.loads(content) | {"number": number}
    values.pop("salt", None)
    return AuditEntry(**values, digest=digest)


def _shown(entry: AuditEntry, caller: Identity) -> AuditEntry:
    """Return an entry without what a caller may not see."""
    seen = [name for name in entry.also_in if caller.sees(name, public=False)]
    hidden = caller.role != "curator" and entry.action == "post snapshot"
    outcome = RECEIVED if hidden else entry.outcome
    return entry.model_copy(update={"also_in": seen, "outcome": outcome})


def _digest(before: str, content: str) -> str:
    return hashlib.sha256(f"{before} {content}".encode()).hexdigest()


SERVICE = Identity("service", "curator")
"""The service itself, for entries about what its worker did."""
