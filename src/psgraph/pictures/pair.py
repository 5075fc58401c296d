"""The original beside the synthetic graph, their degrees, and the metrics over time."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import InvalidArgument, OutputError
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.report import Comparison, Fidelity, measure
from psgraph.pictures.layout import Layout, arrange

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psgraph.graph import Graph, Snapshot, SyntheticGraph

__all__ = ["draw_pair"]

Floats = NDArray[np.float64]

_INK, _QUIET, _LINE, _PAPER = "#1b1f24", "#66707c", "#d5dae0", "#ffffff"
#: Okabe and Ito's colours, told apart with every kind of colour vision; yellow darkened for white.
_COLOURS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#d55e00",
    "#56b4e9",
    "#b8a200",
    "#7a5195",
)
_OTHER = "#9aa3ad"
_ORIGINAL, _SYNTHETIC = "#1b1f24", "#d55e00"
#: More edges than these are sampled: the eye sees no difference and files stay small.
_MOST_EDGES = 20_000
_WIDTH, _DPI = 12.0, 150

#: The five metrics with the words a reader needs: name, what is best.
_METRICS = (
    ("eigenvector_overlap", "central nodes shared", "1 is best"),
    ("assortativity_error", "assortativity error", "0 is best"),
    ("degree_divergence", "degree divergence", "0 is best"),
    ("density_error", "density error", "0 is best"),
    ("clustering_error", "clustering error", "0 is best"),
)


def draw_pair(
    original: Snapshot,
    synthetic: SyntheticGraph,
    path: str | PathLike[str],
    *,
    title: str | None = None,
    comparison: Comparison | None = None,
) -> Path:
    """Draw a snapshot beside its release. For the curator only: the left half is the original.

    Parameters
    ----------
    original, synthetic
        Graphs over one roster. A node has the same place and colour on both sides: communities
        and places come from the original.
    path
        Where to write; ``.png`` or ``.svg``.
    title
        A line on top, for instance the method, ε and w.
    comparison
        Draws the five metrics over time. Without it those of this pair are written out.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InvalidArgument
        If the suffix is another one.
    DataError
        If the graphs are not over the same nodes.
    OutputError
        If the file can't be written.

    Examples
    --------
    >>> import tempfile
    >>> from psgraph.datasets.demo import demo_stream
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
    fidelity = measure(original, synthetic)
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

    figure = Figure(figsize=(_WIDTH, 9.0), dpi=_DPI, facecolor=_PAPER)
    top = 0.93 if title else 0.985
    if title:
        figure.text(0.5, 0.967, title, ha="center", va="center", fontsize=15, color=_INK, weight="bold")
    layout = arrange(original)
    when = f" · {original.time}" if original.time else ""
    for graph, left, heading, note, colour in (
        (original, 0.01, f"Original{when}", "private original, for the curator's eyes", _ORIGINAL),
        (synthetic, 0.505, f"Synthetic{when}", "made of noisy values only", _SYNTHETIC),
    ):
        axes = figure.add_axes((left, 0.30, 0.485, top - 0.30))
        _draw_network(axes, graph, layout)
        axes.set_title(heading, fontsize=13, color=colour, weight="bold", pad=14)
        axes.text(0.5, 1.005, note, transform=axes.transAxes, ha="center", va="bottom", fontsize=9.5, color=_QUIET)
    _draw_degrees(figure.add_axes((0.065, 0.075, 0.2, 0.165)), original, synthetic)
    if comparison is None:
        _write_metrics(figure, fidelity)
    else:
        _draw_metrics(figure, comparison)
    return figure


def _draw_network(axes: Axes, graph: Graph, layout: Layout) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba_array

    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(-1.03, 1.03)
    axes.set_ylim(-1.03, 1.03)
    palette = to_rgba_array([*_COLOURS, _OTHER])  # label −1 is the last one
    edges = _sampled(graph)
    labels = layout.labels
    inside = labels[graph.u[edges]] == labels[graph.v[edges]]
    between = edges[~inside]
    within = edges[inside]
    thin = float(np.clip(6000 / max(edges.size, 1), 0.35, 1.0))
    for chosen, colours, alpha in (
        (between, np.tile(to_rgba_array("#5b6672"), (between.size, 1)), 0.10),
        (within, palette[labels[graph.u[within]]], 0.22),
    ):
        colours = colours.copy()
        colours[:, 3] = alpha * (0.5 + 0.5 * thin)
        lines = LineCollection(
            _curves(layout.places[graph.u[chosen]], layout.places[graph.v[chosen]]),
            colors=colours, linewidths=0.45, rasterized=True, zorder=1,
        )
        axes.add_collection(lines)
    degree = node_degrees(graph)
    order = np.argsort(degree, kind="stable")
    axes.scatter(
        *layout.places[order].T,
        s=2.0 + 0.55 * degree[order],
        c=palette[labels[order]],
        edgecolors="white", linewidths=0.35, zorder=2, rasterized=True,
    )


