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
from psgraph.audit.neighbours import all_graphs, neighbouring_pairs
from psgraph.engines.local import LocalEngine
from psgraph.graph import Snapshot
from psgraph.methods.audit_cases import Phase, SmallMechanism
from psgraph.methods.base import Method
from psgraph.privacy.budget import Budget
from psgraph.privacy.mechanism import per_edge
from psgraph.privacy.mechanisms.exponential import CommunityChoice
from psgraph.privacy.mechanisms.laplace import LaplaceCount

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


def phase_loss(phase: Phase | SmallMechanism) -> tuple[float, float]:
    """Return the exact loss of a phase, and by how much it exceeds the charge."""
    if isinstance(phase, SmallMechanism):
        return _distance_loss(phase)
    distributions = [
        explore(
            partial(phase.run, graph),
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


def _distance_loss(case: SmallMechanism) -> tuple[float, float]:
    """The loss at ε = 1 by the mechanism's own distance, in multiples of its sensitivity."""
    drawn = [case.make(graph) for graph in all_graphs(4)]
    loss = max(
        drawn[one].distance(drawn[other]) / drawn[one].sensitivity.amount
        for one, other in neighbouring_pairs(4)
    )
    return loss, loss - 1.0


def _edge_count(snapshot: Snapshot, budget: Budget) -> None:
    count = LaplaceCount(ENGINE.edge_count(snapshot), per_edge(1))
    budget.run(count, epsilon=budget.epsilon, label="edges")


def _choice(labels: list[int], snapshot: Snapshot, budget: Budget) -> None:
    before = np.array(labels, dtype=np.int32)
    choice = CommunityChoice(ENGINE.community_scores(snapshot, before), before)
    budget.run(choice, epsilon=budget.epsilon, label="choice")


KERNEL: Mapping[str, Phase] = {
    "edge count": Phase(_edge_count, Fraction(2)),
    "community choice from singletons": Phase(partial(_choice, [0, 1, 2]), Fraction(4)),
    "community choice from two communities": Phase(partial(_choice, [0, 1, 1]), Fraction(4)),
}
