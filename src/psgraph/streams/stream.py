"""A stream: snapshots in order, one at a time; each by itself, or with the edges before it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from psgraph._runtime.numbers import count
from psgraph.errors import DataError, InvalidArgument, RosterError
from psgraph.graph import Graph, Kind, Roster, Snapshot, TwoSidedRoster
from psgraph.graph.blueprint import Options, kind_on
from psgraph.graph.parts import Pairs
from psgraph.graph.roster import distinct_ids
from psgraph.privacy.unit import Owner
from psgraph.streams.nodes import Nodes, UnknownNodes
from psgraph.streams.owners import unit_of
from psgraph.streams.rows import PADDED_IDS, BadRows
from psgraph.streams.time_source import TimeSource
from psgraph.streams.times import time_text
from psgraph.streams.timestamps import DeclaredTimes, read_times

__all__ = [
    "Stream",
    "accumulated",
    "held_back_note",
    "iterable_stream",
    "read_item",
]


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
    unknown
        What happens to edges with an end outside the roster; they are refused unless given.
    prepared
        Whether all of it was read and checked before, when a store was prepared.
    nodes
        How many nodes were declared, of all rosters if they change; None if the rosters come
        from the edges or with the snapshots.
    kind
        The kind of all snapshots; None if it comes with the snapshots.
    unit
        The owners whose edges were bounded, if edges have owners.

    Attributes
    ----------
    dropped
        What the input says about edges and the snapshots leave out, "direction" or "weights": by
        the columns of the input, or by its type.
    held_back
        The time of the first period that is not published because it is not over; None if there
        is none. Known when the stream has been read.
    remarks
        What a publisher should know about the ends of the stream, from what was declared and from
        the calendar alone.
    column_words, curator_remarks
        Which column is read as what; what the rows show about the ends, known when the stream has
        been read. Curator only.

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
        unknown: UnknownNodes | None = None,
        prepared: bool = False,
        nodes: int | None = None,
        kind: Kind | None = None,
        unit: Owner | None = None,
    ) -> None:
        self._snapshots, self._length = snapshots, length
        self.kind, self.unit = kind, unit
        self.dropped: tuple[str, ...] = ()
        self.description = description
        self.times = times
        self.prepared = prepared
        self.nodes = nodes
        self.held_back: str | None = None
        self.remarks: tuple[str, ...] = ()
        self.column_words: dict[str, str] = {}
        self.curator_remarks: tuple[str, ...] = ()
        self._bad_rows, self._unknown = bad_rows or BadRows(), unknown
        self._warned = False

    def __iter__(self) -> Iterator[Snapshot]:
        return self._snapshots()

    def __repr__(self) -> str:
        return f"Stream({self.description})"

    @property
    def skipped(self) -> int:
        """The number of rows left out because they can't be read. Curator only."""
        return len(self._bad_rows.rows)

    @property
    def later(self) -> int:
        """The number of rows left for a later run: those after `until`. Curator only."""
        return self._bad_rows.counts["later"]

    @property
    def outside_roster(self) -> int:
        """The number of rows dropped because an end is not on the roster. Curator only."""
        return 0 if self._unknown is None else self._unknown.rows

    @property
    def curator_notes(self) -> tuple[str, ...]:
        """What happened to rows that were not used as they are. Curator only: not for a log."""
        numbers = {
            "Skipped {} that can't be used.": self.skipped,
            "Left {} after the declared end for a later run.": self.later,
            "Dropped {} with an end outside the roster.": self.outside_roster,
        }
        notes = [text.format(count(rows, "row")) for text, rows in numbers.items() if rows]
        return (*notes, PADDED_IDS) if self._bad_rows.counts["padded"] else (*notes,)

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
    whole: Snapshot | None = None
    for snapshot in snapshots:
        if whole is None:
            first = snapshot.roster if everyone is None else everyone
            whole = Snapshot(first, [], [], kind=snapshot.kind)
        if everyone is None:
            whole = _over(whole, _joined(whole.roster, snapshot.roster))
        new = _over(snapshot, whole.roster)
        pairs = Pairs.joined([whole.parts.whole(), new.parts.whole()])
        whole = Snapshot(whole.roster, *pairs, kind=whole.kind, weight=pairs.weight)
        yield _over(whole, whole.roster if everyone is None else snapshot.roster, like=snapshot)


