"""Running in other processes gives what running here gives, once, and failures are told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from psgraph.errors import PsgraphError
from psgraph.methods.tmf import TmF
from psgraph.streams.demo import demo_stream
from psgraph_lab.experiments.cells import Cell, Outcome, run_cell
from psgraph_lab.experiments.runner import missing_cells, run_missing, time_missing
from psgraph_lab.experiments.store import Needs, Results, source_of

CELLS = [Cell("demo", "tmf", "1", 5, repetition, timestamps=2) for repetition in range(3)]


def test_processes_give_the_same_numbers_and_run_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    before = dict(os.environ)
    seen: list[Cell] = []
    needs = Needs(over_time=CELLS[:2], series=("density_error",))
    run = {"workers": 2, "done": seen.append, "needs": needs}
    with Results.writing(path) as results:
        assert run_missing(CELLS[:1], results, **run) == 1
    with Results.writing(path) as results:
        assert run_missing(CELLS, results, **run) == 2
    assert dict(os.environ) == before
    assert sorted(seen, key=lambda cell: cell.repetition) == CELLS
    stored = Results.read(path)
    stream = demo_stream()
    for cell in CELLS:
        values, series = run_cell(cell, stream)
        again = stored[cell]
        assert {name: np.float32(value) for name, value in values.items()} == again.values
        assert again.source == source_of("tmf")
        if cell is CELLS[2]:
            assert not again.series  # no figure draws it over time
            continue
        assert list(again.series) == ["density_error"]
        np.testing.assert_allclose(again.series["density_error"], series["density_error"], 2**-12)


def test_a_cell_without_the_series_it_needs_is_run_again() -> None:
    series = {"density_error": np.zeros(2, np.float32)}
    results = {CELLS[0]: Outcome(CELLS[0], {}, series), CELLS[1]: Outcome(CELLS[1], {})}
    assert missing_cells(CELLS, results) == [CELLS[2]]
    needs = Needs(over_time=CELLS[:2], series=("density_error",))
    assert missing_cells(CELLS, results, needs) == CELLS[1:]


def test_a_cell_without_a_metric_that_is_needed_is_run_again_and_keeps_the_others(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cells.parquet"
    cell = CELLS[0]
    stream = demo_stream()
    with Results.writing(path) as results:
        results.add(Outcome(cell, {**run_cell(cell, stream)[0], "triangle_error": 0.5}))
        needs = Needs(metrics=("density_error",))
        assert run_missing([cell], results, needs=needs, workers=1) == 0
        needs = Needs(metrics=("density_error", "adjusted_rand_index"))
        assert run_missing([cell], results, needs=needs, workers=1) == 1
    values = Results.read(path)[cell].values
    expected = run_cell(cell, stream, groups=["communities"])[0]
    assert values["adjusted_rand_index"] == np.float32(expected["adjusted_rand_index"])
    assert values["triangle_error"] == 0.5
    assert "snapshot_overlap_error" not in values


def test_results_of_another_source_are_run_again_and_nothing_of_them_is_kept(
    tmp_path: Path,
) -> None:
    needs = Needs(sources={"tmf": source_of("tmf")})
    stale = Outcome(CELLS[0], {"density_error": 7.0, "triangle_error": 7.0}, source="older")
    current = Outcome(CELLS[1], {"density_error": 7.0}, source=source_of("tmf"))
    elsewhere = Outcome(Cell("demo", "der", "1", 5, 0), {}, source="older")
    with Results.writing(tmp_path / "cells.parquet") as results:
        for outcome in (stale, current, elsewhere):
            results.add(outcome)
        cells = [outcome.cell for outcome in (stale, current, elsewhere)]
        assert missing_cells(cells, results, needs) == [stale.cell]
        run_missing(cells, results, needs=needs, workers=1)
        assert results[current.cell] is current
        assert "triangle_error" not in results[stale.cell].values
        assert results[stale.cell].source == source_of("tmf")


def test_a_source_is_the_code_without_comments_and_docstrings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(text: str) -> str:
        (tmp_path / "method.py").write_text(text)
        source_of.cache_clear()
        return source_of("tmf")

    monkeypatch.setattr(sys.modules[TmF.__module__], "__file__", str(tmp_path / "method.py"))
    try:
        plain = digest("def f():\n    return 1\n")
        assert digest('"""Words."""\n# why\ndef f():\n    """Words."""\n    return 1\n') == plain
        assert digest("def f():\n    return 2\n") != plain
    finally:
        source_of.cache_clear()


def test_what_was_finished_before_a_failure_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    unknown = Cell("nowhere", "tmf", "1", 5, 0)
    with pytest.raises(PsgraphError, match="nowhere"), Results.writing(path) as results:
        run_missing([*CELLS[:1], unknown], results, workers=1)
    assert set(Results.read(path)) == set(CELLS[:1])


def test_time_and_memory_are_recorded(tmp_path: Path) -> None:
    path = tmp_path / "costs.parquet"
    cell = Cell("demo", "tmf", "1", 5, 0, timestamps=2, share="0.5")
    with Results.writing(path) as results:
        assert time_missing([cell], results) == 1
        assert time_missing([cell], results) == 0
    values = Results.read(path)[cell].values
    assert values["edges"] == sum(snapshot.u.size for snapshot in cell.of(demo_stream()))
    assert 0 < values["seconds"] < 60
    assert 0 <= values["added_megabytes"] < values["peak_megabytes"]


def children(process: int) -> set[int]:
    listed = Path(f"/proc/{process}/task/{process}/children")
    return set(map(int, listed.read_text().split()))


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(true: Callable[[], bool]) -> None:
    until = monotonic() + 90
    while not true():
        assert monotonic() < until
        sleep(0.1)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_killed_run_leaves_no_processes_and_keeps_what_it_saved(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    leader = subprocess.Popen([sys.executable, Path(__file__).with_name("leader.py"), path])
    try:
        wait_until(path.exists)  # the first save
        others = children(leader.pid)
        assert len(others) >= 2
        leader.kill()
        leader.wait()
        wait_until(lambda: not any(map(is_running, others)))
    finally:
        leader.kill()
        leader.wait()
    assert len(Results.read(path)) > 0
