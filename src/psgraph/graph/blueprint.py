"""Which graph to build of edges that are given by ids or by numbers: its kind and its nodes.

All ways in take the same options (`Options`) and end here: `Graph.from_ids`, tables, and the graph
objects of other libraries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psgraph._runtime.arrays import Integers, Positions, summed
from psgraph.errors import DataError, InvalidArgument, OutsideRoster
from psgraph.graph.kind import (
    DIRECTED,
    KINDS,
    MOST_WEIGHT,
    TWO_SIDED,
    UNDIRECTED,
    Dropped,
    Kind,
    unpack,
)
from psgraph.graph.roster import (
    Declared,
    Roster,
    RosterOrIds,
    as_ids,
    as_roster,
    declare,
    distinct_ids,
)
from psgraph.graph.two_sided import TwoSidedRoster

if TYPE_CHECKING:
    from psgraph.graph.graphs import Graph

__all__ = [
    "SIDES",
    "Blueprint",
    "ObjectOptions",
    "Options",
    "as_kind",
    "checked_weights",
    "kind_on",
]

GraphType = TypeVar("GraphType", bound="Graph")

SIDES = ("left", "right")
"""The names of the sides of a two-sided graph in files and in other libraries."""


class Options(TypedDict, total=False):
    """What every way in takes beside the edges.

    Attributes
    ----------
    roster
        The nodes: a `Roster` or a list of ids.
    left, right
        Instead of `roster`, the nodes that first and second ends come from: a two-sided graph.
    roster_from_edges
        Declares that node presence is public: the nodes are those that have an edge.
    kind
        A `Kind` or its name: ``"undirected"`` (unless given), ``"directed"``, ``"two-sided"``.
    weights
        The largest weight; larger ones count as this one. Edges carry no weight unless it is given;
        ``"none"`` says that this is meant. Edges without a weight of their own have weight 1, and
        those of parallel edges add up.
    """

    roster: RosterOrIds | None
    left: RosterOrIds | None
    right: RosterOrIds | None
    roster_from_edges: bool
    kind: Kind | str | None
    weights: int | Literal["none"] | None


class ObjectOptions(Options, total=False):
    """What the ways in from graph objects take: exactly one of them declares the nodes.

    A graph object lists its nodes, but that list may have been made from the edges
    (`networkx.from_edgelist`, a matrix as large as its largest id).

    Attributes
    ----------
    nodes_are_public
        Declares that the nodes of the object are a public list that does not depend on its edges.
    """

    nodes_are_public: bool


@dataclass(frozen=True)
class Blueprint(Generic[GraphType]):
    """A graph to build: its type, its kind, and its nodes as they were declared.

    Attributes
    ----------
    roster
        The nodes that were given; None if they are those of a graph object or of the edges.
    listed
        For each side that was given as a list of ids, the ids in the order of the list.
    """

    graph_type: type[GraphType]
    kind: Kind
    declared: Declared
    roster: Roster | None
    listed: tuple[ArrayLike | None, ArrayLike | None]

    @classmethod
    def of(
        cls,
        graph_type: type[GraphType],
        *,
        roster: RosterOrIds | None = None,
        left: RosterOrIds | None = None,
        right: RosterOrIds | None = None,
        nodes_are_public: bool = False,
        roster_from_edges: bool = False,
        kind: Kind | str | None = None,
        weights: int | Literal["none"] | None = None,
    ) -> Blueprint[GraphType]:
        """Read the options of a way in.

        Raises
        ------
        RosterError
            The nodes were not declared.
        InvalidArgument
            Options contradict each other.
        """
        if (left is None) != (right is None):
            given, missing = ("right", "left") if left is None else ("left", "right")
            raise InvalidArgument(
                f"{given} was given without {missing}\n"
                "A two-sided graph needs the nodes of both sides: left=…, right=….",
                code="sides",
            )
        if left is not None and roster is not None:
            raise InvalidArgument(
                "a roster and two sides were both given\n"
                "Keep left and right for a two-sided graph, and roster for others.",
                code="sides",
            )
        declared = declare(
            roster if left is None else left,
            roster_from_edges=roster_from_edges,
            nodes_are_public=nodes_are_public,
        )
        nodes = as_roster(roster)
        if left is not None:
            assert right is not None
            nodes = TwoSidedRoster(left, right)
        two_sided = nodes is not None and len(nodes.sizes) == 2
        largest = None if weights == "none" else weights
        meant = as_kind(kind, largest, two_sided=two_sided)
        lists = (left, right) if left is not None else (roster, roster)
        one, other = (None if isinstance(each, Roster) else each for each in lists)
        if nodes is not None:
            kind_on(nodes, meant)
        return cls(graph_type, meant, declared, nodes, (one, other))

    def refuse_undirected(self, directed: bool) -> None:
        """Refuse to take a direction from a graph object whose edges have none."""
        if self.kind.directed and not directed:
            raise InvalidArgument(
                "the graph object is undirected: its edges do not say where they start\n"
                "Give a directed graph object, or leave out kind='directed'.",
                code="kind",
            )

    # ---- edges given by ids ----

    def from_ids(
        self,
        heads: ArrayLike,
        tails: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        nodes: Roster | None = None,
        mirrored: bool = False,
        time: str | None = None,
    ) -> GraphType:
        """Build from the ids of first and of second ends.

        Parameters
        ----------
        weight
            That of each edge, for a kind with weights; 1 unless given.
        nodes
            The nodes of a graph object, if they were declared public.
        mirrored
            Whether an undirected edge may be listed in both directions, as in a matrix. Its weight
            is the larger one of the two then, not their sum.
        """
        a, b = as_ids(heads), as_ids(tails)
        if a.size != b.size:
            raise DataError("the two columns of ids differ in length")
        mixed = a.size and (a.dtype == object) != (b.dtype == object)
        if mixed and self.kind.rosters == 1:
            raise DataError("node ids mix types\nUse integers throughout or strings throughout.")
        weight = self.read_weights(weight, a.size)
        roster = self.roster if nodes is None else nodes
        dropped = None
        if roster is None:
            self.refuse_nodes()
            apart = self.apart(a, b)
            a, b, dropped = a[apart], b[apart], Dropped(int(apart.size - np.count_nonzero(apart)))
            weight = None if weight is None else weight[apart]
            roster = self.roster_of(a, b)
        for ids, side in zip((a, b), roster.sides, strict=True):
            if ids.size:
                side.expect(strings=ids.dtype == object)
        u, v = roster.ends(a, b)
        return self.built(roster, u, v, weight, mirrored=mirrored, time=time, dropped=dropped)

    def refuse_nodes(self) -> None:
        """Refuse to declare nodes public where there is no list of nodes."""
        if self.declared == "nodes":
            raise InvalidArgument(
                "edges alone list no nodes that could be public\n"
                "Give a roster, or roster_from_edges=True if node presence is public."
            )

    def apart(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
        """Which pairs of ids are no self-loops: a node with only a self-loop has no edge."""
        if self.kind.two_sided:
            return np.ones(a.size, dtype=bool)
        return np.asarray(a != b, dtype=bool)

    def roster_of(self, a: NDArray[Any], b: NDArray[Any]) -> Roster:
        """The nodes that have an edge, by the ids of first and of second ends."""
        if self.kind.two_sided:
            sides = (Roster(distinct_ids(ids, ids), declared="edges") for ids in (a, b))
            return TwoSidedRoster(*sides)
        return Roster(distinct_ids(a, b), declared="edges")

    def read_weights(self, weight: ArrayLike | None, edges: int) -> Integers | None:
        """Check the weights, or leave them out if the kind has none."""
        return checked_weights(weight, edges) if self.kind.weighted else None

    def built(
        self,
        roster: Roster,
        u: Positions,
        v: Positions,
        weight: Integers | None,
        *,
        mirrored: bool = False,
        time: str | None = None,
        dropped: Dropped | None = None,
    ) -> GraphType:
        """Build from positions in the roster."""
        if weight is not None and mirrored and self.kind.sides == 1:
            roster.refuse_outside(u, v, time=time)
            u, v, weight = _larger_of_both(u, v, weight)
        return self.graph_type(
            roster, u, v, time=time, dropped=dropped, kind=self.kind, weight=weight
        )

    # ---- edges between numbered nodes ----

    def from_positions(
        self,
        heads: Integers,
        tails: Integers,
        sizes: tuple[int, int],
        weight: ArrayLike | None = None,
        *,
        source: str = "the matrix does not have one row",
    ) -> GraphType:
        """Build of edges between nodes that are numbered from 0: a matrix, or an edge index.

        With a roster, node *i* is roster position *i*; with a list of ids, node *i* is the i-th of
        them; otherwise the numbers are the ids. Those of a two-sided graph count on each side.

        Parameters
        ----------
        sizes
            How many nodes first and second ends are numbered by: the shape of the matrix.
        """
        if self.declared == "edges":
            return self.from_ids(heads, tails, weight, mirrored=True)
        roster = self._numbered(sizes) if self.roster is None else self.roster
        if self.roster is not None and sizes != tuple(map(len, roster.sides)):
            # The number of nodes may come from the largest id of an edge, so no message shows it.
            raise DataError(f"{source} for every node of the roster\nGive one each, in its order.")
        roster.refuse_outside(heads, tails + roster.offset, time=None)
        orders = (  # a roster is sorted, a list of ids need not be
            np.arange(len(side), dtype=np.int32) if ids is None else side.positions(ids)
            for ids, side in zip(self.listed, roster.sides, strict=True)
        )
        first, second = orders
        u, v = first[heads], second[tails] + np.int32(roster.offset)
        return self.built(roster, u, v, self.read_weights(weight, u.size), mirrored=True)

    def _numbered(self, sizes: tuple[int, int]) -> Roster:
        """The nodes of a graph object without ids."""
        sides = [Roster(np.arange(size), declared="nodes") for size in sizes]
        return TwoSidedRoster(*sides) if self.kind.two_sided else sides[0]

    def from_sides(
        self,
        ids: Sequence[Any],
        right: NDArray[np.bool_] | None,
        heads: Integers,
        tails: Integers,
        weight: ArrayLike | None = None,
        *,
        ordered: bool,
    ) -> GraphType:
        """Build a two-sided graph of edges between numbered nodes whose sides are known.

        Parameters
        ----------
        ids
            The id of each node.
        right
            Whether each node is on the right; None if the graph object does not say it.
        ordered
            Whether edges lead from the left to the right; otherwise their ends are in any order.
        """
        names = np.fromiter(ids, dtype=object, count=len(ids))
        if right is None and not (ordered and self.declared != "nodes"):
            right = self._found_right(names)
        if right is not None:
            if not ordered:
                turned = right[heads] & ~right[tails]
                heads, tails = np.where(turned, tails, heads), np.where(turned, heads, tails)
            if (right[heads] | ~right[tails]).any():
                raise OutsideRoster(
                    "an edge has an end on the wrong side\n"
                    "Edges of a two-sided graph lead from a node on the left to one on the right. "
                    "Leave out others."
                )
        nodes = None
        if self.declared == "nodes":
            assert right is not None
            sides = (Roster(names[side], declared="nodes") for side in (~right, right))
            nodes = TwoSidedRoster(*sides)
        return self.from_ids(names[heads], names[tails], weight, nodes=nodes)

    def _found_right(self, names: NDArray[Any]) -> NDArray[np.bool_]:
        """Look up on which side the nodes of a graph object are that does not say it."""
        if self.roster is None:
            raise InvalidArgument(
                "the graph object does not say which nodes are on the left and on the right\n"
                "Give left=… and right=…, or mark the nodes: the attribute bipartite of networkx "
                "(0 or 1), or type of igraph (False or True).",
                code="sides",
            )
        left, right = ({*side.ids.tolist()} for side in self.roster.sides)
        if left & right:
            raise InvalidArgument(
                "the sides have ids in common, and the edges of the graph object are in no order\n"
                "Mark the nodes of each side, or give a directed graph object whose edges lead "
                "from the left to the right.",
                code="sides",
            )
        return np.fromiter((name in right for name in names.tolist()), dtype=bool, count=names.size)


def as_kind(
    kind: Kind | str | None = None, weights: int | None = None, *, two_sided: bool = False
) -> Kind:
    """Return the kind that a user means: by its name, with weights if their largest one is given.

    Unless `kind` is given, the graph is two-sided if its roster is, and otherwise undirected.

    >>> str(as_kind("directed", 64)), str(as_kind(two_sided=True))
    ('directed, with weights up to 64', 'two-sided')
    """
    if kind is None:
        kind = TWO_SIDED if two_sided else UNDIRECTED
    elif isinstance(kind, str):
        if kind not in KINDS:
            raise InvalidArgument(
                f"there is no kind {kind!r}\nKinds: {', '.join(KINDS)}.", code="kind"
            )
        kind = KINDS[kind]
    elif not isinstance(kind, Kind):
        raise InvalidArgument(
            f"a kind is one of {', '.join(KINDS)}, not one {type(kind).__name__}", code="kind"
        )
    if weights is None:
        return kind
    if kind.weighted and kind.largest_weight != weights:
        raise InvalidArgument(
            f"weights={weights!r} contradicts the kind, {kind}\nGive one largest weight.",
            code="weights",
        )
    return kind.with_weights(weights)


def kind_on(roster: Roster, kind: Kind | None) -> Kind:
    """Return the kind of a graph over a roster; refuse one that does not fit the roster."""
    two_sided = len(roster.sizes) == 2
    if kind is None:
        return as_kind(two_sided=two_sided)
    if kind.two_sided != two_sided:
        raise InvalidArgument(
            f"{kind} graphs need {'a roster for each side' if kind.two_sided else 'one roster'}\n"
            "Two-sided graphs have a TwoSidedRoster(left, right), others a Roster.",
            code="sides",
        )
    return kind


def checked_weights(weight: ArrayLike | None, edges: int) -> Integers:
    """Return one weight per edge, 1 if none are given; refuse what is no positive integer.

    Weights beyond the largest one that can be declared are as good as that one, also if they need
    more than 64 bits.

    >>> checked_weights([3, 10**30], 2)
    array([         3, 2147483647])
    """
    if weight is None:
        return np.ones(edges, dtype=np.int64)
    array = np.asarray(weight)
    if array.shape != (edges,):
        raise DataError("there must be one weight for each edge", code="weights")
    if array.dtype == object and all(type(each) is int for each in array.tolist()):
        array = np.array([min(each, MOST_WEIGHT) for each in array.tolist()], dtype=object)
        array = np.maximum(array, 0).astype(np.int64)
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
        array = np.clip(array, 0, MOST_WEIGHT).astype(np.int64)
    if edges and (array.dtype.kind not in "iu" or int(array.min()) < 1):
        raise DataError(
            "weights must be integers of at least 1\n"
            "Leave out edges without weight, and bin amounts to a public grid of integers.",
            code="weights",
        )
    return np.minimum(array, MOST_WEIGHT).astype(np.int64)


def _larger_of_both(
    u: Positions, v: Positions, weight: Integers
) -> tuple[Positions, Positions, Integers]:
    """Add up repeats of each direction, and keep the direction with the larger weight."""
    keys, weight = summed(DIRECTED.keys(u, v), weight, MOST_WEIGHT)
    pairs = UNDIRECTED.keys(*unpack(keys))
    order = np.lexsort((-weight, pairs))
    pairs, weight = pairs[order], weight[order]
    largest = np.ones(pairs.size, dtype=bool)
    np.not_equal(pairs[1:], pairs[:-1], out=largest[1:])
    return *unpack(pairs[largest]), weight[largest]
