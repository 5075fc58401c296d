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
from psgraph.engines.runner import Runner
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED, Edges
from psgraph.graph.parts import MemoryParts
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.degrees import kept_share, steadiness
from psgraph.methods.plus.flows import flow_rows
from psgraph.methods.plus.hubs import with_hubs
from psgraph.methods.plus.label_blocks import by_chance
from psgraph.methods.plus.mixing import (
    CLASSES,
    affinity,
    class_mixing,
    degree_classes,
    divided,
    integer_blocks,
    side_mixing,
)
from psgraph.methods.plus.parts import Last, More, draw_parts, layout_of
from psgraph.methods.plus.realisation import Coarse, Target, realise
from psgraph.methods.plus.reciprocity import swap_heads
from psgraph.methods.plus.state import AnyState, PlusState, SidedState
from psgraph.methods.plus.swaps import swap_triangles
from psgraph.methods.plus.ties import pair_ranks
from psgraph.methods.plus.triangles import count_triangles, wedge_count
from psgraph.methods.plus.unclustered import expected_unclustered
from psgraph.methods.plus.weights import drawn_weights

__all__ = ["draw", "in_parts", "old_edges", "sided_target", "swapped", "target_of"]


STRONG = 0.05  # transitivity from which on PATIENCE times as much work is spent on triangles
PATIENCE, PATIENCE_BY_LABEL = 5.0, 1.5
# In a sparse graph the triangles of large nodes come with the blocks of labels.
SMALL_BY_LABEL = 3  # of four wedges that are closed begin at a small node
OFFERED = 2  # old edges are offered for each that is kept
MOST_SWAPPED = 1 << 19  # edges of a graph in parts that is swapped, in memory
CLOSE, CLOSE_WHERE_EDGES_STAY = 0.02, 0.1  # how far the number of triangles may be off


def draw(
    state: AnyState, previous: SyntheticGraph | None, rng: np.random.Generator, engine: Runner
) -> SyntheticGraph:
    """Draw a graph with the wanted degrees, mixing and triangles, grown from the release before.

    Directed graphs get reciprocated edges instead of triangles. Graphs of many nodes are drawn in
    parts where they can be: see `in_parts`.
    """
    kept = kept_share(state.persistence)
    if isinstance(state, PlusState) and in_parts(state):
        return _draw_in_parts(state, previous, kept, rng, engine)
    with phase("mixing"):
        target = target_of(state) if isinstance(state, PlusState) else sided_target(state)
    with phase("realisation"):
        candidates, most = old_edges(previous, state.roster, state.numbers, kept)
        shift = np.int32(target.left if target.directed else 0)
        ends = candidates[0], candidates[1] + shift
        build = flow_rows if state.kind.flows else realise
        edges = build(target, kept=ends, most_kept=most, rng=rng)
        edges = Edges(edges.u, edges.v - shift)
    if state.kind.flows:  # the graph adds up the rows of a pair
        return SyntheticGraph(state.roster, edges.u, edges.v, kind=state.kind)
    if isinstance(state, PlusState):
        with phase("clustering"):
            edges = swapped(edges, state.clustering, target, kept, candidates, rng)
    elif state.kind.directed:
        with phase("reciprocity"):
            edges = _with_reciprocity(edges, state, target, candidates, rng)
    weight = None
    if state.known_weights is not None:
        with phase("weights"):
            weight = _weights(edges, state, previous, kept, rng)
    return SyntheticGraph(state.roster, edges.u, edges.v, kind=state.kind, weight=weight)


def in_parts(state: PlusState) -> bool:
    """Whether the graph of a state is drawn in parts: a function of released values.

    Graphs with weights, or with blocks of public labels or communities, are drawn in memory.
    """
    blocks = state.labels_in_use is not None or state.search.in_use is not None
    plain = not blocks and state.known_weights is None
    nodes = len(state.roster)
    sparse = 2 * state.edge_count <= UNDIRECTED.pairs(nodes)
    return plain and sparse and layout_of(nodes).ranges > 1


def _draw_in_parts(
    state: PlusState,
    previous: SyntheticGraph | None,
    kept: float,
    rng: np.random.Generator,
    engine: Runner,
) -> SyntheticGraph:
    with phase("mixing"):
        target = target_of(state)
    last = None if previous is None else Last(previous, state.roster, state.numbers, kept)
    seed = int(rng.integers(1 << 63))
    more = None if target.edge_count <= MOST_SWAPPED else _to_close(state, target, kept)
    parts = draw_parts(target, last, seed, engine, more)
    if parts.edge_count <= MOST_SWAPPED:
        with phase("clustering"):
            before = Edges(*parts.whole())
            candidates, _ = old_edges(previous, state.roster, state.numbers, kept)
            edges = swapped(before, state.clustering, target, kept, candidates, rng)
            if edges is not before:
                parts = MemoryParts(
                    edges.u, edges.v, nodes=parts.nodes, part_nodes=parts.part_nodes
                )
    return SyntheticGraph.from_parts(state.roster, parts)


