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
from functools import lru_cache

import numpy as np

from psgraph._runtime.arrays import Floats, Integers
from psgraph._runtime.jit import kernel
from psgraph.methods.plus.grid import Grid, degree_grid, log_likelihood, thresholds

__all__ = ["ALIKE", "ON_A_SIDE", "DegreeCurve", "cholesky", "fit_curve", "gram", "solve"]

SMOOTHNESS = (3.0, 12.0)  # τ, tried in turn
ROUNDING = 6  # decimals of the log-density kept, so that the last bits of a solver don't matter
NEWTON_STEPS = 8
LONGEST_STEP = 6.0
SMALLEST_GAIN = 0.1  # in log-likelihood
ALIKE = 2.0, 4.0  # standard deviations, and nodes: a point of the curve below either is not used
# Where edges have two sides there is half as much signal under the same noise: estimates of single
# nodes say less, and the fitted tail is the better guess.
ON_A_SIDE = 1.0, 2.0
NEGLIGIBLE = 1e-9  # at the ends of a row of a product


@dataclass(frozen=True)
class DegreeCurve:
    """A fitted degree distribution.

    Attributes
    ----------
    nodes
        One more than the largest degree that a node can have, which defines the grid: the number of
        nodes, unless edges lead to another side.
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

    @property
    def mean(self) -> float:
        """The mean degree under the fitted distribution."""
        return float(self.density @ degree_grid(self.nodes).middle)


def fit_curve(
    noisy: Integers,
    *,
    scale: float,
    curve: Floats,
    curve_variance: Floats,
    mean_degree: float,
    mean_variance: float,
    before: DegreeCurve | None,
    largest: int | None = None,
    alike: tuple[Integers, float] | None = None,
    resolved: tuple[float, float] = ALIKE,
) -> DegreeCurve:
    """Fit the degree distribution to noisy degrees, the filtered curve and the mean degree.

    Parameters
    ----------
    noisy, scale
        Noisy degrees of all nodes, and the scale of their Laplace noise.
    curve, curve_variance
        The filtered shares of nodes at `thresholds`; an infinite variance means not measured.
    mean_degree, mean_variance
        The edge ends per node, as released.
    before
        The last fit, where the search begins.
    largest
        The largest degree that a node can have; by default that of a node joined to all others.
    alike
        Noisy degrees that seem to have the same distribution, and how much one of them counts.
    resolved
        How many standard deviations and how many nodes a point of the curve needs to be used.

    Complexity: at most 16 Newton steps of O(U·G²) with U ≤ about a thousand groups of noisy
    degrees and G ≤ about 250 cells, whatever the number of nodes.
    """
    nodes = noisy.size if largest is None else largest + 1
    grid = degree_grid(nodes)
    values, counts = _grouped(noisy, scale, nodes, alike)
    problem = CurveProblem(
        grid, values, counts, scale, curve, curve_variance, mean_degree, mean_variance
    )
    best = problem.solve(_start(grid, before), SMOOTHNESS[0])
    for smoothness in SMOOTHNESS[1:]:
        best = problem.better(best, smoothness)
    theta = np.round(best.theta - best.theta.max(), ROUNDING)
    shares = problem.resolved_shares(theta, best.factor, *resolved)
    return DegreeCurve(nodes, theta, shares)


def _grouped(
    noisy: Integers, scale: float, nodes: int, alike: tuple[Integers, float] | None = None
) -> tuple[Floats, Floats]:
    """Merge noisy degrees that say nearly the same into groups: their means and sizes.

    All values below 0 have the same likelihood up to a constant, and so have those beyond n − 1.
    Others are merged where they differ by far less than the noise and than a cell.
    """
    most = max(nodes - 1, 2)
    all_counts = np.bincount(np.clip(noisy, 0, most))
    if alike is not None:
        both = np.clip(np.concatenate([noisy, alike[0]]), 0, most)
        all_counts = np.bincount(both, np.repeat([1.0, alike[1]], [noisy.size, alike[0].size]))
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


# ---- the penalised likelihood, and its maximum by Gauss–Newton steps
#
# Notation: y noisy degrees, f the density on the cells of the grid, p[y, i] the posterior of a node
# with noisy degree y, s[y, k] its probability of having at least k neighbours, N the mean of the
# posteriors, z the filtered curve, θ the log-density, r and V residuals and variances of the curve.


def density_of(grid: Grid, theta: Floats) -> Floats:
    """Return f, the probability of each cell, from the log-density."""
    weight = grid.width * np.exp(theta - theta.max())
    return np.maximum(weight / weight.sum(), 1e-300)


@lru_cache(maxsize=8)
def _penalty(nodes: int) -> tuple[Floats, Floats]:
    """K0 (curvature in u over the cells i ≥ 1) and K1 (a loose tie of cell 0, and a ridge)."""
    u = degree_grid(nodes).position
    size = u.size
    gap = np.diff(u[1:])
    before, after = gap[:-1], gap[1:]
    bends = np.zeros((before.size, size))
    cell = np.arange(before.size)
    scale = np.sqrt(2 / (before + after))
    bends[cell, cell + 1] = scale / before
    bends[cell, cell + 2] = -scale * (1 / before + 1 / after)
    bends[cell, cell + 3] = scale / after
    ridge = 1e-3 * np.eye(size)
    ridge[:2, :2] += np.array([[1.0, -1.0], [-1.0, 1.0]]) / 9
    return gram(bends, np.ones(before.size)), ridge


@lru_cache(maxsize=8)
def _prior(nodes: int, smoothness: float) -> tuple[Floats, float]:
    """Return the penalty for a smoothness τ, and half the logarithm of its determinant."""
    curvature, ridge = _penalty(nodes)
    penalty = curvature / smoothness**2 + ridge
    return penalty, _half_log_det(cholesky(penalty))


def _half_log_det(factor: Floats) -> float:
    return float(np.log(np.diag(factor)).sum())


@dataclass(frozen=True)
class _Moments:
    """The posteriors of the nodes under a density, and what they imply for the other sources."""

    density: Floats
    posterior: Floats  # p
    at_least: Floats  # s
    mean: Floats  # μ, per group
    log_evidence: float
    population: Floats  # N
    residual: Floats  # r
    spread: Floats  # V − P
    mean_residual: float
    mean_spread: float  # Vm
    objective: float  # without the penalty


@dataclass(frozen=True)
class Solution:
    """A maximiser, the Cholesky factor found with it, and how well it explains the releases."""

    theta: Floats
    at: _Moments
    factor: Floats
    log_evidence: float


class CurveProblem:
    """The objective of the fit, its gradient and its Gauss–Newton matrix."""

    def __init__(
        self,
        grid: Grid,
        values: Floats,
        counts: Floats,
        scale: float,
        curve: Floats,
        curve_variance: Floats,
        mean_degree: float,
        mean_variance: float,
    ) -> None:
        self.grid, self.counts, self.nodes = grid, counts, float(counts.sum())
        self.weights = counts / self.nodes
        rows = log_likelihood(grid, values, scale)
        self.rows = np.exp(rows - rows.max(axis=1, keepdims=True))
        self.thresholds = thresholds(int(grid.high[-1]))
        self.cells = np.searchsorted(grid.low, self.thresholds)
        self.beyond = (grid.low[:, None] >= self.thresholds[None, :]).astype(np.float64)
        size = self.thresholds.size
        self.curve, self.variance = np.zeros(size), np.full(size, np.inf)
        known = min(size, curve.size)
        self.curve[:known], self.variance[:known] = curve[:known], curve_variance[:known]
        self.measured = np.isfinite(self.variance)
        self.mean_degree, self.mean_variance = mean_degree, mean_variance

    def moments(self, theta: Floats) -> _Moments:
        density = density_of(self.grid, theta)
        joint = self.rows * density
        evidence = np.maximum(joint.sum(axis=1), 1e-300)
        posterior = joint / evidence[:, None]
        at_least = np.cumsum(posterior[:, ::-1], axis=1)[:, ::-1][:, self.cells]
        middle = self.grid.middle
        mean = posterior @ middle
        within = np.maximum(posterior @ middle**2 - mean**2, 0)
        residual = np.where(self.measured, self.curve - self.weights @ at_least, 0.0)
        spread = np.maximum(self.weights @ (at_least * (1 - at_least)), 0) / self.nodes
        total = np.where(self.measured, self.variance + spread, 1.0)
        mean_residual = self.mean_degree - float(self.weights @ mean)
        mean_spread = self.mean_variance + float(self.weights @ within) / self.nodes
        log_evidence = float(self.counts @ np.log(evidence))
        objective = (
            log_evidence
            - 0.5 * float((residual**2 / total + np.log(total))[self.measured].sum())
            - 0.5 * (mean_residual**2 / mean_spread + np.log(mean_spread))
        )
        return _Moments(
            density=density,
            posterior=posterior,
            at_least=at_least,
            mean=mean,
            log_evidence=log_evidence,
            population=self.weights @ posterior,
            residual=residual,
            spread=spread,
            mean_residual=mean_residual,
            mean_spread=mean_spread,
            objective=objective,
        )

    def sensitivities(self, at: _Moments) -> tuple[Floats, Floats, Floats]:
        """Return Σ pᵀp over the nodes; B and Bm: how the expected curve and mean move with θ."""
        products = gram(at.posterior, self.counts)
        # s is a sum over cells of p, so Σ pᵀs is one of Σ pᵀp.
        tails = np.cumsum(products[:, ::-1], axis=1)[:, ::-1][:, self.cells]
        curve = at.population[:, None] * self.beyond - tails / self.nodes
        mean = at.population * self.grid.middle - (self.weights * at.mean) @ at.posterior
        return products, curve, mean

    def newton(self, at: _Moments, theta: Floats, penalty: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the factorised Gauss–Newton matrix."""
        products, curve, mean = self.sensitivities(at)
        precision = np.where(self.measured, 1 / (self.variance + at.spread), 0.0)
        gradient = (
            self.nodes * (at.population - at.density)
            + curve @ (at.residual * precision)
            + mean * (at.mean_residual / at.mean_spread)
            - penalty @ theta
        )
        apart = at.population - at.density
        # Σ pᵀp − n·(Nfᵀ + fNᵀ − ffᵀ), and one row for each value that was released.
        rows = np.stack([apart, at.population, mean, *curve.T])
        weights = np.array([self.nodes, -self.nodes, 1 / at.mean_spread, *precision])
        return gradient, cholesky(products + gram(rows, weights) + penalty)

    def solve(self, theta: Floats, smoothness: float) -> Solution:
        """Maximise the penalised objective."""
        penalty, half_log_prior = _prior(int(self.grid.high[-1]), smoothness)
        at = self.moments(theta)
        value = at.objective - 0.5 * float(theta @ penalty @ theta)
        for _ in range(NEWTON_STEPS):
            gradient, factor = self.newton(at, theta, penalty)
            step = solve(factor, gradient[:, None])[:, 0]
            step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
            length, gain = 1.0, 0.0
            while length >= 0.01:
                trial = theta + length * step
                moments = self.moments(trial)
                tried = moments.objective - 0.5 * float(trial @ penalty @ trial)
                if tried >= value:
                    gain = tried - value
                    theta, at, value = trial, moments, tried
                    break
                length /= 2
            if gain < SMALLEST_GAIN:
                break
        return Solution(theta, at, factor, value - _half_log_det(factor) + half_log_prior)

    def better(self, known: Solution, smoothness: float) -> Solution:
        """Return the solution for another smoothness if its evidence is higher.

        It is not computed where one Newton step says that it cannot be: a quadratic objective
        would gain half of step · gradient, and twice as much is allowed for.
        """
        penalty, half_log_prior = _prior(int(self.grid.high[-1]), smoothness)
        at = known.at
        gradient, factor = self.newton(at, known.theta, penalty)
        gain = float(gradient @ solve(factor, gradient[:, None])[:, 0])
        value = at.objective - 0.5 * float(known.theta @ penalty @ known.theta)
        if value + gain - _half_log_det(factor) + half_log_prior < known.log_evidence:
            return known
        other = self.solve(known.theta, smoothness)
        return other if other.log_evidence > known.log_evidence else known

    def resolved_shares(
        self, theta: Floats, factor: Floats, deviations: float, fewest: float
    ) -> Floats:
        """Return c_1, …, c_{k*}: the curve of the population up to the last point that is known."""
        at = self.moments(theta)
        _, curve, _ = self.sensitivities(at)
        spread = at.spread + (curve * solve(factor, curve)).sum(axis=0)
        deviation = np.sqrt(np.maximum(spread, 0) + 0.05 / self.nodes**2)
        edges = np.concatenate([self.grid.low, self.grid.high[-1:]])
        tail = np.concatenate([np.cumsum(at.population[::-1])[::-1], [0.0]])
        enough = tail[self.cells] > np.maximum(deviations * deviation, fewest / self.nodes)
        run = int(np.argmin(enough)) if not enough.all() else enough.size
        last = int(self.thresholds[run - 1]) if run else 0
        return np.interp(np.arange(1, last + 1), edges, tail)


