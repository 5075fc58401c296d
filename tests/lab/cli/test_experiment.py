"""`psgraph experiment`: a small run from beginning to end, going on, and wrong input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from psgraph_lab.experiments.definition import experiment_names
from psgraph_lab.experiments.store import Results
from tests.cli.commands import PSGRAPH, psgraph, psgraph_here

SMALL = ("--datasets", "demo", "--epsilons", "1,4", "--repetitions", "2", "--quick")


def test_list() -> None:
    shown = psgraph_here("experiment", "list")
    assert shown.code == 0
    for name in experiment_names():
        assert name in shown.out
    listed = json.loads(psgraph_here("experiment", "list", "--json").out)
    assert [each["name"] for each in listed["experiments"]] == list(experiment_names())


def test_a_run_its_pages_and_going_on(tmp_path: Path) -> None:
    run = ("experiment", "run", "end-to-end", *SMALL, "--methods", "psgraph,tmf", "--json")
    first = psgraph(*run, "--out", "results", cwd=tmp_path)
    assert first.code == 0, first.err
    (told,) = json.loads(first.out)["experiments"]
    assert (told["ran"], told["kept"]) == (8, 0)
    out = tmp_path / "results"
    for ending in ("md", "png"):
        assert (out / f"end-to-end.{ending}").stat().st_size > 1_000
    assert (out / "README.md").exists()
    assert not [*out.glob("*.html"), *out.glob("*.svg")]
    page = (out / "end-to-end.md").read_text()
    assert "psgraph experiment run end-to-end" in page
    assert str(tmp_path) not in page
    stored = Results.read(out / "cells.parquet")
    assert len(stored) == 8
    assert all(outcome.version and outcome.machine for outcome in stored.values())

    same = [word.replace("1,4", "1.0,4.00") for word in run]
    again = json.loads(psgraph(*same, "--out", "results", cwd=tmp_path).out)["experiments"][0]
    assert (again["ran"], again["kept"]) == (0, 8)

    only = [word.replace("psgraph,tmf", "tmf") for word in run]
    third = json.loads(psgraph(*only, "--out", "results", cwd=tmp_path).out)["experiments"][0]
    assert (third["ran"], third["kept"]) == (0, 4)
    assert "| PSGraph |" in (out / "end-to-end.md").read_text()  # the page shows what is stored

    more = (*run[:2], "judgement", *SMALL, "--no-run", "--html", "--json", "--out", "results")
    drawn = json.loads(psgraph(*more, cwd=tmp_path).out)["experiments"][0]
    assert (drawn["ran"], drawn["kept"]) == (0, 4)  # PSGraph's cells serve here too
    for name in ("judgement.html", "judgement.svg", "index.html"):
        assert (out / name).stat().st_size > 1_000
    assert "PSGraph-R1" in (out / "judgement.md").read_text()  # that it has not been run

    checked = psgraph("experiment", "run", "claims", *SMALL, "--out", "results", cwd=tmp_path)
    assert checked.code == 0, checked.err
    assert "holds" in (out / "claims.md").read_text()


def test_costs(tmp_path: Path) -> None:
    run = ("experiment", "run", "cost", *SMALL[:2], "--quick", "--methods", "tmf,psgraph")
    done = psgraph(*run, "--out", tmp_path)
    assert done.code == 0, done.err
    assert "TmF" in (tmp_path / "cost.md").read_text()
    assert len(Results.read(tmp_path / "costs.parquet")) == 2


def test_ctrl_c_keeps_what_was_finished(tmp_path: Path) -> None:
    run = ("experiment", "run", "judgement", "--datasets", "demo", "--repetitions", "2000")
    process = subprocess.Popen(
        [*PSGRAPH, *run, "--out", tmp_path],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    path = tmp_path / "cells.parquet"
    for _ in range(900):
        if path.exists():
            break
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert 0 < len(Results.read(path)) < 32_000


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run"], 2, "NAME"),
        (["run", "fig2"], 2, "no experiment called 'fig2'"),
        (["run", "end-to-end", "--datasets", "nowhere"], 2, "nowhere"),
        (["run", "end-to-end", "--methods", "louvain"], 2, "louvain"),
        (["run", "end-to-end", "--epsilons", "1,x"], 2, "x"),
        (["run", "end-to-end", "--epsilons", "1/3"], 2, "decimal"),
        (["run", "end-to-end", "--epsilons", "-1"], 2, "epsilon"),
        (["run", "end-to-end", "--repetitions", "0"], 2, "0"),
        (["run", "claims"], 1, "contains no results"),
        (["draw"], 2, "draw"),
    ],
)
def test_wrong_input(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    out = ["--out", str(tmp_path / "out")] if arguments[0] == "run" else []
    shown = psgraph_here("experiment", *arguments, *out)
    assert shown.code == code
    assert words in shown.err
    assert "Traceback" not in shown.err
    assert not (tmp_path / "out").exists()


def test_results_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "cells.parquet").write_text("not Parquet")
    shown = psgraph_here(
        "experiment", "run", "end-to-end", *SMALL, "--methods", "tmf", "--out", tmp_path
    )
    assert shown.code == 1
    assert "not a file of results" in shown.err


def test_no_data_set_is_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSGRAPH_DATA", raising=False)
    monkeypatch.setenv("PSGRAPH_CACHE", str(tmp_path))
    shown = psgraph_here("experiment", "run", "end-to-end", "--out", tmp_path / "out")
    assert shown.code == 1
    assert "psgraph datasets list" in shown.err
