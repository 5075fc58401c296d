"""Random graphs with one edge changed, and measurements without noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.graph.kind import unpack
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.plus.queries import KeptEdges
from psgraph.methods.plus.readings import PlusMeasurement
from psgraph.methods.plus.state import AnyState
from psgraph.methods.private import Previous, PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.streams.demo import PlantedGraph, pareto_weights

ENGINE = LocalEngine()


class Silent(Sampler):
    """Adds no noise: shows what a query counts."""

    def discrete_laplace(self, size: int, rate: Fraction) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)


def silent_budget(epsilon: Fraction = Fraction(100)) -> Budget:
    return Budget(epsilon, Silent(RandomSource.seeded(1)))


def noisy_budget(epsilon: Fraction, spending: Accountant, seed: int) -> Budget:
    return Budget(epsilon, Sampler(RandomSource.seeded(seed)), spending=spending)


def asking(snapshot: Snapshot, budget: Budget, previous: Snapshot | None = None) -> PrivateSnapshot:
    """A snapshot to ask; the one before has paid for whatever is asked of both."""
    paid = None
    if previous is not None:
        before = PrivateSnapshot(previous, silent := silent_budget(), ENGINE)
        before.reserve(KeptEdges(), epsilon=silent.remaining)
        paid = Previous.of(previous, silent.trace)
    return PrivateSnapshot(snapshot, budget, ENGINE, previous=paid)


def random_snapshot(rng: np.random.Generator, nodes: int, density: float) -> Snapshot:
    u, v = np.triu_indices(nodes, 1)
    chosen = rng.random(u.size) < density
    return Snapshot(Roster.range(nodes), u[chosen], v[chosen])


def one_edge_changed(rng: np.random.Generator, snapshot: Snapshot) -> Snapshot:
    """Add a random pair of nodes, or remove it if it is an edge."""
    x, y = sorted(rng.choice(len(snapshot.roster), size=2, replace=False).tolist())
    same = (snapshot.u == x) & (snapshot.v == y)
    if same.any():
        return Snapshot(snapshot.roster, snapshot.u[~same], snapshot.v[~same])
    u, v = np.append(snapshot.u, x), np.append(snapshot.v, y)
    return Snapshot(snapshot.roster, u, v)


def hubs_and_leaves(nodes: int, seed: int = 0) -> Snapshot:
    """A graph in which a few nodes have most of the edges."""
    rng = np.random.default_rng(seed)
    u = rng.integers(0, nodes, 3 * nodes)
    v = (nodes * rng.random(3 * nodes) ** 4).astype(np.int64)
    return Snapshot(Roster.range(nodes), u[u != v], v[u != v])


def planted(
    nodes: int, communities: int, degree: int, seed: int = 0
) -> tuple[Snapshot, np.ndarray]:
    """A graph with hubs in which nine edges in ten stay inside a community."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, communities, nodes)
    weights = pareto_weights(nodes, rng, exponent=1.5, largest=20.0)
    graph = PlantedGraph(weights, labels, rng)
    keys = graph.extend(np.empty(0, dtype=np.int64), nodes * degree // 2, inside=0.9)
    return Snapshot(Roster.range(nodes), *unpack(keys)), labels


def publish(
    method: PSGraphPlus,
    snapshots: Iterable[Snapshot],
    *,
    epsilon: str,
    window: int,
    seed: int = 1,
) -> Iterator[tuple[Fraction, Budget, PlusMeasurement, Any]]:
    """Run a method by hand; yields what is booked, its budget, measurement and state."""
    accountant = Accountant(WEventPrivacy(epsilon, window=window))
    state: AnyState | None = None
    previous: Previous | None = None
    for index, snapshot in enumerate(snapshots):
        granted = method.request(state, accountant)
        budget = noisy_budget(granted, accountant, 1000 * seed + index)
        private = PrivateSnapshot(snapshot, budget, ENGINE, previous=previous)
        measurement = method.measure(private, state)
        state = method.update(state, measurement)
        accountant = accountant.record(budget.booked)
        previous = Previous.of(snapshot, budget.trace)
        yield budget.booked, budget, measurement, state


def released(states: Iterable[AnyState]) -> Iterator[SyntheticGraph]:
    """Draw the graph of every state, each grown from the one before."""
    graph: SyntheticGraph | None = None
    for index, state in enumerate(states):
        graph = PSGraphPlus().synthesise(state, graph, np.random.default_rng(index), ENGINE)
        yield graph
