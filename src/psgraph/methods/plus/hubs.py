"""A row of the mixing matrix for each of the largest nodes.

Classes say how many edges a hub has with small nodes, not with which other hubs. Where the budget
allows, the edges between single hubs and from hubs to classes are measured too. What is kept is
the deviation from what the classes imply; it fades as edges are replaced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph.engines.pairs import cell_of
from psgraph.methods.plus.mixing import CLASSES, Mixing, rake

__all__ = ["HubRows", "advance", "hub_cells", "hub_count", "hub_matrices", "with_hubs"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]

FADED = 0.1  # rows that carry less than this share of their information are dropped


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
    to_classes = cell_of(np.tile(group, hubs), np.repeat(hub, CLASSES), blocks, inside=True)
    i, j = np.triu_indices(hubs, 1)
    return np.concatenate([to_classes, cell_of(hub[i], hub[j], blocks, inside=True)])


def hub_matrices(noisy: Integers, hubs: int) -> tuple[Floats, Floats]:
    """Arrange the noisy cells of H as hubs × classes and hubs × hubs."""
    to_classes = noisy[: hubs * CLASSES].reshape(hubs, CLASSES).astype(np.float64)
    between = np.zeros((hubs, hubs))
    between[np.triu_indices(hubs, 1)] = noisy[hubs * CLASSES :]
    return to_classes, between + between.T


@dataclass(frozen=True)
class HubRows:
    """What is known about single hubs beyond their classes.

    Attributes
    ----------
    hubs
        Positions in the roster, the largest first.
    class_deviation, class_variance
        Hubs × classes, in units of max(expected edges, 1).
    pair_deviation, pair_variance
        Hubs × hubs.
    strength
        1 when measured, multiplied by the persistence of edges at every other step.
    """

    hubs: Integers
    class_deviation: Floats
    class_variance: Floats
    pair_deviation: Floats
    pair_variance: Floats
    strength: float


@dataclass(frozen=True)
class _Expected:
    """What the mixing of classes implies for single hubs."""

    classes: Floats
    class_variance: Floats
    pairs: Floats
    pair_variance: Floats
    rest: Floats  # stubs of the other nodes per class
    rest_squares: Floats


def _expected(mixing: Mixing, degrees: Integers, classes: Labels, hubs: Integers) -> _Expected:
    rates, degree, group = mixing.rates, degrees[hubs].astype(np.float64), classes[hubs]
    rest = mixing.stubs - np.bincount(group, weights=degree, minlength=CLASSES)
    rest_squares = mixing.squares - np.bincount(group, weights=degree**2, minlength=CLASSES)
    to_classes = rates[group] * degree[:, None] * np.maximum(rest, 0)[None, :]
    between = rates[np.ix_(group, group)] * np.outer(degree, degree)
    between = np.minimum(between, 0.98)
    np.fill_diagonal(between, 0)
    return _Expected(
        to_classes,
        to_classes + 0.1 * to_classes**2 + 0.25,
        between,
        between * (1 - between) + 1e-4,
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
    noisy: tuple[Floats, Floats, float] | None,
) -> HubRows | None:
    """Carry hub rows over to this timestamp and update them with a measurement.

    Parameters
    ----------
    before, still
        The rows of the last timestamp, and for each hub of this one its index there or −1.
    kept
        κ, the share of edges that is kept from one timestamp to the next.
    noisy
        Noisy edges of hubs × classes and hubs × hubs, and the variance of the noise.

    Returns
    -------
    None where nothing informative is left.
    """
    if noisy is None and (before is None or before.strength * kept <= FADED):
        return None
    expected = _expected(mixing, degrees, classes, hubs)
    unit = np.maximum(expected.classes, 1)
    to_classes = _Cells(np.zeros_like(unit), expected.class_variance)
    pairs = _Cells(np.zeros_like(expected.pairs), expected.pair_variance)
    strength = 1.0
    if before is not None:
        here = np.flatnonzero(still >= 0)
        there = still[here]
        old = _Cells(before.class_deviation[there], before.class_variance[there]).scaled(unit[here])
        to_classes = to_classes.carried(old, (here,), kept)
        old = _Cells(before.pair_deviation, before.pair_variance).at(np.ix_(there, there))
        pairs = pairs.carried(old, np.ix_(here, here), kept)
        strength = before.strength * kept
    if noisy is not None:
        noisy_classes, noisy_pairs, noise = noisy
        to_classes = to_classes.measured(noisy_classes - expected.classes, noise)
        pairs = pairs.measured(noisy_pairs - expected.pairs, noise)
        strength = 1.0
    stored = to_classes.scaled(1 / unit)
    return HubRows(
        hubs, stored.deviation, stored.variance, pairs.deviation, pairs.variance, strength
    )


@dataclass(frozen=True)
class _Cells:
    """Deviations from what the mixing of classes implies, and their variances."""

    deviation: Floats
    variance: Floats

    def scaled(self, unit: Floats) -> _Cells:
        return _Cells(self.deviation * unit, self.variance * unit**2)

    def at(self, index: Any) -> _Cells:
        return _Cells(self.deviation[index], self.variance[index])

    def carried(self, old: _Cells, index: Any, kept: float) -> _Cells:
        """Put old cells at `index`; what is not kept of them falls back to what is there now."""
        deviation, variance = self.deviation.copy(), self.variance.copy()
        deviation[index] = kept * old.deviation
        variance[index] = kept**2 * old.variance + (1 - kept**2) * self.variance[index]
        return _Cells(deviation, variance)

    def measured(self, observed: Floats, noise: float) -> _Cells:
        """Update every cell with a noisy deviation."""
        gain = self.variance / (self.variance + noise)
        deviation = self.deviation + gain * (observed - self.deviation)
        return _Cells(deviation, (1 - gain) * self.variance)


def with_hubs(rows: HubRows, mixing: Mixing, degrees: Integers, classes: Labels) -> Mixing:
    """Return the mixing matrix of classes and hubs; hub i has the label 12 + i."""
    expected = _expected(mixing, degrees, classes, rows.hubs)
    unit = np.maximum(expected.classes, 1)
    to_classes = np.maximum(expected.classes + rows.class_deviation * unit, 0)
    between = np.clip(expected.pairs + rows.pair_deviation, 0, 1)
    np.fill_diagonal(between, 0)
    rest = np.outer(expected.rest, expected.rest) - np.diag(expected.rest_squares)
    inner = mixing.rates * np.maximum(rest, 0)
    matrix = np.block([[inner, to_classes.T], [to_classes, between]])
    own = degrees[rows.hubs].astype(np.float64)
    stubs = np.concatenate([expected.rest, own])
    group = np.bincount(classes[rows.hubs], minlength=CLASSES)
    sizes = np.concatenate([mixing.sizes - group, np.ones(own.size, dtype=np.int64)])
    squares = np.concatenate([expected.rest_squares, own**2])
    return Mixing(rake(matrix, stubs, sizes), stubs, squares, sizes)
