"""The numbers of a figure as text tables, and notes on what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from psgraph._runtime.numbers import NO_VALUE, count, joined, with_deviation
from psgraph.metrics.metric import Metric
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.labels import dataset_words, direction, found_metric, shown_point
from psgraph_lab.experiments.summary import Curve

__all__ = [
    "MACHINE",
    "Table",
    "ablation_table",
    "find_published",
    "missing_notes",
    "stand_in_notes",
    "tables_of",
]

MACHINE = "AMD EPYC 7402, 24 cores"

_DATASETS = ("as-733", "as-caida", "cit-hepph", "reddit")
#: Table 4: seconds for the whole stream.
_SECONDS = {
    "tmf": (70.84, 481.49, 16.88, 19.88),
    "privgraph": (310.89, 1998.91, 46.93, 101.60),
    "der": (8772.87, 48223.78, 3705.31, 5140.13),
    "privhrg": (35281.87, 270312.32, 4328.67, 10091.21),
    "ldpgen": (512.87, 1256.19, 101.42, 284.64),
    "psgraph": (678.94, 1242.34, 35.81, 104.58),
}
#: Table 5: megabytes.
_MEGABYTES = {
    "tmf": (262.26, 580.06, 127.64, 311.56),
    "privgraph": (267.47, 610.24, 159.23, 361.23),
    "der": (505.12, 7340.03, 382.29, 1120.26),
    "privhrg": (282.15, 694.23, 173.21, 372.19),
    "ldpgen": (318.95, 1604.09, 183.07, 455.86),
    "psgraph": (385.09, 2367.49, 295.12, 767.32),
}
_TABLES = {"seconds": _SECONDS, "peak_megabytes": _MEGABYTES}


def find_published(metric: str, method: str, dataset: str) -> float | None:
    """The paper's number; None if it has none.

    >>> find_published("seconds", "psgraph", "as-caida"), find_published("seconds", "tmf", "demo")
    (1242.34, None)
    """
    row = _TABLES.get(metric, {}).get(method)
    return row[_DATASETS.index(dataset)] if row and dataset in _DATASETS else None


@dataclass(frozen=True)
class Table:
    """A table of text; all columns except the first hold numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables_of(experiment: Experiment, curves: Sequence[Curve], dataset: str) -> list[Table]:
    """One table per metric for a data set."""
    here = [curve for curve in curves if curve.dataset == dataset]
    kind = {"timestamp": _over_time, "none": _beside_paper}.get(experiment.axis, _along_axis)
    return [kind(experiment, here, found_metric(name)) for name in experiment.metrics]


def _along_axis(experiment: Experiment, curves: Sequence[Curve], info: Metric) -> Table:
    """A row per line, a column per position on the axis, mean ± standard deviation."""
    positions = np.unique(np.concatenate([curve.x for curve in curves]))
    rows = []
    for curve in curves:
        columns = (curve.x, curve.mean[info.name], curve.std[info.name], curve.repetitions)
        shown = {
            # A single run has no deviation.
            x: _cell(info, mean, std if runs > 1 else None)
            for x, mean, std, runs in zip(*columns, strict=True)
        }
        cells = (shown.get(x, NO_VALUE) for x in positions)
        rows.append((curve.label, *cells, _between(curve.repetitions)))
    heads = (_head(experiment, curves, x) for x in positions)
    return Table(_caption(info, "mean ± standard deviation"), ("", *heads, "runs"), tuple(rows))


def _head(experiment: Experiment, curves: Sequence[Curve], x: float) -> str:
    """The heading of a position on the axis; a share of the edges includes their number."""
    for curve in curves:
        if "edges" in curve.mean and x in curve.x:
            return f"{shown_point(experiment, x)} ({curve.mean['edges'][curve.x == x][0]:,.0f})"
    return shown_point(experiment, x)


def _over_time(_: Experiment, curves: Sequence[Curve], info: Metric) -> Table:
    """A row per timestamp and a column per line; means only, to keep the page readable."""
    last = max(curve.x.size for curve in curves)
    rows = []
    for time in range(last):
        means = (
            _cell(info, curve.mean[info.name][time]) if time < curve.x.size else NO_VALUE
            for curve in curves
        )
        rows.append((str(time), *means))
    heads = (f"{curve.label} ({_runs(curve.repetitions)})" for curve in curves)
    return Table(_caption(info, "means"), ("timestamp", *heads), tuple(rows))


