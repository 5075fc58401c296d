"""The engine for one machine: threads read, count and draw the parts of graphs.

The parts of a large released graph go to files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.engines.parallel import mapped, summed, thread_count
from psgraph.engines.released import (
    MEMORY_BYTES,
    ReleasedParts,
    Scratch,
    ScratchPart,
    as_pairs,
)
from psgraph.engines.runner import Job, sorted_edges, split_keys
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.parts import PART_NODES, EdgeParts, MemoryParts, Pairs, ranges

__all__ = ["LocalEngine"]

_LARGE = 1 << 27  # integers; every thread needs its own sums, so larger ones get one thread


class LocalEngine:
    """The engine for one machine: tasks run on all cores. See `psgraph.engines.runner.Runner`.

    Parameters
    ----------
    threads
        How many tasks run at a time; one per core unless given.
    part_nodes
        Node positions in the range of a part; for tests, which have small graphs.
    memory
        Bytes of a released graph in several parts that stay in memory. The rest is in files.
    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        part_nodes: int = PART_NODES,
        memory: int = MEMORY_BYTES,
    ) -> None:
        self.threads = thread_count() if threads is None else threads
        self.part_nodes, self.memory = part_nodes, memory

    def map(self, job: Job) -> Iterator[Any]:
        tasks = (partial(job.work, item, *job.shared) for item in job.items)
        return mapped(tasks, threads=self.threads)

    def sum(self, job: Job, *, sizes: Sequence[int]) -> tuple[Integers, ...]:
        return summed(
            [partial(_itself, item) for item in job.items],
            lambda: tuple(np.zeros(size, dtype=np.int64) for size in sizes),
            lambda item, *sums: job.work(item, *job.shared, *sums),
            threads=self.threads if sum(sizes) <= _LARGE else 1,
        )

    def reduce(self, job: Job, combine: Callable[[Sequence[Any]], Any]) -> Any:
        return combine(list(self.map(job)))

    def shuffle(self, jobs: Iterable[Job], *, nodes: int, kind: Kind = UNDIRECTED) -> EdgeParts:
        parts, kind = len(list(ranges(nodes, self.part_nodes))), kind.unweighted
        if parts <= 1:
            drawn = list(chain.from_iterable(map(self.map, jobs)))
            keys = np.concatenate([np.empty(0, dtype=np.int64), *drawn])
            u, v = sorted_edges(keys, first=0, nodes=nodes)
            return MemoryParts(u, v, nodes=nodes, part_nodes=self.part_nodes, kind=kind)
        kept = self._scratch_parts(parts)
        for job in jobs:
            deque(self.map(Job(_append, job.items, (job, kept, self.part_nodes))), maxlen=0)
        return self._parts(Job(_sort, kept, (self.part_nodes, nodes)), kept, nodes, kind)

    def store(self, job: Job, *, nodes: int, kind: Kind = UNDIRECTED) -> EdgeParts:
        items = list(job.items)
        if len(items) <= 1:
            edges = as_pairs(next(self.map(job._replace(items=items)), Pairs.none(kind)))
            return MemoryParts(
                *edges, edges.weight, nodes=nodes, part_nodes=self.part_nodes, kind=kind
            )
        kept = self._scratch_parts(len(items))
        writing = Job(_write, list(zip(kept, items, strict=True)), (job,))
        return self._parts(writing, kept, nodes, kind)

    def _scratch_parts(self, parts: int) -> list[ScratchPart]:
        scratch = Scratch(self.memory)
        return [ScratchPart(scratch, number) for number in range(parts)]

    def _parts(
        self, job: Job, kept: Sequence[ScratchPart], nodes: int, kind: Kind
    ) -> ReleasedParts:
        """Return parts that `job` fills; its tasks return how many edges they wrote."""
        edge_count = sum(self.map(job))
        return ReleasedParts(
            kept, nodes=nodes, part_nodes=self.part_nodes, edge_count=edge_count, kind=kind
        )


def _itself(item: Any) -> Any:
    return item


def _append(item: Any, job: Job, kept: Sequence[ScratchPart], part_nodes: int) -> None:
    keys = job.work(item, *job.shared)
    pieces = split_keys(keys, part_nodes=part_nodes, parts=len(kept))
    for part, piece in zip(kept, pieces, strict=True):
        part.append(piece)


def _sort(part: ScratchPart, part_nodes: int, nodes: int) -> int:
    return part.sort(part.number * part_nodes, nodes)


def _write(item: tuple[ScratchPart, Any], job: Job) -> int:
    kept, part = item
    return kept.write(job.work(part, *job.shared))
