"""PrivGraph: noisy degrees inside noisy communities, and noisy edge counts between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Labels
from psgraph._runtime.resources import phase
from psgraph.engines.runner import Runner
from psgraph.engines.sampling import PairCounts, sample
from psgraph.engines.sides import Sides
from psgraph.graph import UNDIRECTED, Kind, Roster, SyntheticGraph
from psgraph.methods.audit_cases import AuditCases
from psgraph.methods.base import Method, NoisePlan, SummaryChart
from psgraph.methods.parameters import checked_choice, checked_integer
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import (
    EVERY_KIND,
    CommunityChoices,
    CommunityEdges,
    InnerDegrees,
    SuperGraphEdges,
)
from psgraph.methods.steps.block_model import (
    block_count,
    capped_community_edges,
    capped_inner_degrees,
    inside_blocks,
    raked,
    synthesis_seed,
)
from psgraph.methods.steps.communities import (
    STRENGTHS,
    ChoiceConstant,
    CommunitySource,
    check_labels,
    division_plan,
    find_communities,
    public_communities,
)
from psgraph.methods.steps.consistency import norm_sub_within
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanisms.sparse import NoisyCounts

__all__ = ["PrivGraph", "PrivGraphMeasurement", "PrivGraphState"]


@dataclass(frozen=True)
class PrivGraphMeasurement:
    """What PrivGraph learned from one snapshot: noisy values only."""

    roster: Roster
    labels: Labels
    noisy_inner_degrees: NDArray[np.int64]
    noisy_community_edges: NoisyCounts
    kind: Kind = UNDIRECTED


@dataclass(frozen=True)
class PrivGraphState:
    """PrivGraph's estimate of the graph: communities, degrees inside, edges between."""

    roster: Roster
    labels: Labels
    inner_degrees: NDArray[np.float64]
    community_pairs: tuple[Labels, Labels]
    community_edges: NDArray[np.float64]
    kind: Kind = UNDIRECTED

    @property
    def communities(self) -> int:
        """H, the number of communities."""
        return block_count(self.labels)


