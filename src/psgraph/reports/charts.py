"""Charts in the house style, small enough for two columns and legible on a phone.

Start with `blank_chart`, draw into its axes with the colours of `psgraph.pictures.style`, and
`finish` turns it into a drawing for `psgraph.reports.page.Page`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from psgraph._runtime.extras import require_drawing
from psgraph.pictures.style import INK, QUIET, WHITE, quiet
from psgraph.reports.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SMALL", "blank_chart", "finish", "literal", "name_times"]

#: Inches. On a phone a chart is about 340 px wide; at 4 inches text stays legible.
SMALL = (4.1, 2.5)

_LONGEST_NAME = 11  # of a time, if four have to fit on an axis


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
    if not any(times):
        axes.set_xlabel("timestamp")
