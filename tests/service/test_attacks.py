"""Attacks over the network: names, headers, tokens, cookies, bombs, slow senders."""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Iterator

import pytest

from tests.service.scenario import CSV, as_csv, edges, stored
from tests.service.server import API, Server, head_of, running

GOOD = as_csv(edges(0))
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def meagre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that lets few requests through."""
    directory = tmp_path_factory.mktemp("meagre") / "data"
    with running(directory, "--wrong-tokens", "5", "--rate", "10") as server:
        yield server


def raw(server: Server, request: bytes, *, seconds: float = 10.0) -> bytes:
    """Send bytes as they are and return everything the server sends back."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


# ---- names that lead elsewhere ----

TRAVERSALS = [
    "..",
    "../..",
    "..%2f..",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2fservice.sqlite",
    "..%5c..%5c",
    "....//....//",
    "%252e%252e%252f",
    "a%00.json",
    "%00",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "a/../../service.sqlite",
    "%c0%ae%c0%ae%c0%af",
    "%ef%bc%8e%ef%bc%8e%ef%bc%8f",
    "%e2%80%ae",
    "a%0d%0aX-Injected:%201",
    "con",
    "~root",
    "$(id)",
    "%7b%7b7*7%7d%7d",
    "a" * 5000,
]


@pytest.mark.parametrize("name", TRAVERSALS)
@pytest.mark.parametrize(
    "place", ["/streams/{}", "/streams/{}/releases/0/edges", "/streams/ok/releases/{}/edges"]
)
def test_no_name_leads_out_of_its_place(server: Server, name: str, place: str) -> None:
    before = set(server.directory.parent.rglob("*"))
    for method, body in (("GET", b""), ("PUT", b"x"), ("POST", b"x")):
        path = API + place.format(name)
        answer = raw(
            server,
            head_of(server, f"{method} {path} HTTP/1.1", f"Content-Length: {len(body)}") + body,
        )
        status = int(answer.split(b" ", 2)[1])
        assert 400 <= status < 500, answer[:300]
        assert b"root:" not in answer
        assert b"SQLite format" not in answer
        assert b"X-Injected: 1" not in answer
    after = set(server.directory.parent.rglob("*"))
    assert {path for path in after ^ before if ".sqlite" not in path.name} == set()


@pytest.mark.parametrize(
    "path", ["/static/../settings.py", "/static/%2e%2e/app.py", "/static//etc/passwd"]
)
def test_static_files_are_those_of_the_pages_only(server: Server, path: str) -> None:
    answer = raw(server, head_of(server, f"GET {path} HTTP/1.1"))
    assert int(answer.split(b" ", 2)[1]) == 404
    assert b"import" not in answer
    assert b"root:" not in answer


# ---- headers ----


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "localhost@evil", "[::1"]
)
def test_another_host_is_refused(server: Server, host: str) -> None:
    answer = raw(server, head_of(server, f"GET {API}/streams HTTP/1.1", host=host))
    assert int(answer.split(b" ", 2)[1]) in (400, 403, 421)
    assert b"evil" not in answer


def test_a_host_that_an_attacker_forwards_is_not_believed(server: Server) -> None:
    for header in ("X-Forwarded-Host: evil.example", "Forwarded: host=evil.example"):
        answer = raw(server, head_of(server, "GET /sign-in HTTP/1.1", header))
        assert b"evil.example" not in answer


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: -1"],
        ["Content-Length: 1e3"],
        ["Transfer-Encoding: chunked, identity"],
        ["X-Header: " + "a" * 200_000],
        ["X Header: 1"],
        [": nothing"],
    ],
)
def test_a_request_that_proxies_could_read_in_two_ways_is_refused(
    server: Server, untouched: str, lines: list[str]
) -> None:
    before = stored(server, untouched)
    path = f"{API}/streams/{untouched}/snapshots/0"
    request = head_of(server, f"POST {path} HTTP/1.1", "Content-Type: text/csv", *lines)
    smuggled = b"0\r\n\r\n" + head_of(server, f"DELETE {API}/tokens/aaaaaaaaaaaa HTTP/1.1")
    try:
        answer = raw(server, request + smuggled)
    except ConnectionResetError:
        answer = b""
    assert not answer or int(answer.split(b" ", 2)[1]) in (400, 411, 413, 422, 431, 501)
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert stored(server, untouched) == before


def test_every_answer_has_the_headers_that_protect_browsers(server: Server, released: str) -> None:
    for path in ("/healthz", f"{API}/streams", f"{API}/streams/{released}/releases/0/edges", "/no"):
        headers = {
            name.lower(): value
            for name, value in server.call("GET", path, api=False).headers.items()
        }
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] in ("no-referrer", "same-origin")
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_other_sites_can_not_ask(server: Server) -> None:
    asking = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = server.call("OPTIONS", "/streams", token=None, headers=asking)
    assert answer.status in (400, 401, 403, 405)
    assert "access-control-allow-origin" not in {each.lower() for each in answer.headers}


