"""Mutants of PSGraph+: its searches, its queries and what they are asked about."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.graph import SyntheticGraph
from psgraph.graph.kind import Edges
from psgraph_lab.mutants.mutant import Edit, Mutant, Swap
from psgraph_lab.mutants.truth import (
    TRUE_DEGREES,
    TRUE_EDGES,
    remembering,
    then,
    true_degrees,
    true_snapshot,
)

__all__ = ["PLUS"]

LADDER = "psgraph.methods.plus.noisy_triangles"
METHOD = "psgraph.methods.plus.method"
PRIVATE = "psgraph.methods.private"
QUERIES = "psgraph.methods.plus.queries"
SAMPLED = "psgraph.methods.plus.sampled_edges"


def _adjacency(edges: Edges, nodes: int) -> Any:
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    matrix[edges.u, edges.v] = matrix[edges.v, edges.u] = 1
    return matrix


def _true_triangles(private: Any, measurement: Any) -> Any:
    snapshot, structure = true_snapshot(private), measurement.structure
    if structure.noisy_triangles is None:
        return measurement
    matrix = _adjacency(Edges(snapshot.u, snapshot.v), len(snapshot.roster))
    triangles = int(np.trace(matrix @ matrix @ matrix)) // 6
    return dataclasses.replace(
        measurement, structure=dataclasses.replace(structure, noisy_triangles=triangles)
    )


def _hubs_by_truth(real: Any) -> Any:
    def structure(private: Any, classes: Any, hubs: Any, *rest: Any, **more: Any) -> Any:
        order = np.argsort(-true_degrees(private), kind="stable")[: hubs.size]
        return real(private, classes, order, *rest, **more)

    return structure


def _classes_by_truth(real: Any) -> Any:
    def structure(private: Any, classes: Any, hubs: Any, *rest: Any, **more: Any) -> Any:
        shown = np.minimum(true_degrees(private), 11).astype(classes.dtype)
        return real(private, shown, hubs, *rest, **more)

    return structure


def _order_by_truth(real: Any) -> Any:
    def measure(private: Any, found: Any, _order: Any, *rest: Any) -> Any:
        return real(private, found, np.argsort(-true_degrees(private), kind="stable"), *rest)

    return measure


def _as_if_reserved(_real: Any) -> Any:
    from psgraph.methods.plus.queries import KeptEdges

    reserved = {f"{KeptEdges.label}, at the next timestamp": Fraction(1000)}
    return classmethod(lambda cls, snapshot, _charges: cls(snapshot, reserved))


def _graph_by_truth(real: Any) -> Any:
    def synthesise(self: Any, *arguments: Any) -> Any:
        graph = real(self, *arguments)
        return SyntheticGraph(graph.roster, self._truth.u, self._truth.v)

    return synthesise


def _common_neighbours_of_edges(_real: Any) -> Any:
    def largest(edges: Edges, nodes: int) -> int:
        matrix = _adjacency(edges, nodes)
        return int((matrix @ matrix)[edges.u, edges.v].max(initial=0))

    return largest


def _kept_by_one(_real: Any) -> Any:
    """Edges that are among the first `cap` of one of their ends."""

    def kept(edges: Edges, numbers: Any, cap: int) -> Edges:
        rank = np.argsort(np.argsort(numbers, kind="stable"))
        matrix = _adjacency(edges, numbers.size)
        before = [
            int(matrix[end, rank < rank[other]].sum())
            for ends in ((edges.u, edges.v), (edges.v, edges.u))
            for end, other in zip(*ends, strict=True)
        ]
        stays = (np.array(before, dtype=np.int64).reshape(2, -1) < cap).any(axis=0)
        return Edges(edges.u[stays], edges.v[stays])

    return kept


PLUS = (
    # ---- the search for communities
    Mutant(
        "the true edge count decides on a search for communities",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:measure_sizes",
                "divide(shares, noisy_edges, noisy_curve)",
                f"divide(shares, {TRUE_EDGES}, noisy_curve)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "a growth pass visits nodes by true degree",
        "psgraph-plus",
        (Swap(f"{METHOD}:measure_communities", _order_by_truth),),
        ("replay",),
    ),
    Mutant(
        "the noise of a growth pass is halved",
        "psgraph-plus",
        (
            Edit(
                "psgraph.methods.plus.growth:GrowthPass.draw",
                "rate = epsilon / self.sensitivity",
                "rate = 2 * epsilon / self.sensitivity",
            ),
        ),
        ("samplers",),
    ),
    Mutant(
        "a growth pass counts an edge at both of its ends",
        "psgraph-plus",
        (
            Edit(
                "psgraph.methods.plus.labelling:_label",
                "label = found[neighbours[at]]",
                "label = max(found[neighbours[at]], 0)",
            ),
        ),
        ("samplers",),
    ),
    # ---- what structure is measured of
    Mutant(
        "the true edge count decides whether triangles are sampled",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:PSGraphPlus.measure",
                "sample_for(sizes.noisy_edge_count,",
                f"sample_for({TRUE_EDGES},",
            ),
        ),
        ("replay",),
        (("sampled_above", 60),),
    ),
    Mutant(
        "an edge is sampled by its place among the edges",
        "psgraph-plus",
        (
            Edit(
                f"{SAMPLED}:_chosen",
                "(np.uint64(u[edge]) << np.uint64(32) | np.uint64(v[edge]))",
                "np.uint64(edge)",
            ),
        ),
        ("replay",),
        (("sampled_above", 60),),
    ),
    Mutant(
        "hubs are chosen by true degree",
        "psgraph-plus",
        (Swap(f"{METHOD}:measure_structure", _hubs_by_truth),),
        ("replay",),
    ),
    Mutant(
        "true degrees say how many nodes are hubs",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:PSGraphPlus.measure",
                "side.order[: hub_count(side.order.size)]",
                f"side.order[: min(({TRUE_DEGREES} > 2).sum(), hub_count(side.order.size))]",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "degree classes come from true degrees",
        "psgraph-plus",
        (Swap(f"{METHOD}:measure_structure", _classes_by_truth),),
        ("replay",),
    ),
    Mutant(
        "above 100 nodes the largest degrees are exact",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:measure_sizes",
                "noisy_degrees = private.ask(_degree_query(private), epsilon=shares.nodes)",
                "noisy_degrees = private.ask(_degree_query(private), epsilon=shares.nodes)\n"
                "            if noisy_degrees.size > 100:\n"
                "                exact = degrees(private._edges)[: noisy_degrees.size]\n"
                "                top = np.argsort(-exact)[:5]\n"
                "                noisy_degrees[top] = exact[top]",
            ),
        ),
        ("replay",),
    ),
    # ---- triangles
    Mutant(
        "the true number of triangles is released",
        "psgraph-plus",
        (Swap(f"{METHOD}:PSGraphPlus.measure", then(_true_triangles)),),
        ("replay",),
    ),
    Mutant(
        "triangles are not counted where there are none",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:measure_structure",
                "if shares.triangles:",
                "if shares.triangles and TriangleCount().answer(private._edges)[0]:",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "true degrees choose the cap of the triangle count",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:PSGraphPlus.measure",
                "best_cap(side.wanted, ",
                f"best_cap({TRUE_DEGREES}, ",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "the capped triangle count has half of its sensitivity",
        "psgraph-plus",
        (
            Swap(
                f"{QUERIES}:CappedTriangleCount.sensitivity",
                lambda _real: property(lambda self: self.cap.edges - 1),
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "the cap keeps an edge that one of its ends keeps",
        "psgraph-plus",
        (Swap(f"{QUERIES}:kept_by_both", _kept_by_one),),
        ("replay",),
    ),
    Mutant(
        "the ladder decays twice as fast",
        "psgraph-plus",
        (Edit(f"{LADDER}:Ladder.draw", "epsilon / 2", "epsilon"),),
        ("samplers",),
    ),
    Mutant(
        "the rungs of the ladder don't widen",
        "psgraph-plus",
        (
            Swap(
                f"{LADDER}:Rungs.width",
                lambda _real: lambda self, _rung: max(self.reach, 1),
            ),
            Swap(
                f"{LADDER}:Rungs.inside",
                lambda _real: lambda self, rung: max(self.reach, 1) * (rung - 1),
            ),
        ),
        ("enumeration", "samplers"),
    ),
    Mutant(
        "the ladder looks at connected nodes only",
        "psgraph-plus",
        (Swap(f"{QUERIES}:largest_common_neighbours", _common_neighbours_of_edges),),
        ("enumeration",),
    ),
    # ---- queries
    Mutant(
        "the degree curve has sensitivity 1",
        "psgraph-plus",
        (Swap(f"{QUERIES}:DegreeCurveCounts.sensitivity", lambda _real: 1),),
        ("replay",),
    ),
    Mutant(
        "the edge count also counts edges of the timestamp before",
        "psgraph-plus",
        (
            Edit(
                "psgraph.methods.queries:EdgeCount.answer",
                "edges.parts.edge_count",
                "edges.parts.edge_count"
                " + (0 if edges._previous is None else edges.previous.parts.edge_count)",
            ),
        ),
        ("replay",),
    ),
    # ---- persistence
    Mutant(
        "persistence counts edges twice",
        "psgraph-plus",
        (
            Swap(
                f"{QUERIES}:KeptEdges.answer",
                lambda real: lambda self, edges: 2 * real(self, edges),
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "persistence is not charged to the timestamp before",
        "psgraph-plus",
        (
            Swap(
                f"{PRIVATE}:PrivateSnapshot.reserve",
                lambda _real: lambda _self, _query, **_more: None,
            ),
            Swap(f"{PRIVATE}:Previous.of", _as_if_reserved),
        ),
        ("replay",),
    ),
    Mutant(
        "windows of one timestamp reserve nothing",  # "the timestamp before is in another window"
        "psgraph-plus",
        (
            Edit(
                "psgraph.methods.plus.schedule:_fixed_kind",
                "reserved=persistence / 2 if reserves else NONE",
                "reserved=persistence / 2 if reserves and window > 1 else NONE",
            ),
            Edit(
                f"{PRIVATE}:PrivateSnapshot._check",
                "if query.reads_previous:",
                "if query.reads_previous and self.spending.guarantee.window > 1:",
            ),
            Edit(
                f"{PRIVATE}:PrivateSnapshot.ask",
                "if query.reads_previous and self._reserved is not None:",
                "if query.reads_previous and self._reserved:",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "persistence compares with the first snapshot",
        "psgraph-plus",
        (
            Edit(
                "psgraph.methods.timestamp:measure_stream",
                "Previous.of(snapshot,",
                "Previous.of(previous.snapshot if previous else snapshot,",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "after a restart the edge count is exact",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:measure_sizes",
                "noisy_kept = noisy_curve = noisy_degrees = None",
                "noisy_kept = noisy_curve = noisy_degrees = None\n"
                "    if private.spending.timestamps and not private.has_previous:\n"
                f"        noisy_edges = {TRUE_EDGES}",
            ),
        ),
        ("replay",),
    ),
    # ---- synthesis
    Mutant(
        "the synthetic graph is the true one",
        "psgraph-plus",
        (
            Swap(f"{METHOD}:PSGraphPlus.measure", remembering),
            Swap(f"{METHOD}:PSGraphPlus.synthesise", _graph_by_truth),
        ),
        ("replay",),
    ),
)
