"""Which out-degree goes with which in-degree: the joint distribution of the two degrees of a node.

The two are filtered apart, but a node without out-edges often has no in-edges either. Degrees are
taken in classes 0, 1, 2, 3–4, 5–8 and so on. A Gaussian copula joins the two fitted distributions;
its correlation is what the degrees of the nodes, the number of nodes with any edge and the number
of reciprocated edges make likely. Nodes are then ranked on each side by what both of their degrees
say. Without this, reciprocated edges could not be placed. All of it is post-processing of released
values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph._runtime.jit import kernel
from psgraph.methods.plus.curve import DegreeCurve
from psgraph.methods.plus.grid import degree_grid
from psgraph.methods.plus.tracking import Track

__all__ = ["Coupling", "aligned", "coupled_levels", "coupling", "pooled"]

USUAL = 1.15  # correlation, as a multiple of the root of reciprocity
# The variance of the strength that reciprocity suggests: 0 is for independent degrees, 1 for the
# closest coupling.
DOUBT = 0.03
CORRELATIONS = np.append(np.linspace(0, 0.95, 20), 0.98)  # of the copula, that are tried
POINTS = 24  # of a class, over which the copula is integrated
ROUNDS = 8  # of raking
SAMPLE = 4_000  # nodes that raking looks at
LEAST = 1e-12
FIXED, FEWEST_FIXED = 0.01, 15  # the largest nodes of a side, which keep their ranks
ABOVE = 20.0  # no two ranks of a normal distribution are that far apart


Degrees = tuple[Floats, Floats, Floats, Floats]
"""Filtered degrees on the one side and their variances, then those on the other."""


@dataclass(frozen=True)
class Coupling:
    """The joint distribution of the classes of the two degrees of a node: out × in."""

    joint: Floats

    @property
    def margins(self) -> tuple[Floats, Floats]:
        return self.joint.sum(axis=1), self.joint.sum(axis=0)


def coupling(
    curves: Sequence[DegreeCurve],
    estimates: Sequence[Floats],
    variances: Sequence[Floats],
    *,
    active: tuple[float, float],
    reciprocity: float,
) -> Coupling:
    """Return the coupling of two fitted distributions, by all that is known of it.

    Parameters
    ----------
    curves
        The fitted distributions of out- and of in-degrees.
    estimates, variances
        Filtered out- and in-degrees. The variance is infinite for nodes never measured.
    active
        The share of nodes that have an edge and its variance, infinite if it is not known.
    reciprocity
        The share of edges whose reverse is there as well.
    """
    one, other = (_class_shares(curve) for curve in curves)
    joints = np.stack([_joint(one, other, float(each)) for each in CORRELATIONS])
    apart = float(one[0] * other[0])
    room = max(float(min(one[0], other[0])) - apart, 1e-6)
    strengths = (joints[:, 0, 0] - apart) / room
    usual = USUAL * math.sqrt(min(max(reciprocity, 0.0), 1.0))
    suggested = float(np.interp(usual, CORRELATIONS, strengths))
    belief = -((strengths - suggested) ** 2) / (2 * DOUBT)
    share, variance = active
    if math.isfinite(variance):
        reading = (1 - share - apart) / room
        belief -= (strengths - reading) ** 2 / (2 * variance / room**2)
    ratios = joints / np.outer(one, other)
    sample = _sampled(estimates, variances)
    weights = _raked(sample, one, other, np.ones(ratios.shape[1:]))
    belief += _evidence(*sample, one, other, ratios, *weights)
    chances = np.exp(belief - belief.max())
    return Coupling((joints * (chances / chances.sum())[:, None, None]).sum(axis=0))


def _sampled(estimates: Sequence[Floats], variances: Sequence[Floats]) -> Degrees:
    """Some of the nodes: of every size as many as there are."""
    step = max(estimates[0].size // SAMPLE, 1)
    chosen: Any = slice(None)
    if step > 1:
        chosen = np.argsort(estimates[0] + estimates[1], kind="stable")[step // 2 :: step]
    one, other = (each[chosen] for each in estimates)
    spread, other_spread = (each[chosen] for each in variances)
    return one, spread, other, other_spread


def pooled(one: Track, other: Track) -> tuple[Track, Track, float]:
    """Return the curves of both sides, moved towards their mean as far as they differ by noise.

    A James–Stein estimate: the squared distance of the two has the variance of their noise in it.
    """
    size = min(one.level.size, other.level.size)
    known = np.flatnonzero(one.seen[:size] & other.seen[:size])
    if not known.size:
        return one, other, 0.0
    first, second = one.level[known], other.level[known]
    noise = one.variance[known] + other.variance[known]
    explained = float(noise.sum()) / max(float(((first - second) ** 2).sum()), LEAST)
    apart = max(1 - explained, 0.0)
    mean, half = (first + second) / 2, apart * (first - second) / 2
    result = []
    for track, level in ((one, mean + half), (other, mean - half)):
        levels, variances = track.level.copy(), track.variance.copy()
        levels[known] = level
        variances[known] = noise / 4 + apart**2 * noise / 4
        result.append(replace(track, level=levels, variance=variances))
    return result[0], result[1], 1 - apart


def _class_shares(curve: DegreeCurve) -> Floats:
    """The share of nodes in each class under a fitted distribution."""
    grid = degree_grid(curve.nodes)
    edges = np.concatenate([grid.low, grid.high[-1:]]).astype(np.float64)
    below = np.concatenate([[0.0], np.cumsum(curve.density)])
    starts = np.minimum(_starts(curve.nodes), edges[-1])
    shares = np.diff(np.append(np.interp(starts, edges, below), 1.0))
    return np.maximum(shares, LEAST) / np.maximum(shares, LEAST).sum()


def _starts(nodes: int) -> Floats:
    """The smallest degree of each class below `nodes`: 0, 1, 2, 3, 5, 9, …"""
    count = 2 + max(math.ceil(math.log2(max(nodes - 1, 1))), 0)
    return np.array([0, 1] + [1 + 2**k for k in range(count - 2)], dtype=np.float64)


def _joint(one: Floats, other: Floats, correlation: float) -> Floats:
    """The Gaussian copula with these margins, by classes."""
    from scipy.special import ndtr, ndtri

    if correlation == 0:
        return np.outer(one, other)
    ends = ndtri(np.clip(np.cumsum(other)[:-1], LEAST, 1 - LEAST))
    starts = np.concatenate([[0.0], np.cumsum(one)[:-1]])
    inside = (np.arange(POINTS) + 0.5) / POINTS
    values = ndtri(np.clip(starts[:, None] + one[:, None] * inside, LEAST, 1 - LEAST))
    spread = math.sqrt(1 - correlation**2)
    below = ndtr((ends - correlation * values[:, :, None]) / spread).mean(axis=1)
    below = np.concatenate([np.zeros((one.size, 1)), below, np.ones((one.size, 1))], axis=1)
    joint = np.maximum(one[:, None] * np.diff(below, axis=1), LEAST**2)
    for _ in range(3):  # sums over columns are only nearly right
        joint *= other / joint.sum(axis=0)
        joint *= (one / joint.sum(axis=1))[:, None]
    return joint


def coupled_levels(
    found: Coupling, estimates: Sequence[Floats], variances: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Return for each side the class that every node is expected in, given both of its degrees.

    Parameters
    ----------
    estimates, variances
        Filtered out- and in-degrees. The variance is infinite for nodes never measured.
    """
    one, other = found.margins
    ratio = found.joint / np.outer(one, other)
    weights = _raked(_sampled(estimates, variances), one, other, ratio)
    levels = np.zeros(estimates[0].size), np.zeros(estimates[0].size)
    everyone = estimates[0], variances[0], estimates[1], variances[1]
    sums = np.zeros(one.size), np.zeros(other.size)
    _expect(*everyone, one, other, ratio, *weights, *sums, *levels)
    return levels


