"""The results in docs/results are small, and their numbers can be recomputed from their seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psgraph.metrics import default_metrics
from psgraph_lab.datasets import load_dataset
from psgraph_lab.experiments.cells import Cell, run_cell
from psgraph_lab.experiments.definition import find_experiment
from psgraph_lab.experiments.store import Needs, Results, needs_of

RESULTS = Path(__file__).parents[3] / "docs" / "results"
STORED = RESULTS / "cells.parquet"


@pytest.fixture(scope="module")
def stored() -> Results:
    assert STORED.exists()
    return Results.read(STORED)


def recompute(stored: Results, cell: Cell, directory: Path | None = None) -> None:
    before = stored[cell]
    groups = Needs(metrics=tuple(before.values)).groups
    stream = load_dataset(cell.dataset, directory=directory)
    values, series = run_cell(cell, stream, groups=groups)
    for name, value in before.values.items():  # stored as float32
        assert values[name] == pytest.approx(value, rel=1e-7, abs=1e-30, nan_ok=True), name
    for name, numbers in before.series.items():
        np.testing.assert_allclose(series[name], numbers, rtol=2**-12)  # twelve bits


def test_the_committed_results_are_small_and_in_one_format_each() -> None:
    files = [path for path in RESULTS.iterdir() if path.is_file()]
    assert {path.suffix for path in files} == {".md", ".parquet", ".png", ".toml"}
    assert sum(path.stat().st_size for path in files) <= 3_000_000


def test_every_timestamp_is_stored_only_where_a_figure_draws_it(stored: Results) -> None:
    timestamps = find_experiment("timestamps")
    drawn = set(timestamps.cells())
    assert {cell for cell, outcome in stored.items() if outcome.series} == drawn & set(stored)
    # The claims need the other readings of two metrics as well.
    wanted = set(needs_of(timestamps).series)
    assert {frozenset(stored[cell].series) for cell in drawn & set(stored)} == {frozenset(wanted)}
    assert wanted == {metric.name for metric in default_metrics()}


@pytest.mark.parametrize("method", ["psgraph", "tmf"])
def test_a_cell_of_the_demo_stream(stored: Results, method: str) -> None:
    recompute(stored, Cell("demo", method, "2.5", 5, 1))


@pytest.mark.parametrize("method", ["psgraph", "tmf", "der", "ldpgen", "privgraph"])
def test_a_cell_of_real_data(stored: Results, method: str, real_data: Path) -> None:
    recompute(stored, Cell("as-caida", method, "2.5", 5, 3), real_data)


def test_a_cell_of_plus_on_real_data(stored: Results, real_data: Path) -> None:
    """Computed before 0.3.0, from which on a seed gives the same sizes and other edges."""
    cells = [Cell("hepph-partial", "psgraph-plus", "1", 5, each) for each in range(10)]
    before = stored[cells[3]].values
    groups = Needs(metrics=tuple(before)).groups
    stream = load_dataset("hepph-partial", directory=real_data)
    values, _ = run_cell(cells[3], stream, groups=groups)
    for name in ("density_error", "degree_divergence", "degree_divergence_smoothed"):
        assert values[name] == pytest.approx(before[name], rel=1e-7), name
    for name in before:
        spread = [stored[cell].values[name] for cell in cells]
        room = max(spread) - min(spread)
        assert min(spread) - room <= values[name] <= max(spread) + room, name


def test_an_ablation_on_real_data(stored: Results, real_data: Path) -> None:
    ablation = (("fusion", False), ("postprocess", False))
    recompute(stored, Cell("as-733", "psgraph", "4", 5, 9, parameters=ablation), real_data)
