"""``psgraph bench``: what it reports, never how fast this machine is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from psgraph.methods.registry import method_names
from psgraph_lab.bench.cases import CASES, LARGE_CASES, LATER_CASES, MOST_GROWTH
from psgraph_lab.cli import bench_steps
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
    assert set(row["floor_seconds"]) == {"total", "read", "noise", "write", "cpu"}
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
    targets = {case.name: case for case in (*CASES, *LARGE_CASES, *LATER_CASES)}
    assert targets["as-733"].timestamps == 147
    assert {case.name: case.most_seconds for case in CASES} == {
        "as-733": 3,
        "as-caida": 2,
        "million-finding": 5,
        "million-keeping": 2.5,
    }
    assert targets["as-733"].most_floors == 2
    assert targets["as-caida"].most_floors == 1.8
    assert targets["million-finding"].most_gigabytes == 1.5
    assert [case.most_floors for case in LARGE_CASES] == [None, 2.5, None, 4, 4]
    assert [case.most_gigabytes for case in LARGE_CASES] == [None, None, None, 3, 4]
    plus = {name: case.of("psgraph-plus") for name, case in targets.items()}
    limits = {name: (case.most_floors, case.most_gigabytes) for name, case in plus.items()}
    assert limits["as-733"] == limits["as-caida"] == (2.5, 0.4)
    assert (limits["1m-5m"], limits["1m-5m-later"]) == ((3.5, 1.2), (3, 1.2))
    assert limits["10m-100m"] == limits["10m-100m-later"] == (5, 4)
    assert targets["10m-100m"].edges == 100_000_000
    assert MOST_GROWTH == 1.15


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


@pytest.mark.parametrize(
    ("options", "cases"),
    [
        (["--methods", "--only", "10m-50m"], "million-keeping"),
        (["--large", "--only", "as-733"], "10m-50m"),
        (["--compare-engines", "--only", "as-733"], "10m-50m"),
        (["--large", "--only", "1m-5m-later"], "10m-50m"),
        (["--large", "--compare-engines"], "one of"),
    ],
)
def test_a_case_of_another_kind_of_run_is_refused(options: list[str], cases: str) -> None:
    failed = psgraph_here("bench", *options)
    assert failed.code == 2
    assert cases in failed.err


def test_large_graphs_are_published_from_stores_that_are_kept(tmp_path: Path) -> None:
    chosen = ["--only", "200k-1m", "--only", "1m-5m", "--repeats", 1]
    done = psgraph("bench", "--large", "--quick", *chosen, "--cache", tmp_path, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    small, large = report["cases"]
    assert (small["nodes"], small["edges"], large["edges"]) == (10_000, 50_000, 250_000)
    assert small["ratio"] == small["seconds"]["total"] / small["floor_seconds"]["total"]
    assert small["seconds"]["cpu"] > 0
    assert small["verbs"]["block_counts"] > 0
    assert set(small["floor_seconds"]) == {"total", "read", "noise", "write", "cpu"}
    assert 5e7 < large["peak_bytes"] < 3e9
    assert isinstance(report["growth"]["psgraph"], float)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "nodes-10000-edges-50000",
        "nodes-50000-edges-250000-timestamps-2",
    ]
    (tmp_path / "runs.json").write_text(done.out)
    fitted = psgraph_here("bench", "--cost-model", tmp_path / "runs.json")
    assert fitted.code == 0, fitted.err
    assert "projection" in fitted.out
    assert "no such graph was published" in " ".join(fitted.out.split())


def test_first_and_later_timestamps_by_the_methods_that_scale(tmp_path: Path) -> None:
    chosen = ["--only", "1m-5m", "--only", "1m-5m-later", "--repeats", 1, "--cache", tmp_path]
    done = psgraph("bench", "--large", "--methods", "--quick", *chosen, "--json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["cases"]
    found = [(row["method"], row["first"], row["timestamps"]) for row in rows]
    methods = ("psgraph", "psgraph-plus")
    assert found == [(method, first, 1) for first in (True, False) for method in methods]
    assert all(row["ratio"] > 0 and row["edges"] == 250_000 for row in rows)
    assert [entry.name for entry in tmp_path.iterdir()] == ["nodes-50000-edges-250000-timestamps-2"]


def test_engines_are_compared_and_missing_libraries_named() -> None:
    done = psgraph("bench", "--compare-engines", "--quick", "--only", "200k-1m", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["cases"][0]["library"] == "psgraph, local engine"
    assert all(row["same_answers"] for row in report["cases"])
    for name in report["left_out"]:
        assert f"{name} is left out: install it with pip install" in " ".join(done.err.split())


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
    for module in ("psgraph.cli.screen", "psgraph_lab.cli.bench_steps"):
        monkeypatch.setattr(f"{module}.results", results)
    bench_steps.show_cases([row])
    shown = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= width
    assert "…" not in shown
    assert "33.33 ≤ 40 s" in shown
    assert "5.83 ≤ 5 !" in shown
    assert ("5,000,000" in shown) == (width > 60)
