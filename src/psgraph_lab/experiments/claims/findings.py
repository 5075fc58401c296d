"""The result of a check, and its numbers in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from psgraph._runtime.numbers import with_deviation
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.claims.panel import Panel, Series, direction_of
from psgraph_lab.experiments.words import found_metric

__all__ = ["Finding", "Predicate", "each_line", "means", "named", "pairs_of", "shown", "told_ends"]

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
