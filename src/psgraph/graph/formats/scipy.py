"""SciPy sparse adjacency matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from psgraph.errors import DataError
from psgraph.graph import Graph
from psgraph.graph.blueprint import Blueprint

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["from_scipy", "to_scipy"]

GraphType = TypeVar("GraphType", bound=Graph)


def to_scipy(graph: Graph) -> scipy.sparse.csr_array:
    """Build the matrix of weights, or of zeros and ones (int64), rows in roster order. O(n + m).

    Indices are sorted. The matrix is symmetric if both ends of an edge are alike. That of a
    two-sided graph has a row for each node on the left and a column for each on the right.

    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> to_scipy(SyntheticGraph(Roster("abc"), [0], [1])).toarray().tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    import scipy.sparse

    rows, columns = graph.u, graph.v - np.int32(graph.roster.offset)
    entries = np.ones(rows.size, dtype=np.int64) if graph.weight is None else graph.weight
    if graph.kind.sides == 1:
        # The lower triangle first: each row then meets its columns in ascending order.
        rows, columns = np.concatenate([columns, rows]), np.concatenate([rows, columns])
        entries = np.concatenate([entries, entries])
    shape = tuple(map(len, graph.roster.sides))
    matrix = scipy.sparse.coo_array((entries, (rows, columns)), shape=shape).tocsr()
    matrix.has_sorted_indices = True
    return matrix


def from_scipy(matrix: Any, blueprint: Blueprint[GraphType]) -> GraphType:
    """Read a matrix: a non-zero entry is an edge from the node of its row to that of its column.

    Row *i* is roster position *i*, or the i-th id of a list; without a roster the ids are row
    numbers. The columns of a two-sided graph count on the right side. In an undirected graph both
    triangles count, and the larger one of two entries is the weight of their edge.

    >>> from psgraph.graph import Snapshot
    >>> from_scipy(np.eye(3, k=1), Blueprint.of(Snapshot, nodes_are_public=True))
    Snapshot(3 nodes, edges private)
    """
    import scipy.sparse

    try:
        entries = scipy.sparse.coo_array(matrix)
    except (TypeError, ValueError):
        raise DataError(f"expected a sparse matrix, not {type(matrix).__name__}") from None
    # The shape may come from the largest id of an edge, so no message shows it.
    square = entries.ndim == 2 and entries.shape[0] == entries.shape[1]
    if entries.ndim != 2 or not (square or blueprint.kind.two_sided):
        raise DataError("an adjacency matrix must be square, unless its graph is two-sided")
    if not blueprint.kind.weighted:
        entries.sum_duplicates()  # weights are checked and clipped before they are added up
    filled = entries.data != 0
    rows, columns = (ends[filled].astype(np.int64) for ends in (entries.row, entries.col))
    weight = None if entries.dtype == bool else entries.data[filled]
    rows_and_columns = int(entries.shape[0]), int(entries.shape[1])
    return blueprint.from_positions(rows, columns, rows_and_columns, weight)
