"""A service in this process, on a free port of loopback, and what a visitor does on its pages."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import uvicorn

from psgraph.methods.psgraph import PSGraph
from psgraph.methods.registry import register_method
from psgraph.service.app import create_app
from psgraph.service.audit_log import SERVICE
from psgraph.service.schemas import NewStream, NewToken
from psgraph.service.service import Service
from psgraph.service.settings import Limits, Settings
from psgraph.service.streams import Stream

if TYPE_CHECKING:
    from playwright.sync_api import Page

NODES = 60
PATIENCE = 180.0


class Greedy(PSGraph):
    """Asks for the whole window every time, so that the second timestamp is refused."""

    name = "greedy"

    def request(self, state: Any, spending: Any) -> Fraction:
        del state
        return Fraction(spending.guarantee.epsilon)


@dataclass
class Site:
    """A running service."""

    service: Service
    address: str
    tokens: dict[str, str]

    def create(self, name: str, *, method: str = "psgraph", **terms: Any) -> Stream:
        """Create a stream through the service itself."""
        new = NewStream(name=name, epsilon="1", window=3, method=method, **terms)
        return self.service.streams.create(new, SERVICE)

    def post(
        self, stream: str, timestamp: int, content: bytes = b"", time: str | None = None
    ) -> None:
        """Post a snapshot through the API; a small graph unless given."""
        query = f"?time={quote(time)}" if time else ""
        path = f"/streams/{stream}/snapshots/{timestamp}{query}"
        self._send("POST", path, content or edges_csv(timestamp))

    def put_roster(self, stream: str, content: bytes) -> None:
        """Set or extend the roster of a stream."""
        self._send("PUT", f"/streams/{stream}/roster", content)

    def _send(self, method: str, path: str, content: bytes) -> None:
        headers = {
            "Authorization": f"Bearer {self.tokens['curator']}",
            "Content-Type": "text/csv",
        }
        address = f"{self.address}/api/v1{path}"
        with urlopen(Request(address, content, headers, method=method), timeout=PATIENCE) as answer:
            assert answer.status in (200, 202)

    def wait_for(self, stream: str, released: int) -> None:
        """Wait until a stream has this many releases."""
        found = next(each for each in self.service.streams if each.name == stream)
        deadline = time.monotonic() + PATIENCE
        while len(found.releases.refresh()) < released:
            assert time.monotonic() < deadline, f"{stream} was not released: {found.trouble}"
            time.sleep(0.02)


@contextmanager
def running_site(directory: Path) -> Iterator[Site]:
    """Start a service in a thread, with a token for each role; stop it at the end."""
    register_method(Greedy)
    limits = Limits(requests_per_second=100_000, burst=100_000)
    settings = Settings(directory, port=0, limits=limits)
    service = Service(settings)
    tokens = {
        role: service.tokens.create(NewToken(role=role, label="browser"), SERVICE).token
        for role in ("curator", "analyst", "auditor")
    }
    # With the protocol named, asyncio sends small answers without delay.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(settings, service), log_level="critical", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        assert time.monotonic() < deadline, "the service did not start in time"
        time.sleep(0.01)
    try:
        yield Site(service, f"http://127.0.0.1:{listening.getsockname()[1]}", tokens)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def edges_csv(timestamp: int = 0) -> bytes:
    """A small graph as CSV: a ring with chords that depend on the timestamp."""
    step = 2 + timestamp
    rows = [f"{node},{(node + 1) % NODES}" for node in range(NODES)]
    rows += [f"{node},{(node * step + 7) % NODES}" for node in range(NODES)]
    return ("u,v\n" + "\n".join(rows) + "\n").encode()


def roster_csv() -> bytes:
    return ("id\n" + "\n".join(str(node) for node in range(NODES)) + "\n").encode()


def csv_file(content: bytes, name: str = "edges.csv") -> Any:
    """A file as the browser's dialog would give it to a page."""
    return {"name": name, "mimeType": "text/csv", "buffer": content}


def sign_in(page: Page, site: Site, role: str, path: str = "/") -> None:
    """Open a page and sign in for it."""
    page.goto(f"{site.address}/sign-in?next={path}")
    page.get_by_label("Token").fill(site.tokens[role])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{site.address}{path}")
