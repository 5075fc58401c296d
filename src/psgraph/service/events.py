"""Accepting events: logged durably, cut into snapshots at the public ticks of the stream.

Privacy: the answer is the same whatever the events are, and the same for a repeated post. The
number and times of posts are in a log for curators only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psgraph.service.marks import Marks
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal
from psgraph.service.reading import read_events, readable
from psgraph.service.schemas import Accepted
from psgraph.service.uploads import Upload

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["accept_events", "open_timestamps"]


def accept_events(
    service: Service, stream: Stream, upload: Upload, key: str, by: Identity
) -> Accepted:
    """Accept events: all of them or none, durable when this returns."""
    with service.audit.noting_refusals(by, "post events", stream=stream.name, log="events"):
        _accept(service, stream, upload, key)
        service.audit.add(by, "post events", stream=stream.name, outcome="accepted", log="events")
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
    mark = service.marks.of_file(stream.name, upload.path)
    if not _known(stream, key, mark):
        first, last = open_timestamps(service, stream)
        with readable():
            found = read_events(stream, schedule, upload, first=first, last=last)
            pieces = [(timestamp, snapshot) for timestamp, snapshot in found if snapshot.u.size]
        with stream.lock:
            if not _known(stream, key, mark):
                if any(service.worker.due(stream, timestamp) for timestamp, _ in pieces):
                    raise outside_periods()
                stream.inbox.add_events(key, mark, pieces)


def open_timestamps(service: Service, stream: Stream) -> tuple[int, int]:
    """Return the first and the last timestamp that events can still be posted for."""
    assert stream.schedule is not None
    last = stream.schedule.current() + 1
    first = max(last, stream.sealed)
    while first > stream.sealed and not service.worker.due(stream, first - 1):
        first -= 1
    if last < first:
        raise outside_periods()
    return first, last


def outside_periods() -> Refusal:
    """Return the refusal of events outside of the open periods."""
    return Refusal(
        422,
        "outside_periods",
        "An event lies before the open period of the stream, or too far in the future.",
        "Post events during their period; delay_seconds leaves time after it.",
    )


def _known(stream: Stream, key: str, mark: bytes) -> bool:
    """Whether a post was accepted before; refuse its key with other events."""
    before = stream.inbox.mark_of(key)
    if before is not None and not Marks.same(before, mark):
        raise Refusal(
            409,
            "key_reused",
            "This Idempotency-Key was used for another post.",
            "Use a new key for every post, and the same key to repeat one.",
        )
    return before is not None
