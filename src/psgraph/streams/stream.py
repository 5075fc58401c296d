"""A stream: snapshots in order, one at a time; each by itself, or with the edges before it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from psgraph._runtime.arrays import Positions
from psgraph.graph import Roster, Snapshot
from psgraph.graph.roster import distinct_ids
from psgraph.streams.rows import BadRows
from psgraph.streams.time_source import TimeSource

__all__ = ["Stream", "accumulated", "held_back_note"]


class Stream:
    """Snapshots in order, made one at a time while iterating.

    Parameters
    ----------
    snapshots
        Starts reading from the first snapshot each time it is called.
    length
        Returns the number of snapshots, if that is cheap to find.
    description
        Where the snapshots come from, in a few words.
    times
        Where the timestamps come from: what was declared and what comes from the edges. It goes
        into certificates, and stays equal when the stream grows.
    bad_rows
        What happens to rows that can't be read.
    prepared
        Whether all of it was read and checked before, when a store was prepared.
    nodes
        How many nodes were declared, of all rosters if they change; None if the rosters come
        from the edges or with the snapshots.

    Attributes
    ----------
    held_back
        The time of the first period that is not published because it is not over; None if there
        is none. Known when the stream has been read.

    Examples
    --------
    >>> from psgraph.graph import Roster
    >>> quiet = Stream(lambda: iter([Snapshot(Roster.range(3), [], [])]), length=lambda: 1)
    >>> quiet.length, list(quiet)
    (1, [Snapshot(3 nodes, edges private)])
    """

    def __init__(
        self,
        snapshots: Callable[[], Iterator[Snapshot]],
        *,
        length: Callable[[], int | None] = lambda: None,
        description: str = "snapshots",
        times: TimeSource | None = None,
        bad_rows: BadRows | None = None,
        prepared: bool = False,
        nodes: int | None = None,
    ) -> None:
        self._snapshots, self._length = snapshots, length
        self.description = description
        self.times = times
        self.prepared = prepared
        self.nodes = nodes
        self.held_back: str | None = None
        self._bad_rows = bad_rows or BadRows()
        self._warned = False

    def __iter__(self) -> Iterator[Snapshot]:
        return self._snapshots()

    def __repr__(self) -> str:
        return f"Stream({self.description})"

    @property
    def skipped(self) -> int:
        """The number of rows left out because they can't be read. Curator only."""
        return len(self._bad_rows.rows)

    def hold_back(self, time: str | None) -> None:
        """Record that periods from a time on are not over, and warn about it once."""
        self.held_back = time
        if time is not None and not self._warned:
            self._warned = True
            warnings.warn(held_back_note(time), stacklevel=2)

    @cached_property
    def length(self) -> int | None:
        """The number of snapshots, which is public; None if all would have to be read."""
        return self._length()


def held_back_note(time: str) -> str:
    """Return what is said about periods that are not over."""
    return (
        f"Held back: the period that starts {time} is not over. It is published once there are "
        "later events, with until (--until DATE) if the data are complete up to its end, or "
        "unfinished with close_last (--close-last)."
    )


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
