"""One timestamp, one draw: copies of a ledger and threads must not lead to a second one."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from psgraph.errors import OutputError, VerificationFailed
from psgraph.graph import Snapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.publication.certificate import Certificate
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
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
