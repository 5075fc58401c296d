"""k-means for released points: Lloyd's algorithm from a k-means++ start.

A library would be a large dependency for this one use, and the result must be the same bytes
wherever a release is replayed: one thread, one order of summation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Labels
from psgraph._runtime.jit import kernel

__all__ = ["k_means"]


def k_means(points: NDArray[np.int64], clusters: int, *, iterations: int, seed: int) -> Labels:
    """Return the cluster of every row of `points`: 0, …, clusters − 1.

    Parameters
    ----------
    iterations
        The most rounds to make; it ends earlier when nothing moves.
    seed
        Of the k-means++ start.

    Notes
    -----
    A cluster that lost its last point starts again from the point furthest from its centre.
    O(n · clusters · columns) time a round.

    Examples
    --------
    >>> k_means(np.array([[0], [9], [1], [8]]), 2, iterations=9, seed=1).tolist() in (
    ...     [0, 1, 0, 1], [1, 0, 1, 0])
    True
    """
    floats = points.astype(np.float64)
    if not floats.size:
        return np.zeros(points.shape[0], dtype=np.int32)
    rng = np.random.Generator(np.random.PCG64(seed))
    centres = _start(floats, clusters, rng)
    labels = np.full(points.shape[0], -1, dtype=np.int32)
    distances = np.empty(points.shape[0])
    for _ in range(iterations):
        if not _assign(floats, centres, labels, distances):
            break
        _move(floats, centres, labels, distances)
    return labels


@kernel
def _distance(points: Floats, row: int, centres: Floats, centre: int) -> float:
    total = 0.0
    for column in range(points.shape[1]):
        difference = points[row, column] - centres[centre, column]
        total += difference * difference
    return total


@kernel
def _start(points: Floats, clusters: int, rng: np.random.Generator) -> Floats:
    """Choose centres by k-means++: each is a point, with probability ∝ its squared distance."""
    rows = points.shape[0]
    centres = np.empty((clusters, points.shape[1]))
    nearest = np.full(rows, np.inf)
    chosen = min(int(rng.random() * rows), rows - 1)
    for centre in range(clusters):
        centres[centre] = points[chosen]
        total = 0.0
        for row in range(rows):
            nearest[row] = min(nearest[row], _distance(points, row, centres, centre))
            total += nearest[row]
        # Walk to a uniform point of the sum; if all points are centres, stay at the last.
        left = rng.random() * total
        for row in range(rows):
            left -= nearest[row]
            if left < 0.0:
                chosen = row
                break
    return centres


@kernel
def _assign(points: Floats, centres: Floats, labels: Labels, distances: Floats) -> bool:
    """Assign every point to its nearest centre; return whether any changed."""
    changed = False
    for row in range(points.shape[0]):
        best, least = 0, np.inf
        for centre in range(centres.shape[0]):
            distance = _distance(points, row, centres, centre)
            if distance < least:
                best, least = centre, distance
        changed |= labels[row] != best
        labels[row], distances[row] = best, least
    return changed


@kernel
def _move(points: Floats, centres: Floats, labels: Labels, distances: Floats) -> None:
    """Move every centre to the mean of its points."""
    sizes = np.zeros(centres.shape[0], dtype=np.int64)
    centres[:] = 0.0
    for row in range(points.shape[0]):
        sizes[labels[row]] += 1
        centres[labels[row]] += points[row]
    for centre in range(centres.shape[0]):
        if sizes[centre]:
            centres[centre] /= sizes[centre]
        else:
            furthest = np.argmax(distances)
            centres[centre] = points[furthest]
            distances[furthest] = 0.0
