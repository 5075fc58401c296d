"""Roster, Snapshot and SyntheticGraph: immutable graphs as sorted arrays of positions.

A graph is a roster (the public nodes) and two arrays `u < v` of *positions* in it, sorted by
``(u, v)`` without repeats. Eight bytes an edge; ids are looked at only on the way in and out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psgraph.errors import DataError, OutsideRoster, RosterError
from psgraph.graph.ids import Ids, as_ids, distinct_ids

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars
    import pyarrow
    import scipy.sparse

__all__ = ["Dropped", "Graph", "Roster", "Snapshot", "SyntheticGraph"]

Positions = NDArray[np.int32]

_set = object.__setattr__  # how the frozen classes below fill themselves once


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _plain_text(ids: Ids) -> bool:
    """Whether ids can be written as UTF-8 and told apart when joined by NUL (see `digest`)."""
    try:
        return b"\0" not in "".join(ids).encode()
    except UnicodeEncodeError:
        return False


class Roster:
    """The public set of nodes, in a fixed order.

    Parameters
    ----------
    ids
        Distinct integers or distinct strings. They are kept sorted, so that two rosters of the
        same nodes are equal whatever order they came in.
    from_edges
        Says that this roster was read off the edges, which makes node presence public.

    Examples
    --------
    >>> roster = Roster(["carol", "alice", "bob"])
    >>> roster
    Roster(3 nodes)
    >>> roster.positions(["bob", "nobody"])
    array([ 1, -1], dtype=int32)
    """

    __slots__ = ("__dict__", "from_edges", "ids")

    ids: Ids
    from_edges: bool

    def __init__(self, ids: ArrayLike, *, from_edges: bool = False) -> None:
        try:
            array = as_ids(ids)
        except DataError as error:
            raise RosterError(f"roster: {error}") from None
        if array.size >= 2**31 - 1:
            raise RosterError("a roster can hold at most 2,147,483,646 nodes")
        if array.size > 1 and not (array[1:] > array[:-1]).all():
            array = np.sort(array)
            repeats = int((array[1:] == array[:-1]).sum())
            if repeats:
                raise RosterError(
                    f"roster: {repeats} of {array.size} ids are repeated\nList every node once."
                )
        if array.dtype == object and not _plain_text(array):
            raise RosterError("roster: an id is not plain Unicode text\nRemove such characters.")
        if hasattr(ids, "__array__"):  # it may be the caller's own memory
            array = array.copy()
        _set(self, "ids", _frozen(array))
        _set(self, "from_edges", from_edges)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Roster is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Roster is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (Roster, {"ids": self.ids, "from_edges": self.from_edges})

    @classmethod
    def range(cls, nodes: int) -> Self:
        """The roster 0, 1, …, nodes − 1."""
        return cls(np.arange(nodes, dtype=np.int64))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        return f"Roster({len(self)} nodes)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Roster):
            return NotImplemented
        return self is other or (
            self.from_edges == other.from_edges
            and self.ids.dtype == other.ids.dtype
            and np.array_equal(self.ids, other.ids)
        )

    def __hash__(self) -> int:
        return hash((len(self), self.from_edges))

    @property
    def strings(self) -> bool:
        """Whether the ids are strings (otherwise they are integers)."""
        return self.ids.dtype == object

    def expect(self, *, strings: bool) -> None:
        """Refuse ids of the other type, which would all count as strangers."""
        if len(self) and strings != self.strings:
            edges, nodes = ("text", "integers") if strings else ("integers", "text")
            raise DataError(
                f"the ids of the edges are {edges} and those of the roster are {nodes}\n"
                "Bring both to one type: integers throughout or strings throughout."
            )

    @property
    def pairs(self) -> int:
        """n(n−1)/2, the number of places an edge can be."""
        return len(self) * (len(self) - 1) // 2

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the ids and of how they were obtained."""
        mark = b"edges\0" if self.from_edges else b"given\0"
        body = "\0".join(self.ids).encode() if self.strings else self.ids.tobytes()
        return hashlib.sha256(mark + (b"s" if self.strings else b"i") + body).hexdigest()

    @property
    def statement(self) -> str:
        """What is public about the nodes, in one sentence."""
        if self.from_edges:
            return (
                "The roster was read off the edges: which nodes have an edge at each timestamp "
                "is public and not protected."
            )
        return "The roster was given from outside and does not depend on the edges."

    @cached_property
    def _table(self) -> NDArray[np.int32] | None:
        """Position by id − smallest id, where the ids are dense enough to afford it."""
        if self.strings or not len(self):
            return None
        low, high = int(self.ids[0]), int(self.ids[-1])
        if high - low >= 8 * len(self) + 1024:
            return None
        table = np.full(high - low + 1, -1, dtype=np.int32)
        table[self.ids - low] = np.arange(len(self), dtype=np.int32)
        return table

    @cached_property
    def arrow_ids(self) -> pyarrow.Array:
        """The ids as an Arrow array, in roster order."""
        import pyarrow as pa

        return pa.array(self.ids, type=pa.large_string() if self.strings else pa.int64())

    def positions(self, ids: ArrayLike) -> Positions:
        """Positions of ids in the roster, −1 where an id is not in it. O(len(ids))."""
        array = as_ids(ids)
        if not array.size or not len(self) or (array.dtype == object) != self.strings:
            return np.full(array.size, -1, dtype=np.int32)
        table = self._table
        if table is not None:
            low = int(self.ids[0])
            if array.min() >= low and array.max() < low + table.size:
                if table.size == len(self):  # consecutive ids are positions already
                    return (array - low if low else array).astype(np.int32)
                return table[array - low] if low else table[array]
            inside = (array >= low) & (array < low + table.size)
            found = np.full(array.size, -1, dtype=np.int32)
            found[inside] = table[array[inside] - low]
            return found
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            sought = pa.array(array, type=self.arrow_ids.type)
        except UnicodeError:
            raise DataError("a node id is not plain Unicode text") from None
        found = pc.index_in(sought, value_set=self.arrow_ids)
        return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)


