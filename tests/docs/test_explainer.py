"""The interactive explainer: its numbers are those of `psgraph.plan`, and anyone can use it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.service.browser.test_everyone import CONTRAST, MISSING, SMALL, WIDTH

from psgraph.methods.plus.schedule import shares_of
from psgraph.methods.plus.shares import Components, Occasion
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.planning import plan

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")

PAGE = Path(__file__).parents[2] / "docs/explainer/index.html"
NODES, TIMESTAMPS = 160, 24
#: No sandbox in containers; nothing that a browser does behind a test's back.
OPTIONS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
SETTINGS = (("1", 4), ("0.1", 8), ("20", 1), ("3", 2))

#: The table of a timestamp as it stands on the page.
ROWS = """(time) => {
  shown.time = time;
  drawTable();
  return [...document.querySelectorAll("#measured tbody tr")].map((row) => ({...row.dataset}));
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, as Debian packages it; closed after these tests."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no browser: apt install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, headless=True, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def wrong() -> list[str]:
    """Errors in the console and requests that leave; a script that the policy forbids is one."""
    return []


@pytest.fixture(scope="module")
def page(browser: Browser, wrong: list[str]) -> Iterator[Page]:
    """The page, opened once."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request", lambda sent: None if sent.url.startswith("file:") else wrong.append(sent.url)
    )
    page.goto(PAGE.as_uri())
    yield page
    context.close()
    assert not wrong, wrong


@pytest.fixture
def show(page: Page) -> Callable[..., None]:
    """Show a setting."""

    def apply(epsilon: str, window: int, method: str, mode: str = "periodic") -> None:
        words = f"epsilon={epsilon}&window={window}&method={method}&mode={mode}&time=8"
        page.evaluate("(words) => apply(words)", words)

    return apply


def asked(page: Page, timestamp: int) -> dict[str, tuple[float, ...]]:
    """ε of every query of a timestamp, with sensitivity and scale of Laplace noise, as shown."""
    return {
        row["label"]: (float(row["epsilon"]), int(row["sensitivity"]), float(row["scale"]))
        if row["scale"]
        else (float(row["epsilon"]),)
        for row in page.evaluate(ROWS, timestamp)
        if not row["label"].endswith("at the next timestamp")  # a reservation: no query, no row
    }


def planned(epsilon: str, window: int, method: str) -> dict[str, dict[str, Any]]:
    """The same by `psgraph.plan`, for each case."""
    found: dict[str, dict[str, Any]] = {}
    guarantee = WEventPrivacy(epsilon, window=window)
    for row in plan(guarantee, nodes=NODES, method=method).rows:
        numbers: tuple[float, ...] = (float(row.epsilon),)
        if row.scale is not None and row.sensitivity is not None:
            numbers += (row.sensitivity, row.scale)
        found.setdefault(row.case, {})[row.label] = pytest.approx(numbers)
    return found


@pytest.mark.parametrize(("epsilon", "window"), SETTINGS)
def test_psgraph_measures_what_the_plan_says(page, show, epsilon, window):
    show(epsilon, window, "psgraph")
    cases = planned(epsilon, window, "psgraph")
    seen = set()
    for timestamp in (0, *range(1, TIMESTAMPS, 3)):
        rows = asked(page, timestamp)
        found = "super-graph edges" in rows
        seen.add(found)
        assert rows == cases["communities found again" if found else "communities kept"]
    assert seen == {True, False}


@pytest.mark.parametrize("mode", ["periodic", "steady"])
@pytest.mark.parametrize(("epsilon", "window"), SETTINGS)
def test_psgraph_plus_measures_what_the_plan_says(page, show, epsilon, window, mode):
    show(epsilon, window, "psgraph-plus", mode)
    cases = planned(epsilon, window, "psgraph-plus")
    words = {"periodic": "degrees once per window", "steady": "degrees every timestamp"}[mode]
    when = {0: "first timestamp", 1: "every later timestamp"}
    if window > 1:
        when = {0: "first timestamp", 1: "second timestamp"}
        when |= {2 * window: f"a window begins, {words}", 3 * window - 1: f"a window ends, {words}"}
    for timestamp, case in when.items():
        assert asked(page, timestamp) == cases[case], (timestamp, case)


@pytest.mark.parametrize("mode", ["periodic", "steady"])
@pytest.mark.parametrize(("epsilon", "window"), SETTINGS)
def test_every_timestamp_spends_what_the_schedule_says(page, show, epsilon, window, mode):
    show(epsilon, window, "psgraph-plus", mode)
    spends = page.evaluate("JSON.parse(document.getElementById('timeline').dataset.spends)")
    spending = Accountant(WEventPrivacy(epsilon, window=window))
    for timestamp in range(TIMESTAMPS):
        decided = "undecided" if timestamp < 2 else mode
        shares = shares_of(Components(), spending, Occasion(decided, timestamp % window == 0))
        assert spends[timestamp] == pytest.approx(float(shares.total)), timestamp
        spending = spending.record(shares.total)


def test_psgraph_spends_the_same_everywhere_and_no_window_exceeds_epsilon(page, show):
    show("1", 4, "psgraph")
    spends = page.evaluate("JSON.parse(document.getElementById('timeline').dataset.spends)")
    assert spends == [pytest.approx(0.25)] * TIMESTAMPS
    assert float(page.get_attribute("#timeline", "data-window")) == pytest.approx(1)
    assert "has spent 1 of 1" in page.inner_text("#window-facts")


def test_sliders_change_the_numbers_drawn_with_the_keyboard(page, show):
    show("1", 4, "psgraph")

    def numbers() -> list[Any]:
        noise = page.locator("#noise")
        scale, drawn = noise.get_attribute("data-scale"), noise.get_attribute("data-drawn")
        return [page.inner_text("#measured"), scale, drawn, page.inner_text("#window-facts")]

    page.evaluate("shown.label = 'inner degrees'; draw()")
    before = numbers()
    page.focus("#epsilon")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#epsilon-shown") == "1.5"
    larger = numbers()
    assert all(one != other for one, other in zip(before, larger, strict=True))
    assert float(larger[1]) < float(before[1])
    page.focus("#window")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#window-shown") == "5"
    assert all(one != other for one, other in zip(larger, numbers(), strict=True))
    published = page.get_attribute("#synthetic path", "d")
    page.click("#again")
    assert page.get_attribute("#synthetic path", "d") != published


def test_the_noise_has_the_distribution_it_is_drawn_as(page):
    mean = page.evaluate(
        """() => {
          const random = generator("test"), draws = 40000;
          let all = 0;
          for (let at = 0; at < draws; at++) all += Math.abs(discreteLaplace(5, random));
          return all / draws;
        }"""
    )
    ratio = math.exp(-1 / 5)
    assert mean == pytest.approx(2 * ratio / (1 - ratio**2), rel=0.03)
    drawn = sum(page.evaluate("[...Array(401).keys()].map((k) => probability(k - 200, 5))"))
    assert drawn == pytest.approx(1)


def test_no_request_leaves_and_no_error_appears(page, wrong):
    for button in page.locator("[data-try]").all():
        button.click()
    for control in ("#back", "#forward", "#play", "#play", "#again"):
        page.click(control)
    page.check("input[value=psgraph-plus]")
    page.check("input[value=steady]")
    page.locator("#measured button").last.click()
    assert page.get_attribute("#noise", "aria-label").startswith("edges between degree classes")
    assert wrong == []


def test_nothing_moves_for_readers_who_want_no_motion(page):
    moving = "getComputedStyle(document.querySelector('.window')).transitionDuration"
    assert page.evaluate(moving) != "0s"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(moving) == "0s"
    page.emulate_media(reduced_motion="no-preference")


def test_the_page_says_that_it_is_an_illustration(page):
    note = " ".join(page.inner_text(".note").split())
    assert "An illustration" in note
    assert "double precision" in note
    assert "psgraph itself draws exact integer noise" in note


@pytest.mark.parametrize("method", ["psgraph", "psgraph-plus"])
def test_the_page_suits_phones_and_screen_readers(page, show, method):
    page.set_viewport_size({"width": WIDTH, "height": 844})
    try:
        show("1", 4, method)
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTH
        assert page.evaluate(MISSING) == []
        assert page.evaluate(SMALL) == []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            contrast, where = page.evaluate(CONTRAST)
            assert contrast >= 4.5, (scheme, contrast, where)
    finally:
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 800})
