"""A rank for every pair of nodes that never changes: which ties last."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Positions, Words
from psgraph._runtime.jit import kernel

__all__ = ["pair_ranks"]


@kernel
def pair_ranks(u: Positions, v: Positions, numbers: Words) -> Integers:
    """A number for each pair that depends on the random numbers of its nodes, below 2³³."""
    ranks = np.empty(u.size, dtype=np.int64)
    for edge in range(u.size):
        x, y = numbers[u[edge]], numbers[v[edge]]
        mixed = (x + y) * np.uint64(0x9E3779B97F4A7C15) ^ x * y
        mixed = (mixed ^ mixed >> np.uint64(31)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        ranks[edge] = mixed >> np.uint64(31)
    return ranks
