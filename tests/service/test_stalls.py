"""Nothing that a client does stalls the service for the others."""

from __future__ import annotations

import asyncio
import errno
import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from psgraph.publication.graphml import graphml_chunks
from psgraph.publication.publisher import Publisher
from psgraph.service import audit_log, connections, worker
from psgraph.service.database import SqliteDatabase
from tests.service.offline import Offline, edges


@pytest.fixture
def offline(tmp_path, monkeypatch):
    service = Offline(tmp_path / "service", monkeypatch)
    yield service
    service.close()


# ---- slow work ----


def test_drawings_have_a_bounded_queue_and_no_thread_of_other_requests(offline):
    offline.create(public=True)
    offline.post(0, edges())
    offline.publish()
    finish = threading.Event()
    for number in range(100):  # as many as are taken
        offline.service.drawing.prepare(number, lambda: finish.wait(60))
    refused = offline.call("GET", "/streams/calls/report", token=None)
    assert refused.status_code == 503
    assert int(refused.headers["Retry-After"]) > 0
    assert offline.client.get("/streams/calls").status_code == 200  # without its charts
    assert offline.call("GET", "/streams/calls/verify").json()["ok"]
    finish.set()
    assert offline.client.get("/streams/calls/releases/0/drawing.png").status_code == 200


def test_what_many_ask_for_is_made_once_and_kept(offline, monkeypatch):
    drawn = []
    monkeypatch.setattr("psgraph.service.pages.charts._drawing", lambda *_: drawn.append(1) or b"")
    offline.create(public=True)
    offline.post(0, edges())
    offline.publish()
    for _ in range(3):
        assert offline.client.get("/streams/calls/releases/0/drawing.png").status_code == 200
    assert len(drawn) == 1


def test_pictures_are_drawn_when_a_release_is_made(offline, monkeypatch):
    drawn = threading.Event()
    monkeypatch.setattr("psgraph.service.pages.charts._drawing", lambda *_: drawn.set())
    with offline.client:  # the worker runs
        offline.create()
        assert offline.post(0, edges()).status_code == 202
        assert drawn.wait(60)
    offline.open()


def test_graphml_is_sent_in_large_chunks(offline):
    nodes = 3000
    stream = offline.create(roster="edges")
    offline.post(0, edges(nodes=nodes))
    offline.publish()
    stream.releases.refresh()
    chunks = list(graphml_chunks(stream.releases[0].graph))
    assert len(chunks) <= 4
    got = offline.call("GET", "/streams/calls/releases/0/edges?format=graphml")
    assert got.content == b"".join(chunks)


def test_a_node_id_that_xml_cannot_hold_is_refused_before_the_download_starts(offline):
    offline.create(roster="edges")
    offline.post(0, b"u,v\nann\x01,bob\nbob,cid\n")
    offline.publish()
    got = offline.call("GET", "/streams/calls/releases/0/edges?format=graphml")
    assert (got.status_code, got.json()["error"]) == (409, "graphml_character")
    assert offline.call("GET", "/streams/calls/releases/0/edges?format=csv").status_code == 200


# ---- silent clients ----


@contextmanager
def small_server(most: int) -> Iterator[int]:
    """A server with a cap on connections, in a thread; its port."""

    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * int(scope["path"][1:] or 1)})

    listening = socket.create_server(("127.0.0.1", 0))
    protocol = connections.limited_protocol(most)
    config = uvicorn.Config(answer, http=protocol, lifespan="off", log_level="critical")
    server = uvicorn.Server(config)

    def run() -> None:
        with asyncio.Runner(loop_factory=connections.ServerLoop) as runner:
            runner.run(server.serve(sockets=[listening]))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def dial(port: int, sent: bytes) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=10)
    client.sendall(sent)
    return client


