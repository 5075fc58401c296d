"""One method against others, cell by cell: a data set, a point on the axis and a metric each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from psgraph._runtime.numbers import NO_VALUE, count, joined, with_deviation
from psgraph.metrics.groups import PAPER_METRICS
from psgraph.metrics.metric import Metric
from psgraph_lab.datasets import find_dataset
from psgraph_lab.datasets.jumps import find_jump
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.labels import found_metric, shown_point
from psgraph_lab.experiments.summary import Curve
from psgraph_lab.experiments.tables import Table

__all__ = [
    "SCORECARD_READING",
    "Match",
    "Score",
    "group_sentences",
    "groups_of",
    "losses",
    "main_metrics",
    "main_words",
    "matches_of",
    "point_tables",
    "score",
    "score_tables",
    "verdict_sentences",
]

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


#: How to read the tables of the scorecard.
SCORECARD_READING = (
    "A cell is a stream, a point on the axis and a metric. “Clearly” counts the cells in which the "
    f"difference exceeds {CLEAR:g} standard errors of the difference of the two means. The ratio "
    "is the other method's error divided by the subject's; where higher is better the error is "
    "what is missing to 1. Ratios are cut at 99."
)

_COLUMNS = ("cells", "better", "clearly better", "worse", "clearly worse", "median ratio")
_PAPER = tuple(info.name for info in PAPER_METRICS)


def main_metrics(experiment: Experiment) -> tuple[str, ...]:
    """The metrics that wins and losses are summed up over."""
    return experiment.main or _PAPER


def main_words(experiment: Experiment) -> str:
    """These metrics in words."""
    return f"the {len(experiment.main)} main" if experiment.main else "the paper's five"


def group_sentences(experiment: Experiment, curves: Sequence[Curve]) -> list[str]:
    """Which data sets the subject was tuned on and which were held out."""
    groups = groups_of(experiment, dict.fromkeys(curve.dataset for curve in curves))
    titles = {name: _titles(groups[name]) for name in groups}
    found = []
    if "tuned on" in groups:
        found.append(f"{experiment.subject} was tuned on {titles['tuned on']}.")
    if "held out" in groups:
        found.append(f"Held out from tuning: {titles['held out']}.")
        seen = [name for name in groups["held out"] if name in experiment.seen]
        if seen:
            one = len({find_jump(name)[0] for name in seen}) == 1
            found.append(
                f"Of these, {_titles(seen)} {'was' if one else 'were'} looked at while the "
                "method was designed; the others had no part in either."
            )
    return found


def _titles(datasets: Iterable[str]) -> str:
    """The titles of streams, each once whichever jumps it has."""
    streams = dict.fromkeys(find_jump(name)[0] for name in datasets)
    return joined([find_dataset(name).title for name in streams])


def verdict_sentences(experiment: Experiment, curves: Sequence[Curve]) -> list[str]:
    """The result in one sentence per rival: cells of the paper's five metrics won and lost."""
    found = []
    for line in experiment.rivals:
        matches = [
            match
            for match in matches_of(experiment, curves, lines=[line])
            if match.metric.name in main_metrics(experiment) and find_dataset(match.dataset).files
        ]
        if matches:
            total = score(matches)
            found.append(
                f"Against {line}, in {main_words(experiment)} metrics on real streams: better in "
                f"{total.better} of {count(total.cells, 'cell')} "
                f"({100 * total.better / total.cells:.0f} %), beyond two standard errors in "
                f"{total.clearly_better}; worse beyond two standard errors in "
                f"{total.clearly_worse}."
            )
    return found


def score_tables(experiment: Experiment, curves: Sequence[Curve]) -> list[Table]:
    """Wins and losses by metric for every group of data sets, and against every other line."""
    tables = []
    for line in experiment.rivals:
        matches = matches_of(experiment, curves, lines=[line])
        groups = groups_of(experiment, dict.fromkeys(match.dataset for match in matches))
        if len(experiment.rivals) > 1:
            groups = {"": [match.dataset for match in matches]}
        for group, members in groups.items():
            here = [match for match in matches if match.dataset in members]
            words = f", streams {group}" if group else ""
            tables.append(
                _by_metric(experiment, here, f"{experiment.subject} against {line}{words}")
            )
    others = [line.label for line in experiment.lines if line.label != experiment.subject]
    if len(others) > len(experiment.rivals):
        tables.append(_by_line(experiment, curves, others))
    return tables


