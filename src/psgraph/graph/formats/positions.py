"""Edges between numbered nodes: what an adjacency matrix and an edge index have in common."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import DataError
from psgraph.graph import Graph, Roster
from psgraph.graph.roster import RosterOrIds, as_roster, declare

__all__ = ["from_positions"]

GraphType = TypeVar("GraphType", bound=Graph)


def from_positions(
    heads: NDArray[np.int64],
    tails: NDArray[np.int64],
    nodes: int,
    *,
    graph_type: type[GraphType],
    roster: RosterOrIds | None = None,
    nodes_are_public: bool = False,
    roster_from_edges: bool = False,
    source: str = "the matrix does not have one row",
) -> GraphType:
    """Build a graph of edges between the nodes 0, …, nodes − 1.

    With a roster, node *i* is roster position *i*; with a list of ids, node *i* is the i-th of
    them; otherwise the numbers are the ids. Who the nodes are has to be declared, see
    `psgraph.graph.roster`.

    >>> from psgraph.graph import Snapshot
    >>> ends = np.array([0, 1]), np.array([1, 2])
    >>> from_positions(*ends, 3, graph_type=Snapshot, roster=["c", "a", "b"]).to_edges()
    [('a', 'b'), ('a', 'c')]
    """
    declared = declare(
        roster, roster_from_edges=roster_from_edges, nodes_are_public=nodes_are_public
    )
    if declared == "edges":
        return graph_type.from_ids(heads, tails, roster_from_edges=True)
    if declared == "nodes":
        return graph_type(Roster(np.arange(nodes), declared="nodes"), heads, tails)
    ids = None if isinstance(roster, Roster) else roster
    roster = as_roster(roster)
    assert roster is not None
    if len(roster) != nodes:
        # The number of nodes may come from the largest id of an edge, so no message shows it.
        raise DataError(f"{source} for every node of the roster\nGive one each, in its order.")
    if ids is not None:  # a roster is sorted, a list of ids need not be
        order = roster.positions(ids)
        return graph_type(roster, order[heads], order[tails])
    return graph_type(roster, heads, tails)
