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
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from psgraph.service.clock import now_text
from psgraph.service.database import Database
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import AuditEntry, AuditPage, AuditVerification

__all__ = ["RECEIVED", "SERVICE", "AuditLog", "Filter", "LogName"]

LogName = Literal["main", "curators"]
RECEIVED = "received"
"""The outcome of every post of a snapshot in the main log."""

_START = "0" * 64
_STEP = 2000  # entries that are read at once


_LARGEST = 2**62
_CSV = ("number", "at", "role", "token", "action", "stream", "timestamp", "outcome", "digest")


@dataclass(frozen=True)
class Filter:
    """Which entries to list; None and empty texts select all.

    Attributes
    ----------
    since, until
        The first moment, and the first one that is too late: ISO texts in UTC, or their beginnings.
    """

    action: str | None = None
    stream: str | None = None
    token: str | None = None
    since: str | None = None
    until: str | None = None

    @property
    def condition(self) -> tuple[str, tuple[str, ...]]:
        """The condition of a query, and its values."""
        parts = (
            ("AND action = ? ", self.action),
            ("AND stream = ? ", self.stream),
            ("AND token = ? ", self.token),
            ("AND at >= ? ", self.since),
            ("AND at < ? ", self.until),
        )
        given = [(words, value) for words, value in parts if value]
        return "".join(words for words, _ in given), tuple(value for _, value in given)


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
                "INSERT INTO audit (log, number, content, digest) VALUES (?, ?, ?, ?)",
                (log, number, content, _digest(before, content)),
            )

    def page(
        self,
        caller: Identity,
        log: LogName,
        *,
        before: int | None,
        limit: int,
        chosen: Filter | None = None,
    ) -> AuditPage:
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
        entries = self.entries(log, before=before, limit=limit, streams=streams, chosen=chosen)
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
        chosen: Filter | None = None,
    ) -> list[AuditEntry]:
        """Return entries, newest first; only those about `streams` if given.

        These are numbered among themselves, since the numbers of all would tell how much happens in
        other streams.
        """
        numbered = (
            "audit"
            if streams is None
            else "(SELECT log, row_number() OVER (ORDER BY number) - 1 AS number, content, digest, "
            f"stream, action, token, at FROM audit WHERE log = ? {_about(streams)}) AS numbered"
        )
        values = () if streams is None else (log, *streams)
        words, wanted = ("", ()) if chosen is None else chosen.condition
        last = _LARGEST if before is None else min(before, _LARGEST)
        rows = self._database.rows(
            f"SELECT number, content, digest FROM {numbered} WHERE log = ? {words}"
            "AND number < ? ORDER BY number DESC LIMIT ?",
            (*values, log, *wanted, last, limit),
        )
        return [_entry(content, digest, number=number) for number, content, digest in rows]

    def rows(self, caller: Identity, log: LogName, chosen: Filter) -> Iterator[list[str]]:
        """Yield the entries that a caller may see as rows of a table, newest first."""
        page = self.page(caller, log, before=None, limit=_STEP, chosen=chosen)
        yield [*_CSV, "also_in"] if log == "curators" else list(_CSV)
        while True:
            for entry in page.entries:
                values = [getattr(entry, name) for name in _CSV]
                texts = ["" if value is None else str(value) for value in values]
                yield [*texts, " ".join(entry.also_in)] if log == "curators" else texts
            if len(page.entries) < _STEP:
                return
            before = page.entries[-1].number
            page = self.page(caller, log, before=before, limit=_STEP, chosen=chosen)

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
    return f"AND stream IN ({', '.join('?' * len(streams))}) "


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
