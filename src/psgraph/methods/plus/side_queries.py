"""The queries of PSGraph+ that only some kinds of graphs have. All noise is exact.

| | query | kinds | sensitivity to one edge | to another weight |
|---|---|---|---|---|
| C | degree curves of both sides | directed, two-sided | 2 | 0 |
| D | degrees of both sides | directed, two-sided | 2 | 0 |
| V | edges between degree classes of both sides | directed, two-sided | 1 | 0 |
| A | nodes with any edge | directed | 2 | 0 |
| R | reciprocated pairs | directed | 1 | 0 |
| H | edges per weight class | any | 1 | 2 |
| K | edges kept in their weight class | any | 1 in each of two snapshots | 1 in each |

A vector of both sides holds first ends, then second ends. The sensitivities are proven in
proofs/psgraph-plus.md, those to another weight in proofs/weights.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers, Labels, Positions
from psgraph._runtime.jit import kernel
from psgraph.engines import counting
from psgraph.engines.runner import Job
from psgraph.graph.kind import DIRECTED, KINDS, TWO_SIDED, Kind, find_kind
from psgraph.graph.parts import Pairs
from psgraph.methods.plus.grid import thresholds
from psgraph.methods.plus.mixing import CLASSES, SIDE_CELLS
from psgraph.methods.plus.weights import class_bounds, weight_classes
from psgraph.privacy.query import CountQuery, CountsQuery

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges

__all__ = [
    "EVERY_KIND",
    "ActiveNodes",
    "KeptWeights",
    "ReciprocatedPairs",
    "SideClassEdges",
    "SideCurves",
    "SideDegrees",
    "WeightClassEdges",
    "side_thresholds",
]

SIDED = frozenset({DIRECTED.name, TWO_SIDED.name})
EVERY_KIND = frozenset(KINDS)


def side_thresholds(kind: Kind, sizes: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Return the degrees at which the curve of each side is measured."""
    one, other = (thresholds(kind.largest_degree(*sizes, side=side) + 1) for side in (0, 1))
    return one, other


@dataclass(frozen=True)
class SideCurves(CountsQuery):
    """C: how many nodes of each side have at least k edges there, for a public grid of k.

    Privacy: an edge adds 1 to one degree of each side, and each moves one node over at most one
    threshold.
    """

    pairs: str
    sizes: tuple[int, ...]

    label = "degree curves"
    sensitivity = 2
    proof = "proofs/psgraph-plus.md"
    subject = "the number of nodes with at least k edges on a side"
    kinds = SIDED

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (sum(each.size for each in side_thresholds(find_kind(self.pairs), self.sizes)),)

    def answer(self, edges: PrivateEdges) -> Integers:
        curves = []
        degrees = _side_degrees(edges)
        for side, points in zip(degrees, side_thresholds(edges.kind, edges.sizes), strict=True):
            most = int(points[-1]) + 1 if points.size else 1
            tail = np.cumsum(np.bincount(side, minlength=most)[::-1])[::-1]
            curves.append(tail[points])
        return np.concatenate(curves)


@dataclass(frozen=True)
class SideDegrees(CountsQuery):
    """D: the out-degrees of all nodes, then the in-degrees; or those on the left, on the right.

    Privacy: one edge moves one degree of each side by 1.
    """

    pairs: str

    label = "degrees of both sides"
    sensitivity = 2
    proof = "proofs/psgraph-plus.md"
    subject = "a node's degree on a side"
    counts = "degree"
    kinds = SIDED

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (2 * nodes,) if find_kind(self.pairs).directed else (nodes,)

    def answer(self, edges: PrivateEdges) -> Integers:
        return np.concatenate(_side_degrees(edges))


@dataclass(frozen=True, eq=False)
class SideClassEdges(CountsQuery):
    """V: the edges from each degree class of the one side to each of the other.

    Privacy: an edge is in one cell, which it moves by 1; `classes` come from released values: those
    of first ends, then those of second ends.
    """

    classes: Labels

    label = "edges between degree classes of both sides"
    sensitivity = 1
    proof = "proofs/psgraph-plus.md"
    subject = "the edges from a degree class to another"
    kinds = SIDED

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (SIDE_CELLS,)

    def answer(self, edges: PrivateEdges) -> Integers:
        first = edges.sizes[0]
        one, other = self.classes[:first], self.classes[first:]
        job = Job(_add_cells, edges.parts.edges(), (one, other, edges.roster.offset))
        (counts,) = edges.engine.sum(job, sizes=(SIDE_CELLS,))
        return counts


