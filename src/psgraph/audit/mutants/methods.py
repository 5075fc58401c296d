"""Mutants of methods: what published code gets wrong, and what PSGraph+ could.

Each wraps one step of a method so that it looks at the private edges where it must not, or pays
less than it owes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.audit.mutants.mutant import Mutant
from psgraph.audit.mutation import Patch, mutated
from psgraph.graph import Roster
from psgraph.methods import ldpgen
from psgraph.methods.der import splits
from psgraph.methods.plus import communities
from psgraph.methods.plus import method as plus_method
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.method import PSGraphPlus
from psgraph.methods.plus.queries import DegreeCurveCounts, KeptEdges
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.psgraph import method as psgraph_method
from psgraph.methods.psgraph import perturbation
from psgraph.methods.psgraph.method import PSGraph
from psgraph.methods.queries import InnerDegrees
from psgraph.methods.tmf import TmF, UnprovenLinearFilter
from psgraph.privacy.budget import RESERVED, Charge

__all__ = ["METHODS"]

Patches = Callable[[], tuple[Patch, ...]]


def _snapshot(private: Any) -> Any:
    return private._edges._snapshot


def _true_degrees(private: Any) -> Any:
    snapshot = _snapshot(private)
    return np.bincount(np.concatenate([snapshot.u, snapshot.v]), minlength=len(snapshot.roster))


def _edit(where: Any, name: str, old: str, new: str) -> Patches:
    return lambda: (Patch(where, name, mutated(vars(where)[name], old, new)),)


def _measuring(method: type, after: Callable[[Any, Any], Any]) -> Patches:
    """`measure` followed by ``after(snapshot, measurement)``, which returns what is released."""

    def patches() -> tuple[Patch, ...]:
        real = method.measure  # type: ignore[attr-defined]

        def measure(self: Any, private: Any, state: Any) -> Any:
            return after(_snapshot(private), real(self, private, state))

        return (Patch(method, "measure", measure),)

    return patches


def _true_edges(snapshot: Any, measurement: Any) -> Any:
    return dataclasses.replace(measurement, noisy_edge_count=int(snapshot.u.size))


def _capped_by_truth(snapshot: Any, measurement: Any) -> Any:
    degrees = np.bincount(np.concatenate([snapshot.u, snapshot.v]), minlength=len(snapshot.roster))
    cap = int(degrees.max(initial=0))
    return dataclasses.replace(
        measurement, noisy_inner_degrees=np.minimum(measurement.noisy_inner_degrees, cap)
    )


def _fused_with_truth(snapshot: Any, measurement: Any) -> Any:
    degrees = np.bincount(np.concatenate([snapshot.u, snapshot.v]), minlength=len(snapshot.roster))
    return dataclasses.replace(
        measurement, noisy_inner_degrees=(measurement.noisy_inner_degrees + degrees) // 2
    )


def _roster_from_edges() -> tuple[Patch, ...]:
    real = PSGraph.measure

    def measure(self: Any, private: Any, state: Any) -> Any:
        snapshot = _snapshot(private)
        active = np.unique(np.concatenate([snapshot.u, snapshot.v]))
        roster = Roster(snapshot.roster.ids[active])
        ends = (np.searchsorted(active, side) for side in (snapshot.u, snapshot.v))
        fewer = type(snapshot)(roster, *ends)
        return real(self, PrivateSnapshot(fewer, private._budget, private._edges.engine), state)

    return (Patch(PSGraph, "measure", measure),)


def _empty_graphs_are_skipped() -> tuple[Patch, ...]:
    real = vars(psgraph_method)["find_communities"]

    def find(private: Any, **options: Any) -> Any:
        if _snapshot(private).u.size == 0:
            return np.arange(len(private.roster), dtype=np.int32)
        return real(private, **options)

    return (Patch(psgraph_method, "find_communities", find),)


def _communities_are_free() -> tuple[Patch, ...]:
    real = vars(psgraph_method)["find_communities"]

    def find(private: Any, **options: Any) -> Any:
        budget = private._budget
        free = type(budget).__mro__[1](Fraction(1000), budget._sampler)
        return real(private._with_budget(free), **options)

    return (Patch(psgraph_method, "find_communities", find),)


def _keeps_by_truth() -> tuple[Patch, ...]:
    real = PSGraph.measure

    def measure(self: Any, private: Any, state: Any) -> Any:
        self._true_count = int(_snapshot(private).u.size)
        return real(self, private, state)

    def keeps(self: Any, state: Any, noisy_edge_count: int, roster: Any) -> bool:
        del noisy_edge_count, roster
        return bool(self._true_count % 2 == 0 and state.communities > 0)

    return (Patch(PSGraph, "measure", measure), Patch(PSGraph, "_keeps", keeps))


def _schedule_by_truth() -> tuple[Patch, ...]:
    real_measure, real_request = PSGraphPlus.measure, PSGraphPlus.request

    def measure(self: Any, private: Any, state: Any) -> Any:
        self._true_count = int(_snapshot(private).u.size)
        return real_measure(self, private, state)

    def request(self: Any, state: Any, spending: Any) -> Fraction:
        wanted = real_request(self, state, spending)
        little = Fraction(getattr(self, "_true_count", 0) % 2, 10**6)
        return min(wanted + little, spending.remaining)

    return (Patch(PSGraphPlus, "measure", measure), Patch(PSGraphPlus, "request", request))


def _hubs_by_truth() -> tuple[Patch, ...]:
    real = vars(plus_method)["measure_structure"]

    def structure(private: Any, classes: Any, hubs: Any, *rest: Any, **more: Any) -> Any:
        order = np.argsort(-_true_degrees(private), kind="stable")[: hubs.size]
        return real(private, classes, order, *rest, **more)

    return (Patch(plus_method, "measure_structure", structure),)


def _classes_by_truth() -> tuple[Patch, ...]:
    real = vars(plus_method)["measure_structure"]

    def structure(private: Any, classes: Any, hubs: Any, *rest: Any, **more: Any) -> Any:
        shown = np.minimum(_true_degrees(private), 11).astype(classes.dtype)
        return real(private, shown, hubs, *rest, **more)

    return (Patch(plus_method, "measure_structure", structure),)


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


def _order_by_truth() -> tuple[Patch, ...]:
    """Communities are searched also where released values say that it can't succeed."""
    real = vars(plus_method)["measure_communities"]

    def measure(private: Any, found: Any, _order: Any, *rest: Any) -> Any:
        return real(private, found, np.argsort(-_true_degrees(private), kind="stable"), *rest)

    return (
        Patch(communities, "ENOUGH", 0.0),
        Patch(communities, "MOST_DOUBT", np.inf),
        Patch(plus_method, "measure_communities", measure),
    )


