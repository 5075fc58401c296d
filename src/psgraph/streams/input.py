"""Read a stream from whatever the input is, and prepare large input once for all later runs."""

from __future__ import annotations

import atexit
import functools
import inspect
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from psgraph._runtime.durable import as_path, check_target
from psgraph._runtime.resources import clear_scratch, scratch_directory, scratch_place
from psgraph.errors import DataError, InvalidArgument, OutputError, RosterError
from psgraph.graph.bound import Bound
from psgraph.graph.formats.features import dropped_features
from psgraph.graph.formats.files import TableFile, open_table
from psgraph.graph.formats.frames import FrameTable, is_frame
from psgraph.graph.left_out import published_as
from psgraph.graph.parts import PART_NODES, MemoryParts
from psgraph.privacy.unit import Owner
from psgraph.stores import Store, is_store, new_store, open_store, refuse_unfinished
from psgraph.stores.part_files import Address, Place, as_place
from psgraph.stores.store import check_free, copy_store
from psgraph.streams.directories import directory_stream, glob_stream
from psgraph.streams.events import event_stream
from psgraph.streams.nodes import Nodes, RosterLike
from psgraph.streams.options import OPTIONS, InputOptions
from psgraph.streams.overflow import SnapshotStore
from psgraph.streams.periods import Period, Span
from psgraph.streams.rosters import read_roster
from psgraph.streams.rows import Reading
from psgraph.streams.stream import Stream, iterable_stream
from psgraph.streams.tables import table_stream
from psgraph.streams.time_source import as_time_source
from psgraph.streams.times import Time
from psgraph.streams.timestamps import TimesLike, read_times

__all__ = ["Prepared", "nodes_of", "prepare", "read_stream", "unit_of_store"]

#: Types of parameters, so that the annotations of `read_stream` can be resolved.
_TYPES = RosterLike, SnapshotStore, Time, TimesLike, Mapping

