"""Small graphs and streams for the tests of methods."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, Snapshot
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.psgraph import PSGraph, PSGraphState
from psgraph.privacy.budget import Budget
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

ENGINE = LocalEngine()


def budget(epsilon: Fraction | str = "1", *, seed: int = 1) -> Budget:
    return Budget(Fraction(epsilon), Sampler(RandomSource.seeded(seed)))


def asking(
    snapshot: Snapshot, money: Budget | Fraction | str = "1", *, seed: int = 1
) -> PrivateSnapshot:
    """A snapshot to ask, on a budget or an epsilon."""
    if not isinstance(money, Budget):
        money = budget(money, seed=seed)
    return PrivateSnapshot(snapshot, money, ENGINE)


def hubs(nodes: int, edges: int, *, seed: int, roster: Roster | None = None) -> Snapshot:
    """A graph with a few nodes of high degree."""
    rng = np.random.default_rng(seed)
    weights = (1 - rng.random(nodes)) ** -0.6
    ends = rng.choice(nodes, size=(2, edges), p=weights / weights.sum())
    return Snapshot(Roster.range(nodes) if roster is None else roster, *ends)


def step(
    method: PSGraph,
    snapshot: Snapshot,
    state: PSGraphState | None = None,
    *,
    epsilon: Fraction | str = "1",
    seed: int = 1,
) -> PSGraphState:
    """Measure and update once."""
    measurement = method.measure(asking(snapshot, epsilon, seed=seed), state)
    return method.update(state, measurement)
