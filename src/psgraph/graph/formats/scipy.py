"""SciPy sparse adjacency matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from psgraph.errors import DataError
from psgraph.graph import Graph
from psgraph.graph.formats.tables import from_positions
from psgraph.graph.roster import RosterOrIds, declare

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["from_scipy", "to_scipy"]

GraphType = TypeVar("GraphType", bound=Graph)


def to_scipy(graph: Graph) -> scipy.sparse.csr_array:
    """Build the 0/1 matrix (int64), rows in roster order, indices sorted. O(n + m).

    It is symmetric if both ends of an edge are alike.

    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> to_scipy(SyntheticGraph(Roster("abc"), [0], [1])).toarray().tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    import scipy.sparse

    rows, columns = graph.u, graph.v
    if graph.kind.sides == 1:
        # The lower triangle first: each row then meets its columns in ascending order.
        rows, columns = np.concatenate([columns, rows]), np.concatenate([rows, columns])
    size = len(graph.roster)
    ones = np.ones(rows.size, dtype=np.int64)
    matrix = scipy.sparse.coo_array((ones, (rows, columns)), shape=(size, size)).tocsr()
    matrix.has_sorted_indices = True
    return matrix


def from_scipy(
    matrix: Any,
    *,
    graph_type: type[GraphType],
    roster: RosterOrIds | None = None,
    nodes_are_public: bool = False,
    roster_from_edges: bool = False,
) -> GraphType:
    """Read a square matrix: a non-zero entry is an edge, direction is dropped.

    Row *i* is roster position *i*, or the i-th id of a list; without a roster the ids are row
    numbers. Who the nodes are has to be declared, see `psgraph.graph.roster`.

    >>> from psgraph.graph import Snapshot
    >>> from_scipy(np.eye(3, k=1), graph_type=Snapshot, nodes_are_public=True)
    Snapshot(3 nodes, edges private)
    """
    import scipy.sparse

    declared: dict[str, Any] = {
        "roster": roster,
        "nodes_are_public": nodes_are_public,
        "roster_from_edges": roster_from_edges,
    }
    declare(**declared)
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
    return from_positions(rows, columns, int(entries.shape[0]), graph_type=graph_type, **declared)
