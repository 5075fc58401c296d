"""Prepare a stream: from raw input of any kind to a store, once and out of core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from psgraph._runtime.folder import check_target
from psgraph._runtime.paths import as_path
from psgraph._runtime.scratch import scratch_directory
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph.parts import PART_NODES, MemoryParts
from psgraph.stores import is_store, new_store
from psgraph.stores.places import Place, as_place
from psgraph.stores.store import check_free, copy_store
from psgraph.streams import read_stream
from psgraph.streams.stream import Stream

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True)
class Prepared:
    """What a store holds. `self_loops`, `duplicates` and `skipped` are for the curator only."""

    path: Place
    timestamps: int
    nodes: int
    parts: int
    self_loops: int
    duplicates: int
    skipped: int
    held_back: str | None


def prepare(
    source: str | PathLike[str] | Iterable[Any] | Any,
    to: str | PathLike[str],
    *,
    part_nodes: int = PART_NODES,
    progress: Callable[[int], object] | None = None,
    **reading: Any,
) -> Prepared:
    """Write a stream to a store, which `read_stream` and all commands take instead of the input.

    The input is read once. Edges are de-duplicated and sorted into Parquet parts over roster
    positions, with temporary files where a snapshot is larger than memory; a roster that is read
    off the edges, and `cumulative`, need the edges of one snapshot in memory. The store appears
    whole or not at all. It holds private edges: only its owner can enter it.

    Parameters
    ----------
    source
        What `read_stream` takes.
    to
        The new directory, or an address that fsspec knows (``s3://…``): then the store is
        written to temporary files first, and copied.
    part_nodes
        Node positions in a part. Memory for publishing grows with the edges of a part.
    progress
        Called after every snapshot with the number of snapshots written.
    **reading
        Options of `read_stream`: ``roster``, ``every``, ``times`` and so on.

    Examples
    --------
    >>> import tempfile
    >>> days = {"mon": [(1, 2), (2, 1)], "tue": [(2, 3)]}
    >>> made = prepare(days, Path(tempfile.mkdtemp()) / "store", roster=[1, 2, 3])
    >>> made.timestamps, made.duplicates, read_stream(made.path)
    (2, 1, Stream(store, prepared))
    """
    if not isinstance(to, str | PathLike) or isinstance(place := as_place(to), Path):
        return _prepare(source, as_path(to, "to"), part_nodes, progress, reading)
    check_free(place)
    with scratch_directory() as scratch:
        made = _prepare(source, scratch / "store", part_nodes, progress, reading)
        copy_store(scratch / "store", place)
    return replace(made, path=place)


def _prepare(
    source: Any,
    path: Path,
    part_nodes: int,
    progress: Callable[[int], object] | None,
    reading: Mapping[str, Any],
) -> Prepared:
    if isinstance(source, str | PathLike) and is_store(as_place(source)):
        raise InvalidArgument(f"{source} is a store already\nUse it as it is.")
    check_target(path)
    loops = duplicates = nodes = parts = 0
    with new_store(path, part_nodes=part_nodes) as store:
        stream: Stream = read_stream(source, store=store, **reading)
        for done, snapshot in enumerate(stream, start=1):
            if isinstance(snapshot.parts, MemoryParts):  # others were written while they were read
                store.add(snapshot)
            loops += snapshot.dropped.self_loops
            duplicates += snapshot.dropped.duplicates
            nodes = max(nodes, len(snapshot.roster))
            parts = max(parts, -(-len(snapshot.roster) // part_nodes))
            if progress is not None:
                progress(done)
        if not len(store):
            raise DataError("the input has no snapshot\nGive at least one timestamp.")
        store.times, store.held_back = stream.times, stream.held_back
    return Prepared(
        path, len(store), nodes, parts, loops, duplicates, stream.skipped, stream.held_back
    )
