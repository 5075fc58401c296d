"""How many triangles the published graph should have.

A graph with the right degrees and mixing has triangles of its own. The noisy number of triangles
is trusted as far as its noise allows, and otherwise the target stays near what such a graph has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from psgraph.methods.plus.tracking import Track

__all__ = ["Clustering", "ladder_variance"]

SUMMED_RUNGS = 1 << 16


def ladder_variance(reach: float, *, nodes: int, epsilon: float) -> float:
    """Return the variance of the ladder mechanism's noise; see `ladder`.

    Sums over enough rungs for the rest to be negligible; very long ladders are summed in groups of
    neighbouring rungs.

    >>> round(ladder_variance(1.0, nodes=3, epsilon=2.0), 2)  # discrete Laplace of scale 1
    1.84
    """
    widest = max(nodes - 2, 0)
    if widest == 0:
        return 0.0
    rate = epsilon / 2
    last = math.ceil(60 / rate) + 2
    stride = max(1, -(-last // SUMMED_RUNGS))
    rung = np.arange(1, last + 1, stride, dtype=np.float64) + (stride - 1) / 2
    width = np.minimum(reach + rung - 1, widest)
    before = rung - 1
    growing = np.minimum(before, max(widest - reach, 0))
    inside = reach * growing + growing * (growing - 1) / 2 + widest * (before - growing)
    weight = 2 * width * np.exp(-rate * rung) * stride
    square = inside**2 + inside * (width + 1) + (width + 1) * (2 * width + 1) / 6
    return float((weight * square).sum() / (1 + weight.sum()))


@dataclass(frozen=True)
class Clustering:
    """The filtered transitivity and the target of the current window.

    Attributes
    ----------
    transitivity
        The share of wedges that are closed, as measured.
    target
        What published graphs should have until the next measurement; None before the first.
    """

    transitivity: Track
    target: float | None

    @classmethod
    def start(cls) -> Clustering:
        """Begin without a measurement."""
        return cls(Track.unseen(1, drift=0.04), None)

    def measured(
        self, triangles: int, noise: float, *, wedges: int, unclustered: float
    ) -> Clustering:
        """Update with a noisy number of triangles.

        Parameters
        ----------
        noise
            The variance of the noise on it.
        wedges, unclustered
            Paths of two edges, and the transitivity, of a graph with the right degrees and
            mixing and no clustering beyond that.
        """
        if wedges == 0:
            return self
        level = self.transitivity.level[0] if self.transitivity.seen[0] else 0.0
        scale = max(level, unclustered, 0.001) ** 2
        track = self.transitivity.observe(
            np.array([3 * triangles / wedges]), max(9 * noise / wedges**2, 1e-12), np.array([scale])
        )
        # Sparse real graphs have more triangles than their mixing implies.
        prior = unclustered * (1 + 0.5 * max(0.0, 1 - 2 * unclustered))
        deviation, variance = float(track.level[0]) - prior, float(track.variance[0])
        spread = max((0.5 * prior + 0.003) ** 2, deviation**2 - 4 * variance)
        wanted = prior + spread / (spread + variance) * deviation
        return Clustering(track, float(np.clip(wanted, 0.3 * unclustered, 1)))
