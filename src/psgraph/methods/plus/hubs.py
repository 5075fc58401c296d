"""A row of the mixing matrix for each of the largest nodes.

Classes say how many edges a hub has with small nodes, not with which other hubs. Where the budget
allows, the edges between single hubs and from hubs to classes are measured too. What is kept is
the deviation from what the classes imply; it fades as edges are replaced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Labels, Singles, read_only
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import UNDIRECTED, triangle, triangular_cell
from psgraph.methods.plus.mixing import CLASSES, Mixing, rake

__all__ = ["HubRows", "NoisyHubs", "advance", "hub_cells", "hub_count", "with_hubs"]


FADED = 0.1  # rows that carry less than this share of their information are dropped
SUREST, LEAST_VARIANCE = 0.98, 1e-4  # of an edge between two hubs, before it is measured


def hub_count(nodes: int) -> int:
    """Return how many nodes have a row of their own: 3 %, from 16 to 400, at most a quarter."""
    return min(max(16, math.ceil(0.03 * nodes)), 400, nodes // 4)


def hub_cells(hubs: int) -> Integers:
    """Return where the cells of H are among all pairs of labels.

    Hubs × classes, then pairs of hubs i < j row by row.
    """
    blocks = CLASSES + hubs
    hub = CLASSES + np.arange(hubs, dtype=np.int64)
    group = np.arange(CLASSES, dtype=np.int64)
    to_classes = UNDIRECTED.cell_of(
        np.tile(group, hubs), np.repeat(hub, CLASSES), blocks, inside=True
    )
    i, j = np.triu_indices(hubs, 1)
    return np.concatenate([to_classes, UNDIRECTED.cell_of(hub[i], hub[j], blocks, inside=True)])


@dataclass(frozen=True)
class NoisyHubs:
    """The noisy cells of H, and the variance of their noise."""

    cells: Integers
    hubs: int
    noise: float

    @property
    def to_classes(self) -> Integers:
        """Noisy edges of hubs × classes."""
        return self.cells[: self.hubs * CLASSES].reshape(self.hubs, CLASSES)

    @property
    def pairs(self) -> Integers:
        """Noisy edges of the pairs of hubs i < j, row by row."""
        return self.cells[self.hubs * CLASSES :]


@dataclass(frozen=True)
class HubRows:
    """What is known about single hubs beyond their classes, in single precision.

    Attributes
    ----------
    hubs
        Positions in the roster, the largest first.
    class_deviation, class_variance
        Hubs × classes, in units of max(expected edges, 1).
    pair_deviation, pair_variance
        Of the pairs of hubs i < j, row by row.
    strength
        1 when measured, multiplied by the persistence of edges at every other step.
    """

    hubs: Integers
    class_deviation: Singles
    class_variance: Singles
    pair_deviation: Singles
    pair_variance: Singles
    strength: float

    def __post_init__(self) -> None:
        # As they come out of a ledger, so that kernels are compiled for one type only.
        for array in (self.pair_deviation, self.pair_variance):
            read_only(array)


@dataclass(frozen=True)
class _Expected:
    """What the mixing of classes implies for single hubs."""

    degree: Floats
    group: Labels
    classes: Floats
    class_variance: Floats
    rest: Floats  # stubs of the other nodes per class
    rest_squares: Floats


def _expected(mixing: Mixing, degrees: Integers, classes: Labels, hubs: Integers) -> _Expected:
    degree, group = degrees[hubs].astype(np.float64), classes[hubs]
    rest = mixing.stubs - np.bincount(group, weights=degree, minlength=CLASSES)
    rest_squares = mixing.squares - np.bincount(group, weights=degree**2, minlength=CLASSES)
    to_classes = mixing.rates[group] * degree[:, None] * np.maximum(rest, 0)[None, :]
    return _Expected(
        degree,
        group,
        to_classes,
        to_classes + 0.1 * to_classes**2 + 0.25,
        np.maximum(rest, 0),
        np.maximum(rest_squares, 0),
    )


def advance(
    before: HubRows | None,
    still: Integers,
    hubs: Integers,
    mixing: Mixing,
    degrees: Integers,
    classes: Labels,
    *,
    kept: float,
    noisy: NoisyHubs | None,
) -> HubRows | None:
    """Carry hub rows over to this timestamp and update them with a measurement.

    Parameters
    ----------
    before, still
        The rows of the last timestamp, and for each hub of this one its index there or −1.
    kept
        κ, the share of edges that is kept from one timestamp to the next.
    noisy
        Noisy edges of hubs with classes and with each other, if they were measured.

    Returns
    -------
    None where nothing informative is left.
    """
    if noisy is None and (before is None or before.strength * kept <= FADED):
        return None
    expected = _expected(mixing, degrees, classes, hubs)
    unit = np.maximum(expected.classes, 1)
    deviation, variance = np.zeros_like(unit), expected.class_variance.copy()
    old_deviation = old_variance = read_only(np.zeros(0, dtype=np.float32))
    if before is not None:
        here = np.flatnonzero(still >= 0)
        there = still[here]
        deviation[here] = kept * before.class_deviation[there] * unit[here]
        old = before.class_variance[there] * unit[here] ** 2
        variance[here] = kept**2 * old + (1 - kept**2) * variance[here]
        old_deviation, old_variance = before.pair_deviation, before.pair_variance
    observed, noise = np.zeros(0, dtype=np.int64), 0.0
    if noisy is not None:
        observed, noise = noisy.pairs, noisy.noise
        gain = variance / (variance + noise)
        deviation += gain * (noisy.to_classes - expected.classes - deviation)
        variance *= 1 - gain
    pairs = _advance_pairs(
        mixing.rates,
        expected.group,
        expected.degree,
        still,
        0 if before is None else before.hubs.size,
        old_deviation,
        old_variance,
        kept,
        observed,
        noise,
    )
    return HubRows(
        hubs,
        (deviation / unit).astype(np.float32),
        (variance / unit**2).astype(np.float32),
        *pairs,
        1.0 if noisy is not None or before is None else before.strength * kept,
    )


@kernel
def _expected_pair(rates: Floats, group: Labels, degree: Floats, i: int, j: int) -> float:
    """The edges between two hubs that the mixing of classes implies."""
    return min(rates[group[i], group[j]] * degree[i] * degree[j], SUREST)


@kernel
def _advance_pairs(
    rates: Floats,
    group: Labels,
    degree: Floats,
    still: Integers,
    hubs_before: int,
    old_deviation: Singles,
    old_variance: Singles,
    kept: float,
    noisy: Integers,
    noise: float,
) -> tuple[Singles, Singles]:
    """Deviations and variances of the pairs of hubs i < j, row by row.

    What is not kept of the old ones falls back to what the mixing of classes implies.
    """
    hubs = degree.size
    deviations = np.empty(triangle(hubs), dtype=np.float32)
    variances = np.empty(deviations.size, dtype=np.float32)
    at = 0
    for i in range(hubs):
        for j in range(i + 1, hubs):
            expected = _expected_pair(rates, group, degree, i, j)
            deviation, variance = 0.0, expected * (1 - expected) + LEAST_VARIANCE
            if min(still[i], still[j]) >= 0:
                old = triangular_cell(still[i], still[j], hubs_before, False)
                deviation = kept * old_deviation[old]
                variance = kept * kept * old_variance[old] + (1 - kept * kept) * variance
            if noisy.size:
                gain = variance / (variance + noise)
                deviation += gain * (noisy[at] - expected - deviation)
                variance *= 1 - gain
            deviations[at], variances[at] = deviation, variance
            at += 1
    return deviations, variances


def with_hubs(rows: HubRows, mixing: Mixing, degrees: Integers, classes: Labels) -> Mixing:
    """Return the mixing matrix of classes and hubs; hub i has the label 12 + i."""
    expected = _expected(mixing, degrees, classes, rows.hubs)
    unit = np.maximum(expected.classes, 1)
    to_classes = np.maximum(expected.classes + rows.class_deviation * unit, 0)
    rest = np.outer(expected.rest, expected.rest) - np.diag(expected.rest_squares)
    matrix = np.zeros((CLASSES + rows.hubs.size, CLASSES + rows.hubs.size))
    matrix[:CLASSES, :CLASSES] = mixing.rates * np.maximum(rest, 0)
    matrix[CLASSES:, :CLASSES], matrix[:CLASSES, CLASSES:] = to_classes, to_classes.T
    _fill_pairs(
        mixing.rates,
        expected.group,
        expected.degree,
        rows.pair_deviation,
        matrix[CLASSES:, CLASSES:],
    )
    stubs = np.concatenate([expected.rest, expected.degree])
    group = np.bincount(expected.group, minlength=CLASSES)
    sizes = np.concatenate([mixing.sizes - group, np.ones(rows.hubs.size, dtype=np.int64)])
    squares = np.concatenate([expected.rest_squares, expected.degree**2])
    return Mixing(rake(matrix, stubs, sizes), stubs, squares, sizes)


@kernel
def _fill_pairs(
    rates: Floats, group: Labels, degree: Floats, deviation: Singles, between: Floats
) -> None:
    """Set the expected edges between hubs, with their deviations."""
    at = 0
    for i in range(degree.size):
        for j in range(i + 1, degree.size):
            edges = _expected_pair(rates, group, degree, i, j) + deviation[at]
            between[i, j] = between[j, i] = min(max(edges, 0.0), 1.0)
            at += 1
