"""The lines of one experiment with their noise, restricted to what a statement is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from psgraph._runtime.arrays import Floats, Integers
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.summary import Curve
from psgraph_lab.experiments.words import found_metric

__all__ = ["Missing", "Panel", "Series", "compare", "direction_of", "rank_correlation"]


#: Two means differ if they are at least this many standard errors apart; otherwise they are level.
STANDARD_ERRORS = 2.0
#: The rank correlation from which a line has a trend.
CLEAR_RANK_CORRELATION = 0.5


class Missing(Exception):
    """Results that a statement needs are missing; the message says which.

    Attributes
    ----------
    datasets
        If data sets are missing: any one of these would be enough.
    """

    def __init__(self, what: str, *, datasets: tuple[str, ...] = ()) -> None:
        super().__init__(what)
        self.datasets = datasets


@dataclass(frozen=True)
class Series:
    """One line under one metric on one data set.

    Attributes
    ----------
    epsilon
        None where ε is the axis.
    error
        The standard error of each mean; 0 for a single repetition.
    """

    dataset: str
    label: str
    metric: str
    epsilon: str | None
    x: Floats
    mean: Floats
    error: Floats

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger value is a better one."""
        return found_metric(self.metric).better == "higher"

    def at(self, x: Floats) -> Series:
        """The line restricted to some of its points."""
        kept = np.isin(self.x, x)
        return replace(self, x=self.x[kept], mean=self.mean[kept], error=self.error[kept])

    def repeated(self, x: float) -> Series:
        """A constant line with the value at one point."""
        here = int(np.flatnonzero(self.x == x)[0])
        size = self.x.size
        return replace(
            self, mean=np.repeat(self.mean[here], size), error=np.repeat(self.error[here], size)
        )


@dataclass(frozen=True)
class Panel:
    """Curves of one experiment on some data sets, restricted to what a statement is about.

    Attributes
    ----------
    labels
        The labels of all lines of the experiment, run or not.
    start, stop
        The first and last point of the axis that counts.
    epsilons
        Only these budgets, where ε is not the axis; empty for all.
    """

    labels: tuple[str, ...]
    curves: tuple[Curve, ...]
    datasets: tuple[str, ...]
    metrics: tuple[str, ...]
    start: float = -np.inf
    stop: float = np.inf
    epsilons: tuple[str, ...] = ()

    def others(self, labels: Sequence[str]) -> tuple[str, ...]:
        """All lines except these."""
        return tuple(label for label in self.labels if label not in labels)

    def series(self, dataset: str, metric: str, label: str) -> list[Series]:
        """A line, one series per budget where ε is not the axis."""
        found = []
        for curve in self.curves:
            if curve.dataset != dataset or self.line(curve) != label:
                continue
            if self.epsilons and curve.epsilon not in self.epsilons:
                continue
            kept = (curve.x >= self.start) & (curve.x <= self.stop)
            if kept.any():
                error = curve.std[metric] / np.sqrt(curve.repetitions)
                found.append(
                    Series(
                        dataset,
                        label,
                        metric,
                        curve.epsilon,
                        curve.x[kept],
                        curve.mean[metric][kept],
                        error[kept],
                    )
                )
        if not found:
            raise Missing(f"{label} on {find_dataset(dataset).title}")
        return found

    def aligned(self, dataset: str, metric: str, labels: Sequence[str]) -> list[Series]:
        """Several lines, restricted to the points they have in common."""
        lines = [self.series(dataset, metric, label)[0] for label in labels]
        common = lines[0].x
        for line in lines:
            common = np.intersect1d(common, line.x)
        if not common.size:
            raise Missing(
                f"{', '.join(labels)} at the same points on {find_dataset(dataset).title}"
            )
        return [line.at(common) for line in lines]

    def line(self, curve: Curve) -> str:
        """The label of a curve's line, without the budget that distinguishes several."""
        if len(self.labels) == 1:
            return self.labels[0]
        return next(
            (
                label
                for label in self.labels
                if curve.label == label or curve.label.startswith(f"{label}, ε = ")
            ),
            curve.label,
        )


def compare(one: Series, other: Series, *, factor: float = 1.0) -> Integers:
    """For every point: 1 where `one` is better beyond noise, −1 where it is worse, else 0.

    Parameters
    ----------
    factor
        The factor by which it has to be better; otherwise the two are level.

    Examples
    --------
    >>> x, error = np.arange(3.0), np.full(3, 0.1)
    >>> a = Series("demo", "a", "density_error", None, x, np.array([1.0, 1.0, 1.0]), error)
    >>> b = Series("demo", "b", "density_error", None, x, np.array([2.0, 1.1, 0.5]), error)
    >>> compare(a, b)
    array([ 1,  0, -1])
    """
    noise = STANDARD_ERRORS * np.hypot(one.error, other.error)
    lead = one.mean - other.mean if one.higher_is_better else other.mean - one.mean
    larger, smaller = (one, other) if one.higher_is_better else (other, one)
    enough = larger.mean >= factor * smaller.mean
    return np.where((lead > noise) & enough, 1, np.where(lead < -noise, -1, 0))


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's rank correlation of values without ties; 0 for a single one.

    >>> rank_correlation(np.array([1.0, 2.0, 9.0]), np.array([5.0, 6.0, 7.0]))
    1.0
    """
    if one.size < 2:
        return 0.0
    first, second = (values.argsort().argsort().astype(float) for values in (one, other))
    return float(np.corrcoef(first, second)[0, 1])


def direction_of(series: Series) -> int:
    """1 for an increasing line, −1 for a decreasing one, 0 for neither.

    Its ranks must follow the axis, and its ends must differ beyond noise.
    """
    correlation = rank_correlation(series.x, series.mean)
    change = series.mean[-1] - series.mean[0]
    noise = STANDARD_ERRORS * np.hypot(series.error[0], series.error[-1])
    if abs(correlation) < CLEAR_RANK_CORRELATION or abs(change) <= noise:
        return 0
    sign = int(np.sign(change))
    return sign if sign == np.sign(correlation) else 0