def _over(graph: Snapshot, roster: Roster, *, like: Snapshot | None = None) -> Snapshot:
    """The edges with both ends on another roster; `like` gives the time, and what was dropped."""
    u, v, weight = graph.u, graph.v, graph.weight
    if roster is not graph.roster:
        positions = roster.positions_of(graph.roster)
        u, v = positions[u], positions[v]
        inside = (u >= 0) & (v >= 0)
        u, v = u[inside], v[inside]
        weight = None if weight is None else weight[inside]
    over = Snapshot(roster, u, v, kind=graph.kind, weight=weight)
    if like is None:
        return over
    return Snapshot.from_parts(roster, over.parts, time=like.time, dropped=like.dropped)


def _joined(past: Roster, now: Roster) -> Roster:
    if isinstance(past, TwoSidedRoster):
        return TwoSidedRoster(*map(_joined, past.sides, now.sides))
    if not len(past) or not len(now):
        return now if len(now) else past
    ids = distinct_ids(past.ids, now.ids)
    return past if len(ids) == len(past) else Roster(ids, declared="edges")


# ---- streams from Python objects ----


_GRAPH_LIBRARIES = ("networkx", "igraph", "scipy", "torch_geometric")
_LIBRARIES = (*_GRAPH_LIBRARIES, "pandas", "polars", "pyarrow")


def iterable_stream(
    items: Iterable[Any] | Mapping[Any, Any], nodes: Nodes, *, times: DeclaredTimes | None = None
) -> Stream:
    """Turn each item into a snapshot while iterating.

    An item is a `Snapshot`, a networkx, igraph or PyTorch Geometric graph, a sparse matrix, a
    table with columns u and v, an array of two columns, a list of pairs of ids, or a tuple of two
    arrays of ids. Its time is its declared one (the key of a mapping, or from `times`), otherwise
    its number, counted from 0; a snapshot keeps its own.
    """
    single = isinstance(items, Graph | bytes) or (
        isinstance(items, np.ndarray) and items.ndim < 3 and items.dtype != object
    )
    if not isinstance(items, Iterable) or single or _library(items):
        raise InvalidArgument(
            f"a stream can't be read from one {type(items).__name__}\n"
            "Give a path, a table, or a list with one graph per timestamp."
        )
    if isinstance(items, Mapping):
        items, times = _declared(items, times)
    if times is not None and (count := _count(items)) is not None and count != len(times.times):
        raise InvalidArgument(
            f"{len(times.times)} times were declared for {count} graphs\nGive one time for each."
        )
    if isinstance(items, Sequence):
        for item in items:
            _check_declared(item, nodes)
    started = False

    def snapshots() -> Iterator[Snapshot]:
        nonlocal started
        if started and isinstance(items, Iterator):
            raise DataError(
                "this stream was made from an iterator and has been read already\n"
                "Make it from a list or a file to read it again."
            )
        started = True
        if times is None:
            return (_snapshot(item, nodes, number) for number, item in enumerate(items))
        return _at_declared_times(items, nodes, times)

    stream = Stream(
        snapshots,
        length=lambda: _count(items),
        description=f"{type(items).__name__} of snapshots",
        times=_source(items, times),
        kind=_kind_of(items, nodes),
        unit=_unit_of(items, nodes),
    )
    stream.dropped = items.dropped if isinstance(items, Stream) else ()
    return stream


def _kind_of(items: Iterable[Any], nodes: Nodes) -> Kind | None:
    """The kind that was declared, or that a list of snapshots or a stream has."""
    if isinstance(items, Stream):
        return items.kind
    first = items[0] if isinstance(items, Sequence) and len(items) else None
    return first.kind if isinstance(first, Graph) else nodes.kind


def _unit_of(items: Iterable[Any], nodes: Nodes) -> Owner | None:
    """The owners that were declared, or those that a list of snapshots or a stream has."""
    if nodes.owners is not None:
        return nodes.owners.unit
    if isinstance(items, Stream):
        return items.unit
    first = items[0] if isinstance(items, Sequence) and len(items) else None
    return unit_of(first) if isinstance(first, Snapshot) else None


def _source(items: Iterable[Any], times: DeclaredTimes | None) -> TimeSource | None:
    if times is not None:
        return times.source
    return items.times if isinstance(items, Stream) else TimeSource("items")


