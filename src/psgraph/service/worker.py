"""The worker: one thread that publishes what is due, at ticks or when it is woken.

The process can be killed at any moment. What is accepted is on disk; what is sealed is never
measured again; opening a publisher finishes a release that was interrupted. So a restart resumes.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from psgraph.errors import (
    BudgetExceeded,
    LedgerBusy,
    MeasuringStopped,
    ReplayConflict,
    RosterChanged,
    exact_decimal,
)
from psgraph.graph import Roster, Snapshot
from psgraph.publication.ledger.attempts import MOST_ATTEMPTS
from psgraph.publication.locations import ledger_at
from psgraph.publication.publisher import Publisher
from psgraph.service import clock
from psgraph.service.audit_log import SERVICE
from psgraph.service.inbox import Entry
from psgraph.service.problems import failure, log
from psgraph.service.team import Alone

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["Publishers", "Records", "Worker"]

MOST_MISSED = 5
"""How many periods that passed while the service was stopped are published without asking."""

_TRY_AGAIN = 1.0
_LONGEST_WAIT = 300.0
_PURGE_EVERY = 3600.0
_MOST_OPEN = 16  # ledgers


class Worker(threading.Thread):
    """Publishes the timestamps of all streams, one at a time.

    Attributes
    ----------
    after_releases
        Called with a stream that has new releases, once nothing more is due.
    """

    def __init__(self, service: Service) -> None:
        super().__init__(name="psgraph-worker", daemon=True)
        self._service = service
        self._publishers = Publishers(service, self.due)
        self._wake, self._stop_now = threading.Event(), threading.Event()
        self._retry_at: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._purge_at = 0.0
        self._released: dict[str, Stream] = {}
        self.after_releases: Callable[[Stream], None] = lambda _: None

    def wake(self) -> None:
        """Look for work now."""
        self._wake.set()

    def stop(self) -> None:
        """Stop after the timestamp in progress, and close all ledgers."""
        self._stop_now.set()
        self._wake.set()
        if self.is_alive():
            self.join()
        self._publishers.close()

    def due_at(self, stream: Stream, timestamp: int) -> float | None:
        """Return when a timestamp is released; None without a schedule.

        Ticks that passed while no one published are due one delay after someone started, so that
        clients can still post. Both moments are public.
        """
        if stream.schedule is None:
            return None
        tick = stream.tick(timestamp)
        if tick >= clock.now():
            return tick
        return max(tick, self._service.team.since() + stream.schedule.delay)

    def due(self, stream: Stream, timestamp: int) -> bool:
        """Whether the tick of a timestamp has passed, so that it takes no more data."""
        at = self.due_at(stream, timestamp)
        return at is not None and (at <= clock.now() or timestamp < stream.taken)

    def missed(self, stream: Stream) -> int:
        """Return how many periods passed while the service was stopped, if they are too many.

        Nothing could be posted for them, and the clock may be wrong. A release can't be taken back:
        beyond a few, a curator has to say that they are to be published.
        """
        waits = stream.terms.source == "snapshots" and stream.terms.missing == "wait"
        if stream.schedule is None or waits or stream.sealed < stream.catches_up:
            return 0
        missed = stream.schedule.current(self._service.team.since()) - stream.sealed
        return missed if missed > MOST_MISSED else 0

    def run(self) -> None:
        """Publish until stopped."""
        while not self._stop_now.is_set():
            self._wake.clear()
            try:
                self.publish_due()
            except Exception as error:  # the database can't be reached; leases end by themselves
                log("worker_waits", **failure(error))
                self._stop_now.wait(_TRY_AGAIN)
            self._announce()
            self._purge()
            if not self._service.team.shared:
                self._service.write_down()
            self._wake.wait(self._pause())

    def publish_due(self) -> None:
        """Publish everything that is due now: one timestamp of each stream in turn, ticks first."""
        published = True
        while published:
            published = sum(self._serve(stream) for stream in self._in_turn()) > 0

    def _in_turn(self) -> Iterator[Stream]:
        """Yield the streams that can continue, those with a tick that has passed first."""
        service = self._service
        streams = list(service.streams)
        if service.team.shared:  # so that workers meet rarely
            random.shuffle(streams)
        streams.sort(key=lambda each: not self.due(each, each.sealed))
        entries, busy = service.queue.unreleased(), service.team.busy()
        for stream in streams:
            ready = time.monotonic() >= self._retry_at.get(stream.name, 0.0)
            if (
                ready
                and stream.active
                and stream.name not in busy
                and self._may_have_work(stream, entries.get(stream.name, frozenset()))
                and not self._stop_now.is_set()
            ):
                yield stream
                entries = service.queue.unreleased()  # what came meanwhile has its turn, too

    def _may_have_work(self, stream: Stream, entries: Set[str]) -> bool:
        """Whether to look closer at a stream, with these states of timestamps in its queue."""
        if stream.sealed > len(stream.releases.certificates) or "queued" in entries:
            return True
        if not self._publishers.due(stream, stream.sealed) or self.missed(stream):
            return False
        if "refused" in entries:
            return self._publishers.may_retry(stream)
        return not stream.waits

    def _serve(self, stream: Stream) -> bool:
        """Publish one timestamp of a stream if it is due; return whether to look again."""
        self._retry_at.pop(stream.name, None)
        team, keep = self._service.team, 0.0
        if not team.take(stream):
            return False
        try:
            published = self._turn(stream)
            stream.trouble = stream.measuring = None
            self._failures.pop(stream.name, None)
            if published:
                self._released[stream.name] = stream
            return published
        except MeasuringStopped:
            self._failures.pop(stream.name, None)
            self._publishers.stop(stream)
        except LedgerBusy as error:  # its lease was lost, and the worker that had it continues
            if team.shared:
                self._retry_at[stream.name] = time.monotonic() + _TRY_AGAIN
            else:
                self._postpone(stream, error)
        except Exception as error:
            keep = self._postpone(stream, error)
        finally:
            team.give(stream, keep=keep)
        return False

    def _turn(self, stream: Stream) -> bool:
        """Publish what is due, for as long as a worker stays with a stream."""
        team = self._service.team
        end = time.monotonic() + team.turn
        published = once = self._publishers.step(stream)
        while published and time.monotonic() < end and not self._stop_now.is_set():
            published = self._publishers.step(stream)
        if team.shared:  # before the lease is given back
            self._publishers.close(stream.name)
        return once

    def _postpone(self, stream: Stream, error: Exception) -> float:
        """Try again later, after increasing pauses. The text of an error may be private.

        A measurement that could not be sealed is kept with its publisher: it is sealed later, and
        nothing is measured again. Return the seconds until then.
        """
        kind = type(error).__name__
        stream.trouble = f"Publishing failed ({kind}) and will be tried again."
        failures = self._failures[stream.name] = self._failures.get(stream.name, 0) + 1
        wait = min(_LONGEST_WAIT, _TRY_AGAIN * 2**failures)
        self._retry_at[stream.name] = time.monotonic() + wait
        self._publishers.close_sealed(stream.name)
        log("worker_failed", stream=stream.name, **failure(error))
        return wait

    def _announce(self) -> None:
        """Tell of new releases; a failure does not end the thread."""
        while self._released and not self._stop_now.is_set():
            try:
                self.after_releases(self._released.popitem()[1])
            except Exception as error:
                log("preparing_failed", **failure(error))

    def _pause(self) -> float:
        """Return the seconds until something is due."""
        present, pause = clock.now(), self._service.team.pause
        for stream in self._service.streams if pause == Alone.pause else ():
            at = self.due_at(stream, stream.sealed)
            if at is not None and at > present:
                pause = min(pause, at - present)
            retry = self._retry_at.get(stream.name)
            if retry is not None:
                pause = min(pause, max(0.1, retry - time.monotonic()))
        return pause

    def _purge(self) -> None:
        """Delete old originals from time to time; a failure does not end the thread."""
        if time.monotonic() < self._purge_at:
            return
        self._purge_at = time.monotonic() + _PURGE_EVERY
        try:
            Records(self._service).purge()
        except Exception as error:
            log("purge_failed", **failure(error))


class Publishers:
    """The open publishers of a service, one for each stream that has something to publish.

    Parameters
    ----------
    due
        Whether the tick of a timestamp has passed; False without a schedule.
    """

    def __init__(self, service: Service, due: Callable[[Stream, int], bool]) -> None:
        self._service, self.due = service, due
        self._records = Records(service)
        self._open_publishers: dict[str, Publisher] = {}
        self._refused_during: dict[str, int] = {}

    def close(self, *names: str) -> None:
        """Close the ledgers of the named streams; by default of all."""
        for name in names or tuple(self._open_publishers):
            publisher = self._open_publishers.pop(name, None)
            if publisher is not None:
                publisher.close()

    def close_sealed(self, name: str) -> None:
        """Close the ledger of a stream, unless a measurement waits to be sealed."""
        publisher = self._open_publishers.get(name)
        if publisher is None or not publisher.unsealed:
            self.close(name)

    def _close_others(self, stream: Stream) -> None:
        """Close the ledgers that were not used for longest, beyond a number of open ones."""
        self._open_publishers[stream.name] = self._open_publishers.pop(stream.name)
        for name in list(self._open_publishers)[:-_MOST_OPEN]:
            self.close_sealed(name)

    def stop(self, stream: Stream) -> None:
        """Stop a stream until a curator allows its timestamp to be measured again."""
        self.close(stream.name)
        self._records.stop(stream)

    def step(self, stream: Stream) -> bool:
        """Publish the next timestamp of a stream if it is due; return whether it was.

        Privacy: the snapshot goes to `Publisher.publish` and nowhere else. The time depends on the
        schedule, or on the curator's post. proofs/service.md.
        """
        if stream.name not in self._open_publishers and not self._has_work(stream):
            return False
        publisher = self._open(stream)
        self._close_others(stream)
        timestamp = publisher.spending.timestamps
        snapshot = self._take(stream, timestamp)
        if snapshot is None:
            return False
        stream.measuring = timestamp
        try:
            publisher.publish(snapshot, timestamp=timestamp, times=stream.times)
        except BudgetExceeded as error:
            self._records.refuse(stream, timestamp, snapshot.time, error)
            if stream.schedule is not None:
                self._refused_during[stream.name] = stream.schedule.current()
            return False
        self._records.release(stream, timestamp, snapshot)
        return True

    def _has_work(self, stream: Stream) -> bool:
        unfinished = stream.sealed > len(stream.releases.refresh())
        queued = self._service.queue.has_queued(stream.name)
        return unfinished or queued or self.due(stream, stream.sealed)

    # ---- the next snapshot ----

    def _take(self, stream: Stream, timestamp: int) -> Snapshot | None:
        """Return the snapshot to publish now; None if it is not due or not there yet.

        The queue is read after the tick and under the lock, so it holds all that was accepted
        before the tick.
        """
        roster = _roster(stream)
        if stream.schedule is not None and not self.due(stream, timestamp):
            return None
        if self._service.worker.missed(stream):
            return None
        if roster is None and stream.terms.roster == "list":
            return None
        with stream.lock:
            entry = self._service.queue.find(stream.name, timestamp)
            if entry is not None and entry.state == "refused" and not self.may_retry(stream):
                return None
            if entry is not None and entry.file is not None:
                return _stored(stream, entry)
            if stream.schedule is None:
                return None
            if stream.terms.source == "events" or stream.terms.missing == "empty":
                name = stream.schedule.time(timestamp)
                self._service.team.mark(stream, timestamp)
                return stream.inbox.events_at(timestamp, roster, time=name, kind=stream.kind)
        return None

    def may_retry(self, stream: Stream) -> bool:
        """Whether to retry a refused timestamp: once per later tick; without ticks, on a post."""
        if stream.schedule is None:
            return False
        return self._refused_during.get(stream.name) != stream.schedule.current()

    # ---- after an interruption ----

    def _open(self, stream: Stream) -> Publisher:
        """Open the ledger of a stream, and record what was sealed before the service was killed."""
        known = self._open_publishers.get(stream.name)
        if known is not None:
            return known
        publisher = Publisher.resume(ledger_at(stream.out))
        self._open_publishers[stream.name] = publisher
        stream.sealed = publisher.spending.timestamps
        for entry in self._service.queue.queued(stream.name):
            if entry.timestamp < stream.sealed:
                self._reconcile(stream, publisher, entry)
        self._finish_tick(stream)
        stream.inbox.forget_events(stream.sealed)
        return publisher

    def _reconcile(self, stream: Stream, publisher: Publisher, entry: Entry) -> None:
        """Compare an accepted snapshot with what is sealed.

        The command line may have sealed different data. Then the snapshot is dropped, and later
        posts of the timestamp are compared with the ledger.
        """
        try:
            snapshot = _stored(stream, entry)
        except FileNotFoundError:  # published after the database was backed up
            self._records.clear(stream, entry)
            return
        try:
            publisher.publish(snapshot, timestamp=entry.timestamp, times=stream.times)
        except (ReplayConflict, RosterChanged):
            self._records.clear(stream, replace(entry, mark=None))
            self._service.audit.add(
                SERVICE,
                "release",
                stream=stream.name,
                timestamp=entry.timestamp,
                outcome="published elsewhere",  # depends on the data
                log="curators",
            )
        else:
            self._records.release(stream, entry.timestamp, snapshot)

    def _finish_tick(self, stream: Stream) -> None:
        """Record the last scheduled release if the process was killed before."""
        last = stream.sealed - 1
        if stream.schedule is None or last < 0:
            return
        entry = self._service.queue.find(stream.name, last)
        if entry is None or entry.state != "released":
            name = stream.schedule.time(last)
            snapshot = stream.inbox.events_at(last, _roster(stream), time=name, kind=stream.kind)
            self._records.release(stream, last, snapshot)


def _roster(stream: Stream) -> Roster | None:
    """The nodes of the next snapshot; None if they are taken from its edges, or not given yet."""
    return None if stream.terms.roster == "edges" else stream.roster.now


def _stored(stream: Stream, entry: Entry) -> Snapshot:
    assert entry.file is not None
    name = entry.time or str(entry.timestamp)
    return stream.inbox.load(entry.file, _roster(stream), time=name, kind=stream.kind)


class Records:
    """Record releases and refusals, and delete private data that is no longer needed."""

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

    def clear(self, stream: Stream, entry: Entry) -> None:
        """Record that a timestamp is released, and delete its stored snapshot."""
        done = Entry(entry.timestamp, entry.time, "released", entry.mark)
        self._record(stream, done, "released")
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

    def stop(self, stream: Stream) -> None:
        """Record that a timestamp was measured too often and never sealed."""
        with stream.lock:
            stream.stopped = True
            stream.trouble = (
                f"Timestamp {stream.sealed} was measured {MOST_ATTEMPTS} times and never sealed. "
                "Find out why, then allow it to be measured again: POST "
                f"/streams/{stream.name}/measure-again, or psgraph serve --measure-again "
                f"{stream.name}."
            )
        self._service.audit.add(
            SERVICE,
            "stop stream",
            stream=stream.name,
            timestamp=stream.sealed,
            outcome="never sealed",
            log="curators",  # may depend on what was measured
        )
        log("stopped", stream=stream.name, timestamp=stream.sealed)

    def purge(self) -> None:
        """Delete originals that were kept for as long as the terms allow."""
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