# ---- small dense linear algebra on one core ----
#
# The matrices have a hundred rows. A threaded BLAS gains nothing on them, is slow on a busy
# machine, and its last bits depend on the number of threads. The inner loops add four multiples of
# a row at a time, so that a row of the result is read and written a quarter as often.


@kernel
def gram(rows: Floats, weights: Floats) -> Floats:
    """Return rowsᵀ · diag(weights) · rows, without the negligible ends of the rows."""
    count, size = rows.shape
    out = np.zeros((size, size))
    for row in range(0, count, 4):
        first, last = size, 0
        for near in range(row, min(row + 4, count)):
            begin, end = 0, size
            while begin < end and abs(rows[near, begin]) <= NEGLIGIBLE:
                begin += 1
            while begin < end and abs(rows[near, end - 1]) <= NEGLIGIBLE:
                end -= 1
            first, last = min(first, begin), max(last, end)
        if row + 4 <= count:
            p, q, r, s = rows[row], rows[row + 1], rows[row + 2], rows[row + 3]
            for i in range(first, last):
                line = out[i]
                a, b = weights[row] * p[i], weights[row + 1] * q[i]
                c, d = weights[row + 2] * r[i], weights[row + 3] * s[i]
                for j in range(first, i + 1):
                    line[j] += a * p[j] + b * q[j] + c * r[j] + d * s[j]
        else:
            for near in range(row, count):
                for i in range(first, last):
                    a = weights[near] * rows[near, i]
                    for j in range(first, i + 1):
                        out[i, j] += a * rows[near, j]
    for i in range(size):
        for j in range(i):
            out[j, i] = out[i, j]
    return out


