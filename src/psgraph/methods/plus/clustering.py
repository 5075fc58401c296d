"""How many triangles the published graph should have.

A graph with the right degrees and mixing has triangles of its own. What is estimated is the
*excess*, the ratio of the true transitivity to that of such a graph. Real graphs have more
triangles than their degrees and mixing imply, so it is believed to be about 2.5, with heavy tails,
until noisy triangle counts say otherwise. Dense graphs have little room for more: there it is
believed to be close to 1. The belief about its logarithm is a density on a grid, updated with the
exact likelihood of the ladder mechanism or of a capped count. All of it is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph.methods.plus.triangles import Cap

__all__ = ["Clustering", "Unclustered", "ladder_log_likelihood"]


LOG_EXCESS = np.linspace(math.log(1 / 32), math.log(1024), 150)
# The prior in a sparse graph: median 1 + USUAL, and half of it within AROUND on a log scale.
USUAL, AROUND = 1.5, 0.8
# Blocks of public labels bring some of the triangles: much more than they imply is rare, much less
# rarer still, and the ratio moves less from one timestamp to the next.
USUAL_BY_LABEL, BELOW_BY_LABEL, ABOVE_BY_LABEL, TAIL_BY_LABEL = 1.0, 0.35, 0.4, 1.5
ONE_STEP_BY_LABEL, LEAST_BY_LABEL = 0.15, 0.8
# USUAL fades where a graph without excess has a transitivity like DENSE; and AROUND, to NARROW.
DENSE, DENSE_BY_LABEL, NARROW = 0.15, 0.1, 0.15
ONE_STEP = 0.25  # how far the excess at one timestamp is from that of the window, on a log scale
DRIFT, FORGOTTEN = 0.1, 0.02  # between windows: a random walk, and a share that starts again
# Some graphs have no triangles, two-sided ones for example: this much of the prior is at the end.
TRIANGLE_FREE, NEXT_TO_NONE = 0.03, math.log(1 / 16)
# Half of the level of transitivity is remembered, and half of its ratio to what degrees imply: the
# ratio moves with noise on the degrees.
REMEMBERED = 0.5
LEAST = 1e-300  # keeps a ratio defined
ROUNDING = 9  # decimals of a probability
REACHES = 12  # how many possible values of the largest number of common neighbours are averaged
REACH_APART = 0.35  # how far it is from that of the plain graph, on a log scale, if that is known


def ladder_log_likelihood(
    noisy: int, triangles: Floats, reach: Floats, *, nodes: int, epsilon: float
) -> Floats:
    """Return the log-probability of a noisy count of the ladder mechanism; see `noisy_triangles`.

    Parameters
    ----------
    triangles, reach
        Possible true counts and possible largest numbers of common neighbours, at least 1.

    Examples
    --------
    >>> at = ladder_log_likelihood(7, np.array([7.0, 9.0]), np.ones(1), nodes=3, epsilon=2.0)
    >>> (at[0] - at[1]).round(6)  # on a ladder of width 1: two rungs of ε/2 each
    np.float64(2.0)
    """
    rate, widest = epsilon / 2, float(max(nodes - 2, 1))
    reach = np.minimum(reach, widest)
    distance = np.abs(noisy - np.rint(triangles))
    growing = widest - reach
    inside = reach * growing + growing * (growing - 1) / 2  # integers on the rungs that widen
    twice = 2 * reach - 1
    rung = np.ceil((np.sqrt(twice**2 + 8 * np.minimum(distance, inside)) - twice) / 2)
    rung = rung + np.ceil(np.maximum(distance - inside, 0) / widest)
    # Σ min(reach + j − 1, widest)·exp(−rate·j) over j ≥ 1, in closed form
    odds = 1 / math.expm1(rate)
    sides = odds * reach - odds**2 * np.expm1(-rate * growing)
    return np.asarray(-rate * rung - np.log1p(2 * sides))


@lru_cache(maxsize=4)
def _spread(width: float) -> Floats:
    """Return normal distributions around every value of the grid, one in each column."""
    weights = np.exp(-0.5 * (np.subtract.outer(LOG_EXCESS, LOG_EXCESS) / width) ** 2)
    return np.asarray(weights / weights.sum(axis=0))


def _prior(transitivity: float, *, by_label: bool = False) -> Floats:
    """Return the prior, given the transitivity of a graph without excess."""
    sparse = math.exp(-((transitivity / (DENSE_BY_LABEL if by_label else DENSE)) ** 2))
    if by_label:
        apart = LOG_EXCESS - math.log1p(USUAL_BY_LABEL * sparse)
        sides = np.where(apart < 0, BELOW_BY_LABEL, ABOVE_BY_LABEL)
        density = (1 + (apart / sides) ** 2) ** -TAIL_BY_LABEL
    else:
        around = max(AROUND * sparse, NARROW)
        density = 1 / (1 + ((LOG_EXCESS - math.log1p(USUAL * sparse)) / around) ** 2)
    none = LOG_EXCESS < NEXT_TO_NONE
    return (1 - TRIANGLE_FREE) * density / density.sum() + TRIANGLE_FREE * none / none.sum()


@dataclass(frozen=True)
class Unclustered:
    """Counts of a graph with the right degrees and mixing and no clustering beyond that.

    Attributes
    ----------
    reach
        The largest number of common neighbours, where it was counted.
    """

    nodes: int
    wedges: int
    triangles: int
    second_largest_degree: int
    reach: int | None = None


def _reaches(plain: Unclustered, sampled: float) -> Floats:
    """Return equally probable values of the largest number of common neighbours.

    Hubs and blocks decide most of it: where blocks of public labels are known, it is about that of
    the plain graph.
    """
    if plain.reach is None:
        largest = max(sampled * plain.second_largest_degree, 2)
        return np.exp(np.linspace(0, math.log(largest), REACHES))
    apart = [NormalDist().inv_cdf((index + 0.5) / REACHES) for index in range(REACHES)]
    return max(sampled**2 * plain.reach, 1) * np.exp(REACH_APART * np.array(apart))


@dataclass(frozen=True)
class Clustering:
    """What is believed about the excess of triangles.

    Attributes
    ----------
    belief
        The probability of each value of `LOG_EXCESS`.
    unclustered
        The transitivity of a graph without excess where triangles were last counted; None
        before that.
    """

    belief: Floats
    unclustered: float | None

    @classmethod
    def start(cls) -> Clustering:
        """Start without a measurement."""
        return cls(_prior(0.0), None)

    @property
    def excess(self) -> float:
        """The median of the ratio of the true transitivity to that without excess."""
        index = int(np.searchsorted(np.cumsum(self.belief), 0.5))
        return math.exp(LOG_EXCESS[min(index, LOG_EXCESS.size - 1)])

    def measured(
        self,
        noisy: int,
        plain: Unclustered,
        *,
        epsilon: float,
        cap: Cap | None = None,
        sampled: float = 1.0,
        by_label: bool = False,
    ) -> Clustering:
        """Update with a noisy number of triangles.

        Parameters
        ----------
        plain
            What a graph without excess has.
        epsilon
            What the count spent.
        cap
            What it was limited to. None: all triangles, by the ladder mechanism.
        sampled
            The share of edges whose triangles were counted, where there is no cap.
        by_label
            Whether the graph without excess has blocks of public labels, which bring most
            triangles.
        """
        if plain.wedges == 0:
            return self
        expected = max(plain.triangles, 1 / 3)
        transitivity = min(3 * expected / plain.wedges, 1.0)
        belief = prior = _prior(transitivity, by_label=by_label)
        if self.unclustered is not None:
            moved = REMEMBERED * math.log(transitivity / self.unclustered)
            shifted = np.interp(LOG_EXCESS + moved, LOG_EXCESS, self.belief)
            shifted /= max(shifted.sum(), LEAST)
            belief = (1 - FORGOTTEN) * (_spread(DRIFT) @ shifted) + FORGOTTEN * prior
        triangles = expected * np.exp(LOG_EXCESS)[:, None]
        if cap is None:
            log_likelihood = ladder_log_likelihood(
                noisy,
                sampled**3 * triangles,
                _reaches(plain, sampled)[None, :],
                nodes=plain.nodes,
                epsilon=epsilon,
            )
        else:
            log_likelihood = -epsilon / cap.sensitivity * np.abs(noisy - cap.share * triangles)
        likelihood = np.exp(log_likelihood - log_likelihood.max()).sum(axis=1)
        step = ONE_STEP_BY_LABEL if by_label else ONE_STEP
        belief = np.maximum(belief * (_spread(step) @ likelihood), 1e-300)
        # Rounded, so that the last bits of a product don't matter when a release is made again.
        belief = np.round(belief / belief.sum(), ROUNDING)
        return Clustering(belief / belief.sum(), 3 * expected / plain.wedges)

    def target(
        self, transitivity: float, *, kept: float, steady: float, by_label: bool = False
    ) -> float | None:
        """Return the transitivity that a graph should have, None if nothing is known.

        Parameters
        ----------
        transitivity
            What the graph has now.
        kept
            The share of its edges that come from the last graph, with the triangles that were
            swapped into it.
        steady
            0: the target follows the degrees of the timestamp; 1: it stays until the next count.
        by_label
            Whether the graph has blocks of public labels.
        """
        if self.unclustered is None:
            return None
        excess, steady = self.excess, max(steady, REMEMBERED)
        if by_label and math.log(excess) > NEXT_TO_NONE:
            excess = max(excess, LEAST_BY_LABEL)
        now = transitivity / (1 + kept**3 * (excess - 1))
        level = self.unclustered if now == 0 else now ** (1 - steady) * self.unclustered**steady
        return min(excess * level, 1.0)