@dataclass(frozen=True)
class Dropped:
    """What normalising took away. For the curator's eyes: it tells something of the input."""

    self_loops: int = 0
    duplicates: int = 0

    @property
    def total(self) -> int:
        return self.self_loops + self.duplicates

    def __add__(self, other: Dropped) -> Dropped:
        return Dropped(self.self_loops + other.self_loops, self.duplicates + other.duplicates)


def _normalised(a: Positions, b: Positions) -> tuple[Positions, Positions, Dropped]:
    """Undirected, no loops, no repeats, sorted. O(m) when already so, else a sort."""
    if (a < b).all() and _rising(a, b):
        return np.array(a, dtype=np.int32), np.array(b, dtype=np.int32), Dropped()
    apart = a != b
    loops = int(a.size - np.count_nonzero(apart))
    if loops:
        a, b = a[apart], b[apart]
    key = (np.minimum(a, b).astype(np.int64) << 32) | np.maximum(a, b)
    key.sort()
    distinct = np.ones(key.size, dtype=bool)
    np.not_equal(key[1:], key[:-1], out=distinct[1:])
    repeats = int(key.size - np.count_nonzero(distinct))
    if repeats:
        key = key[distinct]
    u = (key >> 32).astype(np.int32)
    v = (key & 0xFFFFFFFF).astype(np.int32)
    return u, v, Dropped(loops, repeats)


def _rising(a: Positions, b: Positions) -> bool:
    """Whether the pairs are in strictly rising order."""
    if (a[1:] < a[:-1]).any():
        return False
    return bool(((a[1:] != a[:-1]) | (b[1:] > b[:-1])).all())


