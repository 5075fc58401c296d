"""The scorecard counts what the means and standard errors say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psgraph_lab.experiments.definition import Experiment, find_experiment
from psgraph_lab.experiments.heatmap import compose_heat_map
from psgraph_lab.experiments.labels import found_metric
from psgraph_lab.experiments.recovery import (
    compose_recovery,
    exceptions,
    recovery_sentences,
    recovery_tables,
)
from psgraph_lab.experiments.scorecard import (
    Match,
    group_sentences,
    groups_of,
    losses,
    matches_of,
    point_tables,
    score,
    score_tables,
    verdict_sentences,
)
from psgraph_lab.experiments.summary import Curve, summarise

from .made_up import made_up

METRICS = ("eigenvector_overlap", "density_error")


def curve(
    dataset: str, label: str, overlap: list[float], density: list[float], runs: int = 4
) -> Curve:
    """Two budgets; every mean has a standard error of 0.1 after four runs."""
    mean = {"eigenvector_overlap": np.array(overlap), "density_error": np.array(density)}
    std = {name: np.full(2, 0.2) for name in mean}
    x = np.array([1.0, 4.0])
    return Curve(dataset, label, label, None, x, mean, std, np.full(2, runs))


@pytest.fixture
def experiment() -> Experiment:
    plus = find_experiment("plus")
    return replace(plus, metrics=METRICS, datasets=("as-733", "dblp", "demo"))


@pytest.fixture
def curves() -> list[Curve]:
    return [
        curve("as-733", "PSGraph+", [0.9, 0.5], [0.1, 0.5]),
        curve("as-733", "PSGraph", [0.5, 0.6], [0.5, 0.1]),
        curve("dblp", "PSGraph+", [0.5, np.nan], [0.3, 0.3]),
        curve("dblp", "PSGraph", [0.5, 0.6], [0.2, 0.3], runs=1),
    ]


def test_better_depends_on_the_metric_and_clear_on_the_standard_errors(experiment, curves):
    found = {
        (match.dataset, match.metric.name, match.x): match
        for match in matches_of(experiment, curves, lines=["PSGraph"])
    }
    assert len(found) == 7  # one mean is undefined
    won = found["as-733", "eigenvector_overlap", 1.0]
    # 0.4 better; the difference has a standard error of sqrt(0.1² + 0.1²).
    assert (won.gain, won.error) == (pytest.approx(0.4), pytest.approx(0.02**0.5))
    assert won.is_clear
    assert won.ratio == pytest.approx(0.5 / 0.1)  # what is missing to 1
    lost = found["as-733", "density_error", 4.0]
    assert (lost.gain, lost.is_clear, lost.ratio) == (pytest.approx(-0.4), True, pytest.approx(0.2))
    close = found["as-733", "eigenvector_overlap", 4.0]
    assert close.gain < 0
    assert not close.is_clear
    single = found["dblp", "density_error", 1.0]
    assert single.error is None
    assert not single.is_clear


def test_an_error_of_zero_is_not_infinitely_better():
    metric = found_metric("density_error")
    assert Match("demo", "TmF", 1.0, metric, 0.0, 0.5, 0.1).ratio == 99
    assert Match("demo", "TmF", 1.0, metric, 0.5, 0.0, 0.1).ratio == pytest.approx(1 / 99)
    assert Match("demo", "TmF", 1.0, metric, 0.0, 0.0, 0.1).ratio == 1


def test_ties_are_neither_won_nor_lost(experiment, curves):
    total = score(matches_of(experiment, curves, lines=["PSGraph"]))
    assert (total.cells, total.better, total.worse) == (7, 2, 3)
    assert (total.clearly_better, total.clearly_worse) == (2, 1)


def test_tuned_and_held_out_streams_are_counted_separately(experiment, curves):
    tuned, held, unseen = (
        groups_of(experiment, experiment.datasets).get(name)
        for name in ("tuned on", "held out", "held out, unseen in the design")
    )
    assert (tuned, held, unseen) == (["as-733"], ["dblp"], None)  # DBLP was seen in the design
    captions = {table.caption: table for table in score_tables(experiment, curves)}
    here = captions["PSGraph+ against PSGraph, streams tuned on"]
    # Ratios 5, 0.8, 5 and 0.2.
    assert here.rows[0] == ("the paper's five", "4", "2", "2", "2", "1", "2.90")
    there = captions["PSGraph+ against PSGraph, streams held out"]
    assert [row[1] for row in there.rows] == ["3", "1", "2"]
    words = " ".join(group_sentences(experiment, curves))
    assert "tuned on As-733" in words
    assert "Of these, DBLP was looked at" in words


def test_every_clear_loss_of_the_five_metrics_is_named(experiment, curves):
    (lost,) = losses(experiment, curves)
    assert lost.startswith("As-733, ε = 4: density error 50.0 % against 10.0 % (2.8 standard")
    (verdict,) = verdict_sentences(experiment, curves)
    assert "better in 2 of 7 cells (29 %)" in verdict
    assert "worse beyond two standard errors in 1." in verdict


def test_numbers_have_a_row_per_metric_and_the_number_of_runs(experiment, curves):
    first, _ = point_tables(experiment, curves, "dblp")
    assert first.caption == "ε = 1"
    assert first.columns == ("", "PSGraph+", "PSGraph")
    assert first.rows[-1] == ("runs", "4", "1")
    assert first.rows[1] == ("density error, %", "30.0 ± 20.0", "20.0")


@pytest.mark.parametrize("name", ["plus", "plus-roster", "plus-ablation"])
def test_a_heat_map_has_a_panel_per_metric_and_a_number_per_cell(name: str) -> None:
    experiment = find_experiment(name).narrowed(repetitions=2)
    experiment = replace(experiment, datasets=experiment.datasets[:3])
    curves = summarise(experiment, made_up(experiment, datasets=experiment.datasets))
    figure = compose_heat_map(experiment, curves)
    assert figure is not None
    assert len(figure.axes) == len(experiment.metrics)
    for axes, metric in zip(figure.axes, experiment.metrics, strict=True):
        title = " ".join(axes.get_title(loc="left").split())
        info = found_metric(metric)
        assert title == f"{info.words} {info.arrow}"
        assert len(axes.patches) == 3 * len(experiment.rivals) * len(experiment.epsilons)


def test_without_anything_to_compare_there_is_no_heat_map(experiment, curves):
    alone = [each for each in curves if each.label == "PSGraph"]
    assert compose_heat_map(experiment, alone) is None


def test_after_a_jump_the_goals_are_the_rival_and_half_as_much_again_as_without_it():
    """A cell that misses a goal within its noise is not named, nor one that meets it."""
    experiment = replace(
        find_experiment("plus-jumps"),
        datasets=("as-733:rise", "as-733:fall"),
        metrics=("density_error",),
        epsilons=("1",),
    )

    def line(dataset: str, label: str, after: float, settled: float) -> Curve:
        mean = {"density_error": after, "settled|density_error": settled}
        made = {name: np.array([value]) for name, value in mean.items()}
        std = dict.fromkeys(mean, np.array([0.01]))
        x, runs = np.array([1.0]), np.array([10])
        return Curve(dataset, label, "psgraph-plus", None, x, made, std, runs)

    calm = "PSGraph+ without the jump"
    curves = [
        line("as-733:rise", "PSGraph+", 0.20, 0.16),  # meets neither goal, the second not clearly
        line("as-733:rise", "PSGraph", 0.10, 0.10),
        line("as-733:rise", calm, 0.10, 0.105),
        line("as-733:fall", "PSGraph+", 0.10, 0.30),  # meets the first, clearly misses the second
        line("as-733:fall", "PSGraph", 0.40, 0.40),
        line("as-733:fall", calm, 0.10, 0.10),
    ]
    one, two = recovery_sentences(experiment, curves)
    assert "in 1 of 2 cells; clearly more in 1." in one
    assert "in 0 of 2 cells; clearly more in 1." in two
    missed = exceptions(experiment, curves)
    assert len(missed) == 2
    assert "five times" in missed[0]
    assert "a fifth" in missed[1]
    first, second = recovery_tables(experiment, curves)
    assert first.rows == (("density error", "2.0", ".25"),)
    assert second.rows == (("density error", "1.5", "3.0"),)
    figure = compose_recovery(experiment, curves)
    assert [len(axes.patches) for axes in figure.axes] == [2, 2]
