"""The queries of PSGraph+. All noise is exact.

| | query | sensitivity to one edge | asked |
|---|---|---|---|
| M | edges | 1 | always |
| K | edges kept since the timestamp before | 1 in each of two snapshots | once per window |
| C | degree curve | 2 | once per window, and after a jump of M |
| D | degrees | 2 | as scheduled |
| V | edges between degree classes | 1 | with C |
| H | edges of hubs | 1 | with D, where the budget allows |
| N | edges to labelled nodes (growth pass) | 1 | where communities are searched for |
| B | edges between communities | 1 | with N |
| T | triangles (ladder mechanism) | – | with C |
| | or those among the edges that a cap keeps | 2(cap − 1) | |

Every cell is released, also the empty ones. The sensitivities are proven in
proofs/psgraph-plus.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels, Positions
from psgraph.engines import counting
from psgraph.engines.runner import Job
from psgraph.graph.kind import UNDIRECTED, Edges
from psgraph.graph.parts import EdgeParts, Pairs, ranges
from psgraph.methods.plus.communities import Communities, CommunityReadings, run_passes
from psgraph.methods.plus.grid import thresholds
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.hubs import hub_cells
from psgraph.methods.plus.kind_queries import (
    ActiveNodes,
    KeptWeights,
    ReciprocatedPairs,
    WeightClassEdges,
)
from psgraph.methods.plus.labelling import Plan, Rows
from psgraph.methods.plus.mixing import CLASSES
from psgraph.methods.plus.noisy_triangles import CappedTriangles, Ladder, kept_by_both
from psgraph.methods.plus.schedule import KindShares, Shares
from psgraph.methods.plus.state import KindReadings, SizeReadings, StructureReadings
from psgraph.methods.plus.triangles import Cap, count_triangles, largest_common_neighbours
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import (
    EVERY_KIND,
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
]


@dataclass(frozen=True)
class KeptEdges(CountQuery):
    """K: the edges that were there at the timestamp before as well, matched by node id.

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
        before = edges.previous
        where = None
        if before.roster is not edges.roster and before.roster != edges.roster:
            where = edges.roster.positions_of(before.roster)
        return int(edges.engine.reduce(_common_job(edges.parts, before.parts, where), sum))


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
        return self.kind.largest_degree(*(self.sizes or (nodes,)), side=side)


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
    """T: the number of triangles.

    Privacy: no integer moves by more than one rung of the ladder when one edge changes.
    """

    label = "triangles"
    sensitivity = 1
    noise = Ladder.name
    proof = "proofs/ladder.md"
    subject = "the number of triangles"

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (1,)

    def answer(self, edges: PrivateEdges) -> tuple[int, int, int]:
        whole = Edges(*edges.parts.whole())
        reach = largest_common_neighbours(whole, edges.nodes)
        return count_triangles(whole, edges.nodes), reach, edges.nodes

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


#: The queries by the name of their share.
QUERIES: dict[str, tuple[type[Query[Any]], ...]] = {
    "edges": (EdgeCount,),
    "persistence": (KeptEdges,),
    "kept_weights": (KeptWeights,),
    "curve": (DegreeCurveCounts,),
    "active": (ActiveNodes,),
    "reciprocity": (ReciprocatedPairs,),
    "nodes": (Degrees,),
    "mixing": (ClassEdges,),
    "hubs": (HubEdges,),
    "growth": (GrowthRows,),
    "blocks": (FoundCommunityEdges,),
    "triangles": (TriangleCount, CappedTriangleCount),
    "weights": (WeightClassEdges,),
}


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
    noisy_edges = private.ask(EdgeCount(), epsilon=shares.edges)
    noisy_kept = noisy_curve = noisy_degrees = None
    if shares.persistence and private.has_previous:
        noisy_kept = private.ask(KeptEdges(), epsilon=shares.persistence)
    if shares.reserved:
        private.reserve(KeptEdges(), epsilon=shares.reserved)
    more = _kept_weights(private, shares)
    shares = buy(shares, noisy_edges)
    if shares.bought < free:
        private.give_back(free - shares.bought)
    if shares.curve or shares.nodes:
        if shares.curve:
            noisy_curve = private.ask(
                DegreeCurveCounts(private.roster.sizes, kind=kind), epsilon=shares.curve
            )
        shares = divide(shares, noisy_edges, noisy_curve)
        more |= _dyads(private, shares)
        if shares.nodes:
            noisy_degrees = private.ask(Degrees(kind=kind), epsilon=shares.nodes)
    readings = private.roster, shares, seed, noisy_edges, noisy_kept, noisy_curve, noisy_degrees
    if kind == UNDIRECTED:
        return SizeReadings(*readings)
    return KindReadings(*readings, kind.name, kind.largest_weight, **more)


