"""The application: its addresses, its errors and its headers."""

from __future__ import annotations

import json
import sqlite3

import pytest

from psgraph.service.problems import SIZE
from tests.service.offline import CSV, Offline, edges


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        service = Offline(tmp_path_factory.mktemp("app") / "service", patch)
        service.create()
        service.create("open", public=True)
        yield service
        service.close()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/nonsense", 404),
        ("GET", "/api/v1/streams/calls/roster", 405),
        ("DELETE", "/api/v1/streams", 405),
        ("GET", "/api/v1/streams/none", 404),
        ("GET", "/api/v1/streams/..%2f..%2fetc", 404),
        ("POST", "/api/v1/streams", 422),
    ],
)
def test_every_error_of_the_interface_has_one_shape_and_one_size(offline, method, path, status):
    answer = offline.call(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"status", "title", "error", "message", "remedy"}
    assert len(answer.content) % SIZE == 0


def test_an_error_does_not_repeat_what_was_sent(offline):
    answer = offline.call("POST", "/streams", json={"name": "SECRET-17", "epsilon": ["SECRET-18"]})
    assert answer.status_code == 422
    assert "SECRET" not in answer.text


def test_an_unexpected_error_says_nothing_and_logs_no_text(offline, monkeypatch, capsys):
    secret = "ann is connected to bob"

    def fail(*_):
        raise RuntimeError(secret)

    monkeypatch.setattr(offline.service.streams, "seen_by", fail)
    answer = offline.call("GET", "/streams")
    assert (answer.status_code, answer.json()["error"]) == (500, "internal")
    printed = capsys.readouterr().err
    assert secret not in answer.text + printed
    assert "RuntimeError" in printed


def test_a_body_is_not_read_before_the_caller_is_known(offline):
    for body in (b"{", b"{}"):
        answer = offline.call("POST", "/tokens", token=None, content=body)
        assert (answer.status_code, answer.json()["error"]) == (401, "unauthorised")


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/streams", "/api/v1/nonsense", "/sign-in"])
def test_every_answer_has_the_security_headers(offline, path):
    headers = offline.client.get(path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] in ("no-referrer", "same-origin")
    assert "server" not in headers


def test_another_host_name_is_refused(offline):
    for host in ("evil.example", "localhost.evil.example", "", "localhost:80:80"):
        assert offline.client.get("/healthz", headers={"Host": host}).status_code == 421, host
    assert offline.client.get("/healthz", headers={"Host": "LOCALHOST:8765"}).status_code == 200


def test_a_large_body_is_refused_whether_or_not_it_is_announced(offline):
    def pieces():
        for _ in range(40):
            yield b" " * (1 << 15)

    for content in (b" " * (2 << 20), pieces()):
        answer = offline.call("POST", "/tokens", content=content)
        assert (answer.status_code, answer.json()["error"]) == (413, "too_large")


def test_the_description_names_the_roles_of_every_operation(offline):
    paths = offline.client.get("/api/v1/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            assert operation.get("x-roles"), (method, path)


def test_there_are_no_pages_that_load_scripts_from_other_sites(offline):
    for path in ("/docs", "/redoc"):
        assert "swagger" not in offline.client.get(path).text.lower()


def test_the_public_sees_public_streams_only(offline):
    names = [each["name"] for each in offline.call("GET", "/streams", token=None).json()]
    assert names == ["open"]
    hidden = offline.call("GET", "/streams/calls", token=None)
    missing = offline.call("GET", "/streams/nothing", token=None)
    assert hidden.status_code == missing.status_code == 401
    assert hidden.content == missing.content


def test_a_limited_token_sees_its_streams_only(offline):
    wanted = {"role": "analyst", "streams": ["open"]}
    token = offline.call("POST", "/tokens", json=wanted).json()["token"]
    hidden = offline.call("GET", "/streams/calls", token=token)
    missing = offline.call("GET", "/streams/nothing", token=token)
    assert hidden.status_code == missing.status_code == 404
    assert hidden.content == missing.content


def test_a_limited_curator_can_make_neither_streams_nor_tokens(offline):
    wanted = {"role": "curator", "streams": ["open"]}
    token = offline.call("POST", "/tokens", json=wanted).json()["token"]
    for path in ("/streams", "/tokens"):
        assert offline.call("POST", path, token=token, json={}).status_code == 403


def test_logs_hold_neither_queries_nor_posts_of_private_data(offline, capsys):
    offline.call("GET", "/streams/calls/releases?since=3&limit=17")
    offline.call("POST", "/streams/calls/preview", content=edges(), headers=CSV)
    offline.call("POST", "/streams/calls/snapshots/7", content=edges(), headers=CSV)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["route"] for line in lines] == [
        "/api/v1/streams/{stream}/releases",
        "/api/v1/streams/{stream}/snapshots/{timestamp}",
    ]
    assert not {"seconds", "status"} & set(lines[1])


def test_metrics_show_streams_to_overseers_only_and_count_no_posts(offline):
    offline.post(9, edges())
    public = offline.client.get("/metrics").text
    assert "calls" not in public
    assert "snapshots" not in public
    own = offline.client.get("/metrics", headers={"Authorization": f"Bearer {offline.token}"}).text
    assert 'psgraph_stream_window_epsilon{stream="calls"} 1.0' in own


def test_a_refused_creation_leaves_nothing_behind(offline):
    wanted = {"name": "large", "epsilon": "1000", "window": 3}
    assert offline.call("POST", "/streams", json=wanted).status_code == 422
    assert not (offline.directory / "streams" / "large").exists()


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), sqlite3.OperationalError()]
)
def test_a_full_disk_is_answered_with_503_and_nothing_is_accepted(offline, monkeypatch, error):
    def full(*_):
        raise error

    stream = next(each for each in offline.service.streams if each.name == "calls")
    monkeypatch.setattr(stream.inbox, "store", full)
    answer = offline.post(0, edges())
    assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
    assert offline.state(0) == "404"