def _declared(
    items: Mapping[Any, Any], times: DeclaredTimes | None
) -> tuple[list[Any], DeclaredTimes]:
    """Split a mapping from time to graph."""
    if times is not None:
        raise InvalidArgument(
            "times was given, but the keys of the mapping are the times\nLeave one of them out."
        )
    return list(items.values()), read_times(list(items))


def _at_declared_times(
    items: Iterable[Any], nodes: Nodes, times: DeclaredTimes
) -> Iterator[Snapshot]:
    names = times.labels or [time_text(time) for time in times.times]
    for number, (item, name) in enumerate(zip_longest(items, names)):
        if item is None or name is None:
            side = "fewer" if item is None else "more"
            raise DataError(
                f"there are {side} graphs than declared times ({len(names)})\n"
                "Give one time for each graph."
            )
        yield _snapshot(item, nodes, number, time=name)


def _count(items: Iterable[Any]) -> int | None:
    if isinstance(items, Stream):
        return items.length
    return len(items) if isinstance(items, Sized) else None


def _library(item: Any) -> str:
    """Return the library that the type of an object comes from, without importing it."""
    found = {parent.__module__.partition(".")[0] for parent in type(item).__mro__}
    return next((name for name in _LIBRARIES if name in found), "")


def _check_declared(item: Any, nodes: Nodes) -> None:
    """Refuse an item whose nodes were not declared; a `Graph` carries a declared roster."""
    if isinstance(item, Graph):
        return
    if _library(item) in _GRAPH_LIBRARIES:
        nodes.require_declaration()
    else:
        nodes.require(of="an item of the stream")


def read_item(
    item: Any,
    roster: Roster,
    number: int,
    *,
    time: str | None = None,
    kind: Kind | None = None,
) -> Snapshot:
    """Read one item of a stream over a given roster; its time is its number unless given."""
    nodes = Nodes(roster, "given", kind=kind_on(roster, kind))
    return _snapshot(item, nodes, number, time=time)


def _snapshot(item: Any, nodes: Nodes, number: int, *, time: str | None = None) -> Snapshot:
    if isinstance(item, Snapshot) and nodes.roster is None and time is None and not nodes.owners:
        return item
    time = time or (item.time if isinstance(item, Graph) else None) or str(number)
    _check_declared(item, nodes)
    try:
        graph = _read(item, nodes, time)
    except DataError as error:
        raise type(error)(f"the snapshot at {time!r}: {error}") from None
    bounded = graph if isinstance(graph, Snapshot) and graph.bound is not None else None
    snapshot = Snapshot(
        graph.roster,
        graph.u,
        graph.v,
        time=time,
        dropped=graph.dropped,
        kind=graph.kind,
        weight=graph.weight,
        owner_sizes=None if bounded is None else bounded.owner_sizes,
        bound=None if bounded is None else bounded.bound,
    )
    return snapshot if nodes.owners is None else nodes.owners.of_graph(snapshot)


def _read(item: Any, nodes: Nodes, time: str) -> Graph:
    roster, library = nodes.at(time), _library(item)
    if isinstance(item, Graph):
        if roster is not None and item.roster != roster:
            raise RosterError("its roster differs from the one given\nLeave one of the two out.")
        return item
    options: Options = {
        "roster": roster,
        "roster_from_edges": nodes.from_edges,
        "kind": nodes.kind,
    }
    if library in _GRAPH_LIBRARIES:
        short = "pyg" if library == "torch_geometric" else library
        read: Callable[..., Snapshot] = getattr(Snapshot, f"from_{short}")
        return read(item, nodes_are_public=nodes.declared == "nodes", **options)
    if library:
        return Snapshot.from_table(item, **options)
    if isinstance(item, np.ndarray):
        if item.ndim != 2 or item.shape[1] < 2:
            raise DataError("an array of edges needs two columns")
        item = tuple(item[:, column] for column in range(item.shape[1]))
        item = item[: 3 if nodes.kind.weighted else 2]
    if isinstance(item, str | bytes) or not isinstance(item, Iterable):
        raise DataError(f"expected a graph or a list of edges, not {type(item).__name__}")
    return Snapshot.from_edges(item, **options)
