"""A rank for every pair of nodes that never changes: which ties last."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Positions, Words
from psgraph._runtime.jit import kernel, lean_kernel

__all__ = ["pair_rank", "pair_ranks"]


@kernel
def pair_ranks(u: Positions, v: Positions, numbers: Words) -> Integers:
    """A number for each pair that depends on the random numbers of its nodes, below 2³³."""
    ranks = np.empty(u.size, dtype=np.int64)
    for edge in range(u.size):
        ranks[edge] = pair_rank(numbers[u[edge]], numbers[v[edge]])
    return ranks


@lean_kernel
def pair_rank(x: np.uint64, y: np.uint64) -> np.uint64:
    """A number for two nodes with these random numbers, below 2³³."""
    mixed = (x + y) * np.uint64(0x9E3779B97F4A7C15) ^ x * y
    mixed = (mixed ^ mixed >> np.uint64(31)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed >> np.uint64(31)
