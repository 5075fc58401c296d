"""Curves are the means and deviations of their cells."""

from __future__ import annotations

import numpy as np
import pytest

from psgraph_lab.experiments.cells import Cell, Outcome
from psgraph_lab.experiments.definition import Experiment, find_experiment
from psgraph_lab.experiments.summary import summarise


def results_of(experiment: Experiment, timestamps: int = 4) -> dict[Cell, Outcome]:
    """Made-up numbers that tell which cell they belong to."""
    found = {}
    for cell in experiment.cells():
        rng = np.random.default_rng(cell.seed)
        values = {metric: float(rng.random()) for metric in experiment.metrics}
        series = {metric: rng.random(timestamps, dtype=np.float32) for metric in experiment.metrics}
        found[cell] = Outcome(cell, values, series)
    return found


def test_means_and_deviations_over_repetitions() -> None:
    experiment = find_experiment("end-to-end").narrowed(datasets=["demo"], methods=["tmf", "der"])
    results = results_of(experiment)
    tmf, der = summarise(experiment, results)
    assert (tmf.label, der.label) == ("TmF", "DER")
    assert tmf.x.tolist() == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    numbers = [results[Cell("demo", "der", "1.5", 5, k)].values["density_error"] for k in range(10)]
    assert der.mean["density_error"][2] == pytest.approx(np.mean(numbers))
    assert der.std["density_error"][2] == pytest.approx(np.std(numbers, ddof=1))
    assert der.repetitions.tolist() == [10] * 8


def test_what_was_not_run_is_left_out() -> None:
    experiment = find_experiment("end-to-end").narrowed(datasets=["demo"])
    results = results_of(experiment)
    some = {
        cell: outcome
        for cell, outcome in results.items()
        if cell.method == "tmf" and cell.epsilon in ("1", "4") and cell.repetition < 3
    }
    (tmf,) = summarise(experiment, some)
    assert tmf.x.tolist() == [1, 4]
    assert tmf.repetitions.tolist() == [3, 3]
    one = {cell: outcome for cell, outcome in some.items() if cell.repetition == 0}
    assert summarise(experiment, one)[0].std["density_error"].tolist() == [0, 0]
    assert summarise(experiment, {}) == []


def test_a_line_per_budget_where_the_axis_is_something_else() -> None:
    experiment = find_experiment("threshold").narrowed(datasets=["demo"])
    curves = summarise(experiment, results_of(experiment))
    assert [curve.label for curve in curves] == ["ε = 1.5", "ε = 2.5", "ε = 3.5"]
    assert curves[0].x.tolist() == [0.01, 0.1, 1, 10, 100]


def test_timestamps_along_the_axis() -> None:
    experiment = find_experiment("timestamps").narrowed(datasets=["demo"], methods=["tmf"])
    results = results_of(experiment, timestamps=7)
    spoilt = results[Cell("demo", "tmf", "2.5", 5, 4)].series["clustering_error"]
    spoilt[2] = 4e13
    (tmf,) = summarise(experiment, results)
    assert tmf.x.tolist() == list(range(7))
    assert np.flatnonzero(np.isnan(tmf.mean["clustering_error"])).tolist() == [2]
    series = [outcome.series["density_error"] for outcome in results.values()]
    assert tmf.mean["density_error"] == pytest.approx(np.mean(series, axis=0, dtype=float))
