"""Pages for everyone: phone width, keyboard only, screen readers, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from .site import Site, sign_in

pytest.importorskip("playwright.sync_api", reason="pip install playwright")
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATHS = (
    "/",
    "/new",
    "/tokens",
    "/audit",
    "/no/such/page",
    "/streams/published",
    "/streams/published/releases/1",
    "/streams/published/data",
    "/streams/published/quality",
    "/streams/published/records",
)

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


@pytest.fixture
def phone(open_page: Callable[..., Page], site: Site, published: str) -> Page:
    """A signed-in curator with a phone."""
    del published
    page = open_page(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    sign_in(page, site, "curator")
    return page


def test_no_page_scrolls_sideways_on_a_phone(phone: Page, site: Site) -> None:
    wide = []
    for path in PATHS:
        phone.goto(site.address + path)
        if phone.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(path)
    assert not wide


def test_everything_to_press_on_a_phone_is_large_enough(phone: Page, site: Site) -> None:
    small = []
    for path in PATHS:
        phone.goto(site.address + path)
        for button in phone.locator("button:visible, .button:visible, input:visible").all():
            box = button.bounding_box()
            kind = button.get_attribute("type")
            if box is not None and box["height"] < 24 and kind not in ("checkbox", "range"):
                small.append((path, button.inner_text()))
    assert not small


def test_screen_readers_find_names_landmarks_and_texts(phone: Page, site: Site) -> None:
    missing = {}
    for path in PATHS:
        phone.goto(site.address + path)
        if found := phone.evaluate(MISSING):
            missing[path] = found
    assert not missing


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible_in_light_and_dark(
    open_page: Callable[..., Page], site: Site, published: str, scheme: str
) -> None:
    page = open_page(color_scheme=scheme)
    sign_in(page, site, "curator")
    for path in (*PATHS, "/tokens"):
        page.goto(site.address + path)
        contrast, element = page.evaluate(CONTRAST)
        assert contrast >= 4.5, (path, contrast, element)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light == (scheme == "light")


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


@pytest.mark.parametrize("path", ["/new", "/streams/published", "/streams/published/releases/1"])
def test_the_keyboard_is_never_trapped(page: Page, site: Site, published: str, path: str) -> None:
    sign_in(page, site, "curator", path)
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
