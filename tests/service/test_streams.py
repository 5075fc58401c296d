"""Creating streams, their node lists, and posting snapshots in order."""

from __future__ import annotations

import pytest

from psgraph.errors import LedgerError
from psgraph.service.schedule import Schedule
from tests.service.offline import CSV, Offline, edges, roster


@pytest.fixture
def offline(tmp_path, monkeypatch):
    service = Offline(tmp_path / "service", monkeypatch)
    yield service
    service.close()


def put_roster(offline, content: bytes):
    return offline.call("PUT", "/streams/calls/roster", content=content, headers=CSV)


def test_the_guarantee_can_not_be_changed(offline):
    offline.create(epsilon="1")
    again = {"name": "calls", "epsilon": "2", "window": 3}
    assert offline.call("POST", "/streams", json=again).json()["error"] == "name_taken"
    offline.close()
    offline.open()
    assert offline.call("GET", "/streams/calls").json()["epsilon"] == "1"


@pytest.mark.parametrize(
    "terms",
    [
        {"source": "events"},
        {"timezone": "UTC"},
        {"first_period": "2026-01-01"},
        {"delay_seconds": 5},
        {"missing": "empty"},
        {"period": "1x"},
        {"period": "999y"},
        {"period": "1d", "first_period": "9999-12-31"},
        {"period": "1d", "timezone": "Mars/Base"},
        {"period": "1d", "first_period": "soon"},
        {"method": "no-such-method"},
        {"method": "os:system"},
        {"parameters": {"no": "1"}},
        {"epsilon": "0"},
        {"epsilon": "1e-300"},
        {"window": 0},
        {"name": "../up"},
        {"unknown": 1},
    ],
)
def test_terms_that_make_no_sense_are_refused(offline, terms):
    wanted = {"name": "calls", "epsilon": "1", "window": 3, **terms}
    assert offline.call("POST", "/streams", json=wanted).status_code == 422
    assert len(offline.service.streams) == 0


def test_a_seeded_stream_says_that_it_is_not_private(offline):
    offline.create(seed=1)
    assert offline.call("GET", "/streams/calls").json()["private"] is False


def test_a_roster_grows_and_never_shrinks(offline):
    offline.create()
    assert put_roster(offline, roster(40)).json() == {"nodes": 40, "added": 10}
    assert put_roster(offline, roster(39)).json()["error"] == "roster_shrinks"
    assert put_roster(offline, b"id\na\nb\n").json()["error"] == "roster_shrinks"
    assert put_roster(offline, b"id,from,until\n1,,\n").json()["error"] == "timed_roster"
    assert put_roster(offline, b"id\n1\n1\n").json()["error"] == "bad_roster"
    offline.close()
    offline.open()
    assert offline.call("GET", "/streams/calls").json()["nodes"] == 40


def test_labels_are_columns_of_the_roster_and_part_of_every_release(offline):
    wanted = {"name": "calls", "epsilon": "1", "window": 3, "labels": "team", "seed": 1}
    assert offline.call("POST", "/streams", json=wanted).status_code == 201
    rows = [f"{node},{'ab'[node % 2]}" for node in range(30)]
    twice = "\n".join(["id,team", *rows, "0,b", ""]).encode()
    assert put_roster(offline, twice).json()["error"] == "bad_roster"
    assert put_roster(offline, roster()).json()["error"] == "bad_roster"  # no column team
    assert put_roster(offline, "\n".join(["id,team", *rows, ""]).encode()).json()["nodes"] == 30
    assert offline.call("GET", "/streams/calls").json()["labels"] == "team"
    offline.post(0, edges())
    offline.publish()
    assert offline.state(0) == "released"
    certificate = offline.call("GET", "/streams/calls/releases/0/certificate").json()
    assert "team: 2 values" in certificate["roster"]


def test_labels_need_a_list_of_nodes(offline):
    wanted = {"name": "calls", "epsilon": "1", "window": 3, "labels": "team", "roster": "edges"}
    assert offline.call("POST", "/streams", json=wanted).status_code == 422


def test_a_roster_read_off_the_edges_takes_no_list(offline):
    offline.create(roster="edges")
    assert put_roster(offline, roster()).json()["error"] == "roster_from_edges"
    assert offline.post(0, edges()).status_code == 202
    offline.publish()
    assert offline.state(0) == "released"


