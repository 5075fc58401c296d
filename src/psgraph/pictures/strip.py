"""The strip below the panels: degree distributions, and the five metrics of every release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.numbers import count, percent
from psgraph.metrics.comparison import Comparison
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.fidelity import Fidelity
from psgraph.metrics.groups import PAPER_METRICS
from psgraph.pictures.style import INK, ORIGINAL, QUIET, method_look, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psgraph.graph import Graph

__all__ = ["draw_strip"]

_DIRECTIONS = "↑ higher is better   ↓ lower is better"
_DASHES = ("--", "-.", ":")
#: Inches: where the charts of the metrics start, and the width and distance of each.
_LEFT, _METRIC_WIDTH, _METRIC_STEP = 4.0, 1.25, 1.61


def draw_strip(
    figure: Figure,
    original: Graph,
    releases: Mapping[str, Graph],
    fidelities: Mapping[str, Fidelity],
    comparisons: Mapping[str, Comparison] | None,
) -> None:
    """Draw the strip at the bottom of a figure, in inches from its lower left corner."""
    _draw_degrees(_axes(figure, 0.75, 0.62, 2.6, 1.5), original, releases)
    if comparisons is None:
        shown = {name: fidelity.to_dict() for name, fidelity in fidelities.items()}
        _write_metrics(figure, shown, _DIRECTIONS, top=1.7, foot=0.75)
        return
    means = {name: comparison.mean.to_dict() for name, comparison in comparisons.items()}
    timestamps = max(len(comparison.rows) for comparison in comparisons.values())
    note = f"numbers: mean over {count(timestamps, 'timestamp')}; charts: by timestamp"
    note = f"{note}  ·  {_DIRECTIONS}"
    _write_metrics(figure, means, note, top=2.18, foot=0.13)
    _draw_metrics(figure, comparisons)


def _axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def _draw_degrees(axes: Axes, original: Graph, releases: Mapping[str, Graph]) -> None:
    from matplotlib.ticker import FuncFormatter

    graphs = [original, *releases.values()]
    # Explicit limits: without an edge a logarithmic axis has nothing to fit.
    largest = max(int(node_degrees(graph).max(initial=9)) for graph in graphs)
    lowest = 0.7 / max(len(original.roster), 10)
    axes.set(xscale="log", yscale="log", xlim=(0.85, 1.2 * largest), ylim=(lowest, 1.5))
    curves = [(original, ORIGINAL, "-", "original")]
    for index, (name, graph) in enumerate(releases.items()):
        look = method_look(name)
        curves.append((graph, look.colour, _DASHES[index % len(_DASHES)], look.title))
    for graph, colour, style, name in curves:
        degree, nodes = np.unique(node_degrees(graph), return_counts=True)
        at_least = nodes[::-1].cumsum()[::-1] / max(nodes.sum(), 1)
        shown = degree > 0  # a logarithmic axis cannot show 0
        # Start at the left edge, so that a graph with a single degree is a line too.
        x, y = np.append(0.85, degree[shown]), np.append(at_least[shown][:1], at_least[shown])
        label = name.replace("$", r"\$")
        axes.plot(x[: y.size], y, style, color=colour, linewidth=1.9, label=label)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(FuncFormatter(lambda degree, _: f"{degree:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(percent))
    axes.legend(frameon=False, fontsize=9.5, labelcolor=INK, loc="lower left", handlelength=1.8)
    axes.set_title("share of nodes with at least this degree", fontsize=10.5, color=INK, loc="left")
    quiet(axes)


def _write_metrics(
    figure: Figure,
    values: Mapping[str, Mapping[str, float]],
    note: str,
    *,
    top: float,
    foot: float,
) -> None:
    """Write the names of the metrics and, in its colour, the value of every release."""
    across, up = figure.get_size_inches()
    size = 18 if len(values) == 1 else 12
    for index, metric in enumerate(PAPER_METRICS):
        x = _LEFT + index * _METRIC_STEP
        words = f"{metric.words} {metric.arrow}"
        figure.text(x / across, (top + 0.26) / up, words, fontsize=10, color=INK)
        for place, (name, numbers) in enumerate(values.items()):
            shift = place * _METRIC_STEP / len(values)
            number = metric.shown(numbers[metric.name]).removesuffix(" nats")
            written = figure.text((x + shift) / across, (top - 0.06) / up, number)
            written.set(fontsize=size, color=method_look(name).colour)
    figure.text(_LEFT / across, foot / up, note, fontsize=9.5, color=QUIET)


def _draw_metrics(figure: Figure, comparisons: Mapping[str, Comparison]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for index, metric in enumerate(PAPER_METRICS):
        axes = _axes(figure, _LEFT + index * _METRIC_STEP, 0.62, _METRIC_WIDTH, 1.25)
        drawn: list[float] = []
        for name, comparison in comparisons.items():
            look = method_look(name)
            values = _values(comparison, metric.name)
            drawn += values
            ordinals = [row.timestamp for row in comparison.rows]
            axes.plot(
                ordinals,
                values,
                color=look.colour,
                linewidth=1.6,
                marker=look.marker,
                markersize=3,
            )
        # At least a hundredth, so that the noise of a tiny error does not look large.
        axes.set_ylim(0, 1.05 if metric.better == "higher" else max(1.2 * max(drawn), 0.01))
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(2, steps=[1, 2, 5, 10]))
        if metric.is_share:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}"))
        quiet(axes)


def _values(comparison: Comparison, name: str) -> Sequence[float]:
    return [getattr(row.fidelity, name) for row in comparison.rows]
