"""SciPy sparse adjacency matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from psgraph.errors import DataError
from psgraph.graph import Graph, Roster

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

    # The lower triangle first: each row then meets its columns in rising order.
    rows, columns = np.concatenate([graph.v, graph.u]), np.concatenate([graph.u, graph.v])
    size = len(graph.roster)
    ones = np.ones(rows.size, dtype=np.int64)
    matrix = scipy.sparse.coo_array((ones, (rows, columns)), shape=(size, size)).tocsr()
    matrix.has_sorted_indices = True
    return matrix


def from_scipy(matrix: Any, *, kind: type[GraphType], roster: Roster | None = None) -> GraphType:
    """Read a square matrix: an entry other than zero is an edge, direction is dropped.

    Row *i* is roster position *i*; without a roster the nodes are 0, 1, …, n − 1.

    >>> from psgraph.graph import Snapshot
    >>> from_scipy(np.eye(3, k=1), kind=Snapshot)
    Snapshot(3 nodes, edges private)
    """
    import scipy.sparse

    try:
        entries = scipy.sparse.coo_array(matrix)
    except (TypeError, ValueError):
        raise DataError(f"expected a sparse matrix, not {type(matrix).__name__}") from None
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise DataError(f"an adjacency matrix must be square, not {entries.shape}")
    nodes = int(entries.shape[0])
    if roster is None:
        roster = Roster.range(nodes)
    elif len(roster) != nodes:
        raise DataError(
            f"the matrix has {nodes} rows and the roster {len(roster)} nodes\n"
            "Give a roster with one node for every row."
        )
    entries.sum_duplicates()
    filled = entries.data != 0
    return kind(roster, entries.row[filled], entries.col[filled])
