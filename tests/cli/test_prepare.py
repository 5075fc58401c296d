"""``psgraph prepare``, and the commands that take a store."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import pytest

from psgraph.cli import run
from psgraph.errors import DataError

from .commands import psgraph_here

GUARANTEE = ("--epsilon", 2, "--window", 3, "--method", "psgraph")


@pytest.fixture
def store(inputs: dict[str, Path], tmp_path: Path) -> Path:
    path = tmp_path / "store"
    reading = (inputs["csv"], "--roster", inputs["roster"], "--part-nodes", 16)
    done = psgraph_here("prepare", *reading, "--to", path, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == {
        "path": str(path),
        "timestamps": 3,
        "nodes": 60,
        "parts": 4,
        "held_back": None,
    }
    return path


def test_a_store_is_published_as_its_input_is(store, inputs, tmp_path):
    seeded = (*GUARANTEE, "--seed", 3)
    done = psgraph_here("publish", store, *seeded, "--out", tmp_path / "one", "--json")
    assert done.code == 0, done.err
    raw = (inputs["csv"], "--roster", inputs["roster"])
    psgraph_here("publish", *raw, *seeded, "--out", tmp_path / "other")
    files = sorted(path.name for path in (tmp_path / "one").glob("0*.*"))
    assert len(files) == 6
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_a_store_continues_what_its_input_began(store, inputs, tmp_path):
    raw = (inputs["csv"], "--roster", inputs["roster"])
    psgraph_here("publish", *raw, *GUARANTEE, "--out", tmp_path / "out")
    again = psgraph_here("publish", store, *GUARANTEE, "--out", tmp_path / "out", "--json")
    assert (again.code, json.loads(again.out)["new"]) == (0, 0)


def test_releases_are_compared_with_a_store(store, tmp_path):
    psgraph_here("publish", store, *GUARANTEE, "--out", tmp_path / "out")
    done = psgraph_here("compare", store, tmp_path / "out", "--json")
    assert done.code == 0, done.err


def test_nothing_is_charged_when_a_part_is_missing(store, tmp_path):
    (store / "000001" / "edges-00001.parquet").unlink()
    done = psgraph_here("publish", store, *GUARANTEE, "--out", tmp_path / "out")
    assert done.code == 1
    assert isinstance(done.error, DataError)
    assert "edges-00001.parquet" in done.err
    assert not (tmp_path / "out").exists()


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_number_of_rows_is_shown_on_a_terminal_only(inputs, tmp_path, monkeypatch):
    reading = ("prepare", inputs["csv"], "--roster", inputs["roster"], "--to")
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    with redirect_stderr(screen):
        assert run([*map(str, reading), str(tmp_path / "one")]) == 0
    rows = len(inputs["csv"].read_text().splitlines()) - 1
    assert f"Preparing {rows:,} rows" in re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    piped = psgraph_here(*reading, tmp_path / "other")
    assert f"{rows:,}" not in piped.text


def test_a_file_of_bad_rows_has_to_be_outside_the_store(inputs, tmp_path):
    done = psgraph_here(
        *("prepare", inputs["csv"], "--roster", inputs["roster"], "--to", tmp_path / "store"),
        *("--bad-rows-to", tmp_path / "store" / "bad.csv"),
    )
    assert done.code == 2
    assert not (tmp_path / "store").exists()
