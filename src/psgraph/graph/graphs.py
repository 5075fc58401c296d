"""Graphs: private snapshots and synthetic graphs, with the ways in and out.

A graph is a roster (the public nodes), a kind, and two arrays u and v of *positions* in the roster
in the normal form of the kind. An edge takes eight bytes; ids are used only on the way in and out.
The arrays are in memory, or in the parts of a store (`psgraph.graph.parts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from psgraph._runtime.arrays import Frozen, Integers, Positions
from psgraph._runtime.html import card, facts
from psgraph._runtime.numbers import significant
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph.blueprint import (
    Blueprint,
    ObjectOptions,
    Options,
    checked_weights,
    kind_on,
)
from psgraph.graph.bound import Bound, ascending_sizes
from psgraph.graph.kind import Dropped, Kind
from psgraph.graph.parts import EdgeParts, MemoryParts, degrees
from psgraph.graph.roster import Ids, Roster

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars
    import pyarrow
    import scipy.sparse

__all__ = [
    "Graph",
    "Snapshot",
    "SyntheticGraph",
    "checked_weights",
    "kind_on",
]


class Graph(Frozen):
    """Base of snapshots and synthetic graphs: a roster and the positions of the ends of edges.

    Parameters
    ----------
    roster
        The nodes.
    u, v
        Positions of the ends of each edge, in any order and direction; normalised here.
    time
        The public name of the timestamp.
    dropped
        Rows removed from the input before this point; those removed here are added.
    kind
        Which pairs of nodes can be edges, and whether they carry weights. Unless given, two-sided
        if the roster is, and otherwise undirected.
    weight
        For a kind with weights: that of each edge; 1 unless given. Those of repeats are added up,
        and larger ones than the largest weight count as the largest.
    """

    __slots__ = ("dropped", "parts", "roster", "time")

    _fields: tuple[str, ...] = ("roster", "parts", "time", "dropped")

    roster: Roster
    parts: EdgeParts
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
        kind: Kind | None = None,
        weight: ArrayLike | None = None,
    ) -> None:
        if not isinstance(roster, Roster):
            raise InvalidArgument(
                f"{type(self).__name__} takes a Roster and positions in it, not "
                f"{type(roster).__name__}\n"
                f"Use {type(self).__name__}.from_edges(edges, roster=ids), or make a Roster(ids)."
            )
        if time is not None and not isinstance(time, str):
            raise InvalidArgument(
                f"the time of a graph is text, not {type(time).__name__}\nGive time=str(…)."
            )
        a, b = np.asarray(u), np.asarray(v)
        if a.shape != b.shape or a.ndim != 1:
            raise DataError("u and v must be flat arrays of one length")
        if a.size and (a.dtype.kind not in "iu" or b.dtype.kind not in "iu"):
            raise DataError("u and v are positions in the roster and must be integers")
        kind = kind_on(roster, kind)
        roster.refuse_outside(a, b, time=time)
        ends = a.astype(np.int32, copy=False), b.astype(np.int32, copy=False)
        weights: Integers | None = None
        if kind.weighted:
            given = checked_weights(weight, a.size)
            first, second, weights, now = kind.normalise_weighted(*ends, given)
        elif weight is not None:
            raise InvalidArgument(
                f"edges of {kind} graphs carry no weight\nGive a kind with weights."
            )
        else:
            first, second, now = kind.normalise(*ends)
        total = now if dropped is None else dropped + now
        parts = MemoryParts(first, second, weights, nodes=len(roster), kind=kind)
        self._fill(roster=roster, parts=parts, time=time, dropped=total)

    @classmethod
    def from_parts(
        cls,
        roster: Roster,
        parts: EdgeParts,
        *,
        time: str | None = None,
        dropped: Dropped | None = None,
    ) -> Self:
        """Build from edges in normal form that are read part by part; they are not checked."""
        graph = object.__new__(cls)
        graph._fill(roster=roster, parts=parts, time=time, dropped=dropped or Dropped())
        return graph

    @property
    def kind(self) -> Kind:
        """Which pairs of nodes can be edges."""
        return self.parts.kind

    @property
    def pair_count(self) -> int:
        """The number of pairs of nodes that can be edges: public."""
        return self.kind.pairs(*self.roster.sizes)

    @property
    def weight(self) -> Integers | None:
        """The weights of all edges, None if they carry none. Reads a stored graph into memory."""
        return self.parts.whole().weight

    @property
    def u(self) -> Positions:
        """The first ends of all edges. Reads a stored graph into memory."""
        return self.parts.whole().u

    @property
    def v(self) -> Positions:
        """The second ends of all edges. Reads a stored graph into memory."""
        return self.parts.whole().v

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Sequence[Any]] | tuple[ArrayLike, ...],
        *,
        time: str | None = None,
        **options: Unpack[Options],
    ) -> Self:
        """Build from a list of pairs of ids, or from a tuple of two lists or arrays of ids.

        With ``weights=…`` an edge is a triple of two ids and a weight, and a tuple holds three
        arrays; in a list, an edge without a third entry has weight 1.

        The roster is a `Roster` or a list of ids. Without one the nodes can only come from the
        edges, and that makes node presence public: declare it with ``roster_from_edges=True``.
        `psgraph.graph.blueprint.Options` lists all options.

        >>> from psgraph.graph import Snapshot
        >>> Snapshot.from_edges([(2, 1), (1, 2), (3, 3)], roster=[1, 2, 3]).dropped
        Dropped(self_loops=1, duplicates=1)
        >>> views = [("ann", 7), ("bob", 7)]
        >>> Snapshot.from_edges(views, left=["ann", "bob"], right=[7, 8]).kind.name
        'two-sided'
        """
        blueprint = Blueprint.of(cls, **options)
        if isinstance(edges, tuple):
            return blueprint.from_ids(*_columns(edges, blueprint.kind), time=time)
        try:
            rows = (
                [(edge[0], edge[1]) for edge in edges]
                if not blueprint.kind.weighted
                else [(edge[0], edge[1], edge[2] if len(edge) > 2 else 1) for edge in edges]
            )
        except (TypeError, IndexError, KeyError):
            raise DataError(
                "every edge needs two ends\nGive pairs of node ids. from_table reads a data frame."
            ) from None
        columns = ([row[at] for row in rows] for at in range(3 if blueprint.kind.weighted else 2))
        return blueprint.from_ids(*columns, time=time)

    @classmethod
    def from_ids(
        cls,
        heads: ArrayLike,
        tails: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        time: str | None = None,
        **options: Unpack[Options],
    ) -> Self:
        """Build from two arrays of ids, without Python objects per edge.

        With ``weights=…``, `weight` is an array of their weights. The other options are those of
        `from_edges`.
        """
        return Blueprint.of(cls, **options).from_ids(heads, tails, weight, time=time)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Graph)
        return (
            self.kind == other.kind
            and self.roster == other.roster
            and np.array_equal(self.u, other.u)
            and np.array_equal(self.v, other.v)
            and (self.weight is None or np.array_equal(self.weight, other.weight))  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]

    # ---- ways out; one module each under psgraph.graph.formats, imported when used ----

    def to_ids(self) -> tuple[Ids, Ids]:
        """Return the ends of every edge as two arrays of original ids."""
        return self.roster.end_ids(self.u, self.v)

    def to_edges(self) -> list[tuple[Any, Any]]:
        """Return the edges as a list of pairs of original ids; `weight` has their weights."""
        heads, tails = self.to_ids()
        return list(zip(heads.tolist(), tails.tolist(), strict=True))

    def to_networkx(self) -> networkx.Graph:
        """Build a `networkx.Graph` with every node; a `DiGraph` of a directed graph.

        Weights are the edge attribute ``weight``, sides the node attribute ``bipartite``.
        """
        from psgraph.graph.formats.networkx import to_networkx

        return to_networkx(self)

    def to_igraph(self) -> igraph.Graph:
        """Build an `igraph.Graph` with every node of the roster; ids are in ``vs["name"]``.

        Weights are in ``es["weight"]``; ``vs["type"]`` is True for nodes on the right side.
        """
        from psgraph.graph.formats.igraph import to_igraph

        return to_igraph(self)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Build the matrix of weights, or of zeros and ones, rows in roster order.

        It is symmetric for an undirected graph; a two-sided one has its left side in the rows and
        its right side in the columns.
        """
        from psgraph.graph.formats.scipy import to_scipy

        return to_scipy(self)

    def to_pyg(self) -> Any:
        """Build a PyTorch Geometric `Data` with every node; ids are in ``node_id``.

        Weights are in ``edge_weight``. A two-sided graph becomes a `HeteroData` with the node types
        ``left`` and ``right``.
        """
        from psgraph.graph.formats.pyg import to_pyg

        return to_pyg(self)

    def to_arrow(self) -> pyarrow.Table:
        """Build an Arrow table with columns ``u``, ``v`` of original ids, and ``weight`` if any."""
        from psgraph.graph.formats.tables import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Build a pandas data frame with the columns of `to_arrow`."""
        from psgraph.graph.formats.tables import to_pandas

        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """Build a polars data frame with the columns of `to_arrow`."""
        from psgraph.graph.formats.tables import to_polars

        return to_polars(self)

    # ---- ways in from libraries ----

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, **options: Unpack[ObjectOptions]) -> Self:
        """Build from networkx; direction and weights are dropped unless `kind` and `weights` say.

        Exactly one of ``roster=…`` (or ``left=…, right=…``), ``nodes_are_public=True`` and
        ``roster_from_edges=True`` declares who the nodes are. Weights are the edge attribute
        ``weight``, sides the node attribute ``bipartite``.
        """
        from psgraph.graph.formats.features import told_of
        from psgraph.graph.formats.networkx import from_networkx

        return told_of(graph, options, from_networkx(graph, Blueprint.of(cls, **options)))

    @classmethod
    def from_igraph(cls, graph: igraph.Graph, **options: Unpack[ObjectOptions]) -> Self:
        """Build from igraph; ids are the vertex attribute ``name``, otherwise vertex numbers.

        Options as for `from_networkx`. Weights are the edge attribute ``weight``, sides the vertex
        attribute ``type``.
        """
        from psgraph.graph.formats.features import told_of
        from psgraph.graph.formats.igraph import from_igraph

        return told_of(graph, options, from_igraph(graph, Blueprint.of(cls, **options)))

    @classmethod
    def from_scipy(cls, matrix: Any, **options: Unpack[ObjectOptions]) -> Self:
        """Build from a matrix, square unless the graph is two-sided; non-zero entries are edges.

        Options as for `from_networkx`. Entries are the weights; of an undirected graph the larger
        one of both directions.
        """
        from psgraph.graph.formats.features import told_of
        from psgraph.graph.formats.scipy import from_scipy

        return told_of(matrix, options, from_scipy(matrix, Blueprint.of(cls, **options)))

    @classmethod
    def from_pyg(cls, data: Any, **options: Unpack[ObjectOptions]) -> Self:
        """Build from a PyTorch Geometric `Data`, or `HeteroData` if the graph is two-sided.

        Options as for `from_networkx`. Weights are in ``edge_weight``; features are dropped.
        """
        from psgraph.graph.formats.features import told_of
        from psgraph.graph.formats.pyg import from_pyg

        return told_of(data, options, from_pyg(data, Blueprint.of(cls, **options)))

    @classmethod
    def from_table(
        cls, table: Any, *, columns: tuple[str, ...] | None = None, **options: Unpack[Options]
    ) -> Self:
        """Build from two id columns (``u`` and ``v``) of a pandas, polars or pyarrow table.

        Options as for `from_edges`. With ``weights=…`` the column ``weight`` is read; without that
        column, rows are counted. A third name in `columns` is that of the weights.
        """
        from psgraph.graph.formats.features import told_of
        from psgraph.graph.formats.tables import from_table

        return told_of(
            table, options, from_table(table, Blueprint.of(cls, **options), columns=columns)
        )


def _columns(edges: tuple[Any, ...], kind: Kind) -> tuple[ArrayLike, ...]:
    """Return the arrays of ids, and of weights, that a tuple holds; refuse a tuple of edges.

    A tuple of two edges looks like two arrays of two ids. If its length decided, removing one edge
    could change how all others are read.
    """
    most = 3 if kind.weighted else 2
    flat = any(isinstance(each, tuple) or np.isscalar(each) for each in edges)
    if not 2 <= len(edges) <= most or flat:
        raise DataError(
            f"a tuple must hold two lists or arrays of ids{', and one of weights' * (most == 3)}\n"
            "Give single edges as a list of pairs."
        )
    return edges


class Snapshot(Graph):
    """The roster and the **private** edges at one timestamp.

    Its text form says nothing about the edges, not even how many there are.

    Attributes
    ----------
    owner_sizes
        For streams whose edges have owners: the number of distinct edges (of flows: of rows) of
        each owner that has one, before any are left out because an owner has too many; ascending.
        As private as the edges; None if edges have no owner.
    bound
        The bound that every owner's edges keep, if edges have owners.

    >>> from psgraph.graph import Roster
    >>> Snapshot(Roster.range(3), [0], [1])
    Snapshot(3 nodes, edges private)
    """

    __slots__ = ("bound", "owner_sizes")

    _fields = (*Graph._fields, "owner_sizes", "bound")

    owner_sizes: Integers | None
    bound: Bound | None

    def __init__(
        self,
        roster: Roster,
        u: ArrayLike,
        v: ArrayLike,
        *,
        owner_sizes: ArrayLike | None = None,
        bound: Bound | None = None,
        **options: Any,
    ) -> None:
        super().__init__(roster, u, v, **options)
        self._fill(owner_sizes=ascending_sizes(owner_sizes), bound=bound)

    @classmethod
    def from_parts(
        cls,
        roster: Roster,
        parts: EdgeParts,
        *,
        time: str | None = None,
        dropped: Dropped | None = None,
        owner_sizes: ArrayLike | None = None,
        bound: Bound | None = None,
    ) -> Self:
        """Build from edges in normal form that are read part by part; they are not checked."""
        snapshot = super().from_parts(roster, parts, time=time, dropped=dropped)
        snapshot._fill(owner_sizes=ascending_sizes(owner_sizes), bound=bound)
        return snapshot

    def __eq__(self, other: object) -> bool:
        equal = super().__eq__(other)
        if equal is not True or not isinstance(other, Snapshot):
            return equal
        ours, theirs = self.owner_sizes, other.owner_sizes
        if self.bound != other.bound:
            return False
        if ours is None or theirs is None:
            return ours is theirs
        return np.array_equal(ours, theirs)

    __hash__ = None

    def __repr__(self) -> str:
        when = f", time={self.time!r}" if self.time is not None else ""
        return f"Snapshot({len(self.roster)} nodes, edges private{when})"

    def _repr_html_(self) -> str | None:
        return card(
            "Snapshot",
            facts(
                [
                    ("time", self.time or ""),
                    ("nodes", f"{len(self.roster):,}"),
                    ("edges", "private"),
                    ("roster", self.roster.statement),
                ]
            ),
        )


class SyntheticGraph(Graph):
    """A graph made of noisy values only: safe to publish.

    >>> from psgraph.graph import Roster
    >>> SyntheticGraph(Roster.range(3), [0, 2], [1, 1])
    SyntheticGraph(3 nodes, 2 edges)
    """

    __slots__ = ()

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return self.parts.edge_count

    def __repr__(self) -> str:
        return f"SyntheticGraph({len(self.roster)} nodes, {self.edge_count} edges)"

    def _repr_html_(self) -> str | None:
        most = int(degrees(self.parts, len(self.roster)).max(initial=0))
        mean = 2 * self.edge_count / max(len(self.roster), 1)
        return card(
            "Synthetic graph",
            facts(
                [
                    ("time", self.time or ""),
                    ("nodes", f"{len(self.roster):,}"),
                    ("edges", f"{self.edge_count:,}"),
                    ("degree", f"mean {significant(mean)}, maximum {most:,}"),
                ]
            ),
        )
