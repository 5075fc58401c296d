"""Roster: the public set of nodes, and how it was obtained, as declared by the publisher.

======== ==================================================================================
given    a roster from outside, listed independently of the edges
nodes    the nodes of a graph object (networkx, igraph, SciPy), declared public
edges    the nodes that have an edge: node presence becomes public
======== ==================================================================================

Software can't tell whether a list of nodes was made without looking at the edges. It can make the
publisher say so, and repeat that statement, as the publisher's, in every certificate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psgraph._runtime.arrays import Frozen, Positions
from psgraph.errors import DataError, InvalidArgument, OutsideRoster, RosterError
from psgraph.graph.labels import LabelsLike, NodeLabels, read_labels

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "DECLARATIONS",
    "ID_TYPES",
    "Declared",
    "DeclaredNodes",
    "IdType",
    "Ids",
    "Roster",
    "RosterOrIds",
    "as_ids",
    "as_roster",
    "declare",
    "distinct_ids",
    "is_dense",
]

# ---- ids: int64, or an object array of `str`; everything that enters passes through `as_ids` ----

_SMALL = 1 << 18  # integers; clearing that many takes less than hashing a thousand ids

Ids = NDArray[Any]

IdType = Literal["auto", "integer", "text"]
ID_TYPES: tuple[IdType, ...] = ("auto", "integer", "text")


def as_ids(ids: ArrayLike) -> Ids:
    """Convert ids to int64, or to an object array of `str`; refuse mixtures and missing values."""
    if isinstance(ids, np.ndarray):
        array = ids
    elif type(ids).__module__.startswith("pyarrow."):
        from psgraph.graph.formats.columns import as_numpy

        array = as_numpy(ids)
    elif hasattr(ids, "__array__"):  # a column of pandas or polars
        array = np.asarray(ids)
    else:
        try:
            array = np.asarray(list(ids), dtype=object)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise DataError("node ids must be a flat sequence") from None
    if array.ndim != 1:
        raise DataError("node ids must be a flat sequence")
    if array.size == 0:
        return np.empty(0, dtype=np.int64) if array.dtype == object else _empty_like(array)
    if array.dtype.kind in "iu":
        if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.max() > 2**63 - 1:
            raise DataError("integer node ids must fit in 64 signed bits")
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise DataError("node ids have missing values (NaN)\nDrop or repair those rows.")
        if (np.abs(array) > 2**53).any():  # beyond it neighbouring integers are one float
            raise DataError("node ids are floats too large to be exact\nStore them as integers.")
        whole = array.astype(np.int64)
        if not (whole == array).all():
            raise DataError("node ids must be integers or strings, not fractions")
        return whole
    if array.dtype.kind in "UT":
        return array.astype(object)
    if array.dtype.kind != "O":
        raise DataError(f"node ids must be integers or strings, not {array.dtype.type.__name__}")
    kinds = {type(item) for item in array}
    if all(issubclass(kind, str) for kind in kinds):
        return array
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        try:
            return array.astype(np.int64)
        except OverflowError:
            raise DataError("integer node ids must fit in 64 signed bits") from None
    if any(_missing(item) for item in array):
        raise DataError("node ids have missing values\nDrop or repair those rows.")
    raise DataError("node ids mix types\nUse integers throughout or strings throughout.")


def _missing(item: object) -> bool:
    """Whether an item is None, NaN, or the missing value of pandas."""
    if isinstance(item, float | np.floating):
        return bool(item != item)
    return item is None or type(item).__name__ in ("NAType", "NaTType")


def distinct_ids(a: Ids, b: Ids) -> Ids:
    """Return the ids that occur in either array, sorted. O(m) if integers lie close together."""
    if a.dtype == object:
        return np.array(sorted({*a.tolist(), *b.tolist()}), dtype=object)
    if not a.size:
        return a
    low, high = int(min(a.min(), b.min())), int(max(a.max(), b.max()))
    if is_dense(low, high, count=a.size):
        seen = np.zeros(high - low + 1, dtype=bool)
        seen[a - low] = True
        seen[b - low] = True
        return np.flatnonzero(seen) + low
    merged = np.sort(np.concatenate([a, b]))  # np.unique hashes, which is many times slower
    return merged[np.append(True, merged[1:] != merged[:-1])]


def is_dense(low: int, high: int, *, count: int) -> bool:
    """Whether an array over all integers from `low` to `high` is small, or small beside `count`.

    >>> is_dense(0, 65_535, count=1), is_dense(0, 10**9, count=1000)
    (True, False)
    """
    return high - low < max(8 * count, _SMALL)


def _empty_like(array: Ids) -> Ids:
    return np.empty(0, dtype=np.int64 if array.dtype.kind in "iuf" else object)


# ---- the roster ----

Declared = Literal["given", "nodes", "edges"]
DECLARATIONS: tuple[Declared, ...] = ("given", "nodes", "edges")

_STATEMENTS: dict[Declared, str] = {
    "given": "The roster was given from outside, as declared by the publisher.",
    "nodes": (
        "The roster is the node list of a graph object, public and independent of the edges as "
        "declared by the publisher."
    ),
    "edges": (
        "The roster was read off the edges, as declared by the publisher: which nodes have an "
        "edge at each timestamp is public and not protected."
    ),
}


_WORDS: dict[Declared, str] = {
    "given": "a roster given from outside",
    "edges": "rosters taken from the edges",
    "nodes": "the nodes of its graphs, declared public",
}


@dataclass(frozen=True)
class DeclaredNodes:
    """What a publisher declared about the nodes of a stream: it can't change.

    >>> str(DeclaredNodes("given", ("site",)))
    'a roster given from outside with labels (site)'
    """

    declared: Declared
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        labels = f" with labels ({', '.join(self.labels)})" if self.labels else ""
        return f"{_WORDS[self.declared]}{labels}"


class Roster(Frozen):
    """The public set of nodes, in a fixed order.

    Parameters
    ----------
    ids
        Distinct integers or distinct strings. They are kept sorted, so that two rosters of the
        same nodes are equal whatever order they came in.
    declared
        How the ids were obtained: ``"given"`` from outside, as the ``"nodes"`` of a graph object,
        or from the ``"edges"``, which makes node presence public.
    labels
        Public facts about the nodes, such as a department: a data frame or a mapping of columns,
        with a column ``id``, or with rows in the order of `ids`. See `psgraph.graph.labels`. They
        are published as they are, and must not be computed from the edges.

    Examples
    --------
    >>> roster = Roster(["carol", "alice", "bob"])
    >>> roster
    Roster(3 nodes)
    >>> roster.positions(["bob", "nobody"])
    array([ 1, -1], dtype=int32)
    """

    __slots__ = ("__dict__", "declared", "ids", "labels")

    _fields: tuple[str, ...] = ("ids", "declared", "labels")

    ids: Ids
    declared: Declared
    labels: NodeLabels | None

    def __init__(
        self,
        ids: ArrayLike,
        *,
        declared: Declared = "given",
        labels: LabelsLike | None = None,
    ) -> None:
        if declared not in DECLARATIONS:
            raise InvalidArgument(
                f"declared={declared!r} is not a way to obtain a roster\n"
                f"Give one of: {', '.join(DECLARATIONS)}."
            )
        try:
            array = as_ids(ids)
        except DataError as error:
            raise RosterError(f"roster: {error}") from None
        if array.size >= 2**31 - 1:
            raise RosterError("a roster can hold at most 2,147,483,646 nodes")
        given = array
        if array.size > 1 and not (array[1:] > array[:-1]).all():
            array = np.sort(array)
            repeats = int((array[1:] == array[:-1]).sum())
            if repeats:
                remedy = "List every node once."
                if labels is not None:
                    remedy += " If its label changes: a row for each, with `from` and `until`."
                raise RosterError(f"roster: {repeats} of {array.size} ids are repeated\n{remedy}")
        if array.dtype == object and not _plain_text(array):
            raise RosterError("roster: an id is not plain Unicode text\nRemove such characters.")
        if hasattr(ids, "__array__"):  # it may be the caller's own memory
            array = array.copy()
        self._fill(ids=array, declared=declared, labels=None)
        if labels is not None:
            self._fill(labels=self._labels_of(labels, given))

    def _labels_of(self, labels: LabelsLike, given: Ids) -> NodeLabels:
        """Read labels of ids in the order in which they were given."""
        if self.from_edges:
            raise RosterError(
                "a roster that is taken from the edges can't have labels\n"
                "Give the public list of nodes with their labels instead.",
                code="labels_without_list",
            )
        return read_labels(labels, self.positions(given), find=self.positions)

    @classmethod
    def range(cls, nodes: int) -> Self:
        """Return the roster 0, 1, …, nodes − 1."""
        return cls(np.arange(nodes, dtype=np.int64))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        return f"Roster({len(self)} node{'' if len(self) == 1 else 's'})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Roster):
            return NotImplemented
        return self is other or (
            self.declared == other.declared
            and self.ids.dtype == other.ids.dtype
            and np.array_equal(self.ids, other.ids)
            and self.labels == other.labels
        )

    def __hash__(self) -> int:
        return hash((len(self), self.declared))

    @property
    def sides(self) -> tuple[Roster, Roster]:
        """The nodes that first ends come from, and those that second ends come from."""
        return self, self

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each roster: what the methods of a `Kind` take."""
        return (len(self),)

    @property
    def offset(self) -> int:
        """The position of the first node of the second side: 0 if both sides are alike."""
        return 0

    @property
    def from_edges(self) -> bool:
        """Whether the roster was taken from the edges."""
        return self.declared == "edges"

    @property
    def strings(self) -> bool:
        """Whether the ids are strings (otherwise they are integers)."""
        return self.ids.dtype == object

    def expect(self, *, strings: bool) -> None:
        """Reject ids of the wrong type: none of them would match the roster."""
        if len(self) and strings != self.strings:
            edges, nodes = ("text", "integers") if strings else ("integers", "text")
            raise DataError(
                f"the ids of the edges are {edges} and those of the roster are {nodes}\n"
                "Bring both to one type: integers throughout or strings throughout."
            )

    _where_ends_belong: ClassVar[str] = ""  # a sentence for a message

    def refuse_outside(self, a: NDArray[Any], b: NDArray[Any], *, time: str | None) -> None:
        """Refuse edges of which an end is not a position in the roster."""
        n = len(self)
        if a.size and (a.min() < 0 or b.min() < 0 or a.max() >= n or b.max() >= n):
            where = "" if time is None else f"the snapshot at {time!r}: "
            raise OutsideRoster(
                f"{where}an edge has an end outside the roster\n"
                f"The snapshot is refused. {self._where_ends_belong}A roster may grow: add the "
                "missing nodes with the time they joined in a column `from`, or append them to a "
                "plain list, where they count from the next timestamp on. Or leave such edges out "
                "of the input. For tables and files unknown_nodes='drop' (--unknown-nodes drop) "
                "does that, and unknown_nodes_to=FILE (--unknown-nodes-to FILE) lists the ids."
            )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the ids, of how they were obtained, and of the labels if there are any."""
        mark = f"{self.declared}\0".encode()
        body = "\0".join(self.ids).encode() if self.strings else self.ids.tobytes()
        if self.labels is not None:
            mark = b"labels\0" + self.labels.digest + mark
        return hashlib.sha256(mark + (b"s" if self.strings else b"i") + body).hexdigest()

    @property
    def statement(self) -> str:
        """What the publisher declared about the nodes, in a sentence or two."""
        said = _STATEMENTS[self.declared]
        return said if self.labels is None else f"{said} {self.labels.statement}"

    @property
    def declaration(self) -> DeclaredNodes:
        """What the publisher declared about the nodes, and can't change later."""
        return DeclaredNodes(self.declared, self.label_columns)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The names of the label columns."""
        return () if self.labels is None else self.labels.columns

    @cached_property
    def arrow_ids(self) -> pyarrow.Array:
        """The ids as an Arrow array, in roster order."""
        import pyarrow as pa

        from psgraph.graph.formats.columns import as_arrow

        return pa.array(self.ids, type=pa.large_string()) if self.strings else as_arrow(self.ids)

    def ends(self, heads: ArrayLike, tails: ArrayLike) -> tuple[Positions, Positions]:
        """Return the positions of the ids of first and of second ends, −1 where one is unknown."""
        return self.positions(heads), self.positions(tails)

    def end_ids(self, u: Positions, v: Positions) -> tuple[Ids, Ids]:
        """Return the ids of first and of second ends at these positions; undoes `ends`."""
        return self.ids[u], self.ids[v]

    def positions_of(self, other: Roster) -> Positions:
        """Return where each node of another roster is in this one, −1 where it is not.

        >>> Roster([2, 5, 7]).positions_of(Roster([5, 6]))
        array([ 1, -1], dtype=int32)
        """
        return self.positions(other.ids)

    def positions(self, ids: ArrayLike) -> Positions:
        """Return the positions of ids in the roster, −1 where an id is not in it.

        *Complexity*: O(len(ids)).
        """
        array = as_ids(ids)
        if not array.size or not len(self) or (array.dtype == object) != self.strings:
            return np.full(array.size, -1, dtype=np.int32)
        if self._table is not None:
            return self._positions_by_table(array, self._table)
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            sought = pa.array(array, type=self.arrow_ids.type)
        except UnicodeError:
            raise DataError("a node id is not plain Unicode text") from None
        found = pc.index_in(sought, value_set=self.arrow_ids)
        return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)

    @cached_property
    def _table(self) -> NDArray[np.int32] | None:
        """Position by id − smallest id, where the ids are dense enough to afford it."""
        if self.strings or not len(self):
            return None
        low, high = int(self.ids[0]), int(self.ids[-1])
        if not is_dense(low, high, count=len(self)):
            return None
        table = np.full(high - low + 1, -1, dtype=np.int32)
        table[self.ids - low] = np.arange(len(self), dtype=np.int32)
        return table

    def _positions_by_table(self, ids: Ids, table: NDArray[np.int32]) -> Positions:
        low = int(self.ids[0])
        if ids.min() >= low and ids.max() < low + table.size:
            if table.size == len(self):  # consecutive ids are positions already
                return (ids - low if low else ids).astype(np.int32)
            return table[ids - low] if low else table[ids]
        inside = (ids >= low) & (ids < low + table.size)
        found = np.full(ids.size, -1, dtype=np.int32)
        found[inside] = table[ids[inside] - low]
        return found


RosterOrIds = Roster | ArrayLike
"""A roster, or the ids to make one of."""


def as_roster(roster: RosterOrIds | None) -> Roster | None:
    """Make a roster of a list or array of ids; keep a roster and None as they are.

    >>> as_roster([3, 1, 2]), as_roster(None)
    (Roster(3 nodes), None)
    """
    if roster is None or isinstance(roster, Roster):
        return roster
    if isinstance(roster, str | bytes | PathLike):
        raise InvalidArgument(
            "a roster is a list of node ids, not one text\n"
            "Read it from a file first: roster=psgraph.read_roster(path)."
        )
    if hasattr(roster, "columns") or not isinstance(roster, Iterable):
        raise InvalidArgument(
            f"a roster is a list of node ids, not one {type(roster).__name__}\n"
            "Give a list or a column of ids, such as roster=[1, 2, 3] or roster=frame['id']."
        )
    return Roster(roster)


def _plain_text(ids: Ids) -> bool:
    """Whether ids can be written as UTF-8 and told apart when joined by NUL (see `digest`)."""
    try:
        return b"\0" not in "".join(ids).encode()
    except UnicodeEncodeError:
        return False


def declare(
    roster: object | None,
    *,
    roster_from_edges: bool = False,
    nodes_are_public: bool = False,
) -> Declared:
    """Return which declaration was made; refuse none, and more than one.

    Raises
    ------
    RosterError
        No declaration was made.
    InvalidArgument
        Declarations contradict each other.

    Examples
    --------
    >>> declare([1, 2, 3]), declare(None, roster_from_edges=True)
    ('given', 'edges')
    """
    made = (roster is not None, bool(nodes_are_public), bool(roster_from_edges))
    if sum(made) > 1:
        names = ("a roster", "nodes_are_public", "roster_from_edges")
        given = [name for name, each in zip(names, made, strict=True) if each]
        raise InvalidArgument(
            f"{' and '.join(given)} were both given\n"
            "Keep the roster, unless node presence is public."
        )
    if not any(made):
        raise RosterError(
            "no roster given: who the nodes are must not be guessed from private edges\n"
            "Give one of: roster=… (--roster FILE), the public list of nodes; "
            "nodes_are_public=True, if the nodes of the graph object are a public list that does "
            "not depend on its edges; roster_from_edges=True (--roster-from-edges), which makes "
            "public which nodes have an edge at each timestamp."
        )
    return DECLARATIONS[made.index(True)]
