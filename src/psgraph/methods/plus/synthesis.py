"""From wanted degrees and structure readings to the graph of one timestamp.

Mixing between classes and hubs becomes integer blocks, the blocks become a graph that keeps edges
of the last one, and pairs of edges are swapped towards the wanted number of triangles. All of it
is post-processing; random choices come from the seed sealed in the measurement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Labels
from psgraph._runtime.timing import phase
from psgraph.engines.base import Edges
from psgraph.methods.plus.affinity import affinity, divided
from psgraph.methods.plus.blocks import integer_blocks
from psgraph.methods.plus.clustering import Clustering, Unclustered
from psgraph.methods.plus.communities import Communities, Search
from psgraph.methods.plus.degrees import DegreeStep, generator
from psgraph.methods.plus.hubs import HubRows, NoisyHubs, advance, hub_count, with_hubs
from psgraph.methods.plus.mixing import CELLS, CLASSES, Mixing, class_mixing
from psgraph.methods.plus.persistence import kept_share, old_edges, steadiness
from psgraph.methods.plus.realisation import Target, realise
from psgraph.methods.plus.searching import next_search
from psgraph.methods.plus.state import PlusMeasurement, PlusState, SizeReadings, StructureReadings
from psgraph.methods.plus.swaps import swap_triangles
from psgraph.methods.plus.tracking import Track, laplace_variance
from psgraph.methods.plus.triangles import count_triangles, second_largest_degree, wedge_count

__all__ = ["DrawnGraph", "draw_graph"]


CLOSE, CLOSE_WHERE_EDGES_STAY = 0.02, 0.1  # how far the number of triangles may be off


@dataclass(frozen=True)
class DrawnGraph:
    """The graph of a timestamp, and what the next one builds on."""

    edges: Edges
    mixing: Track
    hub_rows: HubRows | None
    block_seed: int
    clustering: Clustering
    search: Search


def draw_graph(
    state: PlusState | None, measurement: PlusMeasurement, step: DegreeStep
) -> DrawnGraph:
    """Draw a graph with the wanted degrees, mixing and triangles, grown from the last one."""
    sizes, structure = measurement.sizes, measurement.structure
    kept = kept_share(step.persistence)
    # Where edges stay, blocks are rounded in the same way from one timestamp to the next.
    stays = state is not None and steadiness(kept) > 0
    block_seed = state.block_seed if state is not None and stays else sizes.seed
    with phase("mixing"):
        track = _mixing_track(state, step.edge_count, sizes, structure)
        classes = step.classes if measurement.classes is None else measurement.classes
        mixing = class_mixing(step.wanted, classes, track, step.edge_count)
        rows = _hub_rows(state, sizes, structure, step, classes, mixing, kept)
        target = _target(step, classes, mixing, rows, block_seed)
    with phase("communities"):
        search = next_search(state, measurement, step, target)
        if search.in_use is not None:
            target = _target(step, classes, mixing, rows, block_seed, search.in_use)
    with phase("realisation"):
        candidates = old_edges(state, sizes.roster, kept, generator(sizes.seed, 2))
        edges = realise(target, kept=candidates, rng=generator(sizes.seed, 3))
    with phase("clustering"):
        clustering = Clustering.start() if state is None else state.clustering
        triangles = None
        if structure.noisy_triangles is not None:
            plain = edges if not candidates[0].size else _plain(target, sizes.seed)
            counted = count_triangles(plain, target.degrees.size)
            clustering = _measured_clustering(clustering, plain, counted, sizes, structure)
            triangles = counted if plain is edges else None
        edges = _swapped(edges, triangles, clustering, target, kept, sizes.seed)
    return DrawnGraph(edges, track, rows, block_seed, clustering, search)


def _target(
    step: DegreeStep,
    classes: Labels,
    mixing: Mixing,
    rows: HubRows | None,
    block_seed: int,
    found: Communities | None = None,
) -> Target:
    """Return degrees, labels and integer blocks.

    Labels are the classes, divided by community if any are found, and one for each hub with a row.
    """
    labels, identities = classes, np.arange(CLASSES, dtype=np.uint64)
    if rows is not None:
        mixing = with_hubs(rows, mixing, step.wanted, classes)
        labels = classes.copy()
        labels[rows.hubs] = CLASSES + np.arange(rows.hubs.size, dtype=np.int32)
        identities = np.concatenate([identities, step.numbers[rows.hubs]])
    if found is None:
        blocks = integer_blocks(mixing.matrix, identities, block_seed, classes=CLASSES)
        return Target(step.wanted, labels, *blocks, step.edge_count)
    ratios = affinity(found.blocks, found.labels, step.wanted, found.count)
    parts = divided(mixing.matrix, labels, found.labels, ratios, step.wanted)
    identities = np.where(
        parts.parents < CLASSES,
        identities[parts.parents] + np.uint64(CLASSES) * parts.communities.astype(np.uint64),
        identities[parts.parents],
    )
    blocks = integer_blocks(parts.matrix, identities, block_seed, classes=parts.classes)
    return Target(step.wanted, parts.labels, *blocks, step.edge_count)


def _mixing_track(
    state: PlusState | None, edges: int, sizes: SizeReadings, structure: StructureReadings
) -> Track:
    """The filtered share of edges in each pair of classes."""
    track = Track.unseen(CELLS, drift=0.0025) if state is None else state.mixing
    if structure.noisy_class_edges is None or edges == 0:
        return track
    noise = laplace_variance(float(1 / sizes.shares.mixing)) / edges**2
    scale = np.maximum(track.level, 0.003) ** 2
    return track.observe(structure.noisy_class_edges / edges, noise, scale)


def _hub_rows(
    state: PlusState | None,
    sizes: SizeReadings,
    structure: StructureReadings,
    step: DegreeStep,
    classes: Labels,
    mixing: Mixing,
    kept: float,
) -> HubRows | None:
    """The hub rows of this timestamp, if anything is known about them."""
    hubs = step.order[: hub_count(step.order.size)] if structure.hubs is None else structure.hubs
    before = None if state is None else state.hub_rows
    still = np.full(hubs.size, -1, dtype=np.int64)
    if before is not None and state is not None:
        index = np.full(len(sizes.roster), -1, dtype=np.int64)
        where = sizes.roster.positions(state.roster.ids[before.hubs])
        index[where[where >= 0]] = np.flatnonzero(where >= 0)
        still = index[hubs]
    noisy = None
    if structure.noisy_hub_edges is not None:
        noise = laplace_variance(float(1 / sizes.shares.hubs))
        noisy = NoisyHubs(structure.noisy_hub_edges, hubs.size, noise)
    if not hubs.size:
        return None
    return advance(before, still, hubs, mixing, step.wanted, classes, kept=kept, noisy=noisy)


def _plain(target: Target, seed: int) -> Edges:
    """Return a graph with the wanted degrees and mixing that keeps no edges."""
    none = np.zeros(0, dtype=np.int32)
    return realise(target, kept=(none, none), rng=generator(seed, 4))


def _measured_clustering(
    clustering: Clustering,
    plain: Edges,
    triangles: int,
    sizes: SizeReadings,
    structure: StructureReadings,
) -> Clustering:
    """Update the clustering target with the measured triangles, if there are any readings.

    They are compared with `triangles`, those of a `plain` graph: one that has the same degrees
    and mixing, and has not been swapped.
    """
    if structure.noisy_triangles is None:
        return clustering
    nodes = len(sizes.roster)
    counts = Unclustered(
        nodes, wedge_count(plain, nodes), triangles, second_largest_degree(plain, nodes)
    )
    epsilon = float(sizes.shares.triangles)
    return clustering.measured(
        structure.noisy_triangles, counts, epsilon=epsilon, cap=structure.cap
    )


def _swapped(
    edges: Edges,
    triangles: int | None,
    clustering: Clustering,
    target: Target,
    kept: float,
    seed: int,
) -> Edges:
    """Swap edges towards the wanted number of triangles, unless it is close enough.

    A swap replaces two edges: the more edges stay in truth, the more it costs. `triangles` is how
    many there are, if known.
    """
    nodes = target.degrees.size
    wedges = wedge_count(edges, nodes)
    if triangles is None:
        triangles = count_triangles(edges, nodes)
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
        rng=generator(seed, 5),
        current=triangles,
    )
