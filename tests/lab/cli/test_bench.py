"""``psgraph bench``: what it reports, never how fast this machine is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from psgraph.methods.base import method_names
from psgraph_lab.bench.cases import CASES, LARGE
from psgraph_lab.cli import bench
from tests.cli.commands import psgraph, psgraph_here


def test_a_quick_case_in_json() -> None:
    done = psgraph("bench", "--quick", "--only", "million-keeping", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    (row,) = report["cases"]
    assert row["case"] == "million-keeping"
    assert row["data"] == "synthetic"
    assert row["nodes"] == 50_000
    assert row["timestamps"] == 1  # the one that keeps communities; the first is off the clock
    assert row["edges"] == pytest.approx(250_000, rel=0.05)
    assert row["seconds"]["communities"] < row["seconds"]["perturbation"]
    assert len(row["passes"]) == len(row["floor_passes"]) == 2
    assert row["seconds"]["total"] == min(row["passes"])
    assert row["floor_seconds"]["total"] == min(row["floor_passes"])
    assert row["ratio"] == pytest.approx(row["seconds"]["total"] / row["floor_seconds"]["total"])
    assert set(row["floor_seconds"]) == {"total", "read", "noise", "write"}
    assert min(row["floor_seconds"].values()) > 0
    assert 5e7 < row["peak_bytes"] < 3e9
    assert row["target_seconds"] is None


def test_a_table_with_the_real_stream(real_data: Path) -> None:
    done = psgraph("bench", "--data", real_data, "--only", "as-caida")
    assert done.code == 0, done.err
    line = next(line for line in done.out.splitlines() if "As-caida" in line)
    assert "real" in line
    assert "≤ 2 s" in line
    assert "≤ 1.8" in line
    assert line.rstrip().endswith("%")  # the spread
    assert "25" in line


def test_a_missing_data_directory_is_refused(tmp_path: Path) -> None:
    failed = psgraph_here("bench", "--data", tmp_path / "nowhere")
    assert failed.code == 1
    assert "is not a directory" in failed.err


def test_the_targets_of_the_project() -> None:
    targets = {case.name: case for case in (*CASES, LARGE)}
    assert targets["as-733"].timestamps == 147
    assert {name: case.most_seconds for name, case in targets.items()} == {
        "as-733": 3,
        "as-caida": 2,
        "million-finding": 5,
        "million-keeping": 2.5,
        "ten-million": 60,
    }
    assert targets["as-733"].most_floors == 2
    assert targets["as-caida"].most_floors == 1.8
    assert targets["million-finding"].most_gigabytes == 1.5
    assert targets["ten-million"].most_gigabytes == 10


def test_all_methods_with_psgraph_as_the_unit() -> None:
    done = psgraph("bench", "--methods", "--quick", "--only", "as-caida", "--json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["cases"]
    assert rows[0]["method"] == "psgraph"
    assert {row["method"] for row in rows} >= set(method_names())
    assert rows[0]["times_psgraph"] == 1
    assert all(row["seconds"]["total"] > 0 and row["peak_bytes"] > 1e7 for row in rows)


def test_a_million_nodes_are_for_the_methods_that_scale() -> None:
    done = psgraph("bench", "--methods", "--quick", "--only", "million-keeping", "--json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["cases"]
    assert [row["method"] for row in rows] == ["psgraph", "psgraph-plus"]
    assert all(row["seconds"]["total"] == min(row["passes"]) for row in rows)


def test_methods_are_not_timed_on_ten_million_nodes() -> None:
    failed = psgraph_here("bench", "--methods", "--only", "ten-million")
    assert failed.code == 2
    assert "million-keeping" in failed.err


@pytest.mark.parametrize("width", [160, 80, 60])
def test_the_table_fits_and_no_number_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    from rich.console import Console

    def results() -> Console:
        return Console(width=width, highlight=False)

    row = {
        "title": "1M nodes, 5M edges, finding",
        "data": "synthetic",
        "timestamps": 1,
        "nodes": 1_000_000,
        "edges": 5_000_000,
        "seconds": {"total": 33.33},
        "target_seconds": 40.0,
        "target_bytes": 1e9,
        "target_ratio": 5.0,
        "ratio": 5.83,
        "peak_bytes": 0.91e9,
        "floor_seconds": {"total": 5.72},
        "passes": [33.3, 35.0],
        "floor_passes": [5.7, 6.0],
    }
    for module in ("psgraph.cli.screen", "psgraph_lab.cli.bench"):
        monkeypatch.setattr(f"{module}.results", results)
    bench._show([row])
    shown = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= width
    assert "…" not in shown
    assert "33.33 ≤ 40 s" in shown
    assert "5.83 ≤ 5 !" in shown
    assert ("5,000,000" in shown) == (width > 60)
