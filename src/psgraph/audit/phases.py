"""Exact enumeration of the phases of the kernel and of methods, on all graphs of a few nodes.

The true privacy loss of a phase is the largest log-ratio of the probabilities of anything it can
show, over all pairs of neighbouring graphs. It must not exceed what the phase charges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from psgraph.audit.enumeration import compare, explore, extremes
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Snapshot
from psgraph.methods.audit_cases import Phase
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateEdges, PrivateSnapshot
from psgraph.methods.queries import CommunityChoices, EdgeCount
from psgraph.privacy.budget import Budget
from psgraph.privacy.query import Query
from psgraph.testing.cases import all_graphs, neighbouring_pairs

__all__ = ["KERNEL", "broken_phases", "phase_loss"]

ENGINE = LocalEngine()


def broken_phases(methods: Sequence[Method[Any, Any]] = ()) -> list[str]:
    """Return the phases that lose more than they charge, of the kernel and of methods.

    >>> broken_phases()
    []
    """
    found = []
    for cases in (KERNEL, *(method.audit_cases().phases for method in methods)):
        for name, phase in cases.items():
            try:
                loss, excess = phase_loss(phase)
            except Exception as error:
                found.append(f"{name}: {type(error).__name__}: {error}")
                continue
            if excess > 1e-9:
                found.append(f"{name}: loses {loss:.3g}, {excess:.3g} more than it charges")
    return found


def phase_loss(phase: Phase | Query[Any]) -> tuple[float, float]:
    """Return the exact loss of a phase, and by how much it exceeds the charge."""
    if isinstance(phase, Query):
        return _query_loss(phase)

    def run(graph: Snapshot, budget: Budget) -> None:
        phase.run(PrivateSnapshot(graph, budget, ENGINE))

    distributions = [
        explore(
            partial(run, graph),
            epsilon=phase.epsilon,
            window=extremes(-1, 6),
            terminal=phase.terminal,
        )
        for graph in all_graphs(3)
    ]
    verdicts = [
        compare(distributions[one], distributions[other]) for one, other in neighbouring_pairs(3)
    ]
    worst = max(verdicts, key=lambda verdict: verdict.excess)
    return worst.loss, worst.excess


def _query_loss(query: Query[Any]) -> tuple[float, float]:
    """The loss at ε = 1: the largest distance between answers, in stated sensitivities."""
    drawn = [query.mechanism(query.answer(PrivateEdges(graph, ENGINE))) for graph in all_graphs(4)]
    distance = max(drawn[one].distance(drawn[other]) for one, other in neighbouring_pairs(4))
    loss = distance / query.sensitivity
    return loss, loss - 1.0


def _ask(query: Query[Any], private: PrivateSnapshot) -> None:
    private.ask(query, epsilon=private.epsilon)


def _choice(*labels: int) -> Phase:
    before = np.array(labels, dtype=np.int32)
    return Phase(partial(_ask, CommunityChoices(before)), Fraction(4))


KERNEL: Mapping[str, Phase] = {
    "edge count": Phase(partial(_ask, EdgeCount()), Fraction(2)),
    "community choice from singletons": _choice(0, 1, 2),
    "community choice from two communities": _choice(0, 1, 1),
}
