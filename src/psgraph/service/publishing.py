"""Publishing the next timestamp of a stream: what is due, and what was interrupted.

A kill can come at any moment. What is accepted is on the disk; what is sealed is never measured
again; opening a publisher finishes a release that was interrupted. So a restart is a resume.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from psgraph.errors import BudgetExceeded, ReplayConflict, RosterChanged
from psgraph.graph import Roster, Snapshot
from psgraph.publication.locations import ledger_at
from psgraph.publication.publisher import Publisher
from psgraph.service.finishing import Finishing
from psgraph.service.queue import Entry

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["Publishing"]


class Publishing:
    """The publishers of a service, one for each stream that has something to publish.

    Parameters
    ----------
    due
        Whether the tick of a timestamp has passed; False without a schedule.
    """

    def __init__(self, service: Service, due: Callable[[Stream, int], bool]) -> None:
        self._service, self._due = service, due
        self._finishing = Finishing(service)
        self._publishers: dict[str, Publisher] = {}
        self._refused_during: dict[str, int] = {}

    def close(self, *names: str) -> None:
        """Release the ledgers of some streams, or of all."""
        for name in names or tuple(self._publishers):
            publisher = self._publishers.pop(name, None)
            if publisher is not None:
                publisher.close()

    def step(self, stream: Stream) -> bool:
        """Publish the next timestamp of a stream if it is due; return whether it was.

        Privacy: the snapshot goes to `Publisher.publish` and nowhere else. When it goes there
        depends on the schedule, or on the curator's post. proofs/service.md.
        """
        if stream.name not in self._publishers and not self._has_work(stream):
            return False
        publisher = self._open(stream)
        timestamp = publisher.spending.timestamps
        snapshot = self._take(stream, timestamp)
        if snapshot is None:
            return False
        stream.measuring = timestamp
        try:
            publisher.publish(snapshot, timestamp=timestamp, times=stream.times)
        except BudgetExceeded as error:
            self._finishing.refuse(stream, timestamp, snapshot.time, error)
            if stream.schedule is not None:
                self._refused_during[stream.name] = stream.schedule.current()
            return False
        self._finishing.release(stream, timestamp, snapshot)
        return True

    def _has_work(self, stream: Stream) -> bool:
        unfinished = stream.sealed > len(stream.shelf.certificates())
        queued = self._service.queue.queued(stream.name)
        return unfinished or bool(queued) or self._due(stream, stream.sealed)

    # ---- the next snapshot ----

    def _take(self, stream: Stream, timestamp: int) -> Snapshot | None:
        """Return the snapshot to publish now; None if it is not due or has to be waited for.

        The queue is read after the tick and under the lock: what was accepted before is in it.
        """
        roster = _roster(stream)
        if stream.schedule is not None and not self._due(stream, timestamp):
            return None
        if roster is None and stream.terms.roster == "list":
            return None
        with stream.lock:
            entry = self._service.queue.find(stream.name, timestamp)
            if entry is not None and entry.state == "refused" and not self._may_retry(stream):
                return None
            if entry is not None and entry.file is not None:
                return _stored(stream, entry)
            if stream.schedule is None:
                return None
            if stream.terms.source == "events" or stream.terms.missing == "empty":
                name = stream.schedule.time(timestamp)
                return stream.inbox.events_at(timestamp, roster, time=name)
        return None

    def _may_retry(self, stream: Stream) -> bool:
        """Whether to try a refused timestamp again: once per later tick; else when it is posted."""
        if stream.schedule is None:
            return False
        return self._refused_during.get(stream.name) != stream.schedule.current()

    # ---- after an interruption ----

    def _open(self, stream: Stream) -> Publisher:
        """Open the ledger of a stream, and record what was sealed when the service was killed."""
        known = self._publishers.get(stream.name)
        if known is not None:
            return known
        publisher = Publisher.resume(ledger_at(stream.out))
        self._publishers[stream.name] = publisher
        stream.sealed = publisher.spending.timestamps
        for entry in self._service.queue.queued(stream.name):
            if entry.timestamp < stream.sealed:
                self._reconcile(stream, publisher, entry)
        self._finish_tick(stream)
        stream.inbox.forget_events(stream.sealed)
        return publisher

    def _reconcile(self, stream: Stream, publisher: Publisher, entry: Entry) -> None:
        """Compare an accepted snapshot with what is sealed: the command may have sealed other data.

        Then it is dropped, and later posts of the timestamp are compared with the ledger.
        """
        snapshot = _stored(stream, entry)
        try:
            publisher.publish(snapshot, timestamp=entry.timestamp, times=stream.times)
        except (ReplayConflict, RosterChanged):
            elsewhere = replace(entry, mark=None)
            self._finishing.clear(stream, elsewhere, outcome="published elsewhere")
        else:
            self._finishing.release(stream, entry.timestamp, snapshot)

    def _finish_tick(self, stream: Stream) -> None:
        """Record the last release of events, or of nothing, if that was interrupted."""
        last = stream.sealed - 1
        if stream.schedule is None or last < 0:
            return
        entry = self._service.queue.find(stream.name, last)
        if entry is None or entry.state != "released":
            name = stream.schedule.time(last)
            snapshot = stream.inbox.events_at(last, _roster(stream), time=name)
            self._finishing.release(stream, last, snapshot)


def _roster(stream: Stream) -> Roster | None:
    """The nodes of the next snapshot; None if they are read off its edges, or not given yet."""
    return None if stream.terms.roster == "edges" else stream.roster.now


def _stored(stream: Stream, entry: Entry) -> Snapshot:
    assert entry.file is not None
    name = entry.time or str(entry.timestamp)
    return stream.inbox.load(entry.file, _roster(stream), time=name)
