"""Streams from Python objects: snapshots, graphs of other libraries, edge lists, arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from psgraph.errors import DataError, InvalidArgument, RosterError
from psgraph.graph import Graph, Snapshot
from psgraph.streams.nodes import Nodes
from psgraph.streams.stream import Stream

__all__ = ["iterable_stream"]


_GRAPH_LIBRARIES = ("networkx", "igraph", "scipy")
_LIBRARIES = (*_GRAPH_LIBRARIES, "pandas", "polars", "pyarrow")


def iterable_stream(items: Iterable[Any], nodes: Nodes) -> Stream:
    """Turn each item into a snapshot while iterating.

    An item is a `Snapshot`, a networkx or igraph graph, a sparse matrix, a table with columns u
    and v, an array of two columns, a list of pairs of ids, or a tuple of two arrays of ids. Its
    time is its number, counted from 0; a snapshot keeps its own.
    """
    if not isinstance(items, Iterable) or isinstance(items, Graph) or _library(items):
        raise InvalidArgument(
            f"a stream can't be read from one {type(items).__name__}\n"
            "Give a path, or a list with one graph per timestamp."
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
        return (_snapshot(item, nodes, number) for number, item in enumerate(items))

    return Stream(
        snapshots,
        length=lambda: _count(items),
        description=f"{type(items).__name__} of snapshots",
        times=items.times if isinstance(items, Stream) else "one per item, in order",
    )


def _count(items: Iterable[Any]) -> int | None:
    if isinstance(items, Stream):
        return items.length
    return len(items) if isinstance(items, Sized) else None


def _library(item: Any) -> str:
    """Return the library that the type of an object comes from, without importing it."""
    found = {parent.__module__.partition(".")[0] for parent in type(item).__mro__}
    return next((name for name in _LIBRARIES if name in found), "")


def _check_declared(item: Any, nodes: Nodes) -> None:
    """Refuse an item whose nodes nobody declared; a `Graph` carries a declared roster."""
    if isinstance(item, Graph):
        return
    if _library(item) in _GRAPH_LIBRARIES:
        nodes.require_declaration()
    else:
        nodes.require(of="an item of the stream")


def _snapshot(item: Any, nodes: Nodes, number: int) -> Snapshot:
    if isinstance(item, Snapshot) and nodes.roster is None:
        return item
    time = (item.time if isinstance(item, Graph) else None) or str(number)
    _check_declared(item, nodes)
    try:
        graph = _read(item, nodes, time)
    except DataError as error:
        raise type(error)(f"the snapshot at {time!r}: {error}") from None
    return Snapshot(graph.roster, graph.u, graph.v, time=time, dropped=graph.dropped)


def _read(item: Any, nodes: Nodes, time: str) -> Graph:
    roster, library = nodes.at(time), _library(item)
    if isinstance(item, Graph):
        if roster is not None and item.roster != roster:
            raise RosterError(
                "it carries another roster than the one given\nLeave one of the two out."
            )
        return item
    if library in _GRAPH_LIBRARIES:
        read: Callable[..., Snapshot] = getattr(Snapshot, f"from_{library}")
        return read(
            item,
            roster=roster,
            nodes_are_public=nodes.declared == "nodes",
            roster_from_edges=nodes.from_edges,
        )
    if library:
        return Snapshot.from_table(item, roster=roster, roster_from_edges=nodes.from_edges)
    if isinstance(item, np.ndarray):
        if item.ndim != 2 or item.shape[1] < 2:
            raise DataError("an array of edges needs two columns")
        item = item[:, 0], item[:, 1]
    if isinstance(item, str | bytes) or not isinstance(item, Iterable):
        raise DataError(f"expected a graph or a list of edges, not {type(item).__name__}")
    return Snapshot.from_edges(item, roster=roster, roster_from_edges=nodes.from_edges)
