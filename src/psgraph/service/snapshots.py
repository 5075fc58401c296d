"""Snapshots and events: read from an upload, and accepted once, durably, in order.

Privacy: nothing is measured here. The response to a snapshot depends on whether the same data were
posted before, which only the curator who posts them learns, and on nothing else in them. The
response to events is always the same, also for a repeated post. Auditors see that a snapshot was
posted, and nothing about its outcome; only curators see the log of outcomes and of posts of events.
Events are cut into snapshots at the public ticks of the stream.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from psgraph.errors import OutsideRoster, PsgraphError, ReplayConflict
from psgraph.graph import Snapshot
from psgraph.graph.formats.files import open_table
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_at
from psgraph.service.audit_log import RECEIVED, LogName
from psgraph.service.inbox import Entry, Marks
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal, unavailable
from psgraph.service.rosters import nodes_of
from psgraph.service.schedule import Schedule
from psgraph.service.schemas import Accepted
from psgraph.service.uploads import Upload, unreadable
from psgraph.streams.directories import file_snapshots
from psgraph.streams.events import event_stream
from psgraph.streams.periods import Span
from psgraph.streams.rows import Reading

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = [
    "accept_events",
    "accept_snapshot",
    "also_posted_to",
    "open_timestamps",
    "read_events",
    "read_snapshot",
    "recorded",
]

MOST_AHEAD = 1000
"""How many snapshots of a stream can wait for the worker."""


def read_snapshot(stream: Stream, upload: Upload, *, time: str) -> Snapshot:
    """Read the edges of one timestamp."""
    (found,) = file_snapshots([upload.path], nodes_of(stream), Reading())
    return Snapshot.from_parts(
        found.roster,
        found.parts,
        time=time,
        dropped=found.dropped,
        owner_sizes=found.owner_sizes,
        bound=found.bound,
    )


def read_events(
    stream: Stream, schedule: Schedule, upload: Upload, *, first: int, last: int
) -> Iterator[tuple[int, Snapshot]]:
    """Yield timestamps and the edges of their events, from `first` to `last`.

    An event outside these timestamps causes the whole upload to be refused.
    """
    nodes, period = nodes_of(stream), schedule.period
    table = open_table(upload.path)
    start, until = (period.moment(schedule.time(each)) for each in (first, last + 1))
    assert until is not None
    span = Span(period, start, until, close_last=True, present=until)
    yield from enumerate(event_stream(table, nodes, span=span), start=first)


@asynccontextmanager
async def recorded(
    service: Service, stream: Stream, action: str, by: Identity, *, timestamp: int | None = None
) -> AsyncIterator[None]:
    """Record a post before its body is read, and a refusal by its code for curators only.

    Whoever handles the post in the block records a success. Posts to a stream of events are not in
    the main log, because their number may depend on private edges.
    """

    async def add(outcome: str, log: LogName) -> None:
        await service.in_thread(
            service.audit.add,
            by,
            action,
            stream=stream.name,
            timestamp=timestamp,
            outcome=outcome,
            log=log,
        )

    if stream.terms.source == "snapshots":
        await add(RECEIVED, "main")
    try:
        yield
    except Refusal as refusal:
        await add(refusal.error, "curators")
        raise


@contextmanager
def _readable() -> Iterator[None]:
    """Turn the errors of the readers into constant refusals; only a preview says more."""
    try:
        yield
    except OutsideRoster:
        raise Refusal(
            422,
            "outside_roster",
            "An edge has an end that is not on the node list of the stream.",
            "Add the node with PUT /roster, or leave such edges out.",
        ) from None
    except PsgraphError:
        raise unreadable() from None


# ---- snapshots ----


def accept_snapshot(
    service: Service,
    stream: Stream,
    timestamp: int,
    upload: Upload,
    time: str | None,
    by: Identity,
) -> Accepted:
    """Accept the edges of one timestamp; they are durable when this returns."""
    if stream.terms.source != "snapshots":
        raise Refusal(
            409,
            "takes_events",
            "This stream takes events, which it cuts at its ticks.",
            "Post u,v,time to /events.",
        )
    _refuse_archived(stream)
    name = _name(stream, timestamp, time)
    with _readable():
        snapshot = read_snapshot(stream, upload, time=name)
    mark, edges = service.marks.of_snapshot(stream.name, snapshot), service.marks.of_edges(snapshot)
    with stream.lock:
        service.team.look(stream)
        before = service.queue.find(stream.name, timestamp)
        known = _is_known(service, stream, timestamp, snapshot, mark)
        file = None if known else stream.inbox.store(snapshot)
        with service.database.transaction():
            if file is not None:
                service.queue.put(stream.name, Entry(timestamp, name, "queued", mark, file))
            others = service.marks.others_with(stream.name, edges)
            service.marks.note_edges(stream.name, edges)
            service.audit.add(
                by,
                "post snapshot",
                stream=stream.name,
                timestamp=timestamp,
                outcome="known" if known else "accepted",
                log="curators",
                also_in=others,
            )
        if file is not None and before is not None and before.file is not None:
            stream.inbox.remove(before.file)  # the budget refused it
    service.worker.wake()
    released = known and timestamp < len(stream.releases.refresh())
    return Accepted(
        state="released" if released else "accepted",
        stream=stream.name,
        timestamp=timestamp,
        also_in=_seen(others, by),
    )


def also_posted_to(service: Service, stream: Stream, snapshot: Snapshot, by: Identity) -> list[str]:
    """Return the other streams that the same edges were posted to, of those a curator may see.

    One who does not see a stream must not be able to test guesses about its edges.
    """
    return _seen(service.marks.others_with(stream.name, service.marks.of_edges(snapshot)), by)


def _seen(streams: list[str], by: Identity) -> list[str]:
    return [name for name in streams if by.sees(name, public=False)]


def _is_known(
    service: Service, stream: Stream, timestamp: int, snapshot: Snapshot, mark: bytes
) -> bool:
    """Whether the same data were accepted before; refuse different data, and a wrong order."""
    entry = service.queue.find(stream.name, timestamp)
    if timestamp < stream.sealed:
        _refuse_other_data(stream, timestamp, snapshot, entry, mark)
        return True
    if entry is not None and entry.state == "queued":
        if not Marks.same(entry.mark, mark):
            raise _other_data()
        return True
    assert snapshot.time is not None
    _refuse_disorder(service, stream, timestamp, snapshot.time)
    return False


def _name(stream: Stream, timestamp: int, time: str | None) -> str:
    """Return the public name of a timestamp."""
    if stream.schedule is None:
        name = str(timestamp) if time is None else time.strip()
        if not name or not name.isprintable():
            raise Refusal(
                422,
                "bad_time",
                "The time is blank or has unprintable characters.",
                "Give plain text such as 2026-01-05, or leave it out.",
            )
        return name
    name = stream.schedule.time(timestamp)
    if time not in (None, name):
        raise Refusal(
            409,
            "other_time",
            f"Timestamp {timestamp} of this stream is {name}.",
            "Leave the time out, or post the timestamp it belongs to.",
        )
    return name


def _refuse_other_data(
    stream: Stream, timestamp: int, snapshot: Snapshot, known: Entry | None, mark: bytes
) -> None:
    """Refuse data different from those a timestamp was published from."""
    if known is not None and known.mark is not None:
        if Marks.same(known.mark, mark):
            return
        raise _other_data()
    try:  # published before the stream was adopted
        with Ledger(ledger_at(stream.out), writing=False) as ledger:
            ledger.as_sealed(timestamp, snapshot)
    except ReplayConflict:
        raise _other_data() from None
    except PsgraphError:
        raise unavailable() from None


def _refuse_archived(stream: Stream) -> None:
    if stream.activity == "archived":
        raise Refusal(
            409,
            "archived",
            "The stream is archived and takes no more data.",
            "Ask an administrator to continue it.",
        )


def _other_data() -> Refusal:
    return Refusal(
        409,
        "other_data",
        "This timestamp already has different data.",
        "Publishing it twice would spend its budget twice. Post new data as a later timestamp.",
    )


def _refuse_disorder(service: Service, stream: Stream, timestamp: int, name: str) -> None:
    """Refuse a timestamp that is not the next one, or whose period has not started."""
    if stream.schedule is not None:
        if timestamp > stream.schedule.current():
            raise Refusal(
                409,
                "not_begun",
                "The period of this timestamp has not started.",
                "Post it during its period, or after it until it is released.",
            )
        if stream.terms.missing == "empty" and service.worker.due(stream, timestamp):
            raise Refusal(
                409,
                "too_late",
                "The period of this timestamp is over, and its release is in progress.",
                "Post the data of the current period.",
            )
        return
    following = stream.sealed
    waiting = {entry.timestamp: entry for entry in service.queue.queued(stream.name)}
    while following in waiting:
        following += 1
    refused = service.queue.find(stream.name, following)
    if timestamp != following or following - stream.sealed >= MOST_AHEAD:
        raise Refusal(
            409,
            "out_of_order",
            f"The next timestamp of this stream is {following}.",
            "Post the timestamps in order, without gaps.",
        )
    if refused is not None and refused.time == name:
        return  # posted again after the budget refused it
    published = {each.time for each in stream.releases.refresh()}
    if name in published or name in {entry.time for entry in waiting.values()}:
        raise Refusal(
            409,
            "time_taken",
            "An earlier timestamp of this stream has the same name.",
            "Give every timestamp its own time.",
        )


# ---- events ----


def accept_events(
    service: Service, stream: Stream, upload: Upload, key: str, by: Identity
) -> Accepted:
    """Accept events, all or none; they are durable when this returns."""
    _accept(service, stream, upload, key)
    service.audit.add(by, "post events", stream=stream.name, outcome="accepted", log="curators")
    return Accepted(state="accepted", stream=stream.name)


def _accept(service: Service, stream: Stream, upload: Upload, key: str) -> None:
    schedule = stream.schedule
    if stream.terms.source != "events" or schedule is None:
        raise Refusal(
            409,
            "takes_snapshots",
            "This stream takes whole snapshots.",
            "Post the edges of a timestamp to /snapshots/{timestamp}.",
        )
    _refuse_archived(stream)
    mark = service.marks.of_file(stream.name, upload.path)
    if not _is_known_post(stream, key, mark):
        first, last = open_timestamps(service, stream)
        with _readable():
            found = read_events(stream, schedule, upload, first=first, last=last)
            pieces = [(timestamp, snapshot) for timestamp, snapshot in found if snapshot.u.size]
        with stream.lock:
            service.team.look(stream)
            if not _is_known_post(stream, key, mark):
                if any(service.worker.due(stream, timestamp) for timestamp, _ in pieces):
                    raise _outside_periods()
                stream.inbox.add_events(key, mark, pieces)


def open_timestamps(service: Service, stream: Stream) -> tuple[int, int]:
    """Return the first and the last timestamp for which events can still be posted."""
    assert stream.schedule is not None
    last = stream.schedule.current() + 1
    first = max(last, stream.sealed)
    while first > stream.sealed and not service.worker.due(stream, first - 1):
        first -= 1
    if last < first:
        raise _outside_periods()
    return first, last


def _outside_periods() -> Refusal:
    """Return the refusal of events outside the open periods."""
    return Refusal(
        422,
        "outside_periods",
        "An event is before the open period of the stream, or too far in the future.",
        "Post events during their period, or within delay_seconds after it.",
    )


def _is_known_post(stream: Stream, key: str, mark: bytes) -> bool:
    """Whether a post was accepted before; refuse its key with different events."""
    before = stream.inbox.mark_of(key)
    if before is not None and not Marks.same(before, mark):
        raise Refusal(
            409,
            "key_reused",
            "This Idempotency-Key was used for a different post.",
            "Use a new key for every post, and the same key to repeat one.",
        )
    return before is not None
