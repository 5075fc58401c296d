"""What callers see of streams, timestamps, releases and budgets.

Privacy: all of it comes from terms, certificates, the schedule and the queue, never from uploads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from psgraph.errors import PsgraphError, VerificationFailed, exact_decimal
from psgraph.privacy.accountant import Accountant
from psgraph.publication.certificate import Certificate
from psgraph.publication.export import FORMATS
from psgraph.publication.terms import Spending
from psgraph.publication.verification import verify
from psgraph.service import clock
from psgraph.service.inbox import Entry
from psgraph.service.permissions import ANYONE, Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import (
    Budget,
    ReleaseView,
    SpendRow,
    State,
    StreamView,
    TimestampView,
    VerificationView,
)

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = [
    "budget_of",
    "release_view",
    "stream_view",
    "stream_views",
    "timestamp_view",
    "verification_of",
]

Find = Callable[[str, int], Entry | None]
"""Finds what is queued for a timestamp of a stream."""

_FORECAST = 12  # timestamps
_DELAYED = "Publishing is delayed. Curators see why."
_ACTIVITY = {
    "paused": "The stream is paused: nothing is released.",
    "archived": "The stream is archived: it takes no data, and nothing more is released.",
}
_SINGLE = [*(name for name in FORMATS if name != "combined"), "arrow"]


def stream_view(service: Service, stream: Stream, caller: Identity = ANYONE) -> StreamView:
    """Return what everyone who may see a stream sees; curators also see why publishing failed."""
    return _view(service, stream, caller, service.queue.find)


def stream_views(
    service: Service, streams: Sequence[Stream], caller: Identity = ANYONE
) -> list[StreamView]:
    """Return the views of streams, with one question to the database for all."""
    entries = service.queue.waiting() if streams else {}

    def find(stream: str, timestamp: int) -> Entry | None:
        return entries.get((stream, timestamp))

    return [_view(service, each, caller, find) for each in streams]


def _view(service: Service, stream: Stream, caller: Identity, find: Find) -> StreamView:
    terms, certificates = stream.terms, stream.known_releases()
    latest = certificates[-1] if certificates else None
    due = service.worker.due_at(stream, len(certificates))
    health, reason = _health(service, stream, caller, find)
    roster = stream.roster.now
    if latest is not None and terms.roster == "edges":
        nodes: int | None = latest.nodes
    else:
        nodes = None if roster is None else len(roster)
        if stream.copied and latest is not None:
            nodes = latest.nodes
    return StreamView(
        **terms.model_dump(exclude={"seed", "parameters", "epsilon", "window", "title"}),
        title=stream.title,
        activity=stream.activity,
        **_promised(stream),
        parameters=dict(terms.parameters),
        created=stream.created,
        adopted=stream.adopted,
        nodes=nodes,
        released=len(certificates),
        latest_time=None if latest is None else latest.time,
        spent=exact_decimal(Fraction(0) if latest is None else latest.window_spent),
        next_timestamp=len(certificates),
        next_tick=None if due is None else clock.moment_text(due),
        health=health,
        reason=reason,
    )


def _promised(stream: Stream) -> dict[str, Any]:
    """Return the guarantee and the promise of a stream, in their own words."""
    promise, stated = stream.promise, stream.guarantee.to_dict()
    guarantee = {name: stated[name] for name in ("unit", "epsilon", "window")}
    return {**guarantee, "promise": str(promise), "private": promise.private}


def _health(
    service: Service, stream: Stream, caller: Identity, find: Find
) -> tuple[Literal["ok", "waiting", "blocked"], str | None]:
    """Return whether a stream can continue, and if not, why.

    What went wrong may depend on private data, so others than curators are told one sentence.
    """
    if stream.activity != "active":
        return "waiting", _ACTIVITY[stream.activity]
    if stream.trouble is not None:
        return "blocked", stream.trouble if caller.role == "curator" else _DELAYED
    if missed := service.worker.missed(stream):
        return "blocked", (
            f"{missed} periods passed while the service was stopped. If the clock of the server is "
            f"right, a curator publishes them: POST /streams/{stream.name}/catch-up."
        )
    following = len(stream.known_releases())
    entry = find(stream.name, following)
    if entry is not None and entry.state == "refused":
        return "blocked", entry.reason
    if stream.terms.roster == "list" and stream.roster.now is None and not stream.copied:
        return "waiting", "The stream has no node list yet."
    waits = stream.terms.source == "snapshots" and stream.terms.missing == "wait"
    if waits and entry is None and service.worker.due(stream, following):
        return "waiting", f"The snapshot of timestamp {following} is overdue."
    return "ok", None


def release_view(certificate: Certificate) -> ReleaseView:
    """Return a release by its certificate."""
    return ReleaseView(
        timestamp=certificate.timestamp,
        time=certificate.time,
        nodes=certificate.nodes,
        edges=certificate.edges,
        spent=exact_decimal(certificate.spent),
        window_spent=exact_decimal(certificate.window_spent),
        private=certificate.private,
        digest=certificate.digest,
        graph_sha256=certificate.graph_sha256 or "",
        nodes_sha256=certificate.nodes_sha256,
        formats=_SINGLE,
    )


def timestamp_view(service: Service, stream: Stream, timestamp: int) -> TimestampView:
    """Return the state of a timestamp.

    waiting
        Its tick has not come.
    due
        The worker will publish it next, or is waiting for its snapshot.
    measuring
        It is being published, perhaps not at the first attempt.
    released
        Its release can be downloaded.
    refused
        The budget refused it; nothing was measured.
    """
    certificates = stream.known_releases()
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
            "This timestamp has not been posted.",
            "Post its snapshot; the stream states which timestamp is next.",
        )
    return TimestampView(
        stream=stream.name,
        timestamp=timestamp,
        time=time,
        state=state,
        due=None if at is None else clock.moment_text(at),
        reason=reason,
    )


def budget_of(stream: Stream) -> Budget:
    """Return what every released timestamp spent, according to the certificates."""
    certificates = stream.known_releases()
    accountant = Accountant(stream.guarantee)
    for certificate in certificates:
        accountant = accountant.record(certificate.spent)
    spending = Spending.of(accountant)
    forecast, later = [], accountant
    for _ in range(min(_FORECAST, stream.guarantee.window)):
        forecast.append(exact_decimal(Spending.of(later).remaining))
        later = later.record(Fraction(0))
    times = [each.time for each in certificates]
    return Budget(
        **_promised(stream),
        window_in_time=None
        if stream.times is None
        else stream.times.window(stream.guarantee.window, times),
        timestamps=len(certificates),
        spent=exact_decimal(spending.spent),
        left=exact_decimal(stream.guarantee.epsilon - spending.spent),
        next_timestamp=exact_decimal(spending.remaining),
        forecast=forecast,
        rows=[
            SpendRow(
                timestamp=each.timestamp,
                time=each.time,
                spent=exact_decimal(each.spent),
                window_spent=exact_decimal(each.window_spent),
            )
            for each in certificates
        ],
    )


async def verification_of(service: Service, stream: Stream, by: Identity) -> VerificationView:
    """Check every release and the ledger of a stream."""
    key = ("verify", stream.name, by)
    return await service.checking.run(by, key, lambda: _verified(service, stream, by))


def _verified(service: Service, stream: Stream, by: Identity) -> VerificationView:
    try:
        found = verify(stream.all_files())
    except VerificationFailed as error:
        problems = [_without_paths(problem, stream) for problem in error.problems[:20]]
        result = VerificationView(ok=False, problems=problems or ["The check failed."])
    except PsgraphError:
        result = VerificationView(ok=False, problems=["The files of the stream can't be read."])
    else:
        result = VerificationView(
            ok=True,
            problems=[],
            timestamps=found.timestamps,
            releases=found.releases,
            pending=found.pending,
            largest_window_spent=found.largest_window_spent,
        )
    outcome = "in order" if result.ok else "problems found"
    service.audit.add(by, "verify", stream=stream.name, outcome=outcome)
    return result


def _without_paths(problem: str, stream: Stream) -> str:
    return problem.replace(f"{stream.out}/", "").replace(str(stream.out), "the releases")
