"""resume, budget, verify and watch, by running the command."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from psgraph.errors import LedgerError, ReplayConflict, TermsChanged, VerificationFailed
from psgraph.publication.locations import ledger_of
from psgraph.publication.verification import verify

from .commands import (
    PATIENCE,
    psgraph,
    psgraph_here,
    rows_of,
    small_stream,
    start,
    wait_until,
    write_csv,
)

PROMISE = ("--epsilon", "1", "--window", "3", "--method", "psgraph")  # spends evenly
HEAVY = ("numpy", "numba", "pyarrow", "rich", "scipy", "matplotlib", "cryptography", "watchfiles")


def write(path: Path, timestamps: int) -> Path:
    return write_csv(path, "t,u,v", rows_of(small_stream(timestamps=timestamps)))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Path]) -> Path:
    """Three timestamps, published from three.csv; five.csv has two more."""
    base = tmp_path_factory.mktemp("durable")
    write(base / "three.csv", 3)
    write(base / "five.csv", 5)
    done = psgraph_here(
        *("publish", base / "three.csv", "--roster", inputs["roster"], *PROMISE),
        *("--out", base / "out"),
    )
    assert done.code == 0, done.err
    return base


@pytest.fixture
def base(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published, tmp_path / "copy"))


def test_help_imports_nothing_heavy_and_shows_an_example() -> None:
    for name in ("resume", "budget", "verify", "watch"):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "psgraph", name, "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        imported = {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in lines}
        assert imported.isdisjoint(HEAVY)
        assert f"  psgraph {name}" in done.stdout


class TestResume:
    def test_goes_on_and_spends_nothing_twice(self, base: Path, inputs: dict[str, Path]) -> None:
        before = {path.name: path.read_bytes() for path in (base / "out").glob("0*")}
        done = psgraph_here(
            *("resume", ledger_of(base / "out"), base / "five.csv"),
            *("--roster", inputs["roster"], "--json"),
        )
        assert done.code == 0, done.err
        report = json.loads(done.out)
        assert (report["timestamps"], report["already_sealed"], report["new"]) == (5, 3, 2)
        assert (report["epsilon"], report["window"]) == ("1", 3)
        assert Path(report["out"]).resolve() == (base / "out").resolve()
        after = {path.name: path.read_bytes() for path in (base / "out").glob("0*")}
        assert before.items() <= after.items()
        assert verify(base / "out").releases == 5

    def test_takes_the_directory_too_and_says_what_it_did(
        self, base: Path, inputs: dict[str, Path]
    ) -> None:
        done = psgraph_here(
            "resume", base / "out", base / "three.csv", "--roster", inputs["roster"]
        )
        assert done.code == 0, done.err
        assert "Already sealed  3" in done.out
        assert "New             0" in done.out

    def test_a_shorter_input(self, base: Path, inputs: dict[str, Path]) -> None:
        write(base / "two.csv", 2)
        done = psgraph_here("resume", base / "out", base / "two.csv", "--roster", inputs["roster"])
        assert done.code == 0
        assert "INPUT has 2 timestamps and the ledger 3" in done.err

    def test_other_data_are_refused(self, base: Path, inputs: dict[str, Path]) -> None:
        text = (base / "five.csv").read_text().splitlines()
        (base / "five.csv").write_text("\n".join([text[0], *text[2:]]) + "\n")
        done = psgraph_here("resume", base / "out", base / "five.csv", "--roster", inputs["roster"])
        assert isinstance(done.error, ReplayConflict)
        assert "timestamp 0 " in done.err
        assert verify(base / "out").timestamps == 3

    def test_the_roster_rule_stays(self, base: Path) -> None:
        done = psgraph_here("resume", base / "out", base / "five.csv", "--roster-from-edges")
        assert isinstance(done.error, TermsChanged)

    def test_no_ledger(self, tmp_path: Path, inputs: dict[str, Path]) -> None:
        done = psgraph_here(
            "resume", tmp_path / "none", inputs["csv"], "--roster", inputs["roster"]
        )
        assert isinstance(done.error, LedgerError)

    def test_publish_again_is_the_same_as_resume(self, base: Path, inputs: dict[str, Path]) -> None:
        done = psgraph_here(
            *("publish", base / "five.csv", "--roster", inputs["roster"], *PROMISE),
            *("--out", base / "out"),
        )
        assert done.code == 0, done.err
        assert verify(base / "out").timestamps == 5

    def test_publish_under_other_terms_says_what_differs(
        self, base: Path, inputs: dict[str, Path]
    ) -> None:
        done = psgraph_here(
            *("publish", base / "five.csv", "--roster", inputs["roster"], "--epsilon", "2"),
            *("--window", "3", "--out", base / "out"),
        )
        assert done.code == 1
        assert "epsilon              started with 1, now 2" in done.err
        assert "method               started with psgraph, now psgraph-plus" in done.err
        assert "--method psgraph" in done.err
        assert "parameter" not in done.err


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class TestBudget:
    def test_json(self, published: Path) -> None:
        done = psgraph_here("budget", ledger_of(published / "out"), "--json")
        report = json.loads(done.out)
        assert (report["spent"], report["left"], report["next_timestamp"]) == ("1", "0", "1/3")
        assert (report["timestamps"], report["private"]) == (3, True)
        assert [row["spent"] for row in report["current_window"]] == ["1/3"] * 3
        assert [row["timestamp"] for row in report["current_window"]] == [0, 1, 2]

    def test_in_a_pipe_there_is_no_chart(self, published: Path) -> None:
        done = psgraph_here("budget", published / "out")
        assert done.code == 0
        assert "1 in the current window (timestamps 0 to 2)" in done.out
        assert "█" not in done.out

    def test_a_chart_on_a_terminal(self, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from psgraph.cli import run

        screen = Terminal()
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setenv("COLUMNS", "120")
        assert run(["budget", str(published / "out")]) == 0
        assert screen.getvalue().count("█" * 40) == 3

    def test_before_the_first_timestamp(self, tmp_path: Path) -> None:
        (tmp_path / "inbox").mkdir()
        (tmp_path / "nodes.csv").write_text("id\na\nb\n")
        done = psgraph_here(
            *("watch", tmp_path / "inbox", "--roster", tmp_path / "nodes.csv", *PROMISE),
            *("--out", tmp_path / "out", "--once"),
        )
        assert done.code == 0, done.err
        done = psgraph_here("budget", tmp_path / "out")
        assert done.code == 0, done.err
        assert "before the first timestamp" in done.out

    def test_wrong_paths(self, tmp_path: Path) -> None:
        for path in (tmp_path / "none", tmp_path, "x" * 300):
            done = psgraph_here("budget", path)
            assert done.code == 1
            assert "internal" not in done.err


class TestVerify:
    def test_in_order(self, published: Path) -> None:
        for path in (published / "out", ledger_of(published / "out")):
            assert psgraph_here("verify", path).code == 0
            report = json.loads(psgraph_here("verify", path, "--json").out)
            assert (report["ok"], report["releases"], report["ledger"]) == (True, 3, True)

    def test_a_changed_file(self, base: Path) -> None:
        path = base / "out" / "000001.parquet"
        path.write_bytes(path.read_bytes() + b"\n")
        failed = psgraph_here("verify", base / "out")
        assert isinstance(failed.error, VerificationFailed)
        assert "000001.parquet" in failed.err
        failed = psgraph_here("verify", base / "out", "--json")
        assert failed.code == 1
        assert json.loads(failed.out)["ok"] is False
        assert len(json.loads(failed.out)["problems"]) == 1

    def test_nothing_there(self, tmp_path: Path) -> None:
        assert psgraph_here("verify", tmp_path / "none").code == 1
        assert psgraph_here("verify", tmp_path).code == 1


class TestWatch:
    @pytest.fixture
    def options(self, tmp_path: Path) -> list[object]:
        (tmp_path / "inbox").mkdir()
        (tmp_path / "nodes.csv").write_text("id\na\nb\nc\nd\n")
        return [
            *("watch", tmp_path / "inbox", "--roster", tmp_path / "nodes.csv", *PROMISE),
            *("--out", tmp_path / "out", "--settle", "0.2"),
        ]

    def arrive(self, base: Path, name: str, edges: str = "a b\nb c\n") -> None:
        (base / name).write_text(edges)
        (base / name).rename(base / "inbox" / name)

    def test_once(self, tmp_path: Path, options: list[object]) -> None:
        self.arrive(tmp_path, "2024-01-02.txt")
        self.arrive(tmp_path, "2024-01-01.txt")
        done = psgraph_here(*options, "--once", "--json")
        assert done.code == 0, done.err
        lines = [json.loads(line) for line in done.out.splitlines()]
        assert [(line["file"], line["timestamp"], line["new"]) for line in lines] == [
            ("2024-01-01.txt", 0, True),
            ("2024-01-02.txt", 1, True),
        ]
        assert "Published 2 new timestamps" in done.err

    @pytest.mark.parametrize(
        ("more", "edges", "says"),
        [
            ("2024-01-00.txt", "a b\n", "sorts before '2024-01-01'"),
            ("2024-01-01.txt", "a d\n", "was changed after it was published"),
            ("2024-01-02.txt", "a stranger\n", "outside the roster"),
            ("2024-01-02.txt", "a\n", "has one column"),
        ],
    )
    def test_stops_with_an_error(
        self, tmp_path: Path, options: list[object], more: str, edges: str, says: str
    ) -> None:
        self.arrive(tmp_path, "2024-01-01.txt")
        assert psgraph_here(*options, "--once").code == 0
        self.arrive(tmp_path, more, edges)
        done = psgraph_here(*options, "--once")
        assert done.code == 1
        assert says in done.err
        assert "stranger" not in done.err
        assert verify(tmp_path / "out").timestamps == 1

    def test_wrong_usage(self, tmp_path: Path, options: list[object]) -> None:
        missing = [tmp_path / "none" if word == tmp_path / "inbox" else word for word in options]
        assert psgraph_here(*missing, "--once").code == 1
        assert psgraph_here(*options, "--roster-from-edges", "--once").code == 2
        assert psgraph_here(*options, "--settle", "-1", "--once").code == 2
        assert psgraph_here("watch", tmp_path / "inbox", "--once").code == 2
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_publishes_as_files_arrive_and_stops_cleanly_on_a_signal(
        self, tmp_path: Path, options: list[object], number: signal.Signals
    ) -> None:
        self.arrive(tmp_path, "1.txt")
        process = start(*options)
        try:
            wait_until((tmp_path / "out" / "000000.json").exists, process)
            self.arrive(tmp_path, "2.txt")
            wait_until((tmp_path / "out" / "000001.json").exists, process)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        assert process.returncode == 0, err
        named = [line.split(" ")[1].rstrip(":") for line in out.splitlines()]
        assert named == ["1.txt", "2.txt"]
        assert "Published 2 new timestamps" in err
        result = verify(tmp_path / "out")
        assert (result.timestamps, result.pending) == (2, 0)
        self.arrive(tmp_path, "3.txt")
        again = psgraph(*options, "--once")
        assert again.code == 0, again.err
        assert again.out.partition(" ")[2].startswith("3.txt: timestamp 2")
        assert "2 files had been published before" in again.err
