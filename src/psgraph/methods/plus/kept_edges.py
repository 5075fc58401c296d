"""The queries that read two snapshots: the edges kept, and those kept in their class of weights.

Each has sensitivity 1 to an edge of either snapshot, and S also to another weight of one. How edges
of both are counted part by part is in `common_parts`; drawing uses that as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.parts import Pairs, Read
from psgraph.methods.plus.common_parts import Others, count_common, in_both, moved
from psgraph.methods.plus.weights import weight_classes
from psgraph.methods.queries import EVERY_KIND
from psgraph.privacy.query import CountQuery

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges

__all__ = ["KeptEdges", "KeptWeights"]


@dataclass(frozen=True)
class KeptEdges(CountQuery):
    """K: the edges that were there at the timestamp before as well, matched by node id.

    Of flows, the smaller number of rows of each pair.

    Privacy: one edge of either snapshot moves it by 1. The timestamp before pays for its own
    snapshot in advance.
    """

    label = "edges kept"
    sensitivity = 1
    proof = "proofs/psgraph-plus.md"
    subject = "the number of edges that were there before"
    kinds = EVERY_KIND
    reads_previous = True

    def answer(self, edges: PrivateEdges) -> int:
        return in_both(edges, count_common)


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
        return in_both(edges, partial(_count_common_classes, largest=self.largest))


# ---- tasks: what is done with each part ----


def _count_common_classes(
    item: tuple[Read, Others], where: Positions | None, *, largest: int
) -> int:
    read, others = item
    if not others:
        return 0
    here, found = read(), 0
    for other in others:
        there = moved(other(), where)
        classes = _classes(here, largest), _classes(there, largest)
        found += _common_classes(here.u, here.v, classes[0], there.u, there.v, classes[1])
    return found


def _classes(edges: Pairs, largest: int) -> Integers:
    assert edges.weight is not None
    return weight_classes(edges.weight, largest)


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