# ---- tokens ----


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Basic dXNlcjpwYXNz",
        "Bearer psg_aaaaaaaaaaaa_" + "A" * 42,
        "Bearer " + "x" * 10_000,
        "Bearer \x01\x02",
        "Bearer ' OR 1=1 --",
        "Bearer null",
        "Bearer %s%s%n",
    ],
)
def test_a_header_that_holds_no_token(server: Server, header: str) -> None:
    answer = raw(
        server,
        f"GET {API}/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {header}\r\n"
        "Connection: close\r\n\r\n".encode(),
    )
    assert int(answer.split(b" ", 2)[1]) in (400, 401, 431)


def test_guessing_tokens_is_slowed_down_and_known_tokens_still_work(meagre: Server) -> None:
    assert meagre.call("GET", "/tokens").status == 200
    guesses = [
        meagre.call("GET", "/tokens", token=f"psg_{'a' * 12}_{number:043}") for number in range(12)
    ]
    statuses = [each.status for each in guesses]
    assert statuses[:5] == [401] * 5
    assert statuses[-5:] == [429] * 5
    assert int(guesses[-1].headers["retry-after"]) >= 1
    assert meagre.call("GET", "/tokens").status == 200


def test_a_wrong_secret_takes_as_long_as_an_unknown_token(server: Server) -> None:
    """Medians of interleaved guesses; a check that stops early would be several times faster."""
    identifier = server.token.split("_")[1]
    known, unknown = [], []
    for number in range(12):
        for prefix, times in ((identifier, known), ("a" * 12, unknown)):
            begun = time.perf_counter()
            answer = server.call("GET", "/tokens", token=f"psg_{prefix}_{number:043}")
            times.append(time.perf_counter() - begun)
            assert answer.status == 401
    assert 1 / 3 < statistics.median(known) / statistics.median(unknown) < 3


def test_too_many_requests_are_refused_for_a_while(meagre: Server) -> None:
    answers = [meagre.call("GET", "/streams") for _ in range(100)]
    refused = [each for each in answers if each.status == 429]
    assert len(refused) >= 10
    assert {each.json["error"] for each in refused} == {"too_many_requests"}
    time.sleep(int(refused[-1].headers["retry-after"]))
    assert meagre.call("GET", "/streams").status == 200


# ---- browsers ----


def signed_in(server: Server) -> str:
    """The cookie of a curator's session."""
    body = f"token={server.token}".encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = server.call("POST", "/sign-in", token=None, body=body, headers=form, api=False)
    assert answer.status == 303, answer.text
    cookie = {name.lower(): value for name, value in answer.headers.items()}["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert server.token not in cookie
    return cookie.partition(";")[0]


def test_a_cookie_alone_changes_nothing(server: Server, untouched: str) -> None:
    cookie = {"Cookie": signed_in(server), "Origin": "https://evil.example"}
    before = stored(server, untouched)
    assert server.call("GET", "/tokens", token=None, headers=cookie).status == 200
    for method, path, content in (
        ("POST", "/tokens", {"role": "curator"}),
        ("POST", "/streams", {"name": "forged", "epsilon": "1", "window": 1}),
        ("DELETE", f"/tokens/{server.token.split('_')[1]}", None),
    ):
        for forged in ({}, {"X-CSRF-Token": "x"}, {"X-CSRF-Token": ""}):
            answer = server.call(
                method, path, token=None, content=content, headers={**cookie, **forged}
            )
            assert (answer.status, answer.json["error"]) == (403, "csrf")
    answer = post_with(server, untouched, cookie)
    assert answer == 403
    assert stored(server, untouched) == before


def post_with(server: Server, stream: str, headers: dict[str, str]) -> int:
    path = f"/streams/{stream}/snapshots/0"
    return server.call("POST", path, token=None, body=GOOD, headers={**CSV, **headers}).status


def test_forms_of_the_pages_need_the_token_of_the_session(server: Server, untouched: str) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": signed_in(server)}
    for path in ("/tokens", "/sign-out", "/streams/new", f"/streams/{untouched}/data"):
        for body in (b"", b"csrf=x", b"role=curator&label=x&csrf="):
            answer = server.call("POST", path, token=None, body=body, headers=form, api=False)
            assert answer.status in (400, 403, 404, 405), path
    assert server.call("GET", "/tokens", token=None, headers=form).status == 200


@pytest.mark.parametrize("cookie", ["psgraph=", "psgraph=x", "psgraph=" + "A" * 43, "psgraph=\x7f"])
def test_a_made_up_cookie_is_nobody(server: Server, cookie: str) -> None:
    assert server.call("GET", "/tokens", token=None, headers={"Cookie": cookie}).status == 401


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example"])
def test_signing_in_leads_to_no_other_site(server: Server, target: str) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = f"token={server.token}&next={target}".encode()
    answer = server.call(
        "POST", f"/sign-in?next={target}", token=None, body=body, headers=form, api=False
    )
    location = {name.lower(): value for name, value in answer.headers.items()}.get("location", "/")
    assert location.startswith("/")
    assert "evil" not in location
