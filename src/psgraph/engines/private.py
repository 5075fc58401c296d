"""Work on private edges: sums and maps over the parts of a snapshot, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels
from psgraph._runtime.sorting import sort_keys
from psgraph.engines import counting
from psgraph.engines.base import BlockCounts
from psgraph.engines.merging import common_job, merge_counts
from psgraph.engines.runner import Job, Runner
from psgraph.graph.kind import UNDIRECTED
from psgraph.privacy.mechanisms.exponential import Scores

if TYPE_CHECKING:
    from psgraph.graph import Snapshot
    from psgraph.graph.parts import Pairs, Rows

__all__ = ["Private"]

MOST_CELLS = 1 << 24  # that are written down one by one, by every task


class Private:
    """The verbs of an engine that read private edges, done with a `Runner`.

    See `psgraph.engines.base.Engine`. A runner counts; what it returns goes into a mechanism.
    """

    runner: Runner

    def edge_count(self, snapshot: Snapshot) -> int:
        return snapshot.parts.edge_count

    def common_edges(self, snapshot: Snapshot, previous: Snapshot) -> int:
        where = None
        if previous.roster is not snapshot.roster and previous.roster != snapshot.roster:
            where = snapshot.roster.positions(previous.roster.ids)
        return int(self.runner.reduce(common_job(snapshot.parts, previous.parts, where), sum))

    def block_counts(
        self, snapshot: Snapshot, labels: Labels, blocks: int, *, inside: bool
    ) -> BlockCounts:
        size = UNDIRECTED.cell_count(blocks, inside=inside)
        shared = (labels, blocks, inside)
        parts = snapshot.parts.edges()
        if size <= min(MOST_CELLS, max(1 << 16, 4 * snapshot.parts.edge_count)):
            (counts,) = self.runner.sum(Job(_add_block_counts, parts, shared), sizes=(size,))
            cells = np.flatnonzero(counts)
            return BlockCounts(cells, counts[cells], size)
        job = Job(_sparse_block_counts, parts, (*shared, size))
        cells, counts = self.runner.reduce(job, merge_counts)
        return BlockCounts(cells, counts, size)

    def split_degrees(self, snapshot: Snapshot, labels: Labels) -> tuple[Integers, Integers]:
        job = Job(_add_split_degrees, snapshot.parts.edges(), (labels,))
        inner, outer = self.runner.sum(job, sizes=(labels.size, labels.size))
        return inner, outer

    def group_degrees(self, snapshot: Snapshot, labels: Labels, groups: int) -> Integers:
        job = Job(_add_group_degrees, snapshot.parts.edges(), (labels, groups))
        (degrees,) = self.runner.sum(job, sizes=(labels.size * groups,))
        return degrees.reshape(labels.size, groups)

    def community_scores(self, snapshot: Snapshot, labels: Labels) -> Iterable[Scores]:
        communities = int(labels.max(initial=-1)) + 1
        return _CommunityScores(snapshot.parts.rows(), labels, communities, self.runner)

    def adjacency(self, snapshot: Snapshot) -> tuple[Integers, NDArray[np.int32]]:
        return counting.adjacency(*snapshot.parts.whole(), len(snapshot.roster))


@dataclass(frozen=True)
class _CommunityScores:
    """The scores of all nodes, counted again each time they are asked for."""

    ranges: Iterable[Callable[[], Rows]]
    labels: Labels
    communities: int
    runner: Runner

    def __iter__(self) -> Iterator[Scores]:
        job = Job(_community_scores, self.ranges, (self.labels, self.communities))
        return self.runner.map(job)


def _add_block_counts(
    read: Callable[[], Pairs], labels: Labels, blocks: int, inside: bool, counts: Integers
) -> None:
    part = read()
    counting.add_block_counts(part.u, part.v, labels, blocks, inside, counts)


def _sparse_block_counts(
    read: Callable[[], Pairs], labels: Labels, blocks: int, inside: bool, size: int
) -> tuple[Integers, Integers]:
    part = read()
    keys = counting.block_keys(part.u, part.v, labels, blocks, inside)
    return counting.run_lengths(sort_keys(keys, largest=size))


def _add_split_degrees(
    read: Callable[[], Pairs], labels: Labels, inner: Integers, outer: Integers
) -> None:
    part = read()
    counting.add_split_degrees(part.u, part.v, labels, inner, outer)


def _add_group_degrees(
    read: Callable[[], Pairs], labels: Labels, groups: int, degrees: Integers
) -> None:
    part = read()
    counting.add_group_degrees(part.u, part.v, labels, degrees.reshape(labels.size, groups))


def _community_scores(read: Callable[[], Rows], labels: Labels, communities: int) -> Scores:
    rows = read()
    counted = counting.community_counts(rows.starts, rows.neighbours, labels, communities)
    return Scores(rows.first, *counted)
