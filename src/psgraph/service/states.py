"""The states of timestamps: by the schedule, the queue and the releases. Never by their data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psgraph.service import clock
from psgraph.service.problems import Refusal
from psgraph.service.schemas import State, TimestampView

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["timestamp_view"]


def timestamp_view(service: Service, stream: Stream, timestamp: int) -> TimestampView:
    """Return the state of a timestamp.

    waiting
        Its tick has not come.
    due
        The worker takes it next, or waits for its snapshot.
    measuring
        It is being published.
    released
        Its release can be downloaded.
    refused
        The budget refused it; nothing was measured.
    """
    certificates = stream.shelf.certificates()
    entry = service.queue.find(stream.name, timestamp)
    at = service.worker.due_at(stream, timestamp)
    time = None if entry is None else entry.time
    reason: str | None = None
    state: State
    if timestamp < len(certificates):
        state, time = "released", certificates[timestamp].time
    elif stream.measuring == timestamp or timestamp < stream.sealed:
        state = "measuring"
    elif entry is not None and entry.state == "refused":
        state, reason = "refused", entry.reason
    elif stream.schedule is not None and at is not None:
        state, time = ("due" if at <= clock.now() else "waiting"), stream.schedule.time(timestamp)
    elif entry is not None:
        state = "due"
    else:
        raise Refusal(
            404,
            "not_posted",
            "This timestamp was not posted.",
            "Post its snapshot; the stream says which timestamp is next.",
        )
    return TimestampView(
        stream=stream.name,
        timestamp=timestamp,
        time=time,
        state=state,
        due=None if at is None else clock.moment_text(at),
        reason=reason,
    )
