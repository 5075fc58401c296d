"""`psgraph audit`: verdict, exit code, JSON and the page."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from html import unescape
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from psgraph.audit import attacks, detectors
from psgraph.audit.attacks import Effort
from psgraph.audit.auditor import audit, planned
from psgraph.audit.findings import Audit, Check, Hunt, Verdict
from psgraph.audit.reach import Reached
from psgraph.cli import run
from psgraph.methods.tmf import TmF
from psgraph.reports.audit import audit_page
from psgraph_lab.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
TINY = Effort("quick", pairs=22, draws=2_000, few=300, runs=20, streams=20, seconds=1, longest=600)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(attacks, "QUICK", TINY)
    monkeypatch.setattr(attacks, "installed_bugs", lambda: MUTANTS[5:8])


def test_json_is_one_object_and_the_exit_code_follows_it(capsys, monkeypatch):
    monkeypatch.setattr(attacks, "_mechanism", lambda name, *_: [_check(name)])
    assert run(["audit", "--method", "tmf", "--workers", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True
    assert found["mutants"]["caught"] == found["mutants"]["total"] == 3
    assert found["mutants"]["survivors"] == []
    assert {"name", "method", "figure", "verdict", "kind", "effort"} <= found["checks"][0].keys()


def test_a_failing_method_gives_exit_code_1_and_says_what_failed(capsys, monkeypatch):
    monkeypatch.setattr(attacks, "_replay", lambda *_: [_check("replay", "failed")])
    assert run(["audit", "--method", "tmf", "--workers", "1"]) == 1
    assert "FAILED" in capsys.readouterr().out


def test_an_unknown_method_is_wrong_usage(capsys):
    assert run(["audit", "--method", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().err


@pytest.fixture
def no_bugs(monkeypatch):
    """An installation without a package that offers deliberate bugs."""
    monkeypatch.setattr(attacks, "installed_bugs", detectors.installed_bugs)
    monkeypatch.setattr(detectors, "entry_points", lambda **_group: ())


def test_without_deliberate_bugs_all_attacks_run_and_the_audit_says_so(no_bugs, capsys):
    found = audit(["tmf"], effort=TINY)
    assert found.missing
    assert len({check.kind for check in found.checks}) == 7
    assert found.passed == (not (found.failures or found.unreached))
    assert found.to_dict()["mutants"]["missing"] == found.missing
    assert found.missing in audit_page(found).html()
    assert run(["audit", "--method", "tmf", "--workers", "1"]) in (0, 1)
    said = " ".join(capsys.readouterr().out.split())
    assert found.missing[1:] in said


def test_nothing_is_missing_where_bugs_were_not_wanted(no_bugs):
    assert not audit(["tmf"], effort=replace(TINY, longest=0), mutants=False).missing


def _entry_point(monkeypatch, value):
    point = EntryPoint("lab", value, "psgraph.mutants")
    monkeypatch.setattr(detectors, "entry_points", lambda **_group: (point,))


def test_bugs_are_found_by_entry_point(monkeypatch):
    _entry_point(monkeypatch, "psgraph_lab.mutants:MUTANTS")
    assert detectors.installed_bugs() == list(MUTANTS)


@pytest.mark.parametrize("module", ["psgraph_not_there.mutants", "psgraph_lab.not_there"])
def test_bugs_that_are_declared_but_not_there_count_as_missing(monkeypatch, module):
    """A wheel declares psgraph's own and ships none of them."""
    _entry_point(monkeypatch, f"{module}:MUTANTS")
    assert detectors.installed_bugs() == []


def test_a_broken_package_of_bugs_is_an_error(monkeypatch, tmp_path):
    (tmp_path / "broken_bugs.py").write_text("import psgraph_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    _entry_point(monkeypatch, "broken_bugs:MUTANTS")
    with pytest.raises(ModuleNotFoundError):
        detectors.installed_bugs()


def test_the_entry_point_is_declared():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert declared[detectors.GROUP] == {"lab": "psgraph_lab.mutants:MUTANTS"}


def test_a_survivor_fails_the_audit():
    found = Audit("quick", ("tmf",), [_check("x")], [Hunt("a bug", "tmf", {"replay": ""})])
    assert not found.passed
    assert found.survivors == ["a bug"]


@pytest.mark.parametrize(
    ("times", "needed", "passed"),
    [({"replay": 1}, True, True), ({"bounds": 9}, True, False), ({}, False, True)],
)
def test_what_the_replay_never_reached_fails_the_audit_if_it_is_needed(times, needed, passed):
    row = Reached("tmf", "branch", "a search", times, needed=needed)
    found = Audit("quick", ("tmf",), [_check("x", "not tested")], reached=[row])
    assert found.passed is passed
    assert json.loads(json.dumps(found.to_dict()))["reached"][0]["times"] == times


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
        [(check.kind, check.name, check.verdict) for check in found.checks]
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
    page = unescape(audit_page(Audit("quick", ("tmf",), [_check("x")], hunts)).html())
    for text in ("Nothing found", "cannot show", "a bug", "1 of 1"):
        assert text in page


def test_the_page_and_the_terminal_say_what_was_not_tested_and_not_reached(capsys, monkeypatch):
    rows = [
        Reached("tmf", "query", "EdgeCount", {"replay": 4_000, "bounds": 9}, 1.0),
        Reached("tmf", "branch", "a dense graph", {"bounds": 3}),
    ]
    found = Audit("quick", ("tmf",), [_check("x", "not tested")], reached=rows)
    page = unescape(audit_page(found).html())
    for text in ("not tested", "NOT REACHED", "a dense graph", "4,000", "100 %", "1 of 2"):
        assert text in page
    monkeypatch.setattr("psgraph.audit.auditor.audit", lambda *_, **__: found)
    assert run(["audit", "--method", "tmf"]) == 1
    said = capsys.readouterr().out
    assert "NOT REACHED tmf, branch: a dense graph" in said
    assert "tmf: 1 of 1 queries, 0 of 1 branches" in said


def _check(name: str, verdict: Verdict = "held") -> Check:
    return Check("bounds", name, "", "ε ≥ 0.5, charged 1", verdict, 10)
