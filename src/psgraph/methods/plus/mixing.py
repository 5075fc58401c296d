"""How many edges run between degree classes, hubs and communities, as integer blocks.

A class holds the nodes whose degree lies in one octave, relative to the mean. The measured
matrix of edges between classes is filtered over time, shrunk towards mixing at random as far as it
is noise, and raked to the wanted degrees. Where communities are in use they divide the classes. In
the end the matrix is rounded to an integer number of edges for every pair of labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph._runtime.kernels import sorting_order
from psgraph.graph.kind import TWO_SIDED, UNDIRECTED
from psgraph.methods.plus.tracking import Track

__all__ = [
    "CELLS",
    "CLASSES",
    "SIDE_CELLS",
    "Divided",
    "Mixing",
    "affinity",
    "class_mixing",
    "degree_classes",
    "divided",
    "integer_blocks",
    "rake",
    "rake_sides",
    "side_mixing",
]

CLASSES = 12
CELLS = UNDIRECTED.cell_count(CLASSES, inside=True)
SIDE_CELLS = TWO_SIDED.cell_count(CLASSES, CLASSES, inside=True)  # out-class × in-class
RANDOM = 5e-4  # what mixing at random contributes, so that no cell is impossible
LEAST = 1e-300  # keeps a ratio defined
TOLERANCE, ROUNDS = 1e-3, 60  # of raking
TRUST = 0.5  # how far a pair of communities may be from the common ratio, relative to it
LEAST_AFFINITY = 0.02  # of what degrees alone would give
DIVISIONS = 3  # rounds of raking that divide classes
# Edges between noisy labels show the affinity of communities weakened: this exponent restores it.
SHARPNESS = 1.5
ORDER_BITS = 22  # of the random number by which the cells of a row are ordered
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


def rake(matrix: Floats, stubs: Floats, sizes: Integers) -> Floats:
    """Scale rows and columns of a symmetric matrix until its row sums are the stubs.

    No cell exceeds the number of node pairs it stands for; a cell without pairs is 0.

    >>> rake(np.ones((2, 2)), np.array([2.0, 4.0]), np.array([5, 5])).round(1)
    array([[0.7, 1.3],
           [1.3, 2.7]])
    """
    matrix = matrix.copy()
    _rake(matrix, stubs, sizes.astype(np.float64), float(stubs.sum()))
    return matrix


@kernel
def _rake(matrix: Floats, stubs: Floats, count: Floats, total: float) -> None:
    """`rake` in place; `total` is the sum of the stubs."""
    size = count.size
    rows, factor = np.zeros(size), np.zeros(size)
    _limit(matrix, count, 1e-9 * total / size**2, rows)
    for _ in range(ROUNDS):
        apart = 0.0
        for i in range(size):
            apart += abs(rows[i] - stubs[i])
        if apart <= TOLERANCE * total:
            break
        for i in range(size):
            factor[i] = np.sqrt(stubs[i] / rows[i]) if rows[i] > 0 else 0.0
        rows[:] = 0.0
        _scale(matrix, factor, count, rows)


@lean_kernel
def _limit(matrix: Floats, count: Floats, least: float, rows: Floats) -> None:
    """Raise cells to `least` and lower them to their node pairs; add up the rows."""
    for i in range(count.size):
        for j in range(count.size):
            pairs = count[i] * (count[j] - 1.0 if i == j else count[j])
            matrix[i, j] = min(max(matrix[i, j], least), pairs) if pairs > 0 else 0.0
            rows[j] += matrix[i, j]


@lean_kernel
def _scale(matrix: Floats, factor: Floats, count: Floats, rows: Floats) -> None:
    """Multiply cells by the factors of both ends, up to their node pairs; add up the rows.

    The matrix is symmetric, so sums over columns will do: the compiler can vectorise those.
    """
    for i in range(count.size):
        line, own, size = matrix[i], factor[i], count[i]
        diagonal = min(line[i] * (own * own), size * (size - 1.0))
        for j in range(count.size):
            line[j] = min(line[j] * (own * factor[j]), size * count[j])
        line[i] = diagonal
        for j in range(count.size):
            rows[j] += line[j]


# ---- edges with two sides


def side_mixing(
    degrees: tuple[Integers, Integers],
    classes: tuple[Labels, Labels],
    track: Track,
    edges: int,
    *,
    directed: bool,
    counts: tuple[int, int] = (12, 12),
    repeats: bool = False,
) -> Floats:
    """Return how many edges lead from each out-class to each in-class, as wanted degrees allow.

    Parameters
    ----------
    degrees, classes
        Of first ends and of second ends.
    track
        The filtered share of edges in each cell.
    directed
        Whether both sides are the same nodes, which are not joined to themselves.
    counts
        The number of classes that were measured on each side.
    repeats
        Whether a pair can have several edges.
    """
    (rows, _, sizes), (columns, _, others) = (
        _class_sums(*side) for side in zip(degrees, classes, strict=True)
    )
    pairs = np.outer(sizes, others).astype(np.float64)
    if directed:
        np.subtract.at(pairs, classes, 1.0)
    if repeats:
        pairs = np.where(pairs > 0, np.inf, 0.0)
    matrix = np.outer(rows, columns) / max(float(columns.sum()), 1.0)
    if track.seen.all():
        part = slice(counts[0]), slice(counts[1])
        neutral = rake_sides(matrix, rows, columns, pairs)[part].ravel() / max(edges, 1)
        matrix *= RANDOM
        matrix[part] += (np.maximum(_shrunk(track, neutral), 0) * edges).reshape(counts)
    return rake_sides(matrix, rows, columns, pairs)


def rake_sides(matrix: Floats, rows: Floats, columns: Floats, pairs: Floats) -> Floats:
    """Scale rows and columns of a matrix to their sums, without exceeding the pairs of a cell.

    >>> one, nine = np.ones((2, 2)), np.full((2, 2), 9.0)
    >>> rake_sides(one, np.array([1.0, 3.0]), np.array([2.0, 2.0]), nine)
    array([[0.5, 0.5],
           [1.5, 1.5]])
    """
    total = float(rows.sum())
    least = 1e-9 * total / max(matrix.size, 1)
    matrix = np.where(pairs > 0, np.clip(matrix, least, np.maximum(pairs, 0)), 0.0)
    for _ in range(ROUNDS):
        for axis, wanted in ((1, rows), (0, columns)):
            sums = matrix.sum(axis=axis)
            factor = np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
            matrix = np.minimum(matrix * np.expand_dims(factor, axis), pairs)
        if float(np.abs(matrix.sum(axis=1) - rows).sum()) <= TOLERANCE * total:
            break
    return matrix


# ---- communities divide the classes
#
# The measured edges between communities give an *affinity* for each pair of them: the ratio of
# edges to what their degrees alone would give. A class is divided into one label for each
# community, and a block of classes into blocks that follow the affinity; the sums over communities
# stay what the classes and hub rows say.


def affinity(blocks: Track, labels: Labels, degrees: Integers, count: int) -> Floats:
    """Return edges between communities relative to what their degrees alone would give.

    Noisy cells are shrunk towards one common ratio inside and one between communities, sharpened
    and raked to the wanted degrees.
    """
    stubs = np.bincount(labels, weights=degrees, minlength=count).astype(np.float64)
    sizes = np.bincount(labels, minlength=count)
    total = max(float(stubs.sum()), 1.0)
    chance = np.outer(stubs, stubs) / total
    a, b = UNDIRECTED.pair_of(np.arange(blocks.level.size), count, inside=True)
    measured, variance = np.zeros((count, count)), np.zeros((count, count))
    measured[a, b] = blocks.level * total / 2
    variance[a, b] = blocks.variance * (total / 2) ** 2
    # The diagonal of a mixing matrix counts edges twice; `measured` counts each once.
    variance = variance + variance.T + 2 * np.diag(variance.diagonal())
    measured = measured + measured.T
    same = np.eye(count, dtype=bool)
    common = np.where(same, *(_ratio(measured, chance, which) for which in (same, ~same))) * chance
    spread = (TRUST * common) ** 2
    gain = np.divide(spread, spread + variance, out=np.zeros_like(spread), where=spread > 0)
    cells = np.maximum(common + gain * (measured - common), LEAST_AFFINITY * chance)
    sharp = _over(cells, chance) ** SHARPNESS * chance
    return _over(rake(sharp, stubs, sizes), chance)


def _over(cells: Floats, chance: Floats) -> Floats:
    return np.divide(cells, chance, out=np.ones_like(chance), where=chance > 0)


def _ratio(measured: Floats, chance: Floats, which: NDArray[np.bool_]) -> float:
    expected = float(chance[which].sum())
    return (
        max(float(measured[which].sum()), LEAST_AFFINITY * expected) / expected
        if expected > 0
        else 1.0
    )


@dataclass(frozen=True)
class Divided:
    """Labels and mixing after classes are divided by community; hubs keep theirs.

    Attributes
    ----------
    matrix
        The mixing matrix of the new labels.
    labels
        The new label of every node: (class, community) pairs in ascending order, then hubs.
    parents, communities
        The old label and the community of each new one.
    """

    matrix: Floats
    labels: Labels
    parents: Integers
    communities: Integers

    @property
    def classes(self) -> int:
        """How many labels are not hubs."""
        return int(np.count_nonzero(self.parents < CLASSES))


def divided(
    matrix: Floats,
    labels: Labels,
    communities: Labels,
    ratios: Floats,
    degrees: Integers,
    *,
    blocks: Floats | None = None,
) -> Divided:
    """Divide the classes of a mixing matrix by community.

    Parameters
    ----------
    matrix, labels
        The mixing matrix of classes and hubs, and the label of every node.
    communities, ratios
        The community of every node, and the affinity of each pair of them.
    blocks
        The edges that each pair of communities should have; only the classes decide unless given.
    """
    count = ratios.shape[0]
    hub = labels >= CLASSES
    keys = np.where(hub, CLASSES * count + labels, labels.astype(np.int64) * count + communities)
    _, first, new = np.unique(keys, return_index=True, return_inverse=True)
    parents, groups = labels[first].astype(np.int64), communities[first].astype(np.int64)
    stubs = np.bincount(new, weights=degrees).astype(np.float64)
    sizes = np.bincount(new)
    whole = np.bincount(parents, weights=stubs, minlength=matrix.shape[0])
    share = np.divide(stubs, whole[parents], out=np.zeros_like(stubs), where=stubs > 0)
    wanted = matrix[np.ix_(parents, parents)]
    cells = rake(wanted * np.outer(share, share) * ratios[np.ix_(groups, groups)], stubs, sizes)
    starts = np.flatnonzero(np.diff(parents, prepend=-1))
    index = np.cumsum(np.diff(parents, prepend=-1) != 0) - 1
    target = matrix[np.ix_(parents[starts], parents[starts])]
    for _ in range(DIVISIONS if blocks is None else DIVISIONS + 1):
        implied = np.add.reduceat(np.add.reduceat(cells, starts, axis=0), starts, axis=1)
        ratio = np.divide(target, implied, out=np.ones_like(implied), where=implied > 0)
        cells = cells * ratio[np.ix_(index, index)]
        if blocks is not None:
            cells *= _between_groups(cells, groups, blocks)[np.ix_(groups, groups)]
        cells = rake(cells, stubs, sizes)
    return Divided(cells, new.astype(np.int32), parents, groups)


def _between_groups(cells: Floats, groups: Integers, blocks: Floats) -> Floats:
    """Return by how much the cells of each pair of groups have to be multiplied."""
    order = np.argsort(groups, kind="stable")
    present, starts = np.unique(groups[order], return_index=True)
    sums = np.add.reduceat(cells[order], starts, axis=0)[:, order]
    implied = np.zeros_like(blocks)
    implied[np.ix_(present, present)] = np.add.reduceat(sums, starts, axis=1)
    return np.divide(blocks, implied, out=np.ones_like(blocks), where=implied > 0)


# ---- integer blocks


def integer_blocks(
    matrix: Floats, identities: NDArray[np.uint64], seed: int, *, classes: int
) -> tuple[Labels, Labels, Integers]:
    """Round a mixing matrix at random to edges per pair of labels.

    Parameters
    ----------
    matrix
        Edges between labels: symmetric, and the diagonal counts every edge twice.
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
    bits = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    a, b, quotas, keys = _rounded(matrix, identities, bits, classes)
    order = sorting_order(keys)
    return a[order], b[order], quotas[order]