def _to_close(state: PlusState, target: Target, kept: float) -> More | None:
    """Return the triangles that are wanted beyond those by chance; None if nothing is known."""
    plain = expected_unclustered(target)
    now = 3 * plain.triangles / max(plain.wedges, 1)
    wanted = state.clustering.target(now, kept=0.0, steady=steadiness(kept))
    if wanted is None:
        return None
    return More(round(wanted * plain.wedges / 3) - plain.triangles, state.numbers)


def _with_reciprocity(
    edges: Edges,
    state: SidedState,
    target: Target,
    old: tuple[Labels, Labels],
    rng: np.random.Generator,
) -> Edges:
    """Swap heads towards the wanted share of reciprocated edges, if anything is known of it."""
    if not state.reciprocity.seen.all():
        return edges
    labels = target.labels[: target.left], target.labels[target.left :]
    pairs = round(float(state.reciprocity.level[0]) * edges.u.size / 2)
    return swap_heads(edges, nodes=target.left, labels=labels, pairs=pairs, rng=rng, spared=old)


def _weights(
    edges: Edges,
    state: AnyState,
    previous: SyntheticGraph | None,
    kept: float,
    rng: np.random.Generator,
) -> Integers:
    """Draw weights; edges of the release before may keep theirs."""
    assert state.known_weights is not None
    before = None
    if previous is not None and previous.weight is not None:
        u, v, weight = previous.u, previous.v, previous.weight
        if previous.roster is not state.roster and previous.roster != state.roster:
            where = state.roster.positions_of(previous.roster)
            u, v = where[u], where[v]
            there = (u >= 0) & (v >= 0)
            u, v, weight = u[there], v[there], weight[there]
        before = u, v, weight
    return drawn_weights(state.known_weights, edges.u, edges.v, before, kept, rng)


def sided_target(state: SidedState) -> Target:
    """Return degrees, labels and integer blocks of a graph with two sides."""
    one, other = (side.degrees for side in state.sides)
    classes, directed = state.classes, state.kind.directed
    mixing = side_mixing(
        (one, other),
        classes,
        state.mixing,
        state.edge_count,
        directed=directed,
        counts=state.class_counts,
        repeats=state.kind.flows,
    )
    matrix = np.zeros((2 * CLASSES, 2 * CLASSES))
    matrix[:CLASSES, CLASSES:], matrix[CLASSES:, :CLASSES] = mixing, mixing.T
    identities = np.arange(2 * CLASSES, dtype=np.uint64)
    blocks = integer_blocks(matrix, identities, state.block_seed, classes=2 * CLASSES)
    return Target(
        np.concatenate([one, other]),
        np.concatenate([classes[0], classes[1] + np.int32(CLASSES)]),
        *blocks,
        state.edge_count,
        left=one.size,
        directed=directed,
    )


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
    by_label = target.coarse is not None
    now = 3 * triangles / max(wedges, 1)
    wanted = clustering.target(now, kept=kept, steady=steady, by_label=by_label)
    if wanted is None:
        return edges
    # Blocks of labels bring most triangles, so that few swaps are needed to be close.
    stays = 0.0 if by_label else CLOSE_WHERE_EDGES_STAY
    sparse_by_label = by_label and wanted < STRONG
    return swap_triangles(
        edges,
        nodes=nodes,
        labels=target.labels,
        triangles=round(wanted * wedges / 3),
        tolerance=max(CLOSE, stays * steady),
        rng=rng,
        patience=PATIENCE if wanted >= STRONG else PATIENCE_BY_LABEL if by_label else 1.0,
        small=SMALL_BY_LABEL if sparse_by_label else 1,
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
    if previous.kind.flows:
        u, v = (np.repeat(end, previous.weight) for end in (u, v))  # type: ignore[arg-type]
    most = round(share * u.size)
    if previous.roster is not roster and previous.roster != roster:
        u, v = _moved(u, v, roster.positions_of(previous.roster))
    order = sorting_order(pair_ranks(u, v, numbers))[: OFFERED * most]
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
