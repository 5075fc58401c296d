"""The audit log: append-only, chained, and without private data for auditors."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

import pytest

from psgraph.errors import LedgerError
from psgraph.service.audit_log import SERVICE, AuditLog
from psgraph.service.database import MIGRATIONS, SqliteDatabase
from psgraph.service.permissions import Identity
from tests.service.offline import CSV, Offline, edges


@pytest.fixture
def database(tmp_path):
    opened = SqliteDatabase(tmp_path / "service.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def log(database):
    log = AuditLog(database)
    for number in range(5):
        log.add(SERVICE, f"action {number}", stream="calls" if number % 2 else "mails")
    return log


def without_triggers(database) -> sqlite3.Connection:
    connection = sqlite3.connect(database.path, isolation_level=None)
    connection.execute("DROP TRIGGER audit_keeps")
    connection.execute("DROP TRIGGER audit_stays")
    return connection


@pytest.mark.parametrize("change", ["DELETE FROM audit", "UPDATE audit SET digest = ''"])
def test_entries_can_be_neither_changed_nor_deleted(log, database, change):
    with pytest.raises(sqlite3.IntegrityError):
        database.write(change)
    assert log.verify(SERVICE).ok


@pytest.mark.parametrize(
    ("change", "entry"),
    [
        ("UPDATE audit SET content = replace(content, '2', '3') WHERE number = 2", "2"),
        ("DELETE FROM audit WHERE number = 2", "2"),
        ("DELETE FROM audit WHERE number = 4", ""),
    ],
)
def test_a_change_behind_its_back_is_found(log, database, change, entry):
    head = log.head()
    without_triggers(database).execute(change)
    found = log.verify(SERVICE, known_head=head)
    assert not found.ok
    assert entry in found.problem


def test_a_head_that_was_noted_stays_part_of_the_chain(log):
    head = log.head()
    log.add(SERVICE, "more")
    assert log.verify(SERVICE, known_head=head).ok
    assert not log.verify(SERVICE, known_head="f" * 64).ok


def test_pages_are_newest_first_and_can_be_limited_to_streams(log):
    assert [each.number for each in log.entries(limit=2)] == [4, 3]
    assert [each.number for each in log.entries(before=3, limit=9)] == [2, 1, 0]
    assert [each.number for each in log.entries(streams=["calls"])] == [1, 0]
    assert (log.count("main"), log.count("main", streams=["calls"])) == (5, 2)


def test_a_newer_database_is_refused(tmp_path):
    SqliteDatabase(tmp_path / "file", (*MIGRATIONS, "CREATE TABLE more (x)")).close()
    before = (tmp_path / "file").read_bytes()
    with pytest.raises(LedgerError):
        SqliteDatabase(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == before


def test_a_database_of_another_program_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"something else" * 100)
    with pytest.raises(LedgerError):
        SqliteDatabase(tmp_path / "file")


def test_a_failed_transaction_leaves_nothing(database):
    with suppress(ZeroDivisionError), database.transaction():
        database.write(
            "INSERT INTO streams (name, terms, out, created, adopted) VALUES ('a', '', '', '', 0)"
        )
        assert database.rows("SELECT * FROM streams")
        raise ZeroDivisionError
    assert not database.rows("SELECT * FROM streams")


# ---- what auditors see ----


def test_every_private_access_is_recorded(tmp_path, monkeypatch):
    offline = Offline(tmp_path / "service", monkeypatch)
    offline.create(keep_originals_days=1)
    headers = {"Content-Type": "text/csv"}
    offline.call("POST", "/streams/calls/preview", content=edges(), headers=headers)
    offline.post(0, edges())
    offline.post(0, edges())
    offline.post(0, edges(2))
    offline.post(1, b"u,v\n1,nobody\n")
    offline.publish()
    offline.call("GET", "/streams/calls/comparison")
    entries = offline.call("GET", "/audit-log").json()["entries"]
    outcomes = offline.call("GET", "/audit-log?log=curators").json()["entries"]
    offline.close()
    done = [(each["action"], each["timestamp"], each["outcome"]) for each in entries[::-1]][3:]
    assert done == [
        ("preview", None, "received"),
        ("post snapshot", 0, "received"),
        ("post snapshot", 0, "received"),
        ("post snapshot", 0, "received"),
        ("post snapshot", 1, "received"),
        ("release", 0, "released"),
        ("compare", None, "done"),
    ]
    assert [(each["action"], each["timestamp"], each["outcome"]) for each in outcomes[::-1]] == [
        ("preview", None, "done"),
        ("post snapshot", 0, "accepted"),
        ("post snapshot", 0, "known"),
        ("post snapshot", 0, "other_data"),
        ("post snapshot", 1, "unreadable"),
    ]


BODIES = {
    "accepted": edges(),
    "a row that is no edge": edges() + b"1,nobody\n",
    "a node outside the roster": edges() + b"1,99999\n",
    "too many bytes": edges() + b"1,2\n" * 20_000,
    "nothing": b"",
    "damaged": b"\x1f\x8b damaged",
    "no text": b"PAR1" + edges(),
}


def test_an_auditor_sees_the_same_log_whatever_was_posted_and_why_it_was_refused(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("psgraph.service.audit_log.now_text", lambda: "2026-05-28T20:26:40Z")
    monkeypatch.setattr("psgraph.service.tokens._LETTERS", "a")
    seen, refused, logged = {}, set(), set()
    for number, (name, body) in enumerate(BODIES.items()):
        offline = Offline(tmp_path / str(number), monkeypatch, upload_bytes=50_000)
        offline.create(period="1d", missing="empty")
        identity = Identity("auditor", "auditor")
        posted = offline.post(0, body)
        offline.call("POST", "/streams/calls/preview", content=body, headers=CSV)
        refused.add(posted.json().get("error", "accepted"))
        main = offline.service.audit
        seen[name] = (
            main.page(identity, "main", before=None, limit=100).model_dump(),
            main.verify(SERVICE).model_dump(),
            offline.state(0),
            offline.call("GET", "/streams/calls").content,
            offline.client.get("/metrics").text.partition("psgraph_requests_total")[2],
        )
        logged.add(offline.call("GET", "/audit-log?log=curators").json()["entries"][-1]["outcome"])
        offline.close()
    assert refused == logged
    assert len(refused) == 5
    for name, each in seen.items():
        assert each == seen["accepted"], name


def test_codes_in_a_log_of_an_earlier_version_are_hidden_from_auditors(log):
    log.add(SERVICE, "post snapshot", stream="calls", timestamp=0, outcome="outside_roster")
    outcomes = [
        log.page(Identity("one", role), "main", before=None, limit=1).entries[0].outcome
        for role in ("auditor", "curator")
    ]
    assert outcomes == ["received", "outside_roster"]
    assert log.verify(SERVICE).ok


def test_posts_of_events_of_an_earlier_version_move_to_the_log_of_curators(tmp_path):
    old = SqliteDatabase(tmp_path / "file", MIGRATIONS[:1])
    AuditLog(old).add(SERVICE, "post events", log="events")
    old.close()
    new = AuditLog(SqliteDatabase(tmp_path / "file"))
    assert new.count("curators") == 1
    assert new.verify(SERVICE, "curators").ok


def test_an_auditor_does_not_see_how_often_events_were_posted(tmp_path, monkeypatch):
    offline = Offline(tmp_path / "service", monkeypatch)
    offline.create(source="events", period="1d", first_period="2026-05-28")
    auditor = offline.call("POST", "/tokens", json={"role": "auditor"}).json()["token"]
    before = offline.call("GET", "/audit-log", token=auditor).content
    for number in range(3):
        rows = f"u,v,time\n1,{2 + number},2026-05-28T21:00:00Z\n".encode()
        assert offline.events(f"post-000{number}", rows).status_code == 202
    assert offline.call("GET", "/audit-log", token=auditor).content == before
    assert offline.call("GET", "/audit-log?log=curators", token=auditor).status_code == 403
    assert offline.call("GET", "/audit-log?log=curators").json()["total"] == 3
    offline.close()
