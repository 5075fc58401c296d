"""A random graph that tests draw in parts of many sizes."""

from __future__ import annotations

import numpy as np

from psgraph.engines.rank_one import Blocks
from psgraph.engines.runner import Runner
from psgraph.engines.sampling import PairCounts, sample
from psgraph.graph.kind import pack
from psgraph.graph.parts import EdgeParts

NODES = 300
RUNNERS = [(1, 1 << 17, 0), (1, 100, 0), (3, 64, 10_000), (2, 7, 1 << 20), (3, 7, 3000)]
"""Threads, nodes per part, and bytes of a graph that stay in memory (it has about 10,000)."""


def models() -> tuple[Blocks, PairCounts]:
    """Edges inside nine communities, and exact numbers of edges between them."""
    rng = np.random.default_rng(6)
    labels = (np.arange(NODES) % 9).astype(np.int32)
    weights = rng.pareto(1.5, NODES) + 1
    everyone = np.arange(9, dtype=np.int32)
    rates = np.full(9, 20 / weights.sum())
    a, b = (ends.astype(np.int32) for ends in np.triu_indices(9, 1))
    counts = rng.integers(0, 40, a.size)
    return Blocks(weights, labels, everyone, everyone, rates), PairCounts(labels, a, b, counts)


def drawn(engine: Runner, *, seed: int = 1) -> EdgeParts:
    """Draw it."""
    return sample(engine, *models(), seed=seed)


def keys(parts: EdgeParts) -> list[int]:
    """All keys of a simple graph, whose parts are in order."""
    found = [key for read in parts.edges() for key in pack(*read()).tolist()]
    assert len(found) == parts.edge_count
    assert found == sorted(set(found))
    assert pack(*parts.whole()).tolist() == found
    return found
