"""What is public about streams and releases: from terms and certificates, never from uploads."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from psgraph.errors import exact_decimal
from psgraph.publication.certificate import Certificate
from psgraph.publication.export import FORMATS
from psgraph.service.clock import moment_text
from psgraph.service.schemas import ReleaseView, StreamView

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["release_view", "stream_view"]

_SINGLE = [name for name in FORMATS if name != "combined"]


def stream_view(service: Service, stream: Stream) -> StreamView:
    """Return what everyone who may see a stream sees of it."""
    terms, certificates = stream.terms, stream.shelf.certificates()
    latest = certificates[-1] if certificates else None
    due = service.worker.due_at(stream, len(certificates))
    health, reason = health_of(service, stream)
    roster = stream.roster.now
    if latest is not None and terms.roster == "edges":
        nodes: int | None = latest.nodes
    else:
        nodes = None if roster is None else len(roster)
    return StreamView(
        **terms.model_dump(exclude={"seed", "parameters", "epsilon", "window"}),
        **stream.guarantee.to_dict(),
        parameters=dict(terms.parameters),
        private=stream.promise.private,
        promise=stream.promise.text,
        created=stream.created,
        adopted=stream.adopted,
        nodes=nodes,
        released=len(certificates),
        latest_time=None if latest is None else latest.time,
        spent=exact_decimal(Fraction(0) if latest is None else latest.window_spent),
        next_timestamp=len(certificates),
        next_tick=None if due is None else moment_text(due),
        health=health,
        reason=reason,
    )


def health_of(
    service: Service, stream: Stream
) -> tuple[Literal["ok", "waiting", "blocked"], str | None]:
    """Return whether a stream proceeds, and why not."""
    if stream.trouble is not None:
        return "blocked", stream.trouble
    following = len(stream.shelf.certificates())
    entry = service.queue.find(stream.name, following)
    if entry is not None and entry.state == "refused":
        return "blocked", entry.reason
    if stream.terms.roster == "list" and stream.roster.now is None:
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
