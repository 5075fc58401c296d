"""PrivGraph's private community division (Comm_div), which PSGraph uses as well.

Merge the nodes at random into super-nodes, count the edges between super-nodes with noise, let
Louvain find communities in that small graph, and let every node choose again by the exponential
mechanism, all at once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np

from psgraph._runtime.arrays import Labels
from psgraph.errors import RosterError
from psgraph.graph import Roster
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.methods.base import NoisePlan
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import CommunityChoices, SuperGraphEdges
from psgraph.privacy.mechanisms.sparse import NoisyCounts

__all__ = [
    "STRENGTHS",
    "ChoiceConstant",
    "CommunitySource",
    "check_labels",
    "division_plan",
    "find_communities",
    "keep_communities",
    "public_communities",
    "renumbered",
]

ChoiceConstant = Literal["tight", "reference"]
CommunitySource = Literal["found", "labels"]

STRENGTHS = {"tight": Fraction(1, 2), "reference": Fraction(1, 4)}
"""How much of its ε the community choice uses: all of it, or half as in the published code."""

MOST_SUPERNODES = 2048
"""Super-nodes at most, so that the work on pairs of them does not grow with the graph."""


def division_epsilons(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Split ε_c into the shares of the super-graph and of the community choice."""
    return epsilon / 2, epsilon - epsilon / 2


def division_plan(case: str, epsilon: Fraction) -> list[NoisePlan]:
    """Return the rows of a plan for the queries that find communities."""
    super_graph, choice = division_epsilons(epsilon)
    return [
        NoisePlan.of(case, SuperGraphEdges, super_graph),
        NoisePlan.of(case, CommunityChoices, choice),
    ]


def find_communities(
    private: PrivateSnapshot, *, epsilon: Fraction, supernode_size: int, strength: Fraction
) -> Labels:
    """Private community division (Comm_div): labels 0, …, H − 1, each with a member.

    Privacy: ε_c = `epsilon` for one edge, half for the super-graph and half for the choice. The
    super-nodes are drawn without looking at edges; an edge lies in one cell of the super-graph
    (sensitivity 1); Louvain sees noisy weights only. proofs/community-division.md.
    """
    super_graph_epsilon, choice_epsilon = division_epsilons(epsilon)
    nodes = len(private.roster)
    size = _size(nodes, supernode_size)
    groups = -(-nodes // size)
    group_of = np.empty(nodes, dtype=np.int32)
    group_of[private.random_order(nodes)] = np.arange(nodes) // size
    kind = private.kind
    noisy_super_graph = private.ask(
        SuperGraphEdges(group_of, groups, kind=kind), epsilon=super_graph_epsilon
    )
    community_of = _louvain(noisy_super_graph, groups, seed=private.random_seed(), kind=kind)
    labels = community_of[group_of] if nodes else np.empty(0, dtype=np.int32)
    labels = private.ask(CommunityChoices(labels, strength), epsilon=choice_epsilon)
    return renumbered(labels)


def _size(nodes: int, supernode_size: int) -> int:
    """Return the nodes of a super-node: more than asked for where there would be too many."""
    return max(supernode_size, -(-nodes // MOST_SUPERNODES))


def _louvain(noisy: NoisyCounts, groups: int, *, seed: int, kind: Kind = UNDIRECTED) -> Labels:
    """Find communities of the noisy super-graph; a super-node without edges is one by itself.

    The weights of both directions between two super-nodes are added up.
    """
    if groups == 1 or not noisy.cells.size:
        return np.arange(groups, dtype=np.int32)
    from scipy import sparse
    from sknetwork.clustering import Louvain

    a, b = kind.pair_of(noisy.cells, groups, inside=True)
    weights = noisy.values - noisy.threshold
    # Entered twice, a weight between two super-nodes is at (a, b) and (b, a), and one inside a
    # super-node twice at (a, a): every edge then counts at both of its ends.
    both = (np.concatenate([a, b]), np.concatenate([b, a]))
    adjacency = sparse.csr_matrix((np.tile(weights, 2), both), shape=(groups, groups))
    louvain = Louvain(
        modularity="newman",
        shuffle_nodes=True,
        random_state=seed,
        return_probs=False,
        return_aggregate=False,
    )
    return louvain.fit_predict(adjacency).astype(np.int32)


def renumbered(labels: Labels) -> Labels:
    """Return the same communities with labels 0, …, H − 1."""
    if not labels.size:
        return labels
    used = np.bincount(labels) > 0
    return (np.cumsum(used, dtype=np.int32) - np.int32(1))[labels]


def check_labels(roster: Roster, *, method: str) -> None:
    """Refuse a roster without labels where these are to be the communities."""
    if roster.labels is None:
        raise RosterError(
            f"method {method!r} takes communities from public labels, and the roster has none\n"
            "Name the columns of the roster (--labels NAME, labels=…), or leave out "
            "communities=labels.",
            code="labels_wanted",
        )


def public_communities(private: PrivateSnapshot, *, method: str) -> Labels:
    """Return the labels of the roster as communities 0, …, H − 1. Asks nothing.

    Nodes without a label are one community.

    Privacy: 0. Labels are part of the public roster.
    """
    check_labels(private.roster, method=method)
    labels = private.roster.labels
    assert labels is not None
    return labels.one_label()


def keep_communities(roster: Roster, labels: Labels, private: PrivateSnapshot) -> Labels:
    """Carry communities over to a new roster; new nodes go to random ones. Asks nothing."""
    new_roster = private.roster
    if roster is new_roster or roster == new_roster:
        return labels
    before = roster.positions_of(new_roster)
    stayed = before >= 0
    carried = np.empty(len(new_roster), dtype=np.int32)
    carried[stayed] = labels[before[stayed]]
    existing = np.unique(carried[stayed] if stayed.any() else labels)
    newcomers = int(np.count_nonzero(~stayed))
    carried[~stayed] = existing[private.random_labels(newcomers, existing.size)]
    return renumbered(carried)
