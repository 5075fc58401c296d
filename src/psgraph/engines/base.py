"""Random graphs that can be sampled, and edges in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph.engines.runner import Runner

__all__ = ["Blocks", "Edges", "Engine", "Model", "PairCounts"]


@dataclass(frozen=True)
class Blocks:
    """A random graph of rank-one blocks: x in block a and y in block b are joined with
    probability min(1, rate·weight_x·weight_y), independently, for every (a, b, rate) listed.

    Pairs not listed have no edges. A pair (a, a) means the unordered pairs inside block a.
    """

    weights: Floats
    labels: Labels
    heads: Labels
    tails: Labels
    rates: Floats


@dataclass(frozen=True)
class PairCounts:
    """Exactly `counts` distinct edges, uniformly chosen, between each pair of different blocks.

    A count is at most the number of pairs of nodes between the two blocks, and no pair of blocks
    is listed twice.
    """

    labels: Labels
    heads: Labels
    tails: Labels
    counts: Integers


Model = Blocks | PairCounts
"""A random graph that `psgraph.engines.sampling.sample` can draw."""


@dataclass(frozen=True)
class Edges:
    """All edges of a graph in memory: positions ``u < v`` in ascending order of (u, v)."""

    u: NDArray[np.int32]
    v: NDArray[np.int32]


Engine = Runner
"""An engine is a runner: see `psgraph.engines.runner`."""
