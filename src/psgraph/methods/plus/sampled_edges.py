"""A sample of edges by a public coin for every pair of nodes: triangles of graphs of any size.

Whether a pair is in the sample depends on the pair and a public key only, not on the edges. The
samples of two graphs that differ in one edge therefore differ in at most that edge, and what holds
for triangles of graphs holds for those of samples. proofs/ladder.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Positions
from psgraph._runtime.jit import kernel
from psgraph.engines.counter_based import derived_key
from psgraph.engines.runner import Job, Runner
from psgraph.graph.kind import Edges
from psgraph.graph.parts import EdgeParts, Pairs, Read

__all__ = ["MOST_COUNTED", "Sample", "sample_edges", "sample_for"]

MOST_COUNTED = 1 << 25
"""Edges whose triangles are counted in memory, about 25 bytes for each."""

_PURPOSE = 29  # of the seed that is sealed with the measurement


@dataclass(frozen=True)
class Sample:
    """Which pairs of nodes are looked at.

    Attributes
    ----------
    share
        The share of all pairs.
    key
        Public random bits.
    """

    share: float
    key: int


def sample_for(noisy_edges: int, seed: int, most: int = MOST_COUNTED) -> Sample | None:
    """Return the sample in which about `most` edges are; None if that takes no sample.

    Privacy: all arguments are public or released.

    >>> sample_for(10**6, 1) is None, sample_for(10**8, 1).share
    (True, 0.33554432)
    """
    if noisy_edges <= most:
        return None
    return Sample(most / noisy_edges, derived_key(seed, _PURPOSE))


def sample_edges(parts: EdgeParts, sample: Sample, engine: Runner) -> Edges:
    """Return the edges in a sample.

    *Privacy*: the result is private. One edge changes it by at most that edge.
    """
    shared = np.uint64(int(sample.share * 2.0**64)), np.uint64(sample.key)
    found = engine.map(Job(_sampled, parts.edges(), shared))
    return Edges(*Pairs.joined([Pairs(*ends) for ends in found]))


def _sampled(read: Read, below: np.uint64, key: np.uint64) -> tuple[Positions, Positions]:
    u, v = read()
    chosen = _chosen(u, v, below, key)
    return u[chosen], v[chosen]


@kernel
def _chosen(u: Positions, v: Positions, below: np.uint64, key: np.uint64) -> Positions:
    """The indices of the edges whose hash is small (two rounds of SplitMix64)."""
    found, chosen = 0, np.empty(u.size, dtype=np.int32)
    for edge in range(u.size):
        mixed = (np.uint64(u[edge]) << np.uint64(32) | np.uint64(v[edge])) ^ key
        for _ in range(2):
            mixed += np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
            mixed ^= mixed >> np.uint64(31)
        chosen[found] = edge
        found += int(mixed < below)
    return chosen[:found]
