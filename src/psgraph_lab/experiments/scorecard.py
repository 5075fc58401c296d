"""One method against others, cell by cell: a data set, a point on the axis and a metric each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from psgraph.metrics.metric import Metric
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.summary import Curve
from psgraph_lab.experiments.words import found_metric

__all__ = ["Match", "Score", "groups_of", "matches_of", "score"]

#: A difference is clear beyond this many standard errors.
CLEAR = 2.0
#: Ratios are cut here: an error of exactly zero would be infinitely better.
MOST = 99.0


@dataclass(frozen=True)
class Match:
    """Subject and rival in one cell.

    Attributes
    ----------
    subject, rival
        Means over repetitions.
    error
        Standard error of their difference; None if either was run only once.
    """

    dataset: str
    line: str
    x: float
    metric: Metric
    subject: float
    rival: float
    error: float | None

    @property
    def gain(self) -> float:
        """By how much the subject is better, in the unit of the metric; negative if it is worse."""
        sign = 1 if self.metric.better == "higher" else -1
        return sign * (self.subject - self.rival)

    @property
    def is_clear(self) -> bool:
        """Whether the difference exceeds two standard errors."""
        return self.error is not None and abs(self.gain) > CLEAR * self.error

    @property
    def ratio(self) -> float:
        """The rival's error as a multiple of the subject's, from 1/99 to 99.

        Where higher is better the error is what is missing to 1.
        """
        mine, other = (self._loss(value) for value in (self.subject, self.rival))
        if mine == other:
            return 1.0
        with np.errstate(divide="ignore"):
            return float(np.clip(np.float64(other) / np.float64(mine), 1 / MOST, MOST))

    def _loss(self, value: float) -> float:
        return max(0.0, 1 - value) if self.metric.better == "higher" else value


def matches_of(
    experiment: Experiment, curves: Sequence[Curve], *, lines: Iterable[str]
) -> list[Match]:
    """The subject of an experiment against other lines, wherever both have a value."""
    found: list[Match] = []
    by_name = {(curve.dataset, curve.label): curve for curve in curves}
    datasets = dict.fromkeys(curve.dataset for curve in curves)
    for line in lines:
        for dataset in datasets:
            mine, other = by_name.get((dataset, experiment.subject)), by_name.get((dataset, line))
            if mine is None or other is None:
                continue
            for name in experiment.metrics:
                found.extend(_along_axis(mine, other, found_metric(name)))
    return found


def _along_axis(mine: Curve, other: Curve, metric: Metric) -> Iterable[Match]:
    for index, x in enumerate(mine.x):
        (there,) = np.nonzero(other.x == x)
        if not there.size:
            continue
        subject, rival = mine.mean[metric.name][index], other.mean[metric.name][there[0]]
        if isfinite(subject) and isfinite(rival):
            errors = [_variance(mine, metric, index), _variance(other, metric, int(there[0]))]
            error = None if None in errors else sqrt(sum(each or 0.0 for each in errors))
            place = (mine.dataset, other.label, float(x), metric)
            yield Match(*place, float(subject), float(rival), error)


def _variance(curve: Curve, metric: Metric, index: int) -> float | None:
    """Variance of a mean over repetitions; None for a single one."""
    runs = int(curve.repetitions[index])
    return float(curve.std[metric.name][index]) ** 2 / runs if runs > 1 else None


@dataclass(frozen=True)
class Score:
    """How many cells the subject wins and loses."""

    cells: int
    better: int
    clearly_better: int
    worse: int
    clearly_worse: int
    median_ratio: float


def score(matches: Sequence[Match]) -> Score:
    """Count wins and losses.

    >>> metric = found_metric("density_error")
    >>> score([Match("demo", "TmF", 1.0, metric, 0.1, 0.3, 0.05)])
    Score(cells=1, better=1, clearly_better=1, worse=0, clearly_worse=0, median_ratio=3.0)
    """
    won = [match for match in matches if match.gain > 0]
    lost = [match for match in matches if match.gain < 0]
    ratios = [match.ratio for match in matches]
    return Score(
        cells=len(matches),
        better=len(won),
        clearly_better=sum(match.is_clear for match in won),
        worse=len(lost),
        clearly_worse=sum(match.is_clear for match in lost),
        median_ratio=round(float(np.median(ratios)), 12) if ratios else float("nan"),
    )


def groups_of(experiment: Experiment, datasets: Iterable[str]) -> dict[str, list[str]]:
    """Data sets by the part they had in making the subject.

    Those that were not even looked at in the design are also among those held out.

    >>> from psgraph_lab.experiments.definition import find_experiment
    >>> plus = find_experiment("plus")
    >>> {name: len(members) for name, members in groups_of(plus, plus.datasets).items()}
    {'tuned on': 8, 'held out': 8, 'held out, unseen in the design': 2, 'synthetic': 1}
    """
    groups: dict[str, list[str]] = {
        "tuned on": [],
        "held out": [],
        "held out, unseen in the design": [],
        "synthetic": [],
    }
    for name in datasets:
        if not find_dataset(name).files:
            groups["synthetic"].append(name)
        elif name in experiment.tuned:
            groups["tuned on"].append(name)
        else:
            groups["held out"].append(name)
            if name not in experiment.seen:
                groups["held out, unseen in the design"].append(name)
    return {group: members for group, members in groups.items() if members}
