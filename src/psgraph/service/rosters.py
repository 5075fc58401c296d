"""The public node list of a stream, which can grow and never shrinks."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from psgraph._runtime.durable import write_whole
from psgraph.errors import PsgraphError
from psgraph.graph import Roster, TwoSidedRoster
from psgraph.graph.formats.parquet import nodes_bytes, read_nodes
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal, unavailable
from psgraph.service.schemas import RosterView, Side
from psgraph.service.uploads import Upload
from psgraph.streams.nodes import Nodes
from psgraph.streams.rosters import TimedRoster, read_roster

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["StoredRoster", "StoredSides", "nodes_of", "replace_roster"]


class StoredSides:
    """The rosters of the two sides of a two-sided stream, each in a file."""

    def __init__(self, home: Path) -> None:
        self._sides = {
            side: StoredRoster(home / f"roster-{side}.parquet") for side in get_args(Side)
        }
        self._both: TwoSidedRoster | None = None

    @property
    def readable(self) -> bool:
        """Whether both files are intact."""
        return all(each.readable for each in self._sides.values())

    @property
    def now(self) -> Roster | None:
        """The roster; None before both sides have one."""
        left, right = (each.now for each in self._sides.values())
        if left is None or right is None:
            return None
        if self._both is None or self._both.left is not left or self._both.right is not right:
            self._both = TwoSidedRoster(left, right)
        return self._both

    def grow(self, roster: Roster, side: Side | None = None) -> int:
        """Replace the roster of a side, or of both, with a larger one; return what is new."""
        if isinstance(roster, TwoSidedRoster):
            sides = zip(self._sides.values(), roster.sides, strict=True)
            return sum(stored.grow(each) for stored, each in sides)
        if side is None:
            raise Refusal(
                422,
                "side_missing",
                "The graphs of this stream have two sides, each with a node list of its own.",
                "Say which it is: /roster?side=left or /roster?side=right.",
            )
        return self._sides[side].grow(roster)


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
        self._state: tuple[int, int] | None = None
        self.readable = True
        self._look()

    def _look(self) -> None:
        """Read the file if it is not the one known: another process may replace it."""
        try:
            found = self._path.stat()
        except OSError:
            return
        state = found.st_ino, found.st_mtime_ns
        if state == self._state:
            return
        try:
            self._roster = read_nodes(self._path.read_bytes(), self._path)
            self._state, self.readable = state, True
        except (PsgraphError, OSError, ValueError):
            self._state, self.readable = state, False

    @property
    def now(self) -> Roster | None:
        """The roster; None before there is one."""
        with self._lock:
            self._look()
            return self._roster

    def grow(self, roster: Roster, side: Side | None = None) -> int:
        """Replace the roster with a larger one; return how many nodes are new."""
        if side is not None:
            raise Refusal(
                422,
                "no_sides",
                "The graphs of this stream have one node list for both ends of an edge.",
                "Leave side out.",
            )
        if not self.readable:
            raise unavailable()
        before = self.now
        with self._lock:
            if before is not None and len(before):
                _refuse_loss(before, roster)
            write_whole(self._path, nodes_bytes(roster))
            found = self._path.stat()
            self._roster, self._state = roster, (found.st_ino, found.st_mtime_ns)
            return len(roster) - (0 if before is None else len(before))


def replace_roster(
    service: Service, stream: Stream, upload: Upload, by: Identity, side: Side | None = None
) -> RosterView:
    """Set the public node list of a stream, or of one of its sides, from an upload."""
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
        added = stream.roster.grow(roster, side)
        service.audit.add(by, "set roster", stream=stream.name)
    service.worker.wake()
    return RosterView(nodes=len(roster), added=added)


def nodes_of(stream: Stream) -> Nodes:
    """Return the nodes of a stream; refuse a stream that still lacks its node list."""
    if stream.terms.roster == "edges":
        return Nodes.choose(None, roster_from_edges=True, kind=stream.kind)
    if not stream.roster.readable:
        raise unavailable()
    if stream.roster.now is None:
        raise Refusal(
            409,
            "no_roster",
            "The stream has no node list yet.",
            "Send the public list of nodes with PUT /roster first; two sides have two lists.",
        )
    return Nodes.choose(stream.roster.now, kind=stream.kind)


def _refuse_loss(before: Roster, roster: Roster) -> None:
    if before.strings != roster.strings or (roster.positions(before.ids) < 0).any():
        raise Refusal(
            409,
            "roster_shrinks",
            "The new list lacks nodes of the current one, or has ids of a different type.",
            "Send the whole list: all current nodes and the new ones.",
        )
