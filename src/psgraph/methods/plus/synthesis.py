"""From estimates to the graph of one timestamp.

Mixing between classes and hubs becomes integer blocks, the blocks become a graph that keeps edges
of the release before, and pairs of edges are swapped towards the wanted number of triangles. All
of it is post-processing of sealed values and of the release before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import sorting_order
from psgraph._runtime.resources import phase
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import Edges
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.degrees import kept_share, steadiness
from psgraph.methods.plus.hubs import with_hubs
from psgraph.methods.plus.label_blocks import by_chance
from psgraph.methods.plus.mixing import (
    CLASSES,
    affinity,
    class_mixing,
    degree_classes,
    divided,
    integer_blocks,
)
from psgraph.methods.plus.realisation import Coarse, Target, realise
from psgraph.methods.plus.state import PlusState
from psgraph.methods.plus.swaps import swap_triangles
from psgraph.methods.plus.triangles import count_triangles, wedge_count

__all__ = ["draw", "old_edges", "swapped", "target_of"]


STRONG = 0.05  # transitivity from which on more work is spent on triangles
OFFERED = 2  # old edges are offered for each that is kept
CLOSE, CLOSE_WHERE_EDGES_STAY = 0.02, 0.1  # how far the number of triangles may be off


def draw(
    state: PlusState, previous: SyntheticGraph | None, rng: np.random.Generator
) -> SyntheticGraph:
    """Draw a graph with the wanted degrees, mixing and triangles, grown from the release before."""
    kept = kept_share(state.persistence)
    with phase("mixing"):
        target = target_of(state)
    with phase("realisation"):
        candidates, most = old_edges(previous, state.roster, state.numbers, kept)
        edges = realise(target, kept=candidates, most_kept=most, rng=rng)
    with phase("clustering"):
        edges = swapped(edges, state.clustering, target, kept, candidates, rng)
    return SyntheticGraph(state.roster, edges.u, edges.v)


def target_of(state: PlusState) -> Target:
    """Return degrees, labels and integer blocks.

    Labels are the classes, divided by public label or by community if any are in use, and one for
    each hub with a row.
    """
    degrees, rows = state.degrees, state.hub_rows
    labels = classes = degree_classes(degrees)
    mixing = between_classes = class_mixing(degrees, classes, state.mixing, state.edge_count)
    identities = np.arange(CLASSES, dtype=np.uint64)
    if rows is not None:
        mixing = with_hubs(rows, mixing, degrees, classes)
        labels = classes.copy()
        labels[rows.hubs] = CLASSES + np.arange(rows.hubs.size, dtype=np.int32)
        identities = np.concatenate([identities, state.numbers[rows.hubs]])
    found, known, wanted = state.search.in_use, state.labels_in_use, None
    if known is not None:
        codes = known.book.codes(state.roster)
        chance = by_chance(between_classes, degrees, classes, codes, known.book.count)
        wanted = known.blocks(chance)
        ratios = np.divide(wanted, chance.matrix, out=np.ones_like(wanted), where=chance.matrix > 0)
        smaller = divided(mixing.matrix, labels, codes, ratios, degrees, blocks=wanted)
    elif found is not None:
        ratios = affinity(found.blocks, found.labels, degrees, found.count)
        smaller = divided(mixing.matrix, labels, found.labels, ratios, degrees)
    else:
        blocks = integer_blocks(mixing.matrix, identities, state.block_seed, classes=CLASSES)
        return Target(degrees, labels, *blocks, state.edge_count)
    identities = np.where(
        smaller.parents < CLASSES,
        identities[smaller.parents] + np.uint64(CLASSES) * smaller.communities.astype(np.uint64),
        identities[smaller.parents],
    )
    blocks = integer_blocks(smaller.matrix, identities, state.block_seed, classes=smaller.classes)
    target = Target(degrees, smaller.labels, *blocks, state.edge_count)
    if wanted is None:
        return target
    numbers = np.arange(len(wanted), dtype=np.uint64)
    coarse = integer_blocks(wanted, numbers, state.block_seed, classes=len(wanted))
    return replace(target, coarse=Coarse(codes, *coarse))


def swapped(
    edges: Edges,
    clustering: Clustering,
    target: Target,
    kept: float,
    old: tuple[Labels, Labels],
    rng: np.random.Generator,
) -> Edges:
    """Swap edges towards the wanted number of triangles, unless it is close enough.

    A swap replaces two edges: the more edges stay in truth, the more it costs. Those in `old` are
    spared where others suffice.
    """
    nodes = target.degrees.size
    wedges, triangles = wedge_count(edges, nodes), count_triangles(edges, nodes)
    steady = steadiness(kept)
    wanted = clustering.target(3 * triangles / max(wedges, 1), kept=kept, steady=steady)
    if wanted is None:
        return edges
    by_label = target.coarse is not None
    # Blocks of labels bring most triangles, so that few swaps are needed to be close.
    stays = 0.0 if by_label else CLOSE_WHERE_EDGES_STAY
    return swap_triangles(
        edges,
        nodes=nodes,
        labels=target.labels,
        triangles=round(wanted * wedges / 3),
        tolerance=max(CLOSE, stays * steady),
        rng=rng,
        strong=wanted >= STRONG,
        # In a sparse graph the triangles of large nodes come with the blocks.
        small_only=by_label and wanted < STRONG,
        current=triangles,
        spared=old,
    )


def old_edges(
    previous: SyntheticGraph | None, roster: Roster, numbers: NDArray[np.uint64], share: float
) -> tuple[tuple[Labels, Labels], int]:
    """Return edges of the release before, the most lasting first, and how many of them to keep.

    Real ties differ: most edges that stay are those that stayed before. So every pair of nodes has
    a random rank that never changes, and edges are offered by rank. Not all will fit the new
    degrees and blocks, so more are offered than are kept.
    """
    if previous is None or share == 0:
        return (np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)), 0
    u, v = previous.u, previous.v
    most = round(share * u.size)
    if previous.roster is not roster and previous.roster != roster:
        u, v = _moved(u, v, roster.positions(previous.roster.ids))
    order = sorting_order(_ranks(u, v, numbers))[: OFFERED * most]
    return (u[order], v[order]), most


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


@kernel
def _ranks(u: Labels, v: Labels, numbers: NDArray[np.uint64]) -> Integers:
    """A number for each pair that depends on the random numbers of its nodes, below 2³³."""
    ranks = np.empty(u.size, dtype=np.int64)
    for edge in range(u.size):
        x, y = numbers[u[edge]], numbers[v[edge]]
        mixed = (x + y) * np.uint64(0x9E3779B97F4A7C15) ^ x * y
        mixed = (mixed ^ mixed >> np.uint64(31)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        ranks[edge] = mixed >> np.uint64(31)
    return ranks
