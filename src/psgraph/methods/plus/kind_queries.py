"""The queries of PSGraph+ that only some kinds of graphs have. All noise is exact.

| | query | kinds | sensitivity to one edge | to another weight |
|---|---|---|---|---|
| A | nodes with any edge | directed | 2 | 0 |
| R | reciprocated pairs | directed | 1 | 0 |
| W | edges per weight class | any | 1 | 2 |

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
from psgraph.engines.runner import Job
from psgraph.graph.kind import DIRECTED
from psgraph.graph.parts import Pairs, Rows
from psgraph.methods.plus.weights import class_bounds, weight_classes
from psgraph.methods.queries import EVERY_KIND, degrees
from psgraph.privacy.query import CountQuery, CountsQuery

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges

__all__ = ["ActiveNodes", "ReciprocatedPairs", "WeightClassEdges"]


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
        return int(edges.engine.reduce(Job(_both_ways, edges.parts.rows()), sum)) // 2


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


# ---- tasks: what is done with each part ----


def _both_ways(read: Callable[[], Rows]) -> int:
    """How often a neighbour is in a row twice: joined in both directions."""
    rows = read()
    return int(_repeats(rows.starts, rows.neighbours.copy()))


@kernel
def _repeats(starts: Integers, neighbours: Positions) -> int:
    found = 0
    for row in range(starts.size - 1):
        own = neighbours[starts[row] : starts[row + 1]]
        own.sort()
        for at in range(1, own.size):
            found += own[at] == own[at - 1]
    return found


def _add_weight_classes(read: Callable[[], Pairs], largest: int, counts: Integers) -> None:
    weight = read().weight
    assert weight is not None
    counts += np.bincount(weight_classes(weight, largest), minlength=counts.size)
