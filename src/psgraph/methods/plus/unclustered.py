"""How many triangles a graph with given degrees and blocks has by chance, without drawing it."""

from __future__ import annotations

import numpy as np

from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.plus.clustering import Unclustered
from psgraph.methods.plus.realisation import Target, quota_matrix

__all__ = ["expected_unclustered"]


def expected_unclustered(target: Target) -> Unclustered:
    """Return what a graph without excess has: exact but for triangles, which are expected ones.

    Two stubs of labels a and b are joined at a rate that depends on a and b only. A triangle takes
    two stubs each of three nodes. O(n + L³) for L labels.

    >>> one = np.zeros(1, dtype=np.int32)
    >>> sparse = Target(np.full(100, 10), np.zeros(100, dtype=np.int32), one, one, [500], 500)
    >>> 121 <= expected_unclustered(sparse).triangles <= 122  # (d − 1)³ / 6 = 121.5
    True
    """
    degrees, labels = target.degrees, target.labels
    quotas = quota_matrix(target)
    edges = (quotas + quotas.T).astype(np.float64)  # inside a label every edge counts twice
    count = edges.shape[0]
    stubs = np.bincount(labels, weights=degrees, minlength=count)
    pairs = np.bincount(labels, weights=degrees * (degrees - 1.0), minlength=count)
    both = np.outer(stubs, stubs)
    rates = np.divide(edges, both, out=np.zeros_like(edges), where=both > 0)
    # No two nodes are joined more than once: with typical degrees, of a node at the end of an edge.
    typical = np.divide(pairs, stubs, out=np.zeros(count), where=stubs > 0) + 1
    rates = np.minimum(rates, 1 / np.outer(typical, typical))
    paths = rates * pairs
    triangles = np.trace(paths @ paths @ paths) / 6
    wedges = int(UNDIRECTED.pairs(degrees.astype(np.int64)).sum())
    second = int(np.partition(degrees, -2)[-2]) if degrees.size > 1 else 0
    return Unclustered(degrees.size, wedges, round(float(triangles)), second)
