"""What PSGraph+ measures at one timestamp.

A measurement holds noisy values together with what they are values of: the shares they were bought
with, the classes and hubs that the counted edges were divided by.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from psgraph._runtime.arrays import Integers, Labels
from psgraph._runtime.records import UNSTORED_DEFAULT
from psgraph.graph import Roster
from psgraph.graph.kind import UNDIRECTED, Kind, find_kind
from psgraph.methods.plus.communities import CommunityReadings
from psgraph.methods.plus.grid import most_edges, thresholds
from psgraph.methods.plus.label_blocks import LabelReadings
from psgraph.methods.plus.mixing import CLASSES
from psgraph.methods.plus.owners import class_counts
from psgraph.methods.plus.sampled_edges import Sample
from psgraph.methods.plus.shares import Shares
from psgraph.methods.plus.triangles import Cap

__all__ = [
    "KindReadings",
    "OwnedReadings",
    "PlusMeasurement",
    "Purpose",
    "SideReadings",
    "SizeReadings",
    "StructureReadings",
    "WeightedMeasurement",
]


class Purpose(IntEnum):
    """What random bits sealed in a measurement are used for: each has a generator of its own."""

    NEW_NODES = 0
    WANTED_DEGREES = 1
    PLAIN_GRAPH = 2
    NEW_MEMBERS = 3
    REHEARSED_PASSES = 4
    REHEARSED_GRAPHS = 5  # and one number for each graph, up to 15
    # The second side of edges takes the numbers of the first, and 16.


@dataclass(frozen=True)
class SideReadings:
    """What was measured of the degrees on one side of the edges.

    Attributes
    ----------
    roster, largest
        The nodes of the side, and the largest degree that one of them can have.
    noisy_curve, noisy_degrees
        None if not measured.
    moved
        How many of the degrees that were measured together one edge moves by 1.
    """

    roster: Roster
    largest: int
    noisy_curve: Integers | None
    noisy_degrees: Integers | None
    moved: int = 2


@dataclass(frozen=True, eq=False)
class SizeReadings:
    """The first queries of a timestamp: how many edges there are and who has them.

    Attributes
    ----------
    shares
        What each query spent.
    seed
        Random bits for everything that is made from this measurement.
    noisy_edge_count
        M.
    noisy_kept_edges
        K: edges that were also there at the timestamp before. None if not measured.
    noisy_curve
        C: nodes with at least k neighbours, for each of `grid.thresholds`. None if not measured.
    noisy_degrees
        D, in roster order. None if not measured.
    """

    roster: Roster
    shares: Shares
    seed: int
    noisy_edge_count: int
    noisy_kept_edges: int | None
    noisy_curve: Integers | None
    noisy_degrees: Integers | None

    @property
    def kind(self) -> Kind:
        """Which pairs of nodes can be edges."""
        return UNDIRECTED

    @property
    def sides(self) -> tuple[SideReadings, ...]:
        """C and D of each side of the edges: one, if their ends are alike."""
        kind, found = self.kind, []
        curve, degrees = self.noisy_curve, self.noisy_degrees
        for side in range(kind.sides):
            roster, largest = self._side(side)
            points = thresholds(largest + 1).size
            found.append(
                SideReadings(
                    roster,
                    largest,
                    None if curve is None else curve[:points],
                    None if degrees is None else degrees[: len(roster)],
                )
            )
            curve = None if curve is None else curve[points:]
            degrees = None if degrees is None else degrees[len(roster) :]
        return tuple(found)

    def _side(self, side: int) -> tuple[Roster, int]:
        """The nodes of a side, and the largest degree that one of them can have."""
        return self.roster.sides[side], most_edges(self.kind, self.roster.sizes, side)

    def random(self, purpose: Purpose, number: int = 0) -> np.random.Generator:
        """Return the generator of one purpose."""
        return np.random.Generator(np.random.PCG64([self.seed, purpose + number]))


@dataclass(frozen=True, eq=False)
class KindReadings(SizeReadings):
    """The first queries of a timestamp of directed, two-sided or weighted graphs.

    Where edges have two sides, C and D hold those of first ends, then those of second ends.

    Attributes
    ----------
    pairs
        The name of the kind.
    largest_weight
        None if edges carry no weights.
    noisy_active_nodes
        A: nodes with any edge, of directed graphs. None if not measured.
    noisy_reciprocated
        R: pairs of nodes joined in both directions. None if not measured.
    noisy_kept_weights
        Edges that were also there at the timestamp before, with a weight of the same class.
    """

    pairs: str
    largest_weight: int | None
    noisy_active_nodes: int | None = None
    noisy_reciprocated: int | None = None
    noisy_kept_weights: int | None = None
    flows: bool = field(default=False, metadata=UNSTORED_DEFAULT)

    @property
    def kind(self) -> Kind:
        return find_kind(self.pairs, self.largest_weight, self.flows)

    @property
    def class_counts(self) -> tuple[int, int]:
        """The number of classes of first ends and of second ends, where edges have two sides."""
        return CLASSES, CLASSES


@dataclass(frozen=True, eq=False)
class OwnedReadings(KindReadings):
    """The first queries of a timestamp where the unit of privacy is an owner.

    `noisy_edge_count` is that of owners with an edge. Where owners are an end of their edges, C and
    D are those of the other side.

    Attributes
    ----------
    at_most
        The bound on the edges of an owner.
    owner_side
        Which end of its edges an owner is, 0 or 1; None if it is neither.
    noisy_owner_sizes
        O: owners by number of edges before the bound. None if not measured.
    """

    at_most: int = 1
    owner_side: int | None = None
    noisy_owner_sizes: Integers | None = None

    @property
    def class_counts(self) -> tuple[int, int]:
        return class_counts(self.at_most, self.owner_side)

    @property
    def sides(self) -> tuple[SideReadings, ...]:
        if self.owner_side is None:
            return super().sides
        sides = [SideReadings(*self._side(side), None, None) for side in range(2)]
        other = 1 - self.owner_side
        sides[other] = replace(
            sides[other],
            noisy_curve=self.noisy_curve,
            noisy_degrees=self.noisy_degrees,
            moved=1,
        )
        return tuple(sides)


@dataclass(frozen=True)
class StructureReadings:
    """The other queries: where edges run, given released degrees.

    Attributes
    ----------
    noisy_class_edges
        V: edges between degree classes. None if not measured.
    hubs
        The positions of the hubs, the largest first. None if not measured.
    noisy_hub_edges
        H: hubs × classes, then pairs of hubs i < j row by row.
    noisy_triangles
        T. None if not measured.
    cap
        What T was limited to. None if it counts all triangles.
    sample
        The pairs of nodes whose triangles T counts. None if it counts those of all pairs.
    """

    noisy_class_edges: Integers | None
    hubs: Integers | None
    noisy_hub_edges: Integers | None
    noisy_triangles: int | None
    cap: Cap | None
    sample: Sample | None = field(default=None, metadata=UNSTORED_DEFAULT)


@dataclass(frozen=True)
class PlusMeasurement:
    """What PSGraph+ learned from one snapshot: noisy values only.

    Attributes
    ----------
    classes
        The degree class of every node, by which `structure` divides edges; from released values.
        None where it does not.
    communities
        None where no search was made.
    labels
        None where nothing about public labels was asked.
    """

    sizes: SizeReadings
    classes: Labels | None
    structure: StructureReadings
    communities: CommunityReadings | None
    labels: LabelReadings | None = field(default=None, metadata=UNSTORED_DEFAULT)


@dataclass(frozen=True)
class WeightedMeasurement(PlusMeasurement):
    """What PSGraph+ learned from one snapshot with weights.

    Attributes
    ----------
    noisy_weights
        The number of edges in each weight class. None if not measured.
    """

    noisy_weights: Integers | None = None
