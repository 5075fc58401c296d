"""``psgraph check`` and ``publish --dry-run``: what publishing would do, before it is done."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from psgraph.errors import OutsideRoster

from . import commands
from .commands import psgraph_here, write_csv

GUARANTEE = ("--epsilon", "1", "--window", "2")
JANUARY = [(1, 2, "2024-01-02"), (2, 3, "2024-01-20"), (1, 3, "2024-02-03")]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def roster(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "nodes.csv", "id", [(1,), (2,), (3,)])


def events(tmp_path: Path, rows: list[tuple[int, int, str]]) -> Path:
    return write_csv(tmp_path / "events.csv", "u,v,time", rows)


def found(*arguments: object) -> dict[str, Any]:
    done = psgraph_here("check", *arguments, "--json")
    assert done.code == 0, done.err
    result: dict[str, Any] = json.loads(done.out)
    return result


def test_what_depends_on_the_edges_is_marked(tmp_path: Path, roster: Path) -> None:
    """All else is the same for a stream with other edges, also what goes to stderr."""
    command = ("--every", "1mo", "--from", "2024-01-01", "--until", "2024-04-01", *GUARANTEE)
    command += ("--roster", roster, "--json")
    one, other = (
        psgraph_here("check", events(tmp_path, rows), *command)
        for rows in (JANUARY, [(1, 2, "2024-03-30"), (2, 2, "2024-03-30"), *JANUARY[:1]])
    )
    assert one.remarks == other.remarks
    first, second = json.loads(one.out), json.loads(other.out)
    assert first.pop("curator_only") != second.pop("curator_only")
    assert first == second
    assert (first["timestamps"], first["first"], first["last"]) == (3, "2024-01-01", "2024-03-01")
    assert (first["window_in_time"], first["nodes"]) == ("2 months", 3)


def test_the_curator_learns_how_rows_are_read(tmp_path: Path, roster: Path) -> None:
    rows = [(1, 2, "2024-01-20"), (2, 1, "2024-01-20"), (3, 3, "2024-01-20"), (1, 2, "2024-03-01")]
    source = write_csv(tmp_path / "calls.csv", "caller,callee,start", rows)
    command = (source, "--columns", "u=caller,v=callee,time=start", "--every", "1mo")
    command += ("--roster", roster)
    private = found(*command)["curator_only"]
    assert private["columns"]["v"] == "'callee' as int64"
    assert private["edges"] == {"smallest": 0, "largest": 1}
    assert private["dropped"] == {"self_loops": 1, "duplicates": 1}
    assert private["nodes_with_edges"] == {"smallest": 0, "largest": 2}
    late, empty = private["warnings"]
    assert "2024-02-01" in late  # where to start instead
    assert "2024-02-01" in empty
    shown = psgraph_here("check", *command)
    public, _, curator = shown.out.partition("For the curator only")
    assert "self-loop," not in public
    assert "1 self-loop" in curator


@pytest.mark.parametrize("published", [False, True])
def test_a_dry_run_writes_nothing(published: bool, inputs: dict[str, Path], tmp_path: Path) -> None:
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    command += ("--out", tmp_path / "out", "--json")
    if published:
        assert psgraph_here(*command).code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = psgraph_here(*command, "--dry-run")
    assert done.code == 0, done.err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    report = json.loads(done.out)
    expected = (3, 0) if published else (0, 3)
    assert (report["already_published"], report["new"]) == expected
    assert report["plan"]["epsilon"] == "1"


def test_a_dry_run_refuses_what_publishing_refuses(tmp_path: Path, roster: Path) -> None:
    source = events(tmp_path, JANUARY)
    command = ("publish", source, "--every", "1mo", "--close-last", "--roster", roster)
    command += ("--out", tmp_path / "out")
    assert psgraph_here(*command, *GUARANTEE).code == 0
    other = (*command, "--epsilon", "2", "--window", "2")
    assert type(psgraph_here(*other, "--dry-run").error) is type(psgraph_here(*other).error)
    assert psgraph_here(*other, "--dry-run").code != 0
    unknown = events(tmp_path, [*JANUARY, (1, 9, "2024-02-04")])
    for refused in (("check", unknown, *command[2:-2]), (*command, *GUARANTEE, "--dry-run")):
        assert isinstance(psgraph_here(*refused).error, OutsideRoster)


def test_the_time_and_memory_to_expect_come_from_a_trial(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    command = (inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    expected = found(*command)["curator_only"]["expected"]
    assert 0 <= expected["seconds"] < 60
    assert 10**8 < expected["memory"] < 10**11
    assert "GB of memory" in psgraph_here("check", *command).out.partition("curator only")[2]
    assert psgraph_here("publish", *command, "--out", tmp_path / "out").code == 0
    done = psgraph_here("publish", *command, "--out", tmp_path / "out", "--dry-run", "--json")
    assert json.loads(done.out)["curator_only"]["expected"]["seconds"] == 0  # nothing is left


def test_a_store_can_be_checked(inputs: dict[str, Path], tmp_path: Path) -> None:
    store = tmp_path / "store"
    made = psgraph_here("prepare", inputs["csv"], "--roster", inputs["roster"], "--to", store)
    assert made.code == 0, made.err
    direct, prepared = found(inputs["csv"], "--roster", inputs["roster"]), found(store)
    assert direct["curator_only"]["edges"] == prepared["curator_only"]["edges"]
    assert direct["timestamps"] == prepared["timestamps"] == 3


def test_epsilon_and_window_go_together(inputs: dict[str, Path]) -> None:
    done = psgraph_here("check", inputs["csv"], "--roster", inputs["roster"], "--epsilon", "1")
    assert done.code == 2


# ---- what publishing says of its times ----


def test_publishing_warns_of_an_end_in_the_future_and_says_its_times(
    tmp_path: Path, roster: Path
) -> None:
    source = events(tmp_path, JANUARY)
    command = ("publish", source, "--every", "1y", "--until", "2999-01-01", "--roster", roster)
    done = psgraph_here(*command, *GUARANTEE, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "--until" in done.remarks
    assert "2024-01-01 … " in done.out


def test_what_the_edges_show_of_the_ends_is_told_on_a_terminal_only(
    tmp_path: Path, roster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = events(tmp_path, [(1, 2, "2024-01-30"), (1, 2, "2024-03-02")])
    command = ("publish", source, "--every", "1mo", "--roster", roster, *GUARANTEE, "--out")
    piped = psgraph_here(*command, tmp_path / "out")
    assert piped.code == 0, piped.err
    assert "Warning" not in piped.text
    monkeypatch.setattr(commands, "StringIO", Terminal)
    shown = psgraph_here(*command, tmp_path / "again")
    assert shown.err.count("For the curator only") == 2  # a late start, an empty period
    assert "Warning" not in shown.out