def _kept_weights(private: PrivateSnapshot, shares: Shares) -> dict[str, Any]:
    """Ask how many edges kept their weight class, and reserve for the next timestamp."""
    found: dict[str, Any] = {}
    if isinstance(shares, KindShares) and private.kind.largest_weight is not None:
        query = KeptWeights(private.kind.largest_weight)
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
) -> StructureReadings:
    """Ask V, H and T: T of the edges that `cap` keeps, of all edges if there is none.

    Privacy: each costs its share for one edge. `classes`, `hubs`, `cap` and `numbers` must come
    from released values. proofs/psgraph-plus.md, proofs/ladder.md.
    """
    noisy_classes = noisy_hubs = noisy_triangles = None
    if shares.mixing:
        noisy_classes = private.ask(_class_query(private, classes), epsilon=shares.mixing)
    if shares.hubs:
        noisy_hubs = private.ask(HubEdges(classes, hubs), epsilon=shares.hubs)
    if shares.triangles:
        noisy_triangles = private.ask(
            TriangleCount()
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
    )


def _class_query(private: PrivateSnapshot, classes: Labels) -> ClassEdges:
    """V. Where edges have two sides, `classes` are those of first ends, then of second ends."""
    kind, first = private.kind, len(private.roster.sides[0])
    if kind.sides == 1:
        return ClassEdges(classes, CLASSES, kind=kind)
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


# ---- counting the edges that two graphs share, part by part ----

Read = Callable[[], "Pairs"]


def _common_job(one: EdgeParts, other: EdgeParts, where: Positions | None) -> Job:
    """Count the edges in both of two graphs: a task for every part of `one`, to be added up.

    `where` gives the positions in `one` of the nodes of the other graph, −1 for none. Rosters
    are sorted by id, so that the edges are still in order at their new positions.
    """
    theirs = [
        (read, *_moved_range(first, last, where))
        for read, (first, last) in zip(other.edges(), _ranges(other), strict=True)
    ]
    items = [
        (read, [other for other, begin, end in theirs if begin < last and first < end])
        for read, (first, last) in zip(one.edges(), _ranges(one), strict=True)
    ]
    return Job(_count_common, items, (where,))


def _ranges(parts: EdgeParts) -> list[tuple[int, int]]:
    return list(ranges(parts.nodes, parts.part_nodes))


def _moved_range(first: int, last: int, where: Positions | None) -> tuple[int, int]:
    """Where a range of nodes of the other graph is in this one."""
    if where is None:
        return first, last
    known = where[first:last][where[first:last] >= 0]
    return (int(known[0]), int(known[-1]) + 1) if known.size else (0, 0)


def _count_common(item: tuple[Read, Sequence[Read]], where: Positions | None) -> int:
    read, others = item
    if not others:
        return 0
    here = read()
    return sum(counting.common_edges(*here, *_moved(other(), where)) for other in others)


def _moved(edges: Pairs, where: Positions | None) -> tuple[Positions, Positions]:
    u, v = edges
    if where is None:
        return u, v
    u, v = where[u], where[v]
    known = (u >= 0) & (v >= 0)
    return u[known], v[known]
