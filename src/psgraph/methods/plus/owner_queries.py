"""The queries of PSGraph+ where the unit of privacy is an owner. All noise is exact.

| | query | sensitivity to one owner with at most θ edges | to one edge |
|---|---|---|---|
| N | owners with an edge | 1 | 1 |
| O | owners by number of edges before the bound | 1 | 2 |
| D | degrees of the nodes that are not owners | θ | 1 |
| C | their degree curve | θ | 1 |
| V | edges per own class of the owner and released class | θ | 2θ − 1 |

An owner is an end of its edges in D, C and V. The sensitivities are proven in
proofs/people-plus.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from psgraph._runtime.arrays import Integers, Labels
from psgraph.graph.kind import DIRECTED, TWO_SIDED
from psgraph.methods.plus.grid import most_edges, thresholds
from psgraph.methods.plus.owners import class_counts, own_classes, owner_bounds
from psgraph.methods.queries import QueryOfKind, block_counts, degrees
from psgraph.privacy.query import Counted, CountQuery, CountsQuery
from psgraph.privacy.unit import Owner, Unit

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges

__all__ = ["OwnClassEdges", "OwnerCount", "OwnersBySize", "SideCurveCounts", "SideDegrees"]

TWO_SIDES = frozenset({DIRECTED.name, TWO_SIDED.name})
PROOF = "proofs/people-plus.md"


@dataclass(frozen=True)
class OwnerCount(CountQuery):
    """N: the owners that have an edge.

    Privacy: one owner moves it by 1, however many edges it has; so does one edge.
    """

    label = "owners"
    sensitivity = 1
    proof = PROOF
    subject = "the number of owners with an edge"
    kinds = TWO_SIDES
    counts_owners = True

    def sensitivity_for(self, unit: Unit) -> int:
        return 1 if isinstance(unit, Owner) else super().sensitivity_for(unit)

    def answer(self, edges: PrivateEdges) -> int:
        return int(edges.owner_sizes.size)


@dataclass(frozen=True)
class OwnersBySize(CountsQuery):
    """O: the owners in each class of their number of edges before the bound on them.

    Privacy: one owner is in one class, which it moves by 1, however many edges it has. One edge
    moves its owner from one class to another.

    Parameters
    ----------
    at_most
        The bound. The last class also has all owners with more than eight times as many edges.
    """

    at_most: int

    label = "owners by number of edges"
    sensitivity = 2
    proof = PROOF
    subject = "the owners with about as many edges"
    kinds = TWO_SIDES
    counts_owners = True

    def sensitivity_for(self, unit: Unit) -> int:
        return 1 if isinstance(unit, Owner) else super().sensitivity_for(unit)

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return owner_bounds(self.at_most).shape

    def answer(self, edges: PrivateEdges) -> Integers:
        bounds = owner_bounds(self.at_most)
        classes = np.searchsorted(bounds, np.minimum(edges.owner_sizes, bounds[-1]))
        return np.bincount(classes, minlength=bounds.size)


@dataclass(frozen=True, eq=False)
class SideDegrees(CountsQuery, QueryOfKind[Integers]):
    """D of one side: the degree of every node that is a first end, or a second end, of edges.

    Privacy: one edge moves one degree by 1.

    Parameters
    ----------
    sizes
        The number of nodes of each roster.
    side
        0 for first ends, 1 for second ends.
    """

    sizes: tuple[int, ...]
    side: int

    label = "degrees"
    sensitivity = 1
    proof = PROOF
    subject = "a node's degree"
    counts: ClassVar[Counted] = "degree"
    kinds = TWO_SIDES

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (self.sizes[self.side if self.kind.two_sided else 0],)

    def answer(self, edges: PrivateEdges) -> Integers:
        return _of_side(degrees(edges), self.shape(edges.nodes)[0], self.side)


@dataclass(frozen=True, eq=False)
class SideCurveCounts(SideDegrees):
    """C of one side: how many of its nodes have at least k neighbours, for a public grid of k.

    Privacy: one edge moves one node over at most one threshold.
    """

    label = "degree curve"
    subject = "the number of nodes with at least k neighbours"
    counts = ""

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return self._points.shape

    def answer(self, edges: PrivateEdges) -> Integers:
        own = np.sort(_of_side(degrees(edges), super().shape(edges.nodes)[0], self.side))
        return own.size - np.searchsorted(own, self._points)

    @property
    def _points(self) -> Integers:
        return thresholds(most_edges(self.kind, self.sizes, self.side) + 1)


def _of_side(found: Integers, size: int, side: int) -> Integers:
    return found[found.size - size :] if side else found[:size]


@dataclass(frozen=True, eq=False)
class OwnClassEdges(CountsQuery, QueryOfKind[Integers]):
    """V: the edges by the own class of their owner, which is an end, and the class of the other.

    The own class of an owner is that of its number of edges, and tells nothing about others.

    Privacy: the edges of an owner are in one line of cells, and there are at most θ. One edge moves
    its owner to another class, and with it the other edges of that owner.

    Parameters
    ----------
    classes
        The released class of every node that is not an owner.
    owners
        Which end of its edges an owner is: 0 or 1.
    at_most
        θ.
    """

    classes: Labels
    owners: int
    at_most: int

    label = "edges between degree classes"
    proof = PROOF
    subject = "the edges between two degree classes"
    kinds = TWO_SIDES

    @property
    def sensitivity(self) -> int:  # type: ignore[override]
        return 2 * self.at_most - 1

    def sensitivity_for(self, unit: Unit) -> int:
        side = {"first": 0, "second": 1}.get(unit.side or "") if isinstance(unit, Owner) else None
        return unit.edges if side == self.owners else super().sensitivity_for(unit)

    @property
    def cells(self) -> tuple[int, int]:
        """The number of classes of first ends, and of second ends."""
        return class_counts(self.at_most, self.owners)

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (self.cells[0] * self.cells[1],)

    def answer(self, edges: PrivateEdges) -> Integers:
        size = degrees(edges).size - self.classes.size
        own = own_classes(_of_side(degrees(edges), size, self.owners), self.at_most)
        sides = [own, self.classes]
        heads, tails = sides[:: -1 if self.owners else 1]
        if self.kind.two_sided:
            heads, tails = (
                np.concatenate([heads, np.zeros(tails.size, dtype=np.int32)]),
                np.concatenate([np.zeros(heads.size, dtype=np.int32), tails]),
            )
        cells, found = block_counts(
            edges,
            heads,
            self.cells[0],
            inside=True,
            tail_labels=tails,
            tail_blocks=self.cells[1],
        )
        counts = np.zeros(self.shape(edges.nodes), dtype=np.int64)
        counts[cells] = found
        return counts
