"""The kinds of comparison a statement can make, each with the numbers it rests on.

Every kind looks at a panel and returns findings: 1 where the statement is borne out, −1 where its
opposite is, 0 where noise leaves it open. How many of these a statement needs is its demand, and
not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, Protocol

import numpy as np

from psgraph.experiments.panel import (
    CLEAR_RANK_CORRELATION,
    STANDARD_ERRORS,
    Missing,
    Panel,
    Series,
    compare,
    direction_of,
    rank_correlation,
)
from psgraph.experiments.words import found_metric, number

__all__ = ["PREDICATES", "Finding", "Predicate"]

Lines = tuple[str, ...] | Literal["others"]

_DIRECTIONS = {1: "rises", 0: "neither rises nor falls", -1: "falls"}


@dataclass(frozen=True)
class Finding:
    """What was seen on one data set under one metric; None for one of all together."""

    dataset: str | None
    metric: str | None
    outcomes: tuple[int, ...]
    numbers: str


class Predicate(Protocol):
    """One kind of comparison."""

    def findings(self, panel: Panel) -> list[Finding]:
        """What the panel says; `Missing` if a line was not run."""


@dataclass(frozen=True)
class Better:
    """Every one of `methods` is better than `beats` of the lines in `than` (all, if not given)."""

    methods: Lines
    than: Lines = "others"
    beats: int | None = None
    factor: float = 1.0

    def findings(self, panel: Panel) -> list[Finding]:
        return [self._finding(panel, *place) for place in _places(panel)]

    def _finding(self, panel: Panel, dataset: str, metric: str) -> Finding:
        methods, than = _sides(panel, self.methods, self.than)
        lines = panel.aligned(dataset, metric, (*methods, *than))
        ours, theirs = lines[: len(methods)], lines[len(methods) :]
        needed = len(theirs) if self.beats is None else self.beats
        worst = np.ones(ours[0].x.size, dtype=int)
        for one in ours:
            compared = np.array([compare(one, other, factor=self.factor) for other in theirs])
            beaten, not_lost = (compared == 1).sum(axis=0), (compared >= 0).sum(axis=0)
            worst = np.minimum(
                worst, np.where(beaten >= needed, 1, np.where(not_lost >= needed, 0, -1))
            )
        outcomes = tuple(int(outcome) for outcome in worst)
        return Finding(
            dataset, metric, outcomes, f"{_means(ours)} against {_means(theirs)}{_tally(outcomes)}"
        )


@dataclass(frozen=True)
class Bounds:
    """`methods` stay between two values at every place, but for noise."""

    methods: tuple[str, ...]
    lowest: float = -np.inf
    highest: float = np.inf

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in _places(panel):
            lines = panel.aligned(dataset, metric, self.methods)
            mean = np.array([line.mean for line in lines])
            noise = STANDARD_ERRORS * np.array([line.error for line in lines])
            inside = (mean >= self.lowest) & (mean <= self.highest)
            near = (mean + noise >= self.lowest) & (mean - noise <= self.highest)
            outcomes = tuple(np.where(inside, 1, np.where(near, 0, -1)).ravel().tolist())
            ranges = ", ".join(
                f"{line.label} {_number(line.metric, line.mean.min())} to "
                f"{_number(line.metric, line.mean.max())}"
                for line in lines
            )
            found.append(Finding(dataset, metric, outcomes, ranges + _tally(outcomes, "inside")))
        return found


@dataclass(frozen=True)
class Close:
    """Every one of `methods` is within a factor of the best of `than`, or level with it."""

    methods: tuple[str, ...]
    than: Lines = "others"
    factor: float = 1.25

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in _places(panel):
            methods, than = _sides(panel, self.methods, self.than)
            lines = panel.aligned(dataset, metric, (*methods, *than))
            ours, theirs = lines[: len(methods)], lines[len(methods) :]
            near = np.array(
                [
                    [compare(other, one, factor=self.factor) < 1 for other in theirs]
                    for one in ours
                ]
            ).all(axis=(0, 1))
            outcomes = tuple(np.where(near, 1, -1).tolist())
            numbers = f"{_means(ours)} beside {_means(theirs)}"
            found.append(Finding(dataset, metric, outcomes, numbers + _tally(outcomes, "close")))
        return found


@dataclass(frozen=True)
class CloseToBest:
    """At one place on the axis a line is within a factor of its best, or level with it."""

    methods: tuple[str, ...]
    at: float
    factor: float = 1.25

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in _places(panel):
            outcomes, texts = [], []
            for line in _each(panel, dataset, metric, self.methods):
                if self.at not in line.x:
                    raise Missing(f"{line.label} at {self.at:g} on {dataset}")
                here = line.at(np.array([self.at]))
                near = compare(line, _spread(here, line), factor=self.factor) < 1
                outcomes.append(1 if near.all() else -1)
                best = _best(line)
                texts.append(
                    f"{_name(line)} {_number(metric, here.mean[0])}, "
                    f"best {_number(metric, line.mean[best])} at {line.x[best]:g}"
                )
            found.append(Finding(dataset, metric, tuple(outcomes), "; ".join(texts)))
        return found


@dataclass(frozen=True)
class Trend:
    """The values of `methods` rise or fall along the axis."""

    methods: Lines
    direction: Literal["rising", "falling"]
    but: tuple[str, ...] = ()

    def findings(self, panel: Panel) -> list[Finding]:
        wanted = {"rising": 1, "falling": -1}[self.direction]
        methods = panel.others(self.but) if self.methods == "others" else self.methods
        found = []
        for dataset, metric in _places(panel):
            lines = _each(panel, dataset, metric, methods)
            outcomes = tuple(wanted * direction_of(line) for line in lines)
            found.append(Finding(dataset, metric, outcomes, "; ".join(map(_ends, lines))))
        return found


@dataclass(frozen=True)
class Together:
    """Two lines rise and fall together along the axis."""

    methods: tuple[str, str]

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in _places(panel):
            lines = panel.aligned(dataset, metric, self.methods)
            agreement = rank_correlation(lines[0].mean, lines[1].mean)
            outcome = int(np.sign(agreement)) if abs(agreement) >= CLEAR_RANK_CORRELATION else 0
            numbers = f"rank correlation {agreement:.2f}; " + "; ".join(map(_ends, lines))
            found.append(Finding(dataset, metric, (outcome,), numbers))
        return found


@dataclass(frozen=True)
class Advantage:
    """The lead of one line over another is larger in the lower or the upper half of the axis."""

    method: str
    over: str
    larger: Literal["low", "high"]

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in _places(panel):
            one, other = panel.aligned(dataset, metric, (self.method, self.over))
            half = one.x.size // 2
            if not half:
                raise Missing(f"more than one place on {dataset}")
            lead = (one.mean - other.mean) * (1 if one.higher_is_better else -1)
            variance = one.error**2 + other.error**2
            low, high = lead[:half].mean(), lead[-half:].mean()
            noise = STANDARD_ERRORS * np.sqrt(variance[:half].sum() + variance[-half:].sum()) / half
            gain = low - high if self.larger == "low" else high - low
            outcome = 1 if gain > noise else -1 if gain < -noise else 0
            numbers = (
                f"{one.label} leads {other.label} by {_number(metric, low)} in the lower half "
                f"and {_number(metric, high)} in the upper"
            )
            found.append(Finding(dataset, metric, (outcome,), numbers))
        return found


@dataclass(frozen=True)
class Growth:
    """Values grow at most as the axis to this power: 1 is in proportion."""

    methods: tuple[str, ...]
    power: float = 1.0

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for dataset, metric in _places(panel):
            outcomes, texts = [], []
            for line in _each(panel, dataset, metric, self.methods):
                along = line.x[-1] / line.x[0]
                grown = line.mean[-1] / line.mean[0]
                noise = STANDARD_ERRORS * np.hypot(
                    line.error[0] / line.mean[0], line.error[-1] / line.mean[-1]
                )
                if along <= 1:
                    raise Missing(f"more than one place on {dataset}")
                limit = along**self.power
                outcomes.append(1 if grown <= limit else 0 if grown * (1 - noise) <= limit else -1)
                texts.append(f"{_name(line)} × {grown:.2f} while the axis grows × {along:g}")
            found.append(Finding(dataset, metric, tuple(outcomes), "; ".join(texts)))
        return found


@dataclass(frozen=True)
class Across:
    """A line's mean, its range along the axis, or its lead over another, between data sets.

    It is larger (or smaller) on each data set of `on` than on each of `against`.
    """

    method: str
    on: tuple[str, ...]
    against: tuple[str, ...]
    statistic: Literal["mean", "range", "lead"]
    wanted: Literal["larger", "smaller"]
    over: str = ""

    def findings(self, panel: Panel) -> list[Finding]:
        found = []
        for metric in panel.metrics:
            sides = [
                [self._value(panel, name, metric) for name in names if name in panel.datasets]
                for names in (self.on, self.against)
            ]
            for names, side in zip((self.on, self.against), sides, strict=True):
                if not side:
                    raise Missing(f"{self.method} on {' or '.join(names)}")
            sign = 1 if self.wanted == "larger" else -1
            outcomes = tuple(
                int(np.sign(sign * (one - other))) if abs(one - other) > np.hypot(e, f) else 0
                for _, one, e in sides[0]
                for _, other, f in sides[1]
            )
            texts = [f"{name} {_number(metric, value)}" for name, value, _ in sides[0] + sides[1]]
            numbers = f"{self.method}, {self.statistic}: {', '.join(texts)}"
            found.append(Finding(None, metric, outcomes, numbers))
        return found

    def _value(self, panel: Panel, dataset: str, metric: str) -> tuple[str, float, float]:
        """The name of the data set, the statistic there, and its noise."""
        if self.statistic == "lead":
            one, other = panel.aligned(dataset, metric, (self.method, self.over))
            lead = abs(one.mean - other.mean)
            noise = np.hypot(one.error, other.error)
            return dataset, float(lead.mean()), _mean_noise(noise)
        (line, *_) = panel.series(dataset, metric, self.method)
        if self.statistic == "mean":
            return dataset, float(line.mean.mean()), _mean_noise(line.error)
        top, bottom = line.mean.argmax(), line.mean.argmin()
        noise = STANDARD_ERRORS * np.hypot(line.error[top], line.error[bottom])
        return dataset, float(line.mean[top] - line.mean[bottom]), float(noise)


@dataclass(frozen=True)
class NoSingleBest:
    """Wherever one stops on the axis, some line has a place that is better beyond noise."""

    methods: tuple[str, ...]

    def findings(self, panel: Panel) -> list[Finding]:
        lines = [line for place in _places(panel) for line in _each(panel, *place, self.methods)]
        places = sorted({float(x) for line in lines for x in line.x})
        beaten = dict.fromkeys(places, 0)
        for line in lines:
            for place, x in enumerate(line.x):
                here = _spread(line.at(np.array([line.x[place]])), line)
                beaten[float(x)] += bool((compare(line, here) == 1).any())
        outcomes = tuple(1 if times else -1 for times in beaten.values())
        texts = [f"{x:g}: beaten in {times}" for x, times in beaten.items()]
        return [Finding(None, None, outcomes, f"of {len(lines)} lines, {', '.join(texts)}")]


@dataclass(frozen=True)
class MixedTrends:
    """Lines that differ only in their data set (or budget, or metric) go opposite ways.

    Better and worse are what counts, so that metrics can be set beside each other.
    """

    methods: tuple[str, ...]
    across: Literal["dataset", "epsilon", "metric"]

    def findings(self, panel: Panel) -> list[Finding]:
        lines = [line for place in _places(panel) for line in _each(panel, *place, self.methods)]
        kept = [name for name in ("dataset", "epsilon", "metric", "label") if name != self.across]

        def group(line: Series) -> tuple[str, ...]:
            return tuple(str(getattr(line, name)) for name in kept)

        outcomes, texts = [], []
        for _, members in groupby(sorted(lines, key=group), key=group):
            ways = [(line, _improvement(line)) for line in members]
            mixed = {1, -1} <= {way for _, way in ways}
            outcomes.append(1 if mixed else 0)
            if mixed:
                first = ways[0][0]
                where = [
                    str(getattr(first, name))
                    for name in kept
                    if name != "label" and getattr(first, name) is not None
                ]
                better = [str(getattr(line, self.across)) for line, way in ways if way == 1]
                worse = [str(getattr(line, self.across)) for line, way in ways if way == -1]
                texts.append(
                    f"{first.label} ({', '.join(where)}) gets better for {', '.join(better)} "
                    f"and worse for {', '.join(worse)}"
                )
        numbers = f"{sum(outcomes)} of {len(outcomes)} groups go both ways"
        return [Finding(None, None, tuple(outcomes), "; ".join([numbers, *texts[:2]]))]


#: By the name that ``statements.toml`` has for it.
PREDICATES: dict[str, type[Predicate]] = {
    "better": Better,
    "bounds": Bounds,
    "close": Close,
    "close-to-best": CloseToBest,
    "trend": Trend,
    "together": Together,
    "advantage": Advantage,
    "growth": Growth,
    "across": Across,
    "no-single-best": NoSingleBest,
    "mixed-trends": MixedTrends,
}


def _places(panel: Panel) -> Iterator[tuple[str, str]]:
    return ((dataset, metric) for metric in panel.metrics for dataset in panel.datasets)


def _sides(panel: Panel, methods: Lines, than: Lines) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both sides of a comparison, "others" being all lines that the other side does not name."""
    if methods == "others":
        return panel.others(than), tuple(than)
    return tuple(methods), panel.others(methods) if than == "others" else tuple(than)


