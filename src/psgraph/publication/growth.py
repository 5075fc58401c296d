"""Rosters that grew after a timestamp was published: its snapshot, over the roster of then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import LedgerError, RosterChanged
from psgraph.graph import Roster, Snapshot

__all__ = ["RosterGrowth"]


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
            return snapshot  # a roster read off the edges changes with them
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
