"""PSGraph as a method: the three phases in order (Algorithm 4)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph._runtime.resources import phase
from psgraph.engines.runner import Job, Runner
from psgraph.engines.sides import Sides
from psgraph.engines.threads import LocalEngine
from psgraph.errors import exact_decimal
from psgraph.graph import UNDIRECTED, Kind, Roster, SyntheticGraph
from psgraph.methods.audit_cases import AuditCases, Phase
from psgraph.methods.base import Method, NoisePlan, SummaryChart
from psgraph.methods.parameters import checked_choice, checked_flag, checked_integer
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.psgraph.reconstruction import Between, reconstruct, repaired
from psgraph.methods.queries import (
    EVERY_KIND,
    CommunityChoices,
    CommunityEdges,
    EdgeCount,
    InnerDegrees,
    OuterDegrees,
    SuperGraphEdges,
)
from psgraph.methods.steps.block_model import (
    block_count,
    capped_community_edges,
    capped_inner_degrees,
    raked,
)
from psgraph.methods.steps.communities import (
    STRENGTHS,
    ChoiceConstant,
    CommunitySource,
    check_labels,
    division_plan,
    find_communities,
    keep_communities,
    public_communities,
)
from psgraph.methods.steps.consistency import norm_sub
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy, exact_epsilon
from psgraph.privacy.mechanisms.sparse import NoisyCounts

__all__ = [
    "STRUCTURE",
    "PSGraph",
    "PSGraphMeasurement",
    "PSGraphState",
    "capped_degrees",
    "fuse",
    "measure_structure",
    "structure_epsilons",
]

MOST_FOR_EDGE_COUNT = Fraction(1, 100)
KEPT, FOUND = "communities kept", "communities found again"


@dataclass(frozen=True)
class PSGraphMeasurement:
    """What PSGraph measured in one snapshot: noisy values only."""

    roster: Roster
    noisy_edge_count: int
    found: bool
    labels: NDArray[np.int32]
    noisy_inner_degrees: NDArray[np.int64]
    noisy_outer_degrees: NDArray[np.int64]
    noisy_community_edges: NoisyCounts
    degree_epsilon: Fraction
    kind: Kind = UNDIRECTED


@dataclass(frozen=True)
class PSGraphState:
    """PSGraph's estimate of the graph: enough to draw one, and what the next step builds on."""

    roster: Roster
    noisy_edge_count: int
    found: bool
    labels: NDArray[np.int32]
    fused_inner_degrees: NDArray[np.float64]
    fused_outer_degrees: NDArray[np.float64]
    community_pairs: tuple[NDArray[np.int32], NDArray[np.int32]]
    community_edges: NDArray[np.float64]
    degree_epsilon: Fraction
    kind: Kind = UNDIRECTED

    @property
    def communities(self) -> int:
        """H, the number of communities."""
        return block_count(self.labels)


