"""A stream: snapshots in order, one at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property

from psgraph.graph import Snapshot
from psgraph.streams.bad_rows import BadRows

__all__ = ["Stream", "held_back_note"]


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
        Where the timestamps come from: what was declared and what was read off the edges. It
        goes into certificates, and stays the same when the stream grows.
    bad_rows
        What happens to rows that can't be read.
    prepared
        Whether all of it was read and checked before, when a store was prepared.
    nodes
        How many nodes were declared, of all rosters if they change; None if the rosters
        are read off the edges or come with the snapshots.

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
        times: str | None = None,
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
        f"Held back: the period that begins {time} is not over. It is published when later events "
        "are there, with until (--until DATE) when the data are complete up to its end, or "
        "unfinished with close_last (--close-last)."
    )
