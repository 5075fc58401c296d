"""Block models from noisy values: edges inside communities and between them. Post-processing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Floats, Labels
from psgraph.engines.rank_one import Blocks
from psgraph.graph.kind import UNDIRECTED

if TYPE_CHECKING:
    from psgraph.privacy.mechanisms.sparse import NoisyCounts

__all__ = ["block_count", "capped_community_edges", "inside_blocks", "synthesis_seed"]


def block_count(labels: Labels) -> int:
    """Return H, the number of communities with labels 0, …, H − 1.

    >>> block_count(np.array([0, 2, 1], dtype=np.int32))
    3
    """
    return int(labels.max()) + 1 if labels.size else 0


def inside_blocks(degrees: Floats, labels: Labels) -> Blocks:
    """Connect x and y of one community with probability d_x·d_y / Σ d (PSGraph's Equation 2)."""
    totals = np.bincount(labels, weights=degrees, minlength=block_count(labels))
    alive = np.flatnonzero(totals > 0).astype(np.int32)
    return Blocks(degrees, labels, alive, alive, 1.0 / totals[alive])


def capped_community_edges(noisy: NoisyCounts, labels: Labels) -> tuple[Labels, Labels, Floats]:
    """Return V̄ as pairs a < b and positive values, at most the number of node pairs between."""
    communities = block_count(labels)
    a, b = UNDIRECTED.pair_of(noisy.cells, communities, inside=False)
    sizes = np.bincount(labels, minlength=communities).astype(np.float64)
    values = np.minimum(noisy.values - noisy.threshold, sizes[a] * sizes[b])
    return a.astype(np.int32), b.astype(np.int32), values


def synthesis_seed(rng: np.random.Generator) -> int:
    """Return 64 bits for one call of an engine; the next call gives others.

    A block or an edge is drawn from this seed and its own number.

    >>> rng = np.random.default_rng(1)
    >>> synthesis_seed(rng) == synthesis_seed(rng)
    False
    """
    return int(rng.integers(0, 1 << 64, dtype=np.uint64))