class PSGraph(Method[PSGraphMeasurement, PSGraphState]):
    """Streaming graph synthesis that exploits how little changes between timestamps.

    Parameters
    ----------
    threshold
        Communities are found again when the noisy edge count changed by this × nodes (paper: 1).
    fusion
        Whether degrees are averaged with the last ones while communities are kept.
    postprocess
        Whether the drawn graph is repaired to the noisy number of edges.
    always_repartition
        Find communities at every timestamp (the paper's PSGraph-R1).
    supernode_size
        Nodes per super-node in the community division.
    choice_constant
        ``"tight"`` spends all of its ε on the choice, ``"reference"`` half, as published code does.
    between
        How edges between communities are drawn: ``"printed"`` or ``"symmetric"``; `reconstruct`.
    communities
        ``"found"`` by the private division, or ``"labels"``: the public ones, which cost nothing.

    Notes
    -----
    With ε_s = ε/w for a timestamp: ε_e = min(0.01, ε_s/2) goes to the edge count, the rest to
    degrees and community edges, half of it to new communities. O(m + n log n) time, O(m + n) space.

    References
    ----------
    Yuan et al., "PSGraph: Differentially Private Streaming Graph Synthesis by Considering
    Temporal Dynamics".

    Examples
    --------
    >>> PSGraph(threshold="0.5").parameters()["threshold"]
    '0.5'
    """

    name = "psgraph"
    title, colour, marker = "PSGraph", "#d55e00", "o"
    summary_chart = SummaryChart(
        "communities",
        "community",
        renewed="communities_found",
        reason="Reusing them leaves more of the budget for degrees; they are recomputed when the "
        "noisy counts indicate that the graph has changed.",
    )
    kinds = EVERY_KIND
    records = (PSGraphMeasurement, PSGraphState, NoisyCounts)
    added_parameters = frozenset({"communities"})
    uses_labels = True
    queries = (
        EdgeCount,
        SuperGraphEdges,
        CommunityChoices,
        InnerDegrees,
        OuterDegrees,
        CommunityEdges,
    )

    def __init__(
        self,
        *,
        threshold: EpsilonLike = 1,
        fusion: bool = True,
        postprocess: bool = True,
        always_repartition: bool = False,
        supernode_size: int = 20,
        choice_constant: ChoiceConstant = "tight",
        between: Between = "printed",
        communities: CommunitySource = "found",
    ) -> None:
        self.threshold = exact_epsilon(threshold, name="threshold")
        self.fusion = checked_flag("fusion", fusion)
        self.postprocess = checked_flag("postprocess", postprocess)
        self.always_repartition = checked_flag("always_repartition", always_repartition)
        self.supernode_size = checked_integer("supernode_size", supernode_size, least=1)
        self.choice_constant = checked_choice("choice_constant", choice_constant, ChoiceConstant)
        self.between = checked_choice("between", between, Between)
        self.communities = checked_choice("communities", communities, CommunitySource)

    def check_roster(self, roster: Roster) -> None:
        if self.communities == "labels":
            check_labels(roster, method=self.name)

    def rehearsals(self) -> Sequence[PSGraph]:
        """Return a variant that finds communities first and then keeps them.

        Compiles the repair as well: a published ring does not reach all of it.
        """
        _compile_repair()
        stable = copy.copy(self)
        stable.threshold, stable.always_repartition = Fraction(10**9), False
        stable.communities = "found"
        return [stable]

    def audit_cases(self) -> AuditCases:
        return _CASES

    def plan(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        del nodes, kind
        epsilon = guarantee.per_timestamp
        if self.communities == "labels":
            return _split(epsilon, found=False).plan("every timestamp")
        found = _split(epsilon, found=True).plan(FOUND)
        found[1:1] = division_plan(FOUND, _split(epsilon, found=True).communities)
        return found if self.always_repartition else _split(epsilon, found=False).plan(KEPT) + found

    def plan_remarks(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[str]:
        """Say what the noise means for the decision to keep communities."""
        del kind
        if self.communities == "labels":
            return ["Communities are the public labels of the roster. They cost nothing."]
        if self.always_repartition:
            return ["Communities are found again at every timestamp."]
        # The difference of two noise values is 1.5 scales on average.
        noise = 1.5 / float(_split(guarantee.per_timestamp, found=False).edges)
        return [
            "Communities are found again when the noisy number of edges changes by more than "
            f"{round(self.threshold * nodes):,} from one timestamp to the next (threshold "
            f"{exact_decimal(self.threshold)} × nodes); noise alone changes it by about "
            f"{noise:,.0f}."
        ]

    def measure(self, private: PrivateSnapshot, state: PSGraphState | None) -> PSGraphMeasurement:
        """Algorithms 1 and 2 up to the noise.

        Privacy: all of the budget for one edge. The branch looks at noisy counts and public
        numbers, and either branch spends the same. proofs/psgraph.md.
        """
        roster, epsilon = private.roster, private.remaining
        with phase("communities"):
            noisy_edge_count = private.ask(EdgeCount(), epsilon=_edge_epsilon(epsilon))
            if self.communities == "labels":
                split = _split(epsilon, found=False)
                labels = public_communities(private, method=self.name)
            elif state is not None and self._keeps(state, noisy_edge_count, roster):
                split = _split(epsilon, found=False)
                labels = keep_communities(state.roster, state.labels, private)
            else:
                split = _split(epsilon, found=True)
                labels = find_communities(
                    private,
                    epsilon=split.communities,
                    supernode_size=self.supernode_size,
                    strength=STRENGTHS[self.choice_constant],
                )
        with phase("perturbation"):
            inner, outer, between = measure_structure(private, labels, epsilon=split.structure)
        return PSGraphMeasurement(
            roster=roster,
            noisy_edge_count=noisy_edge_count,
            found=split.communities > 0,
            labels=labels,
            noisy_inner_degrees=inner,
            noisy_outer_degrees=outer,
            noisy_community_edges=between,
            degree_epsilon=split.structure,
            kind=private.kind,
        )

    def _keeps(self, state: PSGraphState, noisy_edge_count: int, roster: Roster) -> bool:
        """Whether to keep communities: from noisy counts and the public number of nodes."""
        change = abs(noisy_edge_count - state.noisy_edge_count)
        stable = change <= self.threshold * len(roster)
        return stable and not self.always_repartition and state.communities > 0

    def update(self, state: PSGraphState | None, measurement: PSGraphMeasurement) -> PSGraphState:
        with phase("perturbation"):
            labels, sides = measurement.labels, Sides(measurement.kind, measurement.roster.sizes)
            inner, outer = (
                np.concatenate([norm_sub(noisy[part]) for part in sides.slices])
                for noisy in (measurement.noisy_inner_degrees, measurement.noisy_outer_degrees)
            )
            if state is not None and self.fusion and not measurement.found:
                now, before = measurement.degree_epsilon, state.degree_epsilon
                inner, outer = (
                    fuse(
                        consistent,
                        fused_before,
                        roster=measurement.roster,
                        roster_before=state.roster,
                        weight=float(now / (now + before)),
                        kind=measurement.kind,
                    )
                    for consistent, fused_before in (
                        (inner, state.fused_inner_degrees),
                        (outer, state.fused_outer_degrees),
                    )
                )
            inner = raked(inner, labels, sides)
            outer = raked(outer, np.zeros_like(labels), sides)  # as one: only all sums are equal
            inner, outer = capped_degrees(inner, outer, labels, sides)
            noisy_edges = measurement.noisy_community_edges
            *pairs, edges = capped_community_edges(noisy_edges, labels, sides)
        return PSGraphState(
            roster=measurement.roster,
            noisy_edge_count=measurement.noisy_edge_count,
            found=measurement.found,
            labels=labels,
            fused_inner_degrees=inner,
            fused_outer_degrees=outer,
            community_pairs=(pairs[0], pairs[1]),
            community_edges=edges,
            degree_epsilon=measurement.degree_epsilon,
            kind=measurement.kind,
        )

    def synthesise(
        self,
        state: PSGraphState,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        del previous
        with phase("reconstruction"):
            parts = reconstruct(
                labels=state.labels,
                inner_degrees=state.fused_inner_degrees,
                outer_degrees=state.fused_outer_degrees,
                community_pairs=state.community_pairs,
                community_edges=state.community_edges,
                edge_count=state.noisy_edge_count,
                sides=Sides(state.kind, state.roster.sizes),
                between=self.between,
                postprocess=self.postprocess,
                engine=engine,
                rng=rng,
            )
            return SyntheticGraph.from_parts(state.roster, parts)

    def summary(self, state: PSGraphState) -> Mapping[str, Any]:
        return {
            "noisy_edges": state.noisy_edge_count,
            "communities": state.communities,
            "communities_found": state.found,
        }


@dataclass(frozen=True)
class _Split:
    """What a timestamp's ε goes to: the edge count, the communities (0 if kept), the structure."""

    edges: Fraction
    communities: Fraction
    structure: Fraction

    def plan(self, case: str) -> list[NoisePlan]:
        """Return the measurements with Laplace noise, except those that find communities."""
        inner, outer, between = structure_epsilons(self.structure)
        return [
            NoisePlan.of(case, EdgeCount, self.edges),
            NoisePlan.of(case, InnerDegrees, inner),
            NoisePlan.of(case, OuterDegrees, outer),
            NoisePlan.of(case, CommunityEdges, between),
        ]


def _edge_epsilon(epsilon: Fraction) -> Fraction:
    """Return ε_e, which is spent before it is known whether communities are kept."""
    return min(MOST_FOR_EDGE_COUNT, epsilon / 2)


def _split(epsilon: Fraction, *, found: bool) -> _Split:
    """Split a timestamp's ε, with communities found again or kept."""
    edges = _edge_epsilon(epsilon)
    rest = epsilon - edges
    communities = rest / 2 if found else Fraction(0)
    return _Split(edges, communities, rest - communities)


def _compile_repair() -> None:
    """Repair a small graph of several parts: too many edges, too few, nearly all there can be."""
    nodes, engine = 64, LocalEngine(threads=1, part_nodes=32)
    labels = np.arange(nodes, dtype=np.int32) % np.int32(2)
    ring = UNDIRECTED.keys(np.arange(nodes), (np.arange(nodes) + 1) % nodes)
    parts = engine.shuffle([Job(_itself, [ring])], nodes=nodes, kind=UNDIRECTED)
    for edge_count in (nodes - 8, nodes + 8, UNDIRECTED.pairs(nodes) - 8):
        repaired(
            parts,
            labels=labels,
            inner_degrees=np.full(nodes, 4.0),
            outer_degrees=np.full(nodes, 4.0),
            edge_count=edge_count,
            seed=0,
            runner=engine,
        )


def _itself(keys: Integers) -> Integers:
    return keys


# ---- phase 2: noisy degrees and community edges (Algorithm 2) ----


def structure_epsilons(epsilon: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Split ε_i: inner degrees get all of it, outer degrees and community edges half each."""
    return epsilon, epsilon / 2, epsilon - epsilon / 2


def measure_structure(
    private: PrivateSnapshot, labels: Labels, *, epsilon: Fraction
) -> tuple[Integers, Integers, NoisyCounts]:
    """Measure noisy inner degrees (D̃_i), outer degrees (D̃_o) and community edges (Ṽ).

    Privacy: ε_i = `epsilon` for one edge. Given the communities, which are already released, an
    edge is either inside one (then it moves D_i by 2) or between two (then it moves D_o by 2 and
    V by 1), so D_i may have all of ε_i and D_o and V half each. proofs/perturbation.md.
    """
    kind = private.kind
    inner_epsilon, outer_epsilon, edge_epsilon = structure_epsilons(epsilon)
    inside, between = private.parallel(epsilon, "inside communities", "between communities")
    noisy_inner_degrees = inside.ask(InnerDegrees(labels, kind=kind), epsilon=inner_epsilon)
    noisy_outer_degrees = between.ask(OuterDegrees(labels, kind=kind), epsilon=outer_epsilon)
    noisy_community_edges = between.ask(
        CommunityEdges(labels, block_count(labels), kind=kind), epsilon=edge_epsilon
    )
    return noisy_inner_degrees, noisy_outer_degrees, noisy_community_edges


def fuse(
    consistent: Floats,
    fused_before: Floats,
    *,
    roster: Roster,
    roster_before: Roster,
    weight: float,
    kind: Kind = UNDIRECTED,
) -> Floats:
    """Return D̂_t = α·D̄_t + (1 − α)·D̂_{t−1}, or D̄_t for nodes that are new."""
    if roster is roster_before or roster == roster_before:
        return weight * consistent + (1 - weight) * fused_before
    before = roster_before.positions_of(roster)
    sides = Sides(kind, roster.sizes)
    shifted = np.where(before < 0, before, before + Sides(kind, roster_before.sizes).shift)
    before = sides.joined(before, shifted)  # where the same degree was listed
    stayed = before >= 0
    fused = consistent.copy()
    fused[stayed] = weight * consistent[stayed] + (1 - weight) * fused_before[before[stayed]]
    return fused


def capped_degrees(
    inner: Floats, outer: Floats, labels: Labels, sides: Sides | None = None
) -> tuple[Floats, Floats]:
    """Cap degrees at the number of other nodes inside and outside the community.

    With two sides, those count that can be the other end of an edge.
    """
    if not labels.size:
        return inner, outer
    sides = sides or Sides.undirected(labels.size)
    first, second = sides.members(labels, block_count(labels))
    most = sides.joined((second.sum() - second)[labels], (first.sum() - first)[labels])
    return capped_inner_degrees(inner, labels, sides), np.minimum(outer, most)


# ---- for `psgraph audit`: the second phase, on graphs of three nodes ----

STRUCTURE = frozenset({"inner degrees", "outer degrees", "community edges"})


def _structure(*labels: int) -> Phase:
    communities = np.array(labels, dtype=np.int32)

    def run(private: PrivateSnapshot) -> None:
        measure_structure(private, communities, epsilon=private.epsilon)

    return Phase(run, Fraction(2), STRUCTURE, EVERY_KIND)


_CASES = AuditCases(
    variants={
        "small super-nodes": {"supernode_size": 2},
        "communities at every timestamp": {"always_repartition": True},
        "no fusion": {"fusion": False},
        "a symmetric reconstruction": {"between": "symmetric"},
        "half of ε for the choice": {"choice_constant": "reference"},
        "labels as communities": {"communities": "labels"},
    },
    branches={
        "communities are found": lambda measured, _: measured.found,
        "communities are kept": lambda measured, _: not measured.found,
    },
    phases={
        "degrees inside one community": _structure(0, 0, 0),
        "degrees and edges between communities": _structure(0, 1, 2),
    },
)
