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
from psgraph.streams.demo import demo_stream
from psgraph_lab.experiments.cells import Cell, Outcome, run_cell
from psgraph_lab.experiments.cost import time_missing
from psgraph_lab.experiments.runner import missing_cells, run_missing
from psgraph_lab.experiments.store import Results

CELLS = [Cell("demo", "tmf", "1", 5, repetition, timestamps=2) for repetition in range(3)]


def test_processes_give_the_same_numbers_and_run_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    before = dict(os.environ)
    seen: list[Cell] = []
    run = {"workers": 2, "done": seen.append, "over_time": CELLS[:2]}
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
        assert {**values, "seconds": 0} == {**again.values, "seconds": 0}
        if cell is CELLS[2]:
            assert not again.series  # no figure draws it over time
            continue
        for name, numbers in series.items():
            assert again.series[name].tolist() == np.array(numbers, np.float32).tolist()


def test_a_cell_without_the_series_it_needs_is_run_again() -> None:
    series = {"density_error": np.zeros(2, np.float32)}
    results = {CELLS[0]: Outcome(CELLS[0], {}, series), CELLS[1]: Outcome(CELLS[1], {})}
    assert missing_cells(CELLS, results) == [CELLS[2]]
    assert missing_cells(CELLS, results, over_time=CELLS[:2]) == CELLS[1:]


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