def _by_metric(experiment: Experiment, matches: Sequence[Match], caption: str) -> Table:
    main = [match for match in matches if match.metric.name in main_metrics(experiment)]
    rows = [(main_words(experiment), *_shown(score(main)))]
    for name in experiment.metrics:
        here = [match for match in matches if match.metric.name == name]
        if experiment.main and not here:
            continue  # not defined for the rival, or for these streams
        rows.append((found_metric(name).words, *_shown(score(here))))
    return Table(caption, ("", *_COLUMNS), tuple(rows))


def _by_line(experiment: Experiment, curves: Sequence[Curve], lines: Sequence[str]) -> Table:
    rows = []
    for line in lines:
        matches = matches_of(experiment, curves, lines=[line])
        main = [match for match in matches if match.metric.name in main_metrics(experiment)]
        rows.append((line, *_shown(score(main))))
    words = main_words(experiment)
    caption = f"{experiment.subject} against each method, {words} metrics, all streams"
    return Table(caption, ("", *_COLUMNS), tuple(rows))


def _shown(total: Score) -> tuple[str, ...]:
    counts = (
        total.cells,
        total.better,
        total.clearly_better,
        total.worse,
        total.clearly_worse,
    )
    ratio = f"{total.median_ratio:.2f}" if total.cells else NO_VALUE
    return (*(f"{number:,}" for number in counts), ratio)


def losses(experiment: Experiment, curves: Sequence[Curve]) -> list[str]:
    """The cells of the paper's five metrics that the subject loses clearly, by name."""
    found = []
    for match in matches_of(experiment, curves, lines=experiment.rivals):
        if match.metric.name in main_metrics(experiment) and match.gain < 0 and match.is_clear:
            metric = match.metric
            where = f"{find_dataset(match.dataset).title}, {shown_point(experiment, match.x)}"
            against = f", {match.line}" if len(experiment.rivals) > 1 else ""
            found.append(
                f"{where}{against}: {metric.words} {metric.shown(match.subject)} against "
                f"{metric.shown(match.rival)} ({abs(match.gain) / (match.error or 1):.1f} standard "
                "errors)"
            )
    return found


def point_tables(experiment: Experiment, curves: Sequence[Curve], dataset: str) -> list[Table]:
    """One table per point on the axis: a row per metric, a column per line."""
    here = [curve for curve in curves if curve.dataset == dataset]
    points = np.unique(np.concatenate([curve.x for curve in here]))
    tables = []
    for x in points:
        rows = tuple(
            (info.heading, *(_at(experiment, curve, info, x) for curve in here))
            for info in map(found_metric, experiment.metrics)
            if not experiment.main or any(np.isfinite(each.mean[info.name]).any() for each in here)
        )
        runs = (str(*(curve.repetitions[curve.x == x] if x in curve.x else [0])) for curve in here)
        heads = ("", *(curve.label for curve in here))
        tables.append(Table(shown_point(experiment, x), heads, (*rows, ("runs", *runs))))
    return tables


def _at(experiment: Experiment, curve: Curve, info: Metric, x: float) -> str:
    """A mean, with its deviation for the lines that are compared cell by cell."""
    (index,) = np.nonzero(curve.x == x)
    if not index.size or not np.isfinite(curve.mean[info.name][index[0]]):
        return NO_VALUE
    several = curve.repetitions[index[0]] > 1
    compared = curve.label in (experiment.subject, *experiment.rivals)
    mean, deviation = curve.mean[info.name][index[0]], curve.std[info.name][index[0]]
    spread = info.scaled(deviation) if several and compared else None
    return with_deviation(info.scaled(mean), spread)
