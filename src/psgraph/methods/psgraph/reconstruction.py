"""Phase 3: a graph from noisy values (Algorithm 3, Equations 2–4).

Everything here is post-processing: this module can't import a snapshot or a budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from psgraph._runtime.arrays import Floats, Labels
from psgraph.engines.rank_one import Blocks
from psgraph.engines.runner import Runner
from psgraph.engines.sampling import sample
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.psgraph.repair import repaired
from psgraph.methods.steps.block_model import block_count, inside_blocks
from psgraph.methods.steps.seeds import synthesis_seed

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts

__all__ = ["Between", "reconstruct"]

Between = Literal["printed", "symmetric"]


def reconstruct(
    *,
    labels: Labels,
    inner_degrees: Floats,
    outer_degrees: Floats,
    community_pairs: tuple[Labels, Labels],
    community_edges: Floats,
    edge_count: int,
    between: Between,
    postprocess: bool,
    engine: Runner,
    rng: np.random.Generator,
) -> EdgeParts:
    """Draw edges inside and between communities, then repair the graph.

    Parameters
    ----------
    labels
        The community of every node: 0, …, H − 1.
    inner_degrees, outer_degrees
        D̂_i and D̂_o.
    community_pairs, community_edges
        V̂: pairs a < b and the number of edges between them, where it is positive.
    edge_count
        m̃, the noisy number of edges; clipped to what the nodes allow.
    between
        ``"printed"``: p = ĥ_x ĥ_y v̂_ab / (V_a H_b), Equations 3 and 4 as printed, with the
        community of the smaller number as a. ``"symmetric"``: p = v̂_ab ĥ_x ĥ_y / (H_a H_b),
        which keeps the number of edges between two communities.
    postprocess
        Whether to repair (Step 3).

    Notes
    -----
    O(n log n + m̃) time.
    """
    nodes = labels.size
    inside = inside_blocks(inner_degrees, labels)
    across = _between_blocks(outer_degrees, labels, community_pairs, community_edges, between)
    parts = sample(engine, inside, across, seed=synthesis_seed(rng))
    if not postprocess:
        return parts
    return repaired(
        parts,
        labels=labels,
        inner_degrees=inner_degrees,
        outer_degrees=outer_degrees,
        edge_count=min(max(edge_count, 0), UNDIRECTED.pairs(nodes)),
        seed=synthesis_seed(rng),
        runner=engine,
    )


def _between_blocks(
    outer_degrees: Floats,
    labels: Labels,
    pairs: tuple[Labels, Labels],
    edges: Floats,
    between: Between,
) -> Blocks:
    """Equations 3 and 4, where Σ_z ê_z^a = H_b v̂_ab / V_b cancels to one factor per pair."""
    a, b = pairs
    communities = block_count(labels)
    degree_totals = np.bincount(labels, weights=outer_degrees, minlength=communities)  # H
    if between == "printed":
        edge_totals = np.bincount(a, weights=edges, minlength=communities)
        edge_totals += np.bincount(b, weights=edges, minlength=communities)  # V
        denominators = edge_totals[a] * degree_totals[b]
    else:
        denominators = degree_totals[a] * degree_totals[b]
    alive = (edges > 0) & (denominators > 0)
    return Blocks(outer_degrees, labels, a[alive], b[alive], edges[alive] / denominators[alive])
