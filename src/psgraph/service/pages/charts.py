"""Charts and drawings of releases, made from published files only.

Each is drawn once per release and cached: a release never changes. The reports' charts use style
attributes, which the content security policy of the pages forbids; since all of these properties
exist as SVG attributes too, they are rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock

from markupsafe import Markup

from psgraph._runtime.extras import require_drawing
from psgraph._runtime.numbers import abbreviated, count, joined, percent
from psgraph.errors import MissingExtra
from psgraph.metrics.change import degree_change, edge_overlap
from psgraph.pictures.layout import arrange
from psgraph.pictures.network import area_per_degree, network_png
from psgraph.pictures.style import method_look
from psgraph.publication.certificate import Certificate
from psgraph.publication.releases import read_releases
from psgraph.reports.charts import blank_chart, finish, name_times
from psgraph.reports.page import Page
from psgraph.reports.public import add_release_degrees
from psgraph.reports.sections import MOST_MARKERS, add_spend, add_summary_chart

__all__ = ["change_words", "chart_sections", "drawable", "drawing_png", "embedded"]

#: Larger graphs take too long to draw while a visitor waits.
_MOST_EDGES_DRAWN = 300_000
_MOST_EDGES_COMPARED = 5_000_000
_STYLE = re.compile(r' style="([^"]*)"')

_one_at_a_time = Lock()
"""Held while a chart is made: simultaneous visitors get the same one, and memory is bounded."""


def drawable(certificate: Certificate) -> bool:
    """Whether a release can be drawn: matplotlib is installed and the graph is small."""
    try:
        require_drawing()
    except MissingExtra:
        return False
    return certificate.edges <= _MOST_EDGES_DRAWN


def chart_sections(directory: Path, certificates: Sequence[Certificate]) -> Markup:
    """Return the sections about sizes over time, spending and the released graphs."""
    with _one_at_a_time:
        return _sections(directory, certificates[-1].timestamp, certificates[-1].digest)


@lru_cache(maxsize=64)
def _sections(directory: Path, timestamp: int, digest: str) -> Markup:
    del digest  # part of the key
    page = Page("")
    releases = read_releases(directory)
    certificates = releases.certificates[: timestamp + 1]
    try:
        _add_sizes(page, certificates)
        add_spend(page, certificates)
        add_release_degrees(page, releases, certificates)
        add_summary_chart(page, certificates)
    except MissingExtra as missing:
        page = Page("")
        page.heading("Charts")
        page.paragraph(" ".join(str(missing).split()), kind="note")
    return embedded(page)


def _add_sizes(page: Page, certificates: Sequence[Certificate]) -> None:
    """Add a section on the number of edges and nodes over time."""
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
        axes.set_ylim(0, 1.15 * max([*numbers, 1]))
        axes.yaxis.set_major_formatter(lambda number, _: abbreviated(number))
        name_times(axes, times)
        words = f"{title.capitalize()}: {min(numbers):,} to {max(numbers):,}"
        drawings.append((finish(figure), f"{words}, {numbers[-1]:,} in the latest release."))
    page.figures(drawings, caption="One point per release. Edges are synthetic; nodes are public.")


def drawing_png(directory: Path, certificate: Certificate) -> bytes:
    """Draw the synthetic graph of a release."""
    with _one_at_a_time:
        return _drawing(directory, certificate.timestamp, certificate.digest)


@lru_cache(maxsize=64)
def _drawing(directory: Path, timestamp: int, digest: str) -> bytes:
    del digest
    graph = read_releases(directory)[timestamp].graph
    return network_png(graph, arrange(graph), node_area=area_per_degree(graph))


def change_words(directory: Path, certificates: Sequence[Certificate], timestamp: int) -> str:
    """Return what changed since the previous release; empty for the first."""
    if timestamp == 0:
        return ""
    before, after = certificates[timestamp - 1], certificates[timestamp]
    difference = joined(
        [_difference(before.edges, after.edges, "edge")]
        + ([_difference(before.nodes, after.nodes, "node")] if before.nodes != after.nodes else [])
    )
    words = f"Compared with timestamp {before.timestamp}: {difference}."
    if max(before.edges, after.edges) > _MOST_EDGES_COMPARED:
        return words
    with _one_at_a_time:
        return f"{words} {_overlap_words(directory, timestamp, after.digest)}"


def _difference(before: int, after: int, noun: str) -> str:
    if before == after:
        return f"the same number of {noun}s"
    return count(abs(after - before), f"{'more' if after > before else 'fewer'} {noun}")


@lru_cache(maxsize=512)
def _overlap_words(directory: Path, timestamp: int, digest: str) -> str:
    del digest
    releases = read_releases(directory)
    before, after = releases[timestamp - 1].graph, releases[timestamp].graph
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
