"""How time grows, and the model of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psgraph.errors import DataError
from psgraph_lab.bench.cost_model import Run, fit_costs, growth_exponent
from psgraph_lab.cli.bench_large import fit_files


def _row(edges: int, nodes: int, workers: int) -> dict[str, Any]:
    run = Run(edges, nodes, workers)
    shared = 3e-7 * edges
    serial = 2e-7 * nodes + 1e-7 * run.blocks
    seconds = {"cpu": shared + serial, "total": shared / workers + serial}
    return {**vars(run), "engine": "local", "seconds": seconds, "verbs_cpu": {"repair": shared}}


ROWS = [
    _row(10**6, 2 * 10**5, 2),
    _row(5 * 10**6, 10**6, 1),
    _row(5 * 10**6, 10**6, 2),
    _row(10**8, 10**7, 2),
    _row(10**4, 10**4, 1),
]


def test_a_model_finds_the_costs_that_made_the_times() -> None:
    model, runs = fit_costs(ROWS)
    assert model.shared == pytest.approx([3e-7, 0], rel=1e-3, abs=1e-9)
    assert model.serial == pytest.approx([0, 2e-7, 1e-7, 0], rel=1e-3, abs=1e-6)
    for run, row in zip(runs, ROWS, strict=True):
        assert model.seconds(run) == pytest.approx(row["seconds"]["total"], rel=1e-2)


def test_the_number_of_blocks_stops_growing_with_the_graph() -> None:
    assert Run(0, 400, 1).blocks == 210
    assert Run(0, 10**7, 1).blocks == Run(0, 10**9, 1).blocks


def test_files_of_several_runs_give_residuals_and_projections(tmp_path: Path) -> None:
    for number, rows in enumerate((ROWS[:2], ROWS[2:])):
        (tmp_path / f"{number}.json").write_text(json.dumps({"cases": rows}))
    (report,) = fit_files(sorted(tmp_path.iterdir()))["models"]
    assert all(abs(run["residual"]) < 1e-2 for run in report["runs"])
    assert {run["edges"] for run in report["projections"]} == {10**9, 10**11}


def test_runs_of_a_cluster_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    slow = {**_row(10**9, 10**6, 1), "engine": "dask"}
    file.write_text(json.dumps({"cases": [*ROWS, slow]}))
    (model,) = fit_files([file])["models"]
    assert max(run["edges"] for run in model["runs"]) == 10**8


def test_every_method_has_a_model_of_its_own_for_first_timestamps(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    other = [{**row, "method": "psgraph-plus"} for row in ROWS]
    later = {**other[0], "edges": 10**10, "first": False}
    file.write_text(json.dumps({"cases": [*ROWS, *other, later]}))
    one, two = fit_files([file])["models"]
    assert (one["method"], two["method"]) == ("psgraph", "psgraph-plus")
    assert one["serial_factors"]["blocks"] > two["serial_factors"]["blocks"] == 0
    assert max(run["edges"] for run in two["runs"]) == 10**8


@pytest.mark.parametrize("content", ["not JSON", "{}", '{"cases": [{"edges": 1}]}'])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "report.json"
    file.write_text(content)
    with pytest.raises(DataError, match=r"report\.json"):
        fit_files([file])


def test_one_run_is_not_enough(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"cases": ROWS[:1]}))
    with pytest.raises(DataError, match="2 runs"):
        fit_files([file])


def test_the_growth_exponent_is_that_between_the_smallest_and_the_largest_graph() -> None:
    assert growth_exponent([(100, 10.0), (10, 1.0), (1_000, 1_000.0)]) == pytest.approx(1.5)
    assert growth_exponent([(100, 10.0)]) is None
    assert growth_exponent([]) is None
