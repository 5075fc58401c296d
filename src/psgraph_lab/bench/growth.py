"""How the time grows with the graph."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["growth_exponent"]


def growth_exponent(points: Iterable[tuple[int, float]]) -> float | None:
    """Return the exponent between the smallest and the largest graph; None if there is only one.

    Parameters
    ----------
    points
        The number of edges and the seconds of every graph.

    Examples
    --------
    >>> growth_exponent([(1_000, 1.0), (100_000, 100.0), (10_000, 7.0)])
    1.0
    """
    ordered = sorted(points)
    if len({edges for edges, _ in ordered}) < 2:
        return None
    (edges, seconds), (most_edges, most_seconds) = ordered[0], ordered[-1]
    return math.log(most_seconds / seconds) / math.log(most_edges / edges)
