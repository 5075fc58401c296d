"""Tokens, sessions and rate limits."""

from __future__ import annotations

import pytest

from psgraph.service import clock
from psgraph.service.audit_log import SERVICE, AuditLog
from psgraph.service.authentication import Sessions
from psgraph.service.database import SqliteDatabase
from psgraph.service.problems import Refusal
from psgraph.service.schemas import NewToken
from psgraph.service.tokens import Tokens
from tests.service.offline import Offline


@pytest.fixture
def database(tmp_path):
    opened = SqliteDatabase(tmp_path / "service.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def tokens(database):
    return Tokens(database, AuditLog(database))


def make(tokens, **terms):
    return tokens.create(NewToken(**{"role": "curator", **terms}), SERVICE)


def test_only_a_hash_of_a_token_is_stored(tokens, database):
    made = make(tokens)
    secret = made.token.split("_", 2)[2]  # may contain _ itself
    ((stored,),) = database.rows("SELECT hash FROM tokens")
    assert stored.startswith("$argon2id$")
    everything = database.path.read_bytes() + database.path.with_suffix(".sqlite-wal").read_bytes()
    assert secret.encode() not in everything


def test_a_token_is_recognised_and_no_other(tokens):
    made = make(tokens, role="analyst", streams=["calls"])
    found = tokens.check(made.token)
    assert (found.token, found.role, found.streams) == (made.id, "analyst", frozenset({"calls"}))
    assert tokens.recognised(made.token) == found
    for wrong in (made.token[:-1], made.token + "A", made.token.swapcase(), "", "psg_", "\udcff"):
        assert tokens.check(wrong) is None


def test_an_expired_token_stops_working(tokens, monkeypatch):
    made = make(tokens, expires_days=1)
    assert tokens.check(made.token) is not None
    later = clock.now() + 86_401
    monkeypatch.setattr(clock, "now", lambda: later)
    assert tokens.recognised(made.token) is None
    assert tokens.check(made.token) is None


def test_a_revoked_token_stops_working_at_once(tokens):
    make(tokens)
    made = make(tokens)
    assert tokens.check(made.token) is not None
    tokens.revoke(made.id, SERVICE)
    assert tokens.recognised(made.token) is None
    assert tokens.check(made.token) is None


def test_the_last_curator_token_can_not_be_revoked(tokens):
    made = make(tokens)
    make(tokens, streams=["calls"])
    with pytest.raises(Refusal) as refused:
        tokens.revoke(made.id, SERVICE)
    assert refused.value.error == "last_curator"
    assert tokens.check(made.token) is not None


def test_a_first_token_is_made_once(tmp_path, monkeypatch):
    offline = Offline(tmp_path / "service", monkeypatch)
    assert offline.service.first_token() is None
    assert offline.service.first_token(again=True) is not None
    offline.close()


def test_a_session_ends_with_its_time(database):
    sessions = Sessions(1, database)
    cookie, session = sessions.start("abc")
    assert sessions.find(cookie) == session
    assert sessions.find(cookie + "x") is None
    sessions.clock = lambda: session.ends + 1
    assert sessions.find(cookie) is None


# ---- the gate ----


@pytest.fixture
def offline(tmp_path, monkeypatch):
    service = Offline(
        tmp_path / "service",
        monkeypatch,
        requests_per_second=0.01,
        burst=5,
        failures_per_minute=2,
    )
    yield service
    service.close()


def test_a_token_that_asks_too_often_has_to_wait(offline):
    statuses = [offline.call("GET", "/streams").status_code for _ in range(6)]
    assert statuses == [200] * 5 + [429]
    refused = offline.call("GET", "/streams")
    assert int(refused.headers["Retry-After"]) > 0
    assert offline.call("GET", "/streams", token=None).status_code == 200


def test_wrong_tokens_are_not_even_looked_at_after_some_time(offline, monkeypatch):
    wrong = f"psg_{'a' * 12}_{'b' * 43}"
    assert offline.call("GET", "/streams").status_code == 200
    for _ in range(2):
        assert offline.call("GET", "/streams", token=wrong).status_code == 401
    monkeypatch.setattr(offline.service.tokens, "check", pytest.fail)
    assert offline.call("GET", "/streams", token=wrong).status_code == 429
    assert offline.call("GET", "/streams").status_code == 200  # a token that is known


def test_a_session_changes_something_only_with_its_csrf_token(offline):
    gate, service = offline.service.gate, offline.service
    cookie, session = service.sessions.start(offline.token.split("_")[1])
    offline.client.cookies.set(gate.cookie_name, cookie)
    wanted = {"role": "analyst"}
    assert offline.call("GET", "/tokens", token=None).status_code == 200
    without = offline.call("POST", "/tokens", token=None, json=wanted)
    assert (without.status_code, without.json()["error"]) == (403, "csrf")
    headers = {"X-CSRF-Token": session.csrf}
    made = offline.call("POST", "/tokens", token=None, json=wanted, headers=headers)
    assert made.status_code == 201


def test_a_revoked_token_ends_its_sessions(offline):
    service = offline.service
    made = service.tokens.create(NewToken(role="auditor"), SERVICE)
    cookie, _ = service.sessions.start(made.id)
    offline.client.cookies.set(service.gate.cookie_name, cookie)
    assert offline.call("GET", "/audit-log", token=None).status_code == 200
    service.tokens.revoke(made.id, SERVICE)
    assert offline.call("GET", "/audit-log", token=None).status_code == 401
