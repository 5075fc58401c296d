"""Random graphs that can be sampled, and the verbs of engines that count private edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph.engines.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from psgraph.graph import Snapshot
    from psgraph.privacy.mechanisms.exponential import Scores

__all__ = ["BlockCounts", "Blocks", "Edges", "Engine", "Model", "PairCounts"]


@dataclass(frozen=True)
class BlockCounts:
    """Edges per pair of blocks, zero but for `cells`; `size` is the number of all pairs.

    The pair (a, b) has the number `pairs.cell_of` gives it.
    """

    cells: Integers
    counts: Integers
    size: int


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


class Engine(Runner, Protocol):
    """A runner with verbs that read private edges; their results may only go into a mechanism.

    All but `adjacency` are sums and maps over the parts of a graph, so that they need memory for
    the nodes and a few parts. What they return does not depend on the parts, nor on how many
    threads or workers there are.
    """

    def edge_count(self, snapshot: Snapshot) -> int:
        """Number of edges. Sensitivity 1."""
        ...

    def common_edges(self, snapshot: Snapshot, previous: Snapshot) -> int:
        """Number of edges that both snapshots have, matched by node id.

        Sensitivity 1 for one edge of either.
        """
        ...

    def block_counts(
        self, snapshot: Snapshot, labels: Labels, blocks: int, *, inside: bool
    ) -> BlockCounts:
        """Edges per unordered pair of blocks, with or without those inside one block.

        An edge is in one pair only: sensitivity 1 over all cells.
        """
        ...

    def split_degrees(self, snapshot: Snapshot, labels: Labels) -> tuple[Integers, Integers]:
        """Every node's neighbours inside and outside its block.

        An edge has two ends and is either inside or outside: sensitivity 2 for each vector, and
        only one of the two vectors moves.
        """
        ...

    def group_degrees(self, snapshot: Snapshot, labels: Labels, groups: int) -> Integers:
        """Every node's neighbours in each group, as an array of nodes × groups.

        An edge has two ends: sensitivity 2 over all entries.
        """
        ...

    def community_scores(self, snapshot: Snapshot, labels: Labels) -> Iterable[Scores]:
        """For every node the communities of its neighbours and how many there are in each.

        Comes in ranges of consecutive nodes, in order, each counted when it is asked for. An edge
        moves one count of each of its two ends by 1.
        """
        ...

    def adjacency(self, snapshot: Snapshot) -> tuple[Integers, NDArray[np.int32]]:
        """Neighbour lists: those of x are ``neighbours[starts[x]:starts[x + 1]]``.

        Needs all edges in memory, on one machine. A method that asks for it says so with
        `psgraph.methods.base.Method.needs_all_edges`.
        """
        ...
