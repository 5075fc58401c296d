"""``psgraph expect``, and predicted errors in ``compare``, ``verify`` and ``export``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.reports.reading import checked

from .commands import psgraph, psgraph_here

SECTION = "How far to trust this"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Path]) -> Path:
    out = tmp_path_factory.mktemp("expected") / "out"
    done = psgraph_here(
        *("publish", inputs["csv"], "--roster", inputs["roster"], "--method", "tmf"),
        *("--epsilon", "4", "--window", "5", "--out", out),
    )
    assert done.code == 0, done.err
    return out


def test_it_prints_verdicts_and_metrics(published):
    done = psgraph_here("expect", published, "--repetitions", 1)
    assert done.code == 0, done.err
    assert "Who are the hubs?" in done.out
    assert "density error" in done.out
    assert "rerun 1 time with seed 0" in done.out
    assert not done.remarks


def test_json_is_one_object_and_repeatable(published):
    once, again = (
        psgraph_here("expect", published, "--repetitions", 1, "--seed", 4, "--json").out
        for _ in range(2)
    )
    assert once == again
    found = json.loads(once)
    assert (found["method"], found["seed"], found["repetitions"]) == ("tmf", 4, 1)
    assert found["verdicts"][-1]["answer"] == "never"


def test_the_page_is_complete_and_names_no_path(published, tmp_path):
    report = tmp_path / "trust.html"
    done = psgraph_here("expect", published, "--repetitions", 1, "--report", report)
    assert done.code == 0, done.err
    assert f"Report  {report}" in done.out
    page = checked(report.read_text())
    assert SECTION in page.text
    assert str(published) not in report.read_text()


def test_time_that_was_up_is_said(published):
    done = psgraph_here("expect", published, "--seconds", 0.000001)
    assert done.code == 0
    assert "The time was up after 1 repetition of 1 timestamp" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 1, "nowhere is not a directory"),
        (["."], 1, "contains no releases"),
        ([".", "--seconds", "0"], 2, "--seconds"),
        ([".", "--repetitions", "0"], 2, "--repetitions"),
        ([".", "--report", "page.txt"], 2, "written as .html"),
        ([], 2, "DIR"),
    ],
)
def test_wrong_input(arguments, code, message, tmp_path):
    done = psgraph("expect", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_compare_shows_predicted_beside_true(inputs, published, tmp_path):
    command = ("compare", inputs["csv"], published, "--roster", inputs["roster"])
    shown = psgraph_here(*command).out
    assert "What psgraph expect predicts from the releases alone" in shown
    found = json.loads(psgraph_here(*command, "--json").out)
    error = found["expected"]["errors"]["density_error"]
    assert error["true"] == pytest.approx(found["mean"]["density_error"])
    report = tmp_path / "quality.html"
    assert psgraph_here(*command, "--report", report).code == 0
    assert "Predicted beside true errors" in checked(report.read_text()).text


def test_compare_puts_means_over_equal_timestamps_beside_each_other(inputs, published):
    """With time for one timestamp of several, the true error is that of this timestamp too."""
    command = ("compare", inputs["csv"], published, "--roster", inputs["roster"])
    found = json.loads(psgraph_here(*command, "--json", "--trust-seconds", 0.000001).out)
    assert found["timestamps"] > 1
    assert found["expected"]["predicted_timestamps"] == [0]
    error = found["expected"]["errors"]["density_error"]
    assert error["true"] == found["rows"][0]["density_error"] != found["mean"]["density_error"]


def test_compare_without_predictions(inputs, published):
    command = ("compare", inputs["csv"], published, "--roster", inputs["roster"])
    found = json.loads(psgraph_here(*command, "--json", "--trust-seconds", 0).out)
    assert "expected" not in found
    assert "predicts" not in psgraph_here(*command, "--trust-seconds", 0).out


@pytest.mark.parametrize(("seconds", "there"), [("5", True), ("0", False)])
def test_the_public_report_has_the_section_unless_told_otherwise(
    published, tmp_path, seconds, there
):
    report = tmp_path / "public.html"
    bound = ("--trust-seconds", seconds)
    assert psgraph_here("verify", published, "--report", report, *bound).code == 0
    assert (SECTION in checked(report.read_text()).text) == there
    assert psgraph_here("export", published, "--to", tmp_path / "to", *bound).code == 0
    (exported,) = (tmp_path / "to").glob("*.html")
    assert (SECTION in exported.read_text()) == there
