"""How weights are distributed over edges, and which edges keep theirs.

Weights are counted in classes whose ends double, {1}, {2}, {3, 4}, {5, …, 8} and so on up to the
largest one, or by every integer where there are few. The noisy classes are filtered over time and
shrunk towards a usual distribution: without that, empty classes of large weights whose noise is
positive would add a quarter to the total. A synthetic edge draws a class and an integer in it; an
edge that was there before keeps its weight as often as edges keep their class in truth. All of it
is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Positions
from psgraph.graph.kind import pack
from psgraph.methods.plus.tracking import Track, laplace_variance

__all__ = [
    "Weights",
    "class_bounds",
    "doubling",
    "drawn_weights",
    "next_weights",
    "shrunk",
    "weight_classes",
]

FEW = 10  # largest weights up to this have a class for every weight
DRIFT, LEAST_SHARE = 0.0225, 0.005  # a class moves by 15 % of itself in a window
# Logarithms of shares fall by a slope, and by a bend times the square of the class: usual values of
# both, and their standard deviations.
SLOPE, BEND = (-0.5, 0.4), (0.08, 0.03)
NEAR = 0.2  # how far a class may be from the usual distribution, relative to it
ROUNDS = 60


@lru_cache(maxsize=64)
def class_bounds(largest: int) -> Integers:
    """Return the largest weight of each class.

    >>> class_bounds(5), class_bounds(100)
    (array([1, 2, 3, 4, 5]), array([  1,   2,   4,   8,  16,  32,  64, 100]))
    """
    return np.arange(1, largest + 1) if largest <= FEW else doubling(largest)


@lru_cache(maxsize=64)
def doubling(largest: int) -> Integers:
    """Return 1, 2, 4, 8, … up to the largest."""
    bounds = [1]
    while bounds[-1] < largest:
        bounds.append(min(2 * bounds[-1], largest))
    return np.array(bounds, dtype=np.int64)


def weight_classes(weight: Integers, largest: int) -> Integers:
    """Return the class of each weight.

    >>> weight_classes(np.array([1, 2, 3, 4, 5, 64]), 64)
    array([0, 1, 2, 2, 3, 6])
    """
    return np.searchsorted(class_bounds(largest), weight)


@dataclass(frozen=True, eq=False)
class Weights:
    """What is known of weights.

    Attributes
    ----------
    largest
        The largest weight, as declared.
    classes
        The filtered share of edges in each class.
    same
        The filtered share of all edges that stay and keep their class.
    shares
        The share of edges in each class after shrinking: adds up to 1.
    """

    largest: int
    classes: Track
    same: Track
    shares: Floats

    @classmethod
    def start(cls, largest: int) -> Weights:
        """Start with the usual distribution."""
        size = class_bounds(largest).size
        number = np.arange(float(size))
        usual = np.exp(SLOPE[0] * number - BEND[0] * number**2)
        unknown = Track.start(0.0, variance=0.08, drift=0.0025)
        return cls(largest, Track.unseen(size, drift=DRIFT), unknown, usual / usual.sum())

    def kept_chance(self, kept: float) -> float:
        """Return how likely an edge keeps its weight, given the share of edges that stay.

        Drawing again gives the same class by chance, which counts.
        """
        if kept == 0:
            return 0.0
        chance = float((self.shares**2).sum())
        same = min(float(self.same.level[0]) / kept, 1.0)
        return min(max((same - chance) / max(1 - chance, 1e-9), 0.0), 1.0)


def next_weights(
    before: Weights,
    *,
    noisy_classes: Integers | None,
    noisy_same: int | None,
    edges: int,
    edges_before: int,
    epsilon: float,
    epsilon_same: float,
) -> Weights:
    """Return what is known of weights after a timestamp.

    Parameters
    ----------
    noisy_classes, noisy_same
        Edges in each class, and edges that stayed in theirs; None where not measured.
    edges, edges_before
        The released numbers of edges of this timestamp and of the one before.
    epsilon, epsilon_same
        What the two readings were bought with.
    """
    classes, same, shares = before.classes, before.same, before.shares
    if noisy_classes is not None and edges:
        noise = laplace_variance(1 / epsilon) / edges**2
        scale = np.maximum(classes.level, LEAST_SHARE) ** 2
        classes = classes.observe(noisy_classes / edges, noise, scale)
        shares, _ = shrunk(classes, edges, SLOPE, BEND, near=NEAR)
    if noisy_same is not None and edges_before:
        noise = laplace_variance(1 / epsilon_same) / edges_before**2
        observed = np.array([noisy_same / edges_before])
        same = same.observe(observed, noise, np.ones(1)).clipped(0.0, 1.0)
    return Weights(before.largest, classes, same, shares)


def shrunk(
    track: Track,
    count: int,
    slope: tuple[float, float],
    bend: tuple[float, float],
    *,
    near: float,
) -> tuple[Floats, Floats]:
    """Return shares of classes that add up to 1, noisy ones moved to what is usual; their variance.

    Usual is a distribution whose shares fall from class to class, by a `slope` and a `bend` that
    have usual values and standard deviations, and from which a class may differ by `near`. It is
    fitted, the classes are shrunk to it by what their noise explains, and what is below 0 then is
    taken from all others alike (NormSub).
    """
    expected = _fitted(track.level, track.variance, slope, bend, near)
    spread = (near * expected + 1 / max(count, 1)) ** 2
    gain = spread / (spread + track.variance)
    return _norm_sub(expected + gain * (track.level - expected)), gain * track.variance


@lru_cache(maxsize=16)
def _candidates(
    size: int, slope: tuple[float, float], bend: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Distributions over classes with a slope and a bend, and how far from the usual each is."""
    slopes, bends = np.meshgrid(np.linspace(-3.0, 0.5, 36), np.linspace(0.0, 0.24, 13))
    number = np.arange(float(size))
    powers = np.exp(slopes.reshape(-1, 1) * number - bends.reshape(-1, 1) * number**2)
    unusual = ((slopes - slope[0]) / slope[1]) ** 2 + ((bends - bend[0]) / bend[1]) ** 2
    return powers / powers.sum(axis=1, keepdims=True), unusual.ravel()


