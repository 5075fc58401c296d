"""``psgraph rehearse``: quality to expect, before anything is spent."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import click
import pytest

from psgraph.cli.config import with_comment, write_comment

from .commands import Result, psgraph_here

CHOICES = ("--nodes", 300, "--edges", 2000, "--timestamps", 2, "--window", "2", "--methods", "tmf")
QUICK = ("rehearse", *CHOICES, "--epsilon", "0.5,2", "--repetitions", 1)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """One rehearsal with everything it can write."""
    out = tmp_path_factory.mktemp("rehearsal")
    (out / "p.toml").write_text('[input]\npath = "x"\n[publication]\nepsilon = "1"\n')
    shown = psgraph_here(
        *(*QUICK, "--all", "--report", out / "r.html", "--picture", out / "r.png"),
        *("--comment-in", out / "p.toml"),
    )
    return shown, out


def test_it_shows_a_row_for_each_choice_and_what_it_would_suffice_for(outputs):
    shown, _ = outputs
    assert shown.code == 0, shown.err
    assert "300 nodes, 2,000 edges per snapshot" in shown.out
    assert "No private data was read" in shown.out
    rows = [line for line in shown.out.splitlines() if line.startswith("tmf ")]
    assert len(rows) == 4  # two choices, by questions and by the paper's metrics
    assert "w = 2: tmf with ε = " in shown.out
    assert "assortativity" in shown.out


def test_the_table_fits_into_80_columns(monkeypatch):
    monkeypatch.setattr("psgraph.cli.screen._PIPE_WIDTH", 80)
    shown = psgraph_here(*QUICK)
    assert shown.code == 0, shown.err
    assert max(map(len, shown.out.splitlines())) <= 80


def test_it_writes_a_page_and_a_picture(outputs):
    _, out = outputs
    page = (out / "r.html").read_text()
    assert "No private data was read" in page
    assert page.count("<svg") == 6
    assert "<script" not in page
    assert (out / "r.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_goes_into_the_configuration_file_as_a_comment(outputs):
    _, out = outputs
    text = (out / "p.toml").read_text()
    assert tomllib.loads(text) == {"input": {"path": "x"}, "publication": {"epsilon": "1"}}
    before, _, after = text.partition("# ---- psgraph rehearse")
    assert before == '[input]\npath = "x"\n'
    assert after.endswith('# ---- end of psgraph rehearse ----\n[publication]\nepsilon = "1"\n')
    assert after.count("\n# tmf ") == 2
    assert "--epsilon 0.5,2" in after


def test_json_is_one_object_with_verdicts():
    shown = psgraph_here(*QUICK, "--json")
    assert shown.code == 0, shown.err
    found = json.loads(shown.out)
    assert [cell["epsilon"] for cell in found["cells"]] == ["0.5", "2"]
    assert found["cells"][0]["verdicts"].keys() == found["questions"].keys()
    assert found["private_data_read"] is False
    assert found["stream"]["nodes"] == 300


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (("--nodes", 10, "--edges", 46), "at most 45 edges, not 46"),
        (("--nodes", 0), "not in the range"),
        (("--edges", -5), "not in the range"),
        (("--epsilon", "1,,2"), "separated by commas"),
        (("--epsilon", "1;2"), "must be a positive number"),
        (("--epsilon", "0"), "greater than 0"),
        (("--window", "5,x"), "window"),
        (("--methods", "psgraph,nobody"), "Installed methods"),
        (("--like", "nowhere"), "one of: demo"),
        (("--picture", "a.pdf"), ".png or .svg"),
        (("--report", "nowhere/r.html"), "not a directory"),
        (("--comment-in", "nowhere.toml"), "does not exist"),
        (("--nodes", 10**9, "--edges", 10**12), "GB of memory"),
    ],
    ids=str,
)
def test_wrong_input_is_refused_with_a_reason(options, fact):
    failed = psgraph_here("rehearse", *options)
    assert failed.code in (1, 2)
    assert fact in failed.err
    assert failed.out == ""


def test_a_file_that_is_not_a_stream_is_refused(tmp_path: Path):
    (tmp_path / "notes.parquet").write_text("not a table")
    failed = psgraph_here("rehearse", "--like", tmp_path / "notes.parquet")
    assert failed.code == 1
    assert "internal error" not in failed.err


def test_a_rehearsal_that_finishes_nothing_says_so(monkeypatch):
    monkeypatch.setattr("psgraph.trust.rehearsal.trial._run", lambda *_: None)
    failed = psgraph_here(*QUICK, "--seconds", 1)
    assert failed.code == 1
    assert "within 1 second" in failed.err


def test_the_private_input_of_the_configuration_is_not_rehearsed_on(tmp_path: Path):
    config = tmp_path / "p.toml"
    config.write_text('[input]\npath = "edges.csv"\n[publication]\nepsilon = "1"\n')
    (tmp_path / "edges.csv").write_text("t,u,v\n0,1,2\n")
    before = config.read_bytes()
    failed = psgraph_here(*("rehearse", "--like", tmp_path / "edges.csv", "--comment-in", config))
    assert failed.code == 2
    assert isinstance(failed.error, click.UsageError)
    assert "--like" in failed.err
    assert config.read_bytes() == before


# ---- the comment ----


def test_the_next_comment_replaces_the_first_and_nothing_else(tmp_path: Path):
    path = tmp_path / "p.toml"
    path.write_bytes(b'# mine\r\n[publication]\r\nepsilon = "1"  # kept\r\n')
    write_comment(path, ["one", "two"])
    once = path.read_bytes()
    write_comment(path, ["three"])
    assert b"# one\r\n# two\r\n" in once
    again = path.read_bytes()
    assert again.replace(b"# three\r\n", b"# one\r\n# two\r\n") == once
    assert again.startswith(b"# mine\r\n# ----")
    assert again.endswith(b'----\r\n[publication]\r\nepsilon = "1"  # kept\r\n')


def test_a_file_without_the_table_gets_the_comment_at_its_end():
    assert with_comment("a = 1", ["x"], Path("p")).startswith("a = 1\n# ----")


@pytest.mark.parametrize(
    "text",
    [
        "# ---- end of psgraph rehearse ----\n",
        'a = """\n[publication]\n"""\n',
    ],
)
def test_a_file_that_the_comment_would_change_is_refused(text):
    with pytest.raises(click.UsageError):
        with_comment(text, ["x"], Path("p.toml"))
