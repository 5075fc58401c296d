"""The degree of every node, filtered over time.

Every node ever seen has a mean and a variance, stored in single precision. Between two
measurements its degree drifts with variance q₁x + q₂x² per step, and with a small probability it
is replaced by a fresh draw from the degree distribution. Both rates are learned from the released
degrees. All of it is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Singles
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import distinct
from psgraph.graph import Roster
from psgraph.graph.roster import Ids
from psgraph.methods.plus.curve import DegreeCurve
from psgraph.methods.plus.grid import degree_grid, log_likelihood, moments_inside
from psgraph.methods.plus.tracking import laplace_variance

__all__ = ["Drift", "Nodes", "filter_degrees", "laplace_update", "measured_nodes"]

FEW_KNOWN = 20  # with at most this many measured nodes nothing is known about drift
FEW_NEW = 6
LEAST_DRIFT = 0.02
MOST_RESET = 0.98
LEAST_RESET = 0.0005
NARROW, WIDE = (0.75, 0.4), (0.25, 2.8)  # weights and variance factors: drift has heavy tails
FURTHEST = 2**31  # noise beyond it has no chance, but an auditor may choose such answers
MOST_VARIANCE = 2.0**100  # finite in single precision; infinite means never measured


@dataclass(frozen=True)
class Drift:
    """How degrees change: what has been learned from pairs of measurements.

    Attributes
    ----------
    information, moment
        A and B of the weighted least squares A q = B.
    rates
        q₁, q₂.
    resets, exposure
        Discounted number of resets, and of node steps in which they could have happened.
    known
        Whether any pair of measurements has been seen.
    """

    information: Floats
    moment: Floats
    rates: Floats
    resets: float
    exposure: float
    known: bool

    @classmethod
    def start(cls) -> Drift:
        """Start with a weak prior."""
        information, rates = np.diag([1.0, 1 / 0.09]), np.array([0.02, 0.0005])
        return cls(information, information @ rates, rates, 1.0, 200.0, False)

    @property
    def reset(self) -> float:
        """π, the probability of a reset in one step."""
        return float(np.clip(self.resets / self.exposure, LEAST_RESET, MOST_RESET))

    def variance(self, mean: Floats) -> Floats:
        """Return the variance a degree gains in one step."""
        return np.maximum(self.rates[0] * mean + self.rates[1] * mean**2, LEAST_DRIFT)

    def learned(
        self, mean: Floats, variance: Floats, noisy: Floats, *, noise: float, steps: int
    ) -> Drift:
        """Learn q₁ and q₂ from how far noisy degrees are from the old estimates."""
        total = noise + variance + steps * self.variance(mean)
        weight = 1 / (5 * total**2)
        excess = np.minimum((noisy - mean) ** 2 - noise - variance, 30 * total)
        one, two = steps * mean, steps * mean**2
        cross = float((weight * one * two).sum())
        gained = np.array(
            [[float((weight * one**2).sum()), cross], [cross, float((weight * two**2).sum())]]
        )
        information = 0.95 * self.information + gained
        moment = 0.95 * self.moment + np.array(
            [float((weight * one * excess).sum()), float((weight * two * excess).sum())]
        )
        rates = _non_negative(information, moment)
        return replace(self, information=information, moment=moment, rates=rates, known=True)


def _non_negative(information: Floats, moment: Floats) -> Floats:
    """Minimise ½ q'Aq − B'q over q₁, q₂ ≥ 0.

    >>> _non_negative(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, 0.0]))
    array([1.5, 0. ])
    """
    (a, cross), (_, b) = information
    first, second = moment
    free = np.array([b * first - cross * second, a * second - cross * first]) / (a * b - cross**2)
    if (free >= 0).all():
        return free
    candidates = (max(first, 0.0) / a, 0.0), (0.0, max(second, 0.0) / b)
    values = [0.5 * q @ information @ q - moment @ q for q in map(np.array, candidates)]
    return np.array(candidates[int(np.argmin(values))])


@dataclass(frozen=True)
class Nodes:
    """The filtered degrees of all nodes ever seen.

    Attributes
    ----------
    roster, away
        The nodes of the last timestamp, and those seen before that are not among them.
    mean, variance
        The estimated degree and its variance, infinite for a node never measured; first of the
        nodes of the roster, then of those that are away.
    ties
        A random number for each of them, drawn once: it orders nodes with equal estimates.
    fresh_mean
        What a node that was never measured is assumed to have.
    released
        The timestamp of the last measurement, −1 if there was none.
    drift
        How degrees change.
    """

    roster: Roster
    away: Roster
    mean: Singles
    variance: Singles
    ties: Singles
    fresh_mean: float
    released: int
    drift: Drift

    @classmethod
    def start(cls) -> Nodes:
        """Start without nodes."""
        nobody, none = Roster.range(0), np.zeros(0, dtype=np.float32)
        return cls(nobody, nobody, none, none, none, 1.0, -1, Drift.start())

    def joined(self, roster: Roster, rng: np.random.Generator) -> Nodes:
        """Move to the roster of the next timestamp; its new nodes get a random number each."""
        if roster == self.roster:
            return self
        known = self
        if len(self.roster) and len(roster) and self.roster.strings != roster.strings:
            known = replace(Nodes.start(), fresh_mean=self.fresh_mean, drift=self.drift)
        where, others = known._positions(roster)
        index = np.concatenate([where, others])
        new = np.flatnonzero(index < 0)
        mean, variance, ties = (
            np.append(values, values.dtype.type(0))[index]
            for values in (known.mean, known.variance, known.ties)
        )
        variance[new] = np.inf
        ties[new] = rng.random(new.size, dtype=np.float32)
        away = Roster(known._ids[others])
        return replace(known, roster=roster, away=away, mean=mean, variance=variance, ties=ties)

    @property
    def _ids(self) -> Ids:
        if not len(self.away):
            return self.roster.ids
        return np.concatenate([self.roster.ids, self.away.ids])

    def _positions(self, roster: Roster) -> tuple[Integers, Integers]:
        """Return where the nodes of a roster are, −1 for new ones, and all others by their id."""
        where = self.roster.positions(roster.ids).astype(np.int64)
        missing = np.flatnonzero(where < 0)
        found = self.away.positions(roster.ids[missing])
        where[missing] = np.where(found >= 0, found + len(self.roster), -1)
        left = np.ones(self.mean.size + 1, dtype=bool)
        left[where] = left[-1] = False
        others = np.flatnonzero(left)
        return where, others[np.argsort(self._ids[others])]

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Whether each node of the roster has ever been measured."""
        return np.isfinite(self.variance[: len(self.roster)])

    @property
    def degrees(self) -> Floats:
        """The estimated degrees of the nodes of the roster."""
        known = np.maximum(self.mean[: len(self.roster)].astype(np.float64), 0)
        return np.where(self.measured, known, self.fresh_mean)

    def scaled(self, factor: float) -> Nodes:
        """Multiply all degrees by a factor, and doubt them the more the further it is from 1."""
        if factor == 1:
            return self
        mean = self.mean * np.float32(factor)
        doubt = np.float32(min(abs(math.log(factor)), 1.0)) * mean
        return replace(
            self,
            mean=mean,
            variance=self.variance * np.float32(factor**2) + doubt**2,
            fresh_mean=self.fresh_mean * factor,
        )


