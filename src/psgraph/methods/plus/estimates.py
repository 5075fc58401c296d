"""From one measurement and the past to the estimates that a graph is drawn from.

Post-processing of sealed values. Where triangles were counted, or communities searched for, the
readings are compared with graphs that are drawn here from bits sealed in the measurement and then
forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial

import numpy as np

from psgraph._runtime.arrays import Labels
from psgraph._runtime.resources import phase
from psgraph.graph.kind import Edges
from psgraph.methods.plus.clustering import Clustering, Unclustered
from psgraph.methods.plus.communities import (
    Communities,
    Search,
    bar_without_communities,
    decide,
    run_passes,
)
from psgraph.methods.plus.degrees import DegreeStep, kept_share, steadiness
from psgraph.methods.plus.hubs import HubRows, NoisyHubs, advance, hub_count
from psgraph.methods.plus.label_blocks import LabelBlocks, by_chance
from psgraph.methods.plus.mixing import CELLS, Mixing, class_mixing
from psgraph.methods.plus.readings import (
    KindReadings,
    OwnedReadings,
    PlusMeasurement,
    Purpose,
    SizeReadings,
    StructureReadings,
    WeightedMeasurement,
)
from psgraph.methods.plus.realisation import Target, realise
from psgraph.methods.plus.shares import KindShares
from psgraph.methods.plus.sides import SideStep
from psgraph.methods.plus.state import (
    AnyState,
    Jumps,
    OwnedState,
    PlusState,
    Side,
    SidedState,
    WeightedState,
    label_book,
)
from psgraph.methods.plus.synthesis import in_parts, target_of
from psgraph.methods.plus.tracking import Track, laplace_variance
from psgraph.methods.plus.triangles import (
    count_triangles,
    largest_common_neighbours,
    second_largest_degree,
    wedge_count,
)
from psgraph.methods.plus.unclustered import expected_unclustered
from psgraph.methods.plus.weights import Weights, next_weights

__all__ = ["next_state"]

REHEARSALS = 4
MANY_EDGES = 100_000  # from here on one rehearsal says enough: they hardly differ


def next_state(state: AnyState | None, measurement: PlusMeasurement, step: DegreeStep) -> AnyState:
    """Return the state after a timestamp."""
    weights = _next_weights(state, measurement, step)
    if measurement.sizes.kind.sides == 2:
        return _sided_state(measurement, step, weights)
    after = _undirected_state(measurement, step)
    if weights is None:
        return after
    plain = {field.name: getattr(after, field.name) for field in fields(PlusState)}
    return WeightedState(**plain, weights=weights)


def _next_weights(
    state: AnyState | None, measurement: PlusMeasurement, step: DegreeStep
) -> Weights | None:
    """What is known of weights, where edges carry any."""
    sizes, shares = measurement.sizes, measurement.sizes.shares
    if not isinstance(measurement, WeightedMeasurement):
        return None
    assert isinstance(sizes, KindReadings)
    assert isinstance(shares, KindShares)
    assert sizes.largest_weight is not None
    before = None if state is None else state.known_weights
    return next_weights(
        Weights.start(sizes.largest_weight) if before is None else before,
        noisy_classes=measurement.noisy_weights,
        noisy_same=sizes.noisy_kept_weights,
        edges=step.edge_count,
        edges_before=0 if state is None else state.edge_count,
        epsilon=float(shares.weights),
        epsilon_same=float(shares.kept_weights),
    )


def _sided_state(
    measurement: PlusMeasurement, step: DegreeStep, weights: Weights | None
) -> SidedState:
    """Return the state of directed or two-sided graphs."""
    state, sizes = step.prior, measurement.sizes
    assert state is None or isinstance(state, SidedState)
    one, other = (
        Side(
            side.curve_track,
            side.curve,
            side.nodes,
            side.wanted,
            side.new_share,
            side.fitted_edges,
        )
        for side in step.sides
    )
    make: Callable[..., SidedState] = SidedState
    if isinstance(sizes, OwnedReadings):
        assert step.owners is not None
        make = partial(OwnedState, owners=step.owners, owner_side=sizes.owner_side)
    return make(
        pairs=sizes.kind.name,
        roster=sizes.roster,
        edge_count=step.edge_count,
        edges_per_node=step.edges_per_node,
        persistence=step.persistence,
        sides=(one, other),
        mixing=_mixing_track(
            state,
            step.edge_count if step.owners is None else step.owners.used,
            sizes,
            measurement.structure,
        ),
        active=step.active,
        reciprocity=step.reciprocity,
        block_seed=_block_seed(state, step, sizes),
        mode=step.mode,
        opened=sizes.shares.timestamp if sizes.shares.opens or state is None else state.opened,
        jumps=Jumps() if state is None else state.jumps,
        before_fall=None if state is None else state.before_fall,
        weights=weights,
        flows=sizes.kind.flows,
    )


def _block_seed(state: AnyState | None, step: DegreeStep, sizes: SizeReadings) -> int:
    """How blocks are rounded: where edges stay, as at the timestamp before."""
    stays = steadiness(kept_share(step.persistence)) > 0
    return state.block_seed if state is not None and stays else sizes.seed


def _undirected_state(measurement: PlusMeasurement, step: DegreeStep) -> PlusState:
    after = _without_clustering(measurement, step)
    if measurement.structure.noisy_triangles is None:
        return after
    with phase("clustering"):
        if in_parts(after):
            plain = expected_unclustered(target_of(after))
        else:
            plain = _plain_graph(after, measurement.sizes)
        return replace(after, clustering=_measured_clustering(after, measurement, plain))


def _plain_graph(state: PlusState, sizes: SizeReadings) -> Unclustered:
    """Draw a graph with the degrees and mixing of a state, without old edges or swaps."""
    nodes = len(state.roster)
    graph = realise(target_of(state), rng=sizes.random(Purpose.PLAIN_GRAPH))
    return Unclustered(
        nodes,
        wedge_count(graph, nodes),
        count_triangles(graph, nodes),
        second_largest_degree(graph, nodes),
        None if state.labels_in_use is None else largest_common_neighbours(graph, nodes),
    )


def _without_clustering(measurement: PlusMeasurement, step: DegreeStep) -> PlusState:
    """Return the state after a timestamp, with what was known of clustering before it."""
    state, (side,) = step.prior, step.sides
    assert state is None or isinstance(state, PlusState)
    sizes, structure = measurement.sizes, measurement.structure
    kept = kept_share(step.persistence)
    with phase("mixing"):
        track = _mixing_track(state, step.edge_count, sizes, structure)
        classes = side.classes if measurement.classes is None else measurement.classes
        mixing = class_mixing(side.wanted, classes, track, step.edge_count)
        rows = _hub_rows(state, sizes, structure, side, classes, mixing, kept)
        labels = _labels(state, measurement, step, side, classes, mixing)
    known = state is not None and _used(state.labels) == _used(labels)
    after = PlusState(
        roster=sizes.roster,
        edge_count=step.edge_count,
        edges_per_node=step.edges_per_node,
        persistence=step.persistence,
        curve_track=side.curve_track,
        curve=side.curve,
        nodes=side.nodes,
        mixing=track,
        hub_rows=rows,
        block_seed=_block_seed(state, step, sizes),
        # What is believed about triangles belongs to graphs with or without blocks of labels.
        clustering=state.clustering if state is not None and known else Clustering.start(),
        mode=step.mode,
        new_share=side.new_share,
        search=Search(),
        degrees=side.wanted,
        opened=sizes.shares.timestamp if sizes.shares.opens or state is None else state.opened,
        jumps=Jumps() if state is None else state.jumps,
        before_fall=None if state is None else state.before_fall,
        labels=labels,
    )

    def plain() -> Target:
        return target_of(after)

    with phase("communities"):
        return replace(after, search=_next_search(state, measurement, side, plain))


def _used(labels: LabelBlocks | None) -> bool:
    return labels is not None and labels.used


def _labels(
    state: PlusState | None,
    measurement: PlusMeasurement,
    step: DegreeStep,
    side: SideStep,
    classes: Labels,
    mixing: Mixing,
) -> LabelBlocks | None:
    """What is known about edges between public labels after this timestamp."""
    sizes, readings = measurement.sizes, measurement.labels
    book = label_book(state, sizes.roster)
    if book is None:
        return None
    before = None if state is None else state.labels
    known = LabelBlocks.start(book) if before is None else before
    if readings is None:
        return known
    nodes = len(sizes.roster)
    known = known.observed(
        readings,
        edges=step.edge_count,
        edges_variance=float(step.edges_per_node.variance[0]) * nodes**2,
        agreement=sizes.shares.agreement,
        label_edges=sizes.shares.label_edges,
    )
    return known.decided(
        by_chance(mixing, side.wanted, classes, book.codes(sizes.roster), book.count)
    )


def _mixing_track(
    state: AnyState | None, edges: int, sizes: SizeReadings, structure: StructureReadings
) -> Track:
    """The filtered share of edges in each pair of classes."""
    cells = CELLS
    if sizes.kind.sides == 2 and isinstance(sizes, KindReadings):
        cells = math.prod(sizes.class_counts)
    track = Track.unseen(cells, drift=0.0025) if state is None else state.mixing
    if structure.noisy_class_edges is None or edges == 0:
        return track
    noise = laplace_variance(float(1 / sizes.shares.mixing)) / edges**2
    scale = np.maximum(track.level, 0.003) ** 2
    return track.observe(structure.noisy_class_edges / edges, noise, scale)


def _hub_rows(
    state: PlusState | None,
    sizes: SizeReadings,
    structure: StructureReadings,
    step: SideStep,
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


def _measured_clustering(
    state: PlusState, measurement: PlusMeasurement, plain: Unclustered
) -> Clustering:
    """Update what is known of clustering with the measured triangles, if they were counted.

    They are compared with a `plain` graph: one that has the degrees and mixing of `state`, keeps
    no edges and has not been swapped. Where graphs are drawn in parts its triangles are computed.
    """
    sizes, structure = measurement.sizes, measurement.structure
    if structure.noisy_triangles is None:
        return state.clustering
    epsilon = float(sizes.shares.triangles)
    return state.clustering.measured(
        structure.noisy_triangles,
        plain,
        epsilon=epsilon,
        cap=structure.cap,
        sampled=1.0 if structure.sample is None else structure.sample.share,
        by_label=state.labels_in_use is not None,
    )


def _next_search(
    state: PlusState | None,
    measurement: PlusMeasurement,
    step: SideStep,
    plain: Callable[[], Target],
) -> Search:
    """Return where the search stands after this timestamp.

    Where degrees are measured at every timestamp, communities are dropped when a window opens:
    there is nothing to keep them up to date with.

    Parameters
    ----------
    plain
        Returns what a graph without communities should look like, if a search was made.
    """
    sizes, readings, shares = measurement.sizes, measurement.communities, measurement.sizes.shares
    search = Search() if state is None else state.search
    found = None if state is None else state.communities_on(sizes)
    if readings is None:
        if shares.opens and state is not None and state.mode == "steady":
            return Search()
        return replace(search, found=found, again=False)
    sealed = iter(readings.noisy_rows)
    progress = run_passes(found, step.order, step.wanted, shares.growth, lambda *_: next(sealed))
    bar = bar_without_communities(
        _without_communities(plain(), sizes),
        step.order,
        step.wanted,
        labels=progress.plan.labels,
        growth=shares.growth,
        blocks=shares.blocks,
        rng=sizes.random(Purpose.REHEARSED_PASSES),
    )
    return decide(
        search,
        Communities.after(progress, sizes.roster, found),
        readings.noisy_blocks,
        bar,
        degrees=step.wanted,
        blocks=shares.blocks,
        window=shares.timestamp // shares.window,
    )


def _without_communities(plain: Target, sizes: SizeReadings) -> Iterator[Edges]:
    rehearsals = REHEARSALS if plain.edge_count < MANY_EDGES else 1
    for number in range(rehearsals):
        yield realise(plain, rng=sizes.random(Purpose.REHEARSED_GRAPHS, number))
