"""Rosters that change publicly over time, and rosters from files."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from psgraph.errors import DataError, RosterError
from psgraph.graph import Roster, TwoSidedRoster
from psgraph.graph.formats.columns import HEADER_WORDS
from psgraph.graph.formats.files import TableFile, open_table
from psgraph.graph.formats.text import TextFile
from psgraph.graph.labels import LabelsLike, NodeLabels, label_names, stay_labels
from psgraph.graph.roster import Ids, as_ids
from psgraph.streams.times import Time, as_integer, instant

__all__ = ["TimedRoster", "TimedSides", "read_roster"]

_BOUNDS = ("from", "until")

_ID_NAMES = ("id", "node")

# Words that head columns of ids more often than they are ids.
_WORDS = """account accounts address asn author client code contact customer customers device
domain e-mail email employee employees entity firstname handle host hostname ids imei imsi ip key
lastname login mail member members mobile msisdn name names nickname nodeid nodes number patient
people person persons phone phones router staff student subscriber surname tel telephone uid url
user userid username users vertex vertices"""
_TITLES = HEADER_WORDS.union(_WORDS.split())
_TITLE_ENDING = re.compile(r"[ _.-](ids?|names?|number|key|code)$|[a-z](Id|ID|Name)$")

_ALWAYS, _NEVER = -(2**63), 2**63 - 1  # stand for an open start and an open end


class TimedRoster:
    """A roster that changes publicly over time: a list of stays.

    Parameters
    ----------
    ids
        Node ids, integers or strings. A node may come back for another stay.
    starts, ends
        A stay lasts from its start up to its end (exclusive); None leaves that side open.
        Integers, or ISO dates and datetimes (without a zone: UTC).
    labels
        Public facts about the nodes during each stay: a data frame or a mapping of columns, with
        a row for each stay. A node that changes its label has two stays. They must not be computed
        from the edges; see `psgraph.graph.labels`.

    Examples
    --------
    >>> staff = TimedRoster(["ann", "bob"], [None, "2004-03-01"], ["2005-01-01", None])
    >>> staff.at("2004-02-29"), staff.at("2004-03-01")
    (Roster(1 node), Roster(2 nodes))
    >>> staff.at("2004-03-01") is staff.at("2004-12-31")
    True
    """

    def __init__(
        self,
        ids: ArrayLike,
        starts: Sequence[Time | None],
        ends: Sequence[Time | None],
        *,
        labels: LabelsLike | None = None,
    ) -> None:
        try:
            array = as_ids(ids)
        except DataError as error:
            raise RosterError(f"roster: {error}") from None
        if not array.size == len(starts) == len(ends):
            raise RosterError("roster: every id needs a start and an end (None leaves it open)")
        order = np.argsort(array, kind="stable")
        self._ids = array[order]
        self._labels: NodeLabels | None = None
        if labels is not None:
            self._labels = stay_labels(labels, order)
        self._bounds = [starts[i] for i in order], [ends[i] for i in order]
        given = [time for side in self._bounds for time in side if time is not None]
        self._bounded = bool(given)
        self._integers = all(as_integer(time) is not None for time in given)
        self._scales: dict[bool, _Stays] = {}
        self._scale(integers=self._integers)
        self._last: tuple[_Stays, int, Roster] | None = None

    def __repr__(self) -> str:
        return f"TimedRoster({self._ids.size} stays)"

    @property
    def everyone(self) -> Roster:
        """All nodes that are listed at any time."""
        first = np.ones(self._ids.size, dtype=bool)
        first[1:] = self._ids[1:] != self._ids[:-1]
        return Roster(self._ids[first])

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The names of the label columns."""
        return () if self._labels is None else self._labels.columns

    def at(self, time: Time | None) -> Roster:
        """Return the roster at a time; the same object while nobody joins or leaves.

        Parameters
        ----------
        time
            Compared as an integer if the bounds of all stays are integers and this is one,
            otherwise as an ISO date or datetime (``2004-01`` is the start of that month).
        """
        number = as_integer(time) if self._integers and time is not None else None
        moment = number
        if not self._bounded:
            moment = 0
        elif moment is None and time is not None:
            moment = instant(time)
        if moment is None:
            raise _incomparable()
        stays = self._scale(integers=number is not None or not self._bounded)
        segment = bisect_right(stays.changes, moment)
        if self._last is None or self._last[0] is not stays or self._last[1] != segment:
            present = (stays.starts <= moment) & (moment < stays.ends)
            labels = None if self._labels is None else self._labels.take(present)
            self._last = stays, segment, Roster(self._ids[present], labels=labels)
        return self._last[2]

    def _scale(self, *, integers: bool) -> _Stays:
        if integers not in self._scales:
            starts = _numbers(self._bounds[0], integers, _ALWAYS)
            self._scales[integers] = _Stays(
                self._ids, starts, _numbers(self._bounds[1], integers, _NEVER), self._labels
            )
        return self._scales[integers]