def _nothing_reserved() -> tuple[Patch, ...]:
    """The reservation is written down, so that the query is let through, and nobody pays."""
    from psgraph.audit import transcripts

    def reserve(self: Any, epsilon: Fraction, *, label: str, sensitivity: int = 1) -> None:
        self._record(Charge(RESERVED, label, epsilon, sensitivity, ()))

    return (Patch(transcripts.ListeningBudget, "reserve", reserve),)


def _graph_follows_truth() -> tuple[Patch, ...]:
    real_measure, real_update = PSGraphPlus.measure, PSGraphPlus.update

    def measure(self: Any, private: Any, state: Any) -> Any:
        self._truth = _snapshot(private)
        return real_measure(self, private, state)

    def update(self: Any, state: Any, measurement: Any) -> Any:
        made = real_update(self, state, measurement)
        return dataclasses.replace(made, u=self._truth.u, v=self._truth.v)

    return (Patch(PSGraphPlus, "measure", measure), Patch(PSGraphPlus, "update", update))


def _sharp_splits() -> tuple[Patch, ...]:
    real = splits.choose_splits

    def sharp(*arguments: Any, epsilon: Fraction, **options: Any) -> Any:
        return real(*arguments, epsilon=4 * epsilon, **options)

    return (Patch(splits, "choose_splits", sharp),)


