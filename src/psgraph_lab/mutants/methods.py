"""Mutants of methods: what published code gets wrong, in PSGraph and the static methods.

Each changes one step of a method so that it reads private edges where it must not, or pays less
than it owes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.graph import Roster, Snapshot
from psgraph.privacy.budget import Budget
from psgraph.privacy.mechanisms.laplace import LaplaceCount
from psgraph_lab.mutants.mutant import Mutant, Swap

__all__ = ["METHODS", "remembering", "then", "true_degrees", "true_snapshot"]

PSGRAPH = "psgraph.methods.psgraph.method"
STRUCTURE = "psgraph.methods.psgraph.method"


def true_snapshot(private: Any) -> Snapshot:
    """The private snapshot, which no method may look at."""
    snapshot: Snapshot = private._edges._snapshot
    return snapshot


def true_degrees(private: Any) -> Any:
    snapshot = true_snapshot(private)
    ends = np.concatenate([snapshot.u, snapshot.v])
    return np.bincount(ends, minlength=len(snapshot.roster))


def then(after: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """`measure` followed by ``after(private, measurement)``, which returns what is released."""

    def make(real: Any) -> Any:
        def measure(self: Any, private: Any, state: Any) -> Any:
            return after(private, real(self, private, state))

        return measure

    return make


def remembering(real: Any) -> Any:
    """`measure` that keeps the snapshot, so that a later step can look at it."""

    def measure(self: Any, private: Any, state: Any) -> Any:
        self._truth = true_snapshot(private)
        return real(self, private, state)

    return measure


def _true_edges(private: Any, measurement: Any) -> Any:
    return dataclasses.replace(measurement, noisy_edge_count=int(true_snapshot(private).u.size))


def _capped_by_truth(private: Any, measurement: Any) -> Any:
    cap = int(true_degrees(private).max(initial=0))
    return dataclasses.replace(
        measurement, noisy_inner_degrees=np.minimum(measurement.noisy_inner_degrees, cap)
    )


def _fused_with_truth(private: Any, measurement: Any) -> Any:
    return dataclasses.replace(
        measurement,
        noisy_inner_degrees=(measurement.noisy_inner_degrees + true_degrees(private)) // 2,
    )


def _count_without_a_query(real: Any) -> Any:
    def measure(self: Any, private: Any, state: Any) -> Any:
        count = LaplaceCount(int(true_snapshot(private).u.size), 1)
        private._budget.run(count, epsilon=private.remaining / 2, label="edges")
        return real(self, private, state)

    return measure


def _roster_from_edges(real: Any) -> Any:
    def measure(self: Any, private: Any, state: Any) -> Any:
        snapshot = true_snapshot(private)
        active = np.unique(np.concatenate([snapshot.u, snapshot.v]))
        ends = (np.searchsorted(active, side) for side in (snapshot.u, snapshot.v))
        smaller = Snapshot(Roster(snapshot.roster.ids[active]), *ends)
        return real(self, type(private)(smaller, private._budget, private._edges.engine), state)

    return measure


def _skipping_empty_graphs(real: Any) -> Any:
    def find(private: Any, **options: Any) -> Any:
        if true_snapshot(private).u.size == 0:
            return np.arange(len(private.roster), dtype=np.int32)
        return real(private, **options)

    return find


def _on_a_free_budget(real: Any) -> Any:
    def find(private: Any, **options: Any) -> Any:
        free = Budget(Fraction(1000), private._budget._sampler)
        return real(private._with_budget(free), **options)

    return find


def _split_again_unpaid(real: Any) -> Any:
    """The structure measured a second time, on a second split with names of its own."""

    def structure(private: Any, labels: Any, *, epsilon: Fraction) -> Any:
        measured = real(private, labels, epsilon=epsilon)
        split = private.parallel
        private._budget.spent -= epsilon
        private.parallel = lambda epsilon, *parts: split(epsilon, *(f"{p}, again" for p in parts))
        try:
            real(private, labels, epsilon=epsilon)
        finally:
            del private.parallel
        return measured

    return structure


def _keeping_by_truth(_real: Any) -> Any:
    def keeps(self: Any, state: Any, noisy_edge_count: int, roster: Any) -> bool:
        del noisy_edge_count, roster
        return bool(self._truth.u.size % 2 == 0 and state.communities > 0)

    return keeps


def _sharper(real: Any) -> Any:
    def splits(*arguments: Any, epsilon: Fraction, **options: Any) -> Any:
        return real(*arguments, epsilon=4 * epsilon, **options)

    return splits


METHODS = (
    Mutant(
        "degrees have sensitivity 1",
        "psgraph",
        (Swap("psgraph.methods.queries:InnerDegrees.sensitivity", lambda _real: 1),),
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
        "a count is drawn without a query",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", _count_without_a_query),),
        ("replay",),
    ),
    Mutant(
        "the true edge count is released",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", then(_true_edges)),),
        ("replay",),
    ),
    Mutant(
        "degrees are capped at the true maximum",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", then(_capped_by_truth)),),
        ("replay",),
    ),
    Mutant(
        "degrees are fused with the true ones",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", then(_fused_with_truth)),),
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
            Swap(f"{PSGRAPH}:PSGraph.measure", remembering),
            Swap(f"{PSGRAPH}:PSGraph._keeps", _keeping_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "TmF's linear filter is called private",
        "tmf",
        (
            Swap("psgraph.methods.tmf:UnprovenLinearFilter.proven", lambda _real: True),
            Swap("psgraph.methods.tmf:TmF.caveat", lambda _real: None),
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
