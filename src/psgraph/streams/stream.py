"""A stream: snapshots in order, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from psgraph.graph import Snapshot

__all__ = ["Stream"]


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
    ) -> None:
        self._snapshots, self._length = snapshots, length
        self.description = description
        self.times = times

    def __iter__(self) -> Iterator[Snapshot]:
        return self._snapshots()

    def __repr__(self) -> str:
        return f"Stream({self.description})"

    @cached_property
    def length(self) -> int | None:
        """The number of snapshots, which is public; None if all would have to be read."""
        return self._length()
