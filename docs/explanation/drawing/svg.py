"""A few SVG elements, in the colours of all pictures, for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from psgraph.pictures.style import COLOURS

__all__ = ["COMMUNITIES", "WIDTH", "Picture", "number"]

WIDTH = 400  # of every picture, in its own units
SHOWN = 560  # pixels, where there is room
#: A colour for each community, with the colour of text on it.
COMMUNITIES = ((COLOURS[0], "#ffffff"), (COLOURS[1], "#1b1f24"), (COLOURS[2], "#ffffff"))

STYLE = """
svg{--card:#fcfcfa;--ink:#1b1f24;--quiet:#5b6570;--line:#d5dae0;--soft:#eef1f4;--edge:#7c8794;
--new:#c2410c;--private:#8b1e3f;--public:#00664b;--blue:#0072b2;--orange:#e69f00}
@media (prefers-color-scheme:dark){svg{--card:#1d2126;--ink:#eceff2;--quiet:#aab4bf;--line:#434b54;
--soft:#2a3037;--edge:#8f9aa6;--new:#ff8a4c;--private:#ff8fb0;--public:#4cc79b;--blue:#56b4e9;
--orange:#e69f00}}
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
font-size:12.5px;fill:var(--ink)}
.head{font-size:15px;font-weight:650}.sub{font-weight:600}.quiet{fill:var(--quiet)}
.small{font-size:11.5px}.tiny{font-size:10.5px}.micro{font-size:9px}.private{fill:var(--private)}
.public{fill:var(--public)}.accent{fill:var(--new)}.edge{stroke:var(--edge);stroke-width:1.8}
.new{stroke:var(--new);stroke-width:2.6}.gone{stroke:var(--edge);stroke-width:1.6;
stroke-dasharray:3 4}.axis{stroke:var(--line);stroke-width:1}.rule{stroke:var(--quiet);
stroke-width:1.5;stroke-dasharray:5 4}.arrow{stroke:var(--quiet);stroke-width:1.8;fill:none}
.box{fill:var(--soft);stroke:var(--line)}.secret{fill:none;stroke:var(--private);
stroke-dasharray:4 3}.open{fill:none;stroke:var(--public)}.ring{fill:var(--card);
stroke:var(--ink);stroke-width:1.6}.dot{fill:var(--new)}.bar{fill:var(--blue)}
.faint{fill:var(--blue);opacity:.28}.second{fill:var(--orange)}.third{fill:#009e73}
.fourth{fill:#cc79a7}.node{fill:var(--quiet)}.window{fill:none;stroke:var(--ink);stroke-width:2}
.truth{stroke:var(--ink);stroke-width:1.8;fill:none}.estimate{stroke:var(--blue);stroke-width:2.4;
fill:none}.thin{stroke:var(--quiet);stroke-width:1.2}
"""


def number(value: float) -> str:
    """A coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


class Picture:
    """An SVG under construction; (0, 0) is the upper left corner."""

    def __init__(self, title: str, description: str) -> None:
        self.title, self.description = title, description
        self._parts: list[str] = []

    def text(
        self, x: float, y: float, words: str, kind: str = "", *, anchor: str = "", fill: str = ""
    ) -> None:
        """Write a line of text; `y` is its baseline."""
        attributes = f' class="{kind}"' if kind else ""
        attributes += f' text-anchor="{anchor}"' if anchor else ""
        attributes += f' style="fill:{fill}"' if fill else ""
        self._parts.append(
            f'<text x="{number(x)}" y="{number(y)}"{attributes}>{escape(words)}</text>'
        )

    def lines(
        self, x: float, y: float, lines: Iterable[str], kind: str = "", step: float = 17
    ) -> float:
        """Write several lines of text; return where the next one would be."""
        for line in lines:
            self.text(x, y, line, kind)
            y += step
        return y

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        ends = zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)
        words = " ".join(f'{name}="{number(value)}"' for name, value in ends)
        self._parts.append(f'<line {words} class="{kind}"/>')

    def circle(self, x: float, y: float, r: float, kind: str = "", *, fill: str = "") -> None:
        look = f'fill="{fill}"' if fill else f'class="{kind}"'
        self._parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(r)}" {look}/>')

    def box(
        self, x: float, y: float, width: float, height: float, kind: str, *, r: float = 0
    ) -> None:
        self._parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
            f'height="{number(max(height, 0))}" rx="{number(r)}" class="{kind}"/>'
        )

    def shade(self, x: float, y: float, side: float, opacity: float) -> None:
        """A square, the darker the larger `opacity` is."""
        self._parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(side)}" '
            f'height="{number(side)}" class="bar" opacity="{number(opacity)}"/>'
        )

    def curve(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self._parts.append(f'<polyline points="{path}" class="{kind}" fill="none"/>')

    def arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """An arrow, horizontal or vertical."""
        self.line(x1, y1, x2, y2, "arrow")
        if x1 == x2:
            tip = 6 if y2 > y1 else -6
            self.curve([(x2 - 5, y2 - tip), (x2, y2), (x2 + 5, y2 - tip)], "arrow")
        else:
            tip = 6 if x2 > x1 else -6
            self.curve([(x2 - tip, y2 - 5), (x2, y2), (x2 - tip, y2 + 5)], "arrow")

    def heading(self, words: str, *below: str) -> float:
        """Write the title and lines below it; return where the picture begins."""
        self.text(16, 28, words, "head")
        return self.lines(16, 48, below, "quiet") + 2

    def to_svg(self, height: float) -> str:
        """Return the file."""
        tall = number(height)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" '
            f'width="{SHOWN}" height="{number(height * SHOWN / WIDTH)}" role="img" '
            f'aria-labelledby="t d"><title id="t">{escape(self.title)}</title>'
            f'<desc id="d">{escape(self.description)}</desc>'
            f"<style>{STYLE.strip()}</style>\n"
            f'<rect width="{WIDTH}" height="{tall}" rx="10" style="fill:var(--card)"/>\n'
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )
