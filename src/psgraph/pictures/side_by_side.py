"""Draw the original next to one or several releases, their degrees, and the metrics over time."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from psgraph._runtime.extras import require_drawing
from psgraph.errors import InvalidArgument, OutputError
from psgraph.metrics.comparison import Comparison
from psgraph.metrics.fidelity import Fidelity, compute_fidelity
from psgraph.pictures.layout import arrange
from psgraph.pictures.network import area_per_degree, draw_network
from psgraph.pictures.strip import draw_strip
from psgraph.pictures.style import INK, ORIGINAL, QUIET, WHITE, method_look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psgraph.graph import Graph, Snapshot, SyntheticGraph

__all__ = ["draw_side_by_side"]

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
