"""The queries of PSGraph+. All noise is exact.

| | query | sensitivity to one edge | asked |
|---|---|---|---|
| M | edges | 1 | always |
| K | edges kept since the timestamp before | 1 in each of two snapshots | once or twice a window |
| C | degree curve | 2 | once per window, and after a jump of M |
| D | degrees | 2 | as scheduled |
| V | edges between degree classes | 1 | with C |
| H | edges of hubs | 1 | with D, where the budget allows |
| N | edges to labelled nodes (growth pass) | 1 | where communities are searched for |
| B | edges between communities | 1 | with N |
| P | edges by agreement of public labels | 1 | with C, where nodes have labels |
| B | edges between public labels | 1 | with P, in place of communities |
| T | triangles (ladder mechanism), of a sample of the edges where they are many | – | with C |
| | or those among the edges that a cap keeps | 2(cap − 1) | |

Every cell is released, also the empty ones. The sensitivities are proven in
proofs/psgraph-plus.md. Where the unit of privacy is an owner, `owner_queries` takes the place of
some of them. Of flows, every row counts as an edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels, Positions
from psgraph.engines.parallel import mapped
from psgraph.graph.kind import UNDIRECTED, Edges, Kind
from psgraph.methods.plus.communities import Communities, CommunityReadings, run_passes
from psgraph.methods.plus.grid import most_edges, thresholds
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.hubs import hub_cells
from psgraph.methods.plus.kept_edges import KeptEdges, KeptWeights
from psgraph.methods.plus.kind_queries import (
    ActiveNodes,
    ReciprocatedPairs,
    WeightClassEdges,
)
from psgraph.methods.plus.label_queries import AgreeingEdges, LabelEdges
from psgraph.methods.plus.labelling import Plan, Rows
from psgraph.methods.plus.mixing import CLASSES
from psgraph.methods.plus.noisy_triangles import CappedTriangles, Ladder, kept_by_both
from psgraph.methods.plus.owner_queries import (
    OwnClassEdges,
    OwnerCount,
    OwnersBySize,
    SideCurveCounts,
    SideDegrees,
)
from psgraph.methods.plus.readings import (
    KindReadings,
    OwnedReadings,
    SizeReadings,
    StructureReadings,
)
from psgraph.methods.plus.sampled_edges import Sample, sample_edges
from psgraph.methods.plus.shares import Components, KindShares, OwnerShares, Shares, owner_side
from psgraph.methods.plus.triangles import Cap, count_triangles, largest_common_neighbours
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import (
    BlockEdges,
    Degrees,
    EdgeCount,
    QueryOfKind,
    adjacency,
    degrees,
)
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.query import CountQuery, CountsQuery, Query

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges

__all__ = [
    "QUERIES",
    "CappedTriangleCount",
    "ClassEdges",
    "DegreeCurveCounts",
    "FoundCommunityEdges",
    "GrowthRows",
    "HubEdges",
    "KeptEdges",
    "TriangleCount",
    "measure_communities",
    "measure_sizes",
    "measure_structure",
    "measure_weights",
    "queries_of",
]


@dataclass(frozen=True, eq=False)
class DegreeCurveCounts(CountsQuery, QueryOfKind[Integers]):
    """C: how many nodes have at least k neighbours, for a public grid of k; on both sides, if two.

    Privacy: an edge adds 1 to two degrees, and each moves one node over at most one threshold.

    Parameters
    ----------
    sizes
        The number of nodes on each side, where edges have two.
    """

    sizes: tuple[int, ...] = ()

    label = "degree curve"
    sensitivity = 2
    proof = "proofs/psgraph-plus.md"
    subject = "the number of nodes with at least k neighbours"

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (sum(points.size for points in self._thresholds(nodes)),)

    def answer(self, edges: PrivateEdges) -> Integers:
        counts, found = [], degrees(edges)
        for side, points in enumerate(self._thresholds(edges.nodes)):
            own = found[: len(edges.roster.sides[side])]
            found = found[own.size :]
            most = self._most(edges.nodes, side)
            tail = np.cumsum(np.bincount(own, minlength=most + 1)[::-1])[::-1]
            counts.append(tail[points])
        return np.concatenate(counts)

    def _thresholds(self, nodes: int) -> list[Integers]:
        return [thresholds(self._most(nodes, side) + 1) for side in range(self.kind.sides)]

    def _most(self, nodes: int, side: int) -> int:
        return most_edges(self.kind, self.sizes or (nodes,), side)


@dataclass(frozen=True, eq=False)
class ClassEdges(BlockEdges):
    """V: the edges between degree classes, which come from released values.

    Privacy: an edge is in one cell, which it moves by 1.
    """

    label = "edges between degree classes"
    subject = "the edges between two degree classes"


@dataclass(frozen=True, eq=False)
class HubEdges(CountsQuery):
    """H: the edges of each hub with every other hub and with every degree class.

    Privacy: an edge is in at most one cell, which it moves by 1; `classes` and `hubs` are
    released.
    """

    classes: Labels
    hubs: Integers

    label = "edges of hubs"
    sensitivity = 1
    proof = "proofs/psgraph-plus.md"
    subject = "the edges of a hub with another hub or a degree class"

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return hub_cells(self.hubs.size).shape

    def answer(self, edges: PrivateEdges) -> Integers:
        labels = self.classes.copy()
        labels[self.hubs] = CLASSES + np.arange(self.hubs.size, dtype=np.int32)
        counts = ClassEdges(labels, CLASSES + self.hubs.size).answer(edges)
        return counts[hub_cells(self.hubs.size)]


@dataclass(frozen=True, eq=False)
class GrowthRows(Query[Rows]):
    """N: every node's edges to the nodes labelled before it, by label; see `GrowthPass`.

    Privacy: given the rows before, an edge changes one cell of one row by 1; `plan` is released.
    """

    plan: Plan

    label = "edges to labelled nodes"
    sensitivity = 1
    noise = GrowthPass.name
    proof = "proofs/growth-pass.md"
    subject = "a node's edges with the nodes labelled before it, by community"

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return self.plan.evidence.shape

    def answer(self, edges: PrivateEdges) -> tuple[Integers, Positions]:
        return adjacency(edges)

    def mechanism(self, answer: tuple[Integers, Positions]) -> Mechanism[Rows]:
        return GrowthPass(*answer, self.plan)


@dataclass(frozen=True, eq=False)
class FoundCommunityEdges(BlockEdges):
    """B: the edges between communities, which come from released rows.

    Privacy: an edge is in one cell, which it moves by 1.
    """

    label = "edges between communities"
    subject = "the edges between two communities"
    kinds = frozenset({UNDIRECTED.name})


@dataclass(frozen=True)
class TriangleCount(Query[int]):
    """T: the number of triangles, of all edges or of a sample of them.

    Privacy: no integer moves by more than one rung of the ladder when one edge changes. `sample`
    is a function of released values and of a public key.
    """

    sample: Sample | None = None

    label = "triangles"
    sensitivity = 1
    noise = Ladder.name
    proof = "proofs/ladder.md"
    subject = "the number of triangles"

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (1,)

    def answer(self, edges: PrivateEdges) -> tuple[int, int, int]:
        if self.sample is None:
            counted = Edges(*edges.parts.whole())
        else:
            counted = sample_edges(edges.parts, self.sample, edges.engine)
        search, count = largest_common_neighbours, count_triangles
        # The search takes one core and about as long as the count does on one.
        reach, triangles = mapped(
            (partial(each, counted, edges.nodes) for each in (search, count)), threads=2
        )
        return triangles, reach, edges.nodes

    def mechanism(self, answer: tuple[int, int, int]) -> Mechanism[int]:
        return Ladder(*answer)


@dataclass(frozen=True, eq=False)
class CappedTriangleCount(CountQuery):
    """T of the edges that are among the first ones of both ends, in an order without edges.

    Privacy: one edge moves it by at most 2(cap − 1); `cap` and `numbers` are released.
    """

    cap: Cap
    numbers: NDArray[np.uint64]

    label = "triangles"
    noise = CappedTriangles.name
    proof = "proofs/psgraph-plus.md"
    subject = "the number of triangles among the first edges of every node"

    @property
    def sensitivity(self) -> int:  # type: ignore[override]
        return self.cap.sensitivity

    def answer(self, edges: PrivateEdges) -> int:
        kept = kept_by_both(Edges(*edges.parts.whole()), self.numbers, self.cap.edges)
        return count_triangles(kept, edges.nodes)

    def mechanism(self, answer: int) -> Mechanism[int]:
        return CappedTriangles(answer, self.sensitivity)


OWNED = (OwnerCount, OwnersBySize, SideCurveCounts, SideDegrees, OwnClassEdges)

#: The queries by the name of their share.
QUERIES: dict[str, tuple[type[Query[Any]], ...]] = {
    "edges": (EdgeCount, OwnerCount),
    "persistence": (KeptEdges,),
    "kept_weights": (KeptWeights,),
    "owner_sizes": (OwnersBySize,),
    "curve": (DegreeCurveCounts, SideCurveCounts),
    "active": (ActiveNodes,),
    "reciprocity": (ReciprocatedPairs,),
    "nodes": (Degrees, SideDegrees),
    "mixing": (ClassEdges, OwnClassEdges),
    "hubs": (HubEdges,),
    "growth": (GrowthRows,),
    "blocks": (FoundCommunityEdges,),
    "triangles": (TriangleCount, CappedTriangleCount),
    "weights": (WeightClassEdges,),
    "agreement": (AgreeingEdges,),
    "label_edges": (LabelEdges,),
}


AnyQuery = Query[Any] | type[Query[Any]]


def queries_of(components: Components, kind: Kind) -> dict[str, tuple[AnyQuery, ...]]:
    """Return the queries by the name of their share, for graphs of a kind and what is protected.

    Where a statement depends on the bound on the edges of an owner, the query is made for it.
    """
    owners, side = components.owners, components.owner_side
    found: dict[str, tuple[AnyQuery, ...]] = {
        name: tuple(each for each in queries if each not in OWNED)
        for name, queries in QUERIES.items()
    }
    if owners:
        found |= {"edges": (OwnerCount(),), "owner_sizes": (OwnersBySize(owners),)}
    if side is not None:
        found["curve"] = (SideCurveCounts((), 1 - side, kind=kind),)
        found["nodes"] = (SideDegrees((), 1 - side, kind=kind),)
        nobody = np.zeros(0, dtype=np.int32)
        found["mixing"] = (OwnClassEdges(nobody, side, owners, kind=kind),)
    return found


def measure_sizes(
    private: PrivateSnapshot,
    shares: Shares,
    free: Fraction,
    *,
    buy: Callable[[Shares, int], Shares],
    divide: Callable[[Shares, int, Integers | None], Shares],
) -> SizeReadings:
    """Ask M, K, C and D; of directed graphs A and R as well.

    `buy` fixes what is bought of what is free, from the noisy edge count; the rest is given back.
    `divide` fixes what of it goes to a search for communities, from that and the noisy curve.

    Privacy: each costs its share for one edge. K reads two snapshots, and the one before has
    paid for it; without that snapshot (after a restart) it is not asked. proofs/psgraph-plus.md.
    """
    kind = private.kind
    seed = private.random_seed()
    owned = isinstance(shares, OwnerShares)
    noisy_edges = private.ask(OwnerCount() if owned else EdgeCount(), epsilon=shares.edges)
    noisy_kept = noisy_curve = noisy_degrees = None
    if shares.persistence and private.has_previous:
        noisy_kept = private.ask(KeptEdges(), epsilon=shares.persistence)
    if shares.reserved:
        private.reserve(KeptEdges(), epsilon=shares.reserved)
    more = _kept_weights(private, shares)
    fixed, shares = shares, buy(shares, noisy_edges)
    if shares.total < fixed.total + free:
        private.give_back(fixed.total + free - shares.total)
    if shares.persistence > fixed.persistence and private.has_previous:
        noisy_kept = private.ask(KeptEdges(), epsilon=shares.persistence)
    if shares.reserved > fixed.reserved:
        private.reserve(KeptEdges(), epsilon=shares.reserved)
    if shares.curve or shares.nodes:
        if shares.curve:
            noisy_curve = private.ask(_curve_query(private), epsilon=shares.curve)
        shares = divide(shares, noisy_edges, noisy_curve)
        more |= _dyads(private, shares)
        if shares.nodes:
            noisy_degrees = private.ask(_degree_query(private), epsilon=shares.nodes)
    if isinstance(shares, OwnerShares) and shares.owner_sizes:
        query = OwnersBySize(shares.at_most)
        more["noisy_owner_sizes"] = private.ask(query, epsilon=shares.owner_sizes)
    readings = private.roster, shares, seed, noisy_edges, noisy_kept, noisy_curve, noisy_degrees
    if kind == UNDIRECTED:
        return SizeReadings(*readings)
    of_kind = kind.name, None if kind.flows else kind.largest_weight
    more["flows"] = kind.flows
    if not isinstance(shares, OwnerShares):
        return KindReadings(*readings, *of_kind, **more)
    more |= {"at_most": shares.at_most, "owner_side": owner_side(private.unit)}
    return OwnedReadings(*readings, *of_kind, **more)


def _curve_query(private: PrivateSnapshot) -> CountsQuery:
    """C: of both sides, or of the one that is not owners."""
    kind, sizes, owners = private.kind, private.roster.sizes, owner_side(private.unit)
    if owners is None or kind.sides == 1:
        return DegreeCurveCounts(sizes, kind=kind)
    return SideCurveCounts(sizes, 1 - owners, kind=kind)


def _degree_query(private: PrivateSnapshot) -> CountsQuery:
    """D, likewise."""
    kind, sizes, owners = private.kind, private.roster.sizes, owner_side(private.unit)
    if owners is None or kind.sides == 1:
        return Degrees(kind=kind)
    return SideDegrees(sizes, 1 - owners, kind=kind)


def _kept_weights(private: PrivateSnapshot, shares: Shares) -> dict[str, Any]:
    """Ask how many edges kept their weight class, and reserve for the next timestamp."""
    found: dict[str, Any] = {}
    largest = private.kind.largest_weight
    if isinstance(shares, KindShares) and largest is not None and not private.kind.flows:
        query = KeptWeights(largest)
        if shares.kept_weights and private.has_previous:
            found["noisy_kept_weights"] = private.ask(query, epsilon=shares.kept_weights)
        if shares.reserved_weights:
            private.reserve(query, epsilon=shares.reserved_weights)
    return found


def _dyads(private: PrivateSnapshot, shares: Shares) -> dict[str, Any]:
    """Ask A and R, of directed graphs."""
    found: dict[str, Any] = {}
    if isinstance(shares, KindShares) and shares.active:
        found["noisy_active_nodes"] = private.ask(ActiveNodes(), epsilon=shares.active)
    if isinstance(shares, KindShares) and shares.reciprocity:
        found["noisy_reciprocated"] = private.ask(ReciprocatedPairs(), epsilon=shares.reciprocity)
    return found


def measure_structure(
    private: PrivateSnapshot,
    classes: Labels,
    hubs: Integers,
    shares: Shares,
    *,
    cap: Cap | None = None,
    numbers: NDArray[np.uint64] | None = None,
    sample: Sample | None = None,
) -> StructureReadings:
    """Ask V, H and T: T of a sample or of the edges that `cap` keeps, of all edges without both.

    Privacy: each costs its share for one edge. `classes`, `hubs`, `cap`, `numbers` and `sample`
    must come from released values. proofs/psgraph-plus.md, proofs/ladder.md.
    """
    noisy_classes = noisy_hubs = noisy_triangles = None
    if shares.mixing:
        noisy_classes = private.ask(_class_query(private, classes), epsilon=shares.mixing)
    if shares.hubs:
        noisy_hubs = private.ask(HubEdges(classes, hubs), epsilon=shares.hubs)
    if shares.triangles:
        noisy_triangles = private.ask(
            TriangleCount(sample)
            if cap is None or numbers is None
            else CappedTriangleCount(cap, numbers),
            epsilon=shares.triangles,
        )
    return StructureReadings(
        noisy_classes,
        hubs if shares.hubs else None,
        noisy_hubs,
        noisy_triangles,
        cap if shares.triangles else None,
        sample if shares.triangles else None,
    )


def _class_query(private: PrivateSnapshot, classes: Labels) -> CountsQuery:
    """V. Where edges have two sides, `classes` are those of first ends, then of second ends."""
    kind, first = private.kind, len(private.roster.sides[0])
    if kind.sides == 1:
        return ClassEdges(classes, CLASSES, kind=kind)
    owners = owner_side(private.unit)
    if owners is not None:
        others = classes[:first] if owners else classes[first:]
        return OwnClassEdges(others, owners, private.unit.edges, kind=kind)
    tails = np.concatenate([np.zeros(private.roster.offset, dtype=np.int32), classes[first:]])
    heads = np.concatenate([classes[:first], np.zeros(tails.size - first, dtype=np.int32)])
    return ClassEdges(heads, CLASSES, kind=kind, tail_labels=tails, tail_blocks=CLASSES)


def measure_weights(private: PrivateSnapshot, shares: Shares) -> Integers | None:
    """Ask H, where structure is bought.

    Privacy: costs its share for one edge with its weight, and less than what was asked before for
    another weight of an edge. proofs/weights.md.
    """
    largest = private.kind.largest_weight
    if largest is None or not isinstance(shares, KindShares) or not shares.weights:
        return None
    return private.ask(WeightClassEdges(largest), epsilon=shares.weights)


def measure_communities(
    private: PrivateSnapshot,
    found: Communities | None,
    order: Integers,
    degrees: Integers,
    shares: Shares,
) -> CommunityReadings:
    """Ask N and B.

    Privacy: each costs its share for one edge. The passes of N share theirs. `found`, `order` and
    `degrees` must come from released values. proofs/growth-pass.md, proofs/psgraph-plus.md.
    """
    noisy_rows = []

    def release(plan: Plan, epsilon: Fraction) -> Rows:
        noisy_rows.append(private.ask(GrowthRows(plan), epsilon=epsilon))
        return noisy_rows[-1]

    progress = run_passes(found, order, degrees, shares.growth, release)
    query = FoundCommunityEdges(progress.found, progress.plan.labels)
    return CommunityReadings(tuple(noisy_rows), private.ask(query, epsilon=shares.blocks))
