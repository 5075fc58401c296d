"""Mutants on directed, two-sided and weighted graphs: sides, directions and weights miscounted."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from psgraph.graph import UNDIRECTED, SyntheticGraph
from psgraph_lab.mutants.mutant import Edit, Mutant, Swap
from psgraph_lab.mutants.truth import remembering, then, true_snapshot

__all__ = ["KINDS"]

KIND_QUERIES = "psgraph.methods.plus.kind_queries"
METHOD = "psgraph.methods.plus.method"
PLUS_QUERIES = "psgraph.methods.plus.queries"
QUERIES = "psgraph.methods.queries"
TMF = "psgraph.methods.tmf"

_UNCOVERED = Edit("psgraph.privacy.budget:Budget.run", "if slack < 0:", "if False:")


def _reciprocated(snapshot: Any) -> Any:
    """Which edges have their reverse."""
    edges = {*zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True)}
    return np.array([(v, u) in edges for u, v in edges], dtype=bool)


def _one_for_both_sides(_real: Any) -> Any:
    return property(lambda query: 1 if query.kind.sides == 2 else 2)


def _strengths(real: Any) -> Any:
    """Degrees that add up weights, where there are any."""

    def answer(self: Any, edges: Any) -> Any:
        whole, found = edges.parts.whole(), real(self, edges)
        if whole.weight is None:
            return found
        shift = found.size - edges.nodes
        strengths = np.bincount(whole.u, whole.weight, found.size)
        strengths += np.bincount(whole.v + shift, whole.weight, found.size)
        return strengths.astype(np.int64)

    return answer


def _both_cells(real: Any) -> Any:
    """Cells of a directed graph that count an edge from a to b from b to a as well."""

    def answer(self: Any, edges: Any) -> Any:
        cells, counts = real(self, edges)
        if not edges.kind.directed:
            return cells, counts
        found = np.zeros(self.shape(edges.nodes)[0], dtype=np.int64)
        a, b = self.kind.pair_of(np.arange(found.size), self.blocks, inside=True)
        found[cells] = counts
        found += np.where(a == b, 0, found[self.kind.cell_of(b, a, self.blocks, inside=True)])
        return np.flatnonzero(found), found[found > 0]

    return answer


def _kind_by_truth(private: Any, measurement: Any) -> Any:
    """A directed graph counts as undirected if every edge has its reverse."""
    alike = private.kind.directed and _reciprocated(true_snapshot(private)).all()
    return dataclasses.replace(measurement, kind=UNDIRECTED) if alike else measurement


def _without_empty_rows(private: Any, measurement: Any) -> Any:
    """Only the nodes on the left that have an edge keep their cells."""
    if not private.kind.two_sided:
        return measurement
    rows, _ = private.kind.pair_of(measurement.cells, *private.roster.sizes, inside=True)
    used = np.isin(rows, true_snapshot(private).u)
    return dataclasses.replace(measurement, cells=measurement.cells[used])


def _true_reciprocity(private: Any, measurement: Any) -> Any:
    if getattr(measurement.sizes, "noisy_reciprocated", None) is None:
        return measurement
    count = int(_reciprocated(true_snapshot(private)).sum()) // 2
    sizes = dataclasses.replace(measurement.sizes, noisy_reciprocated=count)
    return dataclasses.replace(measurement, sizes=sizes)


def _only_where_reciprocated(real: Any) -> Any:
    def dyads(private: Any, shares: Any) -> Any:
        if private.kind.directed and not _reciprocated(true_snapshot(private)).any():
            return {}
        return real(private, shares)

    return dyads


def _up_to_the_largest_true_weight(real: Any) -> Any:
    def synthesise(self: Any, *arguments: Any) -> Any:
        graph, truth = real(self, *arguments), self._truth.weight
        if truth is None:
            return graph
        weight = np.minimum(graph.weight, truth.max(initial=1))
        return SyntheticGraph(graph.roster, graph.u, graph.v, kind=graph.kind, weight=weight)

    return synthesise


KINDS = (
    # ---- sides and directions
    Mutant(
        "degrees of both sides count as one",
        "psgraph-plus",
        (Swap(f"{QUERIES}:Degrees.sensitivity", _one_for_both_sides),),
        ("replay",),
    ),
    Mutant(
        "the curves of both sides count as one",
        "psgraph-plus",
        (Swap(f"{PLUS_QUERIES}:DegreeCurveCounts.sensitivity", _one_for_both_sides),),
        ("replay",),
    ),
    Mutant(
        "inner degrees of both sides count as one",
        "psgraph",
        (Swap(f"{QUERIES}:InnerDegrees.sensitivity", _one_for_both_sides),),
        ("enumeration", "replay"),
    ),
    Mutant(
        "a directed edge is in two cells of the super-graph",
        "privgraph",
        (Swap(f"{QUERIES}:SuperGraphEdges.answer", _both_cells),),
        ("replay",),
        (("supernode_size", 2),),
    ),
    Mutant(
        "a reciprocated pair counts for both of its directions",
        "psgraph-plus",
        (Edit(f"{KIND_QUERIES}:ReciprocatedPairs.answer", "sum)) // 2", "sum))"),),
        ("replay",),
    ),
    Mutant(
        "active nodes have sensitivity 1",
        "psgraph-plus",
        (Swap(f"{KIND_QUERIES}:ActiveNodes.sensitivity", lambda _real: 1),),
        ("replay",),
    ),
    Mutant(
        "the true number of reciprocated pairs is released",
        "psgraph-plus",
        (Swap(f"{METHOD}:PSGraphPlus.measure", then(_true_reciprocity)),),
        ("replay",),
    ),
    Mutant(
        "reciprocity is measured only where there is any",
        "psgraph-plus",
        (Swap(f"{PLUS_QUERIES}:_dyads", _only_where_reciprocated),),
        ("replay",),
    ),
    Mutant(
        "the kind is taken from the edges",
        "tmf",
        (Swap(f"{TMF}:TmF.measure", then(_kind_by_truth)),),
        ("replay",),
    ),
    Mutant(
        "cells of nodes without edges are skipped",
        "tmf",
        (Swap(f"{TMF}:TmF.measure", then(_without_empty_rows)),),
        ("replay",),
    ),
    # ---- weights
    Mutant(
        "another weight of an edge may lose more than is charged",
        "psgraph-plus",
        (_UNCOVERED,),
        ("rules",),
    ),
    Mutant(
        "weights have the ε of degrees",
        "psgraph-plus",
        (
            _UNCOVERED,
            Edit(
                f"{METHOD}:measure_sizes",
                "epsilon=shares.nodes",
                'epsilon=getattr(shares, "weights", None) or shares.nodes',
            ),
            Edit(
                f"{METHOD}:measure_weights",
                "epsilon=shares.weights",
                "epsilon=shares.nodes or shares.weights",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "weights before are reserved for as if they came and went with edges",
        "psgraph-plus",
        (
            Edit(
                "psgraph.methods.private:PrivateSnapshot.reserve",
                "if query.weight_sensitivity > query.sensitivity:",
                "if False:",
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "another weight moves no weight class",
        "psgraph-plus",
        (Swap(f"{KIND_QUERIES}:WeightClassEdges.weight_sensitivity", lambda _real: 0),),
        ("replay",),
    ),
    Mutant(
        "weight classes add up weights",
        "psgraph-plus",
        (
            Edit(
                f"{KIND_QUERIES}:_add_weight_classes",
                "np.bincount(weight_classes(weight, largest), minlength=counts.size)",
                "np.bincount(weight_classes(weight, largest), weight, counts.size).astype(int)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "strengths have the sensitivity of degrees",
        "psgraph-plus",
        (Swap(f"{QUERIES}:Degrees.answer", _strengths),),
        ("replay",),
    ),
    Mutant(
        "an edge kept in its weight class counts twice",
        "psgraph-plus",
        (
            Edit(
                "psgraph.methods.plus.kept_edges:_common_classes",
                "found += classes[here] == other_classes[edge]",
                "found += 2 * (classes[here] == other_classes[edge])",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "weights are clipped at the largest true one",
        "psgraph-plus",
        (
            Swap(f"{METHOD}:PSGraphPlus.measure", remembering),
            Swap(f"{METHOD}:PSGraphPlus.synthesise", _up_to_the_largest_true_weight),
        ),
        ("replay",),
    ),
)
