"""PrivGraph: noisy degrees inside noisy communities, and noisy edge counts between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.timing import phase
from psgraph.engines.base import Blocks, Engine
from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.psgraph.communities import find_communities
from psgraph.methods.psgraph.method import STRENGTHS
from psgraph.methods.psgraph.perturbation import capped_community_edges
from psgraph.methods.steps.consistency import norm_sub_threshold, norm_sub_within
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanism import per_edge
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.mechanisms.sparse import NoisyCounts, SparseLaplaceCounts

__all__ = ["PrivGraph", "PrivGraphMeasurement", "PrivGraphState"]

Labels = NDArray[np.int32]


@dataclass(frozen=True)
class PrivGraphMeasurement:
    """What PrivGraph learned from one snapshot: noisy values only."""

    roster: Roster
    labels: Labels
    noisy_inner_degrees: NDArray[np.int64]
    noisy_community_edges: NoisyCounts


@dataclass(frozen=True)
class PrivGraphState:
    """PrivGraph's estimate of the graph: communities, degrees inside, edges between."""

    roster: Roster
    labels: Labels
    inner_degrees: NDArray[np.float64]
    community_pairs: tuple[Labels, Labels]
    community_edges: NDArray[np.float64]

    @property
    def communities(self) -> int:
        """H, the number of communities."""
        return _communities(self.labels)


class PrivGraph(Method[PrivGraphMeasurement, PrivGraphState]):
    """Static graph synthesis by communities; every timestamp stands alone.

    Parameters
    ----------
    supernode_size
        Nodes per super-node in the community division (the paper: 20).
    choice_constant
        ``"tight"`` spends all of its epsilon on the community choice; ``"reference"`` uses half
        of it, as the published code does.

    Notes
    -----
    Privacy: a third of ε each for the super-graph, the community choice, and what is measured of
    the communities: degrees inside them (sensitivity 2) beside edge counts between them
    (sensitivity 1). An edge is in one of the last two only, so both have that whole third.

    Differences from the published code: a graph without edges takes the same path as any other;
    the ends of an edge between two communities come from these two (there, one end is always in
    the community that happened to come last); and the pairs between two communities are distinct,
    so that as many edges come out as were counted. The counts are rounded at random to a
    neighbouring whole number with the right mean: after NormSub all of them have one fractional
    part, and rounding to the nearest would move all of them to one side. The first costs nothing,
    the others bring the result closer to what was measured.

    O(m + n log n) time and O(m + n) memory.

    References
    ----------
    Yuan et al., "PrivGraph: Differentially Private Graph Data Publication by Exploiting
    Community Information", USENIX Security 2023.

    Examples
    --------
    >>> PrivGraph(supernode_size=10).parameters()
    {'supernode_size': 10, 'choice_constant': 'tight'}
    """

    name = "privgraph"
    records = (PrivGraphMeasurement, PrivGraphState, NoisyCounts)

    def __init__(
        self,
        *,
        supernode_size: int = 20,
        choice_constant: Literal["tight", "reference"] = "tight",
    ) -> None:
        if isinstance(supernode_size, bool) or supernode_size < 1:
            raise InvalidArgument(f"supernode_size must be at least 1, not {supernode_size}")
        self.supernode_size = int(supernode_size)
        if choice_constant not in STRENGTHS:
            raise InvalidArgument("choice_constant must be 'tight' or 'reference'")
        self.choice_constant = choice_constant

    def plan(self, guarantee: WEventPrivacy, *, nodes: int) -> list[NoisePlan]:
        del nodes  # the noise does not depend on it
        case, third = "every timestamp", guarantee.per_timestamp / 3
        return [
            NoisePlan(case, "super-graph edges", third, 1),
            NoisePlan(case, "inner degrees", third, 2),
            NoisePlan(case, "community edges", third, 1),
        ]

    def measure(
        self,
        snapshot: Snapshot,
        state: PrivGraphState | None,
        budget: Budget,
        engine: Engine,
    ) -> PrivGraphMeasurement:
        """Communities, then degrees inside and edge counts between them.

        Privacy: all of the budget for one edge: two thirds for the communities; and a third for
        the rest, where an edge moves two degrees by 1 or one count by 1. proofs/privgraph.md.
        """
        del state  # every timestamp stands alone
        third = budget.remaining / 3
        with phase("communities"):
            labels = find_communities(
                snapshot,
                budget,
                engine,
                epsilon=2 * third,
                supernode_size=self.supernode_size,
                strength=STRENGTHS[self.choice_constant],
            )
        with phase("perturbation"):
            inside, between = budget.parallel(third, "inside communities", "between communities")
            inner_degrees, _ = engine.split_degrees(snapshot, labels)
            noisy_inner_degrees = inside.run(
                LaplaceCounts(inner_degrees, per_edge(2)), epsilon=third, label="inner degrees"
            )
            community_edges = engine.block_counts(
                snapshot, labels, _communities(labels), inside=False
            )
            noisy_community_edges = between.run(
                SparseLaplaceCounts(
                    community_edges.cells,
                    community_edges.counts,
                    size=community_edges.size,
                    threshold=norm_sub_threshold,
                    sensitivity=per_edge(1),
                ),
                epsilon=third,
                label="community edges",
            )
        return PrivGraphMeasurement(
            snapshot.roster, labels, noisy_inner_degrees, noisy_community_edges
        )

    def update(
        self, state: PrivGraphState | None, measurement: PrivGraphMeasurement
    ) -> PrivGraphState:
        del state
        with phase("perturbation"):
            labels = measurement.labels
            inner_degrees = norm_sub_within(measurement.noisy_inner_degrees, labels)
            if labels.size:
                inner_degrees = np.minimum(inner_degrees, np.bincount(labels)[labels] - 1)
            a, b, edges = capped_community_edges(
                measurement.noisy_community_edges, labels, _communities(labels)
            )
        return PrivGraphState(measurement.roster, labels, inner_degrees, (a, b), edges)

    def synthesise(
        self, state: PrivGraphState, rng: np.random.Generator, engine: Engine
    ) -> SyntheticGraph:
        with phase("reconstruction"):
            labels, degrees = state.labels, state.inner_degrees
            totals = np.bincount(labels, weights=degrees, minlength=state.communities)
            alive = np.flatnonzero(totals > 0).astype(np.int32)
            inside = engine.sample_blocks(
                Blocks(degrees, labels, alive, alive, 1.0 / totals[alive]), rng=rng
            )
            between = engine.sample_pairs(
                labels, *state.community_pairs, _rounded(state.community_edges, rng), rng=rng
            )
            return SyntheticGraph(
                state.roster,
                np.concatenate([inside.u, between.u]),
                np.concatenate([inside.v, between.v]),
            )

    def summary(self, state: PrivGraphState) -> Mapping[str, Any]:
        return {"communities": state.communities}


def _communities(labels: Labels) -> int:
    return int(labels.max()) + 1 if labels.size else 0


def _rounded(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers with the given means, never more than one away."""
    whole = np.floor(values)
    return (whole + (rng.random(values.size) < values - whole)).astype(np.int64)
