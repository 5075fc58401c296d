"""Mutants of PSGraph+'s schedule: what is bought after looking at the noisy edge count."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph_lab.mutants.mutant import Edit, Mutant, Swap
from psgraph_lab.mutants.truth import TRUE_EDGES, remembering, remembering_for_later

__all__ = ["PLUS_SCHEDULE"]

BUDGET = "psgraph.privacy.budget:Budget"
METHOD = "psgraph.methods.plus.method"
PLUS = f"{METHOD}:PSGraphPlus"


def _requesting_by_truth(real: Any) -> Any:
    def request(self: Any, state: Any, spending: Any) -> Fraction:
        truth = getattr(self, "_truth", None)
        little = Fraction(0 if truth is None else truth.u.size % 2, 10**6)
        return min(real(self, state, spending) + little, spending.remaining)

    return request


def _mode_by_truth(real: Any) -> Any:
    """Measure degrees at every timestamp where the largest one changed."""

    def step(self: Any, state: Any, sizes: Any) -> Any:
        taken, largest = real(self, state, sizes), np.bincount(self._truth.u).max(initial=0)
        changed = state is not None and largest != getattr(self, "_largest", largest)
        self._largest = largest
        return dataclasses.replace(taken, mode="steady" if changed else taken.mode)

    return step


def _back_by_truth(real: Any) -> Any:
    """Take up the state before a fall where the true edge count has come back."""

    def step(self: Any, state: Any, sizes: Any) -> Any:
        if state is not None and state.before_fall is not None:
            sizes = dataclasses.replace(sizes, noisy_edge_count=int(self._truth.u.size))
        return real(self, state, sizes)

    return step


def _remembering_the_graph(real: Any) -> Any:
    """Remember true degrees together with the state before a fall."""

    def update(self: Any, state: Any, measurement: Any) -> Any:
        after = real(self, state, measurement)
        if not after.jumps.waiting:
            return after
        before = after.before_fall
        ends = np.concatenate([self._truth.u, self._truth.v])
        degrees = np.bincount(ends, minlength=len(before.roster))[: len(before.roster)]
        remembered = dataclasses.replace(before, degrees=degrees.astype(np.int64))
        return dataclasses.replace(after, before_fall=remembered)

    return update


PLUS_SCHEDULE = (
    Mutant(
        "the schedule looks at the true count",
        "psgraph-plus",
        (
            Swap(f"{PLUS}.measure", remembering),
            Swap(f"{PLUS}.request", _requesting_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "true degrees decide how often degrees are measured",
        "psgraph-plus",
        (
            Swap(f"{PLUS}.measure", remembering),
            Swap(f"{PLUS}._degree_step", _mode_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "the true edge count decides on a second search",
        "psgraph-plus",
        (
            Swap(f"{PLUS}.measure", remembering_for_later),
            Edit(
                f"{PLUS}._buy",
                "and state.search.again,",
                "and state.search.again and getattr(self, '_edges_before', 0) % 2 == 0,",
            ),
        ),
        ("replay",),
    ),
    # ---- looking at the edge count
    Mutant(
        "the true edge count decides what is bought",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:measure_sizes", "buy(shares, noisy_edges)", f"buy(shares, {TRUE_EDGES})"
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "the true edge count releases the reserve",
        "psgraph-plus",
        (
            Swap(f"{PLUS}.measure", remembering),
            Edit(
                f"{PLUS}._buy",
                "jump=verdict.size if verdict.buys",
                "jump=verdict.size if verdict.buys and self._truth.u.size > state.edge_count",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "the true edge count decides on one more count of edges kept",
        "psgraph-plus",
        (
            Swap(f"{PLUS}.measure", remembering),
            Edit(
                f"{PLUS}._buy",
                "recounts=recounts(",
                "recounts=self._truth.u.size % 2 == 0 and recounts(",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "a fall waits if the true edge count fell",
        "psgraph-plus",
        (
            Swap(f"{PLUS}.measure", remembering),
            Edit(
                f"{PLUS}._buy",
                "waits=verdict.waits",
                "waits=verdict.waits and self._truth.u.size < state.edge_count",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "the true edge count says that a fall is over",
        "psgraph-plus",
        (Swap(f"{PLUS}.measure", remembering), Swap(f"{PLUS}._degree_step", _back_by_truth)),
        ("replay",),
    ),
    Mutant(
        "the true degrees are remembered where the edge count falls",
        "psgraph-plus",
        (Swap(f"{PLUS}.measure", remembering), Swap(f"{PLUS}.update", _remembering_the_graph)),
        ("replay",),
    ),
    # ---- giving back
    Mutant(
        "the true edge count decides what is given back",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:measure_sizes",
                "private.give_back(fixed.total + free - shares.total)",
                f"private.give_back((fixed.total + free - shares.total) / (1 + {TRUE_EDGES} % 2))",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "all that is free is given back, and then spent",
        "psgraph-plus",
        (
            Edit(f"{METHOD}:measure_sizes", "fixed.total + free - shares.total)", "free)"),
            Swap(
                f"{BUDGET}.remaining",
                lambda _real: property(lambda self: self.epsilon - self.spent),
            ),
            Swap(f"{BUDGET}.booked", lambda _real: property(lambda self: self.epsilon)),
            Edit(
                "psgraph.methods.timestamp:measure_timestamp",
                "spending=spending.record(budget.booked)",
                "spending=spending.record(budget.epsilon - budget.given_back)",
            ),
        ),
        ("replay",),
    ),
)
