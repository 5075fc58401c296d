"""Phase 2: noisy degrees and community edges, made consistent and fused (Algorithm 2)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph.graph import Roster
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import CommunityEdges, InnerDegrees, OuterDegrees
from psgraph.methods.steps.block_model import block_count
from psgraph.privacy.mechanisms.sparse import NoisyCounts

__all__ = ["capped_degrees", "fuse", "measure_structure", "structure_epsilons"]


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
    inner_epsilon, outer_epsilon, edge_epsilon = structure_epsilons(epsilon)
    inside, between = private.parallel(epsilon, "inside communities", "between communities")
    noisy_inner_degrees = inside.ask(InnerDegrees(labels), epsilon=inner_epsilon)
    noisy_outer_degrees = between.ask(OuterDegrees(labels), epsilon=outer_epsilon)
    noisy_community_edges = between.ask(
        CommunityEdges(labels, block_count(labels)), epsilon=edge_epsilon
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
