"""Counting the edges that two snapshots share, part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from psgraph._runtime.arrays import Positions
from psgraph.engines import counting
from psgraph.engines.runner import Job
from psgraph.graph.parts import EdgeParts, Pairs, Read, ranges

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges

__all__ = ["Others", "count_common", "in_both", "moved"]

Others = Sequence[Read]


def in_both(edges: PrivateEdges, count: Callable[..., int]) -> int:
    """Add up what `count` finds in a part of a snapshot and parts of the one before.

    Nodes are matched by id. It is called with a part and the others that have nodes in its range,
    and with the positions of the other nodes, −1 for none; None if they are the same.
    """
    before, where = edges.previous, None
    if before.roster is not edges.roster and before.roster != edges.roster:
        where = edges.roster.positions_of(before.roster)
    return int(edges.engine.reduce(_common_job(count, edges.parts, before.parts, where), sum))


def _common_job(
    count: Callable[..., int], one: EdgeParts, other: EdgeParts, where: Positions | None
) -> Job:
    """Count in both of two graphs: a task for every part of `one`, to be added up.

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
    return Job(count, items, (where,))


def _ranges(parts: EdgeParts) -> list[tuple[int, int]]:
    return list(ranges(parts.nodes, parts.part_nodes))


def _moved_range(first: int, last: int, where: Positions | None) -> tuple[int, int]:
    """Where a range of nodes of the other graph is in this one."""
    if where is None:
        return first, last
    known = where[first:last][where[first:last] >= 0]
    return (int(known[0]), int(known[-1]) + 1) if known.size else (0, 0)


def count_common(item: tuple[Read, Others], where: Positions | None) -> int:
    """Count the edges that are in both."""
    read, others = item
    if not others:
        return 0
    here = read()
    return sum(counting.common_edges(*here, *moved(other(), where)) for other in others)


def moved(edges: Pairs, where: Positions | None) -> Pairs:
    """Return edges at their new positions, without those that have lost an end."""
    if where is None:
        return edges
    u, v = where[edges.u], where[edges.v]
    known = (u >= 0) & (v >= 0)
    return Pairs(u[known], v[known], None if edges.weight is None else edges.weight[known])
