"""How the client behaves when the network or the server does not."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import psgraph.client.http as transport
from psgraph.client import Client, operations
from psgraph.client.http import AsyncHttp, Call, Http, Steps, json_of, saved
from psgraph.errors import AccessDenied, DataError, InvalidArgument, ServiceError
from tests.service.server import Server

Reply = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def scripted(*replies: Reply) -> Iterator[tuple[str, list[tuple[str, str, bytes]]]]:
    """A server that gives these replies in order, the last one for ever; with what it was sent."""
    seen: list[tuple[str, str, bytes]] = []
    left = list(replies)

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            super().handle_one_request()
            self.close_connection = True

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            seen.append((self.command, self.path, self.rfile.read(length)))
            (left.pop(0) if len(left) > 1 else left[0])(self)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def says(status: int, content: object, **headers: str) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


def breaks_off(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"half")


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No test waits; what it would have waited."""
    taken: list[float] = []

    async def pause(seconds: float) -> None:
        taken.append(seconds)

    monkeypatch.setattr(transport.time, "sleep", taken.append)
    monkeypatch.setattr(transport, "asyncio", SimpleNamespace(sleep=pause))
    return taken


Run = Callable[[str, Steps[Any]], Any]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run steps, with either client."""

    def waiting(address: str, steps: Steps[Any]) -> Any:
        return Http(address).run(steps)

    async def awaiting(address: str, steps: Steps[Any]) -> Any:
        return await AsyncHttp(address).run(steps)

    if request.param == "sync":
        return waiting
    return lambda address, steps: asyncio.run(awaiting(address, steps))


BUSY = says(503, {"error": "unavailable", "message": "busy", "remedy": "wait"})


def test_a_get_is_repeated_after_a_lost_connection(run: Run, pauses: list[float]) -> None:
    with scripted(hangs_up, BUSY, says(200, {"ok": 1})) as (address, seen):
        assert run(address, json_of(Call("GET", "/x"))) == {"ok": 1}
    assert len(seen) == 3
    assert len(pauses) == 2


def test_attempts_and_pauses_are_bounded(run: Run, pauses: list[float]) -> None:
    with (
        scripted(says(503, {}, Retry_After="86400")) as (address, seen),
        pytest.raises(ServiceError),
    ):
        run(address, json_of(Call("GET", "/x")))
    assert len(seen) == 5
    assert pauses == [30.0] * 4


def test_a_request_that_may_count_twice_is_sent_once(run: Run) -> None:
    with scripted(hangs_up) as (address, seen), pytest.raises(ServiceError) as caught:
        run(address, json_of(Call("POST", "/x", b"{}")))
    assert caught.value.code == "unreachable"
    assert len(seen) == 1


def test_an_upload_is_repeated_whole(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_bytes(b"u,v\n" + b"1,2\n" * 50_000)
    accepted = says(202, {"state": "accepted", "stream": "calls", "timestamp": 0})
    with scripted(hangs_up, accepted) as (address, seen):
        assert run(address, operations.push("calls", 0, file, None)).state == "accepted"
    assert [each[2] for each in seen] == [file.read_bytes()] * 2


def test_a_refusal_before_the_upload_is_complete_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_bytes(b"u,v\n" + b"1,2\n" * 4_000_000)

    class Impatient(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            says(413, {"error": "too_large", "message": "Too large.", "remedy": "Send less."})(self)
            self.close_connection = True
            self.connection.settimeout(2)
            while self.rfile.read1(1 << 20):  # what is on its way, so that the answer arrives
                pass

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Impatient)
    server.daemon_threads = True
    threading.Thread(target=server.handle_request, daemon=True).start()
    client = Client(f"http://127.0.0.1:{server.server_address[1]}", "secret")
    with pytest.raises(ServiceError) as caught:
        client.push("calls", 0, file)
    server.server_close()
    assert (caught.value.status, caught.value.code) == (413, "too_large")
    assert str(caught.value) == "Too large.\nSend less."  # as the server wrote it


def test_a_download_that_breaks_off_is_repeated_and_nothing_is_mixed(
    run: Run, tmp_path: Path
) -> None:
    target = tmp_path / "graph.part"
    with scripted(breaks_off, says(200, b"all of it")) as (address, _):
        found = run(address, saved(Call("GET", "/x", to=target)))
    assert target.read_bytes() == b"all of it"
    assert found == hashlib.sha256(b"all of it").hexdigest()


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_is_not_enough_is_an_access_denied(status: int) -> None:
    told = {"error": "forbidden", "message": "Not this role.", "remedy": "Use a curator's."}
    with scripted(says(status, told)) as (address, seen), pytest.raises(AccessDenied) as caught:
        Client(address, "secret").streams()
    assert str(caught.value) == "Not this role.\nUse a curator's."
    assert len(seen) == 1


def test_connections_are_kept(run: Run) -> None:
    opened: list[object] = []

    class Keeping(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            opened.append(self)

        def do_GET(self) -> None:
            says(200, [])(self)

        def log_message(self, *_: object) -> None:
            pass

    def twice() -> Steps[None]:
        for _ in range(2):
            yield from json_of(Call("GET", "/x"))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Keeping)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    run(f"http://127.0.0.1:{server.server_address[1]}", twice())
    server.shutdown()
    server.server_close()
    assert len(opened) == 1


def test_a_redirect_is_not_followed_and_the_token_stays() -> None:
    with scripted(says(200, [])) as (elsewhere, seen):
        moved = says(307, b"", Location=f"{elsewhere}/api/v1/streams")
        with scripted(moved) as (address, _), pytest.raises(ServiceError) as caught:
            Client(address, "secret").streams()
    assert caught.value.status == 307
    assert seen == []


def test_what_a_server_writes_can_not_control_the_terminal() -> None:
    told = {"error": "x", "message": "\x1b]0;gotcha\x07\x1b[2J", "remedy": "\r\x00"}
    with scripted(says(400, told)) as (address, _), pytest.raises(ServiceError) as caught:
        Client(address, "secret").streams()
    assert not [each for each in str(caught.value) if not each.isprintable() and each != "\n"]


@pytest.mark.parametrize("content", [b"<html>", b"\xff", {"unexpected": 1}, [{"name": "calls"}]])
def test_an_answer_that_is_not_the_services_is_named_as_such(content: object) -> None:
    with scripted(says(200, content)) as (address, _), pytest.raises(ServiceError):
        Client(address, "secret").streams()


@pytest.mark.parametrize("address", ["http://192.0.2.1:8765", "http://psgraph.example.org"])
def test_a_token_is_never_sent_unencrypted_over_a_network(address: str) -> None:
    with pytest.raises(InvalidArgument):
        Client(address, "secret")


@pytest.mark.parametrize(
    "address",
    [
        "psgraph.example.org",
        "ftp://x",
        "https://",
        "https://me:secret@x",
        "https://x:0x",
        "https://x?a=1",
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Client(address, "secret")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX-Injected: 1", "tökén"])
def test_a_token_that_would_break_the_header_is_refused(token: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Client("http://127.0.0.1:1", token)
    assert not token or token not in str(caught.value)


def test_a_name_can_not_leave_its_place_in_the_address() -> None:
    missing = says(404, {"error": "not_found", "message": "Nothing there.", "remedy": "Look."})
    with scripted(missing) as (address, seen), pytest.raises(ServiceError) as caught:
        Client(address, "secret").stream("../tokens?x=1#y\r\n")
    assert caught.value.code == "not_found"
    assert [path for _, path, _ in seen] == ["/api/v1/streams/..%2Ftokens%3Fx%3D1%23y%0D%0A"]


def test_no_file_and_other_files_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    client = Client("http://127.0.0.1:1", "secret")
    with pytest.raises(InvalidArgument):
        client.push("calls", 0, tmp_path / "edges.xlsx")
    with pytest.raises(DataError):
        client.push("calls", 0, tmp_path / "missing.csv")


# ---- TLS: only a service whose certificate is trusted gets the token ----


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for loopback that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([loopback]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = directory / "cert.pem", directory / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A service with TLS, and the certificate to trust."""
    directory = tmp_path_factory.mktemp("tls")
    cert, key = certificate(directory)
    options = ("--tls-cert", str(cert), "--tls-key", str(key))
    with Server(directory / "data", *options) as server:
        yield server, cert


def test_a_trusted_certificate_is_accepted(encrypted: tuple[Server, Path]) -> None:
    server, cert = encrypted
    assert Client(server.address, server.token, certificates=cert).streams() == []
    headers = server.call("GET", "/healthz", api=False).headers
    assert "max-age" in headers["strict-transport-security"]


def test_an_unknown_certificate_is_refused_at_once(encrypted: tuple[Server, Path]) -> None:
    server, _ = encrypted
    with pytest.raises(ServiceError) as refused:
        Client(server.address, server.token).streams()
    assert refused.value.code == "untrusted"


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    with pytest.raises(InvalidArgument, match=r"empty\.pem"):
        Client("https://127.0.0.1:1", certificates=tmp_path / "empty.pem")
