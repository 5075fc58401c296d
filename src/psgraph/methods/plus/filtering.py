"""Bayesian updates of single degrees with Laplace noise, as kernels.

A normal prior and Laplace noise give a mixture of two truncated normals, one on either side of the
noisy value, with exact moments and evidence.
"""

from __future__ import annotations

import math

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph._runtime.jit import kernel

__all__ = ["filter_degrees", "laplace_update"]


NARROW, WIDE = (0.75, 0.4), (0.25, 2.8)  # weights and variance factors: drift has heavy tails


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