def _beside_paper(_: Experiment, curves: Sequence[Curve], info: Metric) -> Table:
    """Our values and the paper's, each also as a multiple of PSGraph's."""
    ours = {curve.method: float(curve.mean[info.name][0]) for curve in curves}
    dataset = curves[0].dataset
    theirs = {method: find_published(info.name, method, dataset) for method in ours}
    published = any(value is not None for value in theirs.values())
    own_theirs = find_published(info.name, "psgraph", dataset)
    rows = []
    for curve in curves:
        mean, std = curve.mean[info.name][0], curve.std[info.name][0]
        repetitions = int(curve.repetitions[0])
        cells = [_cell(info, mean, std if repetitions > 1 else None)]
        cells.append(_ratio(mean, ours.get("psgraph")))
        if published:
            value = theirs[curve.method]
            cells.append(NO_VALUE if value is None else _cell(info, value))
            cells.append(_ratio(value, own_theirs))
        rows.append((curve.label, *cells, str(repetitions)))
    heads = ["", "here", "÷ PSGraph"]
    if published:
        heads += ["the paper", "÷ PSGraph"]
    words = "mean ± standard deviation" + ("" if published else "; the paper has no such numbers")
    return Table(_caption(info, words), (*heads, "runs"), tuple(rows))


def _ratio(value: float | None, base: float | None) -> str:
    return NO_VALUE if value is None or not base else f"{value / base:.3g} ×"


def _cell(info: Metric, mean: float, deviation: float | None = None) -> str:
    spread = None if deviation is None else info.scaled(deviation)
    return with_deviation(info.scaled(mean), spread)


def _caption(info: Metric, what: str) -> str:
    return f"{info.heading} ({direction(info)}): {what}"


def _runs(counts: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    return f"{_between(counts)} {'run' if max(counts) == 1 else 'runs'}"


def _between(counts: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    low, high = int(min(counts)), int(max(counts))
    return f"{low}" if low == high else f"{low} to {high}"


def ablation_table(experiment: Experiment) -> Table | None:
    """The paper's Table 3: the components of each line; None if every line has all of them."""
    parts = {"fusion": "fusion", "postprocess": "post-processing"}
    settings = [dict(line.parameters) for line in experiment.lines]
    if not any(name in parts and not value for each in settings for name, value in each.items()):
        return None
    rows = tuple(
        (line.label, *("✓" if each.get(name, True) else "×" for name in parts))
        for line, each in zip(experiment.lines, settings, strict=True)
    )
    return Table(
        "Table 3 of the paper: the components of each variant", ("", *parts.values()), rows
    )


def missing_notes(experiment: Experiment, curves: Sequence[Curve]) -> Iterator[str]:
    """Sentences on the number of repetitions and on missing results."""
    wanted = experiment.repetitions
    each = "the mean of " if wanted > 1 else ""
    few = [curve for curve in curves if curve.repetitions.min() < wanted]
    so_far = " unless stated otherwise" if few else ""
    yield f"Every point is {each}{count(wanted, 'repetition')}{so_far}."
    for label in dict.fromkeys(curve.label for curve in few):
        by_count: dict[str, list[str]] = {}
        for curve in few:
            if curve.label == label:
                words = by_count.setdefault(_between(curve.repetitions), [])
                words.append(find_dataset(curve.dataset).title)
        parts = [f"{count} on {joined(names)}" for count, names in by_count.items()]
        yield f"{label} has fewer than {wanted} repetitions: {'; '.join(parts)}."
    yield from _gaps(experiment, curves)


def _gaps(experiment: Experiment, curves: Sequence[Curve]) -> Iterator[str]:
    there = list(dict.fromkeys(curve.dataset for curve in curves))
    labels = list(dict.fromkeys(curve.label for curve in curves))
    lacking = [name for name in experiment.datasets if name not in there]
    if lacking:
        titles = [find_dataset(name).title for name in lacking]
        yield f"There are no results for {joined(titles)}."
    never = [line.label for line in experiment.lines if not _was_run(line.label, labels)]
    if never and len(experiment.lines) > 1:
        yield f"Not run: {joined(never)}."
    absent: dict[str, list[str]] = {}
    shorter: dict[str, list[str]] = {}
    for dataset in there:
        here = {curve.label: curve for curve in curves if curve.dataset == dataset}
        title = find_dataset(dataset).title
        longest = max(curve.x.size for curve in here.values())
        for label in labels:
            if label not in here:
                absent.setdefault(label, []).append(title)
            elif here[label].x.size < longest:
                words = f"{here[label].x.size} of {longest} points on {title}"
                shorter.setdefault(label, []).append(words)
    for label, titles in absent.items():
        yield f"{label} was not run on {joined(titles)}."
    for label, words_of in shorter.items():
        yield f"{label} has {joined(words_of)}."


def _was_run(label: str, labels: Sequence[str]) -> bool:
    return any(each == label or each.startswith(f"{label}, ε = ") for each in labels)


def stand_in_notes(curves: Sequence[Curve]) -> list[str]:
    """How each stand-in differs from the paper's data set."""
    notes = []
    for name in dict.fromkeys(curve.dataset for curve in curves):
        dataset = find_dataset(name)
        if dataset.stand_in_for:
            notes.append(f"{dataset_words(name)}: {dataset.discrepancy}")
    return notes
