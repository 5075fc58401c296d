"""The scorecard of an experiment as text: tables of wins and losses, and the losses by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psgraph._runtime.numbers import NO_VALUE, count, joined, with_deviation
from psgraph.metrics.groups import PAPER_METRICS
from psgraph.metrics.metric import Metric
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.scorecard import CLEAR, Match, Score, groups_of, matches_of, score
from psgraph_lab.experiments.summary import Curve
from psgraph_lab.experiments.tables import Table
from psgraph_lab.experiments.words import found_metric, shown_point

__all__ = [
    "SCORECARD_READING",
    "group_sentences",
    "losses",
    "point_tables",
    "score_tables",
    "verdict_sentences",
]

#: How to read the tables of the scorecard.
SCORECARD_READING = (
    "A cell is a stream, a point on the axis and a metric. “Clearly” counts the cells in which the "
    f"difference exceeds {CLEAR:g} standard errors of the difference of the two means. The ratio "
    "is the other method's error divided by the subject's; where higher is better the error is "
    "what is missing to 1. Ratios are cut at 99."
)

_COLUMNS = ("cells", "better", "clearly better", "worse", "clearly worse", "median ratio")
_PAPER = tuple(info.name for info in PAPER_METRICS)


def group_sentences(experiment: Experiment, curves: Sequence[Curve]) -> list[str]:
    """Which data sets the subject was tuned on and which were held out."""
    groups = groups_of(experiment, dict.fromkeys(curve.dataset for curve in curves))
    titles = {name: joined([find_dataset(each).title for each in groups[name]]) for name in groups}
    found = []
    if "tuned on" in groups:
        found.append(f"{experiment.subject} was tuned on {titles['tuned on']}.")
    if "held out" in groups:
        found.append(f"Held out from tuning: {titles['held out']}.")
        seen = [name for name in groups["held out"] if name in experiment.seen]
        if seen:
            were = joined([find_dataset(name).title for name in seen])
            found.append(
                f"Of these, {were} {'was' if len(seen) == 1 else 'were'} looked at while the "
                "method was designed; the others had no part in either."
            )
    return found


def verdict_sentences(experiment: Experiment, curves: Sequence[Curve]) -> list[str]:
    """The result in one sentence per rival: cells of the paper's five metrics won and lost."""
    found = []
    for line in experiment.rivals:
        matches = [
            match
            for match in matches_of(experiment, curves, lines=[line])
            if match.metric.name in _PAPER and find_dataset(match.dataset).files
        ]
        if matches:
            total = score(matches)
            found.append(
                f"Against {line}, in the paper's five metrics on real streams: better in "
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
    paper = [match for match in matches if match.metric.name in _PAPER]
    rows = [("the paper's five", *_shown(score(paper)))]
    for name in experiment.metrics:
        here = [match for match in matches if match.metric.name == name]
        rows.append((found_metric(name).words, *_shown(score(here))))
    return Table(caption, ("", *_COLUMNS), tuple(rows))


def _by_line(experiment: Experiment, curves: Sequence[Curve], lines: Sequence[str]) -> Table:
    rows = []
    for line in lines:
        matches = matches_of(experiment, curves, lines=[line])
        paper = [match for match in matches if match.metric.name in _PAPER]
        rows.append((line, *_shown(score(paper))))
    caption = f"{experiment.subject} against each method, the paper's five metrics, all streams"
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
        if match.metric.name in _PAPER and match.gain < 0 and match.is_clear:
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
