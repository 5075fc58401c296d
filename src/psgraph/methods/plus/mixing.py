"""How many edges run between degree classes.

A class holds the nodes whose degree lies in one octave, relative to the mean. The measured
matrix of edges between classes is filtered over time, shrunk towards mixing at random as far as it
is noise, and raked to the wanted degrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph.engines.pairs import pair_count, pair_of
from psgraph.methods.plus.tracking import Track

__all__ = ["CELLS", "CLASSES", "Mixing", "class_mixing", "degree_classes", "integer_blocks", "rake"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]

CLASSES = 12
CELLS = pair_count(CLASSES, inside=True)
RANDOM = 5e-4  # what mixing at random contributes, so that no cell is impossible
TOLERANCE, ROUNDS = 1e-3, 60
LEAST = 1e-300  # keeps a ratio defined


def degree_classes(degrees: Integers) -> Labels:
    """Return the class of each degree: its octave relative to the mean of non-isolated nodes.

    >>> degree_classes(np.array([0, 1, 2, 4, 64]))
    array([0, 0, 0, 0, 3], dtype=int32)
    """
    connected = degrees[degrees > 0]
    if not connected.size:
        return np.zeros(degrees.size, dtype=np.int32)
    octave = np.floor(np.log2(4 * np.maximum(degrees, 1e-9) / connected.mean()))
    return np.clip(octave, 0, CLASSES - 1).astype(np.int32)


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
    stubs = _sums(classes, degrees.astype(np.float64))
    squares = _sums(classes, degrees.astype(np.float64) ** 2)
    sizes = np.bincount(classes, minlength=CLASSES)
    total = stubs.sum()
    matrix = np.outer(stubs, stubs) / max(total, 1.0)
    if track.seen.all():
        a, b = pair_of(np.arange(CELLS), CLASSES, inside=True)
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


def _sums(classes: Labels, values: Floats) -> Floats:
    return np.bincount(classes, weights=values, minlength=CLASSES).astype(np.float64)


def rake(matrix: Floats, stubs: Floats, sizes: Integers) -> Floats:
    """Scale rows and columns of a symmetric matrix until its row sums are the stubs.

    No cell exceeds the number of node pairs it stands for; a cell without pairs is 0.
    """
    count = sizes.astype(np.float64)
    pairs = np.outer(count, count) - np.diag(count)
    total = float(stubs.sum())
    least = 1e-9 * total / stubs.size**2
    matrix = np.where(pairs > 0, np.clip(matrix, least, pairs), 0.0)
    for _ in range(ROUNDS):
        rows = matrix.sum(axis=1)
        if float(np.abs(rows - stubs).sum()) <= TOLERANCE * total:
            break
        factor = np.sqrt(np.divide(stubs, rows, out=np.zeros_like(rows), where=rows > 0))
        matrix = np.minimum(matrix * factor[:, None] * factor[None, :], pairs)
    return matrix


def integer_blocks(
    matrix: Floats, identities: NDArray[np.uint64], seed: int, *, classes: int = CLASSES
) -> tuple[Labels, Labels, Integers]:
    """Round a mixing matrix at random to edges per pair of labels.

    Parameters
    ----------
    identities
        A number for each label that stays with it: the class, or a number of the hub. With the
        same seed a pair of them is always rounded in the same way, whatever labels it has, so
        that blocks are stable from one timestamp to the next.
    classes
        How many labels, the first ones, stand for more than one node.

    Returns
    -------
    Labels a ≤ b and quotas, in the order in which they are to be filled: first the rows of
    single-node labels (beyond the classes) from the first on, each in random order, then the
    classes from the highest down.
    """
    size = matrix.shape[0]
    offsets, order = _pair_uniforms(identities, seed), _pair_uniforms(identities, ~seed)
    edges = matrix.copy()
    edges[np.diag_indices(size)] /= 2
    quotas = np.floor(edges + offsets).astype(np.int64)
    a, b = np.nonzero(np.triu(quotas))
    # The row of a cell is its hub; of two hubs the larger, which has the smaller label.
    single = b >= classes
    row = np.where(single, np.where(a >= classes, a, b), size + classes - b)
    within = np.where(single, order[a, b], classes - a)
    index = np.lexsort((within, row))
    a, b = a[index], b[index]
    return a.astype(np.int32), b.astype(np.int32), quotas[a, b]


def _pair_uniforms(identities: NDArray[np.uint64], seed: int) -> Floats:
    """Return a number in [0, 1) for every unordered pair, by hashing it (SplitMix64)."""
    low: NDArray[np.uint64] = np.minimum.outer(identities, identities)
    high: NDArray[np.uint64] = np.maximum.outer(identities, identities)
    mixed = low * np.uint64(0x9E3779B97F4A7C15)
    mixed += high * np.uint64(0xC2B2AE3D27D4EB4F) + np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
