"""Without the optional libraries: everything else works, and the install line is printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from psgraph.errors import install_line

from .commands import (
    PATIENCE,
    before_others,
    psgraph,
    small_stream,
    start,
    wait_until,
    write_csv,
)

OPTIONAL = ("jinja2", "matplotlib", "PIL", "watchfiles")


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment in which the optional libraries can't be imported."""
    blocker = tmp_path / "blocker"
    blocker.mkdir()
    lines = [f"sys.modules[{name!r}] = None" for name in OPTIONAL]
    (blocker / "sitecustomize.py").write_text("\n".join(["import sys", *lines, ""]))
    return before_others(blocker)


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    rows = [(t, u, v) for t, edges in enumerate(small_stream()) for u, v in edges]
    return write_csv(tmp_path / "edges.csv", "t,u,v", rows)


def test_publishing_and_verifying_need_no_extra(
    edges: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    releases = tmp_path / "releases"
    published = psgraph(
        *("publish", edges, "--roster-from-edges", "--epsilon", 1, "--window", 2),
        *("--out", releases),
        env=bare,
    )
    assert published.code == 0, published.err
    assert psgraph("verify", releases, env=bare).code == 0


def test_the_demo_runs_and_says_how_to_get_the_picture(
    bare: dict[str, str], tmp_path: Path
) -> None:
    shown = psgraph("demo", "--out", tmp_path / "demo", env=bare)
    assert shown.code == 0, shown.err
    assert install_line("report") in shown.out
    assert not list((tmp_path / "demo").glob("picture.*"))


def test_a_report_is_refused_with_the_install_line_before_anything_is_read(
    bare: dict[str, str], tmp_path: Path
) -> None:
    nowhere = tmp_path / "no-such-directory"
    failed = psgraph("verify", nowhere, "--report", tmp_path / "report.html", env=bare)
    assert failed.code == 1
    assert install_line("report") in failed.err
    assert "no-such-directory" not in failed.err


CARDS = """
import psgraph as pg
stream = pg.demo_stream(nodes=300, timestamps=1)
guarantee = pg.WEventPrivacy("1", window=2)
with pg.Publisher(pg.TmF(), guarantee, out="releases") as publisher:
    release = publisher.publish(stream[0])
shown = [*stream, release, release.certificate, release.graph, pg.read_releases("releases"),
         pg.plan(guarantee, nodes=300), pg.compare(stream, "releases")]
for each in shown:
    assert each._repr_html_() is None, each
    print(repr(each))
"""


def test_a_notebook_shows_the_plain_text_instead_of_cards(
    bare: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CARDS],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **bare},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Release" in done.stdout


def test_an_export_has_no_report_without_the_extra(
    edges: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    releases, folder = tmp_path / "releases", tmp_path / "folder"
    command = ("publish", edges, "--roster-from-edges", "--epsilon", 1, "--window", 2)
    assert psgraph(*command, "--out", releases, env=bare).code == 0
    done = psgraph("export", releases, "--to", folder, env=bare)
    assert done.code == 0, done.err
    assert not (folder / "report.html").exists()


def test_watching_looks_regularly_without_the_extra(bare: dict[str, str], tmp_path: Path) -> None:
    inbox, out = tmp_path / "inbox", tmp_path / "out"
    inbox.mkdir()
    watching = start(
        *("watch", inbox, "--roster-from-edges", "--epsilon", 1, "--window", 2, "--out", out),
        *("--settle", 0, "--method", "tmf"),
        env=bare,
    )
    for day in ("2024-01-01", "2024-01-02"):
        (inbox / f"{day}.part").write_text("u,v\n1,2\n2,3\n")
        (inbox / f"{day}.part").rename(inbox / f"{day}.csv")
        number = int(day[-1]) - 1
        wait_until((out / f"{number:06d}.json").exists, watching)
    watching.terminate()
    assert watching.wait(PATIENCE) == 0
    watching.communicate()


HERE = "psgraph-dp[report]"


@pytest.mark.parametrize(
    ("recorded", "line"),
    [
        (None, f"pip install '{HERE}'"),
        (
            '{"url": "file:///a%20b", "dir_info": {"editable": true}}',
            "pip install -e '/a b[report]'",
        ),
        ('{"url": "file:///a/x.whl", "archive_info": {}}', "pip install '/a/x.whl[report]'"),
        (
            '{"url": "https://a/b", "vcs_info": {"vcs": "git", "commit_id": "12ab"}}',
            f"pip install '{HERE} @ git+https://a/b@12ab'",
        ),
        ("not JSON", f"pip install '{HERE}'"),
    ],
)
def test_the_install_line_is_for_where_this_installation_came_from(
    recorded: str | None, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = SimpleNamespace(read_text={"direct_url.json": recorded}.get)
    monkeypatch.setattr("psgraph.errors.distribution", lambda _: installed)
    assert install_line("report") == line


def test_experiments_are_listed_but_not_run_without_the_lab_extra(
    bare: dict[str, str], tmp_path: Path
) -> None:
    assert psgraph("experiment", "list", env=bare).code == 0
    failed = psgraph(
        *("experiment", "run", "end-to-end", "--quick", "--out", tmp_path / "results"), env=bare
    )
    assert failed.code == 1
    assert install_line("lab") in failed.err
    assert not (tmp_path / "results").exists()
