"""``psgraph export``, ``compare`` with the ledger, and headers of rosters, as a user meets them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from psgraph.errors import OutputError, ReplayConflict, install_line
from psgraph.publication.locations import ledger_of

from .commands import psgraph_here


@pytest.fixture(scope="module")
def published(inputs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("published") / "out"
    words = ("--roster", inputs["roster"], "--epsilon", 1, "--window", 3, "--out", out)
    done = psgraph_here("publish", inputs["csv"], *words)
    assert done.code == 0, done.err
    assert str(ledger_of(out)) in done.out
    return out


def test_export_and_check(published: Path, tmp_path: Path) -> None:
    done = psgraph_here("export", published, "--to", tmp_path / "to", "--format", "csv", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["private"], report["releases"], report["format"]) == (True, 3, "csv")
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=tmp_path / "to", check=True)
    assert psgraph_here("verify", tmp_path / "to").code == 0
    again = psgraph_here("export", published, "--to", tmp_path / "to")
    assert isinstance(again.error, OutputError)


def test_without_the_extra_the_report_is_left_out_and_that_is_said(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psgraph._runtime.extras.find_spec", lambda _: None)
    done = psgraph_here("export", published, "--to", tmp_path / "to")
    assert done.code == 0, done.err
    assert install_line("report") in done.err
    assert not (tmp_path / "to" / "report.html").exists()
    assert "report.html" not in (tmp_path / "to" / "README.md").read_text()


def test_compare_refuses_changed_input_and_names_the_timestamps(
    inputs: dict[str, Path], published: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "changed.csv"
    changed.write_text(inputs["csv"].read_text() + "2,0,30\n")
    refused = psgraph_here("compare", changed, published, "--roster", inputs["roster"])
    assert isinstance(refused.error, ReplayConflict)
    assert "timestamp 2 " in refused.err
    assert not refused.out


def test_compare_says_what_it_checked(inputs: dict[str, Path], published: Path) -> None:
    compared = ("compare", inputs["csv"], published, "--roster", inputs["roster"])
    assert f"checked with {ledger_of(published)}" in psgraph_here(*compared).out
    hidden = ledger_of(published).rename(published.with_name("aside"))
    try:
        assert "NOT checked" in psgraph_here(*compared).out
        assert json.loads(psgraph_here(*compared, "--json").out)["input_checked"] is False
        named = psgraph_here(*compared, "--ledger", hidden, "--json")
        assert json.loads(named.out)["input_checked"] is True
    finally:
        hidden.rename(ledger_of(published))


def test_a_grown_roster_is_said_to_count_from_the_next_timestamp_on(
    inputs: dict[str, Path], published: Path, tmp_path: Path
) -> None:
    grown = tmp_path / "grown.csv"
    grown.write_text(inputs["roster"].read_text() + "60\n61\n")
    done = psgraph_here("resume", published, inputs["csv"], "--roster", grown)
    assert done.code == 0, done.err
    assert "grew by 2 nodes after timestamp 2" in done.err
    assert "from timestamp 3 on" in done.err


def test_a_header_is_a_question_with_two_answers(inputs: dict[str, Path], tmp_path: Path) -> None:
    roster = tmp_path / "phones.csv"
    roster.write_text(inputs["roster"].read_text().replace("id", "phone", 1))
    words = ("publish", inputs["csv"], "--epsilon", 1, "--window", 3, "--out", tmp_path / "out")
    refused = psgraph_here(*words, "--roster", roster)
    assert refused.code == 1
    assert "--roster-column phone" in refused.err
    assert "--roster-no-header" in refused.err
    done = psgraph_here(*words, "--roster", roster, "--roster-column", "phone", "--json")
    assert json.loads(done.out)["nodes"] == 60


@pytest.mark.parametrize(
    "options",
    [
        ("--roster-from-edges", "--roster-column", "phone"),
        ("--roster", "x.csv", "--roster-column", "phone", "--roster-no-header"),
    ],
)
def test_contradicting_roster_options_are_a_usage_error(
    inputs: dict[str, Path], tmp_path: Path, options: tuple[str, ...]
) -> None:
    words = ("publish", inputs["csv"], "--epsilon", 1, "--window", 3, "--out", tmp_path / "out")
    assert psgraph_here(*words, *options).code == 2
