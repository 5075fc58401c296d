"""A heat map of the calibration: a row per metric, a column per method."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from psgraph.pictures.style import COLOURS, INK, QUIET, WHITE, method_look
from psgraph.trust.calibration import Calibration, Correction
from psgraph.trust.quantities import ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["compose_calibration"]

_CELL, _NAMES, _TOP = (0.62, 0.235), 2.3, 0.95  # inches
_DPI = 120
_SHADES = 6  # from white to the full colour; few of them keep the file small


def compose_calibration(found: Calibration) -> Figure | None:
    """Draw coverage and ratio of every prediction; None if there is none."""
    from matplotlib.figure import Figure

    methods = list(found.methods)
    names = [key for key in ERRORS if any(key in found.methods[name].errors for name in methods)]
    if not methods or not names:
        return None
    panel = (len(methods) * _CELL[0], len(names) * _CELL[1])
    width, height = _NAMES + 2 * (panel[0] + 0.25), _TOP + panel[1] + 0.15
    figure = Figure(figsize=(width, height), dpi=_DPI, facecolor=WHITE)
    for number, (title, draw) in enumerate(
        (("coverage of 90 % intervals", _coverage), ("median of predicted/true", _ratio))
    ):
        left = (_NAMES + number * (panel[0] + 0.25)) / width
        axes = figure.add_axes((left, 0.1 / height, panel[0] / width, panel[1] / height))
        _draw(axes, found, methods, names, draw)
        axes.set_title(title, loc="left", fontsize=11, color=INK, weight="bold", pad=52)
        if number:
            axes.set_yticks([])
    return figure


def _draw(
    axes: Axes,
    found: Calibration,
    methods: list[str],
    names: list[str],
    draw: Callable[[Correction], tuple[float, str]],
) -> None:
    """Fill a panel: the redder a cell, the worse; in grey, what is not shown to analysts."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    shades = LinearSegmentedColormap.from_list("worse", [WHITE, COLOURS[4]], N=_SHADES)
    for row, key in enumerate(names):
        for column, method in enumerate(methods):
            each = found.methods[method].errors.get(key)
            if each is None:
                continue
            badness, text = draw(each)
            colour = shades(min(badness, 1.0) * 0.75) if each.usable else "#d5dae0"
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor=WHITE))
            axes.text(
                column + 0.5,
                row + 0.52,
                text,
                ha="center",
                va="center",
                fontsize=8,
                color=INK if each.usable else QUIET,
            )
    axes.set(xlim=(0, len(methods)), ylim=(len(names), 0))
    axes.set_xticks(
        [column + 0.5 for column in range(len(methods))],
        [method_look(name).title for name in methods],
        rotation=40,
        ha="left",
        fontsize=9,
    )
    axes.xaxis.tick_top()
    axes.set_yticks(
        [row + 0.5 for row in range(len(names))], [ERRORS[key].words for key in names], fontsize=9
    )
    axes.tick_params(length=0, colors=INK)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _coverage(found: Correction) -> tuple[float, str]:
    return max(0.9 - found.coverage, 0.0) / 0.2, f"{100 * found.coverage:.0f} %"


def _ratio(found: Correction) -> tuple[float, str]:
    return abs(log(found.ratio)) / log(2), f"{found.ratio:.2f}"
