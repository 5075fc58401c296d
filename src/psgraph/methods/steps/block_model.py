"""Block models from noisy values: edges inside communities and between them. Post-processing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Floats, Labels
from psgraph.engines.rank_one import Blocks
from psgraph.engines.sides import Sides

if TYPE_CHECKING:
    from psgraph.privacy.mechanisms.sparse import NoisyCounts

__all__ = [
    "block_count",
    "capped_community_edges",
    "capped_inner_degrees",
    "inside_blocks",
    "raked",
    "synthesis_seed",
]


def block_count(labels: Labels) -> int:
    """Return H, the number of communities with labels 0, …, H − 1.

    >>> block_count(np.array([0, 2, 1], dtype=np.int32))
    3
    """
    return int(labels.max()) + 1 if labels.size else 0


def inside_blocks(degrees: Floats, labels: Labels, sides: Sides | None = None) -> Blocks:
    """Connect x and y of one community with probability d_x·d_y / Σ d (PSGraph's Equation 2).

    With two sides: x to y with probability out_x·in_y / Σ in.
    """
    sides = sides or Sides.undirected(labels.size)
    first, second = sides.sums(degrees, labels, block_count(labels))
    alive = np.flatnonzero((first > 0) & (second > 0)).astype(np.int32)
    return Blocks(degrees, labels, alive, alive, 1.0 / second[alive], sides)


def raked(degrees: Floats, labels: Labels, sides: Sides) -> Floats:
    """Scale the degrees of both sides in every community so that their sums become the mean.

    Inside a community every edge has one end on each side. Noise makes the sums differ; where one
    of them is zero, both stay as they are.

    >>> from psgraph.graph.kind import DIRECTED
    >>> together = np.zeros(2, dtype=np.int32)
    >>> raked(np.array([3.0, 1.0, 1.0, 1.0]), together, Sides(DIRECTED, (2,)))
    array([2.25, 0.75, 1.5 , 1.5 ])
    """
    if sides.alike:
        return degrees
    first, second = sides.sums(degrees, labels, block_count(labels))
    both = (first > 0) & (second > 0)
    mean = (first + second) / 2
    of_first, of_second = (
        np.divide(mean, total, out=np.ones(total.shape), where=both) for total in (first, second)
    )
    return degrees * sides.joined(of_first[labels], of_second[labels])


def capped_inner_degrees(degrees: Floats, labels: Labels, sides: Sides) -> Floats:
    """Cap degrees at the number of other nodes inside the community that can be the other end."""
    first, second = sides.members(labels, block_count(labels))
    itself = 2 - sides.kind.rosters
    most = sides.joined(second[labels], first[labels]) - itself
    return np.minimum(degrees, most)


def capped_community_edges(
    noisy: NoisyCounts, labels: Labels, sides: Sides | None = None
) -> tuple[Labels, Labels, Floats]:
    """Return V̄ as pairs of communities and positive values, at most the node pairs between them.

    Pairs a < b of an undirected graph; otherwise from a to b.
    """
    sides = sides or Sides.undirected(labels.size)
    communities = block_count(labels)
    a, b = sides.kind.pair_of(noisy.cells, communities, inside=False)
    first, second = (each.astype(np.float64) for each in sides.members(labels, communities))
    values = np.minimum(noisy.values - noisy.threshold, first[a] * second[b])
    return a.astype(np.int32), b.astype(np.int32), values


def synthesis_seed(rng: np.random.Generator) -> int:
    """Return 64 bits for one call of an engine; the next call gives others.

    A block or an edge is drawn from this seed and its own number.

    >>> rng = np.random.default_rng(1)
    >>> synthesis_seed(rng) == synthesis_seed(rng)
    False
    """
    return int(rng.integers(0, 1 << 64, dtype=np.uint64))