class Graph:
    """What snapshots and synthetic graphs share: a roster and arrays `u < v` of positions.

    Parameters
    ----------
    roster
        The nodes.
    u, v
        Positions of the ends of each edge, in any order and direction; normalised here.
    time
        The public name of the timestamp.
    dropped
        What was left out of the input before this point; what is dropped here is added.
    """

    __slots__ = ("dropped", "roster", "time", "u", "v")

    roster: Roster
    u: Positions
    v: Positions
    time: str | None
    dropped: Dropped

    def __init__(
        self,
        roster: Roster,
        u: ArrayLike,
        v: ArrayLike,
        *,
        time: str | None = None,
        dropped: Dropped | None = None,
    ) -> None:
        a, b = np.asarray(u), np.asarray(v)
        if a.shape != b.shape or a.ndim != 1:
            raise DataError("u and v must be flat arrays of one length")
        if a.size and (a.dtype.kind not in "iu" or b.dtype.kind not in "iu"):
            raise DataError("u and v are positions in the roster and must be integers")
        n = len(roster)
        if a.size and (a.min() < 0 or b.min() < 0 or a.max() >= n or b.max() >= n):
            where = "" if time is None else f"the snapshot at {time!r}: "
            raise OutsideRoster(
                f"{where}an edge has an end outside the roster\n"
                "The snapshot is refused. Add the missing nodes to the roster, or leave such "
                "edges out of the input."
            )
        low, high, now = _normalised(a.astype(np.int32, copy=False), b.astype(np.int32, copy=False))
        _set(self, "roster", roster)
        _set(self, "time", time)
        _set(self, "u", _frozen(low))
        _set(self, "v", _frozen(high))
        _set(self, "dropped", now if dropped is None else dropped + now)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("roster", "u", "v", "time", "dropped")
        return _restore, (type(self), {name: getattr(self, name) for name in names})

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Sequence[Any]] | tuple[ArrayLike, ArrayLike],
        *,
        roster: Roster | None = None,
        roster_from_edges: bool = False,
        time: str | None = None,
    ) -> Self:
        """Build from pairs of ids, or from a tuple of two id arrays.

        Without a roster the nodes can only come from the edges, and that makes node presence
        public: say so with ``roster_from_edges=True``.

        >>> Snapshot.from_edges([("b", "a"), ("a", "b"), ("c", "c")], roster=Roster("abc")).dropped
        Dropped(self_loops=1, duplicates=1)
        """
        if isinstance(edges, tuple) and len(edges) == 2 and not np.isscalar(edges[0]):
            heads, tails = edges
        else:
            try:
                pairs = [(edge[0], edge[1]) for edge in edges]
            except (TypeError, IndexError, KeyError):
                raise DataError("every edge needs two ends\nGive pairs of node ids.") from None
            heads, tails = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return cls.from_ids(
            heads, tails, roster=roster, roster_from_edges=roster_from_edges, time=time
        )

    @classmethod
    def from_ids(
        cls,
        heads: ArrayLike,
        tails: ArrayLike,
        *,
        roster: Roster | None = None,
        roster_from_edges: bool = False,
        time: str | None = None,
    ) -> Self:
        """Build from two arrays of ids. The fast way in."""
        a, b = as_ids(heads), as_ids(tails)
        if a.size != b.size:
            raise DataError("the two columns of ids differ in length")
        if a.size and (a.dtype == object) != (b.dtype == object):
            raise DataError("node ids mix types\nUse integers throughout or strings throughout.")
        if roster is None:
            if not roster_from_edges:
                raise RosterError(
                    "no roster given\n"
                    "Pass roster=Roster(ids), the public list of nodes; or roster_from_edges=True, "
                    "which makes public which nodes have an edge."
                )
            apart = a != b
            loops = int(a.size - np.count_nonzero(apart))
            if loops:  # a node that only has a loop has no edge
                a, b = a[apart], b[apart]
            roster = Roster(distinct_ids(a, b), from_edges=True)
            heads, tails, dropped = roster.positions(a), roster.positions(b), Dropped(loops)
            return cls(roster, heads, tails, time=time, dropped=dropped)
        if a.size:
            roster.expect(strings=a.dtype == object)
        return cls(roster, roster.positions(a), roster.positions(b), time=time)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Graph)
        return (
            self.roster == other.roster
            and np.array_equal(self.u, other.u)
            and np.array_equal(self.v, other.v)
        )

    __hash__ = None  # type: ignore[assignment]

    # ---- ways out; one module each under psgraph.graph.formats, imported when used ----

    def to_ids(self) -> tuple[Ids, Ids]:
        """The ends of every edge as two arrays of original ids."""
        return self.roster.ids[self.u], self.roster.ids[self.v]

    def to_edges(self) -> list[tuple[Any, Any]]:
        """The edges as a list of pairs of original ids."""
        heads, tails = self.to_ids()
        return list(zip(heads.tolist(), tails.tolist(), strict=True))

    def to_networkx(self) -> networkx.Graph:
        """A `networkx.Graph` with every node of the roster."""
        from psgraph.graph.formats.networkx import to_networkx

        return to_networkx(self)

    def to_igraph(self) -> igraph.Graph:
        """An `igraph.Graph` with every node of the roster, ids in the vertex attribute ``name``."""
        from psgraph.graph.formats.igraph import to_igraph

        return to_igraph(self)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """The symmetric 0/1 adjacency matrix, rows in roster order."""
        from psgraph.graph.formats.scipy import to_scipy

        return to_scipy(self)

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with columns ``u`` and ``v`` of original ids."""
        from psgraph.graph.formats.tables import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas data frame with columns ``u`` and ``v`` of original ids."""
        from psgraph.graph.formats.tables import to_pandas

        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """A polars data frame with columns ``u`` and ``v`` of original ids."""
        from psgraph.graph.formats.tables import to_polars

        return to_polars(self)

    # ---- ways in from libraries ----

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, *, roster: Roster | None = None) -> Self:
        """From networkx; the nodes of the graph object are the roster unless one is given."""
        from psgraph.graph.formats.networkx import from_networkx

        return from_networkx(graph, kind=cls, roster=roster)

    @classmethod
    def from_igraph(cls, graph: igraph.Graph, *, roster: Roster | None = None) -> Self:
        """From igraph; ids are the vertex attribute ``name``, or vertex numbers without it."""
        from psgraph.graph.formats.igraph import from_igraph

        return from_igraph(graph, kind=cls, roster=roster)

    @classmethod
    def from_scipy(cls, matrix: Any, *, roster: Roster | None = None) -> Self:
        """From a square sparse matrix; non-zero entries are edges, direction is dropped."""
        from psgraph.graph.formats.scipy import from_scipy

        return from_scipy(matrix, kind=cls, roster=roster)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        roster: Roster | None = None,
        roster_from_edges: bool = False,
        columns: tuple[str, str] | None = None,
    ) -> Self:
        """From a pandas, polars or pyarrow table with two id columns (default ``u`` and ``v``)."""
        from psgraph.graph.formats.tables import from_table

        return from_table(
            table, kind=cls, roster=roster, roster_from_edges=roster_from_edges, columns=columns
        )


def _restore(kind: type[Any], fields: dict[str, Any]) -> Any:
    """Unpickle: what was checked once is not checked again, but is frozen again."""
    graph = object.__new__(kind)
    for name, value in fields.items():
        _set(graph, name, _frozen(value) if isinstance(value, np.ndarray) else value)
    return graph


class Snapshot(Graph):
    """The roster and the **private** edges at one timestamp.

    Its text form tells nothing about the edges, not even their number.

    >>> Snapshot(Roster.range(3), [0], [1])
    Snapshot(3 nodes, edges private)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        when = f", time={self.time!r}" if self.time is not None else ""
        return f"Snapshot({len(self.roster)} nodes, edges private{when})"


class SyntheticGraph(Graph):
    """A graph made of noisy values only: fit to publish.

    >>> SyntheticGraph(Roster.range(3), [0, 2], [1, 1])
    SyntheticGraph(3 nodes, 2 edges)
    """

    __slots__ = ()

    @property
    def edge_count(self) -> int:
        return int(self.u.size)

    def __repr__(self) -> str:
        return f"SyntheticGraph({len(self.roster)} nodes, {self.edge_count} edges)"
