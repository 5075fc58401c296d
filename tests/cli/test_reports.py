"""``--report`` of ``psgraph compare`` and ``psgraph verify``, by running them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click
import pytest

from psgraph.errors import VerificationFailed
from psgraph.metrics.groups import GROUPS
from psgraph.publication.locations import ledger_of
from tests.reports.reading import checked

from .commands import psgraph, psgraph_here


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Path]) -> Path:
    out = tmp_path_factory.mktemp("reported") / "out"
    done = psgraph_here(
        *("publish", inputs["csv"], "--roster", inputs["roster"]),
        *("--epsilon", "1", "--window", "3", "--out", out),
    )
    assert done.code == 0, done.err
    return out


def comparing(inputs: dict[str, Path], published: Path) -> tuple[object, ...]:
    return ("compare", inputs["csv"], published, "--roster", inputs["roster"])


def test_compare_writes_the_page_and_prints_the_table(inputs, published, tmp_path):
    report = tmp_path / "report.html"
    report.write_text("an older one")
    done = psgraph(*comparing(inputs, published), "--report", report)
    assert done.code == 0, done.err
    assert f"Report  {report}" in done.out
    page = checked(report.read_text())
    assert page.banners[0].startswith("Contains private data. For the curator only")
    command = f"psgraph compare {inputs['csv']} {published} --roster {inputs['roster']}"
    assert f"{command} --report {report}" in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_compare_with_json_and_more(inputs, published, tmp_path):
    report = tmp_path / "report.html"
    done = psgraph_here(
        *comparing(inputs, published), "--report", report, "--json", "--more", "stream"
    )
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["report"] == str(report)
    assert data["more"]["groups"] == ["stream"]
    assert "More metrics: change over time" in checked(report.read_text()).headings
    plain = psgraph_here(*comparing(inputs, published), "--json")
    assert "report" not in json.loads(plain.out)


def test_more_all_is_every_group(inputs, published):
    done = psgraph_here(*comparing(inputs, published), "--more", "all", "--json")
    assert json.loads(done.out)["more"]["groups"] == list(GROUPS)
    shown = psgraph_here(*comparing(inputs, published), "--more", "all")
    assert "community agreement" in " ".join(shown.out.split())
    for metric in ("community agreement", "adjusted Rand index", "degree change correlation"):
        assert metric in " ".join(shown.out.split()).split("Higher is better for")[1]
    wrong = psgraph_here(*comparing(inputs, published), "--more", "nothing")
    assert wrong.code == 2
    assert "structure" in wrong.err


def test_the_quality_report_is_refused_among_the_releases(inputs, published):
    for path in (published / "report.html", published / ".." / published.name / "r.html"):
        done = psgraph_here(*comparing(inputs, published), "--report", path)
        assert done.code == 2
        assert isinstance(done.error, click.UsageError)
        assert "--report" in done.err
        assert not path.exists()


def test_graphs_without_certificates_are_not_releases(inputs, published, tmp_path):
    bare = tmp_path / "bare"
    shutil.copytree(published, bare, ignore=shutil.ignore_patterns("*.json", "ledger*"))
    done = psgraph_here(*comparing(inputs, bare))
    assert done.code == 1
    assert isinstance(done.error, VerificationFailed)
    assert "000000.json" in done.err


def test_a_changed_certificate_is_refused(inputs, published, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    (copy / "000001.json").write_text("{}")
    done = psgraph_here(*comparing(inputs, copy), "--report", tmp_path / "report.html")
    assert done.code == 1
    assert isinstance(done.error, VerificationFailed)
    assert "000001.json" in done.err
    assert not (tmp_path / "report.html").exists()


def test_verify_writes_the_public_report(published, tmp_path):
    report = tmp_path / "public.html"
    done = psgraph("verify", published, "--report", report)
    assert done.code == 0, done.err
    assert f"Report      {report}" in done.out
    assert "The releases" in checked(report.read_text()).headings
    again = psgraph_here("verify", published, "--report", report, "--json")
    data = json.loads(again.out)
    assert data["ok"] is True
    assert data["report"] == str(report)


def test_no_report_is_written_when_verification_fails(published, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    (copy / "000001.parquet").write_bytes(b"other")
    for more in ((), ("--json",)):
        done = psgraph_here("verify", copy, "--report", tmp_path / "public.html", *more)
        assert done.code == 1
        assert not (tmp_path / "public.html").exists()


def test_a_ledger_without_its_releases_gives_no_report(published, tmp_path):
    done = psgraph_here("verify", ledger_of(published), "--report", tmp_path / "p.html")
    assert done.code == 2
    assert isinstance(done.error, click.UsageError)
    assert psgraph_here("verify", tmp_path / "none", "--report", tmp_path / "p.html").code == 1


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("missing/page.html", 1, "is not a directory"),
        ("page.txt", 2, "a report is written as .html"),
        ("folder.html", 1, "is a directory"),
        (f"{'x' * 300}.html", 1, "cannot be used"),
    ],
)
def test_the_report_path_is_checked_before_any_work(
    inputs, published, tmp_path, path, code, message
):
    (tmp_path / "folder.html").mkdir()
    for command in (comparing(inputs, published), ("verify", published)):
        done = psgraph_here(*command, "--report", tmp_path / path)
        assert done.code == code, done.err
        assert message in done.err
        assert done.out == ""
        assert "Traceback" not in done.err
