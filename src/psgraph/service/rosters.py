"""The public node list of a stream, which can grow and never shrinks."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from psgraph._runtime.durable import write_whole
from psgraph.errors import PsgraphError
from psgraph.graph import Roster
from psgraph.graph.formats.parquet import nodes_bytes, read_nodes
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal, unavailable
from psgraph.service.schemas import RosterView
from psgraph.service.uploads import Upload
from psgraph.streams.nodes import Nodes
from psgraph.streams.rosters import TimedRoster, read_roster

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["StoredRoster", "nodes_of", "replace_roster"]


class StoredRoster:
    """A roster in a file.

    Attributes
    ----------
    readable
        Whether the file is intact; if not, the roster is unknown and can't be replaced.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._roster: Roster | None = None
        self.readable = True
        try:
            if path.exists():
                self._roster = read_nodes(path.read_bytes(), path)
        except (PsgraphError, OSError, ValueError):
            self.readable = False

    @property
    def now(self) -> Roster | None:
        """The roster; None before there is one."""
        return self._roster

    def grow(self, roster: Roster) -> int:
        """Replace the roster with a larger one; return how many nodes are new."""
        if not self.readable:
            raise unavailable()
        with self._lock:
            before = self._roster
            if before is not None and len(before):
                _refuse_loss(before, roster)
            write_whole(self._path, nodes_bytes(roster))
            self._roster = roster
            return len(roster) - (0 if before is None else len(before))


def replace_roster(service: Service, stream: Stream, upload: Upload, by: Identity) -> RosterView:
    """Set the public node list of a stream from an upload."""
    if stream.terms.roster == "edges":
        raise Refusal(
            409,
            "roster_from_edges",
            "The nodes of this stream are taken from its edges, as declared at its creation.",
            "Create a stream with roster 'list' to use a node list.",
        )
    try:
        roster = read_roster(upload.path, labels=stream.terms.labels)
    except PsgraphError as error:  # the list is public, so the message may describe it
        message, _, remedy = str(error).replace(upload.path.name, "the file").partition("\n")
        raise Refusal(422, "bad_roster", message, remedy or "Send one id per row.") from None
    if isinstance(roster, TimedRoster):
        raise Refusal(
            422,
            "timed_roster",
            "The service takes a plain list of nodes, without the columns from and until.",
            "Send the ids only. A new node is part of the next release and all later ones.",
        )
    if len(roster) == 0:
        raise Refusal(422, "bad_roster", "The node list is empty.", "Send at least one id.")
    with stream.lock:
        added = stream.roster.grow(roster)
        service.audit.add(by, "set roster", stream=stream.name)
    service.worker.wake()
    return RosterView(nodes=len(roster), added=added)


def nodes_of(stream: Stream) -> Nodes:
    """Return the nodes of a stream; refuse a stream that still lacks its node list."""
    if stream.terms.roster == "edges":
        return Nodes.choose(None, roster_from_edges=True)
    if not stream.roster.readable:
        raise unavailable()
    if stream.roster.now is None:
        raise Refusal(
            409,
            "no_roster",
            "The stream has no node list yet.",
            "Send the public list of nodes with PUT /roster first.",
        )
    return Nodes.choose(stream.roster.now)


def _refuse_loss(before: Roster, roster: Roster) -> None:
    if before.strings != roster.strings or (roster.positions(before.ids) < 0).any():
        raise Refusal(
            409,
            "roster_shrinks",
            "The new list lacks nodes of the current one, or has ids of a different type.",
            "Send the whole list: all current nodes and the new ones.",
        )