def _fitted(
    level: Floats,
    variance: Floats,
    slope: tuple[float, float],
    bend: tuple[float, float],
    near: float,
) -> Floats:
    """Return the mean of all candidates, weighted by how well they explain the noisy shares."""
    fits, unusual = _candidates(level.size, slope, bend)
    # A class differs from the fit by more than its noise, which is allowed for.
    allowed = variance + (near * fits) ** 2
    misfit = ((level - fits) ** 2 / allowed + np.log(allowed)).sum(axis=1) + unusual
    chances = np.exp((misfit.min() - misfit) / 2)
    return np.asarray(chances @ fits / chances.sum())


def _norm_sub(shares: Floats) -> Floats:
    """Subtract a constant and cut at 0, so that the sum is 1."""
    low, high = float(shares.min()) - 1.0, float(shares.max())
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        if float(np.maximum(shares - middle, 0).sum()) > 1:
            low = middle
        else:
            high = middle
    positive = np.maximum(shares - low, 0)
    return np.asarray(positive / positive.sum())


# ---- drawing


def drawn_weights(
    weights: Weights,
    u: Positions,
    v: Positions,
    before: tuple[Positions, Positions, Integers] | None,
    kept: float,
    rng: np.random.Generator,
) -> Integers:
    """Draw a weight for every edge.

    Parameters
    ----------
    u, v
        Positions in ascending order.
    before
        Ends and weights of the release before, at positions of this roster.
    kept
        The share of edges that stay.
    """
    chosen = np.zeros(u.size, dtype=np.int64)
    if before is not None and u.size:
        chosen = _kept_weights(u, v, before, weights.kept_chance(kept), rng)
    open_ = np.flatnonzero(chosen == 0)
    have = np.bincount(
        weight_classes(chosen[chosen > 0], weights.largest), minlength=weights.shares.size
    )
    missing = np.maximum(weights.shares * u.size - have, 0)
    if not missing.any():
        missing = weights.shares
    # Evenly spread points of the cumulative shares: classes come out as often as they should.
    points = (rng.random() + np.arange(open_.size)) / max(open_.size, 1)
    classes = np.searchsorted(np.cumsum(missing) / missing.sum(), points, side="right")
    classes = np.minimum(rng.permutation(classes), weights.shares.size - 1)
    chosen[open_] = _inside(weights, classes, rng)
    return chosen


def _kept_weights(
    u: Positions,
    v: Positions,
    before: tuple[Positions, Positions, Integers],
    chance: float,
    rng: np.random.Generator,
) -> Integers:
    """The weights of edges that were there before and keep theirs, 0 for the others."""
    keys, old = pack(u, v), pack(before[0], before[1])
    order = np.argsort(old, kind="stable")
    at = np.minimum(np.searchsorted(old[order], keys), max(old.size - 1, 0))
    if not old.size:
        return np.zeros(u.size, dtype=np.int64)
    found = order[at]
    stays = (old[found] == keys) & (rng.random(u.size) < chance)
    return np.where(stays, before[2][found], 0)


def _inside(weights: Weights, classes: Integers, rng: np.random.Generator) -> Integers:
    """Integers in their classes, of a density that falls as one over the weight squared."""
    high = class_bounds(weights.largest)
    low = np.concatenate([[1], high[:-1] + 1])
    first, last = 1 / low[classes], 1 / (high[classes] + 1)
    drawn = (1 / (last + rng.random(classes.size) * (first - last))).astype(np.int64)
    return np.clip(drawn, low[classes], high[classes])
