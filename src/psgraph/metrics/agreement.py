"""The metrics of the group *communities*: as clear as the original's, and the same ones?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psgraph.metrics.communities import adjusted_rand_index, modularity, mutual_information
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.relative import relative_error

if TYPE_CHECKING:
    from psgraph.metrics.facts import GraphFacts

__all__ = ["community_errors"]


def community_errors(original: GraphFacts, synthetic: GraphFacts) -> dict[str, float]:
    """Compute the four metrics of the group *communities*, by name.

    Both graphs are partitioned by `find_communities`. The modularity error compares the quality of
    each partition in its own graph; the community modularity error that of the original's
    communities in both graphs. The agreement is the `mutual_information` of the two partitions over
    all nodes; the `adjusted_rand_index` is over the nodes with an edge in the original.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> from psgraph.metrics.facts import GraphFacts
    >>> pair = Snapshot(Roster.range(4), [0, 2], [1, 3])
    >>> crossed = SyntheticGraph(pair.roster, [0, 1], [2, 3])
    >>> for name, value in community_errors(GraphFacts(pair), GraphFacts(crossed)).items():
    ...     print(name, value)
    modularity_error 0.0
    community_modularity_error 2.0
    community_agreement 0.0
    adjusted_rand_index -0.5
    """
    before, after = original.communities, synthetic.communities
    linked = node_degrees(original.graph) > 0
    return {
        "modularity_error": relative_error(original.modularity, synthetic.modularity),
        "community_modularity_error": relative_error(
            original.modularity, modularity(synthetic.graph, before)
        ),
        "community_agreement": mutual_information(before, after),
        "adjusted_rand_index": adjusted_rand_index(before[linked], after[linked]),
    }
