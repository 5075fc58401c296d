"""Streams: snapshots out of files, directories, event tables and Python objects."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph.formats.files import open_table
from psgraph.streams.directories import directory_stream, glob_stream
from psgraph.streams.events import event_stream
from psgraph.streams.iterables import iterable_stream
from psgraph.streams.nodes import Nodes, RosterLike
from psgraph.streams.periods import Period
from psgraph.streams.stream import Stream
from psgraph.streams.tables import table_stream

__all__ = ["Stream", "read_stream"]


def read_stream(
    source: str | PathLike[str] | Iterable[Any],
    *,
    roster: RosterLike | None = None,
    roster_from_edges: bool = False,
    every: str | None = None,
    cumulative: bool = False,
) -> Stream:
    """Read a stream of snapshots, one at a time: memory does not grow with its length.

    Parameters
    ----------
    source
        One of

        * a Parquet, CSV, TSV or TXT file (gzipped too) with columns ``t, u, v``, sorted by
          ``t``: integers, dates or labels. Gaps between integers mean nothing. A column
          ``label`` names the times, other columns are ignored;
        * a directory, or a pattern such as ``"days/*.txt"``, with one file per timestamp in the
          order of their names (numbers in names by value). Text files need no header: the first
          two columns are the ends. The name without its ending is the time;
        * an event table with columns ``u, v, time``, sorted by time, together with `every`;
        * an iterable of snapshots, networkx graphs, lists of edges, pairs of arrays, ….

        In a text file ids are integers if those of the first row are, otherwise text.
    roster
        The public nodes: a `Roster`, a `TimedRoster`, the path of a file (`read_roster`), or
        ids. A graph of networkx, igraph or SciPy lists its nodes itself.
    roster_from_edges
        Instead of a roster: the nodes of each snapshot are those that have an edge in it. This
        makes node presence public. It is what the paper does.
    every
        Cut an event table into periods of this length: a whole number and ``s``, ``min``, ``h``,
        ``d``, ``w`` (from Monday), ``mo`` (from the 1st) or ``y``, in UTC. Silent periods give
        snapshots without edges.
    cumulative
        With `every`: let each snapshot keep the edges of all periods before it.

    Returns
    -------
    Stream
        To iterate over, again and again if it comes from files.

    Raises
    ------
    RosterError
        Neither roster nor roster_from_edges was given, or the roster is broken.
    DataError
        The input is missing, damaged, unsorted or otherwise unusable; later parts of it are
        looked at only while iterating. No message holds an id.
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
    period = Period.parse(every) if every is not None else None
    if cumulative and period is None:
        raise InvalidArgument(
            "cumulative adds up the periods of an event table\nGive every (--every 1d) as well."
        )
    nodes = Nodes.choose(roster, roster_from_edges)
    if not isinstance(source, str | PathLike):
        if period is not None:
            raise InvalidArgument("every cuts the event table in a file\nLeave it out.")
        return iterable_stream(source, nodes)
    nodes.require()
    path = Path(source)
    try:
        exists, directory = path.exists(), path.is_dir()
    except (OSError, ValueError):
        raise DataError("the path of the input can't be used\nCheck it.") from None
    if directory or (not exists and any(mark in str(source) for mark in "*?[")):
        if period is not None:
            raise InvalidArgument(
                "every cuts one event table; here each file is a timestamp already\nLeave it out."
            )
        return directory_stream(path, nodes) if directory else glob_stream(str(source), nodes)
    table = open_table(path)
    if period is None:
        return table_stream(table, nodes)
    return event_stream(table, nodes, every=period, cumulative=cumulative)
