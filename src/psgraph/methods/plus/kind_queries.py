"""The queries of PSGraph+ that only some kinds of graphs have. All noise is exact.

| | query | kinds | sensitivity to one edge | to another weight |
|---|---|---|---|---|
| A | nodes with any edge | directed | 2 | 0 |
| R | reciprocated pairs | directed | 1 | 0 |
| W | edges per weight class | any | 1 | 2 |
| S | edges kept in their weight class | any | 1 in each of two snapshots | 1 in each |

The sensitivities are proven in proofs/psgraph-plus.md, those to another weight in
proofs/weights.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.engines import counting
from psgraph.engines.runner import Job
from psgraph.graph.kind import DIRECTED
from psgraph.graph.parts import Pairs
from psgraph.methods.plus.weights import class_bounds, weight_classes
from psgraph.methods.queries import EVERY_KIND, degrees
from psgraph.privacy.query import CountQuery, CountsQuery

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges

__all__ = ["ActiveNodes", "KeptWeights", "ReciprocatedPairs", "WeightClassEdges"]


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
        both = degrees(edges).reshape(2, edges.nodes)
        return int(np.count_nonzero(both.sum(axis=0)))


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
    """W: the edges in each class of weights.

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
    """S: the edges that were there at the timestamp before, with a weight of the same class.

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


def _classes(edges: Pairs, largest: int) -> Integers:
    assert edges.weight is not None
    return weight_classes(edges.weight, largest)


# ---- tasks: what is done with each part ----


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
