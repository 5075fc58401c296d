"""Turn cells into lines: means and standard deviations over repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats
from psgraph.metrics.metric import UNDEFINED
from psgraph_lab.datasets.jumps import SETTLED
from psgraph_lab.experiments.cells import Cell, Outcome
from psgraph_lab.experiments.definition import Experiment, Line

__all__ = ["Curve", "summarise"]


@dataclass(frozen=True)
class Curve:
    """One line in one column of a figure.

    Attributes
    ----------
    label
        The name of the line, with ε where several budgets are drawn.
    epsilon
        None where ε is the axis.
    x
        Positions on the axis: ε, w, threshold, share of edges, or the ordinal of the timestamp.
    mean, std
        By metric, one value per x; NaN where a relative error is undefined. The deviation is the
        sample's, over repetitions; 0 for a single one. If the axis is a share of the edges,
        ``edges`` is their number. After a jump, ``settled|METRIC`` is the mean from the third
        timestamp on.
    repetitions
        Number of results for each x; points without results are omitted.
    """

    dataset: str
    label: str
    method: str
    epsilon: str | None
    x: Floats
    mean: Mapping[str, Floats]
    std: Mapping[str, Floats]
    repetitions: NDArray[np.int64]


def summarise(experiment: Experiment, results: Mapping[Cell, Outcome]) -> list[Curve]:
    """The curves of an experiment, from the cells that have been run.

    In the order of the definition: data sets, then lines, then budgets.
    """
    gathered: dict[tuple[str, Line, str | None], list[tuple[float, list[Outcome]]]] = {}
    for point in experiment.points():
        dataset, line, epsilon, window, threshold, share = point
        stored = [results[cell] for cell in experiment.at(*point) if cell in results]
        outcomes = [outcome for outcome in stored if _has_metrics(experiment, outcome)]
        if not outcomes:
            continue
        x = {
            "epsilon": float(epsilon),
            "window": float(window),
            "threshold": float(threshold or 1),
            "share": float(share),
        }.get(experiment.axis, 0.0)
        shown = None if experiment.axis == "epsilon" else epsilon
        gathered.setdefault((dataset, line, shown), []).append((x, outcomes))
    several = len(experiment.epsilons) > 1
    return [
        _curve(experiment, dataset, line, epsilon, points, several=several)
        for (dataset, line, epsilon), points in gathered.items()
    ]


def _has_metrics(experiment: Experiment, outcome: Outcome) -> bool:
    """Whether an outcome can be drawn; one that another experiment ran may lack metrics."""
    there = outcome.series if experiment.axis == "timestamp" else outcome.values
    return all(metric in there for metric in experiment.metrics)


def _curve(
    experiment: Experiment,
    dataset: str,
    line: Line,
    epsilon: str | None,
    points: list[tuple[float, list[Outcome]]],
    *,
    several: bool,
) -> Curve:
    label = line.label
    if epsilon is not None and several:
        only = len(experiment.lines) == 1
        label = f"ε = {epsilon}" if only else f"{line.label}, ε = {epsilon}"
    x = np.array([x for x, _ in points])
    repetitions = np.array([len(outcomes) for _, outcomes in points])
    mean: dict[str, Floats] = {}
    std: dict[str, Floats] = {}
    counted = experiment.axis == "share" and "edges" in points[0][1][0].values
    settled = [SETTLED + name for name in experiment.metrics]
    there = [
        name for name in settled if all(name in one.values for _, few in points for one in few)
    ]
    for metric in (*experiment.metrics, *(("edges",) if counted else ()), *there):
        if experiment.axis == "timestamp":
            ((_, outcomes),) = points
            values = np.array([outcome.series[metric] for outcome in outcomes], dtype=float)
            values[values >= UNDEFINED] = np.nan  # the relative error of a zero is undefined
            mean[metric], std[metric] = values.mean(axis=0), _deviation(values)
            x = np.arange(values.shape[1], dtype=float)
            repetitions = np.full(x.size, len(outcomes))
            continue
        columns = [
            np.array([outcome.values[metric] for outcome in outcomes]) for _, outcomes in points
        ]
        mean[metric] = np.array([column.mean() for column in columns])
        std[metric] = np.array([float(_deviation(column)) for column in columns])
    return Curve(dataset, label, line.method, epsilon, x, mean, std, repetitions)


def _deviation(values: Floats) -> Floats:
    """Sample standard deviation over the first axis."""
    if values.shape[0] < 2:
        return np.zeros(values.shape[1:])
    return np.asarray(values.std(axis=0, ddof=1))
