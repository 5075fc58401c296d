"""PSGraph as a method: the three phases in order (Algorithm 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.timing import phase
from psgraph.engines.base import Engine
from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.psgraph.communities import find_communities, keep_communities
from psgraph.methods.psgraph.perturbation import (
    capped_community_edges,
    capped_degrees,
    fuse,
    measure_structure,
)
from psgraph.methods.psgraph.reconstruction import Between, reconstruct
from psgraph.methods.steps.consistency import norm_sub
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy, exact_epsilon
from psgraph.privacy.mechanism import per_edge
from psgraph.privacy.mechanisms.laplace import LaplaceCount
from psgraph.privacy.mechanisms.sparse import NoisyCounts

__all__ = ["PSGraph", "PSGraphMeasurement", "PSGraphState"]

MOST_FOR_EDGE_COUNT = Fraction(1, 100)
STRENGTHS = {"tight": Fraction(1, 2), "reference": Fraction(1, 4)}


@dataclass(frozen=True)
class PSGraphMeasurement:
    """What PSGraph learned from one snapshot: noisy values only."""

    roster: Roster
    noisy_edge_count: int
    found: bool
    labels: NDArray[np.int32]
    noisy_inner_degrees: NDArray[np.int64]
    noisy_outer_degrees: NDArray[np.int64]
    noisy_community_edges: NoisyCounts
    degree_epsilon: Fraction


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

    @property
    def communities(self) -> int:
        """H, the number of communities."""
        return int(self.labels.max()) + 1 if self.labels.size else 0


class PSGraph(Method[PSGraphMeasurement, PSGraphState]):
    """Streaming graph synthesis that exploits how little changes between timestamps.

    Parameters
    ----------
    threshold
        Communities are found again when the noisy edge count moved by more than this many times
        the number of nodes (the paper: 1).
    fusion
        Whether degrees are averaged with those of the last timestamp while communities are kept.
    postprocess
        Whether the drawn graph is repaired to the noisy number of edges.
    always_repartition
        Find communities at every timestamp (the paper's PSGraph-R1).
    supernode_size
        Nodes per super-node in the community division.
    choice_constant
        ``"tight"`` spends all of its epsilon on the community choice; ``"reference"`` uses half
        of it, as the published code does.
    between
        How edges between communities are drawn: ``"printed"`` (Equations 3 and 4) or
        ``"symmetric"``. See `reconstruct`.

    Notes
    -----
    With ε_s = ε/w for a timestamp: ε_e = min(0.01, ε_s/2) goes to the edge count. The rest goes
    to degrees and community edges, of which half to communities when they are found again.
    O(m + n log n) time and O(m + n) memory.

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
    records = (PSGraphMeasurement, PSGraphState, NoisyCounts)

    def __init__(
        self,
        *,
        threshold: EpsilonLike = 1,
        fusion: bool = True,
        postprocess: bool = True,
        always_repartition: bool = False,
        supernode_size: int = 20,
        choice_constant: Literal["tight", "reference"] = "tight",
        between: Between = "printed",
    ) -> None:
        self.threshold = exact_epsilon(threshold, name="threshold")
        self.fusion, self.postprocess = bool(fusion), bool(postprocess)
        self.always_repartition = bool(always_repartition)
        if isinstance(supernode_size, bool) or supernode_size < 1:
            raise InvalidArgument(f"supernode_size must be at least 1, not {supernode_size}")
        self.supernode_size = int(supernode_size)
        if choice_constant not in STRENGTHS:
            raise InvalidArgument("choice_constant must be 'tight' or 'reference'")
        self.choice_constant = choice_constant
        if between not in ("printed", "symmetric"):
            raise InvalidArgument("between must be 'printed' or 'symmetric'")
        self.between: Between = between

    def plan(self, guarantee: WEventPrivacy, *, nodes: int) -> list[NoisePlan]:
        del nodes  # the noise does not depend on it
        edge_epsilon, rest = _split(guarantee.per_timestamp)
        rows = []
        for case, found in (("communities kept", False), ("communities found again", True)):
            rows.append(NoisePlan(case, "edges", edge_epsilon, 1))
            degree_epsilon = rest
            if found:
                degree_epsilon = rest - rest / 2
                rows.append(NoisePlan(case, "super-graph edges", rest / 4, 1))
            rows.append(NoisePlan(case, "inner degrees", degree_epsilon, 2))
            rows.append(NoisePlan(case, "outer degrees", degree_epsilon / 2, 2))
            rows.append(NoisePlan(case, "community edges", degree_epsilon / 2, 1))
        return rows

    def measure(
        self, snapshot: Snapshot, state: PSGraphState | None, budget: Budget, engine: Engine
    ) -> PSGraphMeasurement:
        """Algorithms 1 and 2 up to the noise.

        Privacy: all of the budget for one edge. The branch looks at noisy counts and public
        numbers, and either branch spends the same. proofs/psgraph.md.
        """
        roster = snapshot.roster
        edge_epsilon, rest = _split(budget.remaining)
        with phase("communities"):
            noisy_edge_count = budget.run(
                LaplaceCount(engine.edge_count(snapshot), per_edge(1)),
                epsilon=edge_epsilon,
                label="edges",
            )
            kept = None
            if state is not None and self._keeps(state, noisy_edge_count, roster):
                kept = keep_communities(state.roster, state.labels, roster, budget)
            if kept is None:
                degree_epsilon = rest - rest / 2
                labels = find_communities(
                    snapshot,
                    budget,
                    engine,
                    epsilon=rest / 2,
                    supernode_size=self.supernode_size,
                    strength=STRENGTHS[self.choice_constant],
                )
            else:
                degree_epsilon, labels = rest, kept
        with phase("perturbation"):
            communities = int(labels.max()) + 1 if labels.size else 0
            inner, outer, between = measure_structure(
                snapshot, labels, communities, budget, engine, epsilon=degree_epsilon
            )
        return PSGraphMeasurement(
            roster=roster,
            noisy_edge_count=noisy_edge_count,
            found=kept is None,
            labels=labels,
            noisy_inner_degrees=inner,
            noisy_outer_degrees=outer,
            noisy_community_edges=between,
            degree_epsilon=degree_epsilon,
        )

    def _keeps(self, state: PSGraphState, noisy_edge_count: int, roster: Roster) -> bool:
        """The community judgement: from noisy counts and the public number of nodes."""
        change = abs(noisy_edge_count - state.noisy_edge_count)
        calm = change <= self.threshold * len(roster)
        return calm and not self.always_repartition and state.communities > 0

    def update(self, state: PSGraphState | None, measurement: PSGraphMeasurement) -> PSGraphState:
        with phase("perturbation"):
            inner = norm_sub(measurement.noisy_inner_degrees)
            outer = norm_sub(measurement.noisy_outer_degrees)
            labels = measurement.labels
            if state is not None and self.fusion and not measurement.found:
                now, before = measurement.degree_epsilon, state.degree_epsilon
                inner, outer = (
                    fuse(
                        consistent,
                        fused_before,
                        roster=measurement.roster,
                        roster_before=state.roster,
                        weight=float(now / (now + before)),
                    )
                    for consistent, fused_before in (
                        (inner, state.fused_inner_degrees),
                        (outer, state.fused_outer_degrees),
                    )
                )
            inner, outer = capped_degrees(inner, outer, labels)
            communities = int(labels.max()) + 1 if labels.size else 0
            *pairs, edges = capped_community_edges(
                measurement.noisy_community_edges, labels, communities
            )
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
        )

    def synthesise(
        self, state: PSGraphState, rng: np.random.Generator, engine: Engine
    ) -> SyntheticGraph:
        with phase("reconstruction"):
            edges = reconstruct(
                labels=state.labels,
                inner_degrees=state.fused_inner_degrees,
                outer_degrees=state.fused_outer_degrees,
                community_pairs=state.community_pairs,
                community_edges=state.community_edges,
                edge_count=state.noisy_edge_count,
                between=self.between,
                postprocess=self.postprocess,
                engine=engine,
                rng=rng,
            )
            return SyntheticGraph(state.roster, edges.u, edges.v)

    def summary(self, state: PSGraphState) -> Mapping[str, Any]:
        return {
            "noisy_edges": state.noisy_edge_count,
            "communities": state.communities,
            "communities_found": state.found,
        }


def _split(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """ε_e and what is left of a timestamp's epsilon."""
    edge_epsilon = min(MOST_FOR_EDGE_COUNT, epsilon / 2)
    return edge_epsilon, epsilon - edge_epsilon
