"""How version 0.2.0 drew graphs: for the timestamps that it sealed, and for nothing else.

It drew the graph of a timestamp in `update`, from bits in the measurement, and kept it in the
state. Lost releases of such timestamps are made again to the byte here.
"""

from __future__ import annotations

from dataclasses import replace

from psgraph.methods.plus.degrees import DegreeStep, kept_share
from psgraph.methods.plus.estimates import measured_clustering, without_clustering
from psgraph.methods.plus.realisation import realise
from psgraph.methods.plus.state import PlusMeasurement, PlusState, Purpose
from psgraph.methods.plus.synthesis import old_edges, swapped, target_of
from psgraph.methods.plus.triangles import node_degrees

__all__ = ["state_with_graph"]


def state_with_graph(
    state: PlusState | None, measurement: PlusMeasurement, step: DegreeStep
) -> PlusState:
    """Return the state after a timestamp that version 0.2.0 measured, with its graph."""
    sizes = measurement.sizes
    after = without_clustering(state, measurement, step)
    target, kept = target_of(after), kept_share(after.persistence)
    before = None if state is None else state.graph
    candidates = old_edges(before, sizes.roster, kept, sizes.random(Purpose.OLD_EDGES_0_2))
    edges = realise(target, kept=candidates, rng=sizes.random(Purpose.REALISATION_0_2))
    plain = edges
    if measurement.structure.noisy_triangles is not None and candidates[0].size:
        plain = realise(target, rng=sizes.random(Purpose.PLAIN_GRAPH))
    clustering = measured_clustering(after, measurement, plain)
    edges = swapped(edges, clustering, target, kept, sizes.random(Purpose.SWAPS_0_2))
    degrees = node_degrees(edges.u, edges.v, len(sizes.roster))
    return replace(after, clustering=clustering, degrees=degrees, u=edges.u, v=edges.v)
