"""Edges between public labels: what was measured, filtered over time and shrunk.

Two counts are asked: edges by the *pattern of agreement* of their ends (same label or not), and
edges by pair of labels. The block matrix is estimated in three levels, each shrunk towards the one
above as far as noise explains the difference: what degrees and degree classes predict, one ratio
for each pattern, single cells. Where released counts show that labels explain nothing, they are
not used. All of it is post-processing.

Matrices of labels are symmetric and count edges inside a label twice, as `Mixing` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph.methods.plus.label_book import LabelBook
from psgraph.methods.plus.mixing import CLASSES, Mixing, rake
from psgraph.methods.plus.tracking import Track, laplace_variance

__all__ = ["LabelBlocks", "LabelReadings", "by_chance", "label_need"]

DRIFT = 0.0025
LEAST_SHARE, LEAST_CELL = 0.05, 0.003  # on which the drift of a share and of a cell depends
WANTED_DOUBT = 0.04  # the standard deviation that the share of agreeing edges should have
CERTAIN = 0.002  # no possible pattern has a share below this
ROUNDS = 6  # of scaling patterns and raking
AGREEING, OTHERS = (
    0.15,
    0.6,
)  # relative variance of cells around their pattern, before they are seen
MOST_SPREAD = 9.0
LEAST_OF_MODEL = 0.05
KURTOSIS = 5.0  # of Laplace noise, less one: the variance of its square
CLEAR, STILL_CLEAR = 3.0, 2.0  # standard deviations from labels that explain nothing
# Measurements before shares are followed between windows, and how far one has to move for that.
FEWEST_TO_FOLLOW, LEAST_SWING = 2, 0.02
LARGE, STILL_LARGE = 0.03, 0.02  # the share of edges that labels have to move


@dataclass(frozen=True)
class LabelReadings:
    """What was released about public labels.

    Attributes
    ----------
    noisy_agreement
        P: edges by the pattern of agreement of their ends.
    noisy_edges
        B: edges by pair of labels. None where only P was asked.
    """

    noisy_agreement: Integers
    noisy_edges: Integers | None


@dataclass(frozen=True)
class LabelBlocks:
    """What is known about edges between labels.

    Attributes
    ----------
    shares
        The filtered share of edges with each pattern of agreement but the first.
    cells
        The filtered share of edges in each pair of labels.
    used
        Whether graphs follow them: only if they explain something.
    asked
        How often both were measured.
    stale
        Whether the shares were measured again since the cells were.
    """

    book: LabelBook
    shares: Track
    cells: Track
    used: bool = False
    asked: int = 0
    stale: bool = False

    @classmethod
    def start(cls, book: LabelBook) -> LabelBlocks:
        """Start without a measurement."""
        return cls(
            book,
            Track.unseen(book.patterns - 1, drift=DRIFT),
            Track.unseen(book.cells, drift=DRIFT),
        )

    def observed(
        self,
        readings: LabelReadings,
        *,
        edges: int,
        edges_variance: float,
        agreement: Fraction,
        label_edges: Fraction,
    ) -> LabelBlocks:
        """Update with noisy counts.

        Parameters
        ----------
        edges, edges_variance
            The filtered number of edges, and how uncertain it is.
        agreement, label_edges
            The ε of the two counts.
        """
        noisy, patterns = readings.noisy_agreement, self.book.patterns
        noise, total = laplace_variance(float(1 / agreement)), float(noisy.sum())
        weight = patterns * noise / (patterns * noise + edges_variance)
        level = max(weight * edges + (1 - weight) * total, 1.0)
        doubt = weight * edges_variance
        share = np.clip((noisy + (level - total) / patterns) / level, 0.0, 1.0)[1:]
        variance = (noise * (1 - 1 / patterns) + doubt / patterns**2) / level**2
        known = np.where(self.shares.seen, self.shares.level, share)
        shares = self.shares.observe(share, variance, np.maximum(known, LEAST_SHARE) ** 2)
        cells = self.cells
        if readings.noisy_edges is not None:
            noise = laplace_variance(float(1 / label_edges)) / level**2
            scale = np.maximum(cells.level, LEAST_CELL) ** 2
            cells = cells.observe(readings.noisy_edges / level, noise, scale)
        stale = readings.noisy_edges is None
        asked = self.asked + (not stale)
        return replace(self, shares=shares, cells=cells, asked=asked, stale=stale)

    def swings(self, *, edges: float, epsilon: Fraction) -> bool:
        """Whether the share of agreeing edges moves enough that measuring it once more pays.

        Privacy: all arguments are public or released.

        Parameters
        ----------
        edges, epsilon
            About how many edges there are, and the ε that one more measurement would have.
        """
        if not self.used or self.asked < FEWEST_TO_FOLLOW or not epsilon:
            return False
        noise = laplace_variance(float(1 / epsilon)) / (2 * max(edges, 1.0) ** 2)
        moved = self.shares.drift * float((np.maximum(self.shares.level, LEAST_SHARE) ** 2).max())
        return moved >= max(noise, LEAST_SWING**2)

    def decided(self, chance: Mixing) -> LabelBlocks:
        """Decide whether labels are used, after a measurement."""
        if not self.cells.seen.all() or chance.stubs.sum() == 0:
            return replace(self, used=False)
        clear, large = (STILL_CLEAR, STILL_LARGE) if self.used else (CLEAR, LARGE)
        estimate = _Estimate(self, chance)
        moved = float(np.abs(estimate.blocks - chance.matrix).sum() / (2 * chance.stubs.sum()))
        return replace(self, used=estimate.evidence >= clear and moved >= large)

    def blocks(self, chance: Mixing) -> Floats:
        """Return the estimated edges between labels."""
        return _Estimate(self, chance).blocks


def label_need(edges: float) -> float:
    """Return the ε that tells the share of agreeing edges well enough, for both counts."""
    return 2 * math.sqrt(2) / (WANTED_DOUBT * max(edges, 1.0))


def by_chance(
    mixing: Mixing, degrees: Integers, classes: Labels, codes: Labels, count: int
) -> Mixing:
    """Return the edges between labels that degrees and the mixing of classes predict."""
    keys = classes.astype(np.int64) * count + codes
    cells = CLASSES * count
    stubs = np.bincount(keys, weights=degrees, minlength=cells).reshape(CLASSES, count)
    squares = np.bincount(keys, weights=degrees.astype(np.float64) ** 2, minlength=cells)
    squares = squares.reshape(CLASSES, count)
    rates = mixing.rates
    matrix = stubs.T @ rates @ stubs - np.diag(rates.diagonal() @ squares)
    sizes, totals = np.bincount(codes, minlength=count), stubs.sum(axis=0)
    raked = rake(np.maximum(matrix, 0.0), totals, sizes)
    return Mixing(raked, totals, squares.sum(axis=0), sizes)


class _Estimate:
    """The block matrix that follows from what is known, and how clearly it is not by chance."""

    def __init__(self, known: LabelBlocks, chance: Mixing) -> None:
        book = known.book
        self._patterns, self._chance = book.agreement, chance
        self._count = book.patterns
        a, b = book.pairs
        self._a, self._b, self._kind = a, b, book.cell_patterns
        self._twice = np.where(a == b, 2.0, 1.0)
        edges = float(chance.stubs.sum()) / 2
        self._measured = known.cells.level * edges * self._twice
        self._noise = known.cells.variance * edges**2 * self._twice**2
        shares, pattern_evidence = self._shares(known, edges)
        model = self._scaled(chance.matrix, shares)
        cells, cell_evidence = self._cells(model[a, b])
        matrix = np.zeros_like(model)
        matrix[a, b] = matrix[b, a] = cells
        self.blocks = self._scaled(matrix, shares)
        self.evidence = max(pattern_evidence, cell_evidence)

    def _shares(self, known: LabelBlocks, edges: float) -> tuple[Floats, float]:
        """The share of edges with each pattern, shrunk towards that by chance."""
        matrix, total = self._chance.matrix, max(float(self._chance.matrix.sum()), 1e-9)
        chance = np.bincount(self._patterns.ravel(), weights=matrix.ravel()) / total
        summed, doubt = (
            np.bincount(self._kind, weights=values, minlength=self._count)[1:]
            for values in (known.cells.level, known.cells.variance)
        )
        share, variance = known.shares.level, known.shares.variance
        if not known.stale:
            share = (share * doubt + summed * variance) / (doubt + variance)
            variance = doubt * variance / (doubt + variance)
        apart = share - chance[1:]
        possible = chance[1:] > 0
        by_noise = variance + chance[1:] * (1 - chance[1:]) / max(edges, 1.0)
        evidence = float((np.abs(apart) / np.sqrt(by_noise))[possible].max(initial=0.0))
        kept = np.maximum(1 - variance / np.maximum(apart**2, 1e-300), 0.0)
        share = np.clip(chance[1:] + kept * apart, CERTAIN, 1 - CERTAIN) * possible
        share *= min(1.0, (1 - CERTAIN) / max(float(share.sum()), 1e-9))
        return np.concatenate([[1 - share.sum()], share]), evidence

    def _scaled(self, matrix: Floats, shares: Floats) -> Floats:
        """Scale patterns to their shares and rows to their stubs, alternately."""
        stubs, sizes, total = self._chance.stubs, self._chance.sizes, self._chance.stubs.sum()
        kinds = self._patterns.ravel()
        for _ in range(ROUNDS):
            sums = np.bincount(kinds, weights=matrix.ravel(), minlength=self._count)
            factor = np.divide(shares * total, sums, out=np.ones_like(sums), where=sums > 0)
            matrix = rake(matrix * factor[self._patterns], stubs, sizes)
        return matrix

    def _cells(self, model: Floats) -> tuple[Floats, float]:
        """Single cells, shrunk towards the model; and how clearly they differ from it."""
        cells, evidence = model.copy(), 0.0
        for kind in range(self._count):
            which = (self._kind == kind) & (model > 0)
            if not which.any():
                continue
            x, y, noise = model[which], self._measured[which], self._noise[which]
            usual = AGREEING if kind else OTHERS
            spread, found = _spread(x, y, noise, usual, chance=noise + x * self._twice[which])
            gain = spread * x**2 / (spread * x**2 + noise)
            cells[which] = np.maximum(x + gain * (y - x), LEAST_OF_MODEL * x)
            evidence = max(evidence, found)
        return cells, evidence


def _spread(
    x: Floats, y: Floats, noise: Floats, usual: float, *, chance: Floats
) -> tuple[float, float]:
    """How far cells are from the model, as a relative variance; and how clearly they are.

    By moments, with a prior of mean and standard deviation `usual`.
    """
    weight = (noise + usual * x**2) ** -2.0
    squares = (y - x) ** 2
    information = float((weight * x**4).sum())
    found = float((weight * x**2 * (squares - noise)).sum()) / information
    doubt = KURTOSIS * float((weight**2 * x**4 * (noise + usual * x**2) ** 2).sum())
    doubt /= information**2
    spread = (found / doubt + 1 / usual) / (1 / doubt + 1 / usual**2)
    excess = float((weight * (squares - chance)).sum())
    deviation = math.sqrt(KURTOSIS * float((weight**2 * chance**2).sum()))
    return min(max(spread, 0.0), MOST_SPREAD), excess / max(deviation, 1e-300)
