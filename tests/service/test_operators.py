"""What operators and officers do: backups, pausing, administrators, tokens, failed sign-ins."""

from __future__ import annotations

import csv
import io
import json

import pytest

from psgraph.errors import InvalidArgument
from psgraph.service.backup import back_up
from tests.service.offline import Offline, edges
from tests.service.postgres import Postgres, needs_postgres


@pytest.fixture
def offline(tmp_path, monkeypatch):
    service = Offline(tmp_path / "service", monkeypatch)
    yield service
    service.close()


def token(offline, role: str) -> str:
    if role == "administrator":
        return offline.service.new_administrator()
    return offline.call("POST", "/tokens", json={"role": role}).json()["token"]


# ---- backups ----


def test_a_service_continues_from_a_backup_made_while_it_ran(offline, tmp_path, monkeypatch):
    offline.create()
    for timestamp in range(3):
        offline.post(timestamp, edges(timestamp + 1))
        if timestamp < 2:
            offline.publish()
    backup = back_up(offline.directory, tmp_path / "copy")
    assert backup.sealed == {"calls": 2}
    offline.publish()  # the original continues
    copy = Offline(tmp_path / "copy", monkeypatch)
    copy.token = offline.token
    copy.publish()
    assert copy.state(2) == "released"
    assert copy.post(0, edges(1)).status_code == 200
    assert copy.call("GET", "/streams/calls/verify").json()["ok"]
    assert copy.call("GET", "/audit-log/verify").json()["ok"]
    copy.close()


def test_what_was_released_during_a_backup_is_not_drawn_again(offline, tmp_path, monkeypatch):
    """The database is copied first: its queue still holds what the ledger has sealed."""
    from psgraph.service import backup

    offline.create()
    offline.post(0, edges())
    copy_stream = backup._copy_stream

    def meanwhile(*arguments):
        offline.publish()
        copy_stream(*arguments)

    monkeypatch.setattr(backup, "_copy_stream", meanwhile)
    assert back_up(offline.directory, tmp_path / "copy").sealed == {"calls": 1}
    copy = Offline(tmp_path / "copy", monkeypatch)
    copy.token = offline.token
    copy.publish()
    assert copy.state(0) == "released"
    first, second = (
        each.call("GET", "/streams/calls/releases/0/certificate").content
        for each in (offline, copy)
    )
    assert first == second
    copy.close()


def test_a_backup_has_a_directory_of_its_own(offline, tmp_path):
    for wrong in (tmp_path, offline.directory / "copy"):
        with pytest.raises(InvalidArgument):
            back_up(offline.directory, wrong)
    with pytest.raises(InvalidArgument):
        back_up(tmp_path / "nothing", tmp_path / "copy")


@needs_postgres
def test_a_service_on_postgres_is_backed_up_into_a_file(tmp_path, monkeypatch):
    from psgraph.service.database import SqliteDatabase
    from psgraph.service.service import Service
    from psgraph.service.settings import Settings

    with Postgres() as server:
        service = Service(Settings(tmp_path / "service", database=server.address))
        secret = service.first_token()
        back_up(tmp_path / "service", tmp_path / "copy", service.database)
        service.stop()
    SqliteDatabase(tmp_path / "copy" / "service.sqlite").close()
    copy = Service(Settings(tmp_path / "copy"))
    assert copy.tokens.check(secret).role == "curator"
    copy.stop()


# ---- pausing, archiving, retitling ----


def change(offline, **what):
    return offline.call("PATCH", "/streams/calls", json=what)


def test_a_paused_stream_takes_data_and_releases_nothing(offline):
    offline.create()
    assert change(offline, activity="paused").json()["activity"] == "paused"
    assert offline.post(0, edges()).status_code == 202
    offline.publish()
    assert offline.state(0) == "due"
    view = offline.call("GET", "/streams/calls").json()
    assert (view["health"], view["reason"]) == (
        "waiting",
        "The stream is paused: nothing is released.",
    )
    change(offline, activity="active")
    offline.publish()
    assert offline.state(0) == "released"


