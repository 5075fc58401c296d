"""Streams: snapshots out of files, directories, event tables and Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph.formats.files import TableFile, open_table
from psgraph.graph.formats.frames import FrameTable, is_frame
from psgraph.stores import is_store, refuse_unfinished
from psgraph.stores.places import Address, as_place
from psgraph.streams.directories import directory_stream, glob_stream
from psgraph.streams.events import event_stream
from psgraph.streams.gathering import SnapshotStore
from psgraph.streams.iterables import iterable_stream
from psgraph.streams.nodes import Nodes, RosterLike
from psgraph.streams.reading import Reading
from psgraph.streams.rosters import read_roster
from psgraph.streams.spans import Span
from psgraph.streams.standard_input import STANDARD_INPUT, save_standard_input
from psgraph.streams.stored import store_stream
from psgraph.streams.stream import Stream
from psgraph.streams.tables import table_stream
from psgraph.streams.times import Period, Time
from psgraph.streams.timestamps import TimesLike, read_times

__all__ = ["Stream", "read_stream"]


def read_stream(
    source: str | PathLike[str] | Iterable[Any] | Any,
    *,
    roster: RosterLike | None = None,
    roster_column: str | None = None,
    roster_header: bool | None = None,
    roster_from_edges: bool = False,
    nodes_are_public: bool = False,
    times: TimesLike | None = None,
    time_label: str | None = None,
    every: str | None = None,
    start: Time | None = None,
    until: Time | None = None,
    cumulative: bool = False,
    columns: str | Mapping[str, str | int] | None = None,
    ids: str = "auto",
    timezone: str | None = None,
    bad_rows: str = "refuse",
    bad_rows_to: str | PathLike[str] | None = None,
    unknown_nodes_to: str | PathLike[str] | None = None,
    gaps: str | None = None,
    close_last: bool = False,
    store: SnapshotStore | None = None,
) -> Stream:
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
        * a pandas or polars frame, an Arrow table, or whatever speaks Arrow, with the columns of
          one of these tables. Its rows need not be sorted by time;
        * a list of graphs, one per timestamp, or a mapping from time to graph: snapshots, graphs
          of networkx, igraph or PyTorch Geometric, lists of edges, pairs of arrays, ….

        In a text file ids have the type of the roster; without one the first row decides
        between integers and text, unless `ids` does.
    roster
        The public nodes: a `Roster`, a `TimedRoster`, the path of a file (`read_roster`), or ids.
    roster_column, roster_header
        For the path of a file: the column of ids; False if its first line is a node.
    roster_from_edges
        Instead of a roster: the nodes of each snapshot are those that have an edge in it. This
        makes node presence public. It is what the paper does.
    nodes_are_public
        Instead of a roster, for graphs of networkx, igraph, SciPy or PyTorch Geometric: their
        nodes are a public list that does not depend on their edges.
    times
        The timestamps of a table ``t, u, v``, or of a list of graphs, declared: ``"0..11"``, the
        path of a file with one time per row, or times in order. A row of another timestamp is
        refused; a timestamp without a row is an empty snapshot. Without it, the first and the
        last timestamp of a table (of dates and labels: all) are read off the edges.
    time_label
        The column of a table ``t, u, v`` whose values are public and name the times instead of
        ``t``. It has to be equal in all rows of a timestamp.
    every
        Cut an event table into periods of this length: an integer and ``s``, ``min``, ``h``,
        ``d``, ``w`` (from Monday), ``mo`` (from the 1st) or ``y``, in `timezone`. A period
        without an event is an empty snapshot.
    start, until
        With `every`: the declared ends of the stream, from `start` up to but not including
        `until` (which can be ``"now"``). An event outside is refused. Without them, the first
        and the last period are read off the edges. A period is published when it is over: it
        ends before `until` and before now. Without `until` the period of the last event is
        held back.
    cumulative
        With `every`: let each snapshot keep the edges of all periods before it.
    columns
        Which column is which, where names are not the usual ones: ``"u=caller,v=callee"`` or
        ``{"u": "caller", "v": "callee", "time": "start"}``. Numbers count columns from 1.
    ids
        ``"text"``, ``"integer"``, or ``"auto"``.
    timezone
        With `every`: the IANA name of the zone of times that have none, and of the calendar by
        which days, weeks, months and years are cut; UTC unless given.
    bad_rows
        Rows that can't be read, or lie outside declared times: ``"refuse"`` the input and report
        them all, or ``"skip"`` them.
    bad_rows_to, unknown_nodes_to
        For the curator only: files that list the bad rows, and the ids that are not on the
        roster.
    gaps
        A timestamp of a table without a row is an ``"empty"`` snapshot, or ``"refuse"`` it.
    close_last
        With `every`: publish the last period although it is not over.
    store
        Where the edges of snapshots are written while they are read; see `psgraph.prepare`. They
        stay in memory unless given. The source is then read once.

    Returns
    -------
    Stream
        To iterate over, repeatedly if it comes from files.

    Raises
    ------
    RosterError
        The nodes were not declared, or the roster is broken.
    DataError
        The input is missing, damaged or otherwise unusable; later parts of it are
        read only while iterating. No message holds an id.
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
    period = Period.parse(every, timezone) if every is not None else None
    declared = read_times(times) if times is not None else None
    _refuse_without_period(period, cumulative, start, until, timezone, close_last)
    reading = Reading.choose(columns, bad_rows, bad_rows_to, gaps)
    tables_only = [
        name for name, given in (("times", times), ("time_label", time_label)) if given is not None
    ]
    if period is not None and tables_only:
        raise InvalidArgument(
            f"{tables_only[0]} is for a table with a column t; every names the periods itself\n"
            "Leave it out. start and until (--from, --until) declare the ends."
        )
    if isinstance(roster, str | PathLike):
        roster = read_roster(roster, column=roster_column, header=roster_header, ids=ids)
    elif roster_column is not None or roster_header is not None:
        raise InvalidArgument(
            "roster_column and roster_header are for the path of a roster file\nLeave them out."
        )
    nodes = Nodes.choose(
        roster,
        roster_from_edges,
        nodes_are_public,
        ids=ids,
        unknown_to=unknown_nodes_to,
        store=None if cumulative else store,
    )

    def cut(table: TableFile) -> Stream:
        if period is None:
            return table_stream(
                table, nodes, times=declared, time_label=time_label, reading=reading
            )
        span = Span.parse(start, until, every=period, close_last=close_last)
        return event_stream(
            table,
            nodes,
            span=span,
            cumulative=cumulative,
            reading=reading,
            once=store is not None,
        )

    given_for_rows = [
        name
        for name, given in (
            ("columns", columns),
            ("bad_rows_to", bad_rows_to),
            ("unknown_nodes_to", unknown_nodes_to),
            ("gaps", gaps),
            ("ids", None if ids == "auto" else ids),
            ("bad_rows", None if bad_rows == "refuse" else bad_rows),
        )
        if given is not None
    ]
    if is_frame(source):
        nodes.require(of="a table")
        return cut(FrameTable(source))
    if not isinstance(source, str | PathLike):
        unusable = [*(["time_label"] if time_label is not None else []), *given_for_rows]
        _refuse_options(["every"] if period is not None else unusable, "a list of graphs")
        return iterable_stream(source, nodes, times=declared)
    place = as_place(source)
    if isinstance(place, Address) or is_store(place):
        _refuse_options([*given_for_rows, *(["every"] if period else tables_only)], "a store")
        return store_stream(place, nodes)
    refuse_unfinished(Path(source))
    nodes.require()
    if source == STANDARD_INPUT:
        saved = save_standard_input()
        return cut(open_table(saved, columns=reading.columns, name="standard input"))
    path = Path(source)
    try:
        exists, directory = path.exists(), path.is_dir()
    except (OSError, ValueError):
        raise DataError("the path of the input can't be used\nCheck it.") from None
    if directory or (not exists and any(mark in str(source) for mark in "*?[")):
        _refuse_options(["every"] if period is not None else tables_only, "one file per timestamp")
        if directory:
            return directory_stream(path, nodes, reading)
        return glob_stream(str(source), nodes, reading)
    return cut(open_table(path, columns=reading.columns))


def _refuse_without_period(
    period: Period | None,
    cumulative: bool,
    start: Time | None,
    until: Time | None,
    timezone: str | None,
    close_last: bool,
) -> None:
    if period is None and cumulative:
        raise InvalidArgument(
            "cumulative adds up the periods of an event table\nGive every (--every 1d) as well."
        )
    if period is None and (start is not None or until is not None):
        raise InvalidArgument(
            "start and until (--from, --until) are the ends of a stream cut into periods\n"
            "Give every (--every 1d) as well, or declare the timestamps with times (--times)."
        )
    if period is None and (timezone is not None or close_last):
        name = "close_last (--close-last)" if close_last else "timezone (--timezone)"
        raise InvalidArgument(
            f"{name} is for a table of events that is cut into periods\n"
            "Give every (--every 1d) as well."
        )


def _refuse_options(given: list[str], source: str) -> None:
    if given:
        raise InvalidArgument(f"{given[0]} can't be used with {source}\nLeave it out.")