def measured_nodes(
    nodes: Nodes,
    noisy: Integers,
    *,
    scale: float,
    timestamp: int,
    curve: DegreeCurve,
    resets: bool = True,
    jump: float = 0.0,
    learns: bool = True,
) -> Nodes:
    """Update the nodes of the roster with noisy degrees.

    Parameters
    ----------
    scale
        The scale of the Laplace noise.
    curve
        The fitted degree distribution: the prior of a node never measured.
    resets
        Whether a node's degree may be replaced by a fresh draw.
    jump
        How far the edge count has jumped since the last measurement, on a log scale: the further,
        the more nodes are likely to have been replaced.
    learns
        Whether what changed since the last measurement is called drift.
    """
    if not noisy.size:
        return replace(nodes, released=timestamp)
    noise = laplace_variance(scale)
    noisy = np.clip(noisy, -FURTHEST, FURTHEST)
    fresh_mean, fresh_variance, fresh_evidence = _fresh(curve, noisy, scale)
    mean, variance = nodes.mean[: noisy.size], nodes.variance[: noisy.size]
    old, drift = nodes.measured, nodes.drift
    if np.count_nonzero(old) <= FEW_KNOWN:
        old = np.zeros(old.size, dtype=bool)
    means, variances = fresh_mean, fresh_variance
    if old.any():
        steps = timestamp - nodes.released
        where = slice(None) if old.all() else old  # a slice copies nothing
        x, p, y = (values[where].astype(np.float64) for values in (mean, variance, noisy))
        fresh = fresh_mean[where], fresh_variance[where], fresh_evidence[where]
        if learns:
            drift = drift.learned(x, p, y, noise=noise, steps=steps)
        chance = 0.0
        if resets:
            chance = min(MOST_RESET, max(drift.reset * steps, -math.expm1(-jump)))
        filtered = filter_degrees(x, p, steps * drift.variance(x), y, scale, chance, *fresh)
        means[where], variances[where], replaced = filtered
        del p, y, fresh, filtered
        if learns:
            drift = replace(
                drift,
                resets=0.8 * drift.resets + float(replaced.sum()),
                exposure=0.8 * drift.exposure + steps * x.size,
            )
    new = means[~old]
    fresh_level = new.mean() if new.size >= FEW_NEW and old.any() else np.median(means)
    all_means, all_variances = nodes.mean.copy(), nodes.variance.copy()
    all_means[: noisy.size] = np.clip(means, -FURTHEST, FURTHEST)
    all_variances[: noisy.size] = np.minimum(variances, MOST_VARIANCE)
    return replace(
        nodes,
        mean=all_means,
        variance=all_variances,
        fresh_mean=float(fresh_level),
        released=timestamp,
        drift=drift,
    )


