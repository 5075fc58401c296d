"""Draw the original next to one or several releases, their degrees, and the metrics over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.extras import require_drawing
from psgraph._runtime.numbers import count, percent
from psgraph.errors import InvalidArgument, OutputError
from psgraph.graph.kind import UNDIRECTED
from psgraph.graph.sides import edge_weights, side_degrees, side_names, side_words
from psgraph.metrics.comparison import Comparison
from psgraph.metrics.fidelity import Fidelity, compute_fidelity
from psgraph.metrics.groups import headline_metrics
from psgraph.pictures.layout import arrange
from psgraph.pictures.network import area_per_degree, arrows_fit, draw_network
from psgraph.pictures.style import INK, ORIGINAL, QUIET, WHITE, method_look, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psgraph.graph import Graph, Kind, Snapshot, SyntheticGraph

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
        Draws the main metrics over time. By default only the values of these graphs are shown.

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
    strip = _STRIP + _WRAPPED * (_most_lines(original.kind) - 1)
    height = strip + side + above
    figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, facecolor=WHITE)
    if title:
        heading = figure.text(0.5, 1 - 0.32 / height, title, ha="center", va="center")
        heading.set(fontsize=17, color=INK, parse_math=False)
    layout = arrange(original)
    area = area_per_degree(original) * (side / _LARGEST_PANEL) ** 2
    arrows = arrows_fit(original, *releases.values())
    when = f" · {original.time}" if original.time else ""
    panels: list[tuple[Graph, str, str, str]] = [
        (original, f"Original{when}", "private, for the curator only", ORIGINAL)
    ]
    for name, release in releases.items():
        look = method_look(name)
        panels.append((release, look.title, "made from noisy values only", look.colour))
    for index, (graph, name, note, colour) in enumerate(panels):
        centre = (index + 0.5) * panel / _WIDTH
        top = (strip + side) / height
        heading = figure.text(centre, top + 0.52 / height, name, ha="center", parse_math=False)
        heading.set(fontsize=15, color=colour, weight="bold")
        below = top + 0.24 / height
        figure.text(centre, below, note, ha="center", fontsize=11, color=QUIET)
        left = centre - side / 2 / _WIDTH
        axes = figure.add_axes((left, strip / height, side / _WIDTH, side / height))
        draw_network(axes, graph, layout, node_area=area, arrows=arrows)
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
#: Inches: where the charts of the metrics start, what they and the space between them take.
_LEFT, _METRICS, _SPACE = 4.0, 8.05, 0.36
#: Inches: what a second line of the metrics' names takes, and about what a letter takes.
_WRAPPED, _LETTER = 0.16, 0.082


def _step(kind: Kind) -> float:
    """The distance of two metrics, in inches."""
    return _METRICS / len(headline_metrics(kind))


def _names(kind: Kind) -> list[str]:
    """The names of the metrics, in lines that fit into their columns; the paper's fit on one."""
    metrics = headline_metrics(kind)
    if kind == UNDIRECTED:
        return [f"{metric.words} {metric.arrow}" for metric in metrics]
    width = int(_step(kind) / _LETTER)
    names = (f"{metric.words}\N{NO-BREAK SPACE}{metric.arrow}" for metric in metrics)
    return ["\n".join(wrap(name, width, break_long_words=False)) for name in names]


def _most_lines(kind: Kind) -> int:
    return max(name.count("\n") + 1 for name in _names(kind))


def draw_strip(
    figure: Figure,
    original: Graph,
    releases: Mapping[str, Graph],
    fidelities: Mapping[str, Fidelity],
    comparisons: Mapping[str, Comparison] | None,
) -> None:
    """Draw the strip at the bottom of a figure, in inches from its lower left corner."""
    kind = original.kind
    _draw_curves(figure, original, releases)
    if comparisons is None:
        shown = {name: fidelity.to_dict() for name, fidelity in fidelities.items()}
        _write_metrics(figure, kind, shown, _DIRECTIONS, top=1.7, foot=0.75)
        return
    means = {name: comparison.mean.to_dict() for name, comparison in comparisons.items()}
    timestamps = max(len(comparison.rows) for comparison in comparisons.values())
    note = f"numbers: mean over {count(timestamps, 'timestamp')}; charts: by timestamp"
    note = f"{note}  ·  {_DIRECTIONS}"
    _write_metrics(figure, kind, means, note, top=2.18, foot=0.13)
    _draw_metrics(figure, kind, comparisons)


