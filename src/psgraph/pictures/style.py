"""Colours of all pictures, and one fixed look per method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ALL_COLOURS",
    "COLOURS",
    "INK",
    "LINE",
    "METHODS",
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


#: The six methods of the paper, distinguished by both marker and colour.
METHODS = {
    "psgraph": Look("PSGraph", "#d55e00", "o"),
    "psgraph-plus": Look("PSGraph+", "#8b1e3f", "8"),
    "tmf": Look("TmF", "#0072b2", "s"),
    "der": Look("DER", "#e69f00", "^"),
    "privhrg": Look("PrivHRG", "#009e73", "D"),
    "ldpgen": Look("LDPGen", "#cc79a7", "v"),
    "privgraph": Look("PrivGraph", "#56b4e9", "P"),
}
#: For variants and plug-ins: colours and markers that no method above has.
_SPARE = (("#7a5195", "X"), ("#b8a200", "*"), ("#7f4f24", "h"), ("#66707c", "p"), ("#1b1f24", "<"))

#: Every colour above, each once.
ALL_COLOURS = tuple(
    dict.fromkeys(
        [
            *(INK, QUIET, LINE, WHITE, OTHER, ORIGINAL, SYNTHETIC),
            *COLOURS,
            *(look.colour for look in METHODS.values()),
            *(colour for colour, _ in _SPARE),
        ]
    )
)


def method_look(name: str) -> Look:
    """The look of a method; an unknown one always gets the same spare look.

    >>> method_look("tmf")
    Look(title='TmF', colour='#0072b2', marker='s')
    >>> method_look("mine") == method_look("mine")
    True
    """
    colour, marker = _SPARE[crc32(name.encode()) % len(_SPARE)]
    return METHODS.get(name) or Look(name, colour, marker)


def variant_look(title: str, number: int) -> Look:
    """The look of a method's variant by its number; no method looks like it.

    >>> variant_look("PSGraph-R1", 0)
    Look(title='PSGraph-R1', colour='#7a5195', marker='X')
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
