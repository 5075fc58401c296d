"""How many edges a graph has between public labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers

if TYPE_CHECKING:
    from psgraph.graph import Graph, Roster

__all__ = ["block_counts", "block_matrix"]


def block_matrix(graph: Graph, column: str) -> Integers:
    """Return the number of edges between each two labels of a column, sorted; symmetric.

    Edges of nodes without a label are left out. The diagonal counts edges inside a label once.

    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> roster = Roster(range(4), labels={"team": ["a", "a", "b", "b"]})
    >>> block_matrix(SyntheticGraph(roster, [0, 0, 2], [1, 2, 3]), "team")
    array([[1, 1],
           [1, 1]])
    """
    return block_counts(graph, graph.roster, column)


def block_counts(graph: Graph, roster: Roster, column: str) -> Integers:
    """Return the same, by the labels of another roster of the same nodes."""
    assert roster.labels is not None
    index = roster.labels.columns.index(column)
    codes, count = roster.labels.codes[:, index], len(roster.labels.values[index])
    a, b = codes[graph.u], codes[graph.v]
    known = (a >= 0) & (b >= 0)
    low, high = np.minimum(a[known], b[known]), np.maximum(a[known], b[known])
    cells = np.bincount(low.astype(np.int64) * count + high, minlength=count * count)
    upper = cells.reshape(count, count)
    return upper + upper.T - np.diag(upper.diagonal())
