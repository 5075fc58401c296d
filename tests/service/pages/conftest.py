"""The application with its pages, without a socket, and a client that signs in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from psgraph.service.app import create_app
from psgraph.service.audit_log import SERVICE
from psgraph.service.schemas import NewStream, NewToken
from psgraph.service.service import Service
from psgraph.service.settings import Limits, Settings

OPEN = {"requests_per_second": 100_000, "burst": 100_000, "upload_bytes": 100_000}


@pytest.fixture(scope="package")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client without a cookie; one stream, "calls", exists."""
    settings = Settings(tmp_path_factory.mktemp("pages") / "data", limits=Limits(**OPEN))
    service = Service(settings)
    new = NewStream(name="calls", epsilon="1", window=3, method="psgraph", roster="edges")
    service.streams.create(new, SERVICE)
    with TestClient(
        create_app(settings, service), base_url="http://localhost", follow_redirects=False
    ) as client:
        yield client


@pytest.fixture
def signed_in(client: TestClient) -> Iterator[Callable[[str], str]]:
    """Sign in with a new token of a role; returns the CSRF token of the session."""

    def sign_in(role: str) -> str:
        client.cookies.clear()
        service: Service = client.app.state.service  # type: ignore[attr-defined]
        token = service.tokens.create(NewToken(role=role), SERVICE).token  # type: ignore[arg-type]
        assert client.post("/sign-in", data={"token": token}).status_code == 303
        found = re.search(r'name="csrf" value="([^"]+)"', client.get("/").text)
        assert found is not None
        return found[1]

    yield sign_in
    client.cookies.clear()