@dataclass(frozen=True)
class ActiveNodes(CountQuery):
    """A: the nodes that have an edge in either direction.

    Privacy: an edge makes at most its two ends active.
    """

    label = "active nodes"
    sensitivity = 2
    proof = "proofs/psgraph-plus.md"
    subject = "the number of nodes with any edge"
    kinds = frozenset({DIRECTED.name})

    def answer(self, edges: PrivateEdges) -> int:
        one, other = _side_degrees(edges)
        return int(np.count_nonzero(one + other))


@dataclass(frozen=True)
class ReciprocatedPairs(CountQuery):
    """R: the pairs of nodes that are joined in both directions.

    Privacy: one edge completes at most one pair.
    """

    label = "reciprocated pairs"
    sensitivity = 1
    proof = "proofs/psgraph-plus.md"
    subject = "the number of pairs joined in both directions"
    kinds = frozenset({DIRECTED.name})

    def answer(self, edges: PrivateEdges) -> int:
        u, v = edges.parts.whole()
        order = np.lexsort((u, v))
        return counting.common_edges(u, v, v[order], u[order]) // 2


@dataclass(frozen=True)
class WeightClassEdges(CountsQuery):
    """H: the edges in each class of weights.

    Privacy: an edge with its weight is in one cell, which it moves by 1. Another weight of an edge
    moves two cells by 1 each, and nothing that is not about weights.
    """

    largest: int

    label = "edges per weight class"
    sensitivity = 1
    weight_sensitivity = 2
    proof = "proofs/weights.md"
    subject = "the edges in a weight class"
    kinds = EVERY_KIND

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return class_bounds(self.largest).shape

    def answer(self, edges: PrivateEdges) -> Integers:
        size = class_bounds(self.largest).size
        (counts,) = edges.engine.sum(
            Job(_add_weight_classes, edges.parts.edges(), (self.largest,)), sizes=(size,)
        )
        return counts


@dataclass(frozen=True)
class KeptWeights(CountQuery):
    """K: the edges that were there at the timestamp before, with a weight of the same class.

    Privacy: one edge of either snapshot, or another weight of one, moves it by 1. The timestamp
    before pays for its own snapshot in advance.
    """

    largest: int

    label = "edges kept in their weight class"
    sensitivity = 1
    weight_sensitivity = 1
    proof = "proofs/weights.md"
    subject = "the number of edges that were there before with such a weight"
    kinds = EVERY_KIND
    reads_previous = True

    def answer(self, edges: PrivateEdges) -> int:
        before = edges.previous
        here, there = edges.parts.whole(), before.parts.whole()
        where = edges.roster.positions_of(before.roster)
        u, v = where[there.u], where[there.v]
        known = (u >= 0) & (v >= 0)
        classes = [_classes(each, self.largest) for each in (here, there)]
        return _common_classes(here.u, here.v, classes[0], u[known], v[known], classes[1][known])


# ---- counts that queries share; all of them private ----


def _side_degrees(edges: PrivateEdges) -> tuple[Integers, Integers]:
    """Count first ends and second ends of every node, once for all queries of a timestamp."""

    def count() -> tuple[Integers, Integers]:
        sizes = tuple(len(side) for side in edges.roster.sides)
        job = Job(_add_side_degrees, edges.parts.edges(), (edges.roster.offset,))
        one, other = edges.engine.sum(job, sizes=sizes)
        return one, other

    return edges.once("side degrees", count)


def _classes(edges: Pairs, largest: int) -> Integers:
    assert edges.weight is not None
    return weight_classes(edges.weight, largest)


# ---- tasks: what is done with each part ----


def _add_side_degrees(
    read: Callable[[], Pairs], offset: int, one: Integers, other: Integers
) -> None:
    part = read()
    one += np.bincount(part.u, minlength=one.size)
    other += np.bincount(part.v - offset, minlength=other.size)


def _add_cells(
    read: Callable[[], Pairs], one: Labels, other: Labels, offset: int, counts: Integers
) -> None:
    part = read()
    cells = one[part.u].astype(np.int64) * CLASSES + other[part.v - offset]
    counts += np.bincount(cells, minlength=counts.size)


def _add_weight_classes(read: Callable[[], Pairs], largest: int, counts: Integers) -> None:
    counts += np.bincount(_classes(read(), largest), minlength=counts.size)


@kernel
def _common_classes(
    u: Positions,
    v: Positions,
    classes: Integers,
    other_u: Positions,
    other_v: Positions,
    other_classes: Integers,
) -> int:
    """Edges of one class in both of two sorted lists."""
    found = here = 0
    for edge in range(other_u.size):
        x, y = other_u[edge], other_v[edge]
        while here < u.size and (u[here] < x or (u[here] == x and v[here] < y)):
            here += 1
        if here < u.size and u[here] == x and v[here] == y:
            found += classes[here] == other_classes[edge]
    return found
