"""How many edges run between degree classes.

A class holds the nodes whose degree lies in one octave, relative to the mean. The measured
matrix of edges between classes is filtered over time, shrunk towards mixing at random as far as it
is noise, and raked to the wanted degrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.plus.raking import rake
from psgraph.methods.plus.tracking import Track

__all__ = ["CELLS", "CLASSES", "Mixing", "class_mixing", "degree_classes"]


CLASSES = 12
CELLS = UNDIRECTED.cell_count(CLASSES, inside=True)
RANDOM = 5e-4  # what mixing at random contributes, so that no cell is impossible
LEAST = 1e-300  # keeps a ratio defined
_FIRST, _SECOND = UNDIRECTED.pair_of(np.arange(CELLS), CLASSES, inside=True)


def degree_classes(degrees: Integers) -> Labels:
    """Return the class of each degree: its octave relative to the mean of non-isolated nodes.

    >>> degree_classes(np.array([0, 1, 2, 4, 64]))
    array([0, 0, 0, 0, 3], dtype=int32)
    """
    connected = int(np.count_nonzero(degrees))
    if not connected:
        return np.zeros(degrees.size, dtype=np.int32)
    mean = int(degrees.sum()) / connected
    octave = np.floor(np.log2(4 * np.maximum(np.arange(degrees.max() + 1), 1e-9) / mean))
    return np.clip(octave, 0, CLASSES - 1).astype(np.int32)[degrees]


@dataclass(frozen=True)
class Mixing:
    """Edges between labels as a symmetric matrix whose diagonal counts every edge twice.

    Its row sums are the stubs (sums of degrees) of the labels.
    """

    matrix: Floats
    stubs: Floats
    squares: Floats  # sums of squared degrees
    sizes: Integers

    @property
    def rates(self) -> Floats:
        """Edges per pair of stubs (per ordered pair on the diagonal)."""
        pairs = np.outer(self.stubs, self.stubs) - np.diag(self.squares)
        return np.divide(self.matrix, pairs, out=np.zeros_like(pairs), where=pairs > 0)


def class_mixing(degrees: Integers, classes: Labels, track: Track, edges: int) -> Mixing:
    """Return the mixing of classes that fits the wanted degrees.

    Parameters
    ----------
    track
        The filtered share of edges in each of the 78 cells.
    """
    stubs, squares, sizes = _class_sums(degrees, classes)
    total = stubs.sum()
    matrix = np.outer(stubs, stubs) / max(total, 1.0)
    if track.seen.all():
        a, b = _FIRST, _SECOND
        neutral = rake(matrix, stubs, sizes)[a, b] / np.where(a == b, 2, 1) / max(edges, 1)
        measured = np.zeros((CLASSES, CLASSES))
        measured[a, b] = np.maximum(_shrunk(track, neutral), 0) * edges
        matrix = measured + measured.T + RANDOM * matrix
    return Mixing(rake(matrix, stubs, sizes), stubs, squares, sizes)


def _shrunk(track: Track, neutral: Floats) -> Floats:
    """Move shares towards those of mixing at random, the more of their distance noise explains.

    A James–Stein estimate: the squared distance has the noise variance in it. Where it is no
    larger than that, nothing is known but the degrees.
    """
    apart = track.level - neutral
    explained = float(track.variance.sum()) / max(float((apart**2).sum()), LEAST)
    return neutral + max(1 - explained, 0.0) * apart


@kernel
def _class_sums(degrees: Integers, classes: Labels) -> tuple[Floats, Floats, Integers]:
    """Sums of degrees and of squared degrees, and the number of nodes, of each class."""
    stubs, squares = np.zeros(CLASSES), np.zeros(CLASSES)
    sizes = np.zeros(CLASSES, dtype=np.int64)
    for node in range(degrees.size):
        degree, own = float(degrees[node]), classes[node]
        stubs[own] += degree
        squares[own] += degree * degree
        sizes[own] += 1
    return stubs, squares, sizes
