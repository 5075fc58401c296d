"""Colours of all pictures, and the look of each method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

from psgraph.errors import InvalidArgument
from psgraph.methods.base import Method
from psgraph.methods.registry import find_method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ALL_COLOURS",
    "COLOURS",
    "INK",
    "LINE",
    "ORIGINAL",
    "OTHER",
    "QUIET",
    "SYNTHETIC",
    "WHITE",
    "Look",
    "method_look",
    "quiet",
    "variant_look",
]

INK, QUIET, LINE, WHITE = "#1b1f24", "#66707c", "#d5dae0", "#ffffff"
#: Okabe and Ito's colours, distinguishable with every kind of colour vision; yellow is darkened.
COLOURS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#d55e00",
    "#56b4e9",
    "#b8a200",
    "#7a5195",
)
OTHER = "#9aa3ad"
ORIGINAL, SYNTHETIC = "#1b1f24", "#d55e00"


@dataclass(frozen=True)
class Look:
    """How a method is drawn everywhere: its title, colour and marker."""

    title: str
    colour: str
    marker: str


#: For variants, and for methods without a colour or a marker of their own.
_SPARE = (("#7a5195", "X"), ("#b8a200", "*"), ("#7f4f24", "h"), ("#66707c", "p"), ("#1b1f24", "<"))

#: The colours of the house, each once: those that a page may show in another shade when dark.
ALL_COLOURS = tuple(
    dict.fromkeys(
        [
            *(INK, QUIET, LINE, WHITE, OTHER, ORIGINAL, SYNTHETIC),
            *COLOURS,
            "#8b1e3f",
            *(colour for colour, _ in _SPARE),
        ]
    )
)


def method_look(name: str) -> Look:
    """The look that a method states; where it states none, always the same spare one.

    >>> method_look("tmf")
    Look(title='TmF', colour='#0072b2', marker='s')
    >>> method_look("mine") == method_look("mine")
    True
    """
    colour, marker = _SPARE[crc32(name.encode()) % len(_SPARE)]
    try:
        method = _installed(name)
    except InvalidArgument:
        return Look(name, colour, marker)
    return Look(method.title, method.colour or colour, method.marker or marker)


@lru_cache(maxsize=64)
def _installed(name: str) -> type[Method[Any, Any]]:
    """Find a method once: finding reads the metadata of all installed packages."""
    return find_method(name)


def variant_look(title: str, number: int) -> Look:
    """The look of a method's variant by its number; no method of psgraph looks like it.

    >>> variant_look("always new", 0)
    Look(title='always new', colour='#7a5195', marker='X')
    """
    return Look(title, *_SPARE[number % len(_SPARE)])


def quiet(axes: Axes) -> None:
    """Remove the frame and draw a light grid."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LINE)
    axes.tick_params(labelsize=9, labelcolor=QUIET, color=LINE, length=3, which="both")
    axes.grid(True, color=LINE, linewidth=0.5, alpha=0.7)
    axes.set_axisbelow(True)
