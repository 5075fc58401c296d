"""What PSGraph+ knows after a timestamp: estimates made from measurements, and no edges."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels, read_only
from psgraph._runtime.records import UNSTORED_DEFAULT
from psgraph.graph import Roster
from psgraph.graph.kind import UNDIRECTED, Kind, find_kind
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.communities import Communities, Search
from psgraph.methods.plus.curve import DegreeCurve
from psgraph.methods.plus.hubs import HubRows
from psgraph.methods.plus.label_blocks import LabelBlocks
from psgraph.methods.plus.label_book import LabelBook
from psgraph.methods.plus.mixing import CELLS, CLASSES, degree_classes
from psgraph.methods.plus.nodes import Nodes
from psgraph.methods.plus.owners import Owners, class_counts, own_classes
from psgraph.methods.plus.readings import Purpose, SizeReadings
from psgraph.methods.plus.shares import Mode
from psgraph.methods.plus.tracking import Track
from psgraph.methods.plus.weights import Weights

__all__ = [
    "RECIPROCITY",
    "AnyState",
    "Jumps",
    "Movement",
    "OwnedState",
    "PlusState",
    "Side",
    "SidedState",
    "WeightedState",
    "label_book",
]

#: What is believed of the share of reciprocated edges before it is measured.
RECIPROCITY = Track.start(0.3, variance=0.06, drift=0.0025)

Movement = Literal["none", "rise", "fall", "confirmed", "back"]  # of the edge count


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
    def counted(self) -> int:
        """The number of what is counted at every timestamp: edges."""
        return self.edge_count

    @property
    def used(self) -> int:
        """The number of edges that are used."""
        return self.edge_count

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
    flows: bool = field(default=False, metadata=UNSTORED_DEFAULT)

    @property
    def kind(self) -> Kind:
        """The kind of the graphs that are drawn."""
        largest = None if self.weights is None else self.weights.largest
        return find_kind(self.pairs, largest, self.flows)

    @property
    def counted(self) -> int:
        """The number of what is counted at every timestamp: edges, or owners."""
        return self.edge_count

    @property
    def used(self) -> int:
        """The number of edges that are used, which a bound on those of an owner may limit."""
        return self.edge_count

    @property
    def classes(self) -> tuple[Labels, Labels]:
        """The class of every first end, and of every second end."""
        one, other = (degree_classes(side.degrees) for side in self.sides)
        return one, other

    @property
    def class_counts(self) -> tuple[int, int]:
        """The number of classes that the mixing has on each side."""
        return CLASSES, CLASSES

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
        unseen = Track.unseen(self.mixing.level.size, drift=0.0025)
        return replace(
            self,
            sides=(one, other),
            mixing=unseen if mixing else self.mixing,
            active=Track.unseen(1, drift=0.0025),  # it moves with the number of edges
            reciprocity=self.reciprocity.doubted(float(RECIPROCITY.variance[0])),
        )

    @property
    def numbers(self) -> NDArray[np.uint64]:
        """A random number for every node of the roster that stays with it, below 2⁵²."""
        first, second = (side.nodes.ties[: side.degrees.size] for side in self.sides)
        ties = first if self.kind.directed else np.concatenate([first, second])
        return (ties.astype(np.float64) * 2.0**52).astype(np.uint64)


@dataclass(frozen=True, eq=False)
class OwnedState(SidedState):
    """The estimates for directed and two-sided graphs where the unit of privacy is an owner.

    `edges_per_node` is the filtered number of owners per node.

    Attributes
    ----------
    owners
        What is known of owners: how many there are, and their numbers of edges.
    owner_side
        Which end of its edges an owner is, 0 or 1; None if it is neither.
    """

    owners: Owners = field(kw_only=True)
    owner_side: int | None = field(kw_only=True)

    @property
    def counted(self) -> int:
        return self.owners.count

    @property
    def used(self) -> int:
        return self.owners.used

    @property
    def classes(self) -> tuple[Labels, Labels]:
        one, other = (degree_classes(side.degrees) for side in self.sides)
        if self.owner_side is None:
            return one, other
        own = own_classes(self.sides[self.owner_side].degrees, self.owners.at_most)
        return (one, own) if self.owner_side else (own, other)

    @property
    def class_counts(self) -> tuple[int, int]:
        return class_counts(self.owners.at_most, self.owner_side)


AnyState = PlusState | SidedState
