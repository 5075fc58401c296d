"""Streams that the command published are adopted by the service, and back."""

from __future__ import annotations

import pytest

import psgraph as pg
from psgraph.cli import run
from psgraph.errors import InvalidArgument, LedgerBusy, LedgerError
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.verification import verify
from tests.service.offline import NODES, Offline, edges, roster


@pytest.fixture
def published(tmp_path):
    """Two days that the command published, and their input."""
    days = tmp_path / "days"
    days.mkdir()
    for day in (0, 1):
        (days / f"{day}.csv").write_bytes(edges(day + 1))
    (tmp_path / "nodes.csv").write_bytes(roster())
    assert publish(tmp_path) == 0
    return tmp_path / "out"


def publish(base) -> int:
    return run(
        [
            *("publish", str(base / "days"), "--roster", str(base / "nodes.csv")),
            *("--epsilon", "1", "--window", "3", "--out", str(base / "out"), "--json"),
        ]
    )


@pytest.fixture
def offline(tmp_path, monkeypatch):
    service = Offline(tmp_path / "service", monkeypatch)
    yield service
    service.close()


def test_a_stream_is_adopted_continued_and_left_to_the_command_again(offline, published, tmp_path):
    before = {path.name: path.read_bytes() for path in published.glob("0*")}
    offline.service.streams.adopt("calls", published)
    view = offline.call("GET", "/streams/calls").json()
    assert (view["released"], view["nodes"], view["adopted"]) == (2, NODES, True)
    assert offline.post(1, edges(2)).status_code == 200  # the same data
    assert offline.post(1, edges(5)).status_code == 409
    assert offline.post(2, edges(3)).status_code == 202
    offline.publish()
    assert offline.state(2) == "released"
    offline.close()
    (tmp_path / "days" / "2.csv").write_bytes(edges(3))
    (tmp_path / "days" / "3.csv").write_bytes(edges(4))
    assert publish(tmp_path) == 0
    assert verify(published).releases == 4
    assert before.items() <= {path.name: path.read_bytes() for path in published.glob("0*")}.items()
    offline.open()
    assert offline.call("GET", "/streams/calls").json()["released"] == 4


def test_a_stream_of_the_service_is_used_by_the_command_when_it_is_stopped(offline, tmp_path):
    stream = offline.create()
    offline.post(0, edges())
    offline.publish()
    offline.close()
    assert run(["verify", str(stream.out)]) == 0
    assert run(["budget", str(stream.out)]) == 0
    assert run(["export", str(stream.out), "--to", str(tmp_path / "copy")]) == 0
    offline.open()


def test_adopting_finishes_a_release_that_was_interrupted(offline, published, monkeypatch):
    guarantee = pg.WEventPrivacy("1", window=3)
    snapshot = pg.Snapshot(pg.Roster.range(NODES), [0], [1], time="2")
    with monkeypatch.context() as patch:
        patch.setattr(ReleaseDirectory, "write", lambda *_: 1 / 0)
        publisher = pg.Publisher(pg.PSGraphPlus(), guarantee, out=published)
        with pytest.raises(ZeroDivisionError):
            publisher.publish(snapshot, timestamp=2)
        publisher.close()
    offline.service.streams.adopt("calls", published)
    assert offline.call("GET", "/streams/calls").json()["released"] == 3
    assert offline.post(2, edges(9)).status_code == 409


def test_the_worker_waits_while_the_command_holds_the_ledger(offline, published):
    offline.service.streams.adopt("calls", published)
    offline.post(2, edges(3))
    with pg.Publisher.resume(published):
        offline.service.worker.publish_due()
        assert "LedgerBusy" in offline.call("GET", "/streams/calls").json()["reason"]
    offline.service.worker._retry_at.clear()
    offline.publish()
    assert offline.state(2) == "released"


def test_what_can_not_be_adopted_is_refused(offline, published, tmp_path):
    with pytest.raises(InvalidArgument):
        offline.service.streams.adopt("../calls", published)
    with pytest.raises(LedgerError):
        offline.service.streams.adopt("calls", tmp_path / "nothing")
    assert not len(offline.service.streams)


def test_a_name_that_is_taken_is_refused(offline, published):
    offline.create()
    with pytest.raises(InvalidArgument):
        offline.service.streams.adopt("calls", published)
    assert not any(each.adopted for each in offline.service.streams)


def test_every_start_can_name_the_streams_to_adopt(offline, published):
    first = offline.service.streams.adopt("calls", published)
    assert offline.service.streams.adopt("calls", published) is first


def test_one_service_at_a_time_uses_a_directory(offline):
    with pytest.raises(LedgerBusy):
        type(offline.service)(offline.service.settings)


def test_data_that_the_command_overtook_are_dropped_and_not_taken_for_published(
    offline, published, tmp_path
):
    offline.service.streams.adopt("calls", published)
    offline.post(2, edges(3))
    (tmp_path / "days" / "2.csv").write_bytes(edges(7))
    assert publish(tmp_path) == 0
    offline.publish()
    assert offline.state(2) == "released"
    assert offline.post(2, edges(3)).status_code == 409
    assert offline.post(2, edges(7)).status_code == 200
