"""Draw the original next to one or several releases, their degrees, and the metrics over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.extras import require_drawing
from psgraph._runtime.numbers import count, percent
from psgraph.errors import InvalidArgument, OutputError
from psgraph.metrics.comparison import Comparison
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.fidelity import Fidelity, compute_fidelity
from psgraph.metrics.groups import PAPER_METRICS
from psgraph.pictures.layout import arrange
from psgraph.pictures.network import area_per_degree, draw_network
from psgraph.pictures.style import INK, ORIGINAL, QUIET, WHITE, method_look, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psgraph.graph import Graph, Snapshot, SyntheticGraph

__all__ = ["draw_side_by_side", "draw_strip"]

_DPI = 130
#: An SVG contains edges and nodes as pixels, at a resolution that keeps it below 2 MB.
_SVG_DPI = 110
#: Inches: the figure's width, what the strip below the panels needs, and what the headings need.
_WIDTH, _STRIP, _HEADINGS = 12.0, 2.75, 0.95
_LARGEST_PANEL = 5.4


def draw_side_by_side(
    original: Snapshot,
    releases: Mapping[str, SyntheticGraph],
    path: str | PathLike[str],
    *,
    title: str | None = None,
    comparisons: Mapping[str, Comparison] | None = None,
) -> Path:
    """Draw a snapshot next to its releases. For the curator only: the first panel is the original.

    Parameters
    ----------
    original
        The snapshot. A node has the same position and colour in every panel: communities and
        positions come from the original.
    releases
        Graphs over the same roster, by the name of the method that made them.
    path
        Where to write; ``.png`` or ``.svg``.
    title
        A line at the top, for example ε and w.
    comparisons
        Draws the five metrics over time. By default only the values of these graphs are shown.

    Returns
    -------
    Path
        The written file.

    Raises
    ------
    InvalidArgument
        If the suffix is neither of them, or there is no release.
    DataError
        If the graphs are not over the same nodes.
    OutputError
        If the file cannot be written.
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
    ...     draw_side_by_side(first, {"a perfect copy": copy}, f"{directory}/pair.png").name
    'pair.png'
    """
    target = Path(path)
    if target.suffix.lower() not in (".png", ".svg"):
        raise InvalidArgument(f"a picture is written as .png or .svg, not {target.suffix!r}")
    if not releases:
        raise InvalidArgument("there is no release to draw\nGive at least one.")
    require_drawing()
    fidelities = {name: compute_fidelity(original, graph) for name, graph in releases.items()}
    figure = _compose(original, releases, fidelities, title=title, comparisons=comparisons)
    _save(figure, target)
    return target


def _compose(
    original: Snapshot,
    releases: Mapping[str, SyntheticGraph],
    fidelities: Mapping[str, Fidelity],
    *,
    title: str | None,
    comparisons: Mapping[str, Comparison] | None,
) -> Figure:
    from matplotlib.figure import Figure

    panel = _WIDTH / (1 + len(releases))
    side = min(panel - 0.1, _LARGEST_PANEL)
    above = _HEADINGS + (0.45 if title else 0)
    height = _STRIP + side + above
    figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, facecolor=WHITE)
    if title:
        heading = figure.text(0.5, 1 - 0.32 / height, title, ha="center", va="center")
        heading.set(fontsize=17, color=INK, parse_math=False)
    layout = arrange(original)
    area = area_per_degree(original) * (side / _LARGEST_PANEL) ** 2
    when = f" · {original.time}" if original.time else ""
    panels: list[tuple[Graph, str, str, str]] = [
        (original, f"Original{when}", "private, for the curator only", ORIGINAL)
    ]
    for name, release in releases.items():
        look = method_look(name)
        panels.append((release, look.title, "made from noisy values only", look.colour))
    for index, (graph, name, note, colour) in enumerate(panels):
        centre = (index + 0.5) * panel / _WIDTH
        top = (_STRIP + side) / height
        heading = figure.text(centre, top + 0.52 / height, name, ha="center", parse_math=False)
        heading.set(fontsize=15, color=colour, weight="bold")
        below = top + 0.24 / height
        figure.text(centre, below, note, ha="center", fontsize=11, color=QUIET)
        left = centre - side / 2 / _WIDTH
        axes = figure.add_axes((left, _STRIP / height, side / _WIDTH, side / height))
        draw_network(axes, graph, layout, node_area=area)
    draw_strip(figure, original, releases, fidelities, comparisons)
    return figure


def _save(figure: Figure, target: Path) -> None:
    import matplotlib as mpl

    sink = BytesIO()
    if target.suffix.lower() == ".svg":
        # The salt makes the ids inside an SVG the same every time.
        with mpl.rc_context({"svg.hashsalt": "psgraph"}):
            figure.savefig(sink, format="svg", dpi=_SVG_DPI, metadata={"Date": None})
    else:
        sink = _few_colours(figure)
    try:
        target.write_bytes(sink.getvalue())
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}") from None


def _few_colours(figure: Figure) -> BytesIO:
    """The figure as a PNG with 256 colours: a third of the size, and it looks the same."""
    from PIL import Image

    full, sink = BytesIO(), BytesIO()
    figure.savefig(full, format="png", dpi=_DPI)
    with Image.open(full) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(sink, format="png", optimize=True, dpi=(_DPI, _DPI))
    return sink


# ---- the strip below the panels ----


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
    size = {1: 18, 2: 12}.get(len(values), 9)
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
