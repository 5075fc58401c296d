"""From estimates to the graph of one timestamp.

Mixing between classes and hubs becomes integer blocks, the blocks become a graph that keeps edges
of the release before, and pairs of edges are swapped towards the wanted number of triangles. All
of it is post-processing of sealed values and of the release before.
"""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Labels
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph._runtime.resources import phase
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import Edges
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.degrees import kept_share, steadiness
from psgraph.methods.plus.hubs import with_hubs
from psgraph.methods.plus.mixing import (
    CLASSES,
    affinity,
    class_mixing,
    degree_classes,
    divided,
    integer_blocks,
)
from psgraph.methods.plus.realisation import Target, realise
from psgraph.methods.plus.state import PlusState
from psgraph.methods.plus.swaps import State, below, swap_triangles
from psgraph.methods.plus.triangles import count_triangles, wedge_count

__all__ = ["draw", "old_edges", "swapped", "target_of"]


CLOSE, CLOSE_WHERE_EDGES_STAY = 0.02, 0.1  # how far the number of triangles may be off


def draw(
    state: PlusState, previous: SyntheticGraph | None, rng: np.random.Generator
) -> SyntheticGraph:
    """Draw a graph with the wanted degrees, mixing and triangles, grown from the release before."""
    kept = kept_share(state.persistence)
    with phase("mixing"):
        target = target_of(state)
    with phase("realisation"):
        candidates = old_edges(previous, state.roster, kept, rng)
        edges = realise(target, kept=candidates, rng=rng)
    with phase("clustering"):
        edges = swapped(edges, state.clustering, target, kept, rng)
    return SyntheticGraph(state.roster, edges.u, edges.v)


def target_of(state: PlusState) -> Target:
    """Return degrees, labels and integer blocks.

    Labels are the classes, divided by community if any are in use, and one for each hub with a
    row.
    """
    degrees, rows = state.degrees, state.hub_rows
    labels = classes = degree_classes(degrees)
    mixing = class_mixing(degrees, classes, state.mixing, state.edge_count)
    identities = np.arange(CLASSES, dtype=np.uint64)
    if rows is not None:
        mixing = with_hubs(rows, mixing, degrees, classes)
        labels = classes.copy()
        labels[rows.hubs] = CLASSES + np.arange(rows.hubs.size, dtype=np.int32)
        identities = np.concatenate([identities, state.numbers[rows.hubs]])
    found = state.search.in_use
    if found is None:
        blocks = integer_blocks(mixing.matrix, identities, state.block_seed, classes=CLASSES)
        return Target(degrees, labels, *blocks, state.edge_count)
    ratios = affinity(found.blocks, found.labels, degrees, found.count)
    smaller = divided(mixing.matrix, labels, found.labels, ratios, degrees)
    identities = np.where(
        smaller.parents < CLASSES,
        identities[smaller.parents] + np.uint64(CLASSES) * smaller.communities.astype(np.uint64),
        identities[smaller.parents],
    )
    blocks = integer_blocks(smaller.matrix, identities, state.block_seed, classes=smaller.classes)
    return Target(degrees, smaller.labels, *blocks, state.edge_count)


def swapped(
    edges: Edges, clustering: Clustering, target: Target, kept: float, rng: np.random.Generator
) -> Edges:
    """Swap edges towards the wanted number of triangles, unless it is close enough.

    A swap replaces two edges: the more edges stay in truth, the more it costs.
    """
    nodes = target.degrees.size
    wedges, triangles = wedge_count(edges, nodes), count_triangles(edges, nodes)
    steady = steadiness(kept)
    wanted = clustering.target(3 * triangles / max(wedges, 1), kept=kept, steady=steady)
    if wanted is None:
        return edges
    return swap_triangles(
        edges,
        nodes=nodes,
        labels=target.labels,
        triangles=round(wanted * wedges / 3),
        tolerance=max(CLOSE, CLOSE_WHERE_EDGES_STAY * steady),
        rng=rng,
        current=triangles,
    )


def old_edges(
    previous: SyntheticGraph | None, roster: Roster, share: float, rng: np.random.Generator
) -> tuple[Labels, Labels]:
    """Return edges of the release before in random order, at most the share of it."""
    if previous is None or share == 0:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    u, v = previous.u.copy(), previous.v.copy()
    count = round(share * u.size)
    if previous.roster is not roster and previous.roster != roster:
        u, v = _moved(u, v, roster.positions(previous.roster.ids))
        count = min(count, u.size)
    random = rng.integers(1 << 63, size=1, dtype=np.uint64)
    _draw(u, v, count, random)
    return u[:count], v[:count]


@kernel
def _moved(u: Labels, v: Labels, where: Labels) -> tuple[Labels, Labels]:
    """Edges with other numbers for their nodes, without those that have lost an end (−1)."""
    new_u, new_v = np.empty(u.size, dtype=np.int32), np.empty(u.size, dtype=np.int32)
    found = 0
    for edge in range(u.size):
        x, y = where[u[edge]], where[v[edge]]
        new_u[found], new_v[found] = x, y
        found += x >= 0 and y >= 0
    return new_u[:found], new_v[:found]


@lean_kernel
def _draw(u: Labels, v: Labels, count: int, state: State) -> None:
    """Draw edges without replacement: shuffle until the first `count` are random."""
    for index in range(count):
        other = index + below(state, u.size - index)
        u[index], u[other] = u[other], u[index]
        v[index], v[other] = v[other], v[index]