@kernel
def _pair_bits(one: np.uint64, other: np.uint64, seed: np.uint64) -> np.uint64:
    """53 bits for an unordered pair of numbers, by hashing it (SplitMix64)."""
    low, high = min(one, other), max(one, other)
    mixed = low * np.uint64(0x9E3779B97F4A7C15) + high * np.uint64(0xC2B2AE3D27D4EB4F) + seed
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed >> np.uint64(11)


@kernel
def _rounded(
    matrix: Floats, identities: NDArray[np.uint64], seed: np.uint64, classes: int
) -> tuple[Labels, Labels, Integers, Integers]:
    """The pairs of labels with a quota, the quotas, and keys that sort them for filling."""
    size = identities.size
    all_quotas = np.zeros((size, size), dtype=np.int32)
    found = 0
    for a in range(size):
        for b in range(a, size):
            uniform = np.float64(_pair_bits(identities[a], identities[b], seed)) * 2.0**-53
            edges = matrix[a, b] / 2 if a == b else matrix[a, b]
            all_quotas[a, b] = int(np.floor(edges + uniform))
            found += all_quotas[a, b] > 0
    heads, tails = np.empty(found, dtype=np.int32), np.empty(found, dtype=np.int32)
    quotas, keys = np.empty(found, dtype=np.int64), np.empty(found, dtype=np.int64)
    at = 0
    for a in range(size):
        for b in range(a, size):
            if all_quotas[a, b] > 0:
                heads[at], tails[at], quotas[at] = a, b, all_quotas[a, b]
                # The row of a cell is its hub; of two hubs the larger, which has the smaller label.
                row, within = size + classes - b, np.int64(classes - a)
                if b >= classes:
                    row = a if a >= classes else b
                    drawn = _pair_bits(identities[a], identities[b], ~seed)
                    within = np.int64(drawn >> np.uint64(53 - ORDER_BITS))
                keys[at] = (row << ORDER_BITS) | within
                at += 1
    return heads, tails, quotas, keys
