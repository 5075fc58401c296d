"""Checks of trends along the axis."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Literal

import numpy as np

from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.claims.findings import Finding, each_line, named, pairs_of, told_ends
from psgraph_lab.experiments.claims.panel import (
    CLEAR_RANK_CORRELATION,
    STANDARD_ERRORS,
    Missing,
    Panel,
    Series,
    compare,
    direction_of,
    rank_correlation,
)
from psgraph_lab.experiments.words import found_metric

__all__ = ["Growth", "MixedTrends", "NoSingleBest", "Together", "Trend"]

_MOST_EXAMPLES = 2


@dataclass(frozen=True)
class Trend:
    """The values of `methods` rise or fall along the axis."""

    spans: ClassVar[bool] = False
    methods: tuple[str, ...]
    direction: Literal["increasing", "decreasing"]

    def findings(self, panel: Panel) -> list[Finding]:
        wanted = 1 if self.direction == "increasing" else -1
        found = []
        for dataset, metric in pairs_of(panel):
            lines = each_line(panel, dataset, metric, self.methods)
            outcomes = tuple(wanted * direction_of(line) for line in lines)
            found.append(Finding(dataset, metric, outcomes, "; ".join(map(told_ends, lines))))
        return found


@dataclass(frozen=True)
class Together:
    """Two lines rise and fall together along the axis."""

    spans: ClassVar[bool] = False
    methods: tuple[str, str]

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in pairs_of(panel):
            lines = panel.aligned(dataset, metric, self.methods)
            agreement = rank_correlation(lines[0].mean, lines[1].mean)
            outcome = int(np.sign(agreement)) if abs(agreement) >= CLEAR_RANK_CORRELATION else 0
            numbers = f"rank correlation {agreement:.2f}; " + "; ".join(map(told_ends, lines))
            found.append(Finding(dataset, metric, (outcome,), numbers))
        return found


@dataclass(frozen=True)
class Growth:
    """Values grow at most like a power of the axis; 1 is proportional growth."""

    spans: ClassVar[bool] = False
    methods: tuple[str, ...]
    power: float = 1.0

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in pairs_of(panel):
            outcomes, texts = [], []
            for line in each_line(panel, dataset, metric, self.methods):
                along, grown = line.x[-1] / line.x[0], line.mean[-1] / line.mean[0]
                if along <= 1:
                    raise Missing(f"more than one point on {find_dataset(dataset).title}")
                relative = (line.error / line.mean)[[0, -1]]
                least = grown * (1 - STANDARD_ERRORS * np.hypot(*relative))
                limit = along**self.power
                outcomes.append(1 if grown <= limit else 0 if least <= limit else -1)
                texts.append(
                    f"{named(line)} grows {grown:.2f}-fold while the axis grows {along:g}-fold"
                )
            found.append(Finding(dataset, metric, tuple(outcomes), "; ".join(texts)))
        return found


@dataclass(frozen=True)
class NoSingleBest:
    """At every point of the axis, some line is better beyond noise at another point."""

    spans: ClassVar[bool] = True
    methods: tuple[str, ...]

    def findings(self, panel: Panel) -> list[Finding]:
        lines = [line for pair in pairs_of(panel) for line in each_line(panel, *pair, self.methods)]
        beaten = {float(x): 0 for line in lines for x in line.x}
        for line in lines:
            for x in line.x:
                beaten[float(x)] += bool((compare(line, line.repeated(float(x))) == 1).any())
        outcomes = tuple(1 if times else -1 for times in beaten.values())
        texts = [f"{x:g} is beaten on {times}" for x, times in beaten.items()]
        return [Finding(None, None, outcomes, f"of {len(lines)} lines, {', '.join(texts)}")]


@dataclass(frozen=True)
class MixedTrends:
    """Lines that differ only in their data set (or budget, or metric) have opposite trends.

    Trends are towards better or worse, so that metrics can be compared.
    """

    spans: ClassVar[bool] = True
    methods: tuple[str, ...]
    across: Literal["dataset", "epsilon", "metric"]

    def findings(self, panel: Panel) -> list[Finding]:
        lines = [line for pair in pairs_of(panel) for line in each_line(panel, *pair, self.methods)]

        def group(line: Series) -> list[str]:
            facts = _facts(line)
            del facts[self.across]
            return list(facts.values())

        outcomes, examples, totals = [], [], {1: 0, 0: 0, -1: 0}
        for shared, members in groupby(sorted(lines, key=group), key=group):
            ways: dict[int, list[str]] = {1: [], 0: [], -1: []}
            for line in members:
                way = direction_of(line) * (1 if line.higher_is_better else -1)
                ways[way].append(_facts(line)[self.across])
                totals[way] += 1
            outcomes.append(1 if ways[1] and ways[-1] else 0)
            if outcomes[-1]:
                examples.append(
                    f"{', '.join(filter(None, shared))}: improving along the axis for "
                    f"{', '.join(ways[1])}, worse for {', '.join(ways[-1])}"
                )
        numbers = (
            f"{sum(outcomes)} of {len(outcomes)} groups of lines have opposite trends (in total, "
            f"{totals[1]} lines improve along the axis, {totals[-1]} get worse, {totals[0]} do "
            "neither)"
        )
        told = "; ".join([numbers, *examples[:_MOST_EXAMPLES]])
        return [Finding(None, None, tuple(outcomes), told)]


def _facts(line: Series) -> dict[str, str]:
    """What distinguishes a line, in words."""
    return {
        "label": line.label,
        "dataset": find_dataset(line.dataset).title,
        "epsilon": f"ε = {line.epsilon}" if line.epsilon else "",
        "metric": found_metric(line.metric).words,
    }
