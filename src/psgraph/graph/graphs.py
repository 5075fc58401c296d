"""Graphs: private snapshots and synthetic graphs, with the ways in and out.

A graph is a roster (the public nodes), a kind, and two arrays u and v of *positions* in the roster
in the normal form of the kind. An edge takes eight bytes; ids are used only on the way in and out.
The arrays are in memory, or in the parts of a store (`psgraph.graph.parts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from psgraph._runtime.arrays import Frozen, Integers, Positions
from psgraph._runtime.html import card, facts
from psgraph._runtime.numbers import significant
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph.kind import MOST_WEIGHT, TWO_SIDED, UNDIRECTED, Dropped, Kind
from psgraph.graph.parts import EdgeParts, MemoryParts, degrees
from psgraph.graph.roster import Ids, Roster, RosterOrIds, as_ids, as_roster, declare, distinct_ids

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars
    import pyarrow
    import scipy.sparse
    import torch_geometric

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

    _fields = ("roster", "parts", "time", "dropped")

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
        edges: Iterable[Sequence[Any]] | tuple[ArrayLike, ArrayLike],
        *,
        roster: RosterOrIds | None = None,
        roster_from_edges: bool = False,
        time: str | None = None,
    ) -> Self:
        """Build from a list of pairs of ids, or from a tuple of two lists or arrays of ids.

        The roster is a `Roster` or a list of ids. Without one the nodes can only come from the
        edges, and that makes node presence public: declare it with ``roster_from_edges=True``.

        >>> from psgraph.graph import Snapshot
        >>> Snapshot.from_edges([(2, 1), (1, 2), (3, 3)], roster=[1, 2, 3]).dropped
        Dropped(self_loops=1, duplicates=1)
        """
        if isinstance(edges, tuple):
            heads, tails = _two_columns(edges)
        else:
            try:
                pairs = [(edge[0], edge[1]) for edge in edges]
            except (TypeError, IndexError, KeyError):
                raise DataError(
                    "every edge needs two ends\n"
                    "Give pairs of node ids. from_table reads a data frame."
                ) from None
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
        roster: RosterOrIds | None = None,
        roster_from_edges: bool = False,
        time: str | None = None,
    ) -> Self:
        """Build from two arrays of ids, without Python objects per edge."""
        a, b = as_ids(heads), as_ids(tails)
        if a.size != b.size:
            raise DataError("the two columns of ids differ in length")
        if a.size and (a.dtype == object) != (b.dtype == object):
            raise DataError("node ids mix types\nUse integers throughout or strings throughout.")
        declare(roster, roster_from_edges=roster_from_edges)
        roster = as_roster(roster)
        if roster is None:
            a, b, loops = UNDIRECTED.without_loops(a, b)  # a node with only a self-loop has no edge
            roster = Roster(distinct_ids(a, b), declared="edges")
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
        """Return the edges as a list of pairs of original ids."""
        heads, tails = self.to_ids()
        return list(zip(heads.tolist(), tails.tolist(), strict=True))

    def to_networkx(self) -> networkx.Graph:
        """Build a `networkx.Graph` with every node of the roster."""
        from psgraph.graph.formats.networkx import to_networkx

        return to_networkx(self)

    def to_igraph(self) -> igraph.Graph:
        """Build an `igraph.Graph` with every node of the roster; ids are in ``vs["name"]``."""
        from psgraph.graph.formats.igraph import to_igraph

        return to_igraph(self)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Build the symmetric 0/1 adjacency matrix, rows in roster order."""
        from psgraph.graph.formats.scipy import to_scipy

        return to_scipy(self)

    def to_pyg(self) -> torch_geometric.data.Data:
        """Build a PyTorch Geometric `Data` with every node; ids are in ``node_id``."""
        from psgraph.graph.formats.pyg import to_pyg

        return to_pyg(self)

    def to_arrow(self) -> pyarrow.Table:
        """Build an Arrow table with columns ``u`` and ``v`` of original ids."""
        from psgraph.graph.formats.tables import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Build a pandas data frame with columns ``u`` and ``v`` of original ids."""
        from psgraph.graph.formats.tables import to_pandas

        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """Build a polars data frame with columns ``u`` and ``v`` of original ids."""
        from psgraph.graph.formats.tables import to_polars

        return to_polars(self)

    # ---- ways in from libraries ----
    #
    # A graph object lists its nodes, but that list may have been made from the edges
    # (`networkx.from_edgelist`, a matrix as large as its largest id). So each takes exactly one
    # of roster=…, nodes_are_public=True and roster_from_edges=True.

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph,
        *,
        roster: RosterOrIds | None = None,
        nodes_are_public: bool = False,
        roster_from_edges: bool = False,
    ) -> Self:
        """Build from networkx; direction, keys and attributes are dropped."""
        from psgraph.graph.formats.networkx import from_networkx

        return from_networkx(
            graph,
            graph_type=cls,
            roster=as_roster(roster),
            nodes_are_public=nodes_are_public,
            roster_from_edges=roster_from_edges,
        )

    @classmethod
    def from_igraph(
        cls,
        graph: igraph.Graph,
        *,
        roster: RosterOrIds | None = None,
        nodes_are_public: bool = False,
        roster_from_edges: bool = False,
    ) -> Self:
        """Build from igraph; ids are the vertex attribute ``name``, otherwise vertex numbers."""
        from psgraph.graph.formats.igraph import from_igraph

        return from_igraph(
            graph,
            graph_type=cls,
            roster=as_roster(roster),
            nodes_are_public=nodes_are_public,
            roster_from_edges=roster_from_edges,
        )

    @classmethod
    def from_scipy(
        cls,
        matrix: Any,
        *,
        roster: RosterOrIds | None = None,
        nodes_are_public: bool = False,
        roster_from_edges: bool = False,
    ) -> Self:
        """Build from a square matrix; non-zero entries are edges, direction is dropped."""
        from psgraph.graph.formats.scipy import from_scipy

        return from_scipy(
            matrix,
            graph_type=cls,
            roster=roster,
            nodes_are_public=nodes_are_public,
            roster_from_edges=roster_from_edges,
        )

    @classmethod
    def from_pyg(
        cls,
        data: torch_geometric.data.Data,
        *,
        roster: RosterOrIds | None = None,
        nodes_are_public: bool = False,
        roster_from_edges: bool = False,
    ) -> Self:
        """Build from a PyTorch Geometric `Data`; direction and features are dropped."""
        from psgraph.graph.formats.pyg import from_pyg

        return from_pyg(
            data,
            graph_type=cls,
            roster=roster,
            nodes_are_public=nodes_are_public,
            roster_from_edges=roster_from_edges,
        )

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        roster: RosterOrIds | None = None,
        roster_from_edges: bool = False,
        columns: tuple[str, str] | None = None,
    ) -> Self:
        """Build from two id columns (``u`` and ``v``) of a pandas, polars or pyarrow table."""
        from psgraph.graph.formats.tables import from_table

        return from_table(
            table,
            graph_type=cls,
            roster=as_roster(roster),
            roster_from_edges=roster_from_edges,
            columns=columns,
        )


def kind_on(roster: Roster, kind: Kind | None) -> Kind:
    """Return the kind of a graph over a roster; refuse one that does not fit the roster."""
    two_sided = len(roster.sizes) == 2
    if kind is None:
        return TWO_SIDED if two_sided else UNDIRECTED
    if kind.two_sided != two_sided:
        raise InvalidArgument(
            f"{kind} graphs need {'a roster for each side' if kind.two_sided else 'one roster'}\n"
            "Two-sided graphs have a TwoSidedRoster(left, right), others a Roster."
        )
    return kind


def checked_weights(weight: ArrayLike | None, edges: int) -> Integers:
    """Return one weight per edge, 1 if none are given; refuse what is no positive integer.

    Weights beyond 64 bits are as good as the largest weight that can be declared.
    """
    if weight is None:
        return np.ones(edges, dtype=np.int64)
    array = np.asarray(weight)
    if array.shape != (edges,):
        raise DataError("there must be one weight for each edge")
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
        array = np.minimum(array, MOST_WEIGHT).astype(np.int64)
    if edges and (array.dtype.kind not in "iu" or int(array.min()) < 1):
        raise DataError(
            "weights must be integers of at least 1\n"
            "Leave out edges without weight, and bin amounts to a public grid of integers.",
            code="weights",
        )
    return np.minimum(array, MOST_WEIGHT).astype(np.int64)


def _two_columns(edges: tuple[Any, ...]) -> tuple[ArrayLike, ArrayLike]:
    """Return the two arrays of ids that a tuple holds; refuse a tuple of edges.

    A tuple of two edges looks like two arrays of two ids. If its length decided, removing one edge
    could change how all others are read.
    """
    if len(edges) != 2 or any(isinstance(each, tuple) or np.isscalar(each) for each in edges):
        raise DataError(
            "a tuple must hold two lists or arrays of ids\nGive single edges as a list of pairs."
        )
    return edges[0], edges[1]


class Snapshot(Graph):
    """The roster and the **private** edges at one timestamp.

    Its text form says nothing about the edges, not even how many there are.

    >>> from psgraph.graph import Roster
    >>> Snapshot(Roster.range(3), [0], [1])
    Snapshot(3 nodes, edges private)
    """

    __slots__ = ()

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
