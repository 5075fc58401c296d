"""Wrong JSON, and requests for what is not there: right status, a remedy, nothing made."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.service.scenario import is_a_refusal, stored
from tests.service.server import Server

NEW = {"name": "wrong", "epsilon": "1", "window": 3}
WRONG_STREAMS = {
    "no name": {"epsilon": "1", "window": 3},
    "no epsilon": {"name": "wrong", "window": 3},
    "epsilon 0": {**NEW, "epsilon": "0"},
    "negative epsilon": {**NEW, "epsilon": "-1"},
    "epsilon with too many digits": {**NEW, "epsilon": 0.12345678901234567},
    "epsilon 1/0": {**NEW, "epsilon": "1/0"},
    "epsilon nan": {**NEW, "epsilon": "nan"},
    "epsilon infinity": {**NEW, "epsilon": "inf"},
    "epsilon with a huge exponent": {**NEW, "epsilon": "1e999999999"},
    "epsilon that protects nothing": {**NEW, "epsilon": "1000"},
    "window 0": {**NEW, "window": 0},
    "window as text": {**NEW, "window": "many"},
    "window too large": {**NEW, "window": 10**9},
    "another method": {**NEW, "method": "os.system"},
    "a parameter that is none": {**NEW, "parameters": {"nonsense": "1"}},
    "an unknown field": {**NEW, "surprise": 1},
    "an upper-case name": {**NEW, "name": "Wrong"},
    "a name with dots": {**NEW, "name": "../wrong"},
    "a name with a line break": {**NEW, "name": "wrong\n"},
    "an empty name": {**NEW, "name": ""},
    "a long name": {**NEW, "name": "w" * 64},
    "a period that is none": {**NEW, "period": "fortnightly"},
    "events without a period": {**NEW, "source": "events"},
    "a first period that is none": {**NEW, "period": "1d", "first_period": "soon"},
    "a zone that is none": {**NEW, "period": "1d", "timezone": "Mars/Olympus"},
    "a zone with a path": {**NEW, "period": "1d", "timezone": "../../etc/passwd"},
    "a negative seed": {**NEW, "seed": -1},
    "a list": [NEW],
    "text": "wrong",
    "nothing": None,
}


@pytest.mark.parametrize("case", WRONG_STREAMS)
def test_a_stream_that_can_not_be_created(server: Server, case: str) -> None:
    content = WRONG_STREAMS[case]
    body = json.dumps(content).encode()
    headers = {"Content-Type": "application/json"}
    is_a_refusal(server.call("POST", "/streams", body=body, headers=headers), 422)
    home = server.directory / "streams" / "wrong"
    left = home.exists()
    shutil.rmtree(home, ignore_errors=True)  # so that the next case does not fail with this one
    assert not left
    assert "wrong" not in {each["name"] for each in server.call("GET", "/streams").json}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"name": "wrong", "name": "wrong"', b"nul"],
)
@pytest.mark.parametrize("path", ["/streams", "/tokens", "/plan"])
def test_a_body_that_is_no_json(server: Server, path: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    is_a_refusal(server.call("POST", path, body=body, headers=headers), (400, 422))


def test_a_body_that_is_too_large_for_json(server: Server) -> None:
    body = b'{"name": "' + b"x" * (2 << 20) + b'"}'
    headers = {"Content-Type": "application/json"}
    is_a_refusal(server.call("POST", "/streams", body=body, headers=headers), 413)


def test_a_name_that_is_taken(server: Server, untouched: str) -> None:
    before = stored(server, untouched)
    again = {"name": untouched, "epsilon": "20", "window": 1}
    is_a_refusal(server.call("POST", "/streams", content=again), 409, "name_taken")
    assert stored(server, untouched) == before
    assert server.call("GET", f"/streams/{untouched}").json["epsilon"] == "1"


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"role": "root"},
        {"role": "analyst", "expires_days": 0},
        {"role": "analyst", "streams": ["../x"]},
        {"role": "analyst", "label": "x" * 101},
        {"role": ["curator"]},
    ],
)
def test_a_token_that_can_not_be_made(server: Server, content: object) -> None:
    before = server.call("GET", "/tokens").json
    is_a_refusal(server.call("POST", "/tokens", content=content), 422)
    assert server.call("GET", "/tokens").json == before


@pytest.mark.parametrize("identifier", ["x", "a" * 12, "..%2f..%2f", "%00"])
def test_a_token_that_is_not_there_can_not_be_revoked(server: Server, identifier: str) -> None:
    is_a_refusal(server.call("DELETE", f"/tokens/{identifier}"), (404, 405, 422))


@pytest.mark.parametrize(
    "content",
    [{}, {"epsilon": "0", "window": 1, "nodes": 5}, {"epsilon": "1", "window": 1, "nodes": -1}],
)
def test_a_plan_that_makes_no_sense(server: Server, content: object) -> None:
    is_a_refusal(server.call("POST", "/plan", content=content), 422)


# ---- reading what is not there ----


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/streams/{}/releases/2", 404),
        ("/streams/{}/releases/999999999/edges", 404),
        ("/streams/{}/releases/-1", 422),
        ("/streams/{}/releases/x/certificate", 422),
        ("/streams/{}/releases/0/edges?format=xlsx", 422),
        ("/streams/{}/releases?since=-1", 422),
        ("/streams/{}/releases?limit=1000000", 422),
        ("/streams/{}/export?format=exe", 422),
        ("/streams/no-such-stream", 404),
        ("/streams/No-Such-Stream", 422),
        ("/audit-log?limit=0", 422),
        ("/audit-log?log=private", 422),
        ("/audit-log/verify?known_head=short", 422),
        ("/nonsense", 404),
    ],
)
def test_reading_what_is_not_there(server: Server, released: str, path: str, status: int) -> None:
    is_a_refusal(server.call("GET", path.format(released)), status)
