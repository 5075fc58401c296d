"""Without the optional libraries: everything else works, and the install line is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import before_others, psgraph, small_stream, write_csv

OPTIONAL = ("matplotlib", "PIL", "watchfiles")


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
    assert "pip install 'psgraph-dp[report]'" in shown.out
    assert not list((tmp_path / "demo").glob("picture.*"))


def test_a_report_is_refused_with_the_install_line_before_anything_is_read(
    bare: dict[str, str], tmp_path: Path
) -> None:
    nowhere = tmp_path / "no-such-directory"
    failed = psgraph("verify", nowhere, "--report", tmp_path / "report.html", env=bare)
    assert failed.code == 1
    assert "pip install 'psgraph-dp[report]'" in failed.err
    assert "no-such-directory" not in failed.err


def test_watching_is_refused_with_the_install_line_before_a_ledger_is_created(
    bare: dict[str, str], tmp_path: Path
) -> None:
    inbox, out = tmp_path / "inbox", tmp_path / "out"
    inbox.mkdir()
    failed = psgraph(
        *("watch", inbox, "--roster-from-edges", "--epsilon", 1, "--window", 2, "--out", out),
        "--once",
        env=bare,
    )
    assert failed.code == 1
    assert "pip install 'psgraph-dp[watch]'" in failed.err
    assert not out.exists()


def test_experiments_are_listed_but_not_run_without_the_lab_extra(
    bare: dict[str, str], tmp_path: Path
) -> None:
    assert psgraph("experiment", "list", env=bare).code == 0
    failed = psgraph(
        *("experiment", "run", "end-to-end", "--quick", "--out", tmp_path / "results"), env=bare
    )
    assert failed.code == 1
    assert "pip install 'psgraph-dp[lab]'" in failed.err
    assert not (tmp_path / "results").exists()
