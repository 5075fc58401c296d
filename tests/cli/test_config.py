"""One file for all commands, and the command that writes it."""

from __future__ import annotations

import json
import tomllib
from contextlib import chdir
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import pytest

from psgraph.cli.config import KEYS, read_config
from psgraph.errors import TermsChanged
from psgraph.streams.options import OPTIONS

from .commands import psgraph_here, write_csv

TEXT = """
[input]
path = "calls.csv"
roster = "nodes.csv"
every = "1mo"
columns = "u=caller,v=callee,time=start"

[publication]
epsilon = "1/2"
window = 6
out = "releases"
ledger = "ledger.sqlite"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    rows = [(u, (u + 1) % 9, f"2024-0{month}-15") for month in (1, 2, 3) for u in range(9)]
    write_csv(tmp_path / "calls.csv", "caller,callee,start", rows)
    write_csv(tmp_path / "nodes.csv", "id", [(node,) for node in range(9)])
    (tmp_path / "publication.toml").write_text(TEXT)
    return tmp_path


def run(command: str, project: Path, *options: object) -> dict[str, Any]:
    done = psgraph_here(command, "--config", project / "publication.toml", *options, "--json")
    assert done.code == 0, done.err
    report: dict[str, Any] = json.loads(done.out)
    return report


def test_all_commands_need_nothing_else(project: Path) -> None:
    with chdir("/"):  # paths are relative to the file
        first = run("publish", project)
        assert (first["timestamps"], first["held_back"]) == (2, "2024-03-01")
        assert (first["epsilon"], first["window_in_time"]) == ("0.5", "6 months")
        assert run("budget", project)["window_in_time"] == "6 months"
        assert run("compare", project)
        assert run("verify", project)["timestamps"] == 2
        grown = run("resume", project, "--until", "2024-04-01")
        assert (grown["already_sealed"], grown["new"], grown["held_back"]) == (2, 1, None)


def test_watch_needs_nothing_else_and_says_what_it_waits_for(project: Path) -> None:
    inbox = project / "inbox"
    inbox.mkdir()
    for day in (1, 2, 4):
        write_csv(inbox / f"2024-01-0{day}.csv", "caller,callee", [(1, 2), (2, 3)])
    text = TEXT.replace("calls.csv", "inbox").replace(",time=start", "").replace("1mo", "1d")
    (project / "publication.toml").write_text(text)
    watch = ("watch", "--config", project / "publication.toml", "--once", "--settle", "0.05")
    first = psgraph_here(*watch)
    assert first.code == 4, first.err  # a file is left that waits
    assert "Window: 6 timestamps = 6 days." in first.err
    for line in first.out.splitlines():
        assert datetime.fromisoformat(line.split()[0]).tzinfo is not None
    assert "2024-01-04.csv waits for 2024-01-03." in first.err
    second = psgraph_here(*watch, "--skip", "2024-01-03", "--json")
    assert second.code == 0, second.err
    lines = [json.loads(line) for line in second.out.splitlines()]
    assert [line["new"] for line in lines] == [False, False, True]
    assert all("at" in line for line in lines)


def test_a_curators_file_is_not_written_among_the_releases(project: Path) -> None:
    for option in ("--bad-rows-to", "--unknown-nodes-to"):
        refused = psgraph_here(
            "publish", "--config", project / "publication.toml", option, project / "releases" / "x"
        )
        assert refused.code == 2
        assert isinstance(refused.error, click.UsageError)
        assert option in refused.err


def test_flags_override_the_file(project: Path) -> None:
    report = run("publish", project, "--epsilon", "2", "--close-last", "--out", project / "other")
    assert (report["epsilon"], report["timestamps"]) == ("2", 3)
    assert (project / "other" / "000002.parquet").exists()


def test_a_stream_begun_monthly_is_not_continued_daily(project: Path) -> None:
    run("publish", project)
    config = project / "publication.toml"
    failed = psgraph_here("publish", "--config", config, "--every", "1d", "--close-last")
    assert isinstance(failed.error, TermsChanged)
    assert "periods" in str(failed.error.changed)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[input]\nrooster = 'x'", "Did you mean 'roster'?"),
        ("[input]\nepsilon = '1'", "belongs in the table [publication]"),
        ("[inputs]\npath = 'x'", "Did you mean 'input'?"),
        ("[publication]\nepsilon = 0.1", "a number in quotes"),
        ("[publication]\nwindow = '6'", "window must be an integer"),
        ("[publication]\nwindow = true", "window must be an integer"),
        ("[publication]\nnot_private = 'yes'", "true or false"),
        ("[input]\npath = 3", "text in quotes"),
        ("[input\n", "is not TOML"),
        ("[publication.parameters]\nthreshold = [1]", "the parameter threshold"),
    ],
)
def test_mistakes_in_the_file_are_refused(project: Path, line: str, says: str) -> None:
    (project / "publication.toml").write_text(line)
    failed = psgraph_here("publish", "--config", project / "publication.toml")
    assert failed.code == 2
    assert says in failed.err


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    failed = psgraph_here("budget", "--config", tmp_path / "none.toml")
    assert failed.code == 2
    assert "none.toml" in failed.err


def test_parameters_of_the_method_are_a_table(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[publication.parameters]\nthreshold = 0.5\nexact = true\n")
    assert read_config(file)["settings"] == ["threshold=0.5", "exact=true"]


def test_an_address_is_not_relative_to_the_file(project: Path) -> None:
    with chdir(project):
        done = psgraph_here("init", "s3://bucket/store", *FLAGS, "--to", "a.toml")
    assert done.code == 0, done.err
    assert read_config(project / "a.toml")["path"] == "s3://bucket/store"


@pytest.mark.parametrize("command", ["publish", "resume", "watch"])
def test_the_engine_comes_from_the_file(project: Path, command: str) -> None:
    text = TEXT.replace("[publication]", '[publication]\nscheduler = "tls://host:8786"')
    (project / "publication.toml").write_text(text)
    failed = psgraph_here(command, "--config", project / "publication.toml")
    assert failed.code == 2
    assert "--scheduler is for --engine dask" in failed.err


def test_every_option_of_an_input_has_a_key() -> None:
    keys = {key.option for key in KEYS["input"].values()}
    assert {name for name, option in OPTIONS.items() if option.flag} <= keys


# ---- psgraph init ----

FLAGS = ("--roster", "nodes.csv", "--every", "1mo", "--epsilon", "1/3", "--window", "6")
FLAGS += ("--columns", "u=caller,v=callee,time=start", "--out", "releases")


def test_init_writes_what_publish_reads(project: Path) -> None:
    with chdir(project):
        done = psgraph_here("init", "calls.csv", *FLAGS, "--to", "sub.toml")
        assert done.code == 0, done.err
        written = tomllib.loads((project / "sub.toml").read_text())
        assert written["publication"]["epsilon"] == "1/3"
        report = json.loads(psgraph_here("publish", "--config", "sub.toml", "--json").out)
    assert (report["epsilon"], report["timestamps"]) == ("1/3", 2)


def test_every_comment_of_init_is_a_setting_that_can_be_switched_on(project: Path) -> None:
    with chdir(project):
        psgraph_here("init", "calls.csv", *FLAGS, "--force")
    text = (project / "publication.toml").read_text()
    on = "\n".join(line.removeprefix("# ") if " = " in line else line for line in text.splitlines())
    (project / "publication.toml").write_text(on.replace("threshold = 0.5", ""))
    keys = [key for table in KEYS.values() for key in table.values() if key.kind != "table"]
    assert read_config(project / "publication.toml").keys() == {key.option for key in keys}


def test_init_writes_paths_relative_to_the_file(project: Path) -> None:
    (project / "conf").mkdir()
    with chdir(project):
        psgraph_here("init", "calls.csv", *FLAGS, "--to", "conf/a.toml")
    assert Path(read_config(project / "conf" / "a.toml")["path"]).resolve() == (
        project / "calls.csv"
    )


def test_init_never_overwrites_without_force(project: Path) -> None:
    with chdir(project):
        refused = psgraph_here("init", "calls.csv", *FLAGS)
        assert refused.code == 2
        assert (project / "publication.toml").read_text() == TEXT
        assert psgraph_here("init", "calls.csv", *FLAGS, "--force").code == 0
    assert (project / "publication.toml").read_text() != TEXT


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ((), "--roster or --roster-from-edges, INPUT, --epsilon, --window, --out are missing"),
        ((*FLAGS, "--roster-from-edges", "x.csv"), "contradict"),
        ((*FLAGS, "x.csv", "--timezone", "Mars"), "IANA"),
        ((*FLAGS, "x.csv", "--columns", "caller"), "which column is which"),
    ],
)
def test_init_refuses_what_publish_would(tmp_path: Path, flags: Any, says: str) -> None:
    with chdir(tmp_path):
        failed = psgraph_here("init", *flags)
    assert failed.code == 2
    assert says in failed.err
    assert not list(tmp_path.iterdir())


def test_init_asks_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["calls.csv", "1mo", "nodes.csv", "6", "0.1", "releases"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(answers))
    with chdir(tmp_path):
        done = psgraph_here("init")
        assert done.code == 0, done.err
        values = read_config(tmp_path / "publication.toml")
    assert (values["epsilon"], values["window"], values["every"]) == ("0.1", 6, "1mo")


@pytest.mark.parametrize(
    ("line", "options", "kind"),
    [
        ('kind = "directed"', (), "directed"),
        ('kind = "directed"', ("--undirected",), None),
        ("", ("--directed",), "directed"),
        ("", (), None),
    ],
)
def test_the_kind_of_a_file_holds_unless_a_flag_says_otherwise(
    project: Path, line: str, options: tuple[str, ...], kind: str | None
) -> None:
    file = project / "publication.toml"
    file.write_text(TEXT.replace("[publication]", f"{line}\n[publication]"))
    run("publish", project, *options)
    certificate = json.loads((project / "releases" / "000000.json").read_text())
    assert certificate.get("kind") == kind


def test_a_kind_that_there_is_not_is_refused(project: Path) -> None:
    file = project / "publication.toml"
    file.write_text(TEXT.replace("[publication]", 'kind = "one-way"\n[publication]'))
    done = psgraph_here("publish", "--config", file)
    assert (done.code, done.out) == (2, "")
    assert "one-way" in done.err
