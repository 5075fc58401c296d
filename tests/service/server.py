"""Start the real server in a process of its own, talk to it over raw HTTP, kill it."""

from __future__ import annotations

import http.client
import json
import os
import queue
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

API = "/api/v1"
PATIENCE = 180.0

_ADDRESS = re.compile(r"https?://127\.0\.0\.1:(\d+)")
_TOKEN = re.compile(r"^Curator token: (psg_[A-Za-z0-9_-]{20,})|\"curator_token\": \"(psg_[^\"]+)\"")


@dataclass(frozen=True)
class Answer:
    """What the server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class Server:
    """One ``psgraph serve`` on a free port of loopback; restartable on the same directory."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.options = options
        self.token = ""
        self.port = 0
        self.printed: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        return f"{'https' if '--tls-cert' in self.options else 'http'}://127.0.0.1:{self.port}"

    def connection(self, timeout: float) -> http.client.HTTPConnection:
        """A connection to the server; its certificate is not checked."""
        if "--tls-cert" not in self.options:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        context = ssl._create_unverified_context()
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> Path:
        """What the server wrote to stderr, of all its starts."""
        return self.directory.with_name(f"{self.directory.name}.log")

    def start(self) -> Self:
        """Start it and wait until it listens; keep the curator token of the first start."""
        self.printed = []
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "psgraph", "serve", str(self.directory)),
                    *(self.options if "--port" in self.options else ("--port", "0", *self.options)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=_collect, args=(self._process, lines), daemon=True).start()
        self.port = 0
        while not self.port or not self.token:
            line = lines.get(timeout=PATIENCE)
            if line is None:
                raise RuntimeError(f"the server ended early:\n{self.log.read_text()[-3000:]}")
            self.printed.append(line)
            if found := _ADDRESS.search(line):
                self.port = int(found[1])
            if found := _TOKEN.search(line):
                self.token = found[1] or found[2]
        self._until_ready()
        return self

    def _until_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                if self.call("GET", "/readyz", token=None, api=False).status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise RuntimeError(f"the server is not ready:\n{self.log.read_text()[-3000:]}")

    def kill(self) -> None:
        """End it without warning."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to stop and return its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, by: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        if process.poll() is None:
            process.send_signal(by)
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def call(
        self,
        method: str,
        path: str,
        *,
        token: str | None = "",
        body: bytes | None = None,
        content: object = None,
        headers: Mapping[str, str] | None = None,
        api: bool = True,
        timeout: float = 30.0,
    ) -> Answer:
        """Send one request: with the curator's token unless another, or None, is given."""
        sent = dict(headers or {})
        token = self.token if token == "" else token
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {token}")
        if content is not None:
            body = json.dumps(content).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = self.connection(timeout)
        try:
            with suppress(
                BrokenPipeError, ConnectionResetError
            ):  # it may refuse before it read all
                connection.request(method, (API if api else "") + path, body, sent)
            response = connection.getresponse()
            return Answer(response.status, dict(response.headers), response.read())
        finally:
            connection.close()


def head_of(server: Server, line: str, *headers: str, host: str | None = None) -> bytes:
    """The head of a request, with the curator's token."""
    host = f"127.0.0.1:{server.port}" if host is None else host
    lines = [line, f"Host: {host}", f"Authorization: Bearer {server.token}", *headers]
    return ("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode()


def _collect(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


@contextmanager
def running(directory: Path, *options: str) -> Iterator[Server]:
    """A server for the length of a block."""
    with Server(directory, *options) as server:
        yield server


def tree(directory: Path) -> dict[str, bytes]:
    """Every file below a directory with its content, to compare before and after."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
