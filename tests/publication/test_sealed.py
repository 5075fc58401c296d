"""A sealed timestamp stays as it is: handed back, never drawn again, never under other terms."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from psgraph.errors import (
    BudgetExceeded,
    DataError,
    InvalidArgument,
    LedgerBusy,
    LedgerError,
    MethodError,
    OutOfOrder,
    OutputError,
    ReplayConflict,
    TermsChanged,
    VerificationFailed,
)
from psgraph.graph import Roster, Snapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.methods.registry import find_method, method_names
from psgraph.methods.tmf import TmF
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_of
from psgraph.publication.measurement import Measured
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.verification import verify
from tests.crash.scenario import GUARANTEE, ROSTER, publish, snapshot
from tests.refusals import refused


@dataclass(frozen=True)
class Empty:
    """A record of nothing."""


def other(timestamp: int) -> Snapshot:
    """Other data than `snapshot` has, at the same time."""
    return Snapshot(ROSTER, [0, 1], [2, 3], time=f"day {timestamp}")


def begin(out: Path, **options: object) -> Publisher:
    return Publisher(PSGraph(), GUARANTEE, out=out, **options)  # type: ignore[arg-type]


def contents(out: Path) -> dict[str, str]:
    files = [*out.rglob("*.parquet"), *out.glob("*.json")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def rows(out: Path) -> list[bytes]:
    with Ledger(ledger_of(out), writing=False) as ledger:
        query = "SELECT digest FROM seals ORDER BY timestamp"
        return [digest for (digest,) in ledger._database.rows(query)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    publish(tmp_path / "out", 4)
    return tmp_path / "out"


class TestEarlierReleases:
    def test_every_prefix_again_gives_the_same_bytes(self, out: Path) -> None:
        before, sealed = contents(out), rows(out)
        for length in range(1, 5):
            with Publisher.resume(ledger_of(out), replay=True) as publisher:
                for timestamp in range(length):
                    release = publisher.publish(snapshot(timestamp))
                    assert release.timestamp == timestamp
                assert publisher.spending.timestamps == 4
            assert (contents(out), rows(out)) == (before, sealed)

    @pytest.mark.parametrize("lost", ["*.parquet", "*.json", "0*", "nodes/*"])
    def test_lost_files_are_made_again_to_the_byte(self, out: Path, lost: str) -> None:
        before, sealed = contents(out), rows(out)
        for path in out.glob(lost):
            path.unlink()
        publish(out, 4)
        assert (contents(out), rows(out)) == (before, sealed)

    @pytest.mark.parametrize("name", method_names())
    def test_every_method_makes_lost_files_again(self, tmp_path: Path, name: str) -> None:
        out = tmp_path / "out"
        for timestamps in (2, 4):
            with Publisher(find_method(name)(), GUARANTEE, out=out, not_private=True) as publisher:
                for timestamp in range(timestamps):
                    publisher.publish(snapshot(timestamp))
        before = contents(out)
        for path in out.glob("0*"):
            path.unlink()
        with Publisher.resume(ledger_of(out), replay=True) as publisher:
            for timestamp in range(4):
                publisher.publish(snapshot(timestamp))
        assert contents(out) == before
        assert verify(out).releases == 4

    def test_in_any_order(self, out: Path) -> None:
        before = contents(out)
        for path in out.glob("0*"):
            path.unlink()
        with begin(out) as publisher:
            for timestamp in (3, 0, 2, 2, 1):
                publisher.publish(snapshot(timestamp), timestamp=timestamp)
        assert contents(out) == before

    def test_resumed_stream_goes_on_like_one_that_never_stopped(self, tmp_path: Path) -> None:
        with begin(tmp_path / "whole", seed=5) as publisher:
            for timestamp in range(5):
                publisher.publish(snapshot(timestamp))
        for timestamp in range(5):
            with begin(tmp_path / "parts", seed=5) as publisher:
                publisher.publish(snapshot(timestamp), timestamp=timestamp)
        assert contents(tmp_path / "whole") == contents(tmp_path / "parts")

    def test_other_data_are_refused(self, out: Path) -> None:
        before = contents(out)
        for timestamp in range(4):
            with begin(out) as publisher, pytest.raises(ReplayConflict):
                publisher.publish(other(timestamp), timestamp=timestamp)
        assert contents(out) == before

    @pytest.mark.parametrize(
        "changed",
        [
            Snapshot(ROSTER, snapshot(0).u[1:], snapshot(0).v[1:], time="day 0"),
            Snapshot(ROSTER, snapshot(0).u, snapshot(0).v, time="day 00"),
            Snapshot(ROSTER, snapshot(0).u, snapshot(0).v),
            Snapshot(Roster([*ROSTER.ids, "one more"]), [*snapshot(0).u, 0], [*snapshot(0).v, 12]),
        ],
        ids=["an edge less", "another time", "no time", "an edge of a new node"],
    )
    def test_any_difference_is_other_data(self, out: Path, changed: Snapshot) -> None:
        with begin(out) as publisher, pytest.raises(ReplayConflict):
            publisher.publish(changed, timestamp=0)

    def test_gaps_and_places_that_are_none(self, out: Path) -> None:
        with begin(out) as publisher:
            for place in (5, 99, -1):
                with pytest.raises(OutOfOrder):
                    publisher.publish(snapshot(4), timestamp=place)
            for place in ("4", 4.0, None, []):
                if place is not None:
                    with pytest.raises(InvalidArgument):
                        publisher.publish(snapshot(4), timestamp=place)  # type: ignore[arg-type]
            assert publisher.spending.timestamps == 4

    def test_spends_nothing(self, out: Path) -> None:
        with begin(out) as publisher:
            before = publisher.spending
            for timestamp in range(4):
                publisher.publish(snapshot(timestamp))
            assert publisher.spending == before


class TestTerms:
    @pytest.mark.parametrize(
        ("change", "shown"),
        [
            ({"guarantee": WEventPrivacy("2", window=3)}, "epsilon"),
            ({"guarantee": WEventPrivacy("1", window=4)}, "window"),
            ({"method": TmF()}, "method"),
            ({"method": PSGraph(threshold=2)}, "parameter threshold"),
            ({"method": PSGraph(fusion=False)}, "parameter fusion"),
            ({"seed": 1}, "none (private), now 1 (for research)"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_a_change_is_refused_with_what_differs(
        self, out: Path, change: dict[str, object], shown: str
    ) -> None:
        before = contents(out)
        terms: dict[str, object] = {"method": PSGraph(), "guarantee": GUARANTEE, **change}
        with pytest.raises(TermsChanged) as refusal:
            Publisher(out=out, **terms)  # type: ignore[arg-type]
        assert shown in str(refusal.value)
        assert "psgraph resume" in str(refusal.value)
        assert contents(out) == before

    def test_a_distribution_that_changed_is_refused(self, out: Path) -> None:
        class Newer(PSGraph):
            distribution_version = 2

        with pytest.raises(TermsChanged) as refusal:
            Publisher(Newer(), GUARANTEE, out=out)
        assert refusal.value.changed == {"distribution_version": (1, 2)}

    def test_the_sampler_stays_the_one_it_was_begun_with(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        begin(out, noise="opendp").close()  # even before the first timestamp
        with pytest.raises(TermsChanged) as refusal:
            begin(out)
        assert refusal.value.changed == {"noise": ("opendp", "exact")}
        for timestamp in range(2):
            with Publisher.resume(ledger_of(out)) as publisher:
                certificate = publisher.publish(snapshot(timestamp)).certificate
                assert (publisher.noise, certificate.noise) == ("opendp", "opendp")

    def test_a_seeded_ledger_takes_no_private_releases(self, tmp_path: Path) -> None:
        with begin(tmp_path / "out", seed=1) as publisher:
            publisher.publish(snapshot(0))
        with pytest.raises(TermsChanged) as refusal:
            begin(tmp_path / "out")
        assert refusal.value.changed.keys() == {"seed"}

    def test_a_parameter_called_window_does_not_hide_the_window(self, tmp_path: Path) -> None:
        class Named(PSGraph):
            def parameters(self) -> dict[str, str | int | bool]:
                return {"window": 7, "epsilon": "7"}

        Publisher(Named(), GUARANTEE, out=tmp_path / "out").close()
        with pytest.raises(TermsChanged) as refusal:
            Publisher(Named(), WEventPrivacy("1", window=4), out=tmp_path / "out")
        assert refusal.value.changed == {"window": (3, 4)}

    @pytest.mark.parametrize("from_edges", [False, True])
    def test_the_way_to_obtain_the_roster_stays(self, tmp_path: Path, from_edges: bool) -> None:
        edges = [("a", "b"), ("b", "c"), ("c", "a")]
        given = Snapshot.from_edges(edges, roster=Roster("abc"))
        read = Snapshot.from_edges(edges, roster_from_edges=True)
        first, second = (read, given) if from_edges else (given, read)
        with begin(tmp_path / "out") as publisher:
            publisher.publish(first)
            for timestamp in (None, 0):
                with pytest.raises(TermsChanged) as refusal:
                    publisher.publish(second, timestamp=timestamp)
                assert refusal.value.changed.keys() == {"roster"}
        with begin(tmp_path / "out") as publisher:
            with pytest.raises(TermsChanged) as refusal:
                publisher.publish(second, timestamp=1)
            assert refusal.value.changed.keys() == {"roster"}
        with Publisher.resume(ledger_of(tmp_path / "out")) as publisher:
            publisher.publish(first)

    def test_the_source_of_the_times_stays(self, tmp_path: Path) -> None:
        """Days in a stream of months would make a window of six months six days long."""
        with begin(tmp_path / "out") as publisher:
            publisher.publish(snapshot(0), times="months")
            with pytest.raises(TermsChanged) as refusal:
                publisher.publish(snapshot(1), times="days")
            assert refusal.value.changed == {"times": ("months", "days")}
            publisher.publish(snapshot(1))  # says nothing
        with begin(tmp_path / "out") as publisher, pytest.raises(TermsChanged):
            publisher.publish(snapshot(2), timestamp=2, times="days")
        with Publisher.resume(ledger_of(tmp_path / "out")) as publisher:
            publisher.publish(snapshot(2), times="months")

    def test_a_method_without_the_stored_parameters(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("psgraph.publication.history.find_method", lambda _: TmF)
        with refused(TermsChanged, "unknown_parameters"):
            Publisher.resume(ledger_of(out))

    def test_no_window_is_overspent_by_a_method_that_asks_for_more(self, out: Path) -> None:
        with begin(out) as publisher:
            ledger = publisher._history
            measured = Measured(
                timestamp=4,
                snapshot=snapshot(4),
                fingerprint=b"",
                spent=Fraction(1, 2),
                charges=(),
                seed=0,
                measurement=Empty(),
                state=Empty(),
                version="0",
                noise="exact",
                times=None,
            )
            with pytest.raises(BudgetExceeded):
                ledger.seal(measured)
            assert ledger.sealed == 4


class Dated(list[Snapshot]):
    """A stream that states where its times come from."""

    times = "one per day, declared"


class TestTimes:
    def test_certificates_repeat_what_the_stream_states(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        with begin(out) as publisher:
            (release,) = publisher.publish_all(Dated([snapshot(0)]))
            assert publisher.publish(snapshot(1)).certificate.times is None
        assert release.certificate.times == "one per day, declared"
        with Ledger(ledger_of(out), writing=False) as ledger:
            assert str(ledger.seal_of(0).times) == "one per day, declared"
        before = contents(out)
        for path in out.glob("0*"):
            path.unlink()
        publish(out, 2)  # made again from what was sealed, whatever is stated now
        assert contents(out) == before


class TestUnfinished:
    """A run that was cut off, or could not write, between the seal and the release."""

    @pytest.fixture
    def cut_off(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        def make(step: str) -> None:
            def broken(*_: object) -> None:
                raise OutputError("no space left")

            where = ReleaseDirectory if step == "write" else Ledger
            monkeypatch.setattr(where, step, broken)

        return make

    @pytest.mark.parametrize("step", ["write", "record_release"])
    @pytest.mark.parametrize("timestamp", [0, 1, 4])
    def test_is_finished_on_opening_without_the_snapshot(
        self,
        tmp_path: Path,
        cut_off: Callable[[str], None],
        monkeypatch: pytest.MonkeyPatch,
        step: str,
        timestamp: int,
    ) -> None:
        out = tmp_path / "out"
        publish(out, timestamp)
        cut_off(step)
        with pytest.raises(OutputError):
            publish(out, timestamp + 1)
        monkeypatch.undo()
        assert verify(out).pending == 1
        shown = contents(out)
        begin(out).close()
        result = verify(out)
        assert (result.timestamps, result.releases, result.pending) == (
            timestamp + 1,
            timestamp + 1,
            0,
        )
        assert shown.items() <= contents(out).items()
        with begin(out) as publisher:
            publisher.publish(snapshot(timestamp), timestamp=timestamp)
            publisher.publish(snapshot(timestamp + 1))
        verify(out)

    @pytest.mark.parametrize("step", ["write", "record_release"])
    def test_the_same_process_may_try_again(
        self,
        tmp_path: Path,
        cut_off: Callable[[str], None],
        monkeypatch: pytest.MonkeyPatch,
        step: str,
    ) -> None:
        out = tmp_path / "out"
        with begin(out) as publisher:
            publisher.publish(snapshot(0))
            cut_off(step)
            for _ in range(3):
                with pytest.raises(OutputError):
                    publisher.publish(snapshot(1))
            monkeypatch.undo()
            release = publisher.publish(snapshot(1))
            assert release.timestamp == 1
            assert publisher.publish(snapshot(2)).timestamp == 2
        assert verify(out).timestamps == 3

    def test_a_database_that_may_not_grow(self, out: Path) -> None:
        before, sealed = contents(out), rows(out)
        with begin(out) as publisher:
            ledger = publisher._history
            assert isinstance(ledger, Ledger)
            database = ledger._database
            (pages,) = database.row("PRAGMA page_count") or ()
            database.row(f"PRAGMA max_page_count = {pages}")

            def go_on() -> None:
                for timestamp in range(4, 40):
                    publisher.publish(snapshot(timestamp), timestamp=timestamp)

            for _ in range(3):
                with refused(LedgerError, "sqlite_full"):
                    go_on()
            database.row("PRAGMA max_page_count = 1000000")
            go_on()
        assert verify(out).timestamps == 40
        assert before.items() <= contents(out).items()
        assert rows(out)[:4] == sealed

    def test_nothing_is_shown_by_a_method_that_changes_the_roster(self, tmp_path: Path) -> None:
        class Careless(PSGraph):
            def synthesise(self, state, previous, rng, engine):  # type: ignore[no-untyped-def]
                from psgraph.graph import SyntheticGraph

                return SyntheticGraph(Roster.range(3), [0], [1])

        with (
            Publisher(Careless(), GUARANTEE, out=tmp_path / "out") as publisher,
            refused(MethodError, "roster"),
        ):
            publisher.publish(snapshot(0))
        assert not contents(tmp_path / "out")


class TestFiles:
    def test_the_ledger_and_its_side_files_are_for_the_owner_alone(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        with begin(out) as publisher:
            publisher.publish(snapshot(0))
            side_files = sorted(path.name for path in ledger_of(out).parent.glob("*"))
            assert side_files == [
                "ledger.sqlite",
                "ledger.sqlite-shm",
                "ledger.sqlite-wal",
                "ledger.sqlite.attempts",
                "ledger.sqlite.lock",
            ]
            for path in ledger_of(out).parent.glob("*"):
                assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_a_copy_that_others_could_read_is_closed_to_them(self, out: Path) -> None:
        ledger_of(out).chmod(0o644)
        begin(out).close()
        assert stat.S_IMODE(ledger_of(out).stat().st_mode) == 0o600

    def test_one_writer(self, out: Path, tmp_path: Path) -> None:
        link = tmp_path / "link.sqlite"
        link.symlink_to(ledger_of(out))
        with begin(out):
            with pytest.raises(LedgerBusy):
                begin(out)
            with pytest.raises(LedgerBusy):
                Ledger(link)
            verify(out)  # reading goes on

    def test_closed_is_closed(self, out: Path) -> None:
        publisher = begin(out)
        publisher.close()
        with refused(LedgerError, "closed"):
            publisher.publish(snapshot(4), timestamp=4)

    def test_an_older_copy_beside_newer_releases_is_refused(self, out: Path) -> None:
        ledger = ledger_of(out)
        backup = ledger.read_bytes()
        publish(out, 6)
        ledger.write_bytes(backup)
        with refused(LedgerError, "older_copy"):
            begin(out)
        with pytest.raises(VerificationFailed) as failed:
            verify(out)
        assert len(failed.value.problems) == 1

    def test_a_lost_ledger_is_not_begun_again(self, out: Path) -> None:
        ledger_of(out).unlink()
        with refused(OutputError, "ledger_missing"):
            begin(out)
        ledger_of(out).touch()
        with pytest.raises(LedgerError):
            begin(out)

    def test_a_file_that_is_in_the_way_is_not_replaced(self, out: Path) -> None:
        with begin(out) as publisher:
            foreign = out / "000004.parquet"
            foreign.write_bytes(b"someone else's")
            with refused(VerificationFailed, "unsealed_file"):
                publisher.publish(snapshot(4), timestamp=4)
            assert foreign.read_bytes() == b"someone else's"
            foreign.unlink()
            publisher.publish(snapshot(4), timestamp=4)
        assert verify(out).timestamps == 5

    @pytest.mark.parametrize("name", ["000002.parquet", "000002.json"])
    @pytest.mark.parametrize("keep", [0, 1, 100, -1])
    def test_a_torn_release_is_not_handed_back(self, out: Path, name: str, keep: int) -> None:
        path = out / name
        path.write_bytes(path.read_bytes()[:keep])
        with begin(out) as publisher, refused(VerificationFailed, "changed"):
            publisher.publish(snapshot(2), timestamp=2)
        path.unlink()
        publish(out, 4)
        assert verify(out).releases == 4

    def test_reading_leaves_nothing_behind(self, out: Path) -> None:
        before = {path.name for path in out.iterdir()}
        verify(out)
        Ledger(ledger_of(out), writing=False).close()
        assert {path.name for path in out.iterdir()} == before

    def test_who_reads_can_not_write(self, out: Path) -> None:
        with (
            Ledger(ledger_of(out), writing=False) as ledger,
            refused(LedgerError, "sqlite_readonly"),
        ):
            ledger._database.row("DELETE FROM seals")

    def test_ledger_and_releases_may_move_together(self, out: Path, tmp_path: Path) -> None:
        ledger_of(out).parent.rename(tmp_path / "elsewhere.ledger")
        moved = out.rename(tmp_path / "elsewhere")
        with Publisher.resume(ledger_of(moved)) as publisher:
            publisher.publish(snapshot(4))
        assert verify(moved).releases == verify(ledger_of(moved)).releases == 5

    def test_a_time_that_is_no_text(self, out: Path) -> None:
        strange = Snapshot(ROSTER, [], [], time="day \udcff")
        with begin(out) as publisher, refused(DataError, "time_text"):
            publisher.publish(strange, timestamp=4)


def test_the_clock_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    moments = iter(np.linspace(2e9, 0, 100_000))
    monkeypatch.setattr(time, "time", lambda: float(next(moments)))
    publish(tmp_path / "out", 2)
    publish(tmp_path / "out", 4)
    assert verify(tmp_path / "out").timestamps == 4
