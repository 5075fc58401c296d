"""A random-walk Kalman filter that learns how fast its values drift.

Everything here is post-processing: observations are noisy values that have been released, and
their noise variances are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats

__all__ = ["Track", "laplace_variance"]


JUMP = 9.0  # a squared innovation this many times its expectation is a jump, absorbed at once
LEAST_DRIFT = 1e-5
FAST, SLOW = 0.3, 0.03  # rates at which drift is learned where it, or noise, dominates
LEAST_NOISE = 1e-12  # keeps gains defined where the noise variance underflows


def laplace_variance(scale: float) -> float:
    """Return the variance of discrete Laplace noise, P(k) ∝ exp(−|k|/scale).

    >>> round(laplace_variance(10.0), 1)
    199.8
    """
    ratio = math.exp(-1 / scale)
    return max(2 * ratio / math.expm1(-1 / scale) ** 2, LEAST_NOISE)


def _learned(drift: float, excess: float, expected: float) -> float:
    """Update the drift coefficient with the excess of one squared innovation over its noise.

    Where noise dominates, one innovation says little and is weighted little; an excess below zero
    counts as well, as otherwise noise alone would look like drift.
    """
    limit = 4 * drift + 0.01
    share = drift / (drift + expected)
    rate = FAST * share + SLOW * (1 - share)
    return max(drift + rate * (min(max(excess, -limit), limit) - drift), LEAST_DRIFT)


@dataclass(frozen=True)
class Track:
    """Filtered values that share one drift coefficient.

    Attributes
    ----------
    level, variance
        The estimate of each entry and its variance, infinite where nothing was observed yet.
    drift
        Q: in one step an entry moves with variance Q·scale, where the caller gives the scale.
    """

    level: Floats
    variance: Floats
    drift: float

    @classmethod
    def start(cls, *levels: float, variance: float, drift: float) -> Track:
        """Start at known prior levels."""
        return cls(np.array(levels), np.full(len(levels), variance), drift)

    @classmethod
    def unseen(cls, size: int, *, drift: float) -> Track:
        """Start with `size` entries about which nothing is known."""
        return cls(np.zeros(size), np.full(size, np.inf), drift)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which entries have been observed or have a prior."""
        return np.isfinite(self.variance)

    def widened(self, size: int) -> Track:
        """Append entries not yet observed, up to `size` in all."""
        more = max(size - self.level.size, 0)
        return replace(
            self,
            level=np.concatenate([self.level, np.zeros(more)]),
            variance=np.concatenate([self.variance, np.full(more, np.inf)]),
        )

    def clipped(self, low: float, high: float) -> Track:
        """Limit the levels to a range."""
        return replace(self, level=np.clip(self.level, low, high))

    def doubted(self, variance: float) -> Track:
        """Return the same levels with at least this variance."""
        return replace(self, variance=np.maximum(self.variance, variance))

    def observe(self, observed: Floats, noise: float, scale: Floats, *, most: float = 1.0) -> Track:
        """Update the first ``observed.size`` entries.

        Parameters
        ----------
        observed
            y, the noisy values.
        noise
            R, the variance of the noise of each.
        scale
            s², the variance of one step's movement of each entry, up to the factor Q.
        most
            Values lie between 0 and this. Noise beyond that is no sign of a jump.

        Examples
        --------
        >>> track = Track.unseen(1, drift=0.01).observe(np.array([0.2]), 0.01, np.ones(1))
        >>> track.level, track.variance
        (array([0.2]), array([0.01]))
        >>> bool(track.observe(np.array([0.4]), 0.01, np.ones(1)).level[0] > 0.3)
        True
        """
        if not observed.size:
            return self
        track = self.widened(observed.size)
        level, variance = track.level.copy(), track.variance.copy()
        first, spread = level[: observed.size], variance[: observed.size]
        seen = np.isfinite(spread)
        drift = self.drift
        if seen.any():
            known = slice(None) if seen.all() else seen
            innovation = (observed - first)[known]
            step = float(scale[known].mean())
            expected = float((spread[known] + noise).mean()) / step
            possible = (np.clip(observed, 0.0, most) - first)[known]
            excess = float((possible**2).mean()) / step - expected
            jump = excess if excess > JUMP * (drift + expected) else drift
            drift = _learned(drift, excess, expected)
            predicted = spread[known] + max(jump, drift) * scale[known]
            gain = predicted / (predicted + noise)
            first[known] += gain * innovation
            spread[known] = (1 - gain) * predicted
        first[~seen], spread[~seen] = observed[~seen], noise
        return Track(level, variance, drift)
