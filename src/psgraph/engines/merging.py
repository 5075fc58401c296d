"""Put together what was counted in parts: sparse counts, and edges that two graphs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph.engines import counting
from psgraph.engines.runner import Job
from psgraph.graph.parts import ranges

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts, Pairs

__all__ = ["common_job", "merge_counts"]

Read = Callable[[], "Pairs"]


def merge_counts(pieces: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """Add up counts of cells, each piece with its cells in ascending order.

    >>> cells, counts = merge_counts([(np.array([1, 4]), np.array([1, 1])),
    ...                               (np.array([4, 7]), np.array([2, 5]))])
    >>> cells.tolist(), counts.tolist()
    ([1, 4, 7], [1, 3, 5])
    """
    if len(pieces) == 1:
        return pieces[0]
    nothing = np.empty(0, dtype=np.int64)
    cells = np.concatenate([nothing, *(cells for cells, _ in pieces)])
    counts = np.concatenate([nothing, *(counts for _, counts in pieces)])
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    begins = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])) if cells.size else nothing
    return cells[begins], np.add.reduceat(counts, begins) if cells.size else nothing


def common_job(one: EdgeParts, other: EdgeParts, where: Positions | None) -> Job:
    """Count the edges in both of two graphs: a task for every part of `one`, to be added up.

    `where` gives the positions in `one` of the nodes of the other graph, −1 for none. Rosters
    are sorted by id, so that the edges are still in order at their new positions.
    """
    theirs = [
        (read, *_moved_range(first, last, where))
        for read, (first, last) in zip(other.edges(), _ranges(other), strict=True)
    ]
    items = [
        (read, [other for other, begin, end in theirs if begin < last and first < end])
        for read, (first, last) in zip(one.edges(), _ranges(one), strict=True)
    ]
    return Job(_count_common, items, (where,))


def _ranges(parts: EdgeParts) -> list[tuple[int, int]]:
    return list(ranges(parts.nodes, parts.part_nodes))


def _moved_range(first: int, last: int, where: Positions | None) -> tuple[int, int]:
    """Where a range of nodes of the other graph is in this one."""
    if where is None:
        return first, last
    known = where[first:last][where[first:last] >= 0]
    return (int(known[0]), int(known[-1]) + 1) if known.size else (0, 0)


def _count_common(item: tuple[Read, Sequence[Read]], where: Positions | None) -> int:
    read, others = item
    if not others:
        return 0
    here = read()
    return sum(counting.common_edges(*here, *_moved(other(), where)) for other in others)


def _moved(edges: Pairs, where: Positions | None) -> tuple[Positions, Positions]:
    u, v = edges
    if where is None:
        return u, v
    u, v = where[u], where[v]
    known = (u >= 0) & (v >= 0)
    return u[known], v[known]