_STANDARD_INPUT = "-"

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def _takes_input_options(
    options: Callable[_Parameters, InputOptions],
) -> Callable[[Callable[[InputOptions], _Result]], Callable[_Parameters, _Result]]:
    """Give a function of `InputOptions` the parameters of `InputOptions`, and their documentation.

    ``{options}`` in its docstring stands for the paragraphs of all options. Type checkers and
    `inspect.signature` see the parameters.
    """
    shape = inspect.signature(options)

    def decorate(function: Callable[[InputOptions], _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        def called(*arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
            shape.bind(*arguments, **keywords)  # a wrong name is reported as one of this function
            return function(options(*arguments, **keywords))

        result = function.__annotations__.get("return", inspect.Signature.empty)
        parameters = {each.name: each.annotation for each in shape.parameters.values()}
        called.__annotations__ = {**parameters, "return": result}
        called.__signature__ = shape.replace(  # type: ignore[attr-defined]
            return_annotation=result
        )
        if function.__doc__ is not None:
            # From Python 3.13 on the compiler removes the indentation; do it for all.
            text = inspect.cleandoc(function.__doc__)
            called.__doc__ = text.replace("{options}", _paragraphs())
        return called

    return decorate


def _paragraphs() -> str:
    """Return what the options are, as a part of a docstring."""
    lines = []
    for name, option in OPTIONS.items():
        text = textwrap.fill(option.doc, 88, break_long_words=False, break_on_hyphens=False)
        lines += [name, textwrap.indent(text, "    ")]
    return "\n".join(lines)


@_takes_input_options(InputOptions)
def read_stream(options: InputOptions) -> Stream:
    """Read a stream of snapshots, one at a time: memory does not grow with its length.

    Parameters
    ----------
    source
        One of

        * a Parquet, CSV, TSV or TXT file (also .gz and .zst) with columns ``t, u, v``, sorted by
          ``t``: integers, dates or labels. Other columns are ignored. Integers are consecutive:
          one between the first and the last without a row is an empty snapshot;
        * a directory, or a pattern such as ``"days/*.txt"``, with one file per timestamp in the
          order of their names (numbers in names by value). Text files need no header: the first
          two columns are the ends. The name without its ending is the time. An empty file is an
          empty snapshot;
        * an event table with columns ``u, v, time``, together with `every`; rows that are not
          sorted by time are sorted;
        * ``"-"``: a table from standard input;
        * a store that `psgraph.prepare` wrote. It has its own rosters and times; a roster that is
          given as well has to be the one it was prepared with;
        * a pandas or polars frame, an Arrow table, or any object with the Arrow interface, with
          the columns of one of these tables. Its rows need not be sorted by time;
        * a list of graphs, one per timestamp, or a mapping from time to graph: snapshots, graphs
          of networkx, igraph or PyTorch Geometric, lists of edges, pairs of arrays, ….

        In a text file ids have the type of the roster; without one the first row decides
        between integers and text, unless `ids` does.
    {options}

    Returns
    -------
    Stream
        To iterate over, repeatedly if it comes from files.

    Raises
    ------
    RosterError
        The nodes were not declared, or the roster is broken.
    DataError
        The input is missing, damaged or otherwise unusable; the rest of it is read only while
        iterating. No message holds an id.
    InvalidArgument
        The arguments contradict each other.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edges.csv"
    >>> _ = file.write_text("t,u,v\\n0,1,2\\n0,2,3\\n1,1,3\\n")
    >>> list(read_stream(file, roster=[1, 2, 3]))
    [Snapshot(3 nodes, edges private, time='0'), Snapshot(3 nodes, edges private, time='1')]
    """
    options.check()
    clear_scratch()
    source = options.source
    if is_frame(source):
        return _table(FrameTable(source), options, of="a table")
    if not isinstance(source, str | PathLike):
        options.check("graphs")
        return _graphs(source, options)
    place = as_place(source)
    if isinstance(place, Address) or is_store(place):
        options.check("store")
        return _stored(place, nodes_of(options))
    refuse_unfinished(Path(source))
    if source == _STANDARD_INPUT:
        return _table(None, options)
    path = Path(source)
    try:
        exists, directory = path.exists(), path.is_dir()
    except (OSError, ValueError):
        raise DataError("the path of the input can't be used\nCheck it.") from None
    if directory or (not exists and any(mark in str(source) for mark in "*?[")):
        options.check("files")
        nodes, reading = nodes_of(options), Reading.of(options)
        nodes.require()
        if directory:
            return directory_stream(path, nodes, reading)
        return glob_stream(str(source), nodes, reading)
    return _table(path, options)


def _graphs(source: Any, options: InputOptions) -> Stream:
    """Read one graph after the other; what certificates leave out is told by the first one."""
    times = None if options.times is None else read_times(options.times)
    items = _first_seen(source, lambda first: look_at(first)) if _is_once(source) else source
    stream = iterable_stream(items, nodes_of(options), times=times)

    def look_at(first: Any) -> None:
        stream.dropped = options.dropped(dropped_features(first))  # by its type
        told = [published_as(stream.dropped)] if _is_once(source) else []
        looks = not isinstance(first, np.ndarray)  # columns of ids, and no matrix
        carried = options.dropped(dropped_features(first, look_at_edges=looks))
        if more := published_as([each for each in carried if each not in stream.dropped]):
            told.append(f"{more} Certificates don't say so: it depends on the edges.")
        for each in filter(None, told):
            warnings.warn(each, stacklevel=4)

    if not _is_once(source) and not isinstance(source, Stream):
        values = source.values() if isinstance(source, Mapping) else source
        for first in islice(values, 1):
            look_at(first)
    return stream


def _is_once(source: Any) -> bool:
    """Whether items are there only once, so that none may be looked at before its turn."""
    return isinstance(source, Iterator)


def _first_seen(items: Iterator[Any], look_at: Callable[[Any], None]) -> Iterator[Any]:
    for number, item in enumerate(items):
        if number == 0:
            look_at(item)
        yield item


def nodes_of(options: InputOptions) -> Nodes:
    """Return who the nodes are; reads a roster that is a path."""
    roster = options.roster
    if isinstance(roster, str | PathLike):
        roster = read_roster(
            roster,
            column=options.roster_column,
            header=options.roster_header,
            ids=options.ids,
            labels=options.labels,
        )
    elif options.roster_column is not None or options.roster_header is not None:
        raise InvalidArgument(
            "roster_column and roster_header are for the path of a roster file\nLeave them out."
        )
    elif options.labels is not None:
        raise InvalidArgument(
            "labels names columns of a roster file\n"
            "Give the labels with the ids: roster=psgraph.Roster(ids, labels=frame)."
        )
    kind, store = options.graph_kind(), None if options.cumulative else options.store
    if store is not None:
        store.kind = kind
    sides = None
    if options.left is not None and options.right is not None:
        sides = options.left, options.right
    return Nodes.choose(
        roster,
        options.roster_from_edges,
        options.nodes_are_public,
        sides=sides,
        kind=kind,
        unit=options.unit(),
        ids=options.ids,
        unknown=options.unknown_nodes,
        unknown_to=options.unknown_nodes_to,
        store=store,
    )


def _table(file: Path | TableFile | None, options: InputOptions, *, of: str = "a file") -> Stream:
    """Read a table: a file, an open one, or standard input; cut by t, or into periods."""
    options.check("table" if options.every is None else "events")
    times = None if options.times is None else read_times(options.times)
    period = None if options.every is None else Period.parse(options.every, options.timezone)
    reading, nodes = Reading.of(options), nodes_of(options)
    nodes.require(of=of)
    if file is None:
        table = open_table(_save_standard_input(), columns=reading.columns, name="standard input")
    elif isinstance(file, Path):
        table = open_table(file, columns=reading.columns)
    else:
        table = file
    if period is None:
        return table_stream(
            table, nodes, times=times, time_label=options.time_label, reading=reading
        )
    return event_stream(
        table,
        nodes,
        span=Span.parse(options.start, options.until, every=period, close_last=options.close_last),
        cumulative=options.cumulative,
        reading=reading,
        once=options.store is not None,
        hold_later=True,
    )


def _save_standard_input() -> Path:
    """Copy standard input to a file that only its owner can read, and that is removed at exit.

    A format can be recognised in a file only.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidArgument(
            "the input is -, but nothing is piped to standard input\n"
            "Pipe a table to the command, or give its path."
        )
    kept = ExitStack()
    atexit.register(kept.close)
    path = kept.enter_context(scratch_directory()) / "standard-input.table"
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        raise OutputError(
            f"standard input can't be kept in {scratch_place()}: {error.strerror or 'I/O error'}\n"
            "Set TMPDIR to a directory with enough space, or give a path."
        ) from None
    return path


# ---- stores ----


def _stored(path: Place, nodes: Nodes) -> Stream:
    """Read the snapshots of a store; their edges stay on disk until they are needed."""
    store = open_store(path)
    if nodes.from_edges or nodes.declared == "nodes":
        raise InvalidArgument(
            f"{path} is a store, and the nodes were declared when it was prepared\n"
            "Leave out roster_from_edges (--roster-from-edges) and nodes_are_public."
        )
    if nodes.roster is not None:
        _refuse_other_roster(store, nodes)
    bound = _bound_of(store)
    _refuse_other_bound(path, bound, nodes)
    stream = Stream(
        lambda: iter(store),
        length=lambda: len(store),
        description=f"{path.name or path}, prepared",
        times=as_time_source(store.manifest.times),
        prepared=True,
        nodes=max((entry.nodes for entry in store.manifest.snapshots), default=None),
        kind=store.manifest.kind,
        unit=_unit_of(store),
    )
    stream.held_back = store.manifest.held_back
    return stream


def unit_of_store(source: str | PathLike[str]) -> Owner | None:
    """Return the owners that a store was prepared for, if edges have owners."""
    return _unit_of(open_store(as_place(source)))


def _unit_of(store: Store) -> Owner | None:
    bound = _bound_of(store)
    return None if bound is None else Owner(*bound[:2], store.manifest.kind.flows)


def _bound_of(store: Store) -> Bound | None:
    first = store.manifest.snapshots[:1]
    return first[0].bound if first else None


def _refuse_other_bound(path: Place, bound: Bound | None, nodes: Nodes) -> None:
    """Refuse owners that are not those the store was prepared for."""
    unit = None if nodes.owners is None else nodes.owners.unit
    if unit is not None and (bound is None or bound[:2] != (unit.column, unit.at_most)):
        found = "without owners"
        if bound is not None:
            found = f"for the owners in column {bound.column!r}, at most {bound.at_most} edges each"
        raise InvalidArgument(
            f"{path} was prepared {found}\n"
            "Leave out owner and at_most (--owner, --at-most) to use it as it is, or prepare it "
            "again with them.",
            code="owner",
        )


def _refuse_other_roster(store: Store, nodes: Nodes) -> None:
    """Refuse a roster that is not the one the store was prepared with."""
    for number, entry in enumerate(store.manifest.snapshots):
        roster = nodes.at(entry.time)
        if roster is None or roster.digest != entry.roster:
            raise RosterError(
                f"{store.path} was prepared with a different roster (timestamp {number})\n"
                "Leave the roster out to use that of the store, or prepare the store again with "
                "the new one."
            )


@dataclass(frozen=True)
class Prepared:
    """What a store holds.

    What it does not hold is for the curator only: `self_loops`, `duplicates`, `skipped` and
    `curator_notes`, which say what happened to other rows.
    """

    path: Place
    timestamps: int
    nodes: int
    parts: int
    self_loops: int
    duplicates: int
    skipped: int
    held_back: str | None
    curator_notes: tuple[str, ...] = ()


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
    positions, with temporary files where a snapshot is larger than memory; a roster from the edges,
    and `cumulative`, need the edges of one snapshot in memory. The store appears
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
        store.times = None if stream.times is None else stream.times.dumps()
        store.held_back = stream.held_back
    return Prepared(
        path,
        len(store),
        nodes,
        parts,
        loops,
        duplicates,
        stream.skipped,
        stream.held_back,
        stream.curator_notes,
    )
