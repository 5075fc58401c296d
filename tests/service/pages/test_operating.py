"""Pages of operators and officers: search, settings, revoking, comparing, filtering the log."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from psgraph.service.audit_log import SERVICE
from psgraph.service.schemas import NewToken


def test_streams_are_searched_filtered_and_sorted(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    signed_in("curator")
    for query, shown in (
        ("q=CAL", True),
        ("q=nothing", False),
        ("health=ok", True),
        ("health=blocked", False),
        ("sort=next", True),
        ("sort=spent&health=ok", True),
    ):
        assert ("/streams/calls" in client.get(f"/?{query}").text) == shown, query
    assert "No stream matches" in client.get("/?q=nothing").text
    assert client.get("/?sort=unknown").status_code == 404


def test_a_stream_is_renamed_paused_and_continued(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    csrf = signed_in("administrator")
    path = "/streams/calls/settings"
    for title, activity, badge in (("Phone calls", "paused", "Paused"), ("", "active", "OK")):
        form = {"csrf": csrf, "title": title, "activity": activity}
        assert client.post(path, data=form).status_code == 303
        page = client.get("/streams/calls").text
        assert (title or "calls") in page
        assert badge in page
    refused = client.post(path, data={"csrf": csrf, "title": "x", "activity": "deleted"})
    assert refused.status_code == 422
    assert client.post(path, data={"title": "x"}).status_code == 403


def test_revoking_asks_first(client: TestClient, signed_in: Callable[[str], str]) -> None:
    csrf = signed_in("curator")
    tokens = client.app.state.service.tokens  # type: ignore[attr-defined]
    made = tokens.create(NewToken(role="analyst", label="to revoke"), SERVICE)
    assert f'href="/tokens/{made.id}/revoke"' in client.get("/tokens").text
    asked = client.get(f"/tokens/{made.id}/revoke")
    assert "to revoke" in asked.text
    assert tokens.check(made.token) is not None
    assert client.post(f"/tokens/{made.id}/revoke", data={"csrf": csrf}).status_code == 303
    assert tokens.check(made.token) is None
    assert client.get(f"/tokens/{made.id}/revoke").status_code == 404


@pytest.mark.parametrize(
    ("query", "there"),
    [("action=create stream&stream=calls", True), ("since=2999-01-01", False), ("stream=", True)],
)
def test_the_log_is_filtered_and_offered_as_a_file(
    client: TestClient, signed_in: Callable[[str], str], query: str, there: bool
) -> None:
    signed_in("auditor")
    page = client.get(f"/audit?{query}").text
    assert ('<td class="word">create stream</td>' in page) == there
    if there:
        found = re.search(r'href="(/api/v1/audit-log/export[^"]*)"', page)
        assert found is not None
        text = client.get(found[1].replace("&amp;", "&")).text
        assert text.startswith("number,at,role,token,action")


def test_two_releases_are_compared_or_the_page_says_that_there_are_none(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    signed_in("analyst")
    assert "Nothing is released yet" in client.get("/streams/calls/compare").text
    assert client.get("/streams/calls/compare?a=0&b=1").status_code == 404
