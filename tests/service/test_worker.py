"""The worker: at ticks, in order, once, and after every kind of interruption."""

from __future__ import annotations

from fractions import Fraction

import pytest

from psgraph.methods.psgraph import PSGraph
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_at
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.verification import verify
from tests.service.offline import Offline, edges


@pytest.fixture
def offline(tmp_path, monkeypatch):
    service = Offline(tmp_path / "service", monkeypatch)
    yield service
    service.close()


def released(stream) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in stream.out.glob("0*")}


def test_a_posted_snapshot_is_released_and_its_original_deleted(offline):
    stream = offline.create()
    assert offline.post(0, edges()).json()["state"] == "accepted"
    assert list((stream.home / "uploads").iterdir())
    offline.publish()
    assert offline.state(0) == "released"
    assert not list((stream.home / "uploads").iterdir())
    assert verify(stream.out).releases == 1


def test_an_accepted_snapshot_survives_a_restart_before_it_is_measured(offline):
    offline.create()
    assert offline.post(0, edges()).status_code == 202
    offline.close()
    offline.open()
    offline.publish()
    assert offline.state(0) == "released"


@pytest.mark.parametrize("moment", ["write", "record_release"])
def test_a_crash_after_sealing_is_finished_without_a_second_draw(offline, monkeypatch, moment):
    stream = offline.create()
    offline.post(0, edges())

    def crash(*_):
        raise KeyboardInterrupt

    owner = ReleaseDirectory if moment == "write" else Ledger
    with monkeypatch.context() as patch:
        patch.setattr(owner, moment, crash)
        with pytest.raises(KeyboardInterrupt):
            offline.publish()
    with Ledger(ledger_at(stream.out), writing=False) as ledger:
        sealed, seal = ledger.sealed, ledger.seal_of(0)
    assert sealed == 1
    offline.close()
    offline.open()
    monkeypatch.setattr(PSGraph, "measure", crash)  # a second draw would end the test
    offline.publish()
    assert offline.state(0) == "released"
    with Ledger(ledger_at(stream.out), writing=False) as ledger:
        assert (ledger.sealed, ledger.seal_of(0)) == (1, seal)
    assert offline.post(0, edges()).status_code == 200
    assert offline.post(0, edges(2)).status_code == 409


def test_a_crash_after_sealing_events_loses_neither_their_original_nor_the_record(
    offline, monkeypatch
):
    stream = daily(offline, source="events", keep_originals_days=1)
    offline.events("post-0001", event(0))
    at(offline, 86_400)

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ReleaseDirectory, "write", crash)
        with pytest.raises(KeyboardInterrupt):
            offline.publish()
    offline.close()
    offline.open()
    offline.publish()
    stream = next(iter(offline.service.streams))
    assert stream.inbox.original(0, stream.roster.now, time=None).u.size == 30
    released = [each for each in offline.service.audit.entries() if each.action == "release"]
    assert [each.timestamp for each in released] == [0]


def test_a_sealed_timestamp_takes_no_other_data_before_its_release_is_finished(
    offline, monkeypatch
):
    offline.create()
    offline.post(0, edges())
    with monkeypatch.context() as patch:
        patch.setattr(ReleaseDirectory, "write", lambda *_: (_ for _ in ()).throw(OSError()))
        offline.service.worker.publish_due()
    offline.close()
    offline.open()
    assert offline.post(0, edges(2)).json()["error"] == "other_data"
    assert offline.post(0, edges()).json()["state"] == "accepted"


def test_a_refused_budget_charges_nothing_and_can_be_posted_again(offline, monkeypatch):
    stream = offline.create()
    offline.post(0, edges())
    with monkeypatch.context() as patch:
        patch.setattr(PSGraph, "request", lambda *_: Fraction(2))
        offline.publish()
        assert offline.state(0) == "refused"
    reason = offline.call("GET", "/streams/calls/timestamps/0").json()["reason"]
    assert "requested 2" in reason
    assert "remaining 1" in reason
    assert offline.call("GET", "/streams/calls").json()["health"] == "blocked"
    offline.publish()
    assert offline.state(0) == "refused"
    with Ledger(ledger_at(stream.out), writing=False) as ledger:
        assert ledger.sealed == 0
    assert offline.post(0, edges(2)).status_code == 202
    offline.publish()
    assert offline.state(0) == "released"


def test_a_failure_is_tried_again_and_told_in_public_words(offline, monkeypatch):
    offline.create()
    offline.post(0, edges())
    secret = "node 17"

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError(secret)

    with monkeypatch.context() as patch:
        patch.setattr(Publisher, "publish", fail)
        offline.service.worker.publish_due()
    view = offline.call("GET", "/streams/calls").json()
    assert view["health"] == "blocked"
    assert "ZeroDivisionError" in view["reason"]
    assert secret not in view["reason"]
    offline.service.worker._retry_at.clear()
    offline.publish()
    assert offline.state(0) == "released"


# ---- ticks ----


def at(offline, seconds: float) -> None:
    """Set the clock to a moment in the stream, whose first period begins at 0."""
    offline.time = 1_780_012_800.0 + seconds  # 2026-05-29T00:00:00Z


