"""Communities: whether a release has them as clearly, and whether they are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from psgraph._runtime.arrays import Integers
from psgraph.graph.kind import UNDIRECTED
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.metric import GraphFacts, Group, Metric, Pair, relative_error

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "COMMUNITIES",
    "adjusted_rand_index",
    "find_communities",
    "modularity",
    "mutual_information",
]


def find_communities(graph: Graph) -> Integers:
    """Louvain communities, numbered by descending size; a node without an edge is its own.

    Nodes are visited in roster order, so a graph always gives the same communities. A few passes of
    about O(m) each.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> two = SyntheticGraph(Roster.range(7), [0, 1, 2, 4, 5, 4, 2], [1, 2, 0, 5, 6, 6, 4])
    >>> find_communities(two)
    array([0, 0, 0, 2, 1, 1, 1])
    """
    nodes = len(graph.roster)
    if not graph.u.size:
        return np.arange(nodes)
    from scipy import sparse
    from sknetwork.clustering import Louvain

    half = sparse.csr_matrix((np.ones(graph.u.size), (graph.u, graph.v)), shape=(nodes, nodes))
    louvain = Louvain(
        modularity="newman", random_state=0, return_probs=False, return_aggregate=False
    )
    return louvain.fit_predict(half + half.T).astype(np.int64)


def modularity(graph: Graph, labels: ArrayLike) -> float:
    r"""Newman's modularity of communities in a graph, 0 without an edge. O(n + m).

    .. math:: Q = \sum_c \left(\frac{m_c}{m} - \Big(\frac{D_c}{2m}\Big)^2\right)

    with :math:`m_c` the edges inside community *c* and :math:`D_c` the sum of its degrees. The
    sums are exact integers: trivial communities have a modularity of exactly 0.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> pair = SyntheticGraph(Roster.range(4), [0, 2], [1, 3])
    >>> modularity(pair, [0, 0, 1, 1]), modularity(pair, [0, 0, 0, 0])
    (0.5, 0.0)
    """
    community = np.asarray(labels)
    edges = int(graph.u.size)
    if not edges:
        return 0.0
    _, community = np.unique(community, return_inverse=True)
    inside = int(np.count_nonzero(community[graph.u] == community[graph.v]))
    sums = np.zeros(community.max() + 1, dtype=np.int64)
    np.add.at(sums, community, node_degrees(graph))
    squares = sum(value * value for value in sums.tolist())
    return (4 * edges * inside - squares) / (4 * edges * edges)


def mutual_information(first: ArrayLike, second: ArrayLike) -> float:
    r"""Normalised mutual information of two labellings of the same nodes, from 0 to 1.

    .. math:: \mathrm{NMI} = \frac{2\, I(A; B)}{H(A) + H(B)}

    1 if the labellings partition the nodes identically, whatever the labels are; also if neither
    divides them at all. O(n log n).

    Examples
    --------
    >>> mutual_information([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> mutual_information([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    one, other, joint = map(_entropy, _sizes(first, second))
    if one == other == joint:  # exact where both partitions are equal or trivial
        return 1.0
    # Rounding may push independent labellings slightly below 0.
    return float(np.clip(2 * (one + other - joint) / (one + other), 0.0, 1.0))


def adjusted_rand_index(first: ArrayLike, second: ArrayLike) -> float:
    r"""Agreement of two labellings of the same nodes, corrected for chance: 1 is best.

    .. math:: \mathrm{ARI} = \frac{S - AB/T}{(A + B)/2 - AB/T}

    with *A* and *B* the pairs of nodes that the first and the second labelling put together, *S*
    the pairs that both do, and *T* all pairs. 0 is what shuffled labels give on average, and
    exactly what labels without a pair give; it can be slightly negative. 1 if both labellings
    partition the nodes identically. The sums are exact integers. O(n log n).

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 2, 3]), adjusted_rand_index([0, 0, 1], [0, 1, 1])
    (0.0, -0.5)

    References
    ----------
    Hubert and Arabie, "Comparing partitions", Journal of Classification 2, 1985.
    """
    one, other, joint = map(_pairs, _sizes(first, second))
    every = _pairs(np.array([np.size(first)]))
    spread = every * (one + other) - 2 * one * other
    if not spread:  # both put all nodes together, or none
        return 1.0
    return 2 * (every * joint - one * other) / spread


def _sizes(first: ArrayLike, second: ArrayLike) -> tuple[Integers, Integers, Integers]:
    """The sizes of the blocks of two labellings and of their common refinement."""
    _, a = np.unique(np.asarray(first), return_inverse=True)
    _, b = np.unique(np.asarray(second), return_inverse=True)
    _, both = np.unique(a * (b.max(initial=0) + 1) + b, return_inverse=True)
    return np.bincount(a), np.bincount(b), np.bincount(both)


def _pairs(sizes: Integers) -> int:
    """The pairs of nodes inside blocks of these sizes, exactly."""
    return sum(map(UNDIRECTED.pairs, sizes.tolist()))


def _entropy(sizes: Integers) -> float:
    """Entropy in nats of a partition into blocks of these sizes; 0 without nodes."""
    counts = np.sort(sizes)  # so that equal sizes are summed in one order
    shares = counts[counts > 0] / max(int(sizes.sum()), 1)
    return float(-np.sum(shares * np.log(shares)))


def _modularity_error(pair: Pair) -> float:
    """Compare the quality of each graph's own communities."""
    return relative_error(
        *(modularity(each.graph, each.of(find_communities)) for each in _sides(pair))
    )


def _original_modularity_error(pair: Pair) -> float:
    """Compare the quality of the original's communities in both graphs."""
    labels = pair.original.of(find_communities)
    return relative_error(*(modularity(each.graph, labels) for each in _sides(pair)))


def _rand_index(pair: Pair) -> float:
    """The adjusted Rand index over the nodes with an edge in the original."""
    linked = pair.original.of(node_degrees) > 0
    return adjusted_rand_index(*(labels[linked] for labels in pair.both(find_communities)))


def _sides(pair: Pair) -> tuple[GraphFacts, GraphFacts]:
    return pair.original, pair.synthetic


COMMUNITIES = Group(
    "Communities",
    (
        Metric(
            "modularity_error",
            unit="%",
            better="lower",
            reading="Relative error of the modularity: how clearly the graph splits into "
            "communities, whichever nodes they contain.",
            compute=_modularity_error,
            breaks_ties=True,
        ),
        Metric(
            "community_modularity_error",
            unit="%",
            better="lower",
            reading="Relative error of the modularity that the original's communities have in the "
            "release. 100 %: no trace of them is left.",
            compute=_original_modularity_error,
            breaks_ties=True,
        ),
        Metric(
            "community_agreement",
            unit="%",
            better="higher",
            reading="Normalised mutual information between the communities of the release and "
            "those of the original. 100 %: the same communities. Misleading: it is not corrected "
            "for chance, and a release of isolated nodes scores up to 75 %. Prefer the adjusted "
            "Rand index.",
            compute=lambda pair: mutual_information(*pair.both(find_communities)),
            breaks_ties=True,
        ),
        Metric(
            "adjusted_rand_index",
            unit="",
            better="higher",
            reading="Agreement of the communities of the release with those of the original, "
            "corrected for chance, over the nodes with an edge in the original. 1: the same "
            "communities, 0: no better than shuffled ones.",
            compute=_rand_index,
            breaks_ties=True,
        ),
    ),
)
"""The metrics of communities: both graphs are divided by `find_communities`."""
