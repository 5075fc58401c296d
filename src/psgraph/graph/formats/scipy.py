"""SciPy sparse adjacency matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from psgraph.errors import DataError
from psgraph.graph import Graph, Roster
from psgraph.graph.declarations import declare
from psgraph.graph.roster import RosterOrIds, as_roster

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["from_scipy", "to_scipy"]

GraphType = TypeVar("GraphType", bound=Graph)


def to_scipy(graph: Graph) -> scipy.sparse.csr_array:
    """Build the symmetric 0/1 matrix (int64), rows in roster order, indices sorted. O(n + m).

    >>> from psgraph.graph import SyntheticGraph
    >>> to_scipy(SyntheticGraph(Roster("abc"), [0], [1])).toarray().tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    import scipy.sparse

    # The lower triangle first: each row then meets its columns in ascending order.
    rows, columns = np.concatenate([graph.v, graph.u]), np.concatenate([graph.u, graph.v])
    size = len(graph.roster)
    ones = np.ones(rows.size, dtype=np.int64)
    matrix = scipy.sparse.coo_array((ones, (rows, columns)), shape=(size, size)).tocsr()
    matrix.has_sorted_indices = True
    return matrix


def from_scipy(
    matrix: Any,
    *,
    kind: type[GraphType],
    roster: RosterOrIds | None = None,
    nodes_are_public: bool = False,
    roster_from_edges: bool = False,
) -> GraphType:
    """Read a square matrix: a non-zero entry is an edge, direction is dropped.

    With a roster, row *i* is roster position *i*; with a list of ids, row *i* is the i-th of
    them; otherwise the ids are row numbers. Who the nodes are has to be declared, see
    `psgraph.graph.declarations`.

    >>> from psgraph.graph import Snapshot
    >>> from_scipy(np.eye(3, k=1), kind=Snapshot, nodes_are_public=True)
    Snapshot(3 nodes, edges private)
    """
    import scipy.sparse

    declared = declare(
        roster, roster_from_edges=roster_from_edges, nodes_are_public=nodes_are_public
    )
    try:
        entries = scipy.sparse.coo_array(matrix)
    except (TypeError, ValueError):
        raise DataError(f"expected a sparse matrix, not {type(matrix).__name__}") from None
    # The shape may come from the largest id of an edge, so no message shows it.
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise DataError("an adjacency matrix must be square")
    entries.sum_duplicates()
    filled = entries.data != 0
    rows, columns = (ends[filled].astype(np.int64) for ends in (entries.row, entries.col))
    if declared == "edges":
        return kind.from_ids(rows, columns, roster_from_edges=True)
    nodes = int(entries.shape[0])
    ids = None if isinstance(roster, Roster) else roster
    roster = as_roster(roster)
    if roster is None:
        return kind(Roster(np.arange(nodes), declared="nodes"), rows, columns)
    if len(roster) != nodes:
        raise DataError(
            "the matrix does not have one row for every node of the roster\n"
            "Give a matrix whose row i is the node at roster position i."
        )
    if ids is not None:  # a roster is sorted, a list of ids need not be
        order = roster.positions(ids)
        rows, columns = order[rows], order[columns]
    return kind(roster, rows, columns)
