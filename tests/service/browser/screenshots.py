"""Screenshots of every page, for the documentation and to look at.

``python -m tests.service.browser.screenshots DIRECTORY`` writes every page at 1280 and 390 pixels,
light and dark; with ``--docs`` only the few that the documentation shows, with names only those.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

from psgraph.streams.demo import demo_stream

from .conftest import OPTIONS
from .site import Site, csv_file, edges_csv, running_site, sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Name, role and path of every page.
PAGES = (
    ("sign-in", "public", "/sign-in?ended=1"),
    ("public", "public", "/"),
    ("streams", "curator", "/"),
    ("stream", "curator", "/streams/calls"),
    ("stream-empty", "curator", "/streams/routers"),
    ("stream-one", "auditor", "/streams/refused"),
    ("release", "analyst", "/streams/calls/releases/11"),
    ("release-auditor", "auditor", "/streams/calls/releases/11"),
    ("new", "curator", "/new"),
    ("data", "curator", "/streams/calls/data"),
    ("data-refused", "curator", "/streams/refused/data?posted=1"),
    ("quality", "curator", "/streams/calls/quality"),
    ("records", "auditor", "/streams/calls/records"),
    ("compare", "analyst", "/streams/calls/compare?a=3&b=11"),
    ("settings", "curator", "/streams/routers/settings"),
    ("tokens", "curator", "/tokens"),
    ("revoke", "curator", "/tokens"),
    ("audit", "auditor", "/audit"),
    ("audit-filter", "auditor", "/audit?stream=calls&action=release"),
    ("reference", "public", "/api"),
    ("forbidden", "analyst", "/tokens"),
    ("missing", "curator", "/streams/no-such-stream"),
)
#: What the documentation shows: page, width, scheme and the height to cut at.
SHOWN = (
    ("stream", 1280, "light", 1500),
    ("new", 1280, "light", 1000),
    ("release", 390, "dark", 1500),
    ("streams", 1280, "dark", 620),
)


def fill(site: Site) -> None:
    """Create streams in several states."""
    site.create(
        "calls", title="Calls between offices", method="psgraph-plus", keep_originals_days=9
    )
    for timestamp, snapshot in enumerate(demo_stream(nodes=1500, timestamps=12)):
        ids = snapshot.roster.ids
        site.put_roster("calls", ("id\n" + "\n".join(map(str, ids))).encode())
        rows = zip(ids[snapshot.u], ids[snapshot.v], strict=True)
        content = ("u,v\n" + "\n".join(f"{u},{v}" for u, v in rows)).encode()
        site.post("calls", timestamp, content, time=snapshot.time)
    site.create("routers", title="Router links", period="1d", public=True)
    site.create("refused", method="greedy", roster="edges")
    for timestamp in range(2):
        site.post("refused", timestamp)
    site.wait_for("calls", released=12)


def prepare(page: Page, name: str) -> None:
    """Show what a page is for, where that takes a click."""
    if name == "release":
        page.get_by_role("button", name="Verify in this browser").click()
        page.get_by_text("Verified in this browser").wait_for()
    elif name == "new":
        page.get_by_label("Approximate mean degree").fill("8")
        page.get_by_text("What the noise means for").wait_for()
    elif name == "data":
        page.get_by_label("Edges", exact=True).set_input_files(csv_file(edges_csv()))
        page.get_by_role("button", name="Preview").click()
        page.get_by_text("Nothing was stored").wait_for()
    elif name == "records":
        page.get_by_role("button", name="Verify everything now").click()
        page.get_by_text("no window spent more").wait_for()
    elif name == "revoke":
        page.get_by_role("link", name="Revoke").first.click()
        page.get_by_role("button", name="Revoke the token").wait_for()
    elif name == "stream":
        page.get_by_role("heading", name="Releases over time").wait_for()
    elif name == "tokens":
        page.get_by_label("Label").fill("research group")
        page.get_by_role("button", name="Create the token").click()
        page.get_by_text("Copy it now").wait_for()


def shoot(browser: Browser, site: Site, name: str, width: int, scheme: str, to: Path) -> None:
    """Write one screenshot of a whole page."""
    role, path = next(each[1:] for each in PAGES if each[0] == name)
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    if role != "public":
        sign_in(page, site, role)
    page.goto(site.address + path)
    prepare(page, name)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")  # pictures load when they are seen
    page.wait_for_load_state("networkidle")
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=to, full_page=True)
    context.close()


def shrink(path: Path, height: int) -> None:
    """Cut a screenshot and reduce it to 256 colours, which keeps the colours of small text."""
    with Image.open(path) as picture:
        cut = picture.convert("RGB").crop((0, 0, picture.width, min(height, picture.height)))
    few = cut.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main(directory: Path, *names: str, docs: bool) -> None:
    """Write the screenshots."""
    directory.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        running_site(Path(home) / "data") as site,
        sync_playwright() as started,
    ):
        browser = started.chromium.launch(executable_path="/usr/bin/chromium", args=OPTIONS)
        fill(site)
        if docs:
            for name, width, scheme, height in SHOWN:
                path = directory / f"{name}-{width}-{scheme}.png"
                shoot(browser, site, name, width, scheme, path)
                shrink(path, height)
        else:
            for name in names or [each[0] for each in PAGES]:
                for width in (1280, 390):
                    for scheme in ("light", "dark"):
                        path = directory / f"{name}-{width}-{scheme}.png"
                        shoot(browser, site, name, width, scheme, path)
        browser.close()


if __name__ == "__main__":
    named = [each for each in sys.argv[2:] if each != "--docs"]
    main(Path(sys.argv[1]), *named, docs="--docs" in sys.argv)
