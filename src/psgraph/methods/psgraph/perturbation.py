"""Phase 2: noisy degrees and community edges, made consistent and fused (Algorithm 2)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph.engines.base import BlockCounts, Engine
from psgraph.graph import Roster, Snapshot
from psgraph.methods.steps.block_model import block_count
from psgraph.methods.steps.consistency import norm_sub_threshold
from psgraph.privacy.budget import Budget
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.mechanisms.sparse import NoisyCounts, SparseLaplaceCounts

__all__ = ["capped_degrees", "fuse", "measure_structure", "structure_epsilons"]


def structure_epsilons(epsilon: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Split ε_i: inner degrees get all of it, outer degrees and community edges half each."""
    return epsilon, epsilon / 2, epsilon - epsilon / 2


def measure_structure(
    snapshot: Snapshot,
    labels: Labels,
    budget: Budget,
    engine: Engine,
    *,
    epsilon: Fraction,
) -> tuple[Integers, Integers, NoisyCounts]:
    """Measure noisy inner degrees (D̃_i), outer degrees (D̃_o) and community edges (Ṽ).

    Privacy: ε_i = `epsilon` for one edge. Given the communities, which are already released, an
    edge is either inside one (then it moves D_i by 2) or between two (then it moves D_o by 2 and
    V by 1), so D_i may have all of ε_i and D_o and V half each. proofs/perturbation.md.
    """
    inner_epsilon, outer_epsilon, edge_epsilon = structure_epsilons(epsilon)
    inner_degrees, outer_degrees = engine.split_degrees(snapshot, labels)
    community_edges: BlockCounts = engine.block_counts(
        snapshot, labels, block_count(labels), inside=False
    )
    inside, between = budget.parallel(epsilon, "inside communities", "between communities")
    noisy_inner_degrees = inside.run(
        LaplaceCounts(inner_degrees, 2), epsilon=inner_epsilon, label="inner degrees"
    )
    noisy_outer_degrees = between.run(
        LaplaceCounts(outer_degrees, 2), epsilon=outer_epsilon, label="outer degrees"
    )
    noisy_community_edges = between.run(
        SparseLaplaceCounts(
            community_edges.cells,
            community_edges.counts,
            size=community_edges.size,
            threshold=norm_sub_threshold,
            sensitivity=1,
        ),
        epsilon=edge_epsilon,
        label="community edges",
    )
    return noisy_inner_degrees, noisy_outer_degrees, noisy_community_edges


def fuse(
    consistent: Floats,
    fused_before: Floats,
    *,
    roster: Roster,
    roster_before: Roster,
    weight: float,
) -> Floats:
    """Return D̂_t = α·D̄_t + (1 − α)·D̂_{t−1}, or D̄_t for nodes that are new."""
    if roster is roster_before or roster == roster_before:
        return weight * consistent + (1 - weight) * fused_before
    before = roster_before.positions(roster.ids)
    stayed = before >= 0
    fused = consistent.copy()
    fused[stayed] = weight * consistent[stayed] + (1 - weight) * fused_before[before[stayed]]
    return fused


def capped_degrees(inner: Floats, outer: Floats, labels: Labels) -> tuple[Floats, Floats]:
    """Cap degrees at the number of other nodes inside and outside the community."""
    if not labels.size:
        return inner, outer
    sizes = np.bincount(labels)[labels]
    return np.minimum(inner, sizes - 1), np.minimum(outer, labels.size - sizes)
