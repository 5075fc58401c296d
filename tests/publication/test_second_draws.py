"""One timestamp, one draw: copies of a ledger and threads must not lead to a second one."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from psgraph.errors import (
    BudgetExceeded,
    InvalidArgument,
    LedgerError,
    MeasuringStopped,
    OutputError,
    ReplayConflict,
    VerificationFailed,
)
from psgraph.graph import Roster, Snapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.publication.certificate import Certificate
from psgraph.publication.ledger import Ledger
from psgraph.publication.ledger.attempts import MOST_ATTEMPTS
from psgraph.publication.ledger.database import Database
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.records import encode
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.verification import verify
from tests.crash.scenario import GUARANTEE, ROSTER, publish, snapshot
from tests.refusals import refused


class TestALedgerAndItsCopy:
    """Both publish to one directory."""

    @pytest.fixture
    def out(self, tmp_path: Path) -> Path:
        return self.begun(tmp_path / "out")

    def begun(self, out: Path) -> Path:
        """Two timestamps, and a copy of the ledger beside the directory."""
        publish(out, 2)
        shutil.copy(ledger_of(out), out.parent / "copy.ledger")
        return out

    def copy_of(self, out: Path) -> Path:
        return ledger_of(out).with_name("copy.sqlite")

    def open_copy(self, out: Path) -> Publisher:
        """The copy states its own place of the releases, as the original does."""
        moved = self.copy_of(out)
        shutil.copy(out.parent / "copy.ledger", moved)
        return Publisher(PSGraph(), GUARANTEE, out=out, ledger=moved)

    def test_the_copy_measures_nothing_that_is_already_there(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with self.open_copy(out) as copy:
            publish(out, 3)
            monkeypatch.setattr(PSGraph, "measure", lambda *_: pytest.fail("measured"))
            with refused(VerificationFailed, "unsealed_file"):
                copy.publish(snapshot(2), timestamp=2)
            assert copy.spending.timestamps == 2

    def sealed_twice(self, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Both seal timestamp 2, and the original shows its draw first.

        With so few nodes a draw may come out empty or complete, and then equal to the other one,
        and two certificates may agree in all that noise decides; such a pair is made again.
        """
        sealed: list[Certificate] = []

        def full(_: ReleaseDirectory, *content: Any) -> None:
            sealed.append(content[-1])
            _full()

        while True:
            with self.open_copy(out) as copy:
                with monkeypatch.context() as patch:
                    patch.setattr(ReleaseDirectory, "write", full)
                    with pytest.raises(OutputError):
                        copy.publish(snapshot(2), timestamp=2)
                publish(out, 3)
            shown = ReleaseDirectory(out).certificate(2)
            pairs = len(ROSTER) * (len(ROSTER) - 1) / 2
            if 0 < shown.edges < pairs and sealed[-1].is_another_draw(shown):
                return
            for directory in (out, ledger_of(out).parent):
                shutil.rmtree(directory)
            self.begun(out)

    def test_another_draw_is_never_to_be_removed(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.sealed_twice(out, monkeypatch)
        before = {path.name: path.read_bytes() for path in out.glob("0*")}
        with refused(VerificationFailed, "other_draw"):
            Publisher(PSGraph(), GUARANTEE, out=out, ledger=self.copy_of(out))
        assert {path.name: path.read_bytes() for path in out.glob("0*")} == before

    def test_what_can_not_be_told_apart_is_removed_under_a_condition_only(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without the certificate nobody can tell whose draw a graph is."""
        self.sealed_twice(out, monkeypatch)
        (out / "000002.json").unlink()
        with refused(VerificationFailed, "other_file"):
            Publisher(PSGraph(), GUARANTEE, out=out, ledger=self.copy_of(out))

    def test_the_original_continues(self, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sealed_twice(out, monkeypatch)
        publish(out, 4)
        assert verify(out).releases == 4


class Counted(PSGraph):
    """Keeps every measurement it draws."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Any] = []

    def parameters(self) -> Any:
        return PSGraph().parameters()

    def measure(self, *arguments: Any) -> Any:
        self.drawn.append(super().measure(*arguments))
        return self.drawn[-1]


def _disk_full(_: Database) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    raise error


def _interrupted_before(_: Database) -> None:
    raise KeyboardInterrupt


def _interrupted_after(database: Database) -> None:
    _commit(database)
    raise KeyboardInterrupt


_commit = Database._commit


class TestFailedSeals:
    """What was drawn and could not be sealed is sealed later. Nothing is drawn instead."""

    @pytest.fixture
    def method(self) -> Counted:
        return Counted()

    @pytest.mark.parametrize(
        ("fault", "failures"),
        [(_disk_full, 5), (_interrupted_before, 5), (_interrupted_after, 2)],  # seal and release
    )
    def test_the_first_draw_is_sealed_in_the_end(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        method: Counted,
        fault: Any,
        failures: int,
    ) -> None:
        out = tmp_path / "out"
        with Publisher(method, GUARANTEE, out=out) as publisher:
            publisher.publish(snapshot(0))
            with monkeypatch.context() as patch:
                patch.setattr(Database, "_commit", fault)
                for _ in range(failures):
                    with pytest.raises((LedgerError, KeyboardInterrupt)):
                        publisher.publish(snapshot(1), timestamp=1)
            release = publisher.publish(snapshot(1), timestamp=1)
            assert release.timestamp == 1
            assert len(method.drawn) == 2
            assert not publisher.unsealed
            publisher.publish(snapshot(2))
        with Ledger(ledger_of(out), writing=False) as ledger:
            sealed = ledger.measurement_of(1, method.records)
        assert encode(sealed) == encode(method.drawn[1])
        assert verify(out).releases == 3

    def test_other_data_are_refused_and_a_grown_roster_is_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: Counted
    ) -> None:
        with Publisher(method, GUARANTEE, out=tmp_path / "out") as publisher:
            with monkeypatch.context() as patch:
                patch.setattr(Database, "_commit", _disk_full)
                with refused(LedgerError, "sqlite_full"):
                    publisher.publish(snapshot(0))
            other = Snapshot(ROSTER, [0], [1], time="day 0")
            with refused(ReplayConflict, "measured"):
                publisher.publish(other)
            first = snapshot(0)
            grown = Snapshot(
                Roster([*ROSTER.ids.tolist(), "zoe"]), first.u, first.v, time=first.time
            )
            assert len(publisher.publish(grown).graph.roster) == len(ROSTER)
        assert len(method.drawn) == 1

    def test_sealing_reads_no_edges(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: Counted
    ) -> None:
        """A file of edges that is lost after measuring can't make the seal fail."""
        measure = Counted.measure

        def then_lost(self: Counted, *arguments: Any) -> Any:
            result = measure(self, *arguments)
            monkeypatch.setattr(Ledger, "fingerprint", lambda *_: pytest.fail("edges were read"))
            return result

        monkeypatch.setattr(Counted, "measure", then_lost)
        with Publisher(method, GUARANTEE, out=tmp_path / "out") as publisher:
            publisher.publish(snapshot(0))
        assert len(method.drawn) == 1


class TestAttempts:
    """Draws that are lost are limited, by a count that outlives the process."""

    def fail(self, out: Path, *, seed: int | None = None, measure_again: bool = False) -> int:
        """Fail right after measuring, as a process that runs out of memory; how often it drew."""

        class Failing(Counted):
            def measure(self, *arguments: Any) -> Any:
                super().measure(*arguments)
                raise MemoryError

        method = Failing()
        with (
            Publisher(
                method, GUARANTEE, out=out, seed=seed, measure_again=measure_again
            ) as publisher,
            pytest.raises(MemoryError),
        ):
            publisher.publish(snapshot(0))
        return len(method.drawn)

    def test_a_person_has_to_allow_more_than_three(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        assert [self.fail(out) for _ in range(MOST_ATTEMPTS)] == [1] * 3
        for _ in range(2):
            with pytest.raises(MeasuringStopped):
                publish(out, 1)
        assert self.fail(out, measure_again=True) == 1
        with refused(InvalidArgument, "not_stopped"):
            self.fail(out, measure_again=True)
        publish(out, 2)
        lines = ledger_of(out).with_name("ledger.sqlite.attempts").read_text().split("\n")
        told = [" ".join(line.split(" ")[1:3]) for line in lines if line]
        assert told == ["0 measuring"] * 3 + ["0 again"] + ["0 measuring"] * 2 + ["1 measuring"]

    def test_what_is_sealed_is_still_handed_back(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        publish(out, 1)
        with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
            for _ in range(MOST_ATTEMPTS):
                publisher._history.begin_attempt(1)
            assert publisher.publish(snapshot(0)).timestamp == 0
            with pytest.raises(MeasuringStopped):
                publisher.publish(snapshot(1))

    def test_refused_budgets_and_seeded_runs_do_not_count(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(PSGraph, "request", lambda *_: Fraction(2))
            for _ in range(MOST_ATTEMPTS + 1):
                with pytest.raises(BudgetExceeded):
                    publish(tmp_path / "refused", 1)
        publish(tmp_path / "refused", 1)
        for _ in range(MOST_ATTEMPTS + 1):
            assert self.fail(tmp_path / "seeded", seed=1) == 1

    def test_a_new_ledger_of_the_same_name_starts_to_count_anew(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        for _ in range(MOST_ATTEMPTS):
            self.fail(out)
        ledger_of(out).unlink()
        publish(out, 1)

    def test_nothing_is_measured_if_it_can_not_be_counted(self, tmp_path: Path) -> None:
        out, method = tmp_path / "out", Counted()
        with Publisher(method, GUARANTEE, out=out) as publisher:
            ledger_of(out).with_name("ledger.sqlite.attempts").mkdir()
            with refused(LedgerError, "attempts"):
                publisher.publish(snapshot(0))
        assert not method.drawn

    def test_half_a_line_is_no_line(self, tmp_path: Path) -> None:
        """A power cut may leave anything, and does not depend on the data."""
        out = tmp_path / "out"
        self.fail(out)
        with ledger_of(out).with_name("ledger.sqlite.attempts").open("ab") as file:
            file.write(b"\0\0\xff half")
        assert [self.fail(out) for _ in range(2)] == [1, 1]
        with pytest.raises(MeasuringStopped):
            publish(out, 1)


def _full(*_: object) -> None:
    raise OutputError("no space left")


class TestThreads:
    def test_threads_that_share_a_publisher_publish_one_after_the_other(
        self, tmp_path: Path
    ) -> None:
        inside = threading.Semaphore(1)

        class Watched(PSGraph):
            def measure(self, *arguments: object) -> object:  # type: ignore[override]
                assert inside.acquire(blocking=False), "two threads measure at the same time"
                try:
                    return super().measure(*arguments)  # type: ignore[arg-type]
                finally:
                    inside.release()

        out = tmp_path / "out"
        same = Snapshot(snapshot(0).roster, [0, 1, 2], [1, 2, 3])
        with (
            Publisher(Watched(), GUARANTEE, out=out) as publisher,
            ThreadPoolExecutor(8) as pool,
        ):
            releases = list(pool.map(lambda _: publisher.publish(same), range(40)))
        assert sorted(release.timestamp for release in releases) == list(range(40))
        assert verify(out).timestamps == 40

    def test_no_two_threads_get_the_same_noise(self) -> None:
        empty = Snapshot(snapshot(0).roster, [], [])
        with Publisher(PSGraph(), GUARANTEE) as publisher, ThreadPoolExecutor(8) as pool:
            releases = list(pool.map(lambda _: publisher.publish(empty), range(64)))
        noisy = [release.certificate.summary["noisy_edges"] for release in releases]
        # Scales of the noise are far above 1: equal values in a row of 64 are no accident.
        assert len(set(noisy)) > 20

    def test_closing_waits_for_the_timestamp_in_progress(self, tmp_path: Path) -> None:
        started, proceed = threading.Event(), threading.Event()

        class Slow(PSGraph):
            def measure(self, *arguments: object) -> object:  # type: ignore[override]
                started.set()
                assert proceed.wait(10)
                return super().measure(*arguments)  # type: ignore[arg-type]

        out = tmp_path / "out"
        publisher = Publisher(Slow(), GUARANTEE, out=out)
        with ThreadPoolExecutor(2) as pool:
            publishing = pool.submit(publisher.publish, snapshot(0))
            assert started.wait(10)
            closing = pool.submit(publisher.close)
            assert not closing.done()
            proceed.set()
            closing.result(10)
            assert publishing.result(10).timestamp == 0
        assert verify(out).releases == 1
