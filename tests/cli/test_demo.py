"""``psgraph demo``: files, table, and what it may and may not replace."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

from psgraph.errors import OutputError

from .commands import psgraph, psgraph_here


def test_the_demo_shows_and_writes_everything_and_can_be_run_again(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    done = psgraph("demo", "--out", out)
    assert done.code == 0, done.err
    words = " ".join(done.out.split())
    assert "Over any 3 consecutive timestamps all releases together satisfy ε-edge" in words
    shown: Counter[str] = Counter()
    for line in done.out.splitlines():
        if line.startswith("2024-"):
            shown[line.split()[0]] += line.count(" → ")
    assert "PSGraph → PSGraph+ → PSGraph+ with labels" in done.out
    assert list(shown.values()) == [12] * 12  # three runs, in each of six metrics
    for name in ("picture.png", "picture.svg", "edges.parquet", "nodes.csv"):
        assert (out / name).stat().st_size > 1000
        assert name in done.out
    assert (out / "picture.png").read_bytes().startswith(b"\x89PNG")
    for run in ("psgraph", "psgraph-plus", "psgraph-plus-with-labels"):
        certificates = sorted((out / run).glob("*.json"))
        assert len(certificates) == 12
        content = json.loads(certificates[-1].read_text())
        assert content["private"] is True
        assert content["method"] == run.removesuffix("-with-labels")
        assert Fraction(content["spent"]["window"]) <= Fraction(1, 2)
        assert ("department" in content["roster"]) == run.endswith("labels")

    # What it suggests to try works.
    reading = ("--roster", out / "nodes.csv", "--labels", "department")
    compared = psgraph_here("compare", out / "edges.parquet", out / run, *reading, "--json")
    assert compared.code == 0, compared.err
    assert json.loads(compared.out)["timestamps"] == 12

    before = certificates[-1].read_bytes()
    (out / "mine.txt").write_text("a file of the user's")
    again = psgraph_here("demo", "--out", out, "--seed", 3)
    assert again.code == 0, again.err
    assert "No privacy is promised" in again.out
    assert certificates[-1].read_bytes() != before
    assert (out / "mine.txt").exists()


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "000000.parquet").write_text("mine")
    failed = psgraph_here("demo", "--out", tmp_path)
    assert isinstance(failed.error, OutputError)
    assert [path.name for path in tmp_path.iterdir()] == ["000000.parquet"]
    assert (tmp_path / "000000.parquet").read_text() == "mine"


def test_releases_with_a_foreign_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".psgraph-demo").touch()
    (tmp_path / "psgraph").mkdir()
    (tmp_path / "psgraph" / "notes.txt").write_text("mine")
    failed = psgraph_here("demo", "--out", tmp_path)
    assert isinstance(failed.error, OutputError)
    assert (tmp_path / "psgraph" / "notes.txt").read_text() == "mine"


def test_wrong_arguments_write_nothing(tmp_path: Path) -> None:
    failed = psgraph_here("demo", "--out", tmp_path / "new", "--epsilon", "0")
    assert failed.code == 2
    assert not (tmp_path / "new").exists()
