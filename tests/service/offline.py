"""A service in this process: its worker runs when a test says so, and its clock is set by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from psgraph.service import clock
from psgraph.service.app import create_app
from psgraph.service.service import Service
from psgraph.service.settings import Limits, Settings
from psgraph.service.streams import Stream

API = "/api/v1"
NODES = 30
CSV = {"Content-Type": "text/csv"}


def roster(nodes: int = NODES) -> bytes:
    """A node list."""
    return ("id\n" + "".join(f"{node}\n" for node in range(nodes))).encode()


def edges(step: int = 1, nodes: int = NODES) -> bytes:
    """A ring, another one for every step."""
    return ("u,v\n" + "".join(f"{u},{(u + step) % nodes}\n" for u in range(nodes))).encode()


class Offline:
    """A service, a client with the curator's token, and a clock."""

    def __init__(self, directory: Path, patch: pytest.MonkeyPatch, **options: Any) -> None:
        self.directory, self._patch, self._options = directory, patch, options
        self.time = 1_780_000_000.0  # 2026-05-28T20:26:40Z
        patch.setattr(clock, "now", lambda: self.time)
        self.token = ""
        self.open()

    def open(self, *, new_key: bool = False) -> None:
        """Start it, again on the same directory."""
        limits = Limits(**self._options)
        settings = Settings(self.directory, limits=limits)
        self.service = Service(settings, new_key=new_key)
        self.token = self.service.first_token() or self.token
        self.client = TestClient(
            create_app(settings, self.service),
            base_url="http://localhost",
            raise_server_exceptions=False,
        )

    def close(self) -> None:
        """Stop it."""
        self.service.stop()

    def call(
        self,
        method: str,
        path: str,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """Send a request as the curator, unless another token or None is given."""
        token = self.token if token == "" else token
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        where = path if path.startswith("/api") else API + path
        sent = {**bearer, **(headers or {})}
        return self.client.request(method, where, headers=sent, **options)

    def create(self, name: str = "calls", **terms: Any) -> Stream:
        """Create a stream with its node list."""
        wanted = {"name": name, "epsilon": "1", "window": 3, "method": "psgraph", **terms}
        created = self.call("POST", "/streams", json=wanted)
        assert created.status_code == 201, created.text
        stream = next(each for each in self.service.streams if each.name == name)
        if stream.terms.roster == "list":
            put = self.call("PUT", f"/streams/{name}/roster", content=roster(), headers=CSV)
            assert put.status_code == 200, put.text
        return stream

    def post(self, timestamp: int, content: bytes, name: str = "calls") -> httpx.Response:
        """Post a snapshot."""
        path = f"/streams/{name}/snapshots/{timestamp}"
        return self.call("POST", path, content=content, headers=CSV)

    def events(self, key: str, content: bytes, name: str = "calls") -> httpx.Response:
        """Post events."""
        headers = {**CSV, "Idempotency-Key": key}
        return self.call("POST", f"/streams/{name}/events", content=content, headers=headers)

    def state(self, timestamp: int, name: str = "calls") -> str:
        """The state of a timestamp."""
        answer = self.call("GET", f"/streams/{name}/timestamps/{timestamp}")
        return str(answer.json().get("state", answer.status_code))

    def publish(self) -> None:
        """Have the worker publish what is due."""
        self.service.worker.publish_due()
        for stream in self.service.streams:
            assert stream.trouble is None, stream.trouble
