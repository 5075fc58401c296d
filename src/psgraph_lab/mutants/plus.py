"""Mutants of PSGraph+: steps that look at private edges, and queries that cost less than stated."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.graph import SyntheticGraph
from psgraph_lab.mutants.methods import remembering, then, true_degrees, true_snapshot
from psgraph_lab.mutants.mutant import Edit, Mutant, Swap

__all__ = ["PLUS"]

COMMUNITIES = "psgraph.methods.plus.communities"
LADDER = "psgraph.methods.plus.noisy_triangles"
METHOD = "psgraph.methods.plus.method"
PRIVATE = "psgraph.methods.private"
QUERIES = "psgraph.methods.plus.queries"


def _true_triangles(private: Any, measurement: Any) -> Any:
    snapshot, structure = true_snapshot(private), measurement.structure
    if structure.noisy_triangles is None:
        return measurement
    matrix = np.zeros((len(snapshot.roster),) * 2, dtype=np.int64)
    matrix[snapshot.u, snapshot.v] = matrix[snapshot.v, snapshot.u] = 1
    triangles = int(np.trace(matrix @ matrix @ matrix)) // 6
    return dataclasses.replace(
        measurement, structure=dataclasses.replace(structure, noisy_triangles=triangles)
    )


def _requesting_by_truth(real: Any) -> Any:
    def request(self: Any, state: Any, spending: Any) -> Fraction:
        truth = getattr(self, "_truth", None)
        little = Fraction(0 if truth is None else truth.u.size % 2, 10**6)
        return min(real(self, state, spending) + little, spending.remaining)

    return request


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


PLUS = (
    Mutant(
        "the schedule looks at the true count",
        "psgraph-plus",
        (
            Swap(f"{METHOD}:PSGraphPlus.measure", remembering),
            Swap(f"{METHOD}:PSGraphPlus.request", _requesting_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "hubs are chosen by true degree",
        "psgraph-plus",
        (Swap(f"{METHOD}:measure_structure", _hubs_by_truth),),
        ("replay",),
    ),
    Mutant(
        "degree classes come from true degrees",
        "psgraph-plus",
        (Swap(f"{METHOD}:measure_structure", _classes_by_truth),),
        ("replay",),
    ),
    Mutant(
        "the true number of triangles is released",
        "psgraph-plus",
        (Swap(f"{METHOD}:PSGraphPlus.measure", then(_true_triangles)),),
        ("replay",),
    ),
    Mutant(
        "a growth pass visits nodes by true degree",
        "psgraph-plus",
        (  # communities are also searched where released values say that it can't succeed
            Swap(f"{COMMUNITIES}:ENOUGH", lambda _real: 0.0),
            Swap(f"{COMMUNITIES}:MOST_DOUBT", lambda _real: np.inf),
            Swap(f"{METHOD}:measure_communities", _order_by_truth),
        ),
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
        "the synthetic graph is the true one",
        "psgraph-plus",
        (
            Swap(f"{METHOD}:PSGraphPlus.measure", remembering),
            Swap(f"{METHOD}:PSGraphPlus.synthesise", _graph_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "the degree curve has sensitivity 1",
        "psgraph-plus",
        (Swap(f"{QUERIES}:DegreeCurveCounts.sensitivity", lambda _real: 1),),
        ("replay",),
    ),
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
)
