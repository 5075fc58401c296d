"""Accepting whole snapshots: each timestamp once, durably, in order.

Privacy: nothing is measured here. The answer depends on whether the same data were posted before,
which only the curator who posts them learns, and on nothing else in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from psgraph.errors import PsgraphError, ReplayConflict
from psgraph.graph import Snapshot
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_at
from psgraph.service.marks import Marks
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal, unavailable
from psgraph.service.queue import Entry
from psgraph.service.reading import read_snapshot, readable
from psgraph.service.schemas import Accepted
from psgraph.service.uploads import Upload

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["accept_snapshot"]

MOST_AHEAD = 1000
"""How many snapshots of a stream can wait for the worker."""


def accept_snapshot(
    service: Service,
    stream: Stream,
    timestamp: int,
    upload: Upload,
    time: str | None,
    by: Identity,
) -> Accepted:
    """Accept the edges of one timestamp: durable when this returns."""
    action = "post snapshot"
    with service.audit.noting_refusals(by, action, stream=stream.name, timestamp=timestamp):
        if stream.terms.source != "snapshots":
            raise Refusal(
                409,
                "takes_events",
                "This stream takes events, which it cuts at its ticks.",
                "Post u,v,time to /events.",
            )
        name = _name(stream, timestamp, time)
        with readable():
            snapshot = read_snapshot(stream, upload, time=name)
        mark = service.marks.of_snapshot(stream.name, snapshot)
        with stream.lock:
            before = service.queue.find(stream.name, timestamp)
            known = _is_known(service, stream, timestamp, snapshot, mark)
            file = None if known else stream.inbox.store(snapshot)
            with service.database.transaction():
                if file is not None:
                    entry = Entry(timestamp, name, "queued", mark, file)
                    service.queue.put(stream.name, entry)
                outcome = "known" if known else "accepted"
                service.audit.add(
                    by, action, stream=stream.name, timestamp=timestamp, outcome=outcome
                )
            if file is not None and before is not None and before.file is not None:
                stream.inbox.remove(before.file)  # the budget refused it
    service.worker.wake()
    released = known and timestamp < len(stream.shelf.certificates())
    state: Literal["accepted", "released"] = "released" if released else "accepted"
    return Accepted(state=state, stream=stream.name, timestamp=timestamp)


def _is_known(
    service: Service, stream: Stream, timestamp: int, snapshot: Snapshot, mark: bytes
) -> bool:
    """Whether the same data were accepted before; refuse other data, and a wrong order."""
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
                "The time is blank or has characters that can't be printed.",
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
    """Refuse other data than a timestamp was published from."""
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


def _other_data() -> Refusal:
    return Refusal(
        409,
        "other_data",
        "This timestamp has other data already.",
        "Publishing it twice would spend its budget twice. Post new data as a later timestamp.",
    )


def _refuse_disorder(service: Service, stream: Stream, timestamp: int, name: str) -> None:
    """Refuse a timestamp that is not the next one, or whose period has not begun."""
    if stream.schedule is not None:
        if timestamp > stream.schedule.current():
            raise Refusal(
                409,
                "not_begun",
                "The period of this timestamp has not begun.",
                "Post it during its period, or before it is released.",
            )
        if stream.terms.missing == "empty" and service.worker.due(stream, timestamp):
            raise Refusal(
                409,
                "too_late",
                "The period of this timestamp is over, and its release is under way.",
                "Post the data of the present period.",
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
        return  # it is posted again
    published = {each.time for each in stream.shelf.certificates()}
    if name in published or name in {entry.time for entry in waiting.values()}:
        raise Refusal(
            409,
            "time_taken",
            "An earlier timestamp of this stream has the same name.",
            "Give every timestamp its own time.",
        )
