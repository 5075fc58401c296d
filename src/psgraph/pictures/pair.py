"""Draw the original next to the synthetic graph, their degrees, and the metrics over time."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph._runtime.extras import require_drawing
from psgraph._runtime.numbers import count, percent
from psgraph.errors import InvalidArgument, OutputError
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.groups import PAPER_METRICS
from psgraph.metrics.report import Comparison, Fidelity, compute_fidelity
from psgraph.pictures.layout import arrange
from psgraph.pictures.network import area_per_degree, draw_network
from psgraph.pictures.style import (
    INK,
    ORIGINAL,
    QUIET,
    SYNTHETIC,
    WHITE,
    quiet,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psgraph.graph import Graph, Snapshot, SyntheticGraph

__all__ = ["draw_pair"]

_SIZE, _DPI = (12.0, 9.0), 130
#: An SVG contains edges and nodes as pixels, at a resolution that keeps it below 2 MB.
_SVG_DPI = 110
_METRIC_WIDTH = 0.1
_DIRECTIONS = "↑ higher is better   ↓ lower is better"


def draw_pair(
    original: Snapshot,
    synthetic: SyntheticGraph,
    path: str | PathLike[str],
    *,
    title: str | None = None,
    comparison: Comparison | None = None,
) -> Path:
    """Draw a snapshot next to its release. For the curator only: the left half is the original.

    Parameters
    ----------
    original, synthetic
        Graphs over one roster. A node has the same position and colour on both sides: communities
        and positions come from the original.
    path
        Where to write; ``.png`` or ``.svg``.
    title
        A line at the top, for example the method, ε and w.
    comparison
        Draws the five metrics over time. By default only the values of this pair are shown.

    Returns
    -------
    Path
        The written file.

    Raises
    ------
    InvalidArgument
        If the suffix is neither of them.
    DataError
        If the graphs are not over the same nodes.
    OutputError
        If the file can't be written.
    MissingExtra
        If matplotlib or Pillow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from psgraph.streams.demo import demo_stream
    >>> from psgraph.graph import SyntheticGraph
    >>> first = demo_stream(nodes=300, timestamps=1)[0]
    >>> copy = SyntheticGraph(first.roster, first.u, first.v)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     draw_pair(first, copy, f"{directory}/pair.png", title="a perfect copy").name
    'pair.png'
    """
    target = Path(path)
    if target.suffix.lower() not in (".png", ".svg"):
        raise InvalidArgument(f"a picture is written as .png or .svg, not {target.suffix!r}")
    require_drawing()
    fidelity = compute_fidelity(original, synthetic)
    figure = _compose(original, synthetic, fidelity, title=title, comparison=comparison)
    _save(figure, target)
    return target


def _compose(
    original: Snapshot,
    synthetic: SyntheticGraph,
    fidelity: Fidelity,
    *,
    title: str | None,
    comparison: Comparison | None,
) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, dpi=_DPI, facecolor=WHITE)
    headings = 0.90 if title else 0.95
    if title:
        figure.text(
            0.5, 0.962, title, ha="center", va="center", fontsize=17, color=INK, parse_math=False
        )
    layout = arrange(original)
    area = area_per_degree(original)
    when = f" · {original.time}" if original.time else ""
    for graph, left, name, note, colour in (
        (original, 0.01, "Original", "private original, for the curator only", ORIGINAL),
        (synthetic, 0.505, "Synthetic", "made from noisy values only", SYNTHETIC),
    ):
        centre = left + 0.2425
        heading = figure.text(centre, headings, name + when, ha="center", parse_math=False)
        heading.set(fontsize=14, color=colour, weight="bold")
        figure.text(centre, headings - 0.027, note, ha="center", fontsize=10.5, color=QUIET)
        axes = figure.add_axes((left, 0.285, 0.485, headings - 0.325))
        draw_network(axes, graph, layout, node_area=area)
    _draw_degrees(figure.add_axes((0.06, 0.07, 0.225, 0.15)), original, synthetic)
    if comparison is None:
        _write_metrics(figure, fidelity.to_dict(), _DIRECTIONS, top=0.175, foot=0.085)
    else:
        note = f"mean over {count(len(comparison.rows), 'timestamp')}; below, by timestamp"
        note = f"{note}  ·  {_DIRECTIONS}"
        _write_metrics(figure, comparison.mean.to_dict(), note, top=0.231, foot=0.016)
        _draw_metrics(figure, comparison)
    return figure


def _draw_degrees(axes: Axes, original: Graph, synthetic: Graph) -> None:
    from matplotlib.ticker import FuncFormatter

    # Explicit limits: without an edge a logarithmic axis has nothing to fit.
    largest = max(node_degrees(original).max(initial=9), node_degrees(synthetic).max(initial=9))
    lowest = 0.7 / max(len(original.roster), 10)
    axes.set(xscale="log", yscale="log", xlim=(0.85, 1.2 * largest), ylim=(lowest, 1.5))
    for graph, colour, style, name in (
        (original, ORIGINAL, "-", "original"),
        (synthetic, SYNTHETIC, "--", "synthetic"),
    ):
        degree, nodes = np.unique(node_degrees(graph), return_counts=True)
        at_least = nodes[::-1].cumsum()[::-1] / max(nodes.sum(), 1)
        shown = degree > 0  # a logarithmic axis can't show 0
        # Start at the left edge, so that a graph with a single degree is a line too.
        x, y = np.append(0.85, degree[shown]), np.append(at_least[shown][:1], at_least[shown])
        axes.plot(x[: y.size], y, style, color=colour, linewidth=1.9, label=name)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(FuncFormatter(lambda degree, _: f"{degree:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(percent))
    axes.legend(frameon=False, fontsize=9.5, labelcolor=INK, loc="lower left", handlelength=1.8)
    axes.set_title("share of nodes with at least this degree", fontsize=10.5, color=INK, loc="left")
    quiet(axes)


def _write_metrics(
    figure: Figure, values: dict[str, float], note: str, *, top: float, foot: float
) -> None:
    for index, metric in enumerate(PAPER_METRICS):
        x = _metric_left(index)
        figure.text(x, top, f"{metric.words} {metric.arrow}", fontsize=9.5, color=INK)
        value = metric.shown(values[metric.name])
        figure.text(x, top - 0.043, value, fontsize=18, color=SYNTHETIC)
    figure.text(_metric_left(0), foot, note, fontsize=9.5, color=QUIET)


def _draw_metrics(figure: Figure, comparison: Comparison) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ordinals = [row.timestamp for row in comparison.rows]
    for index, metric in enumerate(PAPER_METRICS):
        axes = figure.add_axes((_metric_left(index), 0.073, _METRIC_WIDTH, 0.095))
        values = [getattr(row.fidelity, metric.name) for row in comparison.rows]
        axes.plot(ordinals, values, color=SYNTHETIC, linewidth=1.6, marker="o", markersize=2.8)
        # At least a hundredth, so that the noise of a tiny error does not look large.
        axes.set_ylim(0, 1.05 if metric.better == "higher" else max(1.2 * max(values), 0.01))
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(2, steps=[1, 2, 5, 10]))
        if metric.is_share:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}"))
        quiet(axes)


def _metric_left(index: int) -> float:
    return 0.335 + index * (_METRIC_WIDTH + 0.034)


def _save(figure: Figure, target: Path) -> None:
    import matplotlib as mpl

    options: dict[str, Any] = {"dpi": _DPI}
    if target.suffix.lower() == ".svg":
        options = {"dpi": _SVG_DPI, "metadata": {"Date": None}}
    try:
        # The salt makes the ids inside an SVG the same every time.
        with mpl.rc_context({"svg.hashsalt": "psgraph"}):
            figure.savefig(target, **options)
    except OSError as error:
        raise OutputError(f"{target} can't be written: {error.strerror}") from None
