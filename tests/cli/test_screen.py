"""Tables on a terminal of 80 and of 60 columns: nothing is cut, nothing is too wide."""

from __future__ import annotations

import json
import re
import time
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import numba
import pytest

from psgraph.cli import run
from psgraph.cli.screen import compiling, fitted, note, progress, reading

from .commands import psgraph_here

WIDTHS = (80, 60)


class Terminal(StringIO):
    """A stdout that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, width: int, *arguments: object) -> str:
    """Run a command on a terminal and return its lines, checked for their width."""
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    assert run([str(argument) for argument in arguments]) == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    long = [line for line in text.splitlines() if len(line.rstrip()) > width]
    assert not [line for line in long if "/" not in line]  # a path is not broken
    assert not re.search(r"\d…", text)
    return text


@pytest.fixture(scope="module")
def published(inputs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("narrow") / "releases"
    command = ("publish", inputs["parquet"], "--roster", inputs["roster"])
    done = psgraph_here(*command, "--epsilon", "1/3", "--window", 7, "--out", out)
    assert done.code == 0, done.err
    return out


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("methods",), ["psgraph-plus", "private"]),
        (("datasets", "list"), ["as-733", "nodes*"]),
        (("experiment", "list"), ["end-to-end", "what it shows"]),
        (("plan", "--nodes", 9999, "--edges", 99999, "--epsilon", "1/3", "--window", 7), ["yes"]),
    ],
)
def test_lists_fit(monkeypatch, width, command, words):
    shown = on_terminal(monkeypatch, width, *command)
    assert all(word in shown for word in words)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_has_all_metrics_if_necessary_in_several_tables(
    monkeypatch, inputs, published, width
):
    command = ("compare", inputs["parquet"], published, "--roster", inputs["roster"])
    words = on_terminal(monkeypatch, width, *command, "--more", "all").split()
    for name in ("eigenvector", "assortativity", "divergence,", "density", "clustering"):
        assert name in words


@pytest.mark.parametrize("width", WIDTHS)
def test_the_bars_of_a_budget_fit(monkeypatch, published, width):
    assert "█" in on_terminal(monkeypatch, width, "budget", published)


def test_long_budgets_are_rounded_before_they_are_exact(tmp_path, inputs):
    """Also where nothing but the releases is there to say what was spent."""
    command = (
        "publish",
        inputs["parquet"],
        "--roster",
        inputs["roster"],
        "--method",
        "psgraph-plus",
    )
    done = psgraph_here(*command, "--epsilon", 1, "--window", 12, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    shown = psgraph_here("verify", tmp_path / "out").out
    spent = re.search(r"at most (\S+) \((\d+)/(\d+)\) of 1 spent in any", shown)
    assert spent is not None, shown
    assert float(spent[1]) == pytest.approx(int(spent[2]) / int(spent[3]), rel=0.005)


@pytest.mark.parametrize("bar", [progress, reading])
def test_a_remark_does_not_run_into_a_bar(monkeypatch, bar):
    class Screen(TextIOWrapper):
        def isatty(self) -> bool:
            return True

    screen = Screen(BytesIO(), encoding="utf-8")
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with bar("Working"):
        note("a remark")
    screen.seek(0)
    before, after = screen.read().split("a remark")
    assert before.endswith("\x1b[2K")  # the line of the bar is erased
    assert after.startswith("\n")


def test_messages_break_between_words_on_a_terminal_and_nowhere_in_a_pipe(monkeypatch, tmp_path):
    path = tmp_path / ("long" * 30)
    monkeypatch.setenv("COLUMNS", "40")
    told = []
    for screen in (Terminal(), StringIO()):
        monkeypatch.setattr("sys.stderr", screen)
        note("a remark of more than forty characters, which is told")
        assert run(["verify", str(path)]) == 1
        told.append(re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines())
    narrow, whole = told
    assert all(len(line) <= 40 or str(path) in line.split() for line in narrow)
    assert " ".join(" ".join(narrow).split()) == " ".join(" ".join(whole).split())
    assert len(narrow) > len(whole)


def test_compiling_is_said_also_if_it_begins_late(capsys):
    """Otherwise a first run on a slow machine looks like a hang."""
    with compiling():
        time.sleep(1.1)  # importing; the wait for kernels is announced by now
        numba.njit(lambda number: number + 1)(1)
    assert "Compiling kernels (first run only)" in capsys.readouterr().err


def test_optional_columns_go_first_and_only_as_many_as_necessary():
    columns, rows = ("name", "first", "second", "third"), [("a", "1" * 20, "2" * 20, "3" * 20)]

    def headings(width: int) -> list[list[str]]:
        made = fitted(columns, rows, width=width, optional=("second", "third"))
        return [[str(column.header) for column in each.columns] for each in made]

    assert headings(80) == [["name", "first", "second", "third"]]
    assert headings(60) == [["name", "first", "third"]]
    assert headings(40) == [["name", "first"]]


def test_what_is_not_optional_continues_in_another_table():
    rows = [("a", "1" * 20, "2" * 20)]
    first, second = fitted(("name", "first", "second"), rows, width=30)
    assert [str(column.header) for column in first.columns] == ["name", "first"]
    assert [str(column.header) for column in second.columns] == ["name", "second"]


def test_a_rerun_that_spends_nothing_says_so(inputs: dict[str, Path], tmp_path: Path) -> None:
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], "--epsilon", 1)
    command = (*command, "--window", 3, "--out", tmp_path / "releases")
    first, again = psgraph_here(*command), psgraph_here(*command)
    assert "Published 3 timestamps" in first.out
    assert "New" in first.out
    assert again.code == 0, again.err
    assert "Nothing to do, already published: 3 timestamps" in again.out
    assert "this run has spent nothing" in again.out
    assert json.loads(psgraph_here(*command, "--json").out)["new"] == 0


def test_a_missing_file_is_written_again_and_that_is_said(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "releases"
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], "--epsilon", 1)
    command = (*command, "--window", 3, "--out", out)
    assert psgraph_here(*command).code == 0
    (out / "000001.parquet").unlink()
    again = psgraph_here(*command)
    assert "Wrote 1 missing file again" in again.out
    (out / "000001.parquet").unlink()
    (out / "000002.json").unlink()
    told = json.loads(psgraph_here(*command, "--json").out)
    assert (told["new"], told["written_again"]) == (0, 2)
