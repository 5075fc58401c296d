"""Bar charts of what has no x-axis: time and memory of the methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.numbers import tick, with_deviation
from psgraph.metrics.metric import Metric
from psgraph.pictures.style import INK, Look, quiet
from psgraph_lab.experiments.scales import name_row
from psgraph_lab.experiments.summary import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_bars"]

_WIDE_RANGE = 30.0


def draw_bars(
    row: Sequence[Axes],
    panels: Sequence[Sequence[Curve]],
    info: Metric,
    looks: dict[str, tuple[Look, str]],
) -> None:
    """Draw one bar per line in each panel, labelled with its value; a row shares its scale."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    values = [float(curve.mean[info.name][0]) for curves in panels for curve in curves]
    positive = [value for value in values if value > 0]
    wide = bool(positive) and max(positive) / min(positive) > _WIDE_RANGE
    labels = list(looks)
    # Leave room at the right for the number at the end of the longest bar.
    low, high = 0.0, 1.5 * max(values) or 1.0
    if wide:
        # Bars start at the power of ten below the smallest value.
        low = float(10.0 ** np.floor(np.log10(min(positive)) - 0.15))
        high = max(positive) * (max(positive) / low) ** 0.4
    for column, (axes, curves) in enumerate(zip(row, panels, strict=True)):
        axes.set_xscale("log" if wide else "linear")
        axes.set(xlim=(low, high), ylim=(len(labels) - 0.4, -0.6))
        for curve in curves:
            _draw_bar(axes, labels.index(curve.label), curve, info, looks[curve.label][0], low)
        quiet(axes)
        axes.grid(False, axis="y")
        axes.set_yticks(range(len(labels)), labels if column == 0 else [""] * len(labels))
        axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=9.5)
        axes.xaxis.set_minor_locator(NullLocator())
        few = LogLocator(numticks=4) if wide else MaxNLocator(3, steps=[1, 2, 5, 10])
        axes.xaxis.set_major_locator(few)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: tick(x)))
    name_row(row[0], info, "log scale" if wide else "")


def _draw_bar(axes: Axes, row: int, curve: Curve, info: Metric, look: Look, low: float) -> None:
    mean, std = float(curve.mean[info.name][0]), float(curve.std[info.name][0])
    axes.barh(row, max(mean - low, 0.0), left=low, height=0.66, color=look.colour, zorder=2)
    if std > 0:
        ends = [max(mean - std, low), mean + std]
        axes.plot(ends, [row, row], color=INK, linewidth=1.1, zorder=3)
    text = axes.annotate(
        with_deviation(mean),
        (max(mean + std, low), row),
        xytext=(3, 0),
        textcoords="offset points",
    )
    text.set(va="center", fontsize=8.5, color=INK)
