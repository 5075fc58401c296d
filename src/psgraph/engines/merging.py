"""Put together what was counted in parts: sparse counts, and edges that two graphs share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph.engines import counting

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts

__all__ = ["count_common", "merge_counts"]

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]
Edges = tuple[Positions, Positions]


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


def count_common(one: EdgeParts, other: EdgeParts, where: Positions | None) -> int:
    """Count the edges in both of two graphs; a few parts are in memory at a time.

    `where` gives the positions in `one` of the nodes of the other graph, −1 for none. Rosters
    are sorted by id, so that the edges are still in order at their new positions.
    """
    common = 0
    ours, theirs = _parts(one), _moved(_parts(other), where)
    here, there = next(ours, None), next(theirs, None)
    while here is not None and there is not None:
        common += counting.common_edges(*here, *there)
        # The side that ends first can't have more in common with the other's present part.
        if _last(here) <= _last(there):
            here = next(ours, None)
        else:
            there = next(theirs, None)
    return common


def _parts(parts: EdgeParts) -> Iterator[Edges]:
    for read in parts.edges():
        part = read()
        if part.u.size:
            yield part.u, part.v


def _moved(parts: Iterable[Edges], where: Positions | None) -> Iterator[Edges]:
    for u, v in parts:
        if where is not None:
            u, v = where[u], where[v]
            known = (u >= 0) & (v >= 0)
            u, v = u[known], v[known]
        if u.size:
            yield u, v


def _last(edges: Edges) -> tuple[int, int]:
    return int(edges[0][-1]), int(edges[1][-1])
