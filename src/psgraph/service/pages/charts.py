"""Charts and drawings of releases, made from published files only.

Each is drawn once per release and remembered: a release never changes. The reports' charts use
style attributes, which the content security policy of the pages forbids; since all of these
properties exist as SVG attributes too, they are rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from psgraph._runtime.extras import require_drawing
from psgraph._runtime.numbers import abbreviated, count, joined, percent
from psgraph.errors import MissingExtra
from psgraph.metrics.change import degree_change, edge_overlap
from psgraph.pictures.layout import arrange
from psgraph.pictures.network import area_per_degree, network_png
from psgraph.pictures.style import INK, method_look
from psgraph.publication.certificate import Certificate
from psgraph.reports.charts import blank_chart, finish, name_times
from psgraph.reports.page import Page
from psgraph.reports.public import add_release_degrees
from psgraph.reports.sections import MOST_MARKERS, add_spend, add_summary_chart
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = [
    "change_words",
    "chart_sections",
    "drawable",
    "drawing_png",
    "embedded",
    "overlap_words",
    "prepare_pictures",
    "release_sections",
]

#: Larger graphs take too long to draw while a visitor waits.
_MOST_EDGES_DRAWN = 300_000
_MOST_EDGES_COMPARED = 5_000_000
_CHARTS_PATIENCE = 0.5  # seconds; the page asks again for charts that take longer
_STYLE = re.compile(r' style="([^"]*)"')


def drawable(certificate: Certificate) -> bool:
    """Whether a release can be drawn: matplotlib is installed and the graph is small."""
    try:
        require_drawing()
    except MissingExtra:
        return False
    return certificate.edges <= _MOST_EDGES_DRAWN


async def chart_sections(service: Service, stream: Stream, caller: Identity) -> Markup:
    """Return the sections about sizes over time, spending and the released graphs."""
    key, draw = _charts_of(stream)
    run = service.drawing.run(caller, key, draw, remember=True, patience=_CHARTS_PATIENCE)
    sections: Markup = await run
    return sections


async def release_sections(
    service: Service, stream: Stream, timestamp: int, caller: Identity
) -> Markup:
    """Return the sections about one release: its degrees, and its size beside all others."""
    latest, certificate = stream.releases.refresh()[-1], stream.releases.certificates[timestamp]
    key = ("release charts", stream.name, latest.digest, certificate.digest)
    draw = partial(_of_one, stream, timestamp)
    run = service.drawing.run(caller, key, draw, remember=True, patience=_CHARTS_PATIENCE)
    sections: Markup = await run
    return sections


async def drawing_png(
    service: Service, stream: Stream, certificate: Certificate, caller: Identity
) -> bytes:
    """Draw the synthetic graph of a release."""
    key, draw = _drawing_of(stream, certificate)
    picture: bytes = await service.drawing.run(caller, key, draw, remember=True)
    return picture


def prepare_pictures(service: Service, stream: Stream) -> None:
    """Draw what the page of a stream shows of its latest release, before anyone asks for it."""
    service.drawing.prepare(*_charts_of(stream))
    latest = stream.releases.refresh()[-1]
    if drawable(latest):
        service.drawing.prepare(*_drawing_of(stream, latest))


def _charts_of(stream: Stream) -> tuple[Hashable, Callable[[], Markup]]:
    """Return a name for the charts of the latest release, and what draws them."""
    latest = stream.releases.refresh()[-1]
    return ("charts", stream.name, latest.digest), partial(_sections, stream, latest.timestamp)


def _drawing_of(stream: Stream, of: Certificate) -> tuple[Hashable, Callable[[], bytes]]:
    """Return a name for the drawing of a release, and what draws it."""
    return ("drawing", stream.name, of.digest), partial(_drawing, stream, of.timestamp)


def _sections(stream: Stream, timestamp: int) -> Markup:
    releases = stream.releases  # whose certificates are read already
    certificates = releases.certificates[: timestamp + 1]

    def add(page: Page) -> None:
        _add_sizes(page, certificates)
        add_spend(page, certificates)
        add_release_degrees(page, releases, certificates)
        add_summary_chart(page, certificates)

    return _drawn(add)


def _of_one(stream: Stream, timestamp: int) -> Markup:
    releases = stream.releases

    def add(page: Page) -> None:
        add_release_degrees(page, releases, releases.certificates[timestamp : timestamp + 1])
        _add_sizes(page, releases.certificates, marked=timestamp)

    return _drawn(add)


def _drawn(add: Callable[[Page], None]) -> Markup:
    page = Page("", pointed=True)
    try:
        add(page)
    except MissingExtra as missing:
        page = Page("")
        page.heading("Charts")
        page.paragraph(missing.on_a_server, kind="note")
    return embedded(page)


def _add_sizes(
    page: Page, certificates: Sequence[Certificate], *, marked: int | None = None
) -> None:
    """Add a section on the number of edges and nodes over time, with one of the releases marked."""
    page.heading("Releases over time")
    colour, times = (
        method_look(certificates[-1].method).colour,
        [each.time for each in certificates],
    )
    drawings = []
    for title, numbers in (
        ("edges of the synthetic graphs", [each.edges for each in certificates]),
        ("nodes on the public roster", [each.nodes for each in certificates]),
    ):
        figure, axes = blank_chart(title)
        marker = "o" if len(numbers) <= MOST_MARKERS else ""
        axes.plot(range(len(numbers)), numbers, color=colour, marker=marker, markersize=4)
        if marked is not None:
            axes.axvline(marked, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        axes.set_ylim(0, 1.15 * max([*numbers, 1]))
        axes.yaxis.set_major_formatter(lambda number, _: abbreviated(number))
        axes.fmt_ydata = "{:,.0f}".format
        name_times(axes, times)
        words = f"{title.capitalize()}: {min(numbers):,} to {max(numbers):,}"
        if marked is None:
            words = f"{words}, {numbers[-1]:,} in the latest release."
        else:
            words = f"{words}, {numbers[marked]:,} in this release."
        drawings.append((finish(figure), words))
    dashed = "" if marked is None else " This release is at the dashed line."
    caption = f"One point per release. Edges are synthetic; nodes are public.{dashed}"
    page.figures(drawings, caption=caption)


def _drawing(stream: Stream, timestamp: int) -> bytes:
    graph = stream.releases[timestamp].graph
    return network_png(graph, arrange(graph), node_area=area_per_degree(graph))


async def change_words(service: Service, stream: Stream, timestamp: int, caller: Identity) -> str:
    """Return what changed since the previous release; empty for the first."""
    if timestamp == 0:
        return ""
    before, after = stream.releases.refresh()[timestamp - 1 : timestamp + 1]
    difference = joined(
        [_difference(before.edges, after.edges, "edge")]
        + ([_difference(before.nodes, after.nodes, "node")] if before.nodes != after.nodes else [])
    )
    words = f"Compared with timestamp {before.timestamp}: {difference}."
    before_it = timestamp - 1
    try:
        overlap = await overlap_words(
            service, stream, before_it, timestamp, caller, patience=_CHARTS_PATIENCE
        )
    except Refusal:  # there when the page is loaded again
        overlap = ""
    return f"{words} {overlap}"


async def overlap_words(
    service: Service,
    stream: Stream,
    first: int,
    second: int,
    caller: Identity,
    *,
    patience: float = 30.0,
) -> str:
    """Return what two releases have in common; empty if they are too large to compare."""
    two = [stream.releases.refresh()[each] for each in (first, second)]
    if max(each.edges for each in two) > _MOST_EDGES_COMPARED:
        return ""
    key = ("change", stream.name, *(each.digest for each in two))
    compare = partial(_overlap, stream, first, second)
    words: str = await service.checking.run(caller, key, compare, remember=True, patience=patience)
    return words


def _difference(before: int, after: int, noun: str) -> str:
    if before == after:
        return f"the same number of {noun}s"
    return count(abs(after - before), f"{'more' if after > before else 'fewer'} {noun}")


def _overlap(stream: Stream, first: int, second: int) -> str:
    before, after = (stream.releases[each].graph for each in (first, second))
    changed = int((degree_change(before, after) != 0).sum())
    return (
        f"The two graphs share {percent(round(edge_overlap(before, after), 3))} of their edges, "
        f"and the degree of {count(changed, 'node')} changed."
    )


def embedded(page: Page) -> Markup:
    """Return the sections of a report without style attributes, to place in a template.

    >>> page = Page("A")
    >>> page.paragraph("a < b")
    >>> embedded(page)
    Markup('<p>a &lt; b</p>')
    """
    return Markup(_STYLE.sub(_as_attributes, page.body()))  # a Page escapes all text


def _as_attributes(style: re.Match[str]) -> str:
    """Rewrite a style attribute as SVG attributes.

    >>> _STYLE.sub(_as_attributes, '<g style="fill: none; stroke: var(--ink, #000)">')
    '<g fill="none" stroke="var(--ink, #000)">'
    """
    properties = (each.partition(":") for each in style[1].split(";") if each.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in properties)