class PrivGraph(Method[PrivGraphMeasurement, PrivGraphState]):
    """Static graph synthesis by communities; each timestamp is independent of the others.

    Parameters
    ----------
    supernode_size
        Nodes per super-node in the community division (the paper: 20).
    choice_constant
        ``"tight"`` spends all of its epsilon on the community choice; ``"reference"`` uses half
        of it, as the published code does.
    communities
        ``"found"``: by the private division. ``"labels"``: the public labels of the roster, which
        cost nothing, so that all of ε goes to what is measured of them.

    Notes
    -----
    Privacy: a third of ε each for the super-graph, the community choice, and what is measured of
    the communities: degrees inside them (sensitivity 2) beside edge counts between them
    (sensitivity 1). An edge is in one of the last two only, so both have that whole third.

    Differences from the published code: a graph without edges takes the same path as any other;
    the ends of an edge between two communities come from these two (there, one end is always in
    the community that happened to come last); and the pairs between two communities are distinct,
    so that the number of edges equals the count. The counts are rounded at random to one of the
    two nearest integers, with the right mean: after NormSub all of them have the same fractional
    part, and rounding to the nearest integer would shift all of them in one direction. The first
    costs nothing, the others bring the result closer to what was measured.

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
    title, colour, marker = "PrivGraph", "#56b4e9", "P"
    summary_chart = SummaryChart("communities", "community")
    kinds = EVERY_KIND
    records = (PrivGraphMeasurement, PrivGraphState, NoisyCounts)
    added_parameters = frozenset({"communities"})
    uses_labels = True
    queries = (SuperGraphEdges, CommunityChoices, InnerDegrees, CommunityEdges)

    def __init__(
        self,
        *,
        supernode_size: int = 20,
        choice_constant: ChoiceConstant = "tight",
        communities: CommunitySource = "found",
    ) -> None:
        self.supernode_size = checked_integer("supernode_size", supernode_size, least=1)
        self.choice_constant = checked_choice("choice_constant", choice_constant, ChoiceConstant)
        self.communities = checked_choice("communities", communities, CommunitySource)

    def check_roster(self, roster: Roster) -> None:
        if self.communities == "labels":
            check_labels(roster, method=self.name)

    def rehearsals(self) -> Sequence[PrivGraph]:
        """Return a variant that finds communities: a ring has no labels."""
        return [PrivGraph(supernode_size=self.supernode_size, choice_constant=self.choice_constant)]

    def audit_cases(self) -> AuditCases:
        return AuditCases(
            variants={
                "small super-nodes": {"supernode_size": 2},
                "half of ε for the choice": {"choice_constant": "reference"},
                "labels as communities": {"communities": "labels"},
            }
        )

    def plan(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        del nodes, kind
        case, split = "every timestamp", self._split(guarantee.per_timestamp)
        return [
            *(division_plan(case, split.communities) if split.communities else ()),
            # Outer degrees are not measured, so no row counts the degree of a node.
            replace(NoisePlan.of(case, InnerDegrees, split.structure), counts=""),
            NoisePlan.of(case, CommunityEdges, split.structure),
        ]

    def measure(
        self, private: PrivateSnapshot, state: PrivGraphState | None
    ) -> PrivGraphMeasurement:
        """Communities, then degrees inside and edge counts between them.

        Privacy: all of the budget for one edge: two thirds for the communities; and a third for
        the rest, where an edge moves two degrees by 1 or one count by 1; all of it for the rest
        if communities are public labels. proofs/privgraph.md.
        """
        del state  # timestamps are independent
        split, kind = self._split(private.remaining), private.kind
        with phase("communities"):
            if split.communities:
                labels = find_communities(
                    private,
                    epsilon=split.communities,
                    supernode_size=self.supernode_size,
                    strength=STRENGTHS[self.choice_constant],
                )
            else:
                labels = public_communities(private, method=self.name)
        with phase("perturbation"):
            epsilon = split.structure
            inside, between = private.parallel(epsilon, "inside communities", "between communities")
            noisy_inner_degrees = inside.ask(InnerDegrees(labels, kind=kind), epsilon=epsilon)
            noisy_community_edges = between.ask(
                CommunityEdges(labels, block_count(labels), kind=kind), epsilon=epsilon
            )
        return PrivGraphMeasurement(
            private.roster, labels, noisy_inner_degrees, noisy_community_edges, kind
        )

    def _split(self, epsilon: Fraction) -> _Split:
        return _Split(Fraction(0), epsilon) if self.communities == "labels" else _split(epsilon)

    def update(
        self, state: PrivGraphState | None, measurement: PrivGraphMeasurement
    ) -> PrivGraphState:
        del state
        with phase("perturbation"):
            labels, roster, kind = measurement.labels, measurement.roster, measurement.kind
            sides = Sides(kind, roster.sizes)
            noisy, of_degree = measurement.noisy_inner_degrees, sides.joined(labels, labels)
            consistent = [norm_sub_within(noisy[part], of_degree[part]) for part in sides.slices]
            inner_degrees = raked(np.concatenate(consistent), labels, sides)
            inner_degrees = capped_inner_degrees(inner_degrees, labels, sides)
            a, b, edges = capped_community_edges(measurement.noisy_community_edges, labels, sides)
        return PrivGraphState(roster, labels, inner_degrees, (a, b), edges, kind)

    def synthesise(
        self,
        state: PrivGraphState,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        del previous
        with phase("reconstruction"):
            sides = Sides(state.kind, state.roster.sizes)
            inside = inside_blocks(state.inner_degrees, state.labels, sides)
            counts = _rounded(state.community_edges, rng)
            between = PairCounts(state.labels, *state.community_pairs, counts, sides)
            parts = sample(engine, inside, between, seed=synthesis_seed(rng))
            return SyntheticGraph.from_parts(state.roster, parts)

    def summary(self, state: PrivGraphState) -> Mapping[str, Any]:
        return {"communities": state.communities}


@dataclass(frozen=True)
class _Split:
    """What a timestamp's ε goes to: the communities, and what is measured of them."""

    communities: Fraction
    structure: Fraction


def _split(epsilon: Fraction) -> _Split:
    """Split ε: a third each for super-graph, choice and structure."""
    third = epsilon / 3
    return _Split(2 * third, third)


def _rounded(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Round at random to one of the two nearest integers, with the given means."""
    floor = np.floor(values)
    return (floor + (rng.random(values.size) < values - floor)).astype(np.int64)