def _axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def _draw_curves(figure: Figure, original: Graph, releases: Mapping[str, Graph]) -> None:
    """Draw the degrees of each side, and the weights if there are any, one chart each."""
    graphs = [original, *releases.values()]
    names = side_names(original.kind)
    sides = list(zip(*map(side_degrees, graphs), strict=True))
    charts = {side_words(name, "degrees"): of for name, of in zip(names, sides, strict=True)}
    if original.kind.weighted:
        charts["weights"] = tuple(map(edge_weights, graphs))
    width = (2.6 - 0.2 * (len(charts) - 1)) / len(charts)
    for index, (title, values) in enumerate(charts.items()):
        axes = _axes(figure, 0.75 + index * (width + 0.2), 0.62, width, 1.5)
        _draw_survival(axes, values, list(releases), alone=len(charts) == 1)
        if len(charts) > 1:
            axes.set_title(title, fontsize=8.5, color=INK, loc="left")
            axes.tick_params(labelsize=8, labelleft=not index)
    if len(charts) > 1:
        across, up = figure.get_size_inches()
        words = "share of nodes or edges with at least this value"
        figure.text(0.75 / across, 0.13 / up, words, fontsize=8.5, color=QUIET)


def _draw_survival(
    axes: Axes, values: Sequence[Integers], names: Sequence[str], *, alone: bool
) -> None:
    """Draw the share of at least each value: of the original, then of the releases by name."""
    from matplotlib.ticker import FuncFormatter

    # Explicit limits: without an edge a logarithmic axis has nothing to fit.
    largest = max(int(each.max(initial=9)) for each in values)
    lowest = 0.7 / max(values[0].size, 10)
    axes.set(xscale="log", yscale="log", xlim=(0.85, 1.2 * largest), ylim=(lowest, 1.5))
    looks = [(ORIGINAL, "-", "original")]
    for index, name in enumerate(names):
        look = method_look(name)
        looks.append((look.colour, _DASHES[index % len(_DASHES)], look.title))
    for each, (colour, style, name) in zip(values, looks, strict=True):
        degree, nodes = np.unique(each, return_counts=True)
        at_least = nodes[::-1].cumsum()[::-1] / max(nodes.sum(), 1)
        shown = degree > 0  # a logarithmic axis cannot show 0
        # Start at the left edge, so that a graph with a single degree is a line too.
        x, y = np.append(0.85, degree[shown]), np.append(at_least[shown][:1], at_least[shown])
        label = name.replace("$", r"\$")
        axes.plot(x[: y.size], y, style, color=colour, linewidth=1.9, label=label)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(FuncFormatter(lambda degree, _: f"{degree:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(percent))
    if alone:
        title = "share of nodes with at least this degree"
        axes.legend(frameon=False, fontsize=9.5, labelcolor=INK, loc="lower left", handlelength=1.8)
        axes.set_title(title, fontsize=10.5, color=INK, loc="left")
    quiet(axes)


def _write_metrics(
    figure: Figure,
    kind: Kind,
    values: Mapping[str, Mapping[str, float | None]],
    note: str,
    *,
    top: float,
    foot: float,
) -> None:
    """Write the names of the metrics and, in its colour, the value of every release."""
    across, up = figure.get_size_inches()
    size = {1: 18, 2: 12}.get(len(values), 9)
    step = _step(kind)
    for index, (metric, words) in enumerate(zip(headline_metrics(kind), _names(kind), strict=True)):
        x = _LEFT + index * step
        figure.text(x / across, (top + 0.26) / up, words, fontsize=10, color=INK)
        for place, (name, numbers) in enumerate(values.items()):
            shift = place * step / len(values)
            number = metric.shown(numbers[metric.name]).removesuffix(" nats")
            written = figure.text((x + shift) / across, (top - 0.06) / up, number)
            written.set(fontsize=size, color=method_look(name).colour)
    figure.text(_LEFT / across, foot / up, note, fontsize=9.5, color=QUIET)


def _draw_metrics(figure: Figure, kind: Kind, comparisons: Mapping[str, Comparison]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    step = _step(kind)
    for index, metric in enumerate(headline_metrics(kind)):
        axes = _axes(figure, _LEFT + index * step, 0.62, step - _SPACE, 1.25)
        drawn: list[float] = [0.0]
        for name, comparison in comparisons.items():
            look = method_look(name)
            values = _values(comparison, metric.name)
            drawn += [value for value in values if not np.isnan(value)]
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
    """A metric over time; NaN, which is not drawn, where it has no value."""
    found = [getattr(row.fidelity, name) for row in comparison.rows]
    return [np.nan if value is None else value for value in found]
