"""Density, degree distributions and degree assortativity.

Every node of the roster counts, including those without an edge: omitting them would make the
distribution depend on which nodes happen to have one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.graph.parts import degrees
from psgraph.metrics.metric import (
    EVERY_KIND,
    Limits,
    Metric,
    defined_error,
    relative_error,
)

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "assortativity",
    "assortativity_error",
    "degree_divergence",
    "degree_kl",
    "degree_products",
    "degree_variance",
    "degree_variance_error",
    "density_error",
    "edge_density",
    "node_degrees",
    "smoothed_degree_divergence",
    "smoothed_degree_kl",
    "smoothed_kl",
]

#: Degrees up to this have their own bin in the smoothed divergence.
_EXACT_DEGREES = 8
#: Bins per doubling of the degree beyond that, so that a bin is at most 19 % wide.
_BINS_PER_DOUBLING = 4
#: Edges per block: the sum of degree products of a block stays far below 2⁶³.
_BLOCK = 1 << 18


def node_degrees(graph: Graph) -> Integers:
    """The degree of every node, in roster order. O(n + m).

    Both sides count: in a directed graph it is the sum of the out- and the in-degree. For one side
    see `psgraph.graph.sides.side_degrees`.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> node_degrees(SyntheticGraph(Roster.range(4), [0, 0], [1, 2]))
    array([2, 1, 1, 0])
    """
    return degrees(graph.parts, len(graph.roster))


def edge_density(graph: Graph) -> float:
    """Edges divided by the pairs that can be edges; 0 if there are no pairs.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> edge_density(SyntheticGraph(Roster.range(4), [0, 1, 2], [1, 2, 3]))
    0.5
    """
    pairs = graph.pair_count
    return int(graph.u.size) / pairs if pairs else 0.0


density_error = Metric(
    "density_error",
    unit="%",
    better="lower",
    reading="Relative error of the number of edges. 10 %: one edge in ten is missing, or there is "
    "one extra for every ten.",
    compute=lambda pair: defined_error(pair, *pair.both(edge_density)),
    kinds=EVERY_KIND,
)


def degree_kl(first: Integers, second: Integers) -> float:
    r"""Kullback–Leibler divergence of two lists of degrees, in nats, as PrivGraph computes it.

    .. math:: \sum_d Q(d) \ln\frac{Q(d) + e}{\hat{Q}(d) + e}, \qquad e = 2^{-52}

    The machine epsilon *e* determines the cost of a hole: a degree that occurs in the original but
    in no synthetic node adds about 36 nats times its share, however close the next synthetic degree
    is. Kept for comparison with published figures; to judge a release, see
    `smoothed_degree_kl`. 0 without nodes.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> path = Snapshot(Roster.range(3), [0, 1], [1, 2])
    >>> degree_divergence(path, SyntheticGraph(path.roster, [0, 0], [1, 2]))
    0.0
    >>> round(degree_divergence(path, SyntheticGraph(path.roster, [0], [1])), 2)
    11.65
    """
    p, q = _histograms(first, second)
    if not p.sum():
        return 0.0
    epsilon = np.finfo(np.float64).eps
    share, other = p / p.sum(), q / q.sum()
    return float(np.sum(share * np.log((share + epsilon) / (other + epsilon))))


degree_divergence = Metric(
    "degree_divergence",
    unit="nats",
    better="lower",
    reading="Kullback–Leibler divergence of the degree distributions. It counts holes: a degree "
    "that no node of the release has costs about 36 times its share, however close the next one "
    "is.",
    compute=lambda pair: degree_kl(*pair.both(node_degrees)),
    thresholds=Limits(0.5, 2.0),  # nats, of which a hole costs 36 times its share
)


def smoothed_degree_kl(first: Integers, second: Integers) -> float:
    r"""Kullback–Leibler divergence of two lists of degrees, in nats, without counting holes.

    Degrees are binned (one bin per degree up to 8, then four bins per doubling) and half a node is
    added to every bin of both histograms, Jeffreys' prior for a multinomial. The tail of a real
    graph is a few nodes spread over thousands of degrees: adding ½ to *every* degree would drown
    the nodes in the prior, and adding next to nothing makes the divergence count holes. On bins
    that widen with the degree, two graphs drawn from one distribution come out near zero, and the
    result stays finite, in nats and comparable with `degree_kl`.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> path = Snapshot(Roster.range(3), [0, 1], [1, 2])
    >>> smoothed_degree_divergence(path, SyntheticGraph(path.roster, [0, 0], [1, 2]))
    0.0
    >>> round(smoothed_degree_divergence(path, SyntheticGraph(path.roster, [0], [1])), 2)
    0.24
    """
    p, q = _histograms(first, second)
    starts = _bin_starts(p.size)
    return smoothed_kl(np.add.reduceat(p, starts), np.add.reduceat(q, starts))


def smoothed_kl(counts: Integers, others: Integers) -> float:
    """Kullback–Leibler divergence of two histograms with half a node added to each bin, in nats."""
    share, other = counts + 0.5, others + 0.5
    share, other = share / share.sum(), other / other.sum()
    # Rounding may push an exact zero slightly below; a divergence is never negative.
    return max(0.0, float(np.sum(share * np.log(share / other))))


smoothed_degree_divergence = Metric(
    "degree_divergence_smoothed",
    unit="nats",
    better="lower",
    reading="The degree divergence on bins that widen with the degree, with half a node added to "
    "each: a degree that no node has costs little where close degrees are present.",
    compute=lambda pair: smoothed_degree_kl(*pair.both(node_degrees)),
)


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


def degree_variance(graph: Graph) -> float:
    r"""Variance of the degrees over all nodes of the roster, 0 without nodes. O(n + m).

    .. math:: \frac{n \sum_x d_x^2 - (\sum_x d_x)^2}{n^2}

    The sums are exact integers, so equal degrees have a variance of exactly 0.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> degree_variance(SyntheticGraph(Roster.range(4), [0, 0, 0], [1, 2, 3]))
    0.75
    """
    degree = node_degrees(graph)
    if not degree.size:
        return 0.0
    squares = int(np.dot(degree, degree))
    return (degree.size * squares - int(degree.sum()) ** 2) / degree.size**2


degree_variance_error = Metric(
    "degree_variance_error",
    unit="%",
    better="lower",
    reading="Relative error of the variance of the degrees. The few largest hubs decide it: near "
    "100 % they were flattened, above 100 % the release has larger ones than the original.",
    compute=lambda pair: relative_error(*pair.both(degree_variance)),
)


def assortativity(graph: Graph) -> float:
    r"""Pearson correlation of the degrees at the two ends of an edge. O(n + m).

    .. math:: A = \frac{2m \cdot 2\sum_{uv} d_u d_v - (\sum_x d_x^2)^2}
                       {2m \sum_x d_x^3 - (\sum_x d_x^2)^2}

    All sums are exact integers, so nothing is lost to cancellation however heavy the tail. Where
    the correlation is undefined, because there is no edge or all edges have ends of the same degree
    (networkx returns NaN), it is 0: there is no preference.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> assortativity(SyntheticGraph(Roster.range(4), [0, 0, 0], [1, 2, 3]))
    -1.0
    >>> assortativity(SyntheticGraph(Roster.range(3), [0, 1, 0], [1, 2, 2]))
    0.0
    """
    degree = node_degrees(graph)
    counts = np.bincount(degree)
    present = np.flatnonzero(counts)
    histogram = list(zip(present.tolist(), counts[present].tolist(), strict=True))
    ends = 2 * int(graph.u.size)
    squares = sum(count * value**2 for value, count in histogram)
    cubes = sum(count * value**3 for value, count in histogram)
    products = 2 * degree_products(graph, degree, degree)
    spread = ends * cubes - squares**2
    return (ends * products - squares**2) / spread if spread else 0.0


def degree_products(graph: Graph, first: Integers, second: Integers) -> int:
    """The sum over edges of a number of their first and one of their second end, exactly."""
    products = 0
    for start in range(0, graph.u.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        products += int(np.dot(first[graph.u[block]], second[graph.v[block]]))
    return products


assortativity_error = Metric(
    "assortativity_error",
    unit="%",
    better="lower",
    reading="Relative error of the degree assortativity: whether nodes of high degree are linked "
    "to each other or to nodes of low degree. Huge where the original's value is close to zero.",
    compute=lambda pair: relative_error(*pair.both(assortativity)),
)
