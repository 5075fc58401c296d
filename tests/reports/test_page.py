"""The kit: every text is text, every page stands alone, every place is checked."""

from __future__ import annotations

import math
import os
import re
from importlib.resources import files
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from psgraph.errors import InvalidArgument, OutputError
from psgraph.methods.base import Method
from psgraph.methods.psgraph import PSGraph
from psgraph.methods.registry import method_names
from psgraph.pictures.style import method_look
from psgraph.reports.charts import Drawing, blank_chart, finish, literal, name_times
from psgraph.reports.page import Page, check_writable

from .reading import checked

METHODS = {name: method_look(name) for name in method_names()}
HOSTILE = (
    "</title><script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "]]> <!-- & &amp; -->",
    "</style></main>",
    "$x_1$ \\frac $",
    "\x00\x07\x1b[31m",
    "\ud800",
    "עברית 漢字 🙂",
)


def drawing(title: str = "a chart") -> Drawing:
    figure, axes = blank_chart(title)
    axes.plot([0, 1, 2], [1, 3, 2], marker="o", label=literal(title))
    axes.legend()
    name_times(axes, [title, None, title])
    return finish(figure)


def full_page(text: str) -> Page:
    page = Page(text, subtitle=text, banner=text)
    page.heading(text)
    page.heading(text)
    page.heading(text, level=3)
    page.paragraph(text, verdict=text, tone="poor")
    page.bullets([text, text])
    page.text(text)
    page.facts([(text, text)])
    page.tiles([(text, text, text, "fair"), (text, text, text, None)])
    page.table((text, "b"), [(text, "1"), (text, text)], numeric=(1,), caption=text, total=True)
    page.figure(drawing(text), alt=text, caption=text)
    page.figures([(drawing(text), text), (b"\x89PNG", text)], caption=text)
    with page.details(text):
        page.paragraph(text)
    return page


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text):
    page = checked(full_page(text).html())
    calm = checked(full_page("calm").html())
    # The same elements in the same order, whatever the words.
    assert page.outline == calm.outline
    assert {tag for tag, _ in page.elements} == {tag for tag, _ in calm.elements}
    if text.isprintable():
        assert " ".join(text.split()) in page.text
        assert page.banners == [text]


def page_without_chart(text: str) -> Page:
    page = Page(text, subtitle=text, banner=text)
    page.heading(text)
    page.paragraph(text, verdict=text)
    page.table((text,), [(text,)], caption=text)
    page.figure(b"\x89PNG", alt=f"alt {text}", caption=text)
    return page


@given(st.text(min_size=1, max_size=40))
@settings(max_examples=150)
def test_any_text_changes_nothing_but_the_words(text):
    # The words of a page may be an address; its elements may not.
    text = text.replace("//", "/")
    outline = checked(page_without_chart("calm").html()).outline
    assert checked(page_without_chart(text).html()).outline == outline


def test_sections_get_names_of_their_own_and_a_list_of_contents():
    page = Page("Title")
    for _ in range(4):
        page.heading("The same")
    read = checked(page.html())
    assert [given["id"] for tag, given in read.elements if tag == "h2"] == [
        "the-same",
        "the-same-2",
        "the-same-3",
        "the-same-4",
    ]
    assert read.count("nav") == 1
    assert read.count("a") == 4


def test_a_short_page_has_neither_contents_nor_banner():
    page = Page("Title")
    page.heading("Only")
    read = checked(page.html())
    assert read.count("nav") == 0
    assert read.banners == []


def test_numbers_go_to_the_right_and_rows_have_headings():
    page = Page("Title")
    page.table(("name", "value"), [("a", "1"), ("all", "2")], numeric=(1,), total=True, caption="c")
    read = checked(page.html())
    kinds = [given.get("class") for tag, given in read.elements if tag == "td"]
    assert kinds == ["number", "number"]
    assert [given["scope"] for tag, given in read.elements if tag == "th"] == [
        *("col", "col"),
        *("row", "row"),
    ]
    assert [given.get("class") for tag, given in read.elements if tag == "tr"][-1] == "total"
    with pytest.raises(InvalidArgument):
        page.table(("a", "b"), [("1",)])


def test_the_same_drawing_twice_has_no_name_twice():
    page = Page("Title")
    same = drawing()
    page.figures([(same, "one"), (same, "two")], caption="twice")
    read = checked(page.html())
    assert read.count("svg") == 2


