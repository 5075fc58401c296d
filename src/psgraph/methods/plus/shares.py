"""What a timestamp of PSGraph+ spends on each query, and the occasion that decides it.

Shares are in the ε of one edge. Where the unit of privacy has several edges, the guarantee pays as
many times as much for each: so shares say how large the noise is, whatever the unit.

Privacy: shares and occasions are functions of public and released values; see `schedule`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from psgraph._runtime.records import UNSTORED_DEFAULT
from psgraph.graph.kind import Kind
from psgraph.privacy.unit import Edge, Owner, Unit

__all__ = [
    "NONE",
    "STRUCTURE",
    "Components",
    "KindShares",
    "Mode",
    "Occasion",
    "OwnerShares",
    "Shares",
    "owner_side",
]

Mode = Literal["undecided", "periodic", "steady"]

NONE = Fraction(0)
STRUCTURE = Fraction(32, 100)  # of what is left, the pool; the rest goes to nodes


_EDGE = Edge()


def owner_side(unit: Unit) -> int | None:
    """Return which end of its edges an owner is, 0 or 1; None if it is neither."""
    return {"first": 0, "second": 1}.get(unit.side or "") if isinstance(unit, Owner) else None


@dataclass(frozen=True)
class Components:
    """Which optional queries are made.

    `reciprocity` also counts active nodes; `two_sides` and `weights` say of which kind edges are.

    Attributes
    ----------
    owners
        The bound on the edges of an owner, where owners are counted in the place of edges;
        otherwise 0.
    owner_side
        Which end of its edges an owner is, 0 or 1; None if it is neither.
    """

    curve: bool = True
    hubs: bool = True
    persistence: bool = True
    clustering: bool = True
    reciprocity: bool = False
    two_sides: bool = False
    weights: bool = False
    labels: bool = False
    owners: int = 0
    owner_side: int | None = None

    def on(self, kind: Kind, unit: Unit = _EDGE) -> Components:
        """Return the components for graphs of a kind, and a unit of privacy."""
        if kind.sides == 1:
            return replace(self, weights=kind.weighted)
        side = owner_side(unit)
        counted = side is not None or (isinstance(unit, Owner) and kind.flows)
        return replace(
            self,
            hubs=False,
            clustering=False,
            reciprocity=kind.directed and not kind.flows,
            two_sides=True,
            weights=kind.weighted and not kind.flows,
            owners=unit.edges if counted else 0,
            owner_side=side,
        )

    @property
    def mixing(self) -> bool:
        """Whether the mixing of classes is measured: not if all owners are in one class."""
        return self.owners != 1 or self.owner_side is None


@dataclass(frozen=True)
class Shares:
    """What one timestamp spends on each query; 0 where it is not made.

    Attributes
    ----------
    timestamp, window
        Its number and w.
    pool
        What a whole window may spend on structure and nodes: all but edge counts and edges kept.
    opens
        Whether structure and nodes are bought for a window from here on.
    edges, persistence, curve, nodes, mixing, hubs, growth, blocks, triangles
        The ε of each query.
    agreement, label_edges
        The ε of the two queries about public labels.
    reserved
        Booked here for the persistence query of the next timestamp, which reads this snapshot.
    """

    timestamp: int
    window: int
    pool: Fraction
    opens: bool
    edges: Fraction
    persistence: Fraction
    reserved: Fraction
    curve: Fraction
    nodes: Fraction
    mixing: Fraction
    hubs: Fraction
    growth: Fraction
    blocks: Fraction
    triangles: Fraction
    agreement: Fraction = field(default=NONE, metadata=UNSTORED_DEFAULT)
    label_edges: Fraction = field(default=NONE, metadata=UNSTORED_DEFAULT)

    @property
    def on_count(self) -> Fraction:
        """The ε of the count at every timestamp, for what moves it by 1."""
        return self.edges

    @property
    def least_level(self) -> float:
        """The count per node below which its usual changes do not get smaller."""
        return 0.5

    @cached_property
    def fixed(self) -> Fraction:
        """What is spent on edge counts and edges kept."""
        return self.edges + self.persistence + self.reserved

    @cached_property
    def bought(self) -> Fraction:
        """What is spent on structure and nodes."""
        return self.curve + self.mixing + self.triangles + self.on_labels + self.on_nodes

    @cached_property
    def total(self) -> Fraction:
        return self.fixed + self.bought

    @cached_property
    def on_nodes(self) -> Fraction:
        """What is spent on node degrees, hub rows and communities."""
        return self.nodes + self.hubs + self.growth + self.blocks

    @cached_property
    def on_labels(self) -> Fraction:
        """What is spent on public labels."""
        return self.agreement + self.label_edges

    @property
    def node_window(self) -> Fraction:
        """What a whole window spends on nodes."""
        return self.pool - STRUCTURE * self.pool

    @property
    def needs_degrees(self) -> bool:
        """Whether any query depends on the degrees of this timestamp."""
        return bool(self.mixing or self.hubs or self.growth or self.triangles or self.agreement)


@dataclass(frozen=True)
class KindShares(Shares):
    """Shares with those of queries that only some kinds of graphs have.

    Attributes
    ----------
    active, reciprocity, weights, kept_weights
        The ε of active nodes, reciprocated pairs, weight classes, and edges kept in their class.
    reserved_weights
        Booked here for edges kept in their weight class, at the next timestamp.
    """

    active: Fraction = NONE
    reciprocity: Fraction = NONE
    weights: Fraction = NONE
    kept_weights: Fraction = NONE
    reserved_weights: Fraction = NONE

    @cached_property
    def fixed(self) -> Fraction:
        plain = self.edges + self.persistence + self.reserved
        return plain + self.kept_weights + self.reserved_weights

    @cached_property
    def bought(self) -> Fraction:
        structure = self.curve + self.mixing + self.triangles + self.on_labels
        return structure + self.active + self.reciprocity + self.weights + self.on_nodes


@dataclass(frozen=True)
class OwnerShares(KindShares):
    """Shares where owners are counted: `edges` is that of owners with an edge.

    Attributes
    ----------
    at_most
        The bound on the edges of an owner. An owner moves these counts by 1, and not by that.
    owner_sizes
        The ε of owners by number of edges.
    """

    at_most: int = 1
    owner_sizes: Fraction = NONE

    @property
    def on_count(self) -> Fraction:
        return self.at_most * self.edges

    @property
    def least_level(self) -> float:
        return 0.02  # of many nodes few are owners

    @property
    def on_sizes(self) -> Fraction:
        """The ε of owners by number of edges, for what moves them by 1."""
        return self.at_most * self.owner_sizes

    @cached_property
    def bought(self) -> Fraction:
        structure = self.curve + self.mixing + self.reciprocity + self.weights
        return structure + self.owner_sizes + self.on_nodes


@dataclass(frozen=True)
class Occasion:
    """What released values say about a timestamp before anything is bought.

    Attributes
    ----------
    mode
        How often node degrees are measured.
    due
        Whether the last purchase for a window was w timestamps ago, or there was none.
    waits
        Whether the edge count has just fallen: it may come back at the next timestamp.
    jump
        How far the edge count has moved from what structure and nodes were bought for, on a log
        scale; 0 if it has not.
    searches
        Whether communities were found for the first time at the timestamp before.
    recounts
        Whether edges kept should be counted at the next timestamp too, beyond the usual schedule.
    counts
        Whether the timestamp before has reserved for such a count here.
    """

    mode: Mode = "undecided"
    due: bool = True
    waits: bool = False
    jump: float = 0.0
    searches: bool = False
    recounts: bool = False
    counts: bool = False
