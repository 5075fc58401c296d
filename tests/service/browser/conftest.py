"""One service and one browser for all browser tests, and a fresh context for each test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from .site import Site, running_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")

#: No sandbox in containers; nothing that a browser does behind a test's back.
OPTIONS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
PATIENCE = 30_000  # milliseconds: the first publication compiles kernels
playwright.expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A running service with a token for each role."""
    with running_site(tmp_path_factory.mktemp("site") / "data") as site:
        yield site


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, as Debian packages it.

    Closed after these tests: its event loop occupies the thread that other tests run in.
    """
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no browser: apt install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, headless=True, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Open a page in a context of its own. Errors in its console fail the test.

    A script or style that the content security policy forbids is such an error, and so is a
    request to another site.
    """
    contexts, wrong = [], []

    def make(**options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: wrong.append(said.text) if _is_error(said) else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "response",
            lambda got: wrong.append(f"{got.status} {got.url}") if got.status >= 500 else None,
        )
        page.on(
            "request",
            lambda sent: None if sent.url.startswith(site.address) else wrong.append(sent.url),
        )
        return page

    yield make
    for context in contexts:
        context.close()
    assert not wrong, wrong


def _is_error(said: Any) -> bool:
    """Whether a console message is an error; a refused page is none, tests refuse on purpose."""
    return said.type == "error" and "the server responded with a status of" not in said.text


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """A page of 1280 by 800 pixels."""
    return open_page()


@pytest.fixture(scope="package")
def published(site: Site) -> str:
    """A stream with two releases; tests read it and don't change it."""
    site.create("published", title="Calls between offices", roster="edges", keep_originals_days=1)
    for timestamp in range(2):
        site.post("published", timestamp)
    site.wait_for("published", released=2)
    return "published"


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch, site: Site) -> Callable[[float], None]:
    """Let the time of sessions pass, and of nothing else: a rate limit would count from then on."""

    def pass_time(seconds: float) -> None:
        sessions = site.service.sessions
        start = sessions.clock
        monkeypatch.setattr(sessions, "clock", lambda: start() + seconds)

    return pass_time
