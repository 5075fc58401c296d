"""Files that arrive: complete ones, in order, once each, over restarts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from psgraph.errors import (
    DataError,
    InvalidArgument,
    LedgerError,
    OutOfOrder,
    ReplayConflict,
    RosterError,
    TermsChanged,
)
from psgraph.graph import Roster, Snapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.verification import verify
from psgraph.publication.watching import Arrival, Inbox, Waiting, watch
from tests.crash.scenario import GUARANTEE
from tests.refusals import refused

ROSTER = Roster("abcdef")
SETTLE = 0.05


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    directory = tmp_path / "inbox"
    directory.mkdir()
    return directory


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def arrive(inbox: Path, name: str, edges: str = "ab bc") -> None:
    """A file that is renamed into place."""
    beside = inbox.parent / name
    beside.write_text("u,v\n" + "".join(f"{u},{v}\n" for u, v in edges.split()))
    beside.rename(inbox / name)


def run(inbox: Path, out: Path, **options: object) -> list[tuple[str, int, bool]]:
    """Publish what is there: names, timestamps, and whether they were new."""
    with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
        arrivals = watch(
            inbox, publisher, **{"roster": ROSTER, "once": True, "settle": SETTLE, **options}
        )
        return [
            (a.file.name, a.release.timestamp, a.new) for a in arrivals if isinstance(a, Arrival)
        ]


class TestMissingFiles:
    def waiting(self, inbox: Path, out: Path, **options: object) -> list[tuple[str, ...]]:
        """What is waited for."""
        with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
            found = watch(inbox, publisher, roster=ROSTER, once=True, settle=SETTLE, **options)
            return [each.missing for each in found if isinstance(each, Waiting)]

    def test_a_missing_file_is_waited_for(self, inbox: Path, out: Path) -> None:
        for name in ("2024-02-27.csv", "2024-02-28.csv", "2024-03-01.csv"):
            arrive(inbox, name)
        assert self.waiting(inbox, out) == [("2024-02-29",)]
        assert verify(out).timestamps == 2
        arrive(inbox, "2024-02-29.csv")
        assert self.waiting(inbox, out) == []
        assert verify(out).timestamps == 4

    @pytest.mark.parametrize(
        ("options", "times"),
        [
            ({"skip": ["5"]}, ["4"]),
            ({"skip": ["5", "6"]}, ["4", "7"]),
            ({"missing": "skip"}, ["4", "7"]),
            ({"missing": "empty"}, ["4", "5", "6", "7"]),
            ({"missing": "empty", "skip": ["5"]}, ["4", "6", "7"]),
        ],
    )
    def test_a_missing_file_is_skipped_when_told(
        self, inbox: Path, out: Path, options: dict[str, object], times: list[str]
    ) -> None:
        arrive(inbox, "4.csv")
        arrive(inbox, "7.csv")
        run(inbox, out, **options)
        with Publisher.resume(ledger_of(out)) as publisher:
            assert publisher.times() == times

    def test_daily_files_do_not_continue_monthly_ones(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "2024-01-01.csv")
        arrive(inbox, "2024-02-01.csv")
        run(inbox, out)
        arrive(inbox, "2024-02-02.csv")
        with refused(TermsChanged, "shorter_step"):
            run(inbox, out, every="1mo")
        arrive(inbox, "2024-02.csv")
        (inbox / "2024-02-02.csv").unlink()
        with pytest.raises((TermsChanged, OutOfOrder)):
            run(inbox, out)
        assert verify(out).timestamps == 2

    def test_the_period_belongs_to_the_terms(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "2024-01-01.csv")
        run(inbox, out, every="1mo")
        arrive(inbox, "2024-01-02.csv")
        with refused(TermsChanged, "shorter_step"):
            run(inbox, out)  # the ledger knows the period
        with pytest.raises(TermsChanged) as refusal:
            run(inbox, out, every="1d")
        assert refusal.value.changed.keys() == {"times"}

    @pytest.mark.parametrize("missing", ["wait", "skip"])
    def test_daily_files_do_not_continue_monthly_ones_whatever_is_declared(
        self, inbox: Path, out: Path, missing: str
    ) -> None:
        for name in ("2024-01-01.csv", "2024-02-01.csv"):
            arrive(inbox, name)
        run(inbox, out)
        arrive(inbox, "2024-02-02.csv")
        with refused(TermsChanged, "other_step"):
            run(inbox, out, every="1d", missing=missing)
        with refused(TermsChanged, "shorter_step"):
            run(inbox, out, missing=missing)

    def test_a_step_that_is_not_recognised_has_to_be_declared(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "2024-01-01.csv")
        arrive(inbox, "2024-01-04.csv")
        with refused(TermsChanged, "irregular_step"):
            run(inbox, out)
        assert self.waiting(inbox, out, every="1d") == [("2024-01-02", "2024-01-03")]

    def test_a_file_waits_until_its_period_is_over(
        self, inbox: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arrive(inbox, "2024-01-01.csv")
        noon, next_day = 1_704_110_400_000_000, 1_704_153_600_000_000
        monkeypatch.setattr("psgraph.streams.times.now", lambda: noon)
        assert self.waiting(inbox, out, every="1d") == [()]
        monkeypatch.setattr("psgraph.streams.times.now", lambda: next_day)
        assert run(inbox, out, every="1d") == [("2024-01-01.csv", 0, True)]


class TestOnce:
    def test_in_the_order_of_names_numbers_by_value(self, inbox: Path, out: Path) -> None:
        for name in ("day10.csv", "day9.csv", "day8.csv"):
            arrive(inbox, name)
        assert run(inbox, out) == [
            ("day8.csv", 0, True),
            ("day9.csv", 1, True),
            ("day10.csv", 2, True),
        ]
        with Publisher.resume(ledger_of(out)) as publisher:
            assert publisher.times() == ["day8", "day9", "day10"]

    def test_known_files_are_handed_back(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "1.csv")
        run(inbox, out)
        arrive(inbox, "2.csv", "ab")
        assert run(inbox, out) == [("1.csv", 0, False), ("2.csv", 1, True)]
        assert run(inbox, out) == [("1.csv", 0, False), ("2.csv", 1, False)]
        assert verify(out).timestamps == 2

    def test_files_that_were_cleared_away(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "1.csv")
        run(inbox, out)
        (inbox / "1.csv").unlink()
        arrive(inbox, "2.csv")
        assert run(inbox, out) == [("2.csv", 1, True)]

    def test_other_files_are_left_alone(self, inbox: Path, out: Path) -> None:
        for name in (".1.csv", "2.csv.part", "3.csv.tmp", "README.md", "4.csv~"):
            arrive(inbox, name)
        (inbox / "5.csv").mkdir()
        os.mkfifo(inbox / "6.csv")
        (inbox / "7.csv").symlink_to(inbox / "nowhere")
        assert run(inbox, out) == []
        assert verify(out).timestamps == 0

    def test_a_late_file_stops(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "2.csv")
        run(inbox, out)
        for name in ("1.csv", "02.csv"):
            arrive(inbox, name)
            with pytest.raises(OutOfOrder, match=name):
                run(inbox, out)
            (inbox / name).unlink()
        assert verify(out).timestamps == 1

    def test_a_changed_file_stops(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "1.csv")
        arrive(inbox, "2.csv")
        run(inbox, out)
        arrive(inbox, "1.csv", "ab")
        arrive(inbox, "3.csv")
        with pytest.raises(ReplayConflict, match=r"1\.csv.* timestamp 0"):
            run(inbox, out)
        assert verify(out).timestamps == 2

    def test_another_form_of_the_same_edges_is_no_change(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "1.csv", "ab bc")
        run(inbox, out)
        (inbox / "1.csv").write_text("v,u\nc,b\nb,a\na,b\n")
        assert run(inbox, out) == [("1.csv", 0, False)]

    def test_a_broken_file_stops_and_spends_nothing(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "1.csv")
        (inbox / "2.csv").write_text("u,v\na\n")
        with pytest.raises(DataError):
            run(inbox, out)
        assert verify(out).timestamps == 1
        arrive(inbox, "2.csv")
        assert run(inbox, out)[-1] == ("2.csv", 1, True)

    def test_two_files_of_one_name(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "1.csv")
        arrive(inbox, "1.txt")
        with refused(DataError, "same_name"):
            run(inbox, out)

    def test_the_roster_rule_stays(self, inbox: Path, out: Path) -> None:
        arrive(inbox, "1.csv")
        run(inbox, out)
        arrive(inbox, "2.csv")
        with pytest.raises(TermsChanged) as refusal:
            run(inbox, out, roster=None, roster_from_edges=True)
        assert refusal.value.changed.keys() == {"roster"}

    def test_wrong_arguments(self, inbox: Path, out: Path, tmp_path: Path) -> None:
        with pytest.raises(RosterError):
            run(inbox, out, roster=None)
        with refused(DataError, "inbox"):
            run(tmp_path / "missing", out)
        out.mkdir()
        with refused(InvalidArgument, "out_is_inbox"):
            run(out, out)
        with refused(InvalidArgument, "ledger_needed"):
            list(watch(inbox, Publisher(PSGraph(), GUARANTEE), roster=ROSTER, once=True))

    def test_a_ledger_without_names(self, inbox: Path, out: Path) -> None:
        with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
            publisher.publish(Snapshot(ROSTER, [0], [1]))
        arrive(inbox, "1.csv")
        with refused(LedgerError, "unnamed_timestamps"):
            run(inbox, out)

    def test_it_stops_between_two_files(self, inbox: Path, out: Path) -> None:
        for number in range(4):
            arrive(inbox, f"{number}.csv")
        stop = threading.Event()
        with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
            for arrival in watch(inbox, publisher, roster=ROSTER, settle=SETTLE, stop=stop):
                if arrival.release.timestamp == 1:
                    stop.set()
        assert verify(out).timestamps == 2


class TestComplete:
    def test_a_file_that_still_grows_is_waited_for_and_those_after_it(self, inbox: Path) -> None:
        box = Inbox(inbox, settle=1.0)
        arrive(inbox, "2.csv")
        growing = (inbox / "1.csv").open("w")
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline:
            growing.write("a,b\n")
            growing.flush()
            assert box.complete() == []
            assert not box.settled
            time.sleep(0.02)
        growing.close()
        deadline = time.monotonic() + 120
        while not (ready := box.complete()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [file.name for file in ready] == ["1.csv", "2.csv"]
        assert box.settled

    def test_a_clock_that_jumps_back_does_not_matter(
        self, inbox: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        box = Inbox(inbox, settle=0.1)
        arrive(inbox, "1.csv")
        os.utime(inbox / "1.csv", (4e9, 4e9))  # written, it says, in the year 2096
        monkeypatch.setattr(time, "time", lambda: 0.0)
        assert box.complete() == []
        time.sleep(0.15)
        assert [file.name for file in box.complete()] == ["1.csv"]


class TestWatching:
    @pytest.fixture
    def watcher(self, inbox: Path, out: Path) -> Iterator[list[str]]:
        """A thread that watches until the test is over; the names it published."""
        stop = threading.Event()
        seen: list[str] = []

        def work() -> None:
            with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
                for arrival in watch(inbox, publisher, roster=ROSTER, settle=SETTLE, stop=stop):
                    seen.append(arrival.file.name)

        thread = threading.Thread(target=work)
        thread.start()
        yield seen
        stop.set()
        thread.join(timeout=120)
        assert not thread.is_alive()

    def test_files_are_published_as_they_arrive(
        self, inbox: Path, out: Path, watcher: list[str]
    ) -> None:
        for number in range(3):
            arrive(inbox, f"{number}.csv")
            deadline = time.monotonic() + 120
            while len(watcher) <= number and time.monotonic() < deadline:
                time.sleep(0.02)
            assert watcher == [f"{n}.csv" for n in range(number + 1)]
            assert (out / f"{number:06d}.json").exists()

    def test_where_directories_can_not_be_watched(
        self, inbox: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def unwatchable(*_: object, **__: object) -> Iterator[set[object]]:
            raise OSError("too many watches")
            yield set()

        monkeypatch.setattr("watchfiles.watch", unwatchable)
        monkeypatch.setattr("psgraph.publication.watching.LOOK_AGAIN", 0.05)
        stop = threading.Event()
        arrive(inbox, "0.csv")
        with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
            for arrival in watch(inbox, publisher, roster=ROSTER, settle=SETTLE, stop=stop):
                if arrival.release.timestamp == 2:
                    stop.set()
                threading.Timer(
                    0.2, arrive, (inbox, f"{arrival.release.timestamp + 1}.csv")
                ).start()
        assert verify(out).timestamps == 3
        time.sleep(0.3)  # the last file arrives before its directory goes
