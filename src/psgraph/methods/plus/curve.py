"""The degree distribution, fitted to everything that has been released about it.

Three noisy sources are fused: the degrees of the nodes, the curve of how many nodes have at least
k neighbours, and the edge count. The log-density is a smoothing spline on a log scale, on which a
power law is a straight line and costs nothing; its smoothness is chosen by the evidence.

The curve is compared with the posteriors of the nodes and not with the fitted density. That makes
the fusion right at both ends: with little noise the nodes are known and the curve has nothing to
add, with much noise the curve decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Floats, Integers
from psgraph.methods.plus.curve_fit import CurveProblem, density_of
from psgraph.methods.plus.grid import Grid, degree_grid

__all__ = ["DegreeCurve", "fit_curve"]


SMOOTHNESS = (3.0, 12.0)  # τ, tried in turn
ROUNDING = 6  # decimals of the log-density kept, so that the last bits of a solver don't matter


@dataclass(frozen=True)
class DegreeCurve:
    """A fitted degree distribution.

    Attributes
    ----------
    nodes
        The number of nodes it was fitted to, which defines the grid.
    log_density
        θ per cell, up to a constant.
    shares
        c_1, …, c_{k*}: the share of nodes with at least k neighbours, as far as it is known.
    """

    nodes: int
    log_density: Floats
    shares: Floats

    @property
    def density(self) -> Floats:
        """f, the probability of each cell of the grid."""
        return density_of(degree_grid(self.nodes), self.log_density)


def fit_curve(
    noisy: Integers,
    *,
    scale: float,
    curve: Floats,
    curve_variance: Floats,
    mean_degree: float,
    mean_variance: float,
    before: DegreeCurve | None,
) -> DegreeCurve:
    """Fit the degree distribution to noisy degrees, the filtered curve and the mean degree.

    Parameters
    ----------
    noisy, scale
        Noisy degrees of all nodes, and the scale of their Laplace noise.
    curve, curve_variance
        The filtered shares of nodes at `thresholds`; an infinite variance means not measured.
    mean_degree, mean_variance
        Twice the edges per node, as released.
    before
        The last fit, where the search begins.

    Complexity: at most 16 Newton steps of O(U·G²) with U ≤ about a thousand groups of noisy
    degrees and G ≤ about 250 cells, whatever the number of nodes.
    """
    nodes = noisy.size
    grid = degree_grid(nodes)
    values, counts = _grouped(noisy, scale, nodes)
    problem = CurveProblem(
        grid, values, counts, scale, curve, curve_variance, mean_degree, mean_variance
    )
    best = problem.solve(_start(grid, before), SMOOTHNESS[0])
    for smoothness in SMOOTHNESS[1:]:
        best = problem.better(best, smoothness)
    theta = np.round(best.theta - best.theta.max(), ROUNDING)
    return DegreeCurve(nodes, theta, problem.resolved_shares(theta, best.factor))


def _grouped(noisy: Integers, scale: float, nodes: int) -> tuple[Floats, Floats]:
    """Merge noisy degrees that say nearly the same into groups: their means and sizes.

    All values below 0 have the same likelihood up to a constant, and so have those beyond n − 1.
    Others are merged where they differ by far less than the noise and than a cell.
    """
    all_counts = np.bincount(np.clip(noisy, 0, max(nodes - 1, 2)))
    values = np.flatnonzero(all_counts)
    counts = all_counts[values]
    width = np.maximum(1, np.maximum(scale / 16, values / 200).astype(np.int64))
    group = values // width
    starts = np.flatnonzero(
        np.diff(group, prepend=-1).astype(bool) | np.diff(width, prepend=0).astype(bool)
    )
    sizes = np.add.reduceat(counts, starts)
    means = np.add.reduceat(values * counts, starts) / sizes
    return means, sizes.astype(np.float64)


def _start(grid: Grid, before: DegreeCurve | None) -> Floats:
    """Continue the last fit with slope −2 in u; a power law with that slope at the beginning."""
    u = grid.position
    if before is None:
        return -2 * u
    known = min(before.log_density.size, u.size)
    tail = before.log_density[known - 1] - 2 * (u[known:] - u[known - 1])
    return np.concatenate([before.log_density[:known], tail])
