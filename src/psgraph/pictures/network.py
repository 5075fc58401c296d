"""Draw one graph as discs of nodes and bundles of edges."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats
from psgraph._runtime.extras import require_drawing
from psgraph.metrics.degrees import node_degrees
from psgraph.pictures.layout import Layout
from psgraph.pictures.style import COLOURS, OTHER, WHITE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psgraph.graph import Graph
    from psgraph.graph.kind import Kind

__all__ = [
    "area_per_degree",
    "arrows_fit",
    "draw_network",
    "network_png",
    "picture_words",
    "structure_words",
]


#: Larger graphs are drawn with a sample of this many edges, to keep files small.
_MOST_EDGES = 20_000
_SIZE, _DPI = 5.4, 130
#: With more edges their arrowheads would overlap.
_MOST_ARROWS = 1_500


def arrows_fit(*graphs: Graph) -> bool:
    """Whether directed graphs have few enough edges to draw all of them with arrowheads."""
    return all(graph.kind.directed and graph.u.size <= _MOST_ARROWS for graph in graphs)


def picture_words(kind: Kind, *, arrows: bool) -> str:
    """What to know about a picture of a graph, for a caption."""
    if kind.two_sided:
        words = (
            "the columns are its two sides, sorted by the original's communities; larger nodes "
            "have more edges"
        )
    else:
        words = "discs are the original's communities; larger nodes have more neighbours"
    if kind.directed and not arrows:
        words += f"; with more than {_MOST_ARROWS:,} edges their directions are not drawn"
    return f"{words}; thicker lines have larger weights" if kind.weighted else words


def structure_words(kind: Kind) -> str:
    """What to compare in two pictures of graphs of a kind."""
    return (
        "which parts of the two sides belong together, and which nodes are large"
        if kind.two_sided
        else "dense discs with hubs in their centre"
    )


def area_per_degree(original: Graph) -> float:
    """The area per degree: nodes cover a quarter of the discs, and no hub outgrows its disc."""
    degree = node_degrees(original)
    return float(min(16_000 / max(degree.sum(), 1), 180 / max(degree.max(initial=1), 1)))


def network_png(graph: Graph, layout: Layout, *, node_area: float, arrows: bool = False) -> bytes:
    """A graph on a square of about 700 pixels, in 64 colours to keep the file small.

    >>> from psgraph.streams.demo import demo_stream
    >>> from psgraph.pictures.layout import arrange
    >>> first = demo_stream(nodes=300, timestamps=1)[0]
    >>> network_png(first, arrange(first), node_area=area_per_degree(first))[1:4]
    b'PNG'
    """
    require_drawing()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    figure = Figure(figsize=(_SIZE, _SIZE), dpi=_DPI, facecolor=WHITE)
    axes = figure.add_axes((0, 0, 1, 1))
    draw_network(axes, graph, layout, node_area=node_area, arrows=arrows)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    sink = BytesIO()
    picture.quantize(64, dither=Image.Dither.NONE).save(sink, format="png", optimize=True)
    return sink.getvalue()


def draw_network(
    axes: Axes, graph: Graph, layout: Layout, *, node_area: float, arrows: bool = False
) -> None:
    """Draw edges and nodes at the positions of a layout; a node grows with its degree.

    Lines are thicker where weights are larger.

    Parameters
    ----------
    node_area
        Area per neighbour: `area_per_degree` of the original, for both sides.
    arrows
        Whether edges have arrowheads.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba_array

    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set(xlim=(-1.04, 1.04), ylim=(-1.04, 1.04))
    palette = to_rgba_array([*COLOURS, OTHER])[:, :3]  # label −1 is the last one
    edges = _sampled(graph)
    u, v = graph.u[edges], graph.v[edges]
    labels = layout.labels
    inside = labels[u] == labels[v]
    starts, ends = layout.positions[u], layout.positions[v]
    # A few edges can be dark, many have to be light, because they overlap.
    ink = float(np.clip(np.sqrt(4000 / max(edges.size, 1)), 0.4, 2.0))
    mixed = 0.5 * palette[labels[u]] + 0.5 * palette[labels[v]]
    bend = 1.0 if graph.kind.two_sided else 0.6  # from one column to the other lines are straight
    widths = _widths(graph, edges)
    for chosen, lines, alpha in (
        (~inside, _curves(starts[~inside], ends[~inside], bend), 0.14),
        (inside, np.stack([starts[inside], ends[inside]], axis=1), 0.32),
    ):
        colours = np.column_stack([mixed[chosen], np.full(lines.shape[0], alpha * ink)])
        axes.add_collection(
            LineCollection(
                list(lines),
                colors=colours,
                linewidths=widths if widths.size == 1 else widths[chosen],
                rasterized=True,
                zorder=1,
            )
        )
        if arrows:
            _draw_arrows(axes, lines, np.column_stack([mixed[chosen], np.full(len(lines), 0.8)]))
    degree = node_degrees(graph)
    order = np.argsort(degree, kind="stable")  # hubs on top
    crowd = min(1.0, 2000 / max(order.size, 1))
    axes.scatter(
        layout.positions[order, 0],
        layout.positions[order, 1],
        s=2.5 * crowd + node_area * degree[order],
        c=palette[labels[order]],
        edgecolors="white",
        linewidths=0.35 * crowd,
        rasterized=True,
        zorder=2,
    )


def _sampled(graph: Graph) -> NDArray[np.intp]:
    """Indices of the edges to draw: all, or a sample with a fixed seed."""
    if graph.u.size <= _MOST_EDGES:
        return np.arange(graph.u.size)
    return np.sort(np.random.default_rng(0).choice(graph.u.size, _MOST_EDGES, replace=False))


def _widths(graph: Graph, edges: NDArray[np.intp]) -> Floats:
    """The width of each line, or of all lines of a graph without weights."""
    if graph.weight is None:
        return np.array([0.5])
    return np.minimum(0.4 + 0.35 * np.log2(graph.weight[edges]), 2.5)


def _draw_arrows(axes: Axes, lines: Floats, colours: Floats) -> None:
    """Draw the head of an arrow near the end of each line."""
    from matplotlib.collections import PolyCollection

    if not len(lines):
        return
    length = float(np.clip(0.03 * np.sqrt(300 / len(lines)), 0.016, 0.03))
    along = lines[:, -1] - lines[:, -2]
    along /= np.maximum(np.hypot(*along.T), 1e-9)[:, None]
    across = 0.42 * np.stack([-along[:, 1], along[:, 0]], axis=1)
    tips = lines[:, -1] - 0.5 * length * along  # not below the node
    backs = tips - length * along
    heads = np.stack([tips, backs + length * across, backs - length * across], axis=1)
    axes.add_collection(
        PolyCollection(list(heads), facecolors=colours, linewidths=0, rasterized=True, zorder=1.5)
    )


def _curves(starts: Floats, ends: Floats, bend_to: float) -> Floats:
    """Lines bent towards the centre of the picture, so that edges between discs form bundles."""
    bend = bend_to * (starts + ends) / 2
    t = np.linspace(0, 1, 8)[None, :, None]
    return (1 - t) ** 2 * starts[:, None] + 2 * t * (1 - t) * bend[:, None] + t**2 * ends[:, None]
