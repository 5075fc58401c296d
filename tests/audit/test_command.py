"""`psgraph audit`: verdict, exit code, JSON and the page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from psgraph.audit import attacks, effort
from psgraph.audit.auditing import audit, planned
from psgraph.audit.effort import Effort
from psgraph.audit.findings import Audit, Check
from psgraph.audit.mutants import MUTANTS
from psgraph.audit.mutants.hunting import Hunt
from psgraph.cli import run
from psgraph.methods.tmf import TmF
from psgraph.reports.audit import audit_page

TINY = Effort("quick", pairs=9, draws=2_000, few=300, runs=20, streams=20, seconds=1, longest=600)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(effort, "QUICK", TINY)
    monkeypatch.setattr(attacks, "MUTANTS", MUTANTS[5:8])


def test_json_is_one_object_and_the_exit_code_follows_it(capsys, monkeypatch):
    monkeypatch.setattr(attacks, "_mechanism", lambda name, *_: [_check(name)])
    assert run(["audit", "--method", "tmf", "--workers", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True
    assert found["mutants"]["caught"] == found["mutants"]["total"] == 3
    assert found["mutants"]["survivors"] == []
    assert {"name", "method", "figure", "passed", "kind", "effort"} <= found["checks"][0].keys()


def test_a_failing_method_gives_exit_code_1_and_says_what_failed(capsys, monkeypatch):
    monkeypatch.setattr(attacks, "_replay", lambda *_: [_check("replay", passed=False)])
    assert run(["audit", "--method", "tmf", "--workers", "1"]) == 1
    assert "FAILED" in capsys.readouterr().out


def test_an_unknown_method_is_wrong_usage(capsys):
    assert run(["audit", "--method", "nobody"]) == 2
    assert "there is no method called 'nobody'" in capsys.readouterr().err


def test_a_survivor_fails_the_audit():
    found = Audit("quick", ("tmf",), [_check("x")], [Hunt("a bug", "tmf", {"replay": ""})])
    assert not found.passed
    assert found.survivors == ["a bug"]


def test_a_method_that_is_not_installed_is_audited_as_an_object(monkeypatch):
    class Mine(TmF):
        name = "mine"

    found = audit([Mine()], effort=TINY, mutants=False)
    assert {check.kind for check in found.checks if check.method == "mine"} == {"replay", "bounds"}


def test_two_processes_find_what_one_finds():
    alone, together = (
        audit(["tmf"], effort=TINY, mutants=False, workers=workers) for workers in (1, 2)
    )
    described = [
        [(check.kind, check.name, check.passed) for check in found.checks]
        for found in (alone, together)
    ]
    assert described[0] == described[1]


def test_what_there_was_no_time_for_counts_as_failed():
    found = audit(["tmf"], effort=replace(TINY, longest=0))
    assert len(found.checks) == len(planned(["tmf"], TINY))
    assert {check.figure for check in found.failures} == {"not run: the time was up"}
    assert not found.passed


def test_the_page_says_what_was_tried_and_what_it_cannot_show():
    hunts = [Hunt("a bug", "tmf", {"replay": "found"})]
    html = audit_page(Audit("quick", ("tmf",), [_check("x")], hunts)).html()
    for text in ("Nothing found", "What an audit cannot show", "a bug", "1 of 1 deliberate bugs"):
        assert text in html


def _check(name: str, *, passed: bool = True) -> Check:
    return Check("bounds", name, "", "ε ≥ 0.5, charged 1", passed, 10)
