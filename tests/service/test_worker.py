"""The worker: at ticks, in order, once, and after every kind of interruption."""

from __future__ import annotations

import errno
from fractions import Fraction

import pytest

from psgraph.methods.psgraph import PSGraph
from psgraph.publication.ledger import Ledger
from psgraph.publication.ledger.attempts import MOST_ATTEMPTS
from psgraph.publication.ledger.database import Database as LedgerDatabase
from psgraph.publication.locations import ledger_at
from psgraph.publication.publisher import Publisher
from psgraph.publication.records import encode
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.verification import verify
from psgraph.service import clock
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
    assert stream.inbox.original(0, stream.roster.now, time=None, kind=stream.kind).u.size == 30
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


def analyst(offline) -> str:
    """A token of an analyst."""
    new = {"role": "analyst", "label": "someone"}
    return offline.call("POST", "/tokens", json=new).json()["token"]


def retried(offline) -> None:
    """Have the worker try again at once, whatever comes of it."""
    offline.service.worker._retry_at.clear()
    offline.service.worker.publish_due()


def test_a_failure_is_tried_again_and_only_curators_learn_its_kind(offline, monkeypatch):
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
    seen = offline.call("GET", "/streams/calls", token=analyst(offline)).json()
    assert seen["health"] == "blocked"
    assert "Error" not in seen["reason"]
    offline.service.worker._retry_at.clear()
    offline.publish()
    assert offline.state(0) == "released"


def test_a_failed_seal_is_repeated_with_the_same_draw(offline, monkeypatch):
    stream = offline.create()
    offline.post(0, edges())
    drawn, measure = [], PSGraph.measure

    def measured(self, *arguments):
        drawn.append(measure(self, *arguments))
        return drawn[-1]

    def full(_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(PSGraph, "measure", measured)
    with monkeypatch.context() as patch:
        patch.setattr(LedgerDatabase, "_commit", full)
        for _ in range(5):
            retried(offline)
            assert offline.state(0) == "measuring"  # nobody sees how often
    retried(offline)
    assert offline.state(0) == "released"
    with Ledger(ledger_at(stream.out), writing=False) as ledger:
        assert encode(ledger.measurement_of(0, PSGraph().records)) == encode(drawn[0])
    assert len(drawn) == 1


def test_a_stream_that_is_measured_too_often_stops_until_a_curator_continues_it(
    offline, monkeypatch
):
    offline.create()
    offline.create("other")
    offline.post(0, edges())
    drawn, seen, token = [], set(), analyst(offline)

    def lost(*_):
        drawn.append(1)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(PSGraph, "measure", lost)
        assert offline.call("POST", "/streams/calls/measure-again").status_code == 409
        for _ in range(6):
            retried(offline)
            seen.add(offline.call("GET", "/streams/calls", token=token).text)
        offline.close()
        offline.open()
        retried(offline)
    assert len(drawn) == MOST_ATTEMPTS
    offline.post(0, edges(), "other")
    retried(offline)
    assert offline.state(0) == "measuring"
    assert offline.state(0, "other") == "released"
    seen.add(offline.call("GET", "/streams/calls", token=token).text)
    assert len(seen) == 1  # an analyst can't tell one failure from a stop
    assert "measure-again" in offline.call("GET", "/streams/calls").json()["reason"]
    again = offline.call("POST", "/streams/calls/measure-again", token=token)
    assert again.status_code == 403
    assert offline.call("POST", "/streams/calls/measure-again").json()["health"] == "ok"
    offline.publish()
    assert offline.state(0) == "released"
    told = [each.action for each in offline.service.audit.entries() if each.stream == "calls"]
    assert told[:2] == ["release", "measure again"]
    assert "stop stream" not in told
    curator = offline.service.audit.entries(log="curators")
    assert [each.action for each in curator].count("stop stream") == 2  # also after the restart


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
    assert stream.inbox.original(0, stream.roster.now, time=None, kind=stream.kind).u.size == 60
    at(offline, 2 * 86_400)
    offline.publish()
    assert stream.inbox.original(1, stream.roster.now, time=None, kind=stream.kind).u.size == 30


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

    monkeypatch.setattr(publishers, "due", at_the_last_moment)
    offline.publish()
    assert stream.inbox.original(0, stream.roster.now, time=None, kind=stream.kind).u.size == 30


def test_a_repeated_key_changes_nothing_even_after_the_tick(offline):
    stream = daily(offline, source="events", keep_originals_days=1)
    for _ in range(2):
        assert offline.events("post-0001", event(0)).status_code == 202
    assert offline.events("post-0001", event(0, 2)).status_code == 409
    at(offline, 86_400)
    offline.publish()
    assert offline.events("post-0001", event(0)).status_code == 202
    assert stream.inbox.original(0, stream.roster.now, time=None, kind=stream.kind).u.size == 30


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


def test_a_stream_that_is_fed_at_full_speed_does_not_delay_the_others(offline, monkeypatch):
    offline.create("busy")
    offline.create("quiet")
    daily(offline, name="ticking", missing="empty")
    for timestamp in range(6):
        offline.post(timestamp, edges(), "busy")
    published, publish = [], Publisher.publish

    def watch(publisher, *arguments, **options):
        published.append(publisher.ledger.parent.parent.name)
        if len(published) == 1:  # both come while the first one is published
            assert offline.post(0, edges(), "quiet").status_code == 202
            at(offline, 86_400)
        return publish(publisher, *arguments, **options)

    monkeypatch.setattr(Publisher, "publish", watch)
    offline.publish()
    assert published[:4] == ["busy", "quiet", "ticking", "busy"]
    assert offline.state(5, "busy") == "released"


def test_many_missed_periods_wait_for_the_word_of_a_curator(offline):
    stream = daily(offline, source="events")
    for days, releases in ((5, 5), (15, 5)):
        at(offline, days * 86_400)
        offline.close()
        offline.open()
        at(offline, days * 86_400 + 1)
        offline.publish()
        (stream,) = offline.service.streams
        assert len(stream.releases.refresh()) == releases
    seen = offline.call("GET", "/streams/calls").json()
    assert (seen["health"], seen["released"]) == ("blocked", 5)
    assert offline.call("POST", "/streams/calls/catch-up").json()["health"] == "ok"
    assert offline.service.audit.entries()[0].action == "catch up"
    offline.publish()
    assert len(stream.releases.refresh()) == 15
    assert offline.call("POST", "/streams/calls/catch-up").json()["error"] == "nothing_missed"


def test_a_clock_that_jumps_publishes_nothing_and_is_reported(offline, monkeypatch):
    wall, counter = 1_780_012_810.0, 0.0  # ten seconds into the first day
    steady = clock.SteadyClock(lambda: wall, lambda: counter)
    monkeypatch.setattr(clock, "now", steady.now)
    monkeypatch.setattr(clock, "jump", steady.jump)
    offline.create(period="1d", first_period="2026-05-29", missing="empty")
    for ahead in (3600.0, 86_400.0, -86_400.0):
        wall, counter = 1_780_012_810.0 + 60 + ahead, counter + 10
        offline.publish()
        assert offline.state(0) == "waiting"
        health = offline.client.get("/healthz").json()
        assert health["status"] == "degraded"
        assert f"{abs(ahead):,.0f}"[:2] in health["problems"][0]
    wall = 1_780_012_810.0 + counter  # corrected
    assert offline.client.get("/healthz").json() == {**health, "status": "ok", "problems": []}
