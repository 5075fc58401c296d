"""Figures of a comparison over time and of an evaluation over ε, for a notebook.

Both contain facts about the private edges and say so in the figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from psgraph.metrics.evaluation import NOT_PRIVATE
from psgraph.metrics.groups import find_metric
from psgraph.metrics.metric import UNDEFINED, Metric

if TYPE_CHECKING:
    from psgraph.metrics.comparison import Comparison
    from psgraph.metrics.evaluation import Evaluation

__all__ = ["plot_comparison", "plot_evaluation"]

_COLUMNS = 3
_CURATOR_ONLY = "Curator only: computed from the private edges."
_MARKERS = "osD^vPX*"


class _NotebookFigure(Figure):
    """A figure that a notebook shows once, without pyplot and its list of open figures."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()


def plot_comparison(comparison: Comparison, metrics: Sequence[str]) -> Figure:
    """Draw each metric over time, with its mean."""
    figure, panels = _panels(metrics, _CURATOR_ONLY)
    x = [row.timestamp for row in comparison.rows]
    for axes, info in panels:
        values = [{**row.fidelity.to_dict(), **row.more}[info.name] for row in comparison.rows]
        y = np.array([_shown(info, value) for value in values])
        axes.plot(x, y, color=_colours()[0], linewidth=1.5, marker=".", markersize=4)
        if np.isfinite(y).any():
            axes.axhline(float(np.nanmean(y)), color="0.5", linewidth=0.8, linestyle="--")
            axes.set_ylim(bottom=min(0.0, float(np.nanmin(y))))
        axes.set_xlabel("timestamp", fontsize=9)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    return figure


def plot_evaluation(evaluation: Evaluation, metrics: Sequence[str]) -> Figure:
    """Draw each metric against ε, a line per method, with standard errors."""
    figure, panels = _panels(metrics, NOT_PRIVATE)
    summary = evaluation.summary()
    colours = _colours()
    for axes, info in panels:
        for number, method in enumerate(evaluation.methods):
            rows = [
                row for row in summary if row["method"] == method and row["metric"] == info.name
            ]
            axes.errorbar(
                [row["epsilon"] for row in rows],
                [_shown(info, row["mean"]) for row in rows],
                yerr=[info.scaled(row["standard_error"] or 0.0) for row in rows],
                label=method,
                color=colours[number % len(colours)],
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=5,
                linewidth=1.5,
                capsize=2,
            )
        axes.set_xscale("log")
        ticks = [float(epsilon) for epsilon in evaluation.epsilons]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel(f"ε (w = {evaluation.window})", fontsize=9)
    lines, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    return figure


def _panels(metrics: Sequence[str], warning: str) -> tuple[Figure, list[tuple[Axes, Metric]]]:
    """A grid of empty panels, one per metric, over a line of warning."""
    columns = min(_COLUMNS, len(metrics))
    rows = -(-len(metrics) // columns)
    figure = _NotebookFigure(figsize=(3.5 * columns, 2.6 * rows + 0.5), layout="constrained")
    figure.patch.set_facecolor("white")  # readable on a dark page too
    grid: Any = figure.subplots(rows, columns, squeeze=False)
    panels = list(_filled(grid.ravel().tolist(), metrics))
    figure.supxlabel(warning, fontsize=8, color="0.35")
    return figure, panels


def _filled(axes: list[Axes], metrics: Sequence[str]) -> Iterator[tuple[Axes, Metric]]:
    for spare in axes[len(metrics) :]:
        spare.set_visible(False)
    for each, name in zip(axes, metrics, strict=False):
        info = find_metric(name)
        each.set_title(f"{info.heading} {info.arrow}", fontsize=10)
        each.spines[["top", "right"]].set_visible(False)
        each.grid(True, linewidth=0.5, alpha=0.4)
        each.tick_params(labelsize=9)
        yield each, info


def _shown(info: Metric, value: float | None) -> float:
    """A value in the metric's unit; a gap where it is undefined."""
    return float("nan") if value is None or not value < UNDEFINED else info.scaled(value)


def _colours() -> list[str]:
    """Colours that are distinguishable with every kind of colour vision."""
    found: list[str] = style.library["tableau-colorblind10"]["axes.prop_cycle"].by_key()["color"]
    return found