def status(port: int) -> bytes:
    with dial(port, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as client:
        return client.recv(12)


def is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_silent_connections_make_room_for_others():
    with small_server(most=5) as port, ExitStack() as open_ones:
        half = b"GET / HTTP/1.1\r\nHost: x\r\n"
        silent = [open_ones.enter_context(dial(port, half)) for _ in range(20)]
        assert status(port) == b"HTTP/1.1 200"
        assert all(is_closed(client) for client in silent[:15])


def test_a_head_that_never_ends_and_a_response_that_no_one_reads_have_deadlines(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(connections, "STALLED_SECONDS", 0.3)
    with small_server(most=5) as port, ExitStack() as open_ones:
        silent = open_ones.enter_context(dial(port, b"GET / HTTP/1.1\r\nX: "))
        with suppress(OSError):
            for _ in range(10):  # single bytes don't extend the deadline
                silent.sendall(b"x")
                time.sleep(0.1)
        assert is_closed(silent)
        large = b"GET /50000000 HTTP/1.1\r\nHost: x\r\n\r\n"
        unread = open_ones.enter_context(dial(port, large))
        time.sleep(1.0)
        received = 0
        with suppress(ConnectionResetError):
            while piece := unread.recv(1 << 20):
                received += len(piece)
        assert received < 50_000_000


def test_a_connection_is_refused_if_all_others_carry_requests():
    with small_server(most=2) as port, ExitStack() as open_ones:
        for _ in range(2):  # responses that are not read
            busy = dial(port, b"GET /50000000 HTTP/1.1\r\nHost: x\r\n\r\n")
            open_ones.enter_context(busy).recv(1)
        assert status(port) == b"HTTP/1.1 503"


def test_a_body_that_never_ends_has_a_deadline(tmp_path, monkeypatch):
    offline = Offline(tmp_path / "service", monkeypatch, body_seconds=0.2)

    async def send_half() -> list[dict[str, Any]]:
        sent, pieces = [], [{"type": "http.request", "body": b"token=", "more_body": True}]

        async def receive():
            return pieces.pop() if pieces else await asyncio.Event().wait()

        async def send(message):
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
        headers.append((b"content-type", b"application/x-www-form-urlencoded"))
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/sign-in",
            "raw_path": b"/sign-in",
            "headers": headers,
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "scheme": "http",
            "server": ("localhost", 80),
            "http_version": "1.1",
        }
        async with asyncio.timeout(10):
            await offline.client.app(scope, receive, send)
        return sent

    assert asyncio.run(send_half())[0]["status"] == 408
    offline.close()


# ---- the audit log and tokens ----


def test_a_view_of_the_audit_log_checks_what_is_new(offline, monkeypatch):
    checked = []
    digest = audit_log._digest
    monkeypatch.setattr(audit_log, "_digest", lambda *each: checked.append(1) or digest(*each))
    audit = offline.service.audit
    for _ in range(50):
        audit.add(audit_log.SERVICE, "test")
    curator = offline.service.tokens.check(offline.token)
    assert audit.verify(curator, whole=False).ok
    checked.clear()
    assert audit.verify(curator, whole=False).ok
    assert len(checked) == 0
    assert audit.verify(curator).ok  # the officer's check reads all of it
    assert len(checked) > 50


def test_a_changed_entry_is_found_after_the_log_was_viewed(offline):
    audit, database = offline.service.audit, offline.service.database
    for _ in range(5):
        audit.add(audit_log.SERVICE, "test")
    curator = offline.service.tokens.check(offline.token)
    noted = audit.verify(curator, whole=False).head
    audit.add(audit_log.SERVICE, "test")
    assert audit.verify(curator, known_head=noted, whole=False).ok
    assert not audit.verify(curator, known_head="f" * 64, whole=False).ok
    database.write("DROP TRIGGER audit_stays")
    database.write("UPDATE audit SET content = replace(content, 'test', 'tent') WHERE number = 2")
    assert not audit.verify(curator).ok


def test_requests_of_known_tokens_do_not_wait_for_the_database(offline):
    assert offline.call("GET", "/streams").status_code == 200
    with offline.service.database._reading:  # a long read
        found = offline.service.tokens.recognised(offline.token)
    assert found is not None


@pytest.mark.parametrize("before", [10**26, 2**63])
def test_a_page_of_the_audit_log_may_start_anywhere(offline, before):
    assert offline.call("GET", f"/audit-log?before={before}").status_code == 200


def test_a_limited_auditor_does_not_see_how_much_happens_elsewhere(offline):
    offline.create("calls")
    wanted = {"role": "auditor", "streams": ["calls"]}
    token = offline.call("POST", "/tokens", json=wanted).json()["token"]

    def seen():
        pages = [
            offline.call("GET", f"/audit-log?{query}", token=token).json()
            for query in ("limit=2", "limit=9", "before=1")
        ]
        check = offline.call("GET", "/audit-log/verify", token=token).json()
        return [(page["entries"], page["total"]) for page in pages], check["entries"]

    before = seen()
    offline.create("mails")
    assert seen() == before
    assert [each["number"] for each in before[0][1][0]][-1] == 0


def test_wrong_tokens_do_not_lock_out_the_right_one(tmp_path, monkeypatch):
    offline = Offline(tmp_path, monkeypatch, failures_per_minute=3)
    offline.close()
    offline.open()  # the token was not used since the start
    wrong = [offline.call("GET", "/streams", token="psg_no").status_code for _ in range(6)]
    assert wrong[-1] == 429
    assert offline.call("GET", "/streams").status_code == 200
    guessed = offline.token[:-5] + "AAAAA"
    assert [offline.call("GET", "/streams", token=guessed).status_code for _ in range(6)][-1] == 429
    offline.close()


# ---- the disk ----


def test_health_and_the_log_tell_of_a_full_disk(offline, monkeypatch, capsys):
    offline.create()
    assert offline.client.get("/healthz").json()["status"] == "ok"
    full = shutil.disk_usage(offline.directory)._replace(free=1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: full)
        assert offline.client.get("/healthz").json()["status"] == "degraded"

    def no_space(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "/secret/path")

    with monkeypatch.context() as patch:
        patch.setattr("psgraph.service.inbox.write_whole", no_space)
        assert offline.post(0, edges()).status_code == 503
    offline.post(0, edges())
    with monkeypatch.context() as patch:
        patch.setattr(Publisher, "publish", no_space)
        offline.service.worker.publish_due()
    lines = [line for line in capsys.readouterr().err.splitlines() if "failed" in line]
    assert {json.loads(line)["event"] for line in lines} == {"files_failed", "worker_failed"}
    assert all("No space left" in line and "secret" not in line for line in lines)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_open_files_do_not_grow_with_the_number_of_streams(offline, monkeypatch):
    monkeypatch.setattr(worker, "_MOST_OPEN", 2)
    offline.service.streams._databases._most = 2

    def used(numbers: range) -> int:
        for number in numbers:
            name = f"s{number}"
            offline.create(name)
            offline.create(f"e{number}", source="events", period="1d")
            moment = f"{datetime.fromtimestamp(offline.time, UTC):%Y-%m-%dT%H:%M:%SZ}"
            events = f"u,v,time\n1,2,{moment}\n".encode()
            assert offline.events("post-0001", events, f"e{number}").status_code == 202
            offline.post(0, edges(), name)
            offline.publish()
        return len(list(Path("/proc/self/fd").iterdir()))

    few = used(range(3))
    assert used(range(3, 9)) <= few


def test_a_list_of_streams_asks_the_database_as_often_for_few_as_for_many(offline, monkeypatch):
    asked: list[str] = []
    rows = SqliteDatabase.rows

    def counted(self: SqliteDatabase, query: str, values: tuple[object, ...] = ()) -> object:
        asked.append(query)
        return rows(self, query, values)

    monkeypatch.setattr(SqliteDatabase, "rows", counted)

    def of(paths: tuple[str, ...]) -> int:
        asked.clear()
        for path in paths:
            assert offline.call("GET", path).status_code == 200
        assert offline.client.get("/metrics", headers=bearer).status_code == 200
        return len(asked)

    bearer = {"Authorization": f"Bearer {offline.token}"}
    offline.create("first")
    few = of(("/streams",))
    for number in range(5):
        offline.create(f"s{number}")
        offline.post(0, edges(), f"s{number}")
    assert of(("/streams",)) == few


@pytest.mark.parametrize(
    "file",
    [
        "roster.parquet",
        "releases/000000.json",
        "releases.ledger/ledger.sqlite",
        "events.sqlite",
    ],
)
def test_a_damaged_file_blocks_its_stream_only(offline, file):
    for name in ("calls", "mails"):
        offline.create(name)
        offline.post(0, edges(), name)
    offline.publish()
    offline.close()
    damaged = offline.directory / "streams" / "calls" / file
    assert damaged.exists() or file == "events.sqlite"
    damaged.write_bytes(b"damaged" * 100)
    for beside in damaged.parent.glob(f"{damaged.name}-*"):
        beside.unlink()
    offline.open()
    offline.post(1, edges(2), "calls")
    assert offline.post(1, edges(2), "mails").status_code == 202
    offline.service.worker.publish_due()
    assert offline.state(1, "mails") == "released"
    views = {each["name"]: each["health"] for each in offline.call("GET", "/streams").json()}
    assert views == {"calls": "blocked", "mails": "ok"}
    assert offline.client.get("/healthz").status_code == 200
