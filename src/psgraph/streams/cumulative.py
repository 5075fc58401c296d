"""Snapshots that keep the edges of all snapshots before them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from psgraph._runtime.arrays import Positions
from psgraph.graph import Roster, Snapshot
from psgraph.graph.ids import distinct_ids

__all__ = ["accumulated"]


def accumulated(snapshots: Iterator[Snapshot], everyone: Roster | None) -> Iterator[Snapshot]:
    """Add to every snapshot the edges of the earlier ones, between nodes on its own roster.

    Parameters
    ----------
    snapshots
        The snapshots of single periods.
    everyone
        All nodes that are ever on the roster; None when rosters come from the edges, and then
        they accumulate too. An edge of a node that left waits for it to come back.

    Examples
    --------
    >>> roster = Roster.range(3)
    >>> days = [Snapshot(roster, [0], [1]), Snapshot(roster, [1], [2])]
    >>> [len(snapshot.u) for snapshot in accumulated(iter(days), roster)]
    [1, 2]
    """
    whole = Snapshot(everyone if everyone is not None else Roster([], declared="edges"), [], [])
    for snapshot in snapshots:
        if everyone is None:
            joined = _joined(whole.roster, snapshot.roster)
            whole = Snapshot(joined, *_between(whole, joined))
        old, new = (whole.u, whole.v), _between(snapshot, whole.roster)
        whole = Snapshot(
            whole.roster, *(np.concatenate(ends) for ends in zip(old, new, strict=True))
        )
        roster = whole.roster if everyone is None else snapshot.roster
        u, v = _between(whole, roster)
        yield Snapshot(roster, u, v, time=snapshot.time, dropped=snapshot.dropped)


def _between(graph: Snapshot, roster: Roster) -> tuple[Positions, Positions]:
    """The edges with both ends on another roster, as positions there."""
    if roster is graph.roster:
        return graph.u, graph.v
    positions = roster.positions(graph.roster.ids)
    u, v = positions[graph.u], positions[graph.v]
    inside = (u >= 0) & (v >= 0)
    return u[inside], v[inside]


def _joined(past: Roster, now: Roster) -> Roster:
    if not len(past) or not len(now):
        return now if len(now) else past
    ids = distinct_ids(past.ids, now.ids)
    return past if len(ids) == len(past) else Roster(ids, declared="edges")