def _fresh(curve: DegreeCurve, noisy: Integers, scale: float) -> tuple[Floats, Floats, Floats]:
    """Return mean, variance and evidence of each node under the degree distribution."""
    grid = degree_grid(curve.nodes)
    values, inverse = distinct(noisy)
    rows = log_likelihood(grid, values.astype(np.float64), scale) + np.log(curve.density)
    top = rows.max(axis=1, keepdims=True)
    posterior = np.exp(rows - top)
    total = posterior.sum(axis=1, keepdims=True)
    posterior /= total
    inside, within = moments_inside(grid, values.astype(np.float64), scale)
    mean = (posterior * inside).sum(axis=1)
    variance = (posterior * (within + inside**2)).sum(axis=1) - mean**2
    evidence = np.exp(top + np.log(total))[:, 0] * math.tanh(0.5 / scale)
    return mean[inverse], np.maximum(variance, 0)[inverse] + 0.05, evidence[inverse]


# ---- Bayesian updates of single degrees with Laplace noise


@kernel
def _log_ndtr(z: float) -> float:
    """The logarithm of the normal distribution function."""
    if z > -12.0:
        return math.log(0.5 * math.erfc(-z / math.sqrt(2.0)))
    square = 1.0 / (z * z)
    series = 1.0 - square * (1.0 - 3.0 * square * (1.0 - 5.0 * square))
    return -0.5 * z * z - math.log(-z) - 0.5 * math.log(2.0 * math.pi) + math.log(series)


@kernel
def _truncated(z: float, log_mass: float) -> tuple[float, float]:
    """Mean and variance of a standard normal number given that it is below z."""
    ratio = math.exp(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - log_mass)
    return -ratio, max(1.0 - ratio * (z + ratio), 1e-9)


@kernel
def laplace_update(mu: float, p: float, y: float, b: float) -> tuple[float, float, float]:
    """Posterior mean and variance of N(mu, p) given y with Laplace noise, and log evidence.

    The posterior is a mixture of two truncated normals, one on either side of y.
    """
    s = math.sqrt(p)
    below, above = mu + p / b, mu - p / b
    z_below, z_above = (y - below) / s, (above - y) / s
    mass_below, mass_above = _log_ndtr(z_below), _log_ndtr(z_above)
    log_below = -(y - mu) / b + 0.5 * p / (b * b) + mass_below
    log_above = (y - mu) / b + 0.5 * p / (b * b) + mass_above
    top = max(log_below, log_above)
    w_below, w_above = math.exp(log_below - top), math.exp(log_above - top)
    total = w_below + w_above
    shift, spread = _truncated(z_below, mass_below)
    mean_below, var_below = below + s * shift, p * spread
    shift, spread = _truncated(z_above, mass_above)
    mean_above, var_above = above - s * shift, p * spread
    share = w_below / total
    mean = share * mean_below + (1 - share) * mean_above
    variance = share * var_below + (1 - share) * var_above
    variance += share * (1 - share) * (mean_below - mean_above) ** 2
    return mean, variance, top + math.log(total) - math.log(2 * b)


@kernel
def filter_degrees(
    mean: Floats,
    variance: Floats,
    drifted: Floats,
    noisy: Floats,
    scale: float,
    chance: float,
    fresh_mean: Floats,
    fresh_variance: Floats,
    fresh_evidence: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Posterior means and variances, and the probabilities that nodes were replaced."""
    means, variances = np.empty(mean.size), np.empty(mean.size)
    replaced = np.empty(mean.size)
    for i in range(mean.size):
        prior = variance[i] + drifted[i]
        m1, v1, l1 = laplace_update(mean[i], NARROW[1] * prior, noisy[i], scale)
        m2, v2, l2 = laplace_update(mean[i], WIDE[1] * prior, noisy[i], scale)
        e1, e2 = NARROW[0] * math.exp(l1), WIDE[0] * math.exp(l2)
        e3 = chance * fresh_evidence[i]
        e1, e2 = (1 - chance) * e1, (1 - chance) * e2
        total = e1 + e2 + e3
        if total < 1e-280:  # nothing explains the value: it is what is known now
            means[i], variances[i], replaced[i] = noisy[i], 2 * scale * scale, 1.0
            continue
        e1, e2, e3 = e1 / total, e2 / total, e3 / total
        m = e1 * m1 + e2 * m2 + e3 * fresh_mean[i]
        v = e1 * (v1 + (m1 - m) ** 2) + e2 * (v2 + (m2 - m) ** 2)
        v += e3 * (fresh_variance[i] + (fresh_mean[i] - m) ** 2)
        means[i], variances[i], replaced[i] = m, v, e3
    return means, variances, replaced
