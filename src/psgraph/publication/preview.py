"""What publishing a stream would do, before it is done: nothing is measured, spent or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from psgraph._runtime.numbers import count
from psgraph._runtime.resources import peak_bytes, restart_peak
from psgraph.errors import DataError
from psgraph.graph import Roster, Snapshot, TwoSidedRoster
from psgraph.graph.bound import Bound
from psgraph.graph.kind import UNDIRECTED, Dropped, Kind
from psgraph.graph.left_out import published_as
from psgraph.graph.parts import degrees
from psgraph.methods.base import Method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Owner
from psgraph.publication.planning import Plan, plan
from psgraph.publication.publisher import Publisher
from psgraph.streams.overflow import MOST_HELD
from psgraph.streams.stream import Stream

__all__ = [
    "CheckReport",
    "Cost",
    "SnapshotFacts",
    "check",
    "expected_cost",
    "observed",
    "refuse_empty",
    "report_on",
]

_LISTED = 3  # times of empty snapshots that a remark names
_TRIAL = 50_000  # nodes and edges of a trial graph at most; larger ones are extrapolated
_HELD_BYTES = 16  # of an edge that is kept in memory until it is published


@dataclass(frozen=True)
class SnapshotFacts:
    """What is known of a snapshot that was read. `edges`, `dropped`, `active`: curator only.

    `active` is the number of nodes with an edge; None if it was not counted.
    """

    time: str | None
    nodes: int
    roster: str
    declared: str
    edges: int
    dropped: Dropped
    kind: Kind = UNDIRECTED
    left: int | None = None
    active: int | None = None


def observed(stream: Iterable[Snapshot], into: list[SnapshotFacts]) -> Iterator[Snapshot]:
    """Yield the snapshots of a stream, and note the facts of each."""
    for snapshot in stream:
        into.append(
            SnapshotFacts(
                snapshot.time,
                len(snapshot.roster),
                snapshot.roster.statement,
                snapshot.roster.declared,
                snapshot.parts.edge_count,
                snapshot.dropped,
                snapshot.kind,
                snapshot.roster.offset if snapshot.kind.two_sided else None,
            )
        )
        yield snapshot


@dataclass(frozen=True)
class Cost:
    """What publishing takes on this machine, roughly. Curator only: it depends on edge counts.

    Attributes
    ----------
    seconds
        For the timestamps that are not published yet, without reading the input.
    memory
        Bytes, at most at once.
    """

    seconds: float
    memory: int

    def __str__(self) -> str:
        minutes = self.seconds / 60
        time = f"{max(self.seconds, 1):.0f} s" if minutes < 2 else f"{minutes:,.0f} minutes"
        memory = f"{self.memory / 1e9:,.1f} GB of memory"
        return f"about {time} after the input is read, and {memory}, on this machine"


@dataclass(frozen=True)
class CheckReport:
    """What publishing a stream would do.

    Attributes
    ----------
    description, columns
        What the input is, and which column is read as what.
    snapshots
        One for each timestamp that would be published.
    times
        Where the timestamps come from.
    window_in_time
        How long a window is, where that is known.
    held_back
        The first period that is not over, if the input has one.
    curator_notes
        What happens to rows that are not used as they are. Curator only.
    plan
        What each timestamp would measure; None without a guarantee.
    sealed
        Timestamps that the ledger has already: those cost nothing.
    end_remarks, curator_end_remarks
        What to know about the ends of the stream; see `psgraph.streams.Stream`.
    kind, published_as
        The kind of the graphs, and what is said if the input has more than they do.
    cost
        What publishing takes; None without a guarantee. Curator only.
    """

    description: str
    columns: dict[str, str]
    snapshots: tuple[SnapshotFacts, ...]
    times: str | None
    window_in_time: str | None
    held_back: str | None
    curator_notes: tuple[str, ...] = ()
    plan: Plan | None = None
    sealed: int = 0
    end_remarks: tuple[str, ...] = ()
    curator_end_remarks: tuple[str, ...] = ()
    kind: Kind = UNDIRECTED
    published_as: str | None = None
    cost: Cost | None = None

    @property
    def names(self) -> list[str]:
        """The times of the snapshots; public."""
        return [each.time or str(number) for number, each in enumerate(self.snapshots)]

    @property
    def nodes(self) -> int:
        """The nodes of the largest roster."""
        return max((each.nodes for each in self.snapshots), default=0)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings that depend on public facts alone, so that a log may hold them."""
        without = [
            name
            for name, each in zip(self.names, self.snapshots, strict=True)
            if each.declared != "edges" and each.nodes < 2
        ]
        if not without:
            return self.end_remarks
        return (
            *self.end_remarks,
            f"{count(len(without), 'timestamp')} can't have an edge, because the roster has fewer "
            f"than two nodes then: {_listed(without)}.",
        )

    @property
    def curator_remarks(self) -> tuple[str, ...]:
        """Warnings that depend on private rows. Curator only."""
        empty = [
            name
            for name, each in zip(self.names, self.snapshots, strict=True)
            if not each.edges and (each.declared == "edges" or each.nodes > 1)
        ]
        if not empty:
            return self.curator_end_remarks
        return (
            *self.curator_end_remarks,
            f"Without an edge: {len(empty):,} of {count(len(self.snapshots), 'timestamp')} "
            f"({_listed(empty)}). Each spends its share of the budget.",
        )

    @property
    def active(self) -> tuple[int, int] | None:
        """The smallest and largest number of nodes with an edge in a snapshot. Curator only."""
        found = [each.active for each in self.snapshots if each.active is not None]
        return (min(found), max(found)) if found else None

    @property
    def self_loops(self) -> int:
        """Rows dropped because both ends are one node. Curator only."""
        return sum(each.dropped.self_loops for each in self.snapshots)

    @property
    def duplicates(self) -> int:
        """Rows dropped because the edge was there. Curator only."""
        return sum(each.dropped.duplicates for each in self.snapshots)

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON; what depends on private rows is under ``curator_only``."""
        edges = [each.edges for each in self.snapshots]
        return {
            "input": self.description,
            "timestamps": len(self.snapshots),
            "first": self.names[0] if self.snapshots else None,
            "last": self.names[-1] if self.snapshots else None,
            "already_published": min(self.sealed, len(self.snapshots)),
            "new": max(0, len(self.snapshots) - self.sealed),
            "times": self.times,
            "window_in_time": self.window_in_time,
            "held_back": self.held_back,
            "nodes": self.nodes,
            "roster": self.snapshots[-1].roster if self.snapshots else None,
            "kind": self.kind.name,
            "weights": self.kind.largest_weight,
            "published_as": self.published_as,
            "warnings": list(self.remarks),
            "plan": None if self.plan is None else self.plan.to_dict(),
            "curator_only": {
                "columns": self.columns,
                "edges": {"smallest": min(edges, default=0), "largest": max(edges, default=0)},
                "nodes_with_edges": (
                    None
                    if self.active is None
                    else dict(zip(("smallest", "largest"), self.active, strict=True))
                ),
                "dropped": {"self_loops": self.self_loops, "duplicates": self.duplicates},
                "notes": list(self.curator_notes),
                "warnings": list(self.curator_remarks),
                "expected": (
                    None
                    if self.cost is None
                    else {"seconds": round(self.cost.seconds, 1), "memory": self.cost.memory}
                ),
            },
        }


def refuse_empty(snapshots: int, held_back: str | None) -> None:
    """Refuse a stream that has nothing to publish."""
    if not snapshots and held_back is not None:
        raise DataError(
            "no period of the input is over, so there is nothing to publish yet\n"
            "Run the command again later, or publish it as it is with --close-last."
        )
    if not snapshots:
        raise DataError("the input has no snapshot\nGive at least one timestamp.")


def check(
    stream: Stream,
    *,
    method: Method[Any, Any] | None = None,
    guarantee: WEventPrivacy | None = None,
    sealed: int = 0,
) -> CheckReport:
    """Read all of a stream and return what publishing it would do. Curator only in part.

    Parameters
    ----------
    method, guarantee
        What it would be published with; without them the report has no plan.
    sealed
        Timestamps that are published already.

    Examples
    --------
    >>> from psgraph import read_stream
    >>> days = {"mon": [(1, 2)], "tue": []}
    >>> found = check(read_stream(days, roster=[1, 2, 3]))
    >>> found.names, found.remarks, found.curator_remarks[0].partition(":")[0]
    (['mon', 'tue'], (), 'Without an edge')
    """
    seen: list[SnapshotFacts] = []
    for snapshot in observed(stream, seen):
        if not stream.prepared:  # a store was checked when it was prepared
            active = np.count_nonzero(degrees(snapshot.parts, len(snapshot.roster)))
            seen[-1] = replace(seen[-1], active=int(active))
        del snapshot
    refuse_empty(len(seen), stream.held_back)
    found = report_on(stream, seen, method=method, guarantee=guarantee, sealed=sealed)
    if method is None or guarantee is None:
        return found
    return replace(found, cost=expected_cost(method, guarantee, seen, sealed=sealed))


def expected_cost(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    snapshots: Sequence[SnapshotFacts],
    *,
    sealed: int = 0,
) -> Cost:
    """Time a method on random graphs as large as the largest snapshot; scale to all of them.

    Of graphs above 50,000 nodes and edges a smaller one is tried, and time and memory are taken to
    be proportional. Reads no edge, only how many there are.
    """
    sizes = [each.nodes + each.edges for each in snapshots]
    largest = max(snapshots, key=lambda each: each.nodes + each.edges)
    share = min(1.0, _TRIAL / max(sizes))
    tiny = replace(largest, nodes=16, edges=32, left=None if largest.left is None else 8)
    _publish_random(method, guarantee, tiny)  # loads what is compiled
    held = min(sum(each.edges for each in snapshots), MOST_HELD) * _HELD_BYTES
    before, now = peak_bytes(), restart_peak()
    nodes = max(round(largest.nodes * share), 2)
    left = None if largest.left is None else min(max(round(largest.left * share), 1), nodes - 1)
    trial = replace(largest, nodes=nodes, edges=round(largest.edges * share), left=left)
    seconds = _publish_random(method, guarantee, trial)
    grown = max(0, peak_bytes() - now)
    return Cost(
        seconds / share * sum(sizes[sealed:]) / max(sizes),
        max(before, now + round(grown / share)) + held,
    )


def _publish_random(
    method: Method[Any, Any], guarantee: WEventPrivacy, like: SnapshotFacts
) -> float:
    """Publish two random graphs of a size and kind to nowhere; return the seconds of one."""
    random, kind = np.random.default_rng(0), like.kind
    roster = Roster.range(like.nodes)
    if like.left is not None:
        roster = TwoSidedRoster(Roster.range(like.left), Roster.range(like.nodes - like.left))
    begin = perf_counter()
    with Publisher(method, guarantee, seed=0) as publisher:
        for _ in range(2):
            u = random.integers(roster.offset or like.nodes, size=like.edges)
            v = random.integers(roster.offset, like.nodes, size=like.edges)
            owned: dict[str, Any] = {}
            if isinstance(guarantee.unit, Owner):  # each edge with an owner of its own
                bound = Bound(guarantee.unit.column, guarantee.unit.at_most)
                owned = {"owner_sizes": np.ones(like.edges, dtype=np.int64), "bound": bound}
            publisher.publish(Snapshot(roster, u, v, kind=kind, **owned))
    return (perf_counter() - begin) / 2


def report_on(
    stream: Stream,
    snapshots: Sequence[SnapshotFacts],
    *,
    method: Method[Any, Any] | None = None,
    guarantee: WEventPrivacy | None = None,
    sealed: int = 0,
) -> CheckReport:
    """Return the report on a stream that has been read."""
    kind = snapshots[0].kind if snapshots else stream.kind or UNDIRECTED
    names = [each.time for each in snapshots]
    window = (
        None
        if guarantee is None or stream.times is None
        else stream.times.window(guarantee.window, names)
    )
    made = None
    if guarantee is not None and method is not None:
        nodes = max((each.nodes for each in snapshots), default=0)
        left = max((each.left for each in snapshots if each.left is not None), default=None)
        made = plan(guarantee, nodes=nodes, method=method, kind=kind, left=left)
    return CheckReport(
        stream.description,
        stream.column_words,
        tuple(snapshots),
        None if stream.times is None else str(stream.times),
        window,
        stream.held_back,
        stream.curator_notes,
        made,
        sealed,
        stream.remarks,
        stream.curator_remarks,
        kind,
        published_as(stream.dropped),
    )


def _listed(names: Sequence[str]) -> str:
    if len(names) <= _LISTED:
        return ", ".join(names)
    return f"{', '.join(names[: _LISTED - 1])}, …, {names[-1]}"