def test_an_archived_stream_takes_no_data_and_keeps_its_releases(offline):
    offline.create()
    offline.post(0, edges())
    offline.publish()
    change(offline, activity="archived", title="Old calls")
    offline.close()
    offline.open()
    assert offline.post(1, edges()).json()["error"] == "archived"
    view = offline.call("GET", "/streams/calls").json()
    assert (view["title"], view["activity"], view["released"]) == ("Old calls", "archived", 1)
    assert offline.call("GET", "/streams/calls/releases/0/edges").status_code == 200
    told = [each.action for each in offline.service.audit.entries()]
    assert told[1:3] == ["archive stream", "retitle stream"]


# ---- administrators ----


def test_an_administrator_manages_tokens_and_streams_and_gets_no_data(offline):
    offline.create()
    offline.post(0, edges())
    offline.publish()
    admin = token(offline, "administrator")
    may = {
        ("GET", "/tokens"): 200,
        ("GET", "/audit-log"): 200,
        ("GET", "/streams/calls/budget"): 200,
        ("GET", "/streams/calls/releases/0/edges"): 403,
        ("GET", "/audit-log?log=curators"): 403,
        ("GET", "/streams/calls/comparison"): 403,
        ("POST", "/streams/calls/snapshots/1"): 403,
    }
    for (method, path), status in may.items():
        assert offline.call(method, path, token=admin).status_code == status, path
    new = {"role": "administrator"}
    assert offline.call("POST", "/tokens", json=new).status_code == 403
    assert offline.call("POST", "/tokens", json=new, token=admin).status_code == 201
    own = admin.split("_")[1]
    assert offline.call("DELETE", f"/tokens/{own}").status_code == 403


# ---- tokens and sign-ins ----


def test_the_day_of_the_last_use_is_written_down(offline):
    secret = token(offline, "analyst")
    offline.call("GET", "/streams", token=secret)
    offline.service.tokens.write_down()
    used = {each["role"]: each["used"] for each in offline.call("GET", "/tokens").json()}
    assert used["analyst"] == used["curator"] == "2026-05-28"


def test_failed_sign_ins_are_counted_in_the_audit_log(offline):
    known = token(offline, "analyst").split("_")[1]
    for wrong in (f"psg_{known}_{'a' * 43}", f"psg_{'b' * 12}_{'a' * 43}", "nonsense"):
        assert offline.call("GET", "/streams", token=wrong).status_code == 401
    offline.service.tokens.write_down()
    told = [each for each in offline.service.audit.entries() if each.action == "failed sign-in"]
    assert {each.outcome for each in told} == {
        "2 attempts with an unknown token",
        f"1 attempt with a wrong secret for {known}",
    }


def test_the_audit_log_can_be_filtered_and_downloaded(offline):
    offline.create()
    offline.create("other")
    auditor = token(offline, "auditor")
    found = offline.call("GET", "/audit-log?action=create stream&stream=other", token=auditor)
    assert [each["stream"] for each in found.json()["entries"]] == ["other"]
    assert offline.call("GET", "/audit-log?since=2027").json()["entries"] == []
    answer = offline.call("GET", "/audit-log/export?stream=calls", token=auditor)
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [each["action"] for each in rows] == ["set roster", "create stream"]
    assert answer.headers["content-type"].startswith("text/csv")
    refused = offline.call("GET", "/audit-log/export?log=curators", token=auditor)
    assert refused.status_code == 403


def test_a_limited_auditor_pages_through_filtered_entries(offline):
    offline.create("other")
    offline.create()
    new = {"role": "auditor", "streams": ["calls"]}
    secret = offline.call("POST", "/tokens", json=new).json()["token"]
    newest = offline.call("GET", "/audit-log?limit=1", token=secret).json()
    assert [each["number"] for each in newest["entries"]] == [1]
    older = offline.call("GET", "/audit-log?before=1", token=secret).json()
    assert [each["action"] for each in older["entries"]] == ["create stream"]
    assert "other" not in json.dumps(older)
