"""Data sets with a jump: a part-period, a step up or down, a merger, a season.

``as-733:part-first`` is the data set As-733 whose first snapshot is a part-period, and
``as-733:part-first:without`` the same stream without that, judged at the same timestamps. Edges are
thinned by a fixed hash of their ends, so that an edge that stays in truth stays here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.graph.roster import Ids
from psgraph_lab.datasets.catalogue import PEOPLE, UNDIRECTED
from psgraph_lab.datasets.further import KINDS

__all__ = [
    "JUMPS",
    "SETTLED",
    "WITHOUT",
    "Jump",
    "find_jump",
    "judged_timestamps",
    "jumped",
    "on_one_roster",
]

_KINDS = frozenset(dataset.name for dataset in KINDS)
WITHOUT = ":without"
SETTLED = "settled|"
PART, STEP, SEASON = 0.02, 0.2, 0.3  # shares of the edges that are left
LENGTH = 24  # snapshots used
SETTLING = 2  # timestamps after a jump that a method may take to recover
PERIOD, OFF = 7, (5, 6)  # a season: timestamps that are off, as weekends are
#: Data sets that are put on one fixed roster, and how many of their first snapshots are left out.
FIXED_ROSTER = ("email-eu", "high-school")
SKIPPED = {"email-eu": 6}


@dataclass(frozen=True)
class Jump:
    """What happens to a stream.

    Attributes
    ----------
    at
        When it happens, as a share of the stream.
    share
        The share of the edges of a timestamp that stay, by its number and that of the jump.
    partial
        Whether the timestamp of the jump is a part-period, which itself is not judged.
    halves
        Whether the edges between two halves of the nodes are what is left out.
    lasts
        Whether it lasts to the end of the stream, so that all later timestamps are judged.
    """

    title: str
    at: float
    share: Callable[[int, int], float]
    partial: bool = False
    halves: bool = False
    lasts: bool = False

    def judged(self, length: int, window: int) -> range:
        """The timestamps after the jump: a window of them, as many as a stale value can last."""
        first = self.when(length) + self.partial
        return range(first, length if self.lasts else min(first + window, length))

    def settled(self, length: int, window: int) -> range:
        """Those of them by which a method should have recovered: from the third on."""
        judged = self.judged(length, window)
        return range(min(judged.start + SETTLING, judged.stop), judged.stop)

    def when(self, length: int) -> int:
        """The number of its timestamp in a stream."""
        return int(self.at * length)


def _only_at(time: int, at: int) -> float:
    return PART if time == at else 1.0


def _before(time: int, at: int) -> float:
    return STEP if time < at else 1.0


def _after(time: int, at: int) -> float:
    return STEP if time >= at else 1.0


JUMPS = {
    "part-first": Jump("first snapshot partial", 0, _only_at, partial=True),
    "part-middle": Jump("a snapshot partial", 3 / 8, _only_at, partial=True),
    "part-opening": Jump("a later snapshot partial", 1 / 2, _only_at, partial=True),
    "rise": Jump("five times the edges", 3 / 8, _before),
    "fall": Jump("a fifth of the edges", 3 / 8, _after),
    "merger": Jump("two halves merge", 3 / 8, lambda time, at: float(time >= at), halves=True),
    "seasonal": Jump(
        "two of seven timestamps quiet",
        3 / 8,
        lambda time, _: SEASON if time % PERIOD in OFF else 1.0,
        lasts=True,
    ),
}


def find_jump(name: str) -> tuple[str, Jump | None]:
    """Split the name of a data set into that of the stream and its jump, if it has one.

    >>> find_jump("as-733:rise")[1].title
    'five times the edges'
    """
    base, _, jump = name.removesuffix(WITHOUT).partition(":")
    if not jump or jump == UNDIRECTED or jump.partition("-")[0] == PEOPLE:
        return base if jump else name, None
    if jump not in JUMPS:
        raise InvalidArgument(f"there is no jump {jump!r}\nChoose one of: {', '.join(JUMPS)}.")
    return base, JUMPS[jump]


def judged_timestamps(name: str, length: int, window: int) -> dict[str, range]:
    """The timestamps whose metrics count, by the prefix that the names of their means get.

    All without a jump; with one, those after it, and those by which a method should have recovered.
    Of directed, two-sided and weighted data sets also those after the first window.
    """
    base, jump = find_jump(name)
    if jump is None:
        later = {SETTLED: range(window, length)} if base in _KINDS else {}
        return {"": range(length), **later}
    return {"": jump.judged(length, window), SETTLED: jump.settled(length, window)}


def jumped(name: str, stream: Sequence[Snapshot]) -> list[Snapshot]:
    """Return the stream of a data set with its jump, or without it if the name says so."""
    base, jump = find_jump(name)
    skipped = SKIPPED.get(base, 0)
    kept = list(stream[skipped : skipped + LENGTH])
    if base in FIXED_ROSTER:
        kept = on_one_roster(kept)
    if jump is None or name.endswith(WITHOUT):
        return kept
    at = jump.when(len(kept))
    return [_thinned(each, jump.share(time, at), jump.halves) for time, each in enumerate(kept)]


def _thinned(snapshot: Snapshot, share: float, halves: bool) -> Snapshot:
    """The edges that stay, and the nodes that have one where the roster comes from the edges."""
    if share >= 1:
        return snapshot
    # Multiplication by an odd constant spreads the low bits of a checksum over all of them.
    spread = np.uint64(0x9E3779B97F4A7C15)
    nodes = _checksums(snapshot.roster.ids) * spread
    u, v = snapshot.u, snapshot.v
    if halves:
        stays = nodes[u] >> np.uint64(63) == nodes[v] >> np.uint64(63)
    else:
        both = nodes[u] + nodes[v]  # whichever end comes first
        both = (both ^ (both >> np.uint64(29))) * spread
        stays = both >> np.uint64(11) < np.uint64(share * 2**53)
    u, v, roster = u[stays], v[stays], snapshot.roster
    if roster.declared == "edges":
        there = np.unique(np.concatenate([u, v]))
        roster = Roster(roster.ids[there], declared="edges")
        u, v = np.searchsorted(there, u), np.searchsorted(there, v)
    return Snapshot(roster, u, v, time=snapshot.time)


def _checksums(ids: Ids) -> NDArray[np.uint64]:
    """A number for every node that depends on nothing but its id."""
    return np.array([crc32(str(each).encode()) for each in ids], dtype=np.uint64)


def on_one_roster(stream: Sequence[Snapshot]) -> list[Snapshot]:
    """The same edges over all nodes that occur in any snapshot, declared as given."""
    every = np.unique(np.concatenate([snapshot.roster.ids for snapshot in stream]))
    roster = Roster(every, declared="given")
    fixed = []
    for snapshot in stream:
        position = roster.positions(snapshot.roster.ids)
        u, v = position[snapshot.u], position[snapshot.v]
        fixed.append(Snapshot(roster, u, v, time=snapshot.time))
    return fixed
