"""Uploads that grow beyond the limits when they are read, and uploads that never end."""

from __future__ import annotations

import gzip
import io
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.service.conftest import wait_for
from tests.service.scenario import CSV, PARQUET, as_csv, edges, new_stream, post, stored
from tests.service.server import API, Server, head_of, running

MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with low limits."""
    options = ["--max-upload-bytes", str(MEBIBYTE), "--max-rows", "20000", "--upload-seconds", "1"]
    with running(tmp_path_factory.mktemp("strict") / "data", *options) as server:
        yield server


def parquet(table: pa.Table, **options: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def repeated(rows: int) -> bytes:
    """A Parquet file of a few kilobytes with as many rows."""
    ends = pa.array([1]).take(pa.array([0] * rows))
    return parquet(pa.table({"u": ends, "v": ends}))


def long_names() -> bytes:
    """A Parquet file whose dictionary has one long id, which every row refers to."""
    name = pa.array(["x" * 60_000])
    ends = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), name)
    return parquet(pa.table({"u": ends, "v": ends}))


BOMBS: dict[str, tuple[dict[str, str], Callable[[], bytes]]] = {
    "gzip": (CSV, lambda: gzip.compress(b"u,v\n" + b"1,2\n" * (MEBIBYTE // 2))),
    "gzip in gzip": (CSV, lambda: gzip.compress(gzip.compress(b"\0" * (20 * MEBIBYTE)))),
    "many gzip members": (CSV, lambda: gzip.compress(b"1,2\n" * 50_000) * 10),
    "zstd": (CSV, lambda: pa.compress(b"1,2\n" * (MEBIBYTE // 2), "zstd", asbytes=True)),
    "rows of Parquet": (PARQUET, lambda: repeated(1_000_000)),
    "a dictionary of Parquet": (PARQUET, long_names),
    "plain": (CSV, lambda: b"u,v\n" + b"1,2\n" * (MEBIBYTE // 2)),
    "short rows": (CSV, lambda: b"u,v\n" + b"\n" * 900_000),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_before_it_goes_off(strict: Server, bomb: str) -> None:
    headers, make = BOMBS[bomb]
    body = make()
    name = new_stream(strict)
    before = stored(strict, name)
    begun = time.monotonic()
    answer = strict.call("POST", f"/streams/{name}/snapshots/0", body=body, headers=headers)
    assert answer.status in (413, 422), answer.text
    assert time.monotonic() - begun < 5
    assert stored(strict, name) == before
    assert resident(strict.pid) < 900 * MEBIBYTE


def resident(process: int) -> int:
    """The largest memory a process had so far, in bytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def test_an_upload_without_a_length_is_cut_at_the_limit(strict: Server) -> None:
    name = new_stream(strict)
    before = stored(strict, name)
    path = f"{API}/streams/{name}/snapshots/0"
    chunk = b"10000\r\n" + b"1,2\n" * 0x4000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", strict.port), timeout=10) as connection:
        connection.sendall(
            head_of(
                strict,
                f"POST {path} HTTP/1.1",
                "Transfer-Encoding: chunked",
                "Content-Type: text/csv",
            )
        )
        sent, answer = 0, b""
        try:
            while sent < 64 * MEBIBYTE:
                connection.sendall(chunk)
                sent += len(chunk)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            pass
        with suppress(ConnectionResetError):
            answer = connection.recv(65536)
    assert sent < 64 * MEBIBYTE or b" 413 " in answer
    assert stored(strict, name) == before


def test_a_slow_upload_is_ended_and_others_are_served_meanwhile(strict: Server) -> None:
    name = new_stream(strict)
    before = stored(strict, name)
    path = f"{API}/streams/{name}/snapshots/0"
    with socket.create_connection(("127.0.0.1", strict.port), timeout=10) as connection:
        connection.sendall(
            head_of(
                strict, f"POST {path} HTTP/1.1", "Content-Length: 1000", "Content-Type: text/csv"
            )
        )
        connection.sendall(b"u,v\n")
        assert strict.call("GET", "/streams").status == 200
        begun = time.monotonic()
        answer = connection.recv(65536)
        assert b" 408 " in answer.split(b"\r\n")[0]
        assert time.monotonic() - begun < 4
    assert stored(strict, name) == before
    assert post(strict, name, 0, as_csv(edges(0))).status == 202
    assert wait_for(strict, name, 0) == "released"


def test_idle_connections_do_not_keep_others_out(strict: Server) -> None:
    idle = [socket.create_connection(("127.0.0.1", strict.port)) for _ in range(100)]
    try:
        for connection in idle[:50]:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        begun = time.monotonic()
        assert strict.call("GET", "/healthz", api=False).status == 200
        assert time.monotonic() - begun < 2
    finally:
        for connection in idle:
            connection.close()
