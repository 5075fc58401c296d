"""Statistics of one graph that several metrics share, computed when first needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph.metrics.clustering import Clustering, clustering_coefficients
from psgraph.metrics.communities import Labels, find_communities, modularity
from psgraph.metrics.mixing import assortativity
from psgraph.metrics.spectral import most_central

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["GraphFacts", "facts_of"]


class GraphFacts:
    """A graph with its costly statistics. Keep it to compare one original with many releases.

    **For the curator only** where the graph is an original: every statistic is exact.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> facts = GraphFacts(SyntheticGraph(Roster.range(4), [0, 2], [1, 3]))
    >>> facts.modularity, facts.communities is facts.communities
    (0.5, True)
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def most_central(self) -> NDArray[np.intp]:
        """See `psgraph.metrics.spectral.most_central`."""
        return most_central(self.graph)

    @cached_property
    def assortativity(self) -> float:
        """See `psgraph.metrics.mixing.assortativity`."""
        return assortativity(self.graph)

    @cached_property
    def clustering(self) -> Clustering:
        """See `psgraph.metrics.clustering.clustering_coefficients`."""
        return clustering_coefficients(self.graph)

    @cached_property
    def communities(self) -> Labels:
        """See `psgraph.metrics.communities.find_communities`."""
        return find_communities(self.graph)

    @cached_property
    def modularity(self) -> float:
        """The modularity of the graph's own communities."""
        return modularity(self.graph, self.communities)


def facts_of(graph: Graph | GraphFacts) -> GraphFacts:
    """Return the facts of a graph, or the argument itself if it is that already."""
    return graph if isinstance(graph, GraphFacts) else GraphFacts(graph)
