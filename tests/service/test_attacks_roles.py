"""Who may do what: every operation of the OpenAPI description, with the token of every role."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from tests.service.scenario import CSV, as_csv, edges, new_stream, post, roster
from tests.service.server import Answer, Server

EVERYONE = {"curator", "analyst", "auditor", "administrator", "public"}
READERS = {"curator", "analyst", "public"}
OVERSEERS = {"curator", "auditor", "administrator"}
SIGNED_IN = {"curator", "analyst", "auditor", "administrator"}
MANAGERS = {"curator", "administrator"}
CURATOR = {"curator"}

# Written out by hand: a new operation fails here until someone has decided who may use it.
ALLOWED = {
    "GET /healthz": EVERYONE,
    "GET /readyz": EVERYONE,
    "GET /metrics": EVERYONE,
    "GET /api/v1/streams": EVERYONE,
    "POST /api/v1/streams": CURATOR,
    "GET /api/v1/streams/{stream}": EVERYONE,
    "PATCH /api/v1/streams/{stream}": MANAGERS,
    "POST /api/v1/streams/{stream}/catch-up": CURATOR,
    "POST /api/v1/streams/{stream}/measure-again": CURATOR,
    "PUT /api/v1/streams/{stream}/roster": CURATOR,
    "POST /api/v1/streams/{stream}/snapshots/{timestamp}": CURATOR,
    "POST /api/v1/streams/{stream}/events": CURATOR,
    "POST /api/v1/streams/{stream}/preview": CURATOR,
    "GET /api/v1/streams/{stream}/timestamps/{timestamp}": EVERYONE,
    "GET /api/v1/streams/{stream}/releases": EVERYONE,
    "GET /api/v1/streams/{stream}/releases/{timestamp}": EVERYONE,
    "GET /api/v1/streams/{stream}/releases/{timestamp}/certificate": EVERYONE,
    "GET /api/v1/streams/{stream}/releases/{timestamp}/edges": READERS,
    "GET /api/v1/streams/{stream}/releases/{timestamp}/nodes": READERS,
    "GET /api/v1/streams/{stream}/export": READERS,
    "GET /api/v1/streams/{stream}/report": READERS,
    "GET /api/v1/streams/{stream}/budget": OVERSEERS,
    "GET /api/v1/streams/{stream}/verify": OVERSEERS,
    "GET /api/v1/streams/{stream}/comparison": CURATOR,
    "GET /api/v1/streams/{stream}/comparison/report": CURATOR,
    "GET /api/v1/audit-log": OVERSEERS,
    "GET /api/v1/audit-log/verify": OVERSEERS,
    "GET /api/v1/audit-log/export": OVERSEERS,
    "GET /api/v1/tokens": MANAGERS,
    "POST /api/v1/tokens": MANAGERS,
    "DELETE /api/v1/tokens/{token}": MANAGERS,
    "POST /api/v1/plan": SIGNED_IN,
}
SLOW = {"GET /api/v1/streams/{stream}/report", "GET /api/v1/streams/{stream}/comparison/report"}


def described(server: Server) -> dict[str, dict[str, Any]]:
    """The operations of the OpenAPI description."""
    paths = server.call("GET", "/openapi.json").json["paths"]
    return {
        f"{method.upper()} {path}": operation
        for path, operations in paths.items()
        for method, operation in operations.items()
    }


def send(server: Server, operation: str, stream: str, token: str | None) -> Answer:
    """Send an operation with a body that no role gets through with."""
    method, path = operation.split(" ")
    path = path.format(stream=stream, timestamp=0, token="aaaaaaaaaaaa")
    nonsense = {} if method in ("GET", "DELETE") else {"content": {"unknown": 1}}
    return server.call(method, path, token=token, api=False, **nonsense)  # type: ignore[arg-type]


def test_every_operation_is_in_the_table(server: Server) -> None:
    assert set(described(server)) == set(ALLOWED)


@pytest.mark.parametrize("operation", ALLOWED)
def test_the_description_states_the_roles(server: Server, operation: str) -> None:
    stated = set(described(server)[operation]["x-roles"])
    assert (EVERYONE if stated == {"public"} else stated) == ALLOWED[operation]


@pytest.mark.parametrize("operation", ALLOWED)
def test_a_role_gets_what_it_may_and_nothing_else(
    server: Server, tokens: dict[str, str], released: str, operation: str
) -> None:
    for role, token in tokens.items():
        if role in ALLOWED[operation] and operation in SLOW:
            continue
        answer = send(server, operation, released, token)
        if role in ALLOWED[operation]:
            assert answer.status not in (401, 403), (role, answer.text)
            assert answer.status < 500, (role, answer.text)
        else:
            assert answer.status == 403, (role, answer.text)
            assert answer.json["error"] == "forbidden"


@pytest.mark.parametrize("operation", ALLOWED)
def test_without_a_token_only_public_streams_exist(
    server: Server, released: str, operation: str
) -> None:
    if "{stream}" in operation:
        hidden = send(server, operation, released, None)
        missing = send(server, operation, "no-such-stream", None)
        assert hidden.status == missing.status == 401
        assert hidden.body == missing.body
    elif "public" in ALLOWED[operation]:
        answer = send(server, operation, released, None)
        assert answer.status == 200
        assert released not in answer.text
    else:
        assert send(server, operation, released, None).status == 401


@pytest.mark.parametrize(
    "operation", [each for each in ALLOWED if "{stream}" in each and each not in SLOW]
)
def test_a_token_of_another_stream_can_not_tell_this_one_from_none(
    server: Server, untouched: str, released: str, operation: str
) -> None:
    limited = {"role": "curator", "streams": [untouched]}
    token = server.call("POST", "/tokens", content=limited).json["token"]
    hidden = send(server, operation, released, token)
    missing = send(server, operation, "no-such-stream", token)
    assert hidden.status == missing.status
    assert hidden.status in (404, 422)
    assert hidden.body == missing.body


@pytest.mark.parametrize(
    "operation", ["POST /api/v1/streams", "GET /api/v1/tokens", "POST /api/v1/tokens"]
)
def test_a_curator_of_one_stream_can_not_make_streams_or_tokens(
    server: Server, untouched: str, operation: str
) -> None:
    limited = {"role": "curator", "streams": [untouched]}
    token = server.call("POST", "/tokens", content=limited).json["token"]
    assert send(server, operation, untouched, token).status == 403


def test_the_audit_log_of_a_limited_token_is_about_its_streams(
    server: Server, untouched: str, released: str
) -> None:
    limited = {"role": "auditor", "streams": [untouched]}
    token = server.call("POST", "/tokens", content=limited).json["token"]
    answer = server.call("GET", "/audit-log?limit=1000", token=token)
    assert released not in answer.text
    assert {entry["stream"] for entry in answer.json["entries"]} <= {untouched, None}


def test_a_public_stream_is_read_without_a_token_and_nothing_more(server: Server) -> None:
    name = new_stream(server, public=True)
    for path in ("", "/releases"):
        assert server.call("GET", f"/streams/{name}{path}", token=None).status == 200
    for path in ("/budget", "/verify", "/comparison"):
        assert server.call("GET", f"/streams/{name}{path}", token=None).status == 401
    assert post(server, name, 0, as_csv(edges(0)), token=None).status == 401


def test_a_role_can_not_be_claimed_in_a_request(server: Server, tokens: dict[str, str]) -> None:
    claims = {"X-Role": "curator", "X-Forwarded-User": "curator", "Cookie": "psgraph=curator"}
    answer = server.call("GET", "/tokens", token=tokens["analyst"], headers=claims)
    assert answer.status == 403
    answer = server.call("GET", "/tokens?role=curator", token=tokens["analyst"])
    assert answer.status == 403
    answer = server.call("POST", "/tokens", content={"role": "operator"})
    assert answer.status == 422


def test_the_method_can_not_be_overridden(
    server: Server, tokens: dict[str, str], released: str
) -> None:
    override = {"X-HTTP-Method-Override": "PUT", **CSV}
    path = f"/streams/{released}/roster"
    assert server.call("GET", path, body=roster(), headers=override).status == 405
    for method in ("PATCH", "TRACE", "CONNECT", "DELETE"):
        assert server.call(method, path, token=tokens["analyst"]).status in (400, 403, 404, 405)


# ---- tokens that no longer work ----


def test_a_revoked_token_stops_working_at_once(server: Server) -> None:
    made = server.call("POST", "/tokens", content={"role": "auditor"}).json
    assert server.call("GET", "/audit-log", token=made["token"]).status == 200
    assert server.call("DELETE", f"/tokens/{made['id']}").status == 200
    answer = server.call("GET", "/audit-log", token=made["token"])
    assert answer.status == 401
    assert answer.json["remedy"]


def test_an_expired_token_stops_working(server: Server) -> None:
    made = server.call("POST", "/tokens", content={"role": "auditor", "expires_days": 1}).json
    assert server.call("GET", "/audit-log", token=made["token"]).status == 200
    server.stop()
    (database,) = server.directory.glob("*.sqlite")
    with sqlite3.connect(database, timeout=10) as connection:
        connection.execute(
            "UPDATE tokens SET expires = '2020-01-01T00:00:00Z' WHERE id = ?", (made["id"],)
        )
    connection.close()
    server.start()
    assert server.call("GET", "/audit-log", token=made["token"]).status == 401


def test_an_unknown_a_wrong_and_a_revoked_token_are_answered_alike(server: Server) -> None:
    made = server.call("POST", "/tokens", content={"role": "auditor"}).json
    server.call("DELETE", f"/tokens/{made['id']}")
    wrong = f"psg_{made['id']}_{'A' * 43}"
    unknown = f"psg_{'a' * 12}_{'A' * 43}"
    answers = [
        server.call("GET", "/audit-log", token=each) for each in (made["token"], wrong, unknown)
    ]
    assert {each.status for each in answers} == {401}
    assert len({each.body for each in answers}) == 1


def test_no_token_is_stored_in_a_readable_form(server: Server, tokens: dict[str, str]) -> None:
    secret = tokens["analyst"].split("_", 2)[2].encode()  # a secret may hold "_" itself
    files = [path for path in server.directory.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in [*files, server.log] if secret in path.read_bytes()]
    assert server.directory.stat().st_mode & 0o077 == 0


def test_the_last_curator_can_not_lock_everyone_out(server: Server) -> None:
    identifier = server.token.split("_")[1]
    others = [
        each["id"]
        for each in server.call("GET", "/tokens").json
        if each["role"] == "curator" and each["id"] != identifier
    ]
    for each in others:
        server.call("DELETE", f"/tokens/{each}")
    answer = server.call("DELETE", f"/tokens/{identifier}")
    assert answer.status == 409
    assert server.call("GET", "/tokens").status == 200
