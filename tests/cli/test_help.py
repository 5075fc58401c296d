"""Help, version, exit codes of usage errors, and how little they import."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from psgraph import __version__

from .commands import PSGRAPH, psgraph, psgraph_here

COMMANDS = ("demo", "publish", "compare", "rehearse", "plan", "methods", "bench")
HEAVY = ("numpy", "numba", "pyarrow", "rich", "scipy", "matplotlib", "cryptography", "sknetwork")


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS)], ids=str)
def test_help_imports_nothing_heavy_and_shows_an_example(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "psgraph", *arguments, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    imported = {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in lines}
    assert "click" in imported
    assert imported.isdisjoint(HEAVY)
    assert "Example" in done.stdout
    assert f"  psgraph {' '.join(arguments)}".rstrip() in done.stdout


def test_help_lists_every_command() -> None:
    shown = psgraph("--help")
    assert shown.code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in shown.out


def test_version() -> None:
    shown = psgraph("--version")
    assert (shown.code, shown.out) == (0, f"psgraph {__version__}\n")


def test_help_says_what_roster_from_edges_makes_public() -> None:
    words = " ".join(psgraph("publish", "--help").out.split())
    assert "Node presence is then public" in words
    assert "what the paper does" in words


def test_help_of_publish_lists_required_options_first_and_the_others_in_groups() -> None:
    shown = psgraph("publish", "--help").out
    marks = ["Required options:", "--epsilon", "Input options:", "--roster", "--method", "--json"]
    places = [shown.index(f"\n{mark}" if mark[0] != "-" else f"\n  {mark} ") for mark in marks]
    assert places == sorted(places)


def test_a_misspelt_command_is_answered_with_the_closest() -> None:
    assert "publish" in psgraph("pubish").err
    assert "mean" not in psgraph("xyzzy").err


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (("plan", "--json"), "MissingParameter", 2),
        (("budget", "absent.sqlite", "--json"), "LedgerError", 1),
        (("plan", "--nodes", 9, "--epsilon", 0, "--window", 1, "--json"), "BadParameter", 2),
    ],
)
def test_errors_are_json_too(arguments: tuple[object, ...], kind: str, code: int) -> None:
    failed = psgraph_here(*arguments)
    told = json.loads(failed.out)["error"]
    assert (told["type"], told["exit_code"], failed.code) == (kind, code, code)
    assert told["message"] in failed.err
    assert not psgraph_here(*arguments[:-1]).out


def test_help_of_compare_says_that_it_is_for_the_curator_only() -> None:
    assert "CURATOR ONLY: CONTAINS THE TRUTH" in psgraph("compare", "--help").out


@pytest.mark.parametrize("arguments", [("bogus",), ("publish", "--bogus"), ("publish",)], ids=str)
def test_wrong_usage_exits_2_and_points_to_help(arguments: tuple[str, ...]) -> None:
    failed = psgraph(*arguments)
    assert failed.code == 2
    assert failed.out == ""
    assert failed.err.startswith("error: ")
    assert "--help" in failed.err
    assert "Traceback" not in failed.err


def test_a_closed_pipe_prints_no_error_message() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        done = subprocess.run(
            [*PSGRAPH, "methods"], stdout=gone, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == ""


def test_a_terminal_that_cannot_show_greek_letters_is_served_too() -> None:
    shown = psgraph(
        *("plan", "--nodes", 10, "--epsilon", 1, "--window", 2), env={"PYTHONIOENCODING": "ascii"}
    )
    assert shown.code == 0, shown.err
    assert shown.err == ""
