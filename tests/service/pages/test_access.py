"""Who can open which page, and which forms are accepted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from psgraph.reports.charts import blank_chart, finish
from psgraph.reports.page import Page
from psgraph.service.pages import ROUTERS
from psgraph.service.pages.charts import embedded
from psgraph.service.pages.visits import PageRoute
from psgraph.service.permissions import ANYONE, Identity

#: Pages without an action of their own: signing in and out, style and scripts.
OPEN_TO_ALL = {"/sign-in", "/sign-out", "/static/{name}"}


def pages(method: str) -> Iterator[PageRoute]:
    """All page routes of a method."""
    for router in ROUTERS:
        for route in router.routes:
            assert isinstance(route, PageRoute)
            if method in route.methods:
                yield route


def path_of(route: PageRoute) -> str:
    known = {"stream": "calls", "timestamp": "0", "token": "a" * 12, "name": "x"}
    return route.path.format(**known)


def test_every_page_states_the_action_it_is_open_to() -> None:
    without = {
        route.path
        for method in ("GET", "POST")
        for route in pages(method)
        if "x-action" not in (route.openapi_extra or {})
    }
    assert without == OPEN_TO_ALL


@pytest.mark.parametrize("role", ["curator", "analyst", "auditor", "administrator", "public"])
def test_a_page_opens_for_the_roles_of_its_action_only(
    client: TestClient, signed_in: Callable[[str], str], role: str
) -> None:
    identity = ANYONE if role == "public" else Identity("x", role)  # type: ignore[arg-type]
    if role != "public":
        signed_in(role)
    wrong = {}
    for route in pages("GET"):
        if route.path in OPEN_TO_ALL:
            continue
        allowed = identity.may(route.openapi_extra["x-action"])  # type: ignore[index]
        status = client.get(path_of(route)).status_code
        refused = 303 if role == "public" else 403
        hidden = role == "public" and "{stream}" in route.path  # the stream is not public
        expected = (303,) if hidden else (200, 404) if allowed else (refused,)
        if status not in expected:
            wrong[route.path] = status
    assert not wrong


def test_no_form_is_accepted_without_what_only_its_page_knows(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    signed_in("curator")
    accepted = {}
    for route in pages("POST"):
        if route.path == "/sign-in":
            continue
        uploads = route.path.endswith(("/data", "/preview", "/roster"))
        files = {"file": ("a.csv", b"1,2\n")} if uploads else None
        answer = client.post(path_of(route), files=files, data={"csrf": "guess"})
        if answer.status_code != 403 or "does not belong to your session" not in answer.text:
            accepted[route.path] = answer.status_code
    assert not accepted


def test_a_form_from_another_site_is_refused_even_with_the_right_token(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    csrf = signed_in("curator")
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://elsewhere.example"}):
        answer = client.post("/sign-out", data={"csrf": csrf}, headers=headers)
        assert answer.status_code == 403
    assert client.get("/tokens").status_code == 200  # still signed in


def test_signing_in_from_another_site_is_refused(client: TestClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert client.post("/sign-in", data={"token": "x"}, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "path", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:x", "/a\nb"]
)
def test_signing_in_never_leads_to_another_site(
    client: TestClient, signed_in: Callable[[str], str], path: str
) -> None:
    signed_in("analyst")
    answer = client.get("/sign-in", params={"next": path})
    assert answer.headers["location"] == "/"


def test_the_cookie_is_closed_to_scripts_and_other_sites(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    service = client.app.state.service  # type: ignore[attr-defined]
    secret = service.first_token(again=True)
    cookie = client.post("/sign-in", data={"token": secret}).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert secret not in cookie
    client.cookies.clear()


def test_signing_out_ends_the_session_of_a_copied_cookie(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    csrf = signed_in("curator")
    copied = dict(client.cookies)
    client.post("/sign-out", data={"csrf": csrf})
    client.cookies.update(copied)
    answer = client.get("/tokens")
    assert answer.status_code == 303
    assert "ended" in answer.headers["location"]


def test_no_page_allows_inline_scripts_styles_or_other_sites(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    signed_in("curator")
    for route in pages("GET"):
        answer = client.get(path_of(route))
        policy = answer.headers["content-security-policy"]
        assert "'unsafe" not in policy
        assert "http" not in policy
        assert ' style="' not in answer.text
        assert "<style" not in answer.text
        assert not re.search(r"<[^>]* on[a-z]+=", answer.text)
        assert not re.search(r"<script(?![^>]* src=)", answer.text)


def test_a_chart_keeps_its_look_without_style_attributes() -> None:
    figure, axes = blank_chart("errors < 1")
    axes.plot([0, 1], [1, 2], color="#0072b2", linestyle="--", label="a")
    axes.legend()
    page = Page("")
    page.figures([(finish(figure), "Errors")], caption="a < b")
    text = embedded(page)
    assert "style=" not in text
    assert 'stroke="var(--data-0072b2, #0072b2)"' in text
    assert "stroke-dasharray=" in text
    assert 'font-size="9.5px"' in text
    assert "errors &lt; 1" in text


def test_a_text_in_the_address_is_never_shown(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    signed_in("curator")
    text = client.get("/", params={"done": "Call this number"}).text
    assert "Call this number" not in text


def test_an_unknown_address_is_a_page_and_an_unknown_api_address_is_not(
    client: TestClient,
) -> None:
    assert 'data-error="not_found"' in client.get("/nothing/here").text
    unknown = client.get("/api/v1/nothing")
    assert unknown.status_code == 404
    assert unknown.json()["error"] == "not_found"
