"""The metrics that are always computed for a pair of graphs: the paper's five, and two variants.

Where one of the graphs is an original, the result is for the curator only.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from psgraph.errors import DataError
from psgraph.metrics.degrees import degree_divergence, smoothed_degree_divergence
from psgraph.metrics.density import density_error
from psgraph.metrics.facts import GraphFacts, facts_of
from psgraph.metrics.relative import relative_error
from psgraph.metrics.spectral import share_found

if TYPE_CHECKING:
    from psgraph.graph import Graph, Roster

__all__ = ["Fidelity", "compute_fidelity"]


@dataclass(frozen=True)
class Fidelity:
    """The metrics of one release; the first five are the paper's.

    Attributes
    ----------
    eigenvector_overlap
        Share of the 1 % most central nodes in common. 1 is best; for all others 0 is.
    assortativity_error, density_error, clustering_error
        Relative errors of degree assortativity, density and transitivity.
    degree_divergence
        Kullback–Leibler divergence of the degree distributions, smoothed as in PrivGraph's code.
    degree_divergence_smoothed
        The same on widening bins with half a node added to each, so that holes cost little.
    average_clustering_error
        Relative error of the average local clustering coefficient.
    """

    eigenvector_overlap: float
    assortativity_error: float
    degree_divergence: float
    density_error: float
    clustering_error: float
    degree_divergence_smoothed: float
    average_clustering_error: float

    def to_dict(self) -> dict[str, float]:
        """The metrics by name."""
        return asdict(self)


def compute_fidelity(original: Graph | GraphFacts, synthetic: Graph | GraphFacts) -> Fidelity:
    """Compute the metrics of one synthetic graph against its original.

    Give `GraphFacts` instead of a graph to keep its statistics for other comparisons. Defined for
    every pair over one roster, including no nodes, one node and no edges.

    Raises
    ------
    DataError
        If the two graphs are not over the same nodes.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> star = Snapshot(Roster.range(4), [0, 0, 0], [1, 2, 3])
    >>> path = SyntheticGraph(star.roster, [0, 1, 2], [1, 2, 3])
    >>> compute_fidelity(star, star).degree_divergence
    0.0
    >>> compute_fidelity(star, path).assortativity_error
    0.5
    """
    truth, release = facts_of(original), facts_of(synthetic)
    if not _same_nodes(truth.graph.roster, release.graph.roster):
        raise DataError(
            "the original and the synthetic graph are not over the same nodes\n"
            "Compare each release with the snapshot it was made from, and read releases with that "
            "snapshot's roster."
        )
    before, after = truth.graph, release.graph
    closed, closed_now = truth.clustering, release.clustering
    return Fidelity(
        eigenvector_overlap=share_found(truth.most_central, release.most_central),
        assortativity_error=relative_error(truth.assortativity, release.assortativity),
        degree_divergence=degree_divergence(before, after),
        density_error=density_error(before, after),
        clustering_error=relative_error(closed.transitivity, closed_now.transitivity),
        degree_divergence_smoothed=smoothed_degree_divergence(before, after),
        average_clustering_error=relative_error(closed.average, closed_now.average),
    )


def _same_nodes(first: Roster, second: Roster) -> bool:
    """Whether both hold the same ids in the same order, however they were obtained."""
    return first is second or (
        first.strings == second.strings and np.array_equal(first.ids, second.ids)
    )
