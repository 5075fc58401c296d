"""Exact enumeration of psgraph's own phases on all graphs of three nodes.

The true privacy loss of a phase is the largest log-ratio of the probabilities of anything it can
show, over all pairs of neighbouring graphs. It must not exceed what the phase charges.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from psgraph.audit.enumeration import STRUCTURE, compare, explore, extremes
from psgraph.audit.small_graphs import all_graphs, neighbouring_pairs
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Snapshot
from psgraph.methods.plus.ladder import Ladder, Rungs
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.psgraph import perturbation
from psgraph.methods.queries import CommunityChoices, EdgeCount
from psgraph.privacy.budget import Budget

__all__ = ["PHASES", "broken_phases", "phase_loss"]

ENGINE = LocalEngine()
NODES = 3
Run = Callable[[Snapshot, Budget], Any]


def broken_phases() -> list[str]:
    """Return the phases that lose more than they charge; none if all is well.

    >>> broken_phases()
    []
    """
    found = []
    for name in PHASES:
        try:
            loss, excess = phase_loss(name)
        except Exception as error:
            found.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if excess > 1e-9:
            found.append(f"{name}: loses {loss:.3g}, {excess:.3g} more than it charges")
    return found


def phase_loss(name: str) -> tuple[float, float]:
    """The exact loss of a phase, and by how much it exceeds the charge."""
    if name == "triangles":
        return _ladder_loss()
    run, epsilon = PHASES[name]
    graphs = all_graphs(NODES)
    distributions = [
        explore(partial(run, graph), epsilon=epsilon, window=extremes(-1, 6), terminal=STRUCTURE)
        for graph in graphs
    ]
    verdicts = [
        compare(distributions[one], distributions[other])
        for one, other in neighbouring_pairs(NODES)
    ]
    worst = max(verdicts, key=lambda verdict: verdict.excess)
    return worst.loss, worst.excess


def _edge_count(snapshot: Snapshot, budget: Budget) -> None:
    PrivateSnapshot(snapshot, budget, ENGINE).ask(EdgeCount(), epsilon=Fraction(2))


def _structure(labels: list[int], snapshot: Snapshot, budget: Budget) -> None:
    perturbation.measure_structure(
        PrivateSnapshot(snapshot, budget, ENGINE),
        np.array(labels, dtype=np.int32),
        epsilon=Fraction(2),
    )


def _choice(labels: list[int], snapshot: Snapshot, budget: Budget) -> None:
    before = np.array(labels, dtype=np.int32)
    PrivateSnapshot(snapshot, budget, ENGINE).ask(CommunityChoices(before), epsilon=Fraction(4))


PHASES: dict[str, tuple[Run, Fraction]] = {
    "edge count": (_edge_count, Fraction(2)),
    "degrees inside one community": (partial(_structure, [0, 0, 0]), Fraction(2)),
    "degrees and edges between communities": (partial(_structure, [0, 1, 2]), Fraction(2)),
    "community choice from singletons": (partial(_choice, [0, 1, 2]), Fraction(4)),
    "community choice from two communities": (partial(_choice, [0, 1, 1]), Fraction(4)),
    "triangles": (lambda _snapshot, _budget: None, Fraction(1)),
}


def _ladder_loss() -> tuple[float, float]:
    """The ladder on all neighbouring graphs of four nodes, by its own distances and rungs.

    The weight of an integer is exp(−ε/2 · rung), normalised; the loss is ε/2 for each rung that it
    moves, in numerator and normaliser.
    """
    graphs = all_graphs(4)
    ladders = [_ladder(graph) for graph in graphs]
    moved = max(ladders[one].distance(ladders[other]) for one, other in neighbouring_pairs(4))
    rate = float(Rungs(1, 2, Fraction(1, 2)).rate)
    loss = 2 * rate * moved
    return loss, loss - 1.0


def _ladder(graph: Snapshot) -> Ladder:
    """Triangles and the most common neighbours of two nodes, counted the slow way."""
    nodes = len(graph.roster)
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    matrix[graph.u, graph.v] = matrix[graph.v, graph.u] = 1
    common = matrix @ matrix
    triangles = int(np.trace(common @ matrix)) // 6
    np.fill_diagonal(common, 0)
    return Ladder(triangles, int(common.max()), nodes)
