"""The calibration: factors are learned on one half of the streams and checked on the other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psgraph.graph import Snapshot
from psgraph.streams.demo import demo_stream
from psgraph.trust.calibration import Calibration, load_calibration
from psgraph_lab.experiments.calibration.cells import run_calibration_cell
from psgraph_lab.experiments.calibration.factors import fit_method
from psgraph_lab.experiments.calibration.results import fit, write_results
from psgraph_lab.experiments.cells import Cell, Originals, Outcome
from psgraph_lab.experiments.definition import find_experiment
from psgraph_lab.experiments.store import needs_of

EPSILONS = ("0.5", "1", "2", "4")
NAME = "density_error"


def outcomes(
    datasets: list[str], *, factor: float, spread: float = 0.1, seed: int = 0, method: str = "tmf"
) -> list[Outcome]:
    """Cells in which the true error is `factor` times that of a rerun, up to some noise."""
    rng = np.random.default_rng(seed)
    found = []
    for dataset in datasets:
        for epsilon in EPSILONS:
            rerun = rng.normal(-2, 1)
            values = {}
            for end in ("", "|0", "|1", "|2"):
                values[f"first|{NAME}{end}"] = rerun
                values[f"true|{NAME}{end}"] = rerun + np.log(factor) + rng.normal(0, spread)
            for number in range(3):
                values[f"off|edges|{number}"] = rng.normal(0, 0.2)
                values[f"moved|edges|{number}"] = 0.0
            values["spread|edges"] = 0.1
            found.append(Outcome(Cell(dataset, method, epsilon, 5, 0), values))
    return found


TUNED = [f"tuned-{number}" for number in range(8)]
HELD_OUT = [f"other-{number}" for number in range(8)]


def test_a_factor_is_found_and_confirmed():
    found = fit_method(outcomes(TUNED, factor=3.0), outcomes(HELD_OUT, factor=3.0, seed=1)).errors[
        NAME
    ]
    assert np.exp(found.predict(np.log(0.1))) == pytest.approx(0.3, rel=0.1)
    assert found.ratio == pytest.approx(1, abs=0.1)
    assert found.coverage >= 0.8
    assert found.usable


def test_streams_that_behave_otherwise_are_not_predicted():
    """Learned on streams where reruns are right, checked where they are far too optimistic."""
    found = fit_method(outcomes(TUNED, factor=1.0), outcomes(HELD_OUT, factor=5.0, seed=1)).errors[
        NAME
    ]
    assert found.coverage < 0.2
    assert found.ratio == pytest.approx(0.2, rel=0.2)
    assert not found.usable


def test_the_held_out_half_decides_nothing_but_the_check():
    """Other held-out streams change coverage and ratio, and no factor or interval."""
    tuned = outcomes(TUNED, factor=2.0)
    one = fit_method(tuned, outcomes(HELD_OUT, factor=2.0, seed=1)).errors[NAME]
    two = fit_method(tuned, outcomes(HELD_OUT, factor=9.0, seed=2)).errors[NAME]
    assert (one.shift, one.power) == (two.shift, two.power)
    assert (one.overall, one.timestamp) == (two.overall, two.timestamp)
    assert one.coverage != two.coverage


def test_intervals_are_as_wide_as_streams_differ():
    narrow, wide = (
        fit_method(
            outcomes(TUNED, factor=2.0, spread=spread), outcomes(HELD_OUT, factor=2.0, seed=1)
        ).errors[NAME]
        for spread in (0.0, 0.8)
    )
    assert narrow.overall == pytest.approx((-0.05, 0.05))  # never narrower than ± 5 %
    assert wide.overall[1] - wide.overall[0] > 2


def test_intervals_of_statistics_are_in_multiples_of_the_spread_of_reruns():
    found = fit_method(
        outcomes(TUNED, factor=1.0), outcomes(HELD_OUT, factor=1.0, seed=1)
    ).statistics["edges"]
    # Deviations of 0.2 where reruns spread by 0.1: about ± 1.645 · 2, widened by 1.22.
    assert found.high == pytest.approx(4.0, rel=0.25)
    assert found.low == pytest.approx(-4.0, rel=0.25)
    assert found.coverage > 0.85


def test_too_few_streams_give_nothing():
    found = fit_method(outcomes(TUNED[:2], factor=1.0), outcomes(HELD_OUT, factor=1.0))
    assert not found.errors
    assert not found.statistics


def test_a_cell_has_what_the_fit_needs():
    stream: list[Snapshot] = demo_stream(nodes=300, timestamps=4)
    values = run_calibration_cell(Cell("demo", "psgraph-plus", "4", 2, 0), Originals.of(stream))
    assert all(np.isfinite(value) for value in values.values())
    for name in ("true|density_error", "first|density_error|2", "first|clustering_error"):
        assert name in values
    for name in ("off|edges|0", "moved|clustering|1", "spread|modularity", "noise|filtered|0"):
        assert name in values


def test_the_results_are_a_file_of_factors_a_figure_and_a_page(tmp_path: Path):
    experiment = find_experiment("calibration")
    held_out = [name for name in experiment.datasets if name not in experiment.tuned]
    made = [
        *outcomes(list(experiment.tuned), factor=2.0),
        *outcomes(held_out, factor=2.0, seed=1),
    ]
    page = write_results(experiment, made, tmp_path, command="psgraph …", facts={})
    found = Calibration.from_json((tmp_path / "calibration.json").read_text())
    assert found.methods["tmf"].errors[NAME].usable
    assert set(found.checked_on) == set(held_out)
    text = page.read_text()
    assert "| TmF | 1 of 1 |" in text
    assert (tmp_path / "calibration.png").stat().st_size > 1_000
    assert found == Calibration.from_json(fit(experiment, made).to_json())


def test_without_results_nothing_is_written(tmp_path: Path):
    page = write_results(find_experiment("calibration"), [], tmp_path, command="", facts={})
    assert not page.exists()


def test_large_streams_are_cut_and_slow_pairs_left_out():
    cells = find_experiment("calibration").cells()
    lengths = {cell.dataset: cell.timestamps for cell in cells}
    assert lengths["as-caida"] == 4
    assert lengths["bitcoin-otc"] == 16
    assert not [each for each in cells if (each.method, each.dataset) == ("privhrg", "as-caida")]
    assert lengths["as-733:part-first"] == lengths["as-733"]
    assert len(cells) == 24 * 7 * 8 - 2 * 8


def test_a_stream_with_a_jump_is_on_the_same_side_as_without():
    experiment = find_experiment("calibration")
    jumped = [name for name in experiment.datasets if ":" in name]
    assert jumped
    for name in jumped:
        base = name.partition(":")[0]
        assert base in experiment.datasets
        assert (name in experiment.tuned) == (base in experiment.tuned)


def test_timestamps_around_a_jump_are_in_no_value_but_their_own():
    """A part-period a hundred times as sparse changes the prediction of no other timestamp."""
    calm = list(demo_stream(nodes=300, timestamps=9))
    first = calm[0]
    part = Snapshot(first.roster, first.u[::60], first.v[::60], time=first.time)
    cell = Cell("demo", "tmf", "4", 3, 0)
    usual = run_calibration_cell(cell, Originals.of(calm))
    values = run_calibration_cell(cell, Originals.of([part, *calm[1:]]))
    assert "true|density_error|near" not in usual
    assert values["true|density_error|near"] > values["true|density_error"] + 1
    assert values["true|density_error"] == pytest.approx(usual["true|density_error"], abs=1)


def test_a_changed_method_is_calibrated_again():
    needs = needs_of(find_experiment("calibration"))
    stale = Outcome(Cell("demo", "tmf", "1", 5, 0), {}, source="older")
    assert needs.is_stale(stale)


@pytest.mark.xfail(
    strict=True, reason="the factors were learned before the streams with jumps: make calibration"
)
def test_the_shipped_factors_come_from_the_whole_experiment():
    experiment, shipped = find_experiment("calibration"), load_calibration()
    assert set(shipped.learned_from) == set(experiment.tuned)
    assert set(shipped.methods) == {line.method for line in experiment.lines}
    assert json.loads(shipped.to_json())["command"] == "make calibration"


ROOT = Path(__file__).parents[3]


def test_the_page_shows_the_shipped_factors():
    page = (ROOT / "docs/results/calibration.md").read_text()
    for found in load_calibration().methods.values():
        usable = sum(each.usable for each in found.errors.values())
        assert f"| {usable} of {len(found.errors)} |" in page


def test_the_table_in_the_guide_is_that_of_the_page():
    guide = (ROOT / "docs/explanation/trust.md").read_text()
    table = guide.partition("<!-- summary -->")[2].partition("<!-- /summary -->")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(load_calibration().methods)
    page = (ROOT / "docs/results/calibration.md").read_text().splitlines()
    assert set(rows) <= set(page)
