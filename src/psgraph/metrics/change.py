"""Change over time, in the original and in the releases.

Nodes come and go, so everything is matched by id, never by position.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.graph.kind import pack
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.metric import EVERY_KIND, Group, Metric, Pair, defined_error

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "CHANGE",
    "LAG",
    "degree_change",
    "degree_change_correlation",
    "edge_overlap",
    "kept_edges",
]

#: Timestamps after which lasting edges are counted.
LAG = 5


def edge_overlap(before: Graph, after: Graph) -> float:
    r"""Jaccard index of the edges of two graphs, matched by id: the share of edges that stay.

    .. math:: \frac{|E_s \cap E_t|}{|E_s \cup E_t|}

    1 where neither graph has an edge: nothing changed. O(n + m log m).

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> before = SyntheticGraph(Roster(["a", "b", "c"]), [0, 1], [1, 2])
    >>> edge_overlap(before, SyntheticGraph(Roster(["b", "c", "d"]), [0, 1], [1, 2]))
    0.3333333333333333
    """
    _, stayed = _keys_in(before, after)
    kept = np.intersect1d(stayed, pack(after.u, after.v), assume_unique=True).size
    union = before.u.size + after.u.size - kept
    return kept / union if union else 1.0


def kept_edges(before: Graph, after: Graph) -> tuple[Integers, Integers]:
    """The numbers in `before` and in `after` of the edges that both have, matched by id.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> before = SyntheticGraph(Roster(["a", "b", "c"]), [0, 1], [1, 2])
    >>> kept_edges(before, SyntheticGraph(Roster(["b", "c", "d"]), [0, 1], [1, 2]))
    (array([1]), array([0]))
    """
    there, stayed = _keys_in(before, after)
    now = pack(after.u, after.v)
    _, then, here = np.intersect1d(stayed, now, assume_unique=True, return_indices=True)
    return np.flatnonzero(there)[then], here


def _keys_in(before: Graph, after: Graph) -> tuple[NDArray[np.bool_], Integers]:
    """Which edges of `before` have both ends in the roster of `after`, and their keys there."""
    position = _positions(before, after)
    u, v = position[before.u], position[before.v]
    there = (u >= 0) & (v >= 0)  # an edge of a node that left is gone
    # Rosters are sorted by id, so an edge in normal form is in normal form in the other too.
    return there, pack(u[there], v[there])


def degree_change(before: Graph, after: Graph) -> Integers:
    """The change in degree of each node in both rosters, in order of id. O(n + m).

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> before = SyntheticGraph(Roster(["a", "b", "c"]), [0, 1], [1, 2])
    >>> degree_change(before, SyntheticGraph(Roster(["b", "c", "d"]), [0, 1], [1, 2]))
    array([-1,  1])
    """
    position = _positions(before, after)
    stayed = position >= 0
    return node_degrees(after)[position[stayed]] - node_degrees(before)[stayed]


def degree_change_correlation(true: Integers, synthetic: Integers) -> float | None:
    """Pearson correlation of two changes in degree over the same nodes, from −1 to 1.

    None where all true changes are equal, in particular where nothing changed: there is nothing to
    follow. 0 where only the synthetic ones are equal: nothing was followed.

    Examples
    --------
    >>> import numpy as np
    >>> degree_change_correlation(np.array([2, -1, 0]), np.array([4, -2, 0]))
    1.0
    >>> degree_change_correlation(np.array([2, -1, 0]), np.array([0, 0, 0]))
    0.0
    >>> degree_change_correlation(np.array([0, 0, 0]), np.array([4, -2, 0])) is None
    True
    """
    # In exact integers, so that equal changes correlate with exactly 1.
    spread, together = _covariance(true, true), _covariance(true, synthetic)
    if not spread:
        return None
    if not together:
        return 0.0
    share = sqrt(together**2 / (spread * _covariance(synthetic, synthetic)))
    return share if together > 0 else -share


def _positions(before: Graph, after: Graph) -> Integers:
    """The position in `after` of every node of `before`, −1 if it is not there."""
    if before.roster is after.roster:
        return np.arange(len(before.roster))
    return after.roster.positions_of(before.roster).astype(np.int64)


def _covariance(a: Integers, b: Integers) -> int:
    """n² times the covariance."""
    return int(a.size) * int(np.dot(a, b)) - int(a.sum()) * int(b.sum())


def _overlaps(pair: Pair, lag: int) -> tuple[float, float] | None:
    """The overlap with the timestamp `lag` before, in the original and in the release."""
    before = pair.earlier(lag)
    if before is None:
        return None
    return (
        edge_overlap(before.original.graph, pair.original.graph),
        edge_overlap(before.synthetic.graph, pair.synthetic.graph),
    )


def _overlap_error(pair: Pair) -> float | None:
    found = _overlaps(pair, 1)
    return None if found is None else abs(found[1] - found[0])


def _lasting_error(pair: Pair) -> float | None:
    found = _overlaps(pair, LAG)
    return None if found is None else defined_error(pair, *found)


def _correlation(pair: Pair) -> float | None:
    if pair.before is None:
        return None
    return degree_change_correlation(
        degree_change(pair.before.original.graph, pair.original.graph),
        degree_change(pair.before.synthetic.graph, pair.synthetic.graph),
    )


CHANGE = Group(
    "Change over time",
    (
        Metric(
            "snapshot_overlap_error",
            unit="%",
            better="lower",
            reading="Difference between the shares of edges kept from one timestamp to the next "
            "(Jaccard index), in the original and in the releases. High where the releases flicker "
            "although the original is stable.",
            compute=_overlap_error,
            kinds=EVERY_KIND,
            looks_back=1,
        ),
        Metric(
            "lasting_edges_error",
            unit="%",
            better="lower",
            reading=f"Relative error of the share of edges kept over {LAG} timestamps (Jaccard "
            "index). High where ties that last in the original are soon replaced in the releases.",
            compute=_lasting_error,
            kinds=EVERY_KIND,
            looks_back=LAG,
        ),
        Metric(
            "degree_change_correlation",
            unit="",
            better="higher",
            reading="Whether the same nodes gain or lose neighbours in both. 1: every change is "
            "followed, 0: the changes are unrelated, negative: they go in opposite directions.",
            compute=_correlation,
            lowest=-1.0,
            kinds=EVERY_KIND,
            looks_back=1,
        ),
    ),
)
"""The metrics of change. Where there is no earlier timestamp they have no value."""
