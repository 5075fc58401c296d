"""The worker: one thread that publishes what is due, through `Publisher` and its ledger.

It can be killed at any moment. What is accepted is on the disk; what is sealed is never measured
again; opening a publisher finishes a release that was interrupted. So a restart is a resume.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from psgraph.errors import BudgetExceeded, ReplayConflict, RosterChanged, exact_decimal
from psgraph.graph import Roster, Snapshot
from psgraph.publication.locations import ledger_at
from psgraph.publication.publisher import Publisher
from psgraph.service import clock
from psgraph.service.audit_log import SERVICE
from psgraph.service.logs import log
from psgraph.service.problems import places_of
from psgraph.service.queue import Entry

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["Worker"]

_LONGEST_PAUSE = 30.0
_TRY_AGAIN = 1.0
_LONGEST_WAIT = 300.0
_PURGE_EVERY = 3600.0


class Worker(threading.Thread):
    """Publishes the timestamps of all streams, one at a time."""

    def __init__(self, service: Service) -> None:
        super().__init__(name="psgraph-worker", daemon=True)
        self._service = service
        self._publishers: dict[str, Publisher] = {}
        self._wake, self._stop_now = threading.Event(), threading.Event()
        self._started_at = clock.now()
        self._retry_at: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._refused_during: dict[str, int] = {}
        self._purged_at = 0.0

    def wake(self) -> None:
        """Have it look for work now."""
        self._wake.set()

    def stop(self) -> None:
        """End after the timestamp in progress, and release all ledgers."""
        self._stop_now.set()
        self._wake.set()
        if self.is_alive():
            self.join()
        self.close()

    def due_at(self, stream: Stream, timestamp: int) -> float | None:
        """Return when a timestamp is released; None without a schedule.

        Ticks that passed while the service was stopped are due one delay after its start, so
        that clients can still deliver. Both moments are public.
        """
        if stream.schedule is None:
            return None
        tick = stream.schedule.due(timestamp)
        return max(tick, self._started_at + stream.schedule.delay) if tick < clock.now() else tick

    def due(self, stream: Stream, timestamp: int) -> bool:
        """Whether the tick of a timestamp has passed, so that no data are accepted for it."""
        at = self.due_at(stream, timestamp)
        return at is not None and at <= clock.now()

    # ---- the thread ----

    def run(self) -> None:
        """Publish until it is stopped."""
        while not self._stop_now.is_set():
            self._wake.clear()
            self.publish_due()
            self._purge()
            self._wake.wait(self._pause())

    def publish_due(self) -> None:
        """Publish everything that is due now."""
        for stream in self._service.streams:
            self._serve(stream)

    def close(self) -> None:
        """Release all ledgers."""
        for publisher in self._publishers.values():
            publisher.close()
        self._publishers.clear()

    def _pause(self) -> float:
        """Return how long nothing is due."""
        present, pause = clock.now(), _LONGEST_PAUSE
        for stream in self._service.streams:
            at = self.due_at(stream, stream.sealed)
            if at is not None and at > present:
                pause = min(pause, at - present)
            retry = self._retry_at.get(stream.name)
            if retry is not None:
                pause = min(pause, max(0.1, retry - time.monotonic()))
        return pause

    def _serve(self, stream: Stream) -> None:
        """Publish everything of a stream that is due."""
        if time.monotonic() < self._retry_at.get(stream.name, 0.0):
            return
        self._retry_at.pop(stream.name, None)
        try:
            while not self._stop_now.is_set() and self._step(stream):
                pass
            stream.trouble = None
            self._failures.pop(stream.name, None)
        except Exception as error:  # its text may hold anything
            self._postpone(stream, error)
        finally:
            stream.measuring = None

    def _postpone(self, stream: Stream, error: Exception) -> None:
        kind = type(error).__name__
        stream.trouble = f"Publishing failed ({kind}) and is tried again."
        failures = self._failures[stream.name] = self._failures.get(stream.name, 0) + 1
        wait = min(_LONGEST_WAIT, _TRY_AGAIN * 2**failures)
        self._retry_at[stream.name] = time.monotonic() + wait
        publisher = self._publishers.pop(stream.name, None)
        if publisher is not None:
            publisher.close()
        log("worker_failed", stream=stream.name, error=kind, places=places_of(error))

    def _step(self, stream: Stream) -> bool:
        """Publish the next timestamp of a stream if it is due; return whether it was."""
        if stream.name not in self._publishers and not self._has_work(stream):
            return False
        publisher = self._open(stream)
        timestamp = publisher.spending.timestamps
        entry = self._service.queue.find(stream.name, timestamp)
        snapshot = self._take(stream, timestamp, entry)
        if snapshot is None:
            return False
        stream.measuring = timestamp
        try:
            publisher.publish(snapshot, timestamp=timestamp, times=stream.statement)
        except BudgetExceeded as error:
            self._refuse(stream, timestamp, snapshot.time, entry, error)
            return False
        self._finish(stream, timestamp, snapshot)
        return True

    def _has_work(self, stream: Stream) -> bool:
        unfinished = stream.sealed > len(stream.shelf.certificates())
        queued = self._service.queue.queued(stream.name)
        return unfinished or bool(queued) or self.due(stream, stream.sealed)

    def _open(self, stream: Stream) -> Publisher:
        """Open the ledger of a stream, which finishes what was interrupted."""
        known = self._publishers.get(stream.name)
        if known is not None:
            return known
        publisher = Publisher.resume(ledger_at(stream.out))
        self._publishers[stream.name] = publisher
        stream.sealed = publisher.spending.timestamps
        for entry in self._service.queue.queued(stream.name):
            if entry.timestamp < stream.sealed:  # sealed, but the service was killed then
                self._reconcile(stream, publisher, entry)
        self._finish_tick(stream)
        stream.inbox.forget_events(stream.sealed)
        return publisher

    def _finish_tick(self, stream: Stream) -> None:
        """Record the last release if the service was killed after sealing events for it."""
        last = stream.sealed - 1
        if stream.schedule is None or last < 0:
            return
        entry = self._service.queue.find(stream.name, last)
        if entry is None or entry.state != "released":
            name = stream.schedule.time(last)
            self._finish(stream, last, stream.inbox.events_at(last, _roster(stream), time=name))

    def _reconcile(self, stream: Stream, publisher: Publisher, entry: Entry) -> None:
        """Compare an accepted snapshot with what is sealed: the command may have sealed other data.

        Then it is dropped, and later posts of the timestamp are compared with the ledger.
        """
        assert entry.file is not None
        name = entry.time or str(entry.timestamp)
        snapshot = stream.inbox.load(entry.file, _roster(stream), time=name)
        try:
            publisher.publish(snapshot, timestamp=entry.timestamp, times=stream.statement)
        except (ReplayConflict, RosterChanged):
            self._clear(stream, replace(entry, mark=None), outcome="published elsewhere")
        else:
            self._finish(stream, entry.timestamp, snapshot)

    def _take(self, stream: Stream, timestamp: int, entry: Entry | None) -> Snapshot | None:
        """Return the snapshot to publish now; None if it is not due or has to be waited for."""
        if entry is not None and entry.state == "refused" and not self._may_retry(stream):
            return None
        at = self.due_at(stream, timestamp)
        if at is not None and at > clock.now():
            return None
        roster = _roster(stream)
        if roster is None and stream.terms.roster == "list":
            return None
        with stream.lock:
            if entry is not None and entry.file is not None:
                name = entry.time or str(timestamp)
                return stream.inbox.load(entry.file, roster, time=name)
            if stream.schedule is None:
                return None
            name = stream.schedule.time(timestamp)
            if stream.terms.source == "events" or stream.terms.missing == "empty":
                return stream.inbox.events_at(timestamp, roster, time=name)
        return None

    def _may_retry(self, stream: Stream) -> bool:
        """Whether to try a refused timestamp again: once per later tick; else when it is posted."""
        if stream.schedule is None:
            return False
        return self._refused_during.get(stream.name) != stream.schedule.current()

    # ---- what follows a publication ----

    def _finish(self, stream: Stream, timestamp: int, snapshot: Snapshot) -> None:
        """Record a release, then delete or keep its original."""
        if stream.terms.keep_originals_days:
            stream.inbox.keep(timestamp, snapshot)
        entry = self._service.queue.find(stream.name, timestamp)
        entry = entry or Entry(timestamp, snapshot.time, "queued")
        with stream.lock:
            stream.sealed = max(stream.sealed, timestamp + 1)
            self._clear(stream, entry)
            stream.inbox.forget_events(stream.sealed)
        log("released", stream=stream.name, timestamp=timestamp)

    def _clear(self, stream: Stream, entry: Entry, *, outcome: str = "released") -> None:
        """Record that a timestamp is released, and delete its stored snapshot."""
        done = Entry(entry.timestamp, entry.time, "released", entry.mark)
        with self._service.database.transaction():
            self._service.queue.put(stream.name, done)
            self._service.audit.add(
                SERVICE,
                "release",
                stream=stream.name,
                timestamp=entry.timestamp,
                outcome=outcome,
            )
        if entry.file is not None:
            stream.inbox.remove(entry.file)

    def _refuse(
        self,
        stream: Stream,
        timestamp: int,
        name: str | None,
        entry: Entry | None,
        error: BudgetExceeded,
    ) -> None:
        """Record that the budget refused a timestamp: nothing was measured or charged."""
        reason = (
            f"Timestamp {timestamp} would overspend the privacy budget: requested "
            f"{exact_decimal(error.requested)}, remaining {exact_decimal(error.remaining)}. "
            "Nothing was measured."
        )
        refused = replace(
            entry or Entry(timestamp, name, "refused"), state="refused", reason=reason
        )
        with self._service.database.transaction():
            self._service.queue.put(stream.name, refused)
            self._service.audit.add(
                SERVICE, "release", stream=stream.name, timestamp=timestamp, outcome="refused"
            )
        if stream.schedule is not None:
            self._refused_during[stream.name] = stream.schedule.current()
        log("budget_refused", stream=stream.name, timestamp=timestamp)

    def _purge(self) -> None:
        """Delete originals that were kept as long as the terms say."""
        if time.monotonic() - self._purged_at < _PURGE_EVERY and self._purged_at:
            return
        self._purged_at = time.monotonic()
        for stream in self._service.streams:
            for timestamp in stream.inbox.purge(stream.terms.keep_originals_days):
                self._service.audit.add(
                    SERVICE, "delete original", stream=stream.name, timestamp=timestamp
                )


def _roster(stream: Stream) -> Roster | None:
    """The nodes of the next snapshot; None if they are read off its edges, or not given yet."""
    return None if stream.terms.roster == "edges" else stream.roster.now
