"""Pages for everyone: phone width, keyboard only, screen readers, light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from .site import Site, sign_in

pytest.importorskip("playwright.sync_api", reason="pip install playwright")
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATHS = (
    "/",
    "/new",
    "/tokens",
    "/audit",
    "/api",
    "/no/such/page",
    "/streams/published",
    "/streams/published/releases/1",
    "/streams/published/data",
    "/streams/published/quality",
    "/streams/published/records",
)

WIDTH = 390  # of a phone, in pixels

#: What a screen reader needs and does not find, as sentences.
MISSING = """() => {
  const missing = [], all = (selector) => [...document.querySelectorAll(selector)];
  const named = (element) => element.ariaLabel || element.textContent.trim();
  if (!document.documentElement.lang) missing.push("the language");
  if (all("h1").length !== 1) missing.push("one first heading");
  if (all("main").length !== 1) missing.push("one main landmark");
  if (all("nav").some((nav) => !nav.ariaLabel)) missing.push("the name of a navigation");
  for (const field of all("input:not([type=hidden]), select, textarea"))
    if (!field.labels?.length && !field.ariaLabel) missing.push(`the label of ${field.name}`);
  for (const each of all("button, a")) if (!named(each)) missing.push(`a name: ${each.outerHTML}`);
  for (const image of all("img")) if (!image.alt) missing.push(`a text for ${image.src}`);
  for (const chart of all("main svg")) if (!chart.ariaLabel) missing.push("a text for a chart");
  for (const table of all("table"))
    if (table.querySelector("thead th:not([scope])")) missing.push("the scope of a heading");
  const ids = all("[id]").map((element) => element.id);
  if (new Set(ids).size !== ids.length) missing.push("unique ids");
  for (const each of all("[aria-describedby]"))
    if (!ids.includes(each.getAttribute("aria-describedby"))) missing.push("a help text");
  return missing;
}"""

#: The lowest contrast of visible text with the background behind it.
CONTRAST = """() => {
  const light = ([r, g, b]) => [r, g, b]
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const colour = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const found = colour(getComputedStyle(each).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  let worst = [21, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const hidden = !element.checkVisibility() || element.closest("svg, script, .skip, noscript");
    if (!walker.currentNode.textContent.trim() || hidden) continue;
    const [one, other] = [light(colour(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < worst[0]) worst = [contrast, element.outerHTML.slice(0, 120)];
  }
  return worst;
}"""


#: Buttons and fields that a finger would miss.
SMALL = """() => [...document.querySelectorAll("button, .button, input:not([type=checkbox])")]
  .filter((each) => each.checkVisibility() && each.type !== "range" && each.type !== "hidden")
  .filter((each) => each.getBoundingClientRect().height < 24)
  .map((each) => each.outerHTML)"""


@dataclass(frozen=True)
class Look:
    """What was found on a page at the width of a phone."""

    wide: bool
    small: list[str]
    missing: list[str]
    contrast: dict[str, tuple[float, str]]
    background: dict[str, str]


@pytest.fixture(scope="module")
def looks(browser: Browser, site: Site, published: str) -> dict[str, Look]:
    """Every page, looked at once by a curator with a phone, in light and in dark."""
    del published
    context = browser.new_context(viewport={"width": WIDTH, "height": 844}, is_mobile=True)
    page = context.new_page()
    sign_in(page, site, "curator")
    found = {}
    for path in PATHS:
        page.goto(site.address + path)
        contrast, background = {}, {}
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            contrast[scheme] = page.evaluate(CONTRAST)
            background[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        found[path] = Look(
            wide=page.evaluate(f"document.documentElement.scrollWidth > {WIDTH}"),
            small=page.evaluate(SMALL),
            missing=page.evaluate(MISSING),
            contrast=contrast,
            background=background,
        )
    context.close()
    return found


def test_no_page_scrolls_sideways_on_a_phone(looks: dict[str, Look]) -> None:
    assert not [path for path, look in looks.items() if look.wide]


def test_everything_to_press_on_a_phone_is_large_enough(looks: dict[str, Look]) -> None:
    assert not {path: look.small for path, look in looks.items() if look.small}


def test_screen_readers_find_names_landmarks_and_texts(looks: dict[str, Look]) -> None:
    assert not {path: look.missing for path, look in looks.items() if look.missing}


def test_text_is_legible_in_light_and_dark(looks: dict[str, Look]) -> None:
    for path, look in looks.items():
        assert look.background["light"] != look.background["dark"]
        for scheme, (contrast, element) in look.contrast.items():
            assert contrast >= 4.5, (path, scheme, contrast, element)


def test_a_stream_is_created_with_the_keyboard_only(page: Page, site: Site) -> None:
    keys = page.keyboard

    def reach(name: str) -> None:
        """Press Tab until something of this name has the focus, which has to be visible."""
        for _ in range(60):
            keys.press("Tab")
            found = page.evaluate(
                "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
            )
            if found == name:
                style = "getComputedStyle(document.activeElement).outlineStyle"
                assert page.evaluate(style) != "none", f"the focus on {name} is not visible"
                return
        raise AssertionError(f"{name} can't be reached")

    page.goto(f"{site.address}/sign-in?next=/new")
    keys.type(site.tokens["curator"])  # the field has the focus
    keys.press("Enter")
    page.wait_for_url(f"{site.address}/new")
    keys.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    keys.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    reach("Name")
    keys.type("by-keyboard")
    reach("Create the stream")
    keys.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The stream was created")


def test_the_keyboard_is_never_trapped(page: Page, site: Site, published: str) -> None:
    sign_in(page, site, "curator", f"/streams/{published}")
    last = "main a[href], main button, main input, main [tabindex='0'], main summary, main select"
    seen = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        where = page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        if where in seen:  # around once
            break
        seen.add(where)
    reachable = page.locator(last).and_(page.locator(":visible")).count()
    assert len(seen) >= reachable
