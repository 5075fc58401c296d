"""Reading an upload as private edges: the readers of `psgraph.streams`, errors without content."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from psgraph.errors import OutsideRoster, PsgraphError
from psgraph.graph import Snapshot
from psgraph.graph.formats.files import open_table
from psgraph.service.problems import Refusal
from psgraph.service.ticks import Schedule
from psgraph.service.upload_checks import unreadable
from psgraph.service.uploads import Upload
from psgraph.streams.directories import file_snapshots
from psgraph.streams.events import event_stream
from psgraph.streams.nodes import Nodes
from psgraph.streams.periods import Span
from psgraph.streams.rows import Reading

if TYPE_CHECKING:
    from psgraph.service.streams import Stream

__all__ = ["nodes_of", "read_events", "read_snapshot", "readable"]


def nodes_of(stream: Stream) -> Nodes:
    """Return who the nodes of a stream are; refuse one that still lacks its node list."""
    if stream.terms.roster == "edges":
        return Nodes.choose(None, roster_from_edges=True)
    if stream.roster.now is None:
        raise Refusal(
            409,
            "no_roster",
            "The stream has no node list yet.",
            "Send the public list of nodes with PUT /roster first.",
        )
    return Nodes.choose(stream.roster.now)


def read_snapshot(stream: Stream, upload: Upload, *, time: str) -> Snapshot:
    """Read the edges of one timestamp."""
    (found,) = file_snapshots([upload.path], nodes_of(stream), Reading())
    return Snapshot(found.roster, found.u, found.v, time=time, dropped=found.dropped)


def read_events(
    stream: Stream, schedule: Schedule, upload: Upload, *, first: int, last: int
) -> Iterator[tuple[int, Snapshot]]:
    """Yield timestamps and the edges of their events, from `first` to `last`.

    An event outside of these timestamps has the whole upload refused.
    """
    nodes, period = nodes_of(stream), schedule.period
    table = open_table(upload.path)
    start, until = (period.moment(schedule.time(each)) for each in (first, last + 1))
    assert until is not None
    span = Span(period, start, until, close_last=True, present=until)
    yield from enumerate(event_stream(table, nodes, span=span), start=first)


@contextmanager
def readable() -> Iterator[None]:
    """Turn the errors of the readers into constant refusals; a preview tells more."""
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
