"""What PSGraph+ measures at one timestamp, and what it knows afterwards.

A measurement holds noisy values together with what they are values of: the shares they were bought
with, the classes and hubs that the counted edges were divided by. A state holds estimates made
from measurements, and the last synthetic graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from psgraph._runtime.arrays import Integers, Labels
from psgraph.graph import Roster
from psgraph.graph.frozen import read_only
from psgraph.methods.plus.capped import Cap
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.communities import CommunityReadings, Search
from psgraph.methods.plus.curve import DegreeCurve
from psgraph.methods.plus.hubs import HubRows
from psgraph.methods.plus.nodes import Nodes
from psgraph.methods.plus.schedule import Mode, Shares
from psgraph.methods.plus.tracking import Track

__all__ = ["PlusMeasurement", "PlusState", "SizeReadings", "StructureReadings"]


@dataclass(frozen=True)
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
        K: edges that were also there at the timestamp before. None if not asked.
    noisy_curve
        C: nodes with at least k neighbours, for each of `grid.thresholds`. None if not asked.
    noisy_degrees
        D, in roster order. None if not asked.
    """

    roster: Roster
    shares: Shares
    seed: int
    noisy_edge_count: int
    noisy_kept_edges: int | None
    noisy_curve: Integers | None
    noisy_degrees: Integers | None


@dataclass(frozen=True)
class StructureReadings:
    """The other queries: where edges run, given released degrees.

    Attributes
    ----------
    noisy_class_edges
        V: edges between degree classes. None if not asked.
    hubs
        The positions of the hubs, the largest first. None if not asked.
    noisy_hub_edges
        H: hubs × classes, then pairs of hubs i < j row by row.
    noisy_triangles
        T. None if not asked.
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
        None where no search was asked.
    """

    sizes: SizeReadings
    classes: Labels | None
    structure: StructureReadings
    communities: CommunityReadings | None


@dataclass(frozen=True)
class PlusState:
    """The estimates of PSGraph+ and the last synthetic graph.

    Attributes
    ----------
    roster, u, v
        The synthetic graph.
    edge_count
        Its number of edges.
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
        How node degrees are asked, and the smoothed share of new nodes among the largest.
    search
        The communities in use, and when to look for them again.
    """

    roster: Roster
    u: Labels
    v: Labels
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

    def __post_init__(self) -> None:
        # As they come out of a ledger, so that kernels are compiled for one type only.
        for array in (self.u, self.v):
            read_only(array)
