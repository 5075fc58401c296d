"""The engine for one machine: NumPy and numba."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.sorting import sort_keys
from psgraph.engines import counting
from psgraph.engines.base import BlockCounts, Blocks, Edges, Floats, Integers, Labels
from psgraph.engines.distinct import distinct_pair_keys
from psgraph.engines.pairs import pair_count
from psgraph.engines.repair import repair_edges
from psgraph.engines.sampling import sample_block_keys

if TYPE_CHECKING:
    from psgraph.graph import Snapshot

__all__ = ["LocalEngine"]

SMALL = 1 << 16  # nodes; below, starting threads costs more than it saves


class LocalEngine:
    """Edge-sized work in memory, on one core. See `psgraph.engines.base.Engine`."""

    def edge_count(self, snapshot: Snapshot) -> int:
        return int(snapshot.u.size)

    def common_edges(self, snapshot: Snapshot, previous: Snapshot) -> int:
        u, v = previous.u, previous.v
        if previous.roster is not snapshot.roster and previous.roster != snapshot.roster:
            # Rosters are sorted by id, so that edges are still in order at their new positions.
            where = snapshot.roster.positions(previous.roster.ids)
            u, v = where[u], where[v]
        return int(counting.common_edges(snapshot.u, snapshot.v, u, v))

    def block_counts(
        self, snapshot: Snapshot, labels: Labels, blocks: int, *, inside: bool
    ) -> BlockCounts:
        size = pair_count(blocks, inside=inside)
        keys = counting.block_keys(snapshot.u, snapshot.v, labels, blocks, inside)
        if size <= max(1 << 16, 4 * keys.size):
            counts = counting.block_histogram(keys, size)
            cells = np.flatnonzero(counts)
            return BlockCounts(cells, counts[cells], size)
        cells, counts = counting.run_lengths(sort_keys(keys, largest=size))
        return BlockCounts(cells, counts, size)

    def split_degrees(self, snapshot: Snapshot, labels: Labels) -> tuple[Integers, Integers]:
        return counting.split_degrees(snapshot.u, snapshot.v, labels)

    def group_degrees(self, snapshot: Snapshot, labels: Labels, groups: int) -> Integers:
        return counting.group_degrees(snapshot.u, snapshot.v, labels, groups)

    def adjacency(self, snapshot: Snapshot) -> tuple[Integers, NDArray[np.int32]]:
        return counting.adjacency(snapshot.u, snapshot.v, len(snapshot.roster))

    def sample_blocks(self, *parts: Blocks, rng: np.random.Generator) -> Edges:
        nodes = max(part.labels.size for part in parts)
        bits = max(nodes - 1, 1).bit_length()
        with ThreadPoolExecutor(2) as pool:
            run = pool.map if nodes > SMALL else map
            keys = np.concatenate(
                [sample_block_keys(part, bits=bits, rng=rng, run=run) for part in parts]
            )
        return _edges(keys, bits)

    def sample_pairs(
        self,
        labels: Labels,
        heads: Labels,
        tails: Labels,
        counts: Integers,
        *,
        rng: np.random.Generator,
    ) -> Edges:
        bits = max(labels.size - 1, 1).bit_length()
        return _edges(distinct_pair_keys(labels, heads, tails, counts, bits=bits, rng=rng), bits)

    def repair(
        self,
        edges: Edges,
        *,
        labels: Labels,
        inner_degrees: Floats,
        outer_degrees: Floats,
        edge_count: int,
        rng: np.random.Generator,
    ) -> Edges:
        return repair_edges(
            edges,
            labels=labels,
            inner_degrees=inner_degrees,
            outer_degrees=outer_degrees,
            edge_count=edge_count,
            rng=rng,
        )


def _edges(keys: Integers, bits: int) -> Edges:
    """Keys ``u << bits | v`` as sorted edges."""
    keys = sort_keys(keys, largest=(1 << 2 * bits) - 1)
    u = (keys >> bits).astype(np.int32)
    v = (keys & ((1 << bits) - 1)).astype(np.int32)
    return Edges(u, v)
