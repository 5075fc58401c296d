"""The engine for one machine: NumPy and numba, part by part on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.sorting import sort_keys
from psgraph.engines import counting
from psgraph.engines.base import BlockCounts, Blocks, Edges, Floats, Integers, Labels
from psgraph.engines.distinct import distinct_pair_keys
from psgraph.engines.merging import count_common, merge_counts
from psgraph.engines.pairs import pair_count
from psgraph.engines.parallel import mapped, summed, thread_count
from psgraph.engines.repair import repair_edges
from psgraph.engines.sampling import sample_block_keys
from psgraph.graph.formats.edges import encode_part
from psgraph.privacy.mechanisms.exponential import Scores

if TYPE_CHECKING:
    from psgraph.graph import Snapshot, SyntheticGraph
    from psgraph.graph.parts import EdgeParts, Pairs, Rows

__all__ = ["LocalEngine"]

MOST_CELLS = 1 << 24  # that are written down one by one, by every thread
SMALL = 1 << 16  # nodes; below, starting threads costs more than it saves


class LocalEngine:
    """Edge-sized work on this machine: parts are read and counted by all cores.

    See `psgraph.engines.base.Engine`.

    Parameters
    ----------
    threads
        How many threads read and count parts; one per core unless given.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        self.threads = thread_count() if threads is None else threads

    def edge_count(self, snapshot: Snapshot) -> int:
        return snapshot.parts.edge_count

    def common_edges(self, snapshot: Snapshot, previous: Snapshot) -> int:
        where = None
        if previous.roster is not snapshot.roster and previous.roster != snapshot.roster:
            where = snapshot.roster.positions(previous.roster.ids)
        return count_common(snapshot.parts, previous.parts, where)

    def block_counts(
        self, snapshot: Snapshot, labels: Labels, blocks: int, *, inside: bool
    ) -> BlockCounts:
        size = pair_count(blocks, inside=inside)
        parts = snapshot.parts.edges()
        if size <= min(MOST_CELLS, max(1 << 16, 4 * snapshot.parts.edge_count)):
            (counts,) = summed(
                parts,
                lambda: (np.zeros(size, dtype=np.int64),),
                lambda part, counts: counting.add_block_counts(
                    part.u, part.v, labels, blocks, inside, counts
                ),
                threads=self.threads,
            )
            cells = np.flatnonzero(counts)
            return BlockCounts(cells, counts[cells], size)

        def count(read: Callable[[], Pairs]) -> tuple[Integers, Integers]:
            part = read()
            keys = counting.block_keys(part.u, part.v, labels, blocks, inside)
            return counting.run_lengths(sort_keys(keys, largest=size))

        pieces = list(mapped([partial(count, read) for read in parts], threads=self.threads))
        return BlockCounts(*merge_counts(pieces), size)

    def split_degrees(self, snapshot: Snapshot, labels: Labels) -> tuple[Integers, Integers]:
        inner, outer = summed(
            snapshot.parts.edges(),
            lambda: (np.zeros(labels.size, dtype=np.int64), np.zeros(labels.size, dtype=np.int64)),
            lambda part, *degrees: counting.add_split_degrees(part.u, part.v, labels, *degrees),
            threads=self.threads,
        )
        return inner, outer

    def group_degrees(self, snapshot: Snapshot, labels: Labels, groups: int) -> Integers:
        (degrees,) = summed(
            snapshot.parts.edges(),
            lambda: (np.zeros((labels.size, groups), dtype=np.int64),),
            lambda part, degrees: counting.add_group_degrees(part.u, part.v, labels, degrees),
            threads=1,  # the array may be large, and every thread would need its own
        )
        return degrees

    def community_scores(self, snapshot: Snapshot, labels: Labels) -> Iterable[Scores]:
        communities = int(labels.max(initial=-1)) + 1
        return _CommunityScores(snapshot.parts, labels, communities, self.threads)

    def adjacency(self, snapshot: Snapshot) -> tuple[Integers, NDArray[np.int32]]:
        return counting.adjacency(*snapshot.parts.whole(), len(snapshot.roster))

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

    def encode(self, graph: SyntheticGraph) -> Iterator[memoryview]:
        tasks = [partial(encode_part, read, graph.roster) for read in graph.parts.edges()]
        return mapped(tasks, threads=self.threads)


@dataclass(frozen=True)
class _CommunityScores:
    """The scores of all nodes, counted again each time they are asked for."""

    parts: EdgeParts
    labels: Labels
    communities: int
    threads: int

    def __iter__(self) -> Iterator[Scores]:
        tasks = [partial(self._count, read) for read in self.parts.rows()]
        return mapped(tasks, threads=self.threads)

    def _count(self, read: Callable[[], Rows]) -> Scores:
        rows = read()
        return Scores(
            rows.first,
            *counting.community_counts(rows.starts, rows.neighbours, self.labels, self.communities),
        )


def _edges(keys: Integers, bits: int) -> Edges:
    """Keys ``u << bits | v`` as sorted edges."""
    keys = sort_keys(keys, largest=(1 << 2 * bits) - 1)
    u = (keys >> bits).astype(np.int32)
    v = (keys & ((1 << bits) - 1)).astype(np.int32)
    return Edges(u, v)