def test_a_snapshot_needs_the_roster_first(offline):
    wanted = {"name": "calls", "epsilon": "1", "window": 3}
    offline.call("POST", "/streams", json=wanted)
    assert offline.post(0, edges()).json()["error"] == "no_roster"


def test_growth_of_the_roster_does_not_change_what_the_same_data_are(offline):
    offline.create()
    offline.post(0, edges())
    offline.post(1, edges(2))
    offline.publish()
    put_roster(offline, roster(50))
    assert offline.post(1, edges(2)).status_code == 200
    assert offline.post(1, edges(3)).status_code == 409


def test_the_same_edges_in_another_form_are_the_same_data(offline):
    offline.create()
    offline.post(0, b"u,v\n1,2\n3,4\n")
    assert offline.post(0, b"target,source\n3,4\n2,1\n1,2\n5,5\n").status_code == 202
    assert offline.post(0, b"u,v\n1,2\n").status_code == 409


def test_timestamps_come_in_order_without_gaps(offline):
    offline.create()
    assert offline.post(1, edges()).json()["error"] == "out_of_order"
    assert offline.post(0, edges()).status_code == 202
    assert offline.post(1, edges()).status_code == 202
    assert offline.post(3, edges()).json()["error"] == "out_of_order"


def test_every_timestamp_has_its_own_time(offline):
    offline.create()
    path = "/streams/calls/snapshots/{}?time=monday"
    for timestamp, status in ((0, 202), (1, 409)):
        answer = offline.call("POST", path.format(timestamp), content=edges(), headers=CSV)
        assert answer.status_code == status


def test_a_snapshot_of_a_period_that_has_not_begun_is_refused(offline):
    offline.create(period="1d", first_period="2026-05-28")
    assert offline.post(1, edges()).json()["error"] == "not_begun"
    assert offline.post(0, edges()).status_code == 202


def test_snapshots_and_events_are_not_mixed(offline):
    offline.create("events", period="1d", source="events")
    offline.create()
    assert offline.post(0, edges(), "events").json()["error"] == "takes_events"
    assert offline.events("key-0001", b"u,v,time\n").json()["error"] == "takes_snapshots"


def test_a_preview_tells_the_curator_and_stores_nothing(offline):
    stream = offline.create()
    path = "/streams/calls/preview"
    found = offline.call("POST", path, content=b"u,v\n1,2\n2,1\n3,3\n", headers=CSV).json()
    facts = {name: found[name] for name in ("rows", "edges", "self_loops", "duplicates")}
    assert facts == {"rows": 3, "edges": 1, "self_loops": 1, "duplicates": 1}
    unknown = offline.call("POST", path, content=b"u,v\n1,99\n98,99\n", headers=CSV).json()
    assert (unknown["readable"], unknown["unknown_nodes"]) == (False, 2)
    broken = offline.call("POST", path, content=b"u,v\n1\n", headers=CSV).json()
    assert "line 2" in broken["problem"]
    assert not list((stream.home / "uploads").iterdir())


def test_private_files_can_be_opened_by_their_owner_only(offline):
    stream = offline.create()
    offline.post(0, edges())
    directory = offline.directory
    files = [directory / "key", directory / "service.sqlite", *(stream.home / "uploads").iterdir()]
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o600"}
    assert {oct(path.stat().st_mode & 0o777) for path in (directory, stream.home)} == {"0o700"}


# ---- schedules ----


def test_days_follow_the_calendar_of_the_time_zone():
    berlin = Schedule.starting("1d", "Europe/Berlin", "2026-03-28")
    assert [berlin.time(each) for each in range(3)] == ["2026-03-28", "2026-03-29", "2026-03-30"]
    hours = [(berlin.due(each) - berlin.start(each)) / 3600 for each in range(3)]
    assert hours == [24, 23, 24]
    assert berlin.current(berlin.start(2)) == 2
    assert berlin.current(berlin.start(2) - 1) == 1


def test_hours_have_the_same_length_always():
    berlin = Schedule.starting("1h", "Europe/Berlin", "2026-03-29T00:30")
    assert [berlin.due(each) - berlin.start(each) for each in range(4)] == [3600] * 4
    assert berlin.time(2) == "2026-03-29T03:00:00+02:00"


