"""Places: a graph, and an edge of it that neighbours differ in.

A graph of any kind is a matrix with a row for each first end and a column for each second end.
Which of its cells can be edges is what a `Board` knows: those above the diagonal, those off the
diagonal, or all of them. A place is stated once for all kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.graph import Kind, Roster, Snapshot, TwoSidedRoster

__all__ = ["PLACES", "Board", "Edge", "Graph", "Place", "Random", "cliques", "crowded", "places_of"]

Edge = tuple[int, int]
Graph = NDArray[np.bool_]  # true where there is an edge
Random = np.random.Generator


@dataclass(frozen=True)
class Board:
    """The pairs of nodes that can be edges of a graph, as the cells of a matrix.

    Examples
    --------
    >>> from psgraph.graph import DIRECTED
    >>> int(Board.of(DIRECTED, 4).full.sum())
    12
    """

    kind: Kind
    rows: int
    columns: int

    @classmethod
    def of(cls, kind: Kind, nodes: int) -> Board:
        """Return the board of some nodes; two fifths of them are on the left of a two-sided one."""
        if not kind.two_sided:
            return cls(kind, nodes, nodes)
        left = max(2 * nodes // 5, 2)
        return cls(kind, left, max(nodes - left, 2))

    @property
    def nodes(self) -> int:
        return self.rows + self.columns if self.kind.two_sided else self.rows

    @property
    def full(self) -> Graph:
        """The graph with all edges."""
        return self.allowed(np.ones((self.rows, self.columns), dtype=bool))

    def allowed(self, graph: Graph) -> Graph:
        """Return a graph without the cells that can't be edges."""
        if self.kind.sides == 1:
            return np.triu(graph, 1)
        return graph & (np.eye(self.rows, self.columns) == 0) if self.kind.directed else graph

    def random(self, random: Random, *, mean_degree: float = 3.0) -> Graph:
        """Return a graph whose edges are independent."""
        chosen = random.random((self.rows, self.columns))
        return self.allowed(chosen < mean_degree / max(self.columns - 1, 1))

    def edge(self, random: Random) -> Edge:
        """Return a random pair that can be an edge."""
        if self.kind.two_sided:
            return int(random.integers(self.rows)), int(random.integers(self.columns))
        u, v = self.kind.ordered(*random.choice(self.rows, size=2, replace=False))
        return int(u), int(v)

    def across(self, random: Random, u: int, v: int, columns: int | None = None) -> Edge:
        """Return a random pair of one of the first `u` rows and a column from `v` on."""
        columns = self.columns if columns is None else columns
        return int(random.integers(u)), v + int(random.integers(columns - v))

    def nodes_of(self, edge: Edge) -> tuple[int, int]:
        """Return the positions of the ends of a pair among all nodes."""
        return edge[0], edge[1] + (self.rows if self.kind.two_sided else 0)

    def snapshot(
        self,
        graph: Graph,
        there: NDArray[np.bool_] | None = None,
        weights: Integers | None = None,
    ) -> Snapshot:
        """Return a graph as a snapshot: of the nodes that are there, by default all."""
        present = np.ones(self.nodes, dtype=bool) if there is None else there
        ids = rows = columns = np.flatnonzero(present[: self.rows])
        roster = Roster(ids)
        if self.kind.two_sided:
            columns = np.flatnonzero(present[self.rows :])
            roster = TwoSidedRoster(rows, columns)
        u, v = np.nonzero(graph[np.ix_(rows, columns)])
        weight = None if weights is None else weights[np.ix_(rows, columns)][u, v]
        return Snapshot(roster, u, v + roster.offset, kind=self.kind, weight=weight)


Place = Callable[[Random, Board], tuple[Graph, Edge]]


def _random(random: Random, board: Board) -> tuple[Graph, Edge]:
    return board.random(random), board.edge(random)


def _no_edges(random: Random, board: Board) -> tuple[Graph, Edge]:
    return np.zeros((board.rows, board.columns), dtype=bool), board.edge(random)


def _pendant(random: Random, board: Board) -> tuple[Graph, Edge]:
    graph = board.random(random)
    graph[:, -1] = False
    graph[-1] &= board.kind.two_sided  # the last row and the last column are then different nodes
    return graph, (int(random.integers(board.rows - 1)), board.columns - 1)