class TimedSides(TimedRoster):
    """The two sides of a two-sided graph, of which at least one changes publicly over time.

    >>> staff = TimedRoster(["ann", "bob"], [None, "2004-03-01"], [None, None])
    >>> TimedSides(staff, Roster([7, 8])).at("2004-02-29")
    TwoSidedRoster(1 + 2 nodes)
    """

    def __init__(self, left: Roster | TimedRoster, right: Roster | TimedRoster) -> None:
        self._sides = left, right
        self._now: TwoSidedRoster | None = None

    def __repr__(self) -> str:
        return f"TimedSides({self._sides[0]!r}, {self._sides[1]!r})"

    @property
    def everyone(self) -> Roster:
        return TwoSidedRoster(
            *(each.everyone if isinstance(each, TimedRoster) else each for each in self._sides)
        )

    def at(self, time: Time | None) -> Roster:
        left, right = (
            each.at(time) if isinstance(each, TimedRoster) else each for each in self._sides
        )
        if self._now is None or self._now.left is not left or self._now.right is not right:
            self._now = TwoSidedRoster(left, right)
        return self._now


def _incomparable() -> RosterError:
    return RosterError(
        "the times of the snapshots can't be compared with the roster's `from` and `until`\n"
        "Give both as integers, or both as ISO dates such as 2004-01-05."
    )


def _numbers(times: Sequence[Time | None], integers: bool, blank: int) -> NDArray[np.int64]:
    read = as_integer if integers else instant
    numbers = [blank if time is None else read(time) for time in times]
    if None in numbers:
        raise _incomparable()
    return np.array(numbers, dtype=np.int64)


class _Stays:
    """Validated stays on one scale, and the moments at which membership or a label changes."""

    def __init__(
        self,
        ids: Ids,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        labels: NodeLabels | None,
    ) -> None:
        self.starts, self.ends = starts, ends
        backward = int((starts >= ends).sum())
        if backward:
            raise RosterError(
                f"roster: {backward} of {ids.size} stays end before they start\n"
                "`from` is the first moment of a stay, `until` the first moment after it."
            )
        number = np.zeros(ids.size, dtype=np.int64)
        number[1:] = np.cumsum(ids[1:] != ids[:-1])
        order = np.lexsort((starts, number))
        number, starts, ends = number[order], starts[order], ends[order]
        again = number[1:] == number[:-1]
        repeats = int((again & (starts[1:] < ends[:-1])).sum())
        if repeats:
            raise RosterError(
                f"roster: {repeats} of {ids.size} rows list a node twice for the same "
                "time\nList every node once for any moment, with one label in a column."
            )
        # Where a stay passes into the next one of the same node, nobody joins or leaves.
        seam = again & (starts[1:] == ends[:-1])
        if labels is not None:
            codes = labels.codes[order]
            seam &= (codes[1:] == codes[:-1]).all(axis=1)
        comes, goes = np.ones(ids.size, dtype=bool), np.ones(ids.size, dtype=bool)
        comes[1:], goes[:-1] = ~seam, ~seam
        moments = {*starts[comes].tolist(), *ends[goes].tolist()} - {_ALWAYS, _NEVER}
        self.changes = sorted(moments)