def _raked(sample: Degrees, one: Floats, other: Floats, ratio: Floats) -> tuple[Floats, Floats]:
    """Weights of classes with which nodes are on average distributed as the curves say."""
    weights, nothing = (np.ones(one.size), np.ones(other.size)), np.zeros(0)
    for _ in range(ROUNDS):
        sums = np.zeros(one.size), np.zeros(other.size)
        _expect(*sample, one, other, ratio, *weights, *sums, nothing, nothing)
        for each, margin, found in zip(weights, (one, other), sums, strict=True):
            each *= margin / np.maximum(found / found.sum(), LEAST)
            np.clip(each, 1e-6, 1e6, out=each)
    return weights


def aligned(levels: Sequence[Floats], strength: float) -> list[Floats]:
    """Return numbers that order the nodes of each side, closer to one order for both.

    Expected classes vary less than classes do, and so does what the two have in common. Ranks are
    moved towards their mean over both sides by `strength`, but for the largest nodes of a side.
    """
    scores = [_scores(expected) for expected in levels]
    common = (scores[0] + scores[1]) / 2
    largest = min(common.size, max(FEWEST_FIXED, math.ceil(FIXED * common.size)))
    result = []
    for score in scores:
        moved = score + strength * (common - score)
        top = np.argsort(-score, kind="stable")[:largest]
        moved[top] = score[top] + ABOVE
        result.append(moved)
    return result