@kernel
def cholesky(matrix: Floats) -> Floats:
    """Return the upper factor R of a positive definite matrix RᵀR.

    A pivot that rounding made non-positive is replaced by a tiny one.
    """
    size = matrix.shape[0]
    factor = np.zeros((size, size))
    for i in range(size):
        line = factor[i]
        for j in range(i, size):
            line[j] = matrix[i, j]
        quads = i - i % 4
        for k in range(0, quads, 4):
            p, q, r, s = factor[k], factor[k + 1], factor[k + 2], factor[k + 3]
            a, b, c, d = p[i], q[i], r[i], s[i]
            for j in range(i, size):
                line[j] -= a * p[j] + b * q[j] + c * r[j] + d * s[j]
        for k in range(quads, i):
            a = factor[k, i]
            for j in range(i, size):
                line[j] -= a * factor[k, j]
        pivot = max(line[i], 1e-12 * abs(matrix[i, i]) + 1e-300) ** 0.5
        line[i] = pivot
        for j in range(i + 1, size):
            line[j] /= pivot
    return factor


@kernel
def solve(factor: Floats, right: Floats) -> Floats:
    """Solve RᵀR·X = right for a matrix of right-hand sides."""
    out = right.copy()
    size = factor.shape[0]
    for i in range(size):
        for j in range(out.shape[1]):
            out[i, j] /= factor[i, i]
        for k in range(i + 1, size):
            for j in range(out.shape[1]):
                out[k, j] -= factor[i, k] * out[i, j]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            for j in range(out.shape[1]):
                out[i, j] -= factor[i, k] * out[k, j]
        for j in range(out.shape[1]):
            out[i, j] /= factor[i, i]
    return out
