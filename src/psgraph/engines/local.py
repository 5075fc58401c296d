"""The engine for one machine: NumPy and numba, part by part on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.sorting import sort_keys
from psgraph.engines import counting
from psgraph.engines.base import BlockCounts, Integers, Labels
from psgraph.engines.merging import count_common, merge_counts
from psgraph.engines.pairs import pair_count
from psgraph.engines.parallel import mapped, summed, thread_count
from psgraph.engines.released import Released
from psgraph.engines.threads import ThreadRunner
from psgraph.privacy.mechanisms.exponential import Scores

if TYPE_CHECKING:
    from psgraph.graph import Snapshot
    from psgraph.graph.parts import EdgeParts, Pairs, Rows

__all__ = ["LocalEngine"]

MOST_CELLS = 1 << 24  # that are written down one by one, by every thread


class LocalEngine(Released):
    """Edge-sized work on this machine: parts are read and counted by all cores.

    See `psgraph.engines.base.Engine`.

    Parameters
    ----------
    threads
        How many threads read and count parts; one per core unless given.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        self.threads = thread_count() if threads is None else threads
        super().__init__(ThreadRunner(threads=self.threads))

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
