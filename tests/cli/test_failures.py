"""What goes wrong while a command runs: exit codes, and never a word about the data."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from psgraph.cli.publication import EarlyEnd
from psgraph.errors import OutputError
from psgraph.publication.ledger.database import Database
from psgraph.publication.verification import verify

from .commands import PATIENCE, psgraph, psgraph_here, start, wait_until
from .plugin import SECRET, install
from .test_publish import GUARANTEE, released


@pytest.fixture
def odd(inputs: dict[str, Path], tmp_path: Path) -> tuple[tuple[object, ...], dict[str, str]]:
    """A publication with the plug-in: the command and its environment."""
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    return (*command, "--method", "odd", "--out", tmp_path / "out"), install(tmp_path)


def test_an_unexpected_exception_tells_its_type_only(odd, tmp_path: Path) -> None:
    command, environment = odd
    failed = psgraph(*command, env={**environment, "ODD": "crash"})
    assert failed.code == 1
    # A slow machine says before what it waits for.
    assert "error: internal error (RuntimeError)" in failed.err
    assert "Published" not in failed.err
    assert SECRET not in failed.text
    assert "Traceback" not in failed.text
    assert not list((tmp_path / "out").glob("0*"))
    shown = psgraph(*command, env={**environment, "ODD": "crash", "PSGRAPH_DEBUG": "1"})
    assert shown.code == 1
    assert "Traceback" in shown.err


def test_what_keeps_failing_stops_until_a_person_continues_it(
    odd, inputs: dict[str, Path], tmp_path: Path
) -> None:
    command, environment = odd
    crash = {**environment, "ODD": "crash"}
    assert [psgraph(*command, env=crash).code for _ in range(3)] == [1] * 3
    resume = ("resume", tmp_path / "out", inputs["csv"], "--roster", inputs["roster"])
    for stopped in (psgraph(*command, env=environment), psgraph(*resume, env=environment)):
        assert stopped.code == 1
        assert "--measure-again" in stopped.err
    assert not list((tmp_path / "out").glob("0*"))
    assert psgraph(*resume, "--measure-again", env=environment).code == 0
    assert psgraph(*command, "--measure-again", env=environment).code == 2
    assert psgraph(*command, env=environment).code == 0


def test_a_method_that_wants_too_much_is_refused_with_3(odd, tmp_path: Path) -> None:
    command, environment = odd
    failed = psgraph(*command, env={**environment, "ODD": "greed"})
    assert failed.code == 3
    for word in ("requested", "remaining", "difference"):
        assert word in failed.err
    assert "Traceback" not in failed.err
    assert not list((tmp_path / "out").glob("0*"))


def test_a_method_that_asks_for_the_next_window_too_is_refused_with_3(odd, tmp_path: Path) -> None:
    """All of ε at the first timestamp is granted; the same again in its window is not."""
    command, environment = odd
    failed = psgraph(*command, env={**environment, "ODD": "hunger"})
    assert failed.code == 3
    for word in ("timestamp 1", "requested", "remaining   0", "Nothing was measured", "Published"):
        assert word in failed.err
    assert sorted(released(tmp_path / "out")) == ["000000.json", "000000.parquet"]
    assert verify(tmp_path / "out").timestamps == 1


def test_uneven_spends_are_shown_as_they_are(odd, tmp_path: Path) -> None:
    command, environment = odd
    done = psgraph(*command, env={**environment, "ODD": "uneven"})
    assert done.code == 0, done.err
    report = json.loads(psgraph_here("budget", tmp_path / "out", "--json").out)
    window, epsilon = report["window"], report["epsilon"]
    expected = [epsilon if number % window == 0 else "0" for number in range(3)]
    assert [row["spent"] for row in report["current_window"]] == expected[-window:]
    assert verify(tmp_path / "out").largest_window_spent == epsilon


@pytest.mark.parametrize("form", ["csv", "directory"])
def test_on_a_full_disk_a_command_says_what_is_published(
    form: str, inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, commit = tmp_path / "out", Database._commit

    def full_after_two(database: Database) -> None:
        if (out / "000001.json").exists():
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorname = "SQLITE_FULL"
            raise error
        commit(database)

    reading = (inputs[form], "--roster", inputs["roster"])
    start = (*reading, *GUARANTEE, "--method", "psgraph", "--out", out)
    first = ("publish", *start) if form == "csv" else ("watch", *start, "--once", "--settle", 0)
    again = ("resume", out, *reading) if form == "csv" else first
    monkeypatch.setattr(Database, "_commit", full_after_two)
    for command in (first, again):  # while it publishes; when it opens the ledger
        failed = psgraph_here(*command)
        assert (failed.code, failed.error.code) == (1, "sqlite_full")
        assert f"Published in {out}: 2 timestamps, the last is timestamp 1." in failed.err
        assert "Not published: timestamp 2" in failed.err
        assert "Nothing was published" not in failed.err
    monkeypatch.undo()
    assert psgraph_here(*again).code == 0
    assert verify(out).releases == 3


def test_a_release_without_its_certificate_is_called_incomplete(tmp_path: Path, capsys) -> None:
    for name in ("000000.parquet", "000000.json", "000001.parquet"):
        (tmp_path / name).touch()
    with pytest.raises(OutputError), EarlyEnd(tmp_path):
        raise OutputError
    said = capsys.readouterr().err
    assert "1 timestamp, the last is timestamp 0. Incomplete: timestamp 1. Not published" in said


def test_ctrl_c_between_timestamps_and_on_again(odd, tmp_path: Path) -> None:
    command, environment = odd
    stopped = psgraph(*command, env={**environment, "ODD": "interrupt"})
    assert stopped.code == 130
    assert "1 timestamp, the last is timestamp 0" in stopped.err
    assert stopped.err.endswith("error: stopped\n")
    assert "Traceback" not in stopped.err
    before = released(tmp_path / "out")
    assert len(before) == 2
    assert psgraph(*command, env=environment).code == 0
    after = released(tmp_path / "out")
    assert len(after) == 6
    assert before.items() <= after.items()


@pytest.fixture
def reading(tmp_path: Path) -> Callable[[signal.Handlers], subprocess.Popen[str]]:
    """Return how to start a command that waits for its input, given what it does on Ctrl-C."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    options = ("--roster-from-edges", "--epsilon", "1", "--window", "2", "--out", tmp_path / "out")

    def started(interrupt: signal.Handlers) -> subprocess.Popen[str]:
        process = start("publish", "-", *options, interrupt=interrupt, env={"TMPDIR": str(scratch)})
        wait_until(lambda: [*scratch.rglob("standard-input*")], process)
        return process

    return started


def test_ctrl_c_while_reading(reading, tmp_path: Path) -> None:
    process = reading(signal.SIG_DFL)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130  # while its input is still open
    _, err = process.communicate()
    assert err.endswith("error: stopped\n")
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_a_command_in_the_background_of_a_script_is_not_stopped_by_ctrl_c(
    reading, tmp_path: Path
) -> None:
    """A shell starts it with SIGINT ignored, and like other tools it leaves that so."""
    process = reading(signal.SIG_IGN)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate("t,u,v\n0,1,2\n0,2,3\n", timeout=PATIENCE)
    assert process.returncode == 0, err
    assert (tmp_path / "out" / "000000.json").exists()