def test_months_and_delays():
    monthly = Schedule.starting("1mo", None, "2026-01-15", delay=60)
    assert monthly.time(1) == "2026-02-01"
    assert monthly.due(0) == monthly.start(1) + 60
    assert str(monthly.times.period) == "1mo"


@pytest.mark.parametrize("timezone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("period", ["1s", "1h", "1d", "1mo", "50y"])
def test_a_timestamp_beyond_the_calendar_is_refused(offline, period, timezone):
    offline.create(period=period, timezone=timezone)
    for timestamp in (10**9 - 1, 10**8):
        answer = offline.call("GET", f"/streams/calls/timestamps/{timestamp}")
        assert answer.status_code in (200, 422)
        assert offline.post(timestamp, edges()).status_code in (409, 422)


# ---- the same snapshot in two streams ----


def test_a_curator_is_told_that_a_snapshot_was_posted_to_another_stream(offline):
    for name in ("first", "second"):
        offline.create(name)
    answers = [offline.post(0, edges(3), name) for name in ("first", "second", "second")]
    assert [each.json()["also_in"] for each in answers] == [[], ["first"], ["first"]]
    assert len({len(each.content) for each in answers}) == 1
    more = offline.post(1, edges(3) + b"0,9\n", "second")
    assert more.json()["also_in"] == []
    previewed = offline.call("POST", "/streams/first/preview", content=edges(3), headers=CSV)
    assert previewed.json()["also_in"] == ["second"]
    entries = offline.call("GET", "/audit-log?log=curators").json()["entries"]
    assert [each["also_in"] for each in entries if each["stream"] == "second"] == [
        [],
        ["first"],
        ["first"],
    ]


def test_empty_snapshots_are_not_the_same_data(offline):
    for name in ("quiet", "silent"):
        offline.create(name)
        assert offline.post(0, b"u,v\n", name).json()["also_in"] == []


def test_no_one_learns_about_a_stream_that_the_token_does_not_see(offline):
    for name in ("hidden", "own"):
        offline.create(name)
        offline.post(0, edges(5), name)
    wanted = {"role": "curator", "streams": ["own"]}
    token = offline.call("POST", "/tokens", json=wanted).json()["token"]
    posted = offline.call(
        "POST", "/streams/own/snapshots/0", content=edges(5), headers=CSV, token=token
    )
    previewed = offline.call(
        "POST", "/streams/own/preview", content=edges(5), headers=CSV, token=token
    )
    log = offline.call("GET", "/audit-log?log=curators", token=token)
    main = offline.call("GET", "/audit-log", token=token)
    for answer in (posted, previewed, log, main):
        assert answer.status_code in (200, 202)
        assert "hidden" not in answer.text


# ---- the key by which repeated posts are recognised ----


def lose(key) -> None:
    key.unlink()


def swap(key) -> None:
    key.write_bytes(bytes(32))


def cut(key) -> None:
    key.write_bytes(key.read_bytes()[:16])


@pytest.mark.parametrize("damage", [lose, swap, cut])
def test_a_service_without_its_key_does_not_start(offline, damage):
    offline.create()
    offline.close()
    key = offline.directory / "key"
    kept = key.read_bytes()
    damage(key)
    found = key.read_bytes() if key.exists() else None
    with pytest.raises(LedgerError):
        offline.open()
    assert (key.read_bytes() if key.exists() else None) == found
    key.write_bytes(kept)
    offline.open()


def test_a_database_of_an_earlier_version_needs_its_key_too(offline):
    offline.create()
    offline.service.database.write("DELETE FROM key_check")
    offline.close()
    key = offline.directory / "key"
    kept = key.read_bytes()
    key.unlink()
    with pytest.raises(LedgerError):
        offline.open()
    key.write_bytes(kept)
    offline.open()
    offline.close()
    swap(key)
    with pytest.raises(LedgerError):
        offline.open()
    key.write_bytes(kept)
    offline.open()


def test_with_a_new_key_released_data_are_still_recognised(offline):
    offline.create()
    offline.post(0, edges())
    offline.publish()
    offline.close()
    (offline.directory / "key").unlink()
    offline.open(new_key=True)
    assert offline.post(0, edges()).status_code == 200
    assert offline.post(0, edges(2)).json()["error"] == "other_data"
    actions = [each["action"] for each in offline.call("GET", "/audit-log").json()["entries"]]
    assert "replace key" in actions
    offline.close()
    offline.open()
