"""One server for all tests that don't stop it, and one token for each role."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.scenario import as_csv, edges, new_stream, post
from tests.service.server import Server, running

GENEROUS = ("--rate", "100000", "--wrong-tokens", "100000")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running service without a limit on the rate of requests."""
    options = (*GENEROUS, "--new-administrator-token")
    with running(tmp_path_factory.mktemp("service") / "data", *options) as server:
        yield server


@pytest.fixture(scope="session")
def tokens(server: Server) -> dict[str, str]:
    """A token for each role."""
    made = {"curator": server.token}
    for role in ("analyst", "auditor"):
        made[role] = server.call("POST", "/tokens", content={"role": role}).json["token"]
    prefix = "Administrator token: "
    (made["administrator"],) = [
        line.removeprefix(prefix).strip() for line in server.printed if line.startswith(prefix)
    ]
    return made


@pytest.fixture(scope="session")
def untouched(server: Server) -> str:
    """A stream with a roster, for tests in which nothing is accepted."""
    return new_stream(server)


@pytest.fixture
def stream(server: Server) -> str:
    """A new stream with a roster and nothing posted."""
    return new_stream(server)


def until_recorded(server: Server, stream: str, timestamp: int) -> None:
    """Wait, without a request, until the worker has recorded a release and logged it."""
    line = f'"event": "released", "stream": "{stream}", "timestamp": {timestamp}}}'
    deadline = time.monotonic() + 60
    while line not in server.log.read_text():
        assert time.monotonic() < deadline, f"timestamp {timestamp} of {stream} is not released"
        time.sleep(0.02)


def wait_for(server: Server, stream: str, timestamp: int, *states: str) -> str:
    """Wait until a timestamp is in one of these states, released or refused unless given."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        state: str = server.call("GET", f"/streams/{stream}/timestamps/{timestamp}").json["state"]
        if state in (states or ("released", "refused")):
            if state == "released":
                until_recorded(server, stream, timestamp)
            return state
        time.sleep(0.02)
    raise AssertionError(f"timestamp {timestamp} of {stream} is still {state}")


@pytest.fixture(scope="session")
def released(server: Server) -> str:
    """A stream with two releases. Tests read it and don't change it."""
    name = new_stream(server)
    for timestamp in range(2):
        assert post(server, name, timestamp, as_csv(edges(timestamp))).status == 202
        assert wait_for(server, name, timestamp) == "released"
    return name


@pytest.fixture(scope="session")
def home(server: Server) -> Path:
    """The private directory of the service."""
    return server.directory
