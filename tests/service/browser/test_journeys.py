"""What people do with the dashboard, from the first page to the last, in a real browser."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .site import Site, csv_file, edges_csv, roster_csv, sign_in

pytest.importorskip("playwright.sync_api", reason="pip install playwright")
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page


def fill_new_stream(page: Page, name: str) -> None:
    page.get_by_label("Privacy budget ε of a window").fill("1")
    page.get_by_label("Window w in timestamps").fill("3")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Method").select_option("psgraph")


def upload(page: Page, label: str, content: bytes, button: str) -> None:
    page.get_by_label(label, exact=True).set_input_files(csv_file(content))
    page.get_by_role("button", name=button).click()


def test_a_curator_creates_uploads_releases_downloads_and_verifies(page: Page, site: Site) -> None:
    sign_in(page, site, "curator")
    page.get_by_role("link", name="New stream").click()
    fill_new_stream(page, "calls")
    page.get_by_role("button", name="Create the stream").click()
    expect(page.get_by_role("status")).to_contain_text("The stream was created")

    upload(page, "Node list", roster_csv(), "Upload the roster")
    expect(page.get_by_text("The public roster has 60 nodes")).to_be_visible()
    page.get_by_label("Edges", exact=True).set_input_files(csv_file(edges_csv()))
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("for the curator only")
    expect(page.locator("#preview")).to_contain_text("60")
    page.get_by_role("button", name="Post the snapshot").click()
    expect(page.locator("#progress")).to_contain_text("Released.")

    page.get_by_role("link", name="Open the release of timestamp 0").click()
    with page.expect_download() as started:
        page.get_by_role("link", name="Edges, Parquet").click()
    content = Path(started.value.path()).read_bytes()
    with page.expect_download() as started:
        page.get_by_role("link", name="Certificate").click()
    certificate = json.loads(Path(started.value.path()).read_text())
    assert certificate["graph_sha256"] == hashlib.sha256(content).hexdigest()

    page.get_by_role("button", name="Verify in this browser").click()
    expect(page.locator("#verification .verdict")).to_have_text("Verified in this browser")
    expect(page.locator("#verification .passed")).to_have_count(4)


def test_a_changed_graph_fails_the_verification_in_the_browser(
    page: Page, site: Site, published: str
) -> None:
    sign_in(page, site, "analyst", f"/streams/{published}/releases/1")
    page.route("**/edges?format=parquet", lambda route: route.fulfill(body=b"PAR1 something else"))
    page.get_by_role("button", name="Verify in this browser").click()
    expect(page.locator("#verification .verdict")).to_have_text("Verification failed")
    expect(page.locator("#verification .failed")).to_contain_text("The graph is the certified one")


def test_a_changed_certificate_fails_the_verification_in_the_browser(
    page: Page, site: Site, published: str
) -> None:
    def change(route) -> None:  # type: ignore[no-untyped-def]
        answer = route.fetch()
        route.fulfill(body=answer.text().replace('"window": 3', '"window": 4'))

    sign_in(page, site, "analyst", f"/streams/{published}/releases/1")
    page.route("**/releases/0/certificate", change)
    page.get_by_role("button", name="Verify in this browser").click()
    expect(page.locator("#verification .verdict")).to_have_text("Verification failed")
    expect(page.locator("#verification .failed")).to_contain_text("timestamp 0")


def test_the_browser_digests_certificates_as_python_does(page: Page, site: Site) -> None:
    content = {
        "promise": 'ε ≤ 1, "quoted" \\ / 🙂 \u007f\n',
        "numbers": [1, 1.0, 0.1, 1e-07, 1e22, -3, 2**60, 12345.678],
        "z": None,
        "a": {"nested": True, "b": [], "1": {}},
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    written = json.dumps({**content, "digest": "x"}, indent=2, ensure_ascii=False)
    page.goto(f"{site.address}/sign-in")
    found = page.evaluate(
        """async (written) => {
          const { digestOf, parseCertificate } = await import("/static/certificate.js");
          return digestOf(parseCertificate(written));
        }""",
        written,
    )
    assert found == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("one", "other", "within"), [("1/3", "0.333", False), ("0.5", "1/2", True), ("1", "3/2", True)]
)
def test_the_browser_adds_up_exactly(
    page: Page, site: Site, one: str, other: str, within: bool
) -> None:
    page.goto(f"{site.address}/sign-in")
    found = page.evaluate(
        """async ([one, other]) => {
          const { atMost, fraction, sum } = await import("/static/certificate.js");
          return atMost(sum([fraction(one), fraction("0")]), fraction(other));
        }""",
        [one, other],
    )
    assert found == within


@pytest.mark.parametrize("path", ["", "/releases/1"])
def test_a_chart_says_the_value_at_the_pointer(
    page: Page, site: Site, published: str, path: str
) -> None:
    sign_in(page, site, "analyst", f"/streams/{published}{path}")
    sizes = page.get_by_role("img", name=re.compile("^Edges of the synthetic graphs"))
    box = sizes.bounding_box()
    assert box is not None
    edges = re.findall(r"[\d,]+", sizes.get_attribute("aria-label") or "")[-1]  # the latest
    sizes.hover(position={"x": box["width"] - 20, "y": box["height"] / 2})
    expect(sizes.locator(".pointed text")).to_have_text(f"timestamp 1: {edges}")
    page.get_by_role("heading", level=1).hover()
    expect(page.locator(".pointed")).to_have_count(0)


def test_a_wrong_file_is_explained_and_nothing_is_stored(page: Page, site: Site) -> None:
    site.create("wrong-file", roster="edges")
    sign_in(page, site, "curator", "/streams/wrong-file/data")
    page.get_by_label("Edges", exact=True).set_input_files(csv_file(b"this is\nno,table\n1\n"))
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview .private")).to_have_attribute("data-readable", "no")
    page.get_by_role("button", name="Post the snapshot").click()
    expect(page.get_by_role("alert")).to_have_attribute("data-error", "unreadable")
    expect(page.get_by_role("alert")).to_contain_text("Preview")  # the remedy of a page
    assert not site.service.queue.queued("wrong-file")


def test_a_refused_budget_is_shown_with_its_reason(page: Page, site: Site) -> None:
    site.create("greedy", method="greedy", roster="edges")
    sign_in(page, site, "curator", "/streams/greedy/data")
    upload(page, "Edges", edges_csv(0), "Post the snapshot")
    expect(page.locator("#progress")).to_contain_text("Released.")
    upload(page, "Edges", edges_csv(1), "Post the snapshot")
    expect(page.locator("#progress")).to_contain_text("Refused.")
    page.goto(f"{site.address}/streams/greedy")
    expect(page.locator("#state")).to_contain_text("Blocked")


def test_an_analyst_cannot_reach_a_page_for_curators(
    page: Page, site: Site, published: str
) -> None:
    sign_in(page, site, "analyst")
    expect(page.get_by_role("navigation", name="Main")).not_to_contain_text("Tokens")
    for path in ("/new", "/tokens", f"/streams/{published}/data", f"/streams/{published}/quality"):
        answer = page.goto(site.address + path)
        assert answer is not None
        assert answer.status == 403, path
        expect(page.get_by_role("alert")).to_have_attribute("data-error", "forbidden")


def test_an_auditor_sees_the_chain_and_no_download(page: Page, site: Site, published: str) -> None:
    sign_in(page, site, "auditor", "/audit")
    expect(page.get_by_text("Unbroken.")).to_be_visible()
    page.goto(f"{site.address}/streams/{published}/records")
    page.get_by_role("button", name="Verify everything now").click()
    expect(page.locator("#outcome")).to_contain_text("Verified.")
    page.goto(f"{site.address}/streams/{published}/releases/1")
    expect(page.get_by_role("link", name=re.compile("Edges"))).to_have_count(0)


def test_a_curator_opens_the_quality_report(page: Page, site: Site, published: str) -> None:
    sign_in(page, site, "curator", f"/streams/{published}/quality")
    page.get_by_role("button", name="Open the quality report").click()
    expect(page.get_by_role("heading", name="Quality report")).to_be_visible()
    expect(page.get_by_text("Contains private data")).to_be_visible()


def test_an_expired_session_is_explained_and_the_visitor_returns_to_the_page(
    page: Page, site: Site, published: str, later: Callable[[float], None]
) -> None:
    sign_in(page, site, "analyst")
    later(61 * 60)
    page.goto(f"{site.address}/streams/{published}")
    expect(page.get_by_role("status")).to_contain_text("Your session ended")
    page.get_by_label("Token").fill(site.tokens["analyst"])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{site.address}/streams/{published}")


def test_a_revoked_token_ends_its_session(page: Page, site: Site) -> None:
    sign_in(page, site, "curator", "/tokens")
    page.get_by_label("Label").fill("to revoke")
    page.get_by_role("button", name="Create the token").click()
    secret = page.get_by_label("The new token").text_content()
    other = page.context.browser.new_page()  # type: ignore[union-attr]
    try:
        other.goto(f"{site.address}/sign-in")
        other.get_by_label("Token").fill(secret or "")
        other.get_by_role("button", name="Sign in").click()
        expect(other.get_by_text("Signed in as analyst")).to_be_visible()
        page.get_by_role("row", name="to revoke").get_by_role("link", name="Revoke").click()
        page.get_by_role("button", name="Revoke the token").click()
        expect(page.get_by_role("status")).to_contain_text("The token was revoked")
        other.reload()
        expect(other.get_by_role("status")).to_contain_text("Your session ended")
    finally:
        other.close()


def test_a_wrong_token_is_refused_with_the_remedy(page: Page, site: Site) -> None:
    page.goto(f"{site.address}/sign-in")
    page.get_by_label("Token").fill("psg_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_attribute("data-error", "unauthorised")


def test_the_planner_follows_its_sliders(page: Page, site: Site) -> None:
    sign_in(page, site, "curator", "/new")
    page.get_by_label("Method").select_option("psgraph")
    page.get_by_label("w as a slider").fill("10")
    expect(page.get_by_label("Window w in timestamps")).to_have_value("10")
    expect(page.locator("#plan")).to_contain_text("ε = 0.1")
    page.get_by_label("Privacy budget ε of a window").fill("30")
    expect(page.locator("#plan")).to_contain_text("30")


def test_everything_but_the_check_in_the_browser_works_without_scripts(
    open_page: Callable[..., Page], site: Site
) -> None:
    page = open_page(java_script_enabled=False)
    sign_in(page, site, "curator", "/new")
    fill_new_stream(page, "no-scripts")
    page.get_by_role("button", name="Show the plan").click()
    expect(page.locator("#plan")).to_contain_text("ε = 1/3")
    page.get_by_role("button", name="Create the stream").click()
    upload(page, "Node list", roster_csv(), "Upload the roster")
    page.get_by_label("Edges", exact=True).set_input_files(csv_file(edges_csv()))
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("Nothing was stored")
    upload(page, "Edges", edges_csv(), "Post the snapshot")
    expect(page.get_by_role("status")).to_contain_text("The data was accepted")
    site.wait_for("no-scripts", released=1)
    page.reload()
    expect(page.locator("#progress")).to_contain_text("Released.")
