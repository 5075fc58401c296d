"""Charts in the house style, small enough for two columns and legible on a phone.

Start with `blank_chart`, draw into its axes with the colours of `psgraph.pictures.style`, and
`finish` turns it into a `Drawing` for `psgraph.reports.page.Page`.
"""

from __future__ import annotations

import copy
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from psgraph._runtime.extras import require_drawing
from psgraph.pictures.style import ALL_COLOURS, INK, LINE, QUIET, WHITE, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SMALL", "Drawing", "blank_chart", "finish", "literal", "name_times"]

#: Inches. On a phone a chart is about 340 px wide; at 4 inches text stays legible.
SMALL = (4.1, 2.5)

Point = tuple[float, float, str]
"""A place in the units of an SVG, and the words for it."""

_MOST_POINTS = 400  # of a line: more than a chart has pixels
_LONGEST_NAME = 11  # of a time, if four have to fit on an axis
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
#: Coordinates in hundredths of a point: no visible difference, and a third smaller.
_LONG = re.compile(r"(-?\d+\.\d{2})\d+")
#: A polyline: the letters after the first are redundant.
_RUN = re.compile(r"(L [^A-Za-z]+)((?:L [^A-Za-z]+)+)")
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
#: Colours that page.css gives another value in the dark theme.
_ROLES = {WHITE: "card", INK: "ink", QUIET: "quiet", LINE: "line"}


def blank_chart(title: str, *, size: tuple[float, float] = SMALL) -> tuple[Figure, Axes]:
    """Create an empty chart with a title.

    >>> figure, axes = blank_chart("errors")
    >>> _ = axes.plot([0, 1, 2], [0.3, 0.2, 0.25])
    >>> finish(figure).markup("a-", label="Errors over time").startswith("<svg")
    True
    """
    require_drawing()
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, facecolor=WHITE, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(literal(title), fontsize=11, color=INK, loc="left", pad=8, weight="bold")
    quiet(axes)
    return figure, axes


def finish(figure: Figure) -> Drawing:
    """Turn a chart into a drawing for a page, with uniform text size and colour."""
    for axes in figure.axes:
        axes.tick_params(labelsize=9.5, labelcolor=QUIET)
        for axis in (axes.xaxis, axes.yaxis):
            axis.label.set(fontsize=9.5, color=QUIET)
        legend = axes.get_legend()
        if legend is not None:
            legend.get_frame().set(edgecolor="none", facecolor=WHITE, alpha=0.8)
            for text in legend.get_texts():
                text.set(fontsize=9.5, color=INK)
    return Drawing.from_figure(figure)


def literal(text: str, *, most: int = 40) -> str:
    r"""Text made safe for a chart: no formulas, no control characters, not too long.

    >>> print(literal("10 $ and 20 $"))
    10 \$ and 20 \$
    >>> literal("a long story", most=7)
    'a long…'
    """
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return (shown if len(shown) <= most else f"{shown[: most - 1]}…").replace("$", r"\$")


