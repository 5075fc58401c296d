"""Designed errors: what is wrong, what to do, and what was typed is still there."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from psgraph.errors import MissingExtra

PLAN = {"epsilon": "1", "window": "3", "nodes": "1000", "method": "psgraph"}


def test_a_name_that_is_taken_is_refused_and_the_form_keeps_its_values(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    data = {**PLAN, "csrf": signed_in("curator"), "name": "calls", "title": "Second try"}
    answer = client.post("/new", data=data)
    assert answer.status_code == 409
    assert 'data-error="name_taken"' in answer.text
    assert 'value="Second try"' in answer.text


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("window", "0", "The window w"),
        ("name", "Not A Name", "The field name"),
        ("keep_originals_days", "-1", "The number of days originals are kept"),
        ("epsilon", "1000", "ε = 1000"),
    ],
)
def test_a_field_that_cannot_be_used_is_named(
    client: TestClient, signed_in: Callable[[str], str], field: str, value: str, named: str
) -> None:
    data = {**PLAN, "csrf": signed_in("curator"), "name": "fields", field: value}
    answer = client.post("/new", data=data)
    assert answer.status_code == 422
    assert 'data-error="invalid"' in answer.text
    assert named in answer.text


def test_a_plan_says_which_number_it_cannot_read(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    data = {**PLAN, "csrf": signed_in("curator"), "degree": "many"}
    assert 'data-error="invalid"' in client.post("/new/plan", data=data).text


def test_a_wrong_list_of_streams_makes_no_token(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    data = {"csrf": signed_in("curator"), "role": "analyst", "streams": "calls, No Such Name"}
    answer = client.post("/tokens", data=data)
    assert answer.status_code == 422
    assert "The list of streams" in answer.text
    assert 'id="secret"' not in answer.text


def test_a_token_that_does_not_exist_cannot_be_revoked(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    answer = client.post(f"/tokens/{'a' * 12}/revoke", data={"csrf": signed_in("curator")})
    assert answer.status_code == 404
    assert 'data-error="not_found"' in answer.text


def test_a_fault_of_the_service_is_a_page_that_repeats_nothing(
    client: TestClient,
    signed_in: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the private edge 17-42")

    signed_in("curator")
    monkeypatch.setattr("psgraph.service.pages.streams.stream_views", fail)
    answer = client.get("/")
    assert answer.status_code == 500
    assert 'data-error="internal"' in answer.text
    said = capsys.readouterr().err
    assert "RuntimeError" in said
    assert "17-42" not in answer.text + said


def test_without_a_library_for_charts_the_page_names_what_to_install(
    client: TestClient, signed_in: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise MissingExtra("matplotlib", "report")

    csrf = signed_in("curator")
    data = {"csrf": csrf, **PLAN, "name": "charts", "roster": "edges"}
    assert client.post("/new", data=data).status_code == 303
    files = {"file": ("a.csv", b"u,v\n1,2\n2,3\n")}
    client.post("/streams/charts/data", data={"csrf": csrf, "timestamp": "0"}, files=files)
    deadline = time.monotonic() + 60
    while "/releases/0" not in client.get("/streams/charts/data?posted=0").text:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    monkeypatch.setattr("psgraph.reports.charts.require_drawing", missing)
    monkeypatch.setattr("psgraph.service.pages.charts.require_drawing", missing)
    while "being drawn" in (page := client.get("/streams/charts")).text:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert page.status_code == 200
    assert "psgraph-dp[report]" in page.text
    assert "drawing.png" not in page.text
    assert client.get("/streams/charts/releases/0/drawing.png").status_code == 404
