"""What the notebooks draw with: one style, and networks side by side."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.pictures.layout import arrange
from psgraph.pictures.network import area_per_degree, draw_network
from psgraph.pictures.style import ORIGINAL, method_look

plt.rcParams.update({"figure.dpi": 80, "font.size": 10, "axes.titlesize": 11})


def draw_networks(
    original: Snapshot,
    released: Mapping[str, SyntheticGraph],
    *,
    titles: Mapping[str, str] | None = None,
    columns: int = 2,
    side: float = 4.6,
) -> Figure:
    """Draw a snapshot, then releases by name of method; every node has the same place in all."""
    layout, area = arrange(original), area_per_degree(original)
    drawn = {"original": original, **released}
    rows = -(-len(drawn) // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(columns * side, rows * (side + 0.3)), layout="constrained"
    )
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, (name, graph) in zip(grid.flat, drawn.items(), strict=False):
        look = method_look(name)
        title, colour = (
            ("Original (private)", ORIGINAL) if name == "original" else (look.title, look.colour)
        )
        draw_network(axes, graph, layout, node_area=area * (side / 5.4) ** 2)
        axes.set_title((titles or {}).get(name, title), color=colour, weight="bold")
    plt.close(figure)  # shown once, as the value of its cell
    return figure
