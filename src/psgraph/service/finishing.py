"""What follows a publication: the record of it, and the end of the private data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from psgraph.errors import BudgetExceeded, exact_decimal
from psgraph.graph import Snapshot
from psgraph.service.audit_log import SERVICE
from psgraph.service.logs import log
from psgraph.service.queue import Entry

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["Finishing"]


class Finishing:
    """Records releases and refusals, and deletes what is no longer needed."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def release(self, stream: Stream, timestamp: int, snapshot: Snapshot) -> None:
        """Record a release, then delete or keep its original."""
        if stream.terms.keep_originals_days:
            stream.inbox.keep(timestamp, snapshot)
        entry = self._service.queue.find(stream.name, timestamp)
        with stream.lock:
            stream.sealed = max(stream.sealed, timestamp + 1)
            self.clear(stream, entry or Entry(timestamp, snapshot.time, "queued"))
            stream.inbox.forget_events(stream.sealed)
        log("released", stream=stream.name, timestamp=timestamp)

    def clear(self, stream: Stream, entry: Entry, *, outcome: str = "released") -> None:
        """Record that a timestamp is released, and delete its stored snapshot."""
        done = Entry(entry.timestamp, entry.time, "released", entry.mark)
        self._record(stream, done, outcome)
        if entry.file is not None:
            stream.inbox.remove(entry.file)

    def refuse(
        self, stream: Stream, timestamp: int, time: str | None, error: BudgetExceeded
    ) -> None:
        """Record that the budget refused a timestamp: nothing was measured or charged."""
        reason = (
            f"Timestamp {timestamp} would overspend the privacy budget: requested "
            f"{exact_decimal(error.requested)}, remaining {exact_decimal(error.remaining)}. "
            "Nothing was measured."
        )
        entry = self._service.queue.find(stream.name, timestamp)
        entry = entry or Entry(timestamp, time, "refused")
        self._record(stream, replace(entry, state="refused", reason=reason), "refused")
        log("budget_refused", stream=stream.name, timestamp=timestamp)

    def purge(self) -> None:
        """Delete originals that were kept as long as the terms say."""
        for stream in self._service.streams:
            for timestamp in stream.inbox.purge(stream.terms.keep_originals_days):
                self._service.audit.add(
                    SERVICE, "delete original", stream=stream.name, timestamp=timestamp
                )

    def _record(self, stream: Stream, entry: Entry, outcome: str) -> None:
        with self._service.database.transaction():
            self._service.queue.put(stream.name, entry)
            self._service.audit.add(
                SERVICE,
                "release",
                stream=stream.name,
                timestamp=entry.timestamp,
                outcome=outcome,
            )
