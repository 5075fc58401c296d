"""What goes wrong while a command runs: exit codes, and never a word about the data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from psgraph.publication.verification import verify

from .commands import PSGRAPH, psgraph, psgraph_here
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
    assert "error: internal error (RuntimeError)" in failed.err
    assert SECRET not in failed.text
    assert "Traceback" not in failed.text
    assert not list((tmp_path / "out").glob("0*"))
    shown = psgraph(*command, env={**environment, "ODD": "crash", "PSGRAPH_DEBUG": "1"})
    assert shown.code == 1
    assert "Traceback" in shown.err


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
    for word in ("timestamp 1", "requested", "remaining   0", "Nothing was measured"):
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


def test_ctrl_c_between_timestamps_and_on_again(odd, tmp_path: Path) -> None:
    command, environment = odd
    stopped = psgraph(*command, env={**environment, "ODD": "interrupt"})
    assert stopped.code == 130
    assert "1 of 3 timestamps is published" in stopped.err
    assert stopped.err.endswith("error: stopped\n")
    assert "Traceback" not in stopped.err
    before = released(tmp_path / "out")
    assert len(before) == 2
    assert psgraph(*command, env=environment).code == 0
    after = released(tmp_path / "out")
    assert len(after) == 6
    assert before.items() <= after.items()


def test_ctrl_c_while_reading(tmp_path: Path) -> None:
    pipe = tmp_path / "edges.csv"
    os.mkfifo(pipe)
    options = ("--roster-from-edges", "--epsilon", "1", "--window", "2", "--out", tmp_path / "out")
    process = subprocess.Popen(
        [*PSGRAPH, "publish", pipe, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    writer = _wait_for_reader(pipe)
    try:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        os.close(writer)
    assert process.returncode == 130
    assert err.endswith("error: stopped\n")
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def _wait_for_reader(pipe: Path) -> int:
    """Open the pipe for writing as soon as the command has opened it for reading."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < deadline, "the command never opened its input"
            time.sleep(0.02)
