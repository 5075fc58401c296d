"""Density: the share of node pairs that are edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psgraph.metrics.relative import relative_error

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["density_error", "edge_density"]


def edge_density(graph: Graph) -> float:
    """Edges divided by the pairs that can be edges; 0 if there are no pairs.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> edge_density(SyntheticGraph(Roster.range(4), [0, 1, 2], [1, 2, 3]))
    0.5
    """
    pairs = graph.kind.pairs(len(graph.roster))
    return int(graph.u.size) / pairs if pairs else 0.0


def density_error(original: Graph, synthetic: Graph) -> float:
    """Relative error of the density; see `relative_error`.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> path = Snapshot(Roster.range(3), [0, 1], [1, 2])
    >>> density_error(path, SyntheticGraph(path.roster, [0], [1]))
    0.5
    """
    return relative_error(edge_density(original), edge_density(synthetic))
