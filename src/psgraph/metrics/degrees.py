"""Divergence of degree distributions.

Every node of the roster counts, including those without an edge: omitting them would make the
distribution depend on which nodes happen to have one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.graph.parts import degrees

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["degree_divergence", "node_degrees", "smoothed_degree_divergence"]


#: Degrees up to this have their own bin in the smoothed divergence.
_EXACT_DEGREES = 8
#: Bins per doubling of the degree beyond that, so that a bin is at most 19 % wide.
_BINS_PER_DOUBLING = 4


def node_degrees(graph: Graph) -> Integers:
    """The degree of every node, in roster order. O(n + m).

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> node_degrees(SyntheticGraph(Roster.range(4), [0, 0], [1, 2]))
    array([2, 1, 1, 0])
    """
    return degrees(graph.parts, len(graph.roster))


def degree_divergence(original: Graph, synthetic: Graph) -> float:
    r"""Kullback–Leibler divergence of the degree distributions, in nats, as PrivGraph computes it.

    .. math:: \sum_d Q(d) \ln\frac{Q(d) + e}{\hat{Q}(d) + e}, \qquad e = 2^{-52}

    The machine epsilon *e* determines the cost of a hole: a degree that occurs in the original but
    in no synthetic node adds about 36 nats times its share, however close the next synthetic degree
    is. Kept for comparison with published figures; to judge a release, see
    `smoothed_degree_divergence`. 0 without nodes.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> path = Snapshot(Roster.range(3), [0, 1], [1, 2])
    >>> degree_divergence(path, SyntheticGraph(path.roster, [0, 0], [1, 2]))
    0.0
    >>> round(degree_divergence(path, SyntheticGraph(path.roster, [0], [1])), 2)
    11.65
    """
    p, q = _histograms(node_degrees(original), node_degrees(synthetic))
    if not p.sum():
        return 0.0
    epsilon = np.finfo(np.float64).eps
    share, other = p / p.sum(), q / q.sum()
    return float(np.sum(share * np.log((share + epsilon) / (other + epsilon))))


def smoothed_degree_divergence(original: Graph, synthetic: Graph) -> float:
    r"""Kullback–Leibler divergence of the degree distributions, in nats, without counting holes.

    Degrees are binned (one bin per degree up to 8, then four bins per doubling) and half a node is
    added to every bin of both histograms, Jeffreys' prior for a multinomial. The tail of a real
    graph is a few nodes spread over thousands of degrees: adding ½ to *every* degree would drown
    the nodes in the prior, and adding next to nothing makes the divergence count holes. On bins
    that widen with the degree, two graphs drawn from one distribution come out near zero, and the
    result stays finite, in nats and comparable with `degree_divergence`.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> path = Snapshot(Roster.range(3), [0, 1], [1, 2])
    >>> smoothed_degree_divergence(path, SyntheticGraph(path.roster, [0, 0], [1, 2]))
    0.0
    >>> round(smoothed_degree_divergence(path, SyntheticGraph(path.roster, [0], [1])), 2)
    0.24
    """
    p, q = _histograms(node_degrees(original), node_degrees(synthetic))
    starts = _bin_starts(p.size)
    share, other = np.add.reduceat(p, starts) + 0.5, np.add.reduceat(q, starts) + 0.5
    share, other = share / share.sum(), other / other.sum()
    # Rounding may push an exact zero slightly below; a divergence is never negative.
    return max(0.0, float(np.sum(share * np.log(share / other))))


def _histograms(first: Integers, second: Integers) -> tuple[Integers, Integers]:
    """The number of nodes of degree 0, 1, …, up to the largest degree of either graph."""
    size = 1 + max(first.max(initial=0), second.max(initial=0))
    return np.bincount(first, minlength=size), np.bincount(second, minlength=size)


def _bin_starts(size: int) -> Integers:
    """The first degree of every bin below `size`."""
    doublings = np.log2(max(size, _EXACT_DEGREES) / _EXACT_DEGREES)
    steps = np.arange(int(np.ceil(doublings * _BINS_PER_DOUBLING)) + 1)
    wide = np.rint(_EXACT_DEGREES * 2.0 ** (steps / _BINS_PER_DOUBLING)).astype(np.int64)
    starts = np.unique(np.concatenate([np.arange(_EXACT_DEGREES), wide]))
    return starts[starts < size]