def _sampled(graph: Graph) -> NDArray[np.intp]:
    """Indices of the edges to draw: all, or an evenly spread choice that is always the same."""
    if graph.u.size <= _MOST_EDGES:
        return np.arange(graph.u.size)
    return np.sort(np.random.default_rng(0).choice(graph.u.size, _MOST_EDGES, replace=False))


def _curves(starts: Floats, ends: Floats) -> Floats:
    """Lines bent towards the middle of the picture, so that those between discs gather."""
    middle = 0.72 * (starts + ends) / 2
    t = np.linspace(0, 1, 9)[None, :, None]
    return (1 - t) ** 2 * starts[:, None] + 2 * t * (1 - t) * middle[:, None] + t**2 * ends[:, None]


def _draw_degrees(axes: Axes, original: Graph, synthetic: Graph) -> None:
    for graph, colour, style, name in (
        (original, _ORIGINAL, "-", "original"),
        (synthetic, _SYNTHETIC, "--", "synthetic"),
    ):
        degree, share = np.unique(node_degrees(graph), return_counts=True)
        above = share[::-1].cumsum()[::-1] / max(share.sum(), 1)
        shown = degree > 0
        axes.plot(degree[shown], above[shown], style, color=colour, linewidth=1.8, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=9, labelcolor=_INK, loc="lower left", handlelength=1.8)
    axes.set_title("share of nodes with at least this degree", fontsize=9.5, color=_INK, loc="left")
    _quiet(axes)


def _draw_metrics(figure: Figure, comparison: Comparison) -> None:
    left, width, gap = 0.325, 0.108, 0.028
    ordinals = [row.timestamp for row in comparison.rows]
    for place, (name, words, best) in enumerate(_METRICS):
        axes = figure.add_axes((left + place * (width + gap), 0.075, width, 0.165))
        values = [getattr(row.fidelity, name) for row in comparison.rows]
        axes.plot(ordinals, values, color=_SYNTHETIC, linewidth=1.6, marker="o", markersize=3)
        axes.set_ylim(0, 1.05 if name == "eigenvector_overlap" else max(1.15 * max(values), 1e-3))
        axes.set_title(words, fontsize=9.5, color=_INK, loc="left")
        axes.text(0, -0.25, best, transform=axes.transAxes, fontsize=8.5, color=_QUIET)
        _quiet(axes)


def _write_metrics(figure: Figure, fidelity: Fidelity) -> None:
    for place, (name, words, best) in enumerate(_METRICS):
        x = 0.40 + 0.125 * place
        figure.text(x, 0.165, f"{getattr(fidelity, name):.3g}", fontsize=20, color=_SYNTHETIC, ha="center")
        figure.text(x, 0.125, words, fontsize=9.5, color=_INK, ha="center")
        figure.text(x, 0.098, best, fontsize=8.5, color=_QUIET, ha="center")


def _quiet(axes: Axes) -> None:
    """Take the frame away and leave light lines to read along."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_LINE)
    axes.tick_params(labelsize=8.5, colors=_QUIET, color=_LINE, length=3, which="both")
    axes.grid(True, color=_LINE, linewidth=0.5, alpha=0.7)
    axes.set_axisbelow(True)


def _save(figure: Figure, target: Path) -> None:
    import matplotlib as mpl

    metadata: dict[str, Any] = {"Date": None} if target.suffix.lower() == ".svg" else {}
    try:
        # The salt makes the ids inside an SVG the same every time.
        with mpl.rc_context({"svg.hashsalt": "psgraph"}):
            figure.savefig(target, metadata=metadata)
    except OSError as error:
        raise OutputError(f"{target} can't be written: {error.strerror}") from None