def _each(panel: Panel, dataset: str, metric: str, methods: Sequence[str]) -> list[Series]:
    return [line for label in methods for line in panel.series(dataset, metric, label)]


def _spread(point: Series, line: Series) -> Series:
    """One place of a line, repeated for each of its places."""
    size = line.x.size
    return Series(
        line.dataset,
        line.label,
        line.metric,
        line.epsilon,
        line.x,
        np.repeat(point.mean, size),
        np.repeat(point.error, size),
    )


def _best(line: Series) -> int:
    return int(line.mean.argmax() if line.higher_is_better else line.mean.argmin())


def _improvement(line: Series) -> int:
    return direction_of(line) * (1 if line.higher_is_better else -1)


def _mean_noise(error: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    return float(STANDARD_ERRORS * np.sqrt((error**2).sum()) / error.size)


def _number(metric: str, value: float) -> str:
    info = found_metric(metric)
    return number(float(value), is_share=info.is_share) + (" %" if info.is_share else "")


def _name(line: Series) -> str:
    return line.label if line.epsilon is None else f"{line.label} (ε = {line.epsilon})"


def _means(lines: Sequence[Series]) -> str:
    return ", ".join(f"{line.label} {_number(line.metric, line.mean.mean())}" for line in lines)


def _ends(line: Series) -> str:
    first, last = (_number(line.metric, value) for value in (line.mean[0], line.mean[-1]))
    return f"{_name(line)} {first} → {last}, {_DIRECTIONS[direction_of(line)]}"


def _tally(outcomes: Sequence[int], good: str = "better") -> str:
    counts = {good: outcomes.count(1), "level": outcomes.count(0), "worse": outcomes.count(-1)}
    if good != "better":
        counts = {good: counts[good], "within noise of it": counts["level"], "not": counts["worse"]}
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f" ({told})"
