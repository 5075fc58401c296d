"""What PSGraph+ measures at one timestamp, and what it knows afterwards.

A measurement holds noisy values together with what they are values of: the shares they were bought
with, the classes and hubs that the counted edges were divided by. A state holds estimates made
from measurements, and no edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels, read_only
from psgraph._runtime.records import UNSTORED_DEFAULT
from psgraph.graph import Roster
from psgraph.graph.kind import UNDIRECTED, Kind, find_kind
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.communities import Communities, CommunityReadings, Search
from psgraph.methods.plus.curve import DegreeCurve
from psgraph.methods.plus.grid import thresholds
from psgraph.methods.plus.hubs import HubRows
from psgraph.methods.plus.label_blocks import LabelBlocks, LabelReadings
from psgraph.methods.plus.label_book import LabelBook
from psgraph.methods.plus.mixing import CELLS, SIDE_CELLS
from psgraph.methods.plus.nodes import Nodes
from psgraph.methods.plus.shares import Mode, Shares
from psgraph.methods.plus.tracking import Track
from psgraph.methods.plus.triangles import Cap
from psgraph.methods.plus.weights import Weights

__all__ = [
    "RECIPROCITY",
    "AnyState",
    "Jumps",
    "KindReadings",
    "Movement",
    "PlusMeasurement",
    "PlusState",
    "Purpose",
    "Side",
    "SideReadings",
    "SidedState",
    "SizeReadings",
    "StructureReadings",
    "WeightedMeasurement",
    "WeightedState",
    "label_book",
]

#: What is believed of the share of reciprocated edges before it is measured.
RECIPROCITY = Track.start(0.3, variance=0.06, drift=0.0025)

Movement = Literal["none", "rise", "fall", "confirmed", "back"]  # of the edge count


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
    """

    roster: Roster
    largest: int
    noisy_curve: Integers | None
    noisy_degrees: Integers | None


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
            roster = self.roster.sides[side]
            largest = kind.largest_degree(*self.roster.sizes, side=side)
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

    @property
    def kind(self) -> Kind:
        return find_kind(self.pairs, self.largest_weight)


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
    """

    noisy_class_edges: Integers | None
    hubs: Integers | None
    noisy_hub_edges: Integers | None
    noisy_triangles: int | None
    cap: Cap | None


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


@dataclass(frozen=True)
class Jumps:
    """The jumps of the edge count so far; see `jumps`.

    Attributes
    ----------
    found
        What the last timestamp was. ``"back"``: a fall is over, and what was known before it holds
        again. ``"confirmed"``: the fall of the timestamp before lasts.
    last
        The timestamp of the last one, far in the past if there was none.
    waiting
        Whether the last timestamp was a fall for which nothing was bought.
    stale
        How far the edge count has moved since node degrees were last measured, on a log scale.
    recounts
        Whether the last timestamp has reserved for one more count of edges kept.
    """

    found: Movement = "none"
    last: int = -(10**9)
    waiting: bool = False
    stale: float = 0.0
    recounts: bool = False


def label_book(state: AnyState | None, roster: Roster) -> LabelBook | None:
    """Return the code book of a stream: that of its first timestamp.

    Only undirected graphs have one: rosters with labels are refused for others.
    """
    if state is None:
        return LabelBook.of(roster)
    known = state.labels if isinstance(state, PlusState) else None
    return None if known is None else known.book


@dataclass(frozen=True, eq=False)
class PlusState:
    """The estimates of PSGraph+: with the release before, all that a graph is drawn from.

    Attributes
    ----------
    edge_count
        The number of edges that the graph has.
    edges_per_node, persistence, curve_track, mixing
        Filtered m/n, κ, shares of nodes per threshold and shares of edges per pair of classes.
    curve
        The degree distribution as last fitted, None before the first release of node degrees.
    nodes
        The filtered degrees of all nodes ever seen.
    hub_rows
        None where nothing informative is known.
    block_seed
        How blocks are rounded to integers.
    mode, new_share
        How often node degrees are measured, and the smoothed share of new nodes among the largest.
    search
        The communities in use, and when to look for them again.
    degrees
        The degree that every node of the roster should have.
    opened
        The timestamp at which structure and nodes were last bought for a window.
    jumps, before_fall
        Jumps of the edge count, and the state before it fell if that may come back.
    labels
        What is known about edges between public labels; None if nodes have none.
    """

    roster: Roster
    edge_count: int
    edges_per_node: Track
    persistence: Track
    curve_track: Track
    curve: DegreeCurve | None
    nodes: Nodes
    mixing: Track
    hub_rows: HubRows | None
    block_seed: int
    clustering: Clustering
    mode: Mode
    new_share: float
    search: Search
    degrees: Integers
    opened: int = 0
    jumps: Jumps = Jumps()
    before_fall: PlusState | None = None
    labels: LabelBlocks | None = field(default=None, metadata=UNSTORED_DEFAULT)

    def __post_init__(self) -> None:
        # As it comes out of a ledger, so that kernels are compiled for one type only.
        read_only(self.degrees)

    @property
    def kind(self) -> Kind:
        """The kind of the graphs that are drawn."""
        if self.known_weights is None:
            return UNDIRECTED
        return UNDIRECTED.with_weights(self.known_weights.largest)

    @property
    def known_weights(self) -> Weights | None:
        """What is known of weights; None if edges carry none."""
        return None

    @property
    def sides(self) -> tuple[Side, ...]:
        """What is known of degrees, in the form that states of two sides have."""
        known = self.curve_track, self.curve, self.nodes, self.degrees, self.new_share
        return (Side(*known, fitted_edges=self.edge_count),)

    def scaled(self, factor: float) -> Self:
        """Return the state with all degrees multiplied by a factor."""
        return replace(self, nodes=self.nodes.scaled(factor))

    def forgetting(self, *, curve: bool, mixing: bool) -> Self:
        """Return the state without what was known of structure, as far as it is measured again."""
        return replace(
            self,
            curve=None,
            curve_track=Track.unseen(0, drift=1e-4) if curve else self.curve_track,
            mixing=Track.unseen(CELLS, drift=0.0025) if mixing else self.mixing,
            hub_rows=None,
        )

    def communities_on(self, sizes: SizeReadings) -> Communities | None:
        """Return the communities that were found so far, on the roster of the next timestamp."""
        found = self.search.found
        return None if found is None else found.on(sizes.roster, sizes.random(Purpose.NEW_MEMBERS))

    @property
    def labels_in_use(self) -> LabelBlocks | None:
        """The public labels that graphs follow."""
        return self.labels if self.labels is not None and self.labels.used else None

    @property
    def numbers(self) -> NDArray[np.uint64]:
        """A random number for every node of the roster that stays with it, below 2⁵²."""
        ties = self.nodes.ties[: len(self.roster)].astype(np.float64)
        return (ties * 2.0**52).astype(np.uint64)


@dataclass(frozen=True, eq=False)
class WeightedState(PlusState):
    """The estimates for undirected graphs with weights."""

    weights: Weights | None = None

    @property
    def known_weights(self) -> Weights | None:
        return self.weights


@dataclass(frozen=True, eq=False)
class Side:
    """What is known of the degrees on one side of the edges: out or in, left or right.

    Attributes
    ----------
    curve_track, curve, nodes, degrees, new_share
        As in `PlusState`.
    fitted_edges
        The number of edges when the curve was fitted.
    """

    curve_track: Track
    curve: DegreeCurve | None
    nodes: Nodes
    degrees: Integers
    new_share: float
    fitted_edges: int

    def __post_init__(self) -> None:
        read_only(self.degrees)

    def without_curve(self) -> Side:
        """Return it without what is known of the degree distribution."""
        return replace(self, curve=None, curve_track=Track.unseen(0, drift=1e-4))


@dataclass(frozen=True, eq=False)
class SidedState:
    """The estimates for directed and two-sided graphs.

    Attributes
    ----------
    pairs
        The name of the kind.
    sides
        What is known of out- and in-degrees, or of degrees on the left and on the right.
    mixing
        The filtered share of edges for each pair of an out-class and an in-class.
    active, reciprocity
        Filtered shares of nodes that have an edge, and of edges whose reverse is there as well; of
        directed graphs.
    weights
        None if edges carry no weights.

    The others are as in `PlusState`.
    """

    pairs: str
    roster: Roster
    edge_count: int
    edges_per_node: Track
    persistence: Track
    sides: tuple[Side, Side]
    mixing: Track
    active: Track
    reciprocity: Track
    block_seed: int
    mode: Mode
    opened: int
    jumps: Jumps
    before_fall: SidedState | None
    weights: Weights | None

    @property
    def kind(self) -> Kind:
        """The kind of the graphs that are drawn."""
        return find_kind(self.pairs, None if self.weights is None else self.weights.largest)

    @property
    def known_weights(self) -> Weights | None:
        """What is known of weights; None if edges carry none."""
        return self.weights

    def scaled(self, factor: float) -> Self:
        """Return the state with all degrees multiplied by a factor."""
        one, other = (replace(side, nodes=side.nodes.scaled(factor)) for side in self.sides)
        return replace(self, sides=(one, other))

    def forgetting(self, *, curve: bool, mixing: bool) -> Self:
        """Return the state without what was known of structure, as far as it is measured again."""
        one, other = (side.without_curve() if curve else side for side in self.sides)
        unseen = Track.unseen(SIDE_CELLS, drift=0.0025)
        return replace(
            self,
            sides=(one, other),
            mixing=unseen if mixing else self.mixing,
            active=Track.unseen(1, drift=0.0025) if mixing else self.active,
            reciprocity=self.reciprocity.doubted(float(RECIPROCITY.variance[0])),
        )

    @property
    def numbers(self) -> NDArray[np.uint64]:
        """A random number for every node of the roster that stays with it, below 2⁵²."""
        first, second = (side.nodes.ties[: side.degrees.size] for side in self.sides)
        ties = first if self.kind.directed else np.concatenate([first, second])
        return (ties.astype(np.float64) * 2.0**52).astype(np.uint64)


AnyState = PlusState | SidedState