def name_times(axes: Axes, times: Sequence[str | None], *, most: int = 4) -> None:
    """Label a few of the timestamps 0, 1, … on the axis, with their times if they have any."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    count = len(times)
    if max((len(time or "") for time in times), default=0) > _LONGEST_NAME:
        most = 2
    step = max(1, ceil((count - 1) / max(most - 1, 1)))

    def name(x: float, _: int | None = None) -> str:
        time = times[round(x)] if 0 <= round(x) < count else None
        return literal(time, most=20) if time else f"{x:g}"

    margin = 0.5 + 0.01 * count
    axes.set_xlim(-margin, count - 1 + margin)
    axes.xaxis.set_major_locator(FixedLocator(list(range(0, count, step))))
    axes.xaxis.set_major_formatter(FuncFormatter(name))
    axes.fmt_xdata = lambda x: f"timestamp {x:g}" if name(x).isdigit() else name(x)
    if not any(times):
        axes.set_xlabel("timestamp")


@dataclass(frozen=True)
class Drawing:
    """An SVG without URLs, page-wide styles, or unused ids.

    A page may contain many drawings, so the remaining ids get a prefix when a drawing is embedded.

    Attributes
    ----------
    points
        Where its values are, and what to say there: for pages that answer a pointer.
    """

    _root: ElementTree.Element
    points: tuple[Point, ...] = ()

    @classmethod
    def from_figure(cls, figure: Figure) -> Drawing:
        """Convert a figure. Text stays text: it uses the reader's font and can be searched.

        >>> from matplotlib.figure import Figure
        >>> figure = Figure(figsize=(2, 1))
        >>> _ = figure.text(0.5, 0.5, "a < b")
        >>> markup = Drawing.from_figure(figure).markup("f1-", label="A figure")
        >>> "a &lt; b" in markup, "http" in markup
        (True, False)
        """
        import matplotlib as mpl

        sink = BytesIO()
        # A fixed salt makes the ids reproducible.
        with (
            mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "psgraph"}),
            warnings.catch_warnings(),
        ):
            # Glyphs missing from matplotlib's font don't matter: readers use their own.
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            figure.savefig(sink, format="svg", metadata={"Date": None})
        root = ElementTree.fromstring(sink.getvalue())
        _clean(root)
        return cls(root, _points_of(figure))

    def markup(self, prefix: str, *, label: str, themed: bool = True, pointed: bool = False) -> str:
        """The SVG element for a page, with `label` for screen readers.

        Its colours follow the page's theme if it is `themed`. Not every program that reads SVG
        knows variables, so a file of its own should not be. It states its points if it is
        `pointed`, for a script of the page.
        """
        root = copy.deepcopy(self._root)
        for element in root.iter():
            for key, value in element.attrib.items():
                if key == "id":
                    element.set(key, prefix + value)
                elif key == "href" and value.startswith("#"):
                    element.set(key, f"#{prefix}{value[1:]}")
                else:
                    value = _COLOUR.sub(_variable, value) if themed and key == "style" else value
                    element.set(key, _REFERENCE.sub(rf"url(#{prefix}\1)", value))
        root.set("role", "img")
        root.set("aria-label", label)
        if pointed and self.points:
            root.set("data-points", json.dumps(self.points, separators=(",", ":")))
        return ElementTree.tostring(root, encoding="unicode")


def _points_of(figure: Figure) -> tuple[Point, ...]:
    """Return where the values of a chart are, in the units of its SVG, and what they are.

    >>> figure, axes = blank_chart("errors")
    >>> _ = axes.plot([0, 1], [0.3, 0.2])
    >>> axes.fmt_xdata, axes.fmt_ydata = "t = {:g}".format, "{:g}".format
    >>> [words for _, _, words in finish(figure).points]
    ['t = 0: 0.3', 't = 1: 0.2']
    """
    found: list[Point] = []
    scale, height = 72 / figure.dpi, 72 * figure.get_size_inches()[1]
    for axes in figure.axes:
        for label, values in _values_of(axes):
            step = max(1, ceil(len(values) / _MOST_POINTS))
            name = "" if label.startswith("_") else f"{label}, "
            for x, y in values[::step]:
                words = f"{name}{axes.format_xdata(x)}: {axes.format_ydata(y)}"
                across, up = axes.transData.transform((x, y)) * scale
                place = round(float(across), 1), round(float(height - up), 1)
                found.append((*place, words.replace(r"\$", "$")))
    return tuple(found)


def _values_of(axes: Axes) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Yield the label and the values of every line, of bars and of stairs."""
    from matplotlib.container import BarContainer
    from matplotlib.patches import StepPatch

    for line in axes.lines:
        if line.get_transform() == axes.transData:  # not a line across the chart
            places = np.asarray(line.get_xydata()).tolist()
            yield str(line.get_label()), [(x, y) for x, y in places]
    for bars in axes.containers:
        if isinstance(bars, BarContainer):
            yield "_", [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in bars]
    for patch in axes.patches:
        if isinstance(patch, StepPatch):
            heights, edges, _ = patch.get_data()
            yield "_", list(zip((edges[:-1] + edges[1:]) / 2, heights, strict=True))


def _clean(root: ElementTree.Element) -> None:
    used = set()
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # HTML needs no namespace for <svg>
        if element.tag != "text" and element.tag != "tspan":
            element.text = None
        element.tail = None
        for key, value in list(element.attrib.items()):
            del element.attrib[key]
            name = key.rpartition("}")[2]
            if name == "style":
                value = _without_fonts(value)
            elif name in ("d", "x", "y", "transform", "points"):
                value = " ".join(_LONG.sub(r"\1", value).split())
            if name == "d":
                value = _RUN.sub(lambda run: run[1] + run[2].replace("L ", ""), value)
            element.set(name, value)
            used.update(_REFERENCE.findall(value))
            if name == "href" and value.startswith("#"):
                used.add(value[1:])
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        _share_style(element)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")


def _share_style(group: ElementTree.Element) -> None:
    """Move the style that all markers of a line share to their group."""
    styles = {child.get("style") for child in group}
    marks = group.tag == "g" and len(group) > 1 and {child.tag for child in group} == {"use"}
    if marks and len(styles) == 1 and None not in styles and "style" not in group.attrib:
        group.set("style", styles.pop() or "")
        for child in group:
            del child.attrib["style"]


def _variable(colour: re.Match[str]) -> str:
    """Replace a colour of the house style by a variable, so that it follows the page's theme."""
    value = colour[0]
    if value not in ALL_COLOURS:
        return value
    return f"var(--{_ROLES.get(value) or f'data-{value[1:]}'}, {value})"


def _without_fonts(style: str) -> str:
    """Drop the typeface, so that the page's applies."""
    kept = [rule.strip() for rule in style.split(";")]
    return "; ".join(rule for rule in kept if rule and not rule.startswith("font-family"))
