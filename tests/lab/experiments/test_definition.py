"""The definitions say what the paper's figures show."""

from __future__ import annotations

import pytest

from psgraph.errors import InvalidArgument
from psgraph.methods.registry import find_method
from psgraph.metrics import METRICS, PAPER_METRICS
from psgraph_lab.datasets import dataset_names, find_dataset
from psgraph_lab.datasets.jumps import SETTLED, find_jump
from psgraph_lab.experiments.definition import experiment_names, find_experiment

ALL = experiment_names()
SIX = {"psgraph", "tmf", "der", "privhrg", "ldpgen", "privgraph"}


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_every_definition_is_whole(name: str, quick: bool) -> None:
    experiment = find_experiment(name, quick=quick)
    assert experiment.title
    assert experiment.about
    if experiment.kind == "claims":
        assert not experiment.cells()
        return
    assert {find_jump(name)[0] for name in experiment.datasets} <= set(dataset_names())
    if experiment.kind == "quality":
        paper = [info.name for info in PAPER_METRICS]
        assert list(experiment.metrics[:5]) == paper or experiment.main
        assert set(experiment.main) <= set(experiment.metrics)
        assert {name.removeprefix(SETTLED) for name in experiment.metrics} <= set(METRICS)
        assert len(experiment.metrics) == 5 or not experiment.paper
    cells = experiment.cells()
    assert len(cells) == len(set(cells)) > 0
    assert [cell.repetition for cell in cells] == sorted(cell.repetition for cell in cells)
    assert (experiment.timestamps is not None) == (quick or experiment.kind == "calibration")
    labels = [line.label for line in experiment.lines]
    assert {experiment.subject, *experiment.rivals} - {""} <= set(labels)
    assert set(experiment.tuned).isdisjoint(experiment.seen)
    if not quick:
        assert {*experiment.tuned, *experiment.seen} <= set(experiment.datasets)


def test_as_in_the_paper() -> None:
    end_to_end = find_experiment("end-to-end")
    assert end_to_end.epsilons == ("0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4")
    assert end_to_end.windows == (5,)
    assert end_to_end.repetitions == 10
    for name in ("end-to-end", "window", "cost", "scalability", "timestamps"):
        assert {line.method for line in find_experiment(name).lines} == SIX
    assert find_experiment("window").epsilons == ("2.5",)
    assert find_experiment("timestamps").epsilons == ("2.5",)
    assert find_experiment("threshold").epsilons == ("1.5", "2.5", "3.5")
    assert len(find_experiment("components").lines) == 4


def test_experiments_share_cells() -> None:
    """What is PSGraph in one figure is the same runs in another."""
    everywhere = set(find_experiment("end-to-end").cells())
    assert set(find_experiment("timestamps").cells()) < everywhere
    for name in ("judgement", "components", "window", "threshold"):
        plain = {cell for cell in find_experiment(name).cells() if not cell.parameters}
        assert len(plain & everywhere) >= 10 * 3


def test_slow_methods_are_run_less_often_unless_asked() -> None:
    experiment = find_experiment("end-to-end")
    slow = [cell.repetition for cell in experiment.cells() if cell.method == "privhrg"]
    assert max(slow) == 2
    asked = experiment.narrowed(repetitions=5)
    assert max(cell.repetition for cell in asked.cells() if cell.method == "privhrg") == 4


def test_narrowed() -> None:
    experiment = find_experiment("end-to-end").narrowed(
        datasets=["demo"], methods=["tmf"], epsilons=["7"], repetitions=1
    )
    (cell,) = experiment.cells()
    assert (cell.dataset, cell.method, cell.epsilon, cell.repetition) == ("demo", "tmf", "7", 0)
    with pytest.raises(InvalidArgument, match="'louvain'"):
        experiment.narrowed(methods=["louvain"])


def test_plus_covers_sixteen_real_streams_half_of_them_held_out() -> None:
    plus = find_experiment("plus")
    real = [name for name in plus.datasets if find_dataset(name).files]
    assert len(real) == 16
    assert len(plus.tuned) == len(set(real) - set(plus.tuned)) == 8
    assert {line.method for line in plus.lines} == {*SIX, "psgraph-plus"}
    assert [line.method for line in plus.lines if line.fresh] == ["psgraph-plus"]
    assert plus.epsilons == ("0.5", "1", "2", "4")
    windows = find_experiment("plus-windows")
    assert (windows.windows, windows.epsilons) == ((1, 5, 20, 50), ("1",))
    assert {cell.roster for cell in find_experiment("plus-roster").cells()} == {"union"}


def test_the_ablation_switches_every_component_of_plus() -> None:
    usual = find_method("psgraph-plus")().parameters()
    switches = {name for name, value in usual.items() if isinstance(value, bool)}
    ablation = find_experiment("plus-ablation")
    varied = [dict(line.parameters) for line in ablation.lines if line.parameters]
    assert {name for parameters in varied for name in parameters} == switches
    assert all(len(parameters) == 1 for parameters in varied)
    assert len(ablation.rivals) == len(varied)


def test_unknown_names_are_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidArgument, match="end-to-end"):
        find_experiment("fig2")