def read_roster(
    path: str | PathLike[str],
    *,
    column: str | None = None,
    header: bool | None = None,
    ids: str = "auto",
    labels: str | Iterable[str] | None = None,
) -> Roster | TimedRoster:
    """Read a roster from a CSV, TSV, TXT (gzipped too) or Parquet file.

    One node a row. Columns ``from`` and ``until`` make it a roster that changes over time: from
    inclusive, until exclusive, blank for open. If every id of a text file is an integer the ids
    are integers, otherwise they are text.

    Parameters
    ----------
    path
        The file. The ids are in the column ``id`` or ``node``, or in the only column beside
        ``from`` and ``until``. A text file with a single column needs no header. Its first line
        is a header if it is ``id`` or ``node``; if it looks like another header (``phone``, or a
        word above numbers), the file is refused until `column` or `header` says what it is.
    column
        The name of the column of ids. A text file then has a header.
    header
        False if the first line of a text file with a single column is a node.
    ids
        ``"text"`` or ``"integer"`` to say which they are.
    labels
        The columns with public labels of the nodes, such as ``"department,site"``. They are
        published as they are, and must not be computed from the edges.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nodes.csv"
    >>> _ = file.write_text("id,from,until\\nann,,2005-01-01\\nbob,2004-03-01,\\n")
    >>> read_roster(file).at("2004-06-01")
    Roster(2 nodes)
    """
    try:
        names = label_names(labels)
        return _read(open_table(Path(path), blanks=False), column, header, ids, names)
    except RosterError:
        raise
    except DataError as error:
        raise RosterError(f"roster: {error}") from None


_INTEGER = "^-?(0|[1-9][0-9]*)$"


_LABEL = "label "  # begins the name under which a label column is read


def _read(
    table: TableFile,
    column: str | None,
    header: bool | None,
    id_type: str,
    labels: tuple[str, ...],
) -> Roster | TimedRoster:
    indices = _id_columns(table, column, header, labels)
    for name in labels:
        indices[_LABEL + name] = _index_of(name, table)
    columns = {
        name: (index, table.type_of(index) if table.typed else pa.string())
        for name, index in indices.items()
    }
    optional = (*_BOUNDS, *(_LABEL + name for name in labels))
    batches = list(table.batches(columns, optional=optional))
    if not any(len(batch.columns["id"]) for batch in batches):
        raise RosterError(f"roster: {table.name} lists no node\nGive at least one.")
    ids = pa.chunked_array([batch.columns["id"] for batch in batches])
    if not table.typed:
        if table.names is None and header is None:
            _refuse_header(ids, table.name)
        if id_type != "text":
            ids = _as_integers(ids)
    elif id_type == "text" and pa.types.is_integer(ids.type):
        ids = ids.cast(pa.string())
    others = {
        name: pa.chunked_array([batch.columns[name] for batch in batches])
        for name in indices
        if name != "id"
    }
    named = {name: others.pop(_LABEL + name) for name in labels} or None
    if not others:
        return Roster(ids, labels=named)
    sides = [_times(others[name]) if name in others else [None] * len(ids) for name in _BOUNDS]
    return TimedRoster(ids, *sides, labels=named)


