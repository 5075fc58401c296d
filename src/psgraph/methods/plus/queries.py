"""The nine questions PSGraph+ asks about private edges. All noise is exact.

| | question | sensitivity to one edge | asked |
|---|---|---|---|
| M | edges | 1 | always |
| K | edges also there at the timestamp before | 1 in each of two snapshots | once per window |
| C | nodes with at least k neighbours | 2 | once per window |
| D | degrees | 2 | as scheduled |
| V | edges between degree classes | 1 | once per window |
| H | edges of hubs with hubs and classes | 1 | with D, where the budget allows |
| N | edges to nodes earlier in a growth pass, by label | 1 | where communities are searched |
| B | edges between communities | 1 | with N |
| T | triangles (ladder mechanism) | – | once per window |
| | or those of the edges that a cap keeps | 2(cap − 1) | |

Every cell is released, also the empty ones. The sensitivities are proven in
proofs/psgraph-plus.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels
from psgraph.engines.base import Edges, Engine
from psgraph.graph import Snapshot
from psgraph.methods.base import Unit
from psgraph.methods.plus.capped import Cap
from psgraph.methods.plus.capped_triangles import CappedTriangles, kept_by_both
from psgraph.methods.plus.communities import Communities, CommunityReadings, run_passes
from psgraph.methods.plus.grid import thresholds
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.hubs import hub_cells
from psgraph.methods.plus.labelling import Plan, Rows
from psgraph.methods.plus.ladder import Ladder
from psgraph.methods.plus.mixing import CLASSES
from psgraph.methods.plus.schedule import Shares
from psgraph.methods.plus.state import SizeReadings, StructureReadings
from psgraph.methods.plus.triangles import count_triangles, largest_common_neighbours
from psgraph.privacy.budget import Budget
from psgraph.privacy.mechanisms.laplace import LaplaceCount, LaplaceCounts

__all__ = [
    "LABELS",
    "SUBJECTS",
    "UNITS",
    "measure_communities",
    "measure_sizes",
    "measure_structure",
]


#: What the trace calls each query, and its sensitivity.
LABELS = {
    "edges": ("edges", 1),
    "persistence": ("edges kept", 1),
    "reserved": ("edges kept, at the next timestamp", 1),
    "curve": ("degree curve", 2),
    "nodes": ("degrees", 2),
    "mixing": ("edges between degree classes", 1),
    "hubs": ("edges of hubs", 1),
    "growth": ("edges to labelled nodes", 1),
    "blocks": ("edges between communities", 1),
    "triangles": ("triangles", 1),
}

#: What one noisy value of each query with Laplace noise is about.
SUBJECTS = {
    "edges": "the number of edges",
    "persistence": "the number of edges that were there before",
    "curve": "the number of nodes with at least k neighbours",
    "nodes": "a node's degree",
    "mixing": "the edges between two degree classes",
    "hubs": "the edges of a hub with another hub or a degree class",
    "growth": "a node's edges with the nodes labelled before it, by community",
    "blocks": "the edges between two communities",
}

#: The queries that count what every graph has.
UNITS: dict[str, Unit] = {"edges": "edges", "nodes": "degree"}


def _as_scheduled(shares: Shares, noisy_edges: int, noisy_curve: Integers | None) -> Shares:
    del noisy_edges, noisy_curve
    return shares


def measure_sizes(
    snapshot: Snapshot,
    previous: Snapshot | None,
    shares: Shares,
    budget: Budget,
    engine: Engine,
    *,
    divide: Callable[[Shares, int, Integers | None], Shares] = _as_scheduled,
) -> SizeReadings:
    """Ask M, K, C and D.

    `divide` fixes the shares of the later queries from the noisy edge count and curve.

    Privacy: M, C and D cost their shares for one edge. K reads two snapshots. For one edge of
    this one it moves by 1 and costs `shares.persistence`; for one edge of the snapshot before it
    moves by 1 too and costs the same, which that timestamp has reserved. Without the snapshot
    before (after a restart) it is not asked. proofs/psgraph-plus.md.
    """
    seed = budget.random_seed()
    noisy_edges = _count(engine.edge_count(snapshot), "edges", shares.edges, budget)
    noisy_kept = None
    if shares.persistence and previous is not None:
        kept = engine.common_edges(snapshot, previous)
        noisy_kept = _count(kept, "persistence", shares.persistence, budget)
    if shares.reserved:
        budget.reserve(shares.reserved, label=LABELS["reserved"][0])
    noisy_curve = noisy_degrees = None
    if shares.curve or shares.nodes:
        nodes = len(snapshot.roster)
        degrees, _ = engine.split_degrees(snapshot, np.zeros(nodes, dtype=np.int32))
        if shares.curve:
            noisy_curve = _counts(_at_least(degrees, nodes), "curve", shares.curve, budget)
        shares = divide(shares, noisy_edges, noisy_curve)
        if shares.nodes:
            noisy_degrees = _counts(degrees, "nodes", shares.nodes, budget)
    return SizeReadings(
        snapshot.roster, shares, seed, noisy_edges, noisy_kept, noisy_curve, noisy_degrees
    )


def measure_structure(
    snapshot: Snapshot,
    classes: Labels,
    hubs: Integers,
    shares: Shares,
    budget: Budget,
    engine: Engine,
    *,
    cap: Cap | None = None,
    numbers: NDArray[np.uint64] | None = None,
) -> StructureReadings:
    """Ask V, H and T: T of the edges that `cap` keeps, of all edges if there is none.

    Privacy: each costs its share for one edge. `classes`, `hubs`, `cap` and `numbers` must come
    from released values; an edge is then in one cell of V and in at most one of H, and moves a
    capped T by at most 2(cap − 1). proofs/psgraph-plus.md, proofs/ladder.md.
    """
    noisy_classes = noisy_hubs = noisy_triangles = None
    if shares.mixing:
        cells = _block_counts(snapshot, classes, CLASSES, engine)
        noisy_classes = _counts(cells, "mixing", shares.mixing, budget)
    if shares.hubs:
        labels = classes.copy()
        labels[hubs] = CLASSES + np.arange(hubs.size, dtype=np.int32)
        counts = _block_counts(snapshot, labels, CLASSES + hubs.size, engine)
        cells = counts[hub_cells(hubs.size)]
        noisy_hubs = _counts(cells, "hubs", shares.hubs, budget)
    if shares.triangles:
        noisy_triangles = budget.run(
            _triangles(Edges(snapshot.u, snapshot.v), len(snapshot.roster), cap, numbers),
            epsilon=shares.triangles,
            label=LABELS["triangles"][0],
        )
    return StructureReadings(
        noisy_classes,
        hubs if shares.hubs else None,
        noisy_hubs,
        noisy_triangles,
        cap if shares.triangles else None,
    )


def _triangles(
    edges: Edges, nodes: int, cap: Cap | None, numbers: NDArray[np.uint64] | None
) -> CappedTriangles | Ladder:
    """Return the mechanism that counts triangles."""
    if cap is None or numbers is None:
        reach = largest_common_neighbours(edges, nodes)
        return Ladder(count_triangles(edges, nodes), reach, nodes)
    kept = kept_by_both(edges, numbers, cap.edges)
    return CappedTriangles(count_triangles(kept, nodes), cap.sensitivity)


def measure_communities(
    snapshot: Snapshot,
    found: Communities | None,
    order: Integers,
    degrees: Integers,
    shares: Shares,
    budget: Budget,
    engine: Engine,
) -> CommunityReadings:
    """Ask N and B.

    Privacy: each costs its share for one edge. The passes of N share theirs. `found`, `order` and
    `degrees` must come from released values. proofs/growth-pass.md, proofs/psgraph-plus.md.
    """
    starts, neighbours = engine.adjacency(snapshot)
    noisy_rows = []

    def release(plan: Plan, epsilon: Fraction) -> Rows:
        drawn = GrowthPass(starts, neighbours, plan)
        noisy_rows.append(budget.run(drawn, epsilon=epsilon, label=LABELS["growth"][0]))
        return noisy_rows[-1]

    progress = run_passes(found, order, degrees, shares.growth, release)
    cells = _block_counts(snapshot, progress.found, progress.plan.labels, engine)
    noisy_blocks = _counts(cells, "blocks", shares.blocks, budget)
    return CommunityReadings(tuple(noisy_rows), noisy_blocks)


def _at_least(degrees: Integers, nodes: int) -> Integers:
    """Count the nodes with at least k neighbours for each threshold."""
    tail = np.cumsum(np.bincount(degrees, minlength=max(nodes, 1))[::-1])[::-1]
    return tail[thresholds(nodes)]


def _block_counts(snapshot: Snapshot, labels: Labels, blocks: int, engine: Engine) -> Integers:
    found = engine.block_counts(snapshot, labels, blocks, inside=True)
    counts = np.zeros(found.size, dtype=np.int64)
    counts[found.cells] = found.counts
    return counts


def _count(value: int, query: str, epsilon: Fraction, budget: Budget) -> int:
    label, sensitivity = LABELS[query]
    return budget.run(LaplaceCount(value, sensitivity), epsilon=epsilon, label=label)


def _counts(values: Integers, query: str, epsilon: Fraction, budget: Budget) -> Integers:
    label, sensitivity = LABELS[query]
    return budget.run(LaplaceCounts(values, sensitivity), epsilon=epsilon, label=label)
