"""What PSGraph+ measures at one timestamp, and what it knows afterwards.

A measurement holds noisy values together with what they are values of: the shares they were bought
with, the classes and hubs that the counted edges were divided by. A state holds estimates made
from measurements, and no edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels, read_only
from psgraph.graph import Roster
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.communities import Communities, CommunityReadings, Search
from psgraph.methods.plus.curve import DegreeCurve
from psgraph.methods.plus.hubs import HubRows
from psgraph.methods.plus.nodes import Nodes
from psgraph.methods.plus.schedule import Mode, Shares
from psgraph.methods.plus.tracking import Track
from psgraph.methods.plus.triangles import Cap

__all__ = [
    "Jumps",
    "Movement",
    "PlusMeasurement",
    "PlusState",
    "Purpose",
    "SizeReadings",
    "StructureReadings",
]

Movement = Literal["none", "rise", "fall", "confirmed", "back"]  # of the edge count


class Purpose(IntEnum):
    """What random bits sealed in a measurement are used for: each has a generator of its own."""

    NEW_NODES = 0
    WANTED_DEGREES = 1
    PLAIN_GRAPH = 2
    NEW_MEMBERS = 3
    REHEARSED_PASSES = 4
    REHEARSED_GRAPHS = 5  # and one number for each graph


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

    def random(self, purpose: Purpose, number: int = 0) -> np.random.Generator:
        """Return the generator of one purpose."""
        return np.random.Generator(np.random.PCG64([self.seed, purpose + number]))


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
    """

    sizes: SizeReadings
    classes: Labels | None
    structure: StructureReadings
    communities: CommunityReadings | None


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

    def __post_init__(self) -> None:
        # As it comes out of a ledger, so that kernels are compiled for one type only.
        read_only(self.degrees)

    def communities_on(self, sizes: SizeReadings) -> Communities | None:
        """Return the communities that were found so far, on the roster of the next timestamp."""
        found = self.search.found
        return None if found is None else found.on(sizes.roster, sizes.random(Purpose.NEW_MEMBERS))

    @property
    def numbers(self) -> NDArray[np.uint64]:
        """A random number for every node of the roster that stays with it, below 2⁵²."""
        ties = self.nodes.ties[: len(self.roster)].astype(np.float64)
        return (ties * 2.0**52).astype(np.uint64)