def test_drawings_are_always_the_same_and_keep_no_trace_of_matplotlib():
    first, second = drawing().markup("a-", label="x"), drawing().markup("a-", label="x")
    assert first == second
    assert "DejaVu" not in first
    assert "matplotlib" not in first.lower()


def test_drawing_keeps_every_point_where_it_was():
    figure = Figure(figsize=(2, 2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 144), ylim=(0, 144))
    axes.plot([10, 50, 90, 140], [144 - 12, 144 - 60, 144 - 30, 144 - 99])
    text = Drawing.from_figure(figure).markup("", label="x")
    numbers = text.replace("L", " ").split('d="M 10 ')[1].split('"')[0].split()
    assert [float(number) for number in numbers] == [12, 50, 60, 90, 30, 140, 99]


def test_written_whole_in_place_of_what_was_there(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("before")
    assert Page("After \ud800").write(target) == target
    assert "After" in target.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_places_that_can_not_be_written(tmp_path):
    (tmp_path / "folder.html").mkdir()
    for path in (tmp_path / "missing" / "page.html", tmp_path / "folder.html"):
        with pytest.raises(OutputError):
            Page("t").write(path)
    with pytest.raises(OutputError):
        check_writable("a\0.html")
    with pytest.raises(InvalidArgument, match=r"\.html"):
        check_writable(tmp_path / "edges.parquet")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError):
        check_writable(tmp_path / "page.html")


def test_every_method_has_a_look_of_its_own():
    for key in ("title", "colour", "marker"):
        assert len({getattr(look, key) for look in METHODS.values()}) == len(METHODS)
    other = method_look("something else")
    assert other.colour not in {look.colour for look in METHODS.values()}
    assert other.marker not in {look.marker for look in METHODS.values()}


class Named(Method):
    """A method of another package that states no look."""

    name = "named"


class Extended(PSGraph):
    """A variant of a method, with a name of its own."""

    name = "extended"


def test_a_method_without_a_look_is_called_by_its_name():
    for method in (Named, Extended):
        assert (method.title, method.colour, method.marker) == (method.name, None, None)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_of_both_colour_schemes_can_be_read():
    """The contrast that WCAG asks for (4.5 to 1), for every ink on every paper."""
    css = (files("psgraph.reports") / "page.css").read_text()
    schemes = [block.partition("}")[0] for block in css.split(":root {")[1:3]]
    assert len(schemes) == 2
    for scheme in schemes:
        pairs = (
            line.strip().rstrip(";").split(": ") for line in scheme.splitlines() if "#" in line
        )
        colours = dict(pairs)
        inks = ("--ink", "--quiet", "--link", "--good", "--fair", "--poor")
        tested = [(ink, paper) for ink in inks for paper in ("--paper", "--shade")]
        for ink, paper in [*tested, ("--warn-ink", "--warn-paper")]:
            light, dark = sorted((luminance(colours[ink]), luminance(colours[paper])))[::-1]
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, paper)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_method_is_visible_on_a_card_of_either_theme(theme):
    css = (files("psgraph.reports") / "page.css").read_text()
    light, _, dark = css.partition("@media (prefers-color-scheme: dark)")
    values = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", light.partition("}")[0]))
    if theme == "dark":
        values |= dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", dark.partition("@media")[0]))
    card = luminance(values["--card"])
    drawn = {
        look.title: values.get(f"--data-{look.colour[1:]}", look.colour)
        for look in METHODS.values()
    }
    for title, colour in drawn.items():
        low, high = sorted([card, luminance(colour)])
        assert (high + 0.05) / (low + 0.05) >= 2, title
    parts = {
        title: [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
        for title, colour in drawn.items()
    }
    for one, other in combinations(parts, 2):
        assert math.dist(parts[one], parts[other]) >= 50, (one, other)


def test_charts_follow_the_theme_of_the_page():
    figure, axes = blank_chart("a chart")
    axes.plot([1, 2], color="#0072b2")
    axes.plot([2, 1], color="#123456")  # not of the house style
    markup = finish(figure).markup("a-", label="A chart")
    assert "var(--data-0072b2, #0072b2)" in markup
    assert "var(--card, #ffffff)" in markup
    assert set(re.findall(r"(?<!, )#[0-9a-f]{6}", markup)) == {"#123456"}
