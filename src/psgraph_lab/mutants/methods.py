"""Mutants of methods: what published code gets wrong, and what PSGraph+ could.

Each changes one step of a method so that it reads private edges where it must not, or pays less
than it owes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.graph import Roster
from psgraph_lab.mutants.mutant import Edit, Mutant, Swap

__all__ = ["METHODS"]

COMMUNITIES = "psgraph.methods.plus.communities"
LADDER = "psgraph.methods.plus.ladder"
PLUS = "psgraph.methods.plus.method"
PSGRAPH = "psgraph.methods.psgraph.method"
STRUCTURE = "psgraph.methods.psgraph.perturbation"


def _degrees(snapshot: Any) -> Any:
    ends = np.concatenate([snapshot.u, snapshot.v])
    return np.bincount(ends, minlength=len(snapshot.roster))


def _then(after: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """`measure` followed by ``after(snapshot, measurement)``, which returns what is released."""

    def make(real: Any) -> Any:
        def measure(self: Any, snapshot: Any, *rest: Any, **options: Any) -> Any:
            return after(snapshot, real(self, snapshot, *rest, **options))

        return measure

    return make


def _remembering(real: Any) -> Any:
    """`measure` that keeps the snapshot, so that a later step can look at it."""

    def measure(self: Any, snapshot: Any, *rest: Any, **options: Any) -> Any:
        self._truth = snapshot
        return real(self, snapshot, *rest, **options)

    return measure


def _true_edges(snapshot: Any, measurement: Any) -> Any:
    return dataclasses.replace(measurement, noisy_edge_count=int(snapshot.u.size))


def _capped_by_truth(snapshot: Any, measurement: Any) -> Any:
    cap = int(_degrees(snapshot).max(initial=0))
    return dataclasses.replace(
        measurement, noisy_inner_degrees=np.minimum(measurement.noisy_inner_degrees, cap)
    )


def _fused_with_truth(snapshot: Any, measurement: Any) -> Any:
    return dataclasses.replace(
        measurement,
        noisy_inner_degrees=(measurement.noisy_inner_degrees + _degrees(snapshot)) // 2,
    )


def _true_triangles(snapshot: Any, measurement: Any) -> Any:
    structure = measurement.structure
    if structure.noisy_triangles is None:
        return measurement
    matrix = np.zeros((len(snapshot.roster),) * 2, dtype=np.int64)
    matrix[snapshot.u, snapshot.v] = matrix[snapshot.v, snapshot.u] = 1
    triangles = int(np.trace(matrix @ matrix @ matrix)) // 6
    return dataclasses.replace(
        measurement, structure=dataclasses.replace(structure, noisy_triangles=triangles)
    )


def _roster_from_edges(real: Any) -> Any:
    def measure(self: Any, snapshot: Any, state: Any, budget: Any, engine: Any) -> Any:
        active = np.unique(np.concatenate([snapshot.u, snapshot.v]))
        roster = Roster(snapshot.roster.ids[active])
        ends = (np.searchsorted(active, side) for side in (snapshot.u, snapshot.v))
        return real(self, type(snapshot)(roster, *ends), state, budget, engine)

    return measure


def _skipping_empty_graphs(real: Any) -> Any:
    def find(snapshot: Any, budget: Any, engine: Any, **options: Any) -> Any:
        if engine.edge_count(snapshot) == 0:
            return np.arange(len(snapshot.roster), dtype=np.int32)
        return real(snapshot, budget, engine, **options)

    return find


def _on_a_free_budget(real: Any) -> Any:
    def find(snapshot: Any, budget: Any, engine: Any, **options: Any) -> Any:
        free = type(budget).__mro__[1](Fraction(1000), budget._sampler)
        return real(snapshot, free, engine, **options)

    return find


def _split_again_unpaid(real: Any) -> Any:
    """The structure measured a second time, on a second split with names of its own."""

    def structure(snapshot: Any, labels: Any, budget: Any, engine: Any, **options: Any) -> Any:
        measured = real(snapshot, labels, budget, engine, **options)
        split, spent = budget.parallel, budget.spent
        budget.spent = spent - options["epsilon"]
        budget.parallel = lambda epsilon, *parts: split(epsilon, *(f"{p}, again" for p in parts))
        try:
            real(snapshot, labels, budget, engine, **options)
        finally:
            del budget.parallel
        return measured

    return structure


def _keeping_by_truth(_real: Any) -> Any:
    def keeps(self: Any, state: Any, noisy_edge_count: int, roster: Any) -> bool:
        del noisy_edge_count, roster
        return bool(self._truth.u.size % 2 == 0 and state.communities > 0)

    return keeps


def _requesting_by_truth(real: Any) -> Any:
    def request(self: Any, state: Any, spending: Any) -> Fraction:
        truth = getattr(self, "_truth", None)
        little = Fraction(0 if truth is None else truth.u.size % 2, 10**6)
        return min(real(self, state, spending) + little, spending.remaining)

    return request


def _hubs_by_truth(real: Any) -> Any:
    def structure(snapshot: Any, classes: Any, hubs: Any, *rest: Any, **more: Any) -> Any:
        order = np.argsort(-_degrees(snapshot), kind="stable")[: hubs.size]
        return real(snapshot, classes, order, *rest, **more)

    return structure


def _classes_by_truth(real: Any) -> Any:
    def structure(snapshot: Any, classes: Any, hubs: Any, *rest: Any, **more: Any) -> Any:
        shown = np.minimum(_degrees(snapshot), 11).astype(classes.dtype)
        return real(snapshot, shown, hubs, *rest, **more)

    return structure


def _order_by_truth(real: Any) -> Any:
    def measure(snapshot: Any, found: Any, _order: Any, *rest: Any) -> Any:
        return real(snapshot, found, np.argsort(-_degrees(snapshot), kind="stable"), *rest)

    return measure


def _graph_by_truth(real: Any) -> Any:
    def update(self: Any, state: Any, measurement: Any) -> Any:
        made = real(self, state, measurement)
        return dataclasses.replace(made, u=self._truth.u, v=self._truth.v)

    return update


def _sharper(real: Any) -> Any:
    def splits(*arguments: Any, epsilon: Fraction, **options: Any) -> Any:
        return real(*arguments, epsilon=4 * epsilon, **options)

    return splits


METHODS = (
    Mutant(
        "degrees have sensitivity 1",
        "psgraph",
        (
            Edit(
                f"{STRUCTURE}:measure_structure",
                "LaplaceCounts(inner_degrees, per_edge(2))",
                "LaplaceCounts(inner_degrees, per_edge(1))",
            ),
        ),
        ("enumeration", "replay"),
    ),
    Mutant(
        "outer degrees and community edges have all of ε each",
        "psgraph",
        (Swap(f"{STRUCTURE}:structure_epsilons", lambda _real: lambda epsilon: (epsilon,) * 3),),
        ("enumeration", "replay"),
    ),
    Mutant(
        "the structure is measured on a second split that is not paid for",
        "psgraph",
        (Swap(f"{PSGRAPH}:measure_structure", _split_again_unpaid),),
        ("replay",),
    ),
    Mutant(
        "the true edge count is released",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", _then(_true_edges)),),
        ("replay",),
    ),
    Mutant(
        "degrees are capped at the true maximum",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", _then(_capped_by_truth)),),
        ("replay",),
    ),
    Mutant(
        "degrees are fused with the true ones",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", _then(_fused_with_truth)),),
        ("replay",),
    ),
    Mutant(
        "the roster is taken from the edges without saying so",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", _roster_from_edges),),
        ("replay",),
    ),
    Mutant(
        "graphs without edges take a shortcut",
        "psgraph",
        (Swap(f"{PSGRAPH}:find_communities", _skipping_empty_graphs),),
        ("replay",),
    ),
    Mutant(
        "communities are found on a budget of their own",
        "psgraph",
        (Swap(f"{PSGRAPH}:find_communities", _on_a_free_budget),),
        ("replay",),
        (("supernode_size", 2),),
    ),
    Mutant(
        "the true count decides whether communities are kept",
        "psgraph",
        (
            Swap(f"{PSGRAPH}:PSGraph.measure", _remembering),
            Swap(f"{PSGRAPH}:PSGraph._keeps", _keeping_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "the schedule looks at the true count",
        "psgraph-plus",
        (
            Swap(f"{PLUS}:PSGraphPlus.measure", _remembering),
            Swap(f"{PLUS}:PSGraphPlus.request", _requesting_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "hubs are chosen by true degree",
        "psgraph-plus",
        (Swap(f"{PLUS}:measure_structure", _hubs_by_truth),),
        ("replay",),
    ),
    Mutant(
        "degree classes come from true degrees",
        "psgraph-plus",
        (Swap(f"{PLUS}:measure_structure", _classes_by_truth),),
        ("replay",),
    ),
    Mutant(
        "the true number of triangles is released",
        "psgraph-plus",
        (Swap(f"{PLUS}:PSGraphPlus.measure", _then(_true_triangles)),),
        ("replay",),
    ),
    Mutant(
        "a growth pass visits nodes by true degree",
        "psgraph-plus",
        (  # communities are also searched where released values say that it can't succeed
            Swap(f"{COMMUNITIES}:ENOUGH", lambda _real: 0.0),
            Swap(f"{COMMUNITIES}:MOST_DOUBT", lambda _real: np.inf),
            Swap(f"{PLUS}:measure_communities", _order_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "the noise of a growth pass is halved",
        "psgraph-plus",
        (
            Edit(
                "psgraph.methods.plus.growth:GrowthPass.draw",
                "rate = epsilon / self.sensitivity.amount",
                "rate = 2 * epsilon / self.sensitivity.amount",
            ),
        ),
        ("samplers",),
    ),
    Mutant(
        "persistence is not charged to the timestamp before",
        "psgraph-plus",
        (
            Swap(
                "psgraph.audit.transcripts:ListeningBudget.reserve",
                lambda _real: lambda _self, _epsilon, **_label: None,
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "the synthetic graph is the true one",
        "psgraph-plus",
        (
            Swap(f"{PLUS}:PSGraphPlus.measure", _remembering),
            Swap(f"{PLUS}:PSGraphPlus.update", _graph_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "the degree curve has sensitivity 1",
        "psgraph-plus",
        (
            Swap(
                "psgraph.methods.plus.queries:LABELS",
                lambda real: {**real, "curve": ("degree curve", 1)},
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "persistence counts edges twice",
        "psgraph-plus",
        (
            Edit(
                f"{PLUS}:measure_sizes",
                "kept = engine.common_edges(snapshot, previous)",
                "kept = 2 * engine.common_edges(snapshot, previous)",
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
    Mutant(
        "TmF's linear filter is called private",
        "tmf",
        (
            Swap(
                "psgraph.methods.tmf.linear_filter:UnprovenLinearFilter.proven", lambda _real: True
            ),
            Swap("psgraph.methods.tmf.method:TmF.caveat", lambda _real: None),
        ),
        ("bounds",),
        (("filter", "linear"),),
    ),
    Mutant(
        "LDPGen's degrees have sensitivity 1",
        "ldpgen",
        (Swap("psgraph.methods.ldpgen:LDPGen._sensitivity", lambda _real: 1),),
        ("replay",),
    ),
    Mutant(
        "DER's split choice is twice as sharp",
        "der",
        (Swap("psgraph.methods.der.splits:choose_splits", _sharper),),
        ("samplers",),
    ),
)
