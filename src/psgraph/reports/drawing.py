"""A matplotlib figure as SVG that can be embedded in a page."""

from __future__ import annotations

import copy
import re
import warnings
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from psgraph.pictures.style import ALL_COLOURS, INK, LINE, QUIET, WHITE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Drawing"]

_REFERENCE = re.compile(r"url\(#([^)]+)\)")
#: Coordinates in hundredths of a point: no visible difference, and a third smaller.
_LONG = re.compile(r"(-?\d+\.\d{2})\d+")
#: A polyline: the letters after the first are redundant.
_RUN = re.compile(r"(L [^A-Za-z]+)((?:L [^A-Za-z]+)+)")


_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
#: Colours that page.css gives another value in the dark theme.
_ROLES = {WHITE: "card", INK: "ink", QUIET: "quiet", LINE: "line"}


@dataclass(frozen=True)
class Drawing:
    """An SVG without URLs, page-wide styles, or unused ids.

    A page may contain many drawings, so the remaining ids get a prefix when a drawing is embedded.
    """

    _root: ElementTree.Element

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
        return cls(root)

    def markup(self, prefix: str, *, label: str, themed: bool = True) -> str:
        """The SVG element for a page, with `label` for screen readers.

        Its colours follow the page's theme if it is `themed`. Not every program that reads SVG
        knows variables, so a file of its own should not be.
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
        return ElementTree.tostring(root, encoding="unicode")


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
    kept = [part.strip() for part in style.split(";")]
    return "; ".join(part for part in kept if part and not part.startswith("font-family"))
