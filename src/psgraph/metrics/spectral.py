"""Eigenvector centrality, and the overlap of the most central nodes of two graphs.

Centrality is the limit of power iteration on A + I from the uniform vector, as in networkx: the
projection of that vector onto the eigenspace of the largest eigenvalue. This definition also covers
graphs whose eigenspace has more than one dimension (equal components), where "the" principal
eigenvector does not exist, and bipartite graphs, where power iteration on A alone oscillates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats
from psgraph._runtime.jit import kernel
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.metric import Metric
from psgraph.metrics.tops import highest, in_common, rounded_scores

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["eigenvector_centrality", "eigenvector_overlap", "most_central"]


#: Vectors kept in memory (n floats each), and how many of them a restart keeps.
_DIMENSION, _KEPT = 16, 4
_RESTARTS = 100  # of _DIMENSION − _KEPT steps each
#: ‖Ax − λx‖ ≤ _TOLERANCE · λ ends the iteration.
_TOLERANCE = 1e-10


def eigenvector_centrality(graph: Graph) -> Floats:
    """Eigenvector centrality of every node, in roster order, of Euclidean length 1.

    Lanczos iteration from the vector of degrees, with full orthogonalisation and thick restarts.
    ARPACK would do the same until it meets an invariant subspace, as it does on every regular
    graph; it then continues from a random vector and ranks equal components by chance. Each step is
    one pass over the edges; graphs with hubs take 10 to 60 steps. The iteration stops after 1,200
    steps, which only spectra without a gap need (a path of thousands of nodes). All scores of a
    graph without edges are equal.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> eigenvector_centrality(SyntheticGraph(Roster.range(4), [0, 0], [1, 2])).round(3)
    array([0.707, 0.5  , 0.5  , 0.   ])
    """
    n = len(graph.roster)
    if not graph.u.size:
        return np.full(n, 1 / np.sqrt(max(n, 1)))
    # The edges are sorted by u: they are already the rows of the upper half of the matrix.
    offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(graph.u, minlength=n), out=offsets[1:])
    leading = _leading_vector(offsets, graph.v, node_degrees(graph).astype(np.float64))
    centrality = np.abs(leading)
    return centrality / _length(centrality)


def most_central(graph: Graph) -> NDArray[np.intp]:
    """Positions of the 1 % most central nodes: max(1, ⌊n/100⌋) of them, PrivGraph's rounding.

    Among nodes of equal score, those that come first in the roster are chosen.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> most_central(SyntheticGraph(Roster.range(4), [2, 2], [1, 3]))
    array([2])
    """
    scores = eigenvector_centrality(graph)
    return highest(rounded_scores(scores), max(1, scores.size // 100))


eigenvector_overlap = Metric(
    "eigenvector_overlap",
    unit="%",
    better="higher",
    reading="The share of the original's 1 % most central nodes (by eigenvector centrality) that "
    "are also among the release's 1 % most central nodes. 100 %: the same nodes; chance alone "
    "gives about 1 %.",
    compute=lambda pair: in_common(*pair.both(most_central)),
    breaks_ties=True,
)


def _leading_vector(offsets: NDArray[np.int64], tails: NDArray[np.int32], start: Floats) -> Floats:
    """The eigenvector of the largest eigenvalue that `start` has a component in."""
    basis = np.empty((start.size, _DIMENSION + 1))
    projected = np.zeros((_DIMENSION, _DIMENSION))
    basis[:, 0] = start / _length(start)
    kept = 0
    for _ in range(_RESTARTS):
        for last in range(kept, _DIMENSION):
            following = _neighbour_sums(offsets, tails, basis[:, last].copy())
            shares = _remove_known(basis, last + 1, following)
            length = _length(following)
            if length < 1e-3 * _length(shares):
                # Most of the vector cancelled and only rounding errors remain: orthogonalise again.
                # Twice is enough for working precision.
                shares += _remove_known(basis, last + 1, following)
                length = _length(following)
            projected[last, : last + 1] = projected[: last + 1, last] = shares
            values, vectors = np.linalg.eigh(projected[: last + 1, : last + 1])
            if length * abs(vectors[-1, -1]) <= _TOLERANCE * values[-1]:
                return _mixed(basis, np.ascontiguousarray(vectors[:, -1:]))[:, 0]
            basis[:, last + 1] = following / length
        kept = _KEPT
        mixed = _mixed(basis, np.ascontiguousarray(vectors[:, -kept:]))
        basis[:, kept], basis[:, :kept] = basis[:, _DIMENSION], mixed
        projected[:] = 0
        np.fill_diagonal(projected[:kept, :kept], values[-kept:])
    return basis[:, kept - 1]


# Plain loops over rows instead of BLAS: on busy cores its threads cost far more than such narrow
# products (a hundredfold with two processes on two cores), and the last bits of a sum would depend
# on their number.


@kernel
def _remove_known(basis: Floats, known: int, vector: Floats) -> Floats:
    """Subtract the components along the first basis vectors, in place; returns them."""
    shares = np.zeros(known)
    for node in range(vector.size):
        for number in range(known):
            shares[number] += basis[node, number] * vector[node]
    for node in range(vector.size):
        known_share = 0.0
        for number in range(known):
            known_share += basis[node, number] * shares[number]
        vector[node] -= known_share
    return shares


@kernel
def _length(vector: Floats) -> float:
    squares = 0.0
    for value in vector:
        squares += value * value
    return np.sqrt(squares)


@kernel
def _mixed(basis: Floats, mixture: Floats) -> Floats:
    """Linear combinations of the first basis vectors, one per column of weights."""
    mixed = np.zeros((basis.shape[0], mixture.shape[1]))
    for node in range(basis.shape[0]):
        for number in range(mixture.shape[0]):
            for column in range(mixture.shape[1]):
                mixed[node, column] += basis[node, number] * mixture[number, column]
    return mixed


@kernel
def _neighbour_sums(offsets: NDArray[np.int64], tails: NDArray[np.int32], values: Floats) -> Floats:
    """A·x from the upper half of A alone."""
    sums = np.zeros_like(values)
    for u in range(values.size):
        total = 0.0
        for index in range(offsets[u], offsets[u + 1]):
            v = tails[index]
            total += values[v]
            sums[v] += values[u]
        sums[u] += total
    return sums