def _apart(graph: Graph) -> tuple[int, int]:
    """Remove the edges between two halves of the nodes; return where the second half begins."""
    u, v = (size // 2 for size in graph.shape)
    graph[:u, v:] = False
    graph[u:, :v] = False
    return u, v


def _bridge(random: Random, board: Board) -> tuple[Graph, Edge]:
    graph = board.random(random)
    return graph, board.across(random, *_apart(graph))


def _hub(random: Random, board: Board) -> tuple[Graph, Edge]:
    graph = board.random(random, mean_degree=1.0)
    graph[0, 1:] = True
    graph[0, -1] = False
    return graph, (0, board.columns - 1)


def _dense(random: Random, board: Board) -> tuple[Graph, Edge]:
    return board.random(random, mean_degree=board.columns / 2), board.edge(random)


def _complete(random: Random, board: Board) -> tuple[Graph, Edge]:
    return board.full, board.edge(random)


def _isolated(random: Random, board: Board) -> tuple[Graph, Edge]:
    """The last two nodes have no edge but the one between them."""
    graph = board.random(random)
    graph[-2:], graph[:, -2:] = False, False
    return graph, (board.rows - (1 if board.kind.two_sided else 2), board.columns - 1)


def _communities(random: Random, board: Board) -> tuple[Graph, Edge]:
    """Two cliques, and the only edge that joins them."""
    graph, _ = _complete(random, board)
    return graph, board.across(random, *_apart(graph))


def cliques(random: Random, board: Board, *, size: int = 0) -> tuple[Graph, Edge]:
    """Many cliques, and the only edge that joins two: it displaces one edge at each of its ends.

    Where only the first c edges of a node count and the cliques have c + 1 nodes, this moves the
    number of triangles by 2(c − 1), the most that one edge can.
    """
    least = min(board.rows, board.columns)
    size = size or int(random.integers(2, max(min(least // 2, 12), 2) + 1))
    u, v = (np.arange(nodes) // size for nodes in (board.rows, board.columns))
    graph = board.allowed(u[:, None] == v)
    first = min(size, board.columns - 1)
    return graph, board.across(random, min(size, board.rows), first, min(2 * size, board.columns))


def _triangles(random: Random, board: Board) -> tuple[Graph, Edge]:
    """An edge between two nodes that have all others as common neighbours."""
    graph = board.random(random, mean_degree=1.0)
    graph[:2, 2:] = True
    graph[0, 1] = False
    return graph, (0, 1)


def crowded(random: Random, board: Board) -> tuple[Graph, Edge]:
    """The same among eight nodes, beside cliques of four: released degrees are about 3."""
    graph, _ = cliques(random, board, size=4)
    graph[:8, :8], edge = _triangles(random, Board.of(board.kind, 8))
    return graph, edge


def _towards_a_hub(random: Random, board: Board) -> tuple[Graph, Edge]:
    graph = board.random(random, mean_degree=1.0)
    graph[1:, 0] = True
    graph[-1, 0] = False
    return graph, (board.rows - 1, 0)


def _way_back(random: Random, board: Board) -> tuple[Graph, Edge]:
    """The only direction of a pair that makes two."""
    graph, (u, v) = np.triu(board.random(random)), board.edge(random)
    graph[u, v], graph[v, u] = False, True
    return graph, (u, v)


def _one_of_many_ways_back(random: Random, board: Board) -> tuple[Graph, Edge]:
    graph, (u, v) = board.random(random), board.edge(random)
    graph |= graph.T & (random.random(graph.shape) < 0.5)
    graph[v, u] = True
    return graph, (u, v)


PLACES: dict[str, Place] = {
    "no edges, and one edge": _no_edges,
    "a pendant edge": _pendant,
    "a bridge": _bridge,
    "an edge of a hub": _hub,
    "a complete graph, and one edge less": _complete,
    "two nodes with no other edge": _isolated,
    "the edge between two communities": _communities,
    "an edge between two of many cliques": cliques,
    "an edge that closes many triangles": _triangles,
    "an edge of a dense graph": _dense,
    "a random edge": _random,
}


def places_of(kind: Kind) -> dict[str, Place]:
    """Return the places of a kind: all of `PLACES`, and those that need sides or directions.

    >>> from psgraph.graph import TWO_SIDED
    >>> sorted(places_of(TWO_SIDED).keys() - PLACES.keys())
    ['an edge towards a hub']
    """
    more: dict[str, Place] = {}
    if kind.directed:
        more |= {"the way back": _way_back, "one of many ways back": _one_of_many_ways_back}
    if kind.sides == 2:
        more["an edge towards a hub"] = _towards_a_hub
    return {**more, **PLACES}
