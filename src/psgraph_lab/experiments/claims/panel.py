"""The lines of one experiment with their noise, and what a check finds in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from psgraph._runtime.arrays import Floats, Integers
from psgraph._runtime.numbers import with_deviation
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.labels import found_metric
from psgraph_lab.experiments.summary import Curve

__all__ = [
    "Finding",
    "Missing",
    "Panel",
    "Predicate",
    "Series",
    "compare",
    "direction_of",
    "each_line",
    "means",
    "named",
    "pairs_of",
    "rank_correlation",
    "shown",
    "told_ends",
]

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


_DIRECTIONS = {1: "rises", 0: "neither rises nor falls", -1: "falls"}


@dataclass(frozen=True)
class Finding:
    """The outcome of a check on one data set under one metric.

    Attributes
    ----------
    dataset, metric
        None for a finding about all of them.
    outcomes
        For every point: 1 if it supports the statement, −1 if it supports the opposite, 0 if noise
        leaves it open.
    numbers
        The values behind it.
    counted
        The words for outcomes of 1, 0 and −1 when they are counted; empty if they are not.
    """

    dataset: str | None
    metric: str | None
    outcomes: tuple[int, ...]
    numbers: str
    counted: tuple[str, ...] = ()

    def words(self, *, count: bool = True) -> str:
        """One line: where, the values, and the count of outcomes.

        >>> found = Finding("as-733", "density_error", (1, 1, 0), "TmF 1 %", ("low", "near", "not"))
        >>> found.words()
        'As-733, density error: TmF 1 % (2 low, 1 near)'
        """
        where = [find_dataset(self.dataset).title] if self.dataset else []
        where += [found_metric(self.metric).words] if self.metric else []
        before = f"{', '.join(where)}: " if where else ""
        counts = [
            f"{self.outcomes.count(outcome)} {word}"
            for outcome, word in zip((1, 0, -1), self.counted, strict=False)
            if self.outcomes.count(outcome)
        ]
        after = f" ({', '.join(counts)})" if count and counts else ""
        return before + self.numbers + after


class Predicate(Protocol):
    """A kind of check with its parameters.

    Attributes
    ----------
    spans
        Whether it compares data sets with each other, rather than checking each.
    """

    spans: ClassVar[bool]

    def findings(self, panel: Panel) -> list[Finding]:
        """Check a panel; raises `Missing` if a line was not run."""


def pairs_of(panel: Panel) -> Iterator[tuple[str, str]]:
    """Every pair of a data set and a metric."""
    return ((dataset, metric) for metric in panel.metrics for dataset in panel.datasets)


def each_line(panel: Panel, dataset: str, metric: str, methods: Sequence[str]) -> list[Series]:
    """The lines of some methods, one per budget where ε is not the axis."""
    return [line for label in methods for line in panel.series(dataset, metric, label)]


def shown(metric: str, value: float) -> str:
    """A value of a metric with its unit.

    >>> shown("density_error", 0.0123), shown("degree_divergence", 1.5)
    ('1.23 %', '1.50 nats')
    """
    info = found_metric(metric)
    return f"{with_deviation(info.scaled(float(value)))} {info.unit}".strip()


def named(line: Series) -> str:
    """The name of a line, with its budget where ε is not the axis."""
    return line.label if line.epsilon is None else f"{line.label} (ε = {line.epsilon})"


def means(lines: Sequence[Series]) -> str:
    """The names of lines with their means along the axis."""
    return ", ".join(f"{line.label} {shown(line.metric, line.mean.mean())}" for line in lines)


def told_ends(line: Series) -> str:
    """A line's first and last value and its direction."""
    first, last = (shown(line.metric, value) for value in (line.mean[0], line.mean[-1]))
    return f"{named(line)} {first} → {last}, {_DIRECTIONS[direction_of(line)]}"