def _scores(values: Floats) -> Floats:
    """Ranks as values of a normal distribution, ties at their mean; all are above 0."""
    from scipy.special import ndtri

    ordered = np.sort(values)
    first = np.searchsorted(ordered, values, side="left")
    last = np.searchsorted(ordered, values, side="right")
    return ndtri((first + last) / (2.0 * max(values.size, 1))) + ABOVE


@kernel
def _level(degree: float) -> float:
    """A degree on the scale of classes: class a reaches from a − ½ to a + ½."""
    if degree <= 2.5:
        return degree
    return 2.5 + math.log2((degree - 0.5) / 2.0)


@kernel
def _chances(mean: float, variance: float, shares: Floats, weights: Floats, out: Floats) -> None:
    """Class probabilities of a normal degree, times weights."""
    if not math.isfinite(variance):
        for a in range(out.size):
            out[a] = shares[a] * weights[a]
        return
    scale = 1.0 / math.sqrt(2.0 * max(variance, 1e-4))
    before, end, total = 0.0, 0.5, 0.0
    for a in range(out.size):
        below = 0.5 * math.erfc((mean - end) * scale) if a + 1 < out.size else 1.0
        out[a] = max(below - before, 0.0)
        total += out[a]
        before = below
        end = end + 1.0 if a < 2 else 2.0 * end - 0.5
    for a in range(out.size):
        out[a] = (out[a] / total + 1e-9) * weights[a]


@kernel
def _evidence(
    mean: Floats,
    variance: Floats,
    other_mean: Floats,
    other_variance: Floats,
    shares: Floats,
    other_shares: Floats,
    ratios: Floats,
    weights: Floats,
    other_weights: Floats,
) -> Floats:
    """The logarithm of how likely the degrees of all nodes are under each coupling."""
    found = np.zeros(ratios.shape[0])
    one, other = np.empty(shares.size), np.empty(other_shares.size)
    for node in range(mean.size):
        _chances(mean[node], variance[node], shares, weights, one)
        _chances(other_mean[node], other_variance[node], other_shares, other_weights, other)
        whole = one.sum() * other.sum()
        for index in range(found.size):
            total = 0.0
            for a in range(one.size):
                added = 0.0
                for b in range(other.size):
                    added += other[b] * ratios[index, a, b]
                total += one[a] * added
            found[index] += math.log(max(total / whole, 1e-300))
    return found


@kernel
def _expect(
    mean: Floats,
    variance: Floats,
    other_mean: Floats,
    other_variance: Floats,
    shares: Floats,
    other_shares: Floats,
    ratio: Floats,
    weights: Floats,
    other_weights: Floats,
    sums: Floats,
    other_sums: Floats,
    level: Floats,
    other_level: Floats,
) -> None:
    """Add up class probabilities given both degrees; expected levels, if there is room for them."""
    one, other = np.empty(shares.size), np.empty(other_shares.size)
    row, column = np.empty(shares.size), np.empty(other_shares.size)
    for node in range(mean.size):
        _chances(mean[node], variance[node], shares, weights, one)
        _chances(other_mean[node], other_variance[node], other_shares, other_weights, other)
        column[:] = 0.0
        total = 0.0
        for a in range(one.size):
            added = 0.0
            for b in range(other.size):
                joint = one[a] * other[b] * ratio[a, b]
                added += joint
                column[b] += joint
            row[a] = added
            total += added
        for a in range(one.size):
            sums[a] += row[a] / total
        for b in range(other.size):
            other_sums[b] += column[b] / total
        if level.size:
            at, there = _level(mean[node]), _level(other_mean[node])
            level[node] = _expected(row, total, at)
            other_level[node] = _expected(column, total, there)


@kernel
def _expected(weights: Floats, total: float, at: float) -> float:
    """The mean of the level: in each class the one nearest to `at`."""
    mean = 0.0
    for a in range(weights.size):
        mean += weights[a] / total * min(max(at, a - 0.5), a + 0.5)
    return mean
