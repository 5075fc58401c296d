"""The block matrix of public labels as a chart: how many edges run between each two labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Floats, Integers
from psgraph.graph.label_blocks import block_matrix
from psgraph.pictures.style import ORIGINAL, SYNTHETIC, WHITE
from psgraph.reports.charts import Drawing, blank_chart, finish, literal

if TYPE_CHECKING:
    from psgraph.graph import Graph
    from psgraph.reports.page import Page

__all__ = ["add_label_blocks"]

_MOST = 20  # labels in a chart; the smallest ones are drawn together
_SIZE = (4.1, 3.9)
# Dark pages show the colours of the house in another shade, and colours between them as they are.
# Cells must keep their order, so none of them has a colour of the house.
_NONE, _FULL = "#fefefe", {ORIGINAL: "#1b1f25", SYNTHETIC: "#d55e01"}


def add_label_blocks(page: Page, graphs: Mapping[str, Graph], *, when: str) -> None:
    """Add a chart for every graph and label column; nothing if there are no labels.

    Parameters
    ----------
    graphs
        Graphs over one labelled roster, by their names: the original first, if it is there. The
        first decides which labels come first.
    when
        The time of the graphs, in words.
    """
    first = next(iter(graphs.values()))
    if first.roster.labels is None:
        return
    page.heading("Edges between public labels")
    page.paragraph(
        "How many edges run between each two labels, inside a label on the diagonal: the darker, "
        "the more. Labels are public, as declared by the publisher; the counts of a release are "
        "noisy."
    )
    for column in first.roster.label_columns:
        matrices = {name: block_matrix(graph, column) for name, graph in graphs.items()}
        names = first.roster.labels.values[first.roster.labels.columns.index(column)]
        sizes = next(iter(matrices.values())).sum(axis=1)
        order = np.argsort(-sizes, kind="stable")
        drawings = []
        top = max(float(matrix.max(initial=1)) for matrix in matrices.values())
        for name, matrix in matrices.items():
            folded, shown = _folded(matrix.astype(float), list(names), order)
            colour = ORIGINAL if name == "original" else SYNTHETIC
            drawing = _chart(f"{column}: {name}", folded / max(top, 1.0), shown, colour)
            drawings.append((drawing, f"Edges between values of {column}, {name}, {when}."))
        page.figures(drawings, caption=f"{column.capitalize()} at {when}, colours on one scale.")


def _folded(matrix: Floats, names: list[str], order: Integers) -> tuple[Floats, list[str]]:
    """Put labels in an order, and add up those beyond the first ones."""
    matrix = matrix[np.ix_(order, order)]
    names = [names[index] for index in order.tolist()]
    if len(names) <= _MOST:
        return matrix, names
    groups = np.minimum(np.arange(len(names)), _MOST - 1)
    folded = np.zeros((_MOST, _MOST))
    np.add.at(folded, (groups[:, None], groups[None, :]), matrix)
    folded[-1, -1] = (folded[-1, -1] + matrix.diagonal()[_MOST - 1 :].sum()) / 2
    return folded, [*names[: _MOST - 1], f"{len(names) - _MOST + 1} others"]


def _chart(title: str, shares: Floats, names: list[str], colour: str) -> Drawing:
    from matplotlib.colors import LinearSegmentedColormap

    figure, axes = blank_chart(title, size=_SIZE)
    scale = LinearSegmentedColormap.from_list("blocks", [_NONE, _FULL[colour]])
    axes.pcolormesh(np.sqrt(shares), cmap=scale, vmin=0, vmax=1, edgecolors=WHITE, linewidth=0.5)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.grid(visible=False)
    ticks = np.arange(len(names)) + 0.5
    axes.set_yticks(ticks, [literal(name, most=14) for name in names])
    axes.set_xticks(ticks, [literal(name, most=14) for name in names], rotation=90)
    return finish(figure)