METHODS = (
    Mutant(
        "degrees have sensitivity 1",
        "psgraph",
        lambda: (Patch(InnerDegrees, "sensitivity", 1),),
        ("enumeration", "replay"),
    ),
    Mutant(
        "outer degrees and community edges have all of ε each",
        "psgraph",
        lambda: (
            Patch(perturbation, "structure_epsilons", lambda epsilon: (epsilon, epsilon, epsilon)),
        ),
        ("enumeration", "replay"),
    ),
    Mutant(
        "the true edge count is released", "psgraph", _measuring(PSGraph, _true_edges), ("replay",)
    ),
    Mutant(
        "degrees are capped at the true maximum",
        "psgraph",
        _measuring(PSGraph, _capped_by_truth),
        ("replay",),
    ),
    Mutant(
        "degrees are fused with the true ones",
        "psgraph",
        _measuring(PSGraph, _fused_with_truth),
        ("replay",),
    ),
    Mutant(
        "the roster is read off the edges unannounced", "psgraph", _roster_from_edges, ("replay",)
    ),
    Mutant(
        "graphs without edges take a shortcut", "psgraph", _empty_graphs_are_skipped, ("replay",)
    ),
    Mutant(
        "communities are found on a budget of their own",
        "psgraph",
        _communities_are_free,
        ("replay",),
        (("supernode_size", 2),),
    ),
    Mutant(
        "the true count decides whether communities are kept",
        "psgraph",
        _keeps_by_truth,
        ("replay",),
    ),
    Mutant("the schedule looks at the true count", "psgraph-plus", _schedule_by_truth, ("replay",)),
    Mutant("hubs are chosen by true degree", "psgraph-plus", _hubs_by_truth, ("replay",)),
    Mutant("degree classes come from true degrees", "psgraph-plus", _classes_by_truth, ("replay",)),
    Mutant(
        "the true number of triangles is released",
        "psgraph-plus",
        _measuring(PSGraphPlus, _true_triangles),
        ("replay",),
    ),
    Mutant(
        "a growth pass visits nodes by true degree",
        "psgraph-plus",
        _order_by_truth,
        ("replay",),
    ),
    Mutant(
        "the noise of a growth pass is halved",
        "psgraph-plus",
        _edit(
            GrowthPass,
            "draw",
            "rate = epsilon / self.sensitivity",
            "rate = 2 * epsilon / self.sensitivity",
        ),
        ("samplers",),
    ),
    Mutant(
        "persistence is not charged to the timestamp before",
        "psgraph-plus",
        _nothing_reserved,
        ("replay",),
    ),
    Mutant(
        "the synthetic graph is the true one", "psgraph-plus", _graph_follows_truth, ("replay",)
    ),
    Mutant(
        "the degree curve has sensitivity 1",
        "psgraph-plus",
        lambda: (Patch(DegreeCurveCounts, "sensitivity", 1),),
        ("replay",),
    ),
    Mutant(
        "persistence counts edges twice",
        "psgraph-plus",
        _edit(KeptEdges, "answer", "return int(", "return 2 * int("),
        ("replay",),
    ),
    Mutant(
        "TmF's linear filter is called private",
        "tmf",
        lambda: (
            Patch(UnprovenLinearFilter, "proven", True),
            Patch(TmF, "caveat", None),
        ),
        ("bounds",),
        (("filter", "linear"),),
    ),
    Mutant(
        "LDPGen's degrees have sensitivity 1",
        "ldpgen",
        lambda: (Patch(ldpgen.LDPGen, "_sensitivity", 1),),
        ("replay",),
    ),
    Mutant(
        "DER's split choice is twice as sharp",
        "der",
        _sharp_splits,
        ("samplers",),
    ),
)
