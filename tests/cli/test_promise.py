"""Whether and how far a publication is private: every command says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .commands import psgraph_here, write_inputs

CASES = {
    "private": (["--method", "psgraph"], True, "1"),
    "a Markov chain": (["--method", "privhrg"], False, None),
    "a linear filter": (["--method", "tmf", "--set", "filter=linear"], False, None),
    "noise of the local model": (["--method", "ldpgen", "--set", "ldp_scale=true"], True, "2"),
}
BROKEN = [name for name in CASES if name != "private"]


def publishing(inputs: list[str], out: Path, method: list[str]) -> list[str]:
    return ["publish", *inputs, "--epsilon", "1", "--window", "2", "--out", str(out), *method]


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    written = write_inputs(tmp_path)
    return [str(written["csv"]), "--roster", str(written["roster"])]


@pytest.mark.parametrize("case", BROKEN)
def test_publishing_without_the_promise_has_to_be_asked_for(case, inputs, tmp_path):
    method, _, _ = CASES[case]
    done = psgraph_here(*publishing(inputs, tmp_path / "out", method))
    assert done.code == 2
    assert "--not-private" in done.err
    assert not (tmp_path / "out").exists()
    seeded = psgraph_here(*publishing(inputs, tmp_path / "seeded", method), "--seed", "1")
    assert seeded.code == 0, seeded.err


@pytest.mark.parametrize("case", CASES)
def test_every_command_says_the_same(case, inputs, tmp_path):
    method, private, provides = CASES[case]
    out = tmp_path / "out"
    allowed = [] if case == "private" else ["--not-private"]
    planned = ["plan", "--nodes", "9", "--epsilon", "1", "--window", "2", *method]
    reports = {
        "publish": psgraph_here(*publishing(inputs, out, method), *allowed, "--json"),
        "resume": psgraph_here("resume", out, *inputs, "--json"),
        "budget": psgraph_here("budget", out, "--json"),
        "verify": psgraph_here("verify", out, "--json"),
        "plan": psgraph_here(*planned, "--json"),
    }
    certificate = json.loads((out / "000000.json").read_text())
    assert certificate["private"] is private
    assert certificate["provides_epsilon"] == provides
    for command, done in reports.items():
        assert done.code == 0, (command, done.err)
        said = json.loads(done.out)
        for key in ("private", "provides_epsilon", "promise"):
            assert said[key] == certificate[key], (command, key)
    verdict = {None: "NO", "1": "yes", "2": "yes, but with ε = 2"}[provides]
    meaning = {None: "", "1": "at most 73.1 % sure", "2": "at most 88.1 % sure"}[provides]
    for command in (["budget", out], ["verify", out], planned):
        said = " ".join(psgraph_here(*command).out.split())
        assert verdict in said, command
        assert meaning in said, command
        assert bool(meaning) == ("In numbers" in said), command


def test_a_large_epsilon_has_to_be_asked_for(inputs, tmp_path):
    words = ["publish", *inputs, "--window", "2", "--out", str(tmp_path / "out"), "--epsilon"]
    refused = psgraph_here(*words, "20.1")
    assert refused.code == 2
    assert "e^20.1 ≈ 536 million times as likely" in refused.err
    assert "--yes-large-epsilon" in refused.err
    assert not (tmp_path / "out.ledger").exists()
    done = psgraph_here(*words, "20.1", "--yes-large-epsilon")
    assert done.code == 0, done.err
    assert "in name only" in psgraph_here("budget", tmp_path / "out").out
    resumed = psgraph_here("resume", tmp_path / "out", *inputs)
    assert resumed.code == 0, resumed.err


@pytest.mark.parametrize("more", [["--epsilon", "20"], ["--epsilon", "99", "--seed", "1"]])
def test_twenty_and_research_need_no_answer(inputs, tmp_path, more):
    done = psgraph_here("publish", *inputs, "--window", "2", "--out", tmp_path / "out", *more)
    assert done.code == 0, done.err


def test_what_the_method_provides_counts(inputs, tmp_path):
    method, _, _ = CASES["noise of the local model"]
    words = [*publishing(inputs, tmp_path / "out", method), "--not-private", "--epsilon", "11"]
    refused = psgraph_here(*words)
    assert refused.code == 2
    assert "ε = 22 per window" in refused.err
