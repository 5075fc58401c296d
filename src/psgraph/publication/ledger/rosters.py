"""Rosters in a ledger: stored once, and compared with rosters that grew since."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import LedgerError, RosterChanged
from psgraph.graph import Roster, Snapshot
from psgraph.graph.roster import Declared

__all__ = ["RosterGrowth", "pack_roster", "unpack_roster"]


class RosterGrowth:
    """Reduces snapshots to the rosters they were published with.

    A roster may grow. Ids that were appended to it belong to no timestamp that is already
    published, so the snapshot of such a timestamp is compared without them.

    Parameters
    ----------
    find
        Finds a roster by its digest.
    """

    def __init__(self, find: Callable[[str], Roster | None]) -> None:
        self._find = find
        self._last: tuple[Roster, Roster, NDArray[np.int32]] | None = None

    def reduced(self, snapshot: Snapshot, digest: str, timestamp: int) -> Snapshot:
        """The snapshot over the roster of a digest; as it is where that is impossible.

        Raises
        ------
        RosterChanged
            A node of the published roster is missing. That is public, as rosters are.
        """
        roster = snapshot.roster
        if roster.digest == digest or roster.declared != "given":
            return snapshot  # a roster taken from the edges changes with them
        published, positions = self._positions(roster, digest, timestamp)
        if published.declared != "given":
            return snapshot
        u, v = positions[snapshot.u], positions[snapshot.v]
        if u.size and min(u.min(), v.min()) < 0:
            return snapshot  # such an edge can't have been there
        return Snapshot(published, u, v, time=snapshot.time, dropped=snapshot.dropped)

    def _positions(
        self, roster: Roster, digest: str, timestamp: int
    ) -> tuple[Roster, NDArray[np.int32]]:
        """The published roster, and the positions in it of the nodes of `roster`, −1 if new."""
        if self._last is not None and self._last[0] is roster and self._last[1].digest == digest:
            return self._last[1:]
        published = self._find(digest)
        if published is None:
            raise LedgerError(f"the roster of timestamp {timestamp} is missing")
        _refuse_change(published, roster, timestamp)
        positions = published.positions(roster.ids)
        self._last = roster, published, positions
        return published, positions


def _refuse_change(published: Roster, roster: Roster, timestamp: int) -> None:
    """Refuse a roster that lacks a node it was published with."""
    changed = f"the roster of timestamp {timestamp}, which is already published, was changed: "
    if len(published) and len(roster) and published.strings != roster.strings:
        before, now = ("text", "integers") if published.strings else ("integers", "text")
        raise RosterChanged(
            f"{changed}its ids were {before} and are {now} now\n"
            f"Keep the ids of the roster {before}. One id that is not an integer makes all of a "
            "text file text."
        )
    missing = int(np.count_nonzero(roster.positions(published.ids) < 0))
    if missing:
        raise RosterChanged(
            f"{changed}{missing} of its {len(published)} nodes are missing now\n"
            "The past of a roster can't change, but a roster may grow: put these nodes back. A "
            "node that leaves gets the time in the column `until`; a node that joins gets it in "
            "`from`, or is appended to a plain list and counts from the next timestamp on."
        )


_DECLARED: dict[Declared, bytes] = {"given": b"g", "nodes": b"n", "edges": b"e"}


def pack_roster(roster: Roster) -> bytes:
    """A roster as bytes: how it was obtained, the kind of ids, the ids."""
    head = _DECLARED[roster.declared] + (b"s" if roster.strings else b"i")
    if roster.strings:
        return head + json.dumps(roster.ids.tolist(), ensure_ascii=False).encode()
    return head + roster.ids.astype("<i8").tobytes()


def unpack_roster(content: object) -> Roster:
    """The inverse of `pack_roster`; refuses what that would have written differently."""
    try:
        if not isinstance(content, bytes):
            raise ValueError
        ids: Any
        if content[1:2] == b"s":
            names = json.loads(content[2:])
            ids = np.array(names, dtype=object if names else str)  # no names are still names
        else:
            ids = np.frombuffer(content[2:], dtype="<i8").astype(np.int64)
        declared = {letter: name for name, letter in _DECLARED.items()}.get(content[:1])
        if declared is None:
            raise ValueError
        roster = Roster(ids, declared=declared)
        if pack_roster(roster) != content:
            raise ValueError
        return roster
    except (RecursionError, TypeError, ValueError):
        raise LedgerError("a stored roster is damaged") from None