def _as_integers(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert ids to integers if all are."""
    if not pc.all(pc.match_substring_regex(ids, _INTEGER)).as_py():
        return ids
    try:
        return ids.cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 64 bits: names that look like numbers
        return ids


def _times(column: pa.ChunkedArray) -> list[Any]:
    try:
        if pa.types.is_floating(column.type):  # what pandas makes of integers with blanks
            column = column.cast(pa.int64())
        elif pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz))
        times: list[Any] = column.to_pylist()
    except pa.ArrowInvalid:
        times = [column]
    if not all(isinstance(time, Time | None) for time in times):
        raise RosterError("roster: `from` and `until` must be integers or ISO dates")
    return times


def _id_columns(
    table: TableFile, column: str | None, header: bool | None, labels: tuple[str, ...]
) -> dict[str, int]:
    """Return the indices of the ids, and of `from` and `until` if they are there."""
    if table.empty and table.names is None:
        raise RosterError(f"roster: {table.name} is empty: it lists no node\nGive at least one.")
    if isinstance(table, TextFile):
        if column is not None or labels:
            table.take_first_line_as_names()
        elif header is False or (table.width == 1 and not _documented(table)):
            table.take_first_line_as_row()
    if table.names is None:
        if table.width > 1:
            raise RosterError(
                f"roster: {table.name} has {table.width} columns, none of them called id or node: "
                f"{_listing(table)}\nName the column of ids (--roster-column NAME, "
                "roster_column=…), or start the file with a line such as: id,from,until"
            )
        return {"id": 0}
    names = [name.lower() for name in table.names]
    bounds = {name: names.index(name) for name in _BOUNDS if name in names}
    if column is not None:
        return {"id": _index_of(column, table), **bounds}
    taken = {*bounds.values(), *(_index_of(name, table) for name in labels)}
    others = [index for index in range(len(names)) if index not in taken]
    marked = [index for index in others if names[index] in _ID_NAMES]
    if len(marked) != 1 and len(others) != 1:
        raise RosterError(
            f"roster: expected one column 'id' or 'node', found {_listing(table)}\n"
            "Name the column of ids: --roster-column NAME, roster_column=…."
        )
    return {"id": (marked if len(marked) == 1 else others)[0], **bounds}


def _documented(table: TableFile) -> bool:
    """Whether the only column of a text file has one of the documented names."""
    return table.names is not None and table.names[0].lower() in _ID_NAMES


def _index_of(column: str, table: TableFile) -> int:
    """Return the index of a named column; case matters only where it makes a difference."""
    names = table.names or []
    for wanted, found in ((column, names), (column.lower(), [name.lower() for name in names])):
        if found.count(wanted) == 1:
            return found.index(wanted)
        if wanted in found:
            raise RosterError(
                f"roster: {table.name} has several columns {column!r}\nGive them different names."
            )
    raise RosterError(
        f"roster: {table.name} has {table.width} columns, none of them called {column!r}: "
        f"{_listing(table)}\n"
        "Give a name that is in its first line."
    )


def _listing(table: TableFile) -> str:
    """The names of the columns, for a message; words that may be ids are counted."""
    return table.listed(_TITLES) if isinstance(table, TextFile) else table.listing


def _refuse_header(ids: pa.ChunkedArray, name: str) -> None:
    """Refuse a single column whose first line may be a header: a known word, or one above numbers.

    Parameters
    ----------
    ids
        The lines, as text.
    """
    first = ids[0].as_py()
    known = first.lower() in _TITLES
    if known or _TITLE_ENDING.search(first) or _differs(first, ids[1:]):
        column = first if known else "NAME"  # an id is never quoted
        raise RosterError(
            f"roster: the first line of {name} looks like the name of a column, not like a node\n"
            f"If it is a name, say --roster-column {column} (roster_column=…). If it is a node, "
            "say --roster-no-header (roster_header=False)."
        )


def _differs(first: str, others: pa.ChunkedArray) -> bool:
    """Whether a first line is letters and all others have a digit or an @: numbers, mail, codes."""
    if not len(others) or not re.search(r"[^\W\d_]", first) or re.search(r"[\d@]", first):
        return False
    return bool(pc.all(pc.match_substring_regex(others, "[0-9@]")).as_py())
