"""What a worker does. Every task first checks that the worker runs the driver's code.

A task has no state and draws no noise: run again, or twice, it gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.engines.assembling import sorted_edges, split_keys
from psgraph.engines.dask.calls import Call
from psgraph.engines.dask.identity import check_identity
from psgraph.engines.dask.packing import pack
from psgraph.engines.running import Job
from psgraph.graph.parts import Pairs

__all__ = [
    "added",
    "combined",
    "drawn",
    "loaded",
    "made",
    "mapped",
    "merged",
    "packed",
    "reduced",
    "run",
    "size",
    "summed",
]


def run(identity: str, function: Callable[..., Any], inputs: Call, *values: Any) -> Any:
    """Call one of the functions below with its inputs."""
    check_identity(identity)
    return function(*inputs.open(values))


def mapped(job: Job) -> Any:
    """The result of the only item of a job."""
    (item,) = job.items
    return pack(job.work(item, *job.shared))


def summed(job: Job, sizes: Sequence[int]) -> tuple[Integers, ...]:
    """The sums over some items."""
    sums = tuple(np.zeros(size, dtype=np.int64) for size in sizes)
    for item in job.items:
        job.work(item, *job.shared, *sums)
    return sums


def added(pieces: Sequence[tuple[Integers, ...]]) -> tuple[Integers, ...]:
    """Add up sums. The first is copied: another task may need it again."""
    sums = tuple(each.copy() for each in pieces[0])
    for piece in pieces[1:]:
        for total, more in zip(sums, piece, strict=True):
            total += more
    return sums


def reduced(job: Job, combine: Callable[[Sequence[Any]], Any]) -> Any:
    """The combined results of some items."""
    return combine([job.work(item, *job.shared) for item in job.items])


def combined(pieces: Sequence[Any], combine: Callable[[Sequence[Any]], Any]) -> Any:
    """Combine results of other tasks."""
    return combine(pieces)


def packed(value: Any) -> Any:
    """A result that is ready for its way to the driver."""
    return pack(value)


def drawn(job: Job, part_nodes: int, parts: int) -> list[Integers]:
    """The keys that some items draw, cut by the range of their smaller end."""
    nothing = np.empty(0, dtype=np.int64)
    keys = np.concatenate([nothing, *(job.work(item, *job.shared) for item in job.items)])
    return split_keys(keys, part_nodes=part_nodes, parts=parts)


def merged(pieces: Sequence[Integers], first: int, nodes: int) -> Pairs:
    """The sorted edges of one part, from the keys that all tasks drew for it."""
    keys = np.concatenate([np.empty(0, dtype=np.int64), *pieces])
    return Pairs(*sorted_edges(keys, first=first, nodes=nodes))


def made(job: Job) -> Pairs:
    """The sorted edges that the only item of a job stands for."""
    (item,) = job.items
    return Pairs(*job.work(item, *job.shared))


def size(edges: Pairs) -> int:
    """How many edges a part has."""
    return int(edges.u.size)


def loaded(content: Call) -> Any:
    """A value that many tasks share."""
    return content.open(())
