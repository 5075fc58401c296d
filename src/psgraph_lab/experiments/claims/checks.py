"""Checks of statements: lines compared with each other or with a value, and trends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Literal

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.claims.panel import (
    CLEAR_RANK_CORRELATION,
    STANDARD_ERRORS,
    Finding,
    Missing,
    Panel,
    Series,
    compare,
    direction_of,
    each_line,
    means,
    named,
    pairs_of,
    rank_correlation,
    shown,
    told_ends,
)
from psgraph_lab.experiments.labels import found_metric

__all__ = [
    "Across",
    "Advantage",
    "Better",
    "Bounds",
    "Close",
    "CloseToBest",
    "Growth",
    "MixedTrends",
    "NoSingleBest",
    "Together",
    "Trend",
]

Lines = tuple[str, ...] | Literal["others"]


@dataclass(frozen=True)
class Better:
    """Each of `methods` is better than `beats` of the lines in `than` (all by default)."""

    spans: ClassVar[bool] = False
    methods: Lines
    than: Lines = "others"
    beats: int | None = None
    factor: float = 1.0

    def findings(self, panel: Panel) -> list[Finding]:
        return [self._finding(panel, *pair) for pair in pairs_of(panel)]

    def _finding(self, panel: Panel, dataset: str, metric: str) -> Finding:
        ours, theirs = _sides(panel, dataset, metric, self.methods, self.than)
        needed = len(theirs) if self.beats is None else self.beats
        worst = np.ones(ours[0].x.size, dtype=int)
        for one in ours:
            compared = np.array([compare(one, other, factor=self.factor) for other in theirs])
            beaten, not_lost = (compared == 1).sum(axis=0), (compared >= 0).sum(axis=0)
            outcome = np.where(beaten >= needed, 1, np.where(not_lost >= needed, 0, -1))
            worst = np.minimum(worst, outcome)
        return Finding(
            dataset,
            metric,
            tuple(worst.tolist()),
            f"{means(ours)} against {means(theirs)}",
            ("better", "level", "worse") if needed == len(theirs) else ("true", "open", "false"),
        )


@dataclass(frozen=True)
class Bounds:
    """`methods` stay between two values at every point, within noise."""

    spans: ClassVar[bool] = False
    methods: tuple[str, ...]
    lowest: float = -np.inf
    highest: float = np.inf

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in pairs_of(panel):
            lines = panel.aligned(dataset, metric, self.methods)
            mean = np.array([line.mean for line in lines])
            noise = STANDARD_ERRORS * np.array([line.error for line in lines])
            inside = (mean >= self.lowest) & (mean <= self.highest)
            near = (mean + noise >= self.lowest) & (mean - noise <= self.highest)
            ranges = ", ".join(
                f"{line.label} {shown(metric, line.mean.min())} to {shown(metric, line.mean.max())}"
                for line in lines
            )
            outcomes = np.where(inside, 1, np.where(near, 0, -1)).ravel().tolist()
            counted = ("inside", "within noise of it", "outside")
            found.append(Finding(dataset, metric, tuple(outcomes), ranges, counted))
        return found


@dataclass(frozen=True)
class Close:
    """Each of `methods` is within a factor of the best of `than`, or level with it."""

    spans: ClassVar[bool] = False
    methods: tuple[str, ...]
    than: Lines = "others"
    factor: float = 1.25

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in pairs_of(panel):
            ours, theirs = _sides(panel, dataset, metric, self.methods, self.than)
            beaten = [compare(other, one, factor=self.factor) for one in ours for other in theirs]
            outcomes = np.where((np.array(beaten) < 1).all(axis=0), 1, -1).tolist()
            numbers = f"{means(ours)} compared with {means(theirs)}"
            counted = ("close", "", "not close")
            found.append(Finding(dataset, metric, tuple(outcomes), numbers, counted))
        return found


@dataclass(frozen=True)
class CloseToBest:
    """At one point of the axis a line is within a factor of its best, or level with it."""

    spans: ClassVar[bool] = False
    methods: tuple[str, ...]
    at: float
    factor: float = 1.25

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in pairs_of(panel):
            outcomes, texts = [], []
            for line in each_line(panel, dataset, metric, self.methods):
                if self.at not in line.x:
                    raise Missing(f"{line.label} at {self.at:g} on {find_dataset(dataset).title}")
                here = line.repeated(self.at)
                near = compare(line, here, factor=self.factor) < 1
                outcomes.append(1 if near.all() else -1)
                best = int(line.mean.argmax() if line.higher_is_better else line.mean.argmin())
                texts.append(
                    f"{named(line)} {shown(metric, here.mean[0])}, "
                    f"best {shown(metric, line.mean[best])} at {line.x[best]:g}"
                )
            counted = ("close", "", "not close")
            found.append(Finding(dataset, metric, tuple(outcomes), "; ".join(texts), counted))
        return found


@dataclass(frozen=True)
class Advantage:
    """The lead of one line over another is larger in the lower or the upper half of the axis."""

    spans: ClassVar[bool] = False
    method: str
    over: str
    larger: Literal["low", "high"]

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in pairs_of(panel):
            one, other = panel.aligned(dataset, metric, (self.method, self.over))
            half = one.x.size // 2
            if not half:
                raise Missing(f"more than one point on {find_dataset(dataset).title}")
            lead = (one.mean - other.mean) * (1 if one.higher_is_better else -1)
            low, high = lead[:half].mean(), lead[-half:].mean()
            error = np.hypot(one.error, other.error)
            noise = np.hypot(_noise(error[:half]), _noise(error[-half:]))
            gain = low - high if self.larger == "low" else high - low
            numbers = (
                f"{one.label} leads {other.label} by {shown(metric, low)} in the lower half "
                f"and {shown(metric, high)} in the upper"
            )
            outcome = 1 if gain > noise else -1 if gain < -noise else 0
            found.append(Finding(dataset, metric, (outcome,), numbers))
        return found


@dataclass(frozen=True)
class Across:
    """A line's mean, range along the axis, or lead over another, compared between data sets.

    It is larger (or smaller) on each data set of `on` than on each of `against`. A stand-in
    counts as its original.
    """

    spans: ClassVar[bool] = True
    method: str
    on: tuple[str, ...]
    against: tuple[str, ...]
    statistic: Literal["mean", "range", "lead"]
    wanted: Literal["larger", "smaller"]
    over: str = ""

    def findings(self, panel: Panel) -> list[Finding]:
        sign = 1 if self.wanted == "larger" else -1
        sides = [self._present(panel, names) for names in (self.on, self.against)]
        found = []
        for metric in panel.metrics:
            ours, theirs = (
                [(name, *self._value(panel, name, metric)) for name in side] for side in sides
            )
            outcomes = tuple(
                sign * int(np.sign(one - other)) if abs(one - other) > np.hypot(e, f) else 0
                for _, one, e in ours
                for _, other, f in theirs
            )
            values = [
                f"{find_dataset(name).title} {shown(metric, value)}"
                for name, value, _ in (*ours, *theirs)
            ]
            what = f"{self.statistic} of {self.method}"
            what += f" over {self.over}" if self.over else ""
            found.append(Finding(None, metric, outcomes, f"{what}: {', '.join(values)}"))
        return found

    def _present(self, panel: Panel, names: tuple[str, ...]) -> list[str]:
        there = [
            name
            for name in panel.datasets
            if name in names or find_dataset(name).stand_in_for in names
        ]
        if not there:
            titles = " or ".join(find_dataset(name).title for name in names)
            raise Missing(f"{self.method} on {titles}", datasets=names)
        return there

    def _value(self, panel: Panel, dataset: str, metric: str) -> tuple[float, float]:
        """The statistic on a data set and its noise."""
        if self.statistic == "lead":
            one, other = panel.aligned(dataset, metric, (self.method, self.over))
            lead = float(abs(one.mean - other.mean).mean())
            return lead, _noise(np.hypot(one.error, other.error))
        line = panel.series(dataset, metric, self.method)[0]
        if self.statistic == "mean":
            return float(line.mean.mean()), _noise(line.error)
        ends = [line.mean.argmin(), line.mean.argmax()]
        noise = STANDARD_ERRORS * np.hypot(*line.error[ends])
        return float(np.ptp(line.mean)), float(noise)


def _sides(
    panel: Panel, dataset: str, metric: str, methods: Lines, than: Lines
) -> tuple[list[Series], list[Series]]:
    """Both sides of a comparison; "others" are all lines that the other side does not name."""
    ours: Sequence[str] = panel.others(than) if methods == "others" else methods
    theirs: Sequence[str] = panel.others(ours) if than == "others" else than
    if not ours or not theirs:
        raise Missing(f"anything to compare with on {find_dataset(dataset).title}")
    lines = panel.aligned(dataset, metric, (*ours, *theirs))
    return lines[: len(ours)], lines[len(ours) :]


def _noise(error: Floats) -> float:
    """The noise of a mean of independent values."""
    return float(STANDARD_ERRORS * np.sqrt((error**2).sum()) / error.size)


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