def event(day: int, step: int = 1) -> bytes:
    rows = "".join(f"{u},{(u + step) % 30},2026-05-{29 + day}T12:00:00Z\n" for u in range(30))
    return f"u,v,time\n{rows}".encode()


def daily(offline, **terms):
    at(offline, 10)
    return offline.create(period="1d", first_period="2026-05-29", **terms)


def test_a_snapshot_of_a_ticked_stream_is_released_at_its_tick_and_not_before(offline):
    daily(offline)
    assert offline.post(0, edges()).status_code == 202
    at(offline, 86_399)
    offline.publish()
    assert offline.state(0) == "waiting"
    at(offline, 86_400)
    offline.publish()
    assert offline.state(0) == "released"
    assert offline.call("GET", "/streams/calls/releases/0").json()["time"] == "2026-05-29"


def test_a_tick_without_events_releases_an_empty_snapshot(offline):
    stream = daily(offline, source="events")
    at(offline, 2 * 86_400)
    offline.publish()
    assert [each.time for each in stream.releases.refresh()] == ["2026-05-29", "2026-05-30"]


def test_events_are_cut_at_the_tick_of_their_time(offline):
    stream = daily(offline, source="events", keep_originals_days=1)
    assert offline.events("post-0001", event(0)).status_code == 202
    assert offline.events("post-0002", event(0, 2)).status_code == 202
    assert offline.events("post-0003", event(1, 3)).status_code == 202
    at(offline, 86_400)
    offline.publish()
    assert stream.inbox.original(0, stream.roster.now, time=None).u.size == 60
    at(offline, 2 * 86_400)
    offline.publish()
    assert stream.inbox.original(1, stream.roster.now, time=None).u.size == 30


def test_events_of_a_period_that_is_over_are_refused(offline):
    daily(offline, source="events")
    at(offline, 86_400)
    answer = offline.events("post-0001", event(0))
    assert (answer.status_code, answer.json()["error"]) == (422, "unreadable")


def test_a_delay_leaves_time_for_late_events(offline):
    daily(offline, source="events", delay_seconds=600)
    at(offline, 86_400 + 599)
    assert offline.events("post-0001", event(0)).status_code == 202
    offline.publish()
    assert offline.state(0) == "waiting"
    at(offline, 86_400 + 600)
    offline.publish()
    assert offline.state(0) == "released"


def test_ticks_missed_while_stopped_are_due_one_delay_after_the_start(offline):
    daily(offline, source="events", delay_seconds=600)
    offline.close()
    at(offline, 3 * 86_400)
    offline.open()
    assert offline.events("post-0001", event(1)).status_code == 202
    offline.publish()
    assert offline.state(0) == "waiting"
    at(offline, 3 * 86_400 + 600)
    offline.publish()
    assert [offline.state(each) for each in range(4)] == ["released"] * 3 + ["waiting"]


def test_a_missing_snapshot_is_waited_for_unless_the_terms_say_empty(offline):
    daily(offline)
    offline.create("other", period="1d", first_period="2026-05-29", missing="empty")
    at(offline, 86_400)
    offline.publish()
    assert offline.state(0) == "due"
    assert offline.call("GET", "/streams/calls").json()["health"] == "waiting"
    assert offline.state(0, "other") == "released"
    assert offline.post(0, edges()).status_code == 202
    offline.publish()
    assert offline.state(0) == "released"


def test_a_snapshot_accepted_just_before_the_tick_is_in_the_release(offline, monkeypatch):
    stream = daily(offline, missing="empty", keep_originals_days=1)
    publishers, due = offline.service.worker._publishers, offline.service.worker.due

    def at_the_last_moment(stream, timestamp):
        if timestamp == 0:
            at(offline, 86_399)
            assert offline.post(0, edges()).status_code in (200, 202)
            at(offline, 86_400)
        return due(stream, timestamp)

    monkeypatch.setattr(publishers, "_due", at_the_last_moment)
    offline.publish()
    assert stream.inbox.original(0, stream.roster.now, time=None).u.size == 30


def test_a_repeated_key_changes_nothing_even_after_the_tick(offline):
    stream = daily(offline, source="events", keep_originals_days=1)
    for _ in range(2):
        assert offline.events("post-0001", event(0)).status_code == 202
    assert offline.events("post-0001", event(0, 2)).status_code == 409
    at(offline, 86_400)
    offline.publish()
    assert offline.events("post-0001", event(0)).status_code == 202
    assert stream.inbox.original(0, stream.roster.now, time=None).u.size == 30


def test_posts_of_events_are_answered_alike(offline):
    daily(offline, source="events")
    answers = {
        offline.events("post-0001", event(0)).content,
        offline.events("post-0001", event(0)).content,
        offline.events("post-0002", event(1, 4)).content,
        offline.events("post-0003", b"u,v,time\n").content,
    }
    assert len(answers) == 1


def test_a_limited_number_of_days_is_kept_for_comparisons(offline):
    stream = offline.create(keep_originals_days=1)
    offline.post(0, edges())
    offline.publish()
    result = offline.call("GET", "/streams/calls/comparison").json()
    assert result["timestamps"] == [0]
    assert list(stream.inbox.purge(-1)) == [0]
    assert offline.call("GET", "/streams/calls/comparison").json()["error"] == "no_originals"
