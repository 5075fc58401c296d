"""A graph of twelve nodes at two timestamps, and what the methods make of it.

Everything comes from the methods themselves, run with a seed. ε is far larger than anyone should
choose: twelve nodes have so few edges that noise at a sensible ε would hide every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, Snapshot
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.plus.degrees import kept_share
from psgraph.methods.plus.synthesis import old_edges
from psgraph.methods.private import Previous, PrivateSnapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.methods.psgraph.reconstruction import reconstruct
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

EPSILON, WINDOW = 32, 4
GUARANTEE = WEventPrivacy(EPSILON, window=WINDOW)
SUPERNODE = 2
#: The noise on the number of edges has scale 100, whatever ε is: PSGraph was made for graphs with
#: thousands of edges. `SEED` is the first with which it is at most 4 at both timestamps and
#: communities are kept at the second.
SEED, PLUS_SEED = 836, 1

NODES = 12
Pair = tuple[int, int]

_FIRST = (
    *((0, 1), (0, 2), (0, 3), (1, 2), (2, 3)),
    *((4, 5), (4, 6), (4, 7), (5, 6), (6, 7), (5, 7)),
    *((8, 9), (8, 10), (8, 11), (9, 10), (10, 11)),
    *((3, 4), (2, 6), (7, 8), (1, 11)),
)
_GONE: frozenset[Pair] = frozenset({(1, 2)})
_NEW: frozenset[Pair] = frozenset({(9, 11), (1, 3)})


def edges_of(graph: Any) -> frozenset[Pair]:
    """Return the edges of a graph as pairs of positions."""
    return frozenset(zip(graph.u.tolist(), graph.v.tolist(), strict=True))


def stream() -> list[Snapshot]:
    """Return two snapshots: one edge ends between them, and two begin."""
    roster, first = Roster.range(NODES), frozenset(_FIRST)
    return [
        Snapshot(roster, *(np.array(ends) for ends in zip(*sorted(edges), strict=True)))
        for edges in (first, first - _GONE | _NEW)
    ]


class Recorder(Budget):
    """A budget that remembers what each mechanism returned."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.results: dict[str, Any] = {}
        self.groups: np.ndarray[Any, Any] | None = None

    def run(self, mechanism: Any, *, label: str, **options: Any) -> Any:
        self.results[label] = super().run(mechanism, label=label, **options)
        return self.results[label]

    def random_order(self, size: int) -> Any:
        self.groups = super().random_order(size)
        return self.groups


@dataclass(frozen=True)
class Step:
    """One timestamp of PSGraph: truth, measurement, estimate, graph before and after repair."""

    snapshot: Snapshot
    measurement: Any
    state: Any
    super_nodes: list[list[int]]
    noisy_super_edges: Any
    drawn: frozenset[Pair]
    repaired: frozenset[Pair]


def psgraph_steps(seed: int = SEED) -> list[Step]:
    """Run PSGraph on the stream."""
    method, engine, steps = PSGraph(supernode_size=SUPERNODE), LocalEngine(), []
    state, spending = None, Accountant(GUARANTEE)
    for timestamp, snapshot in enumerate(stream()):
        sampler = Sampler(RandomSource.seeded(seed, timestamp=timestamp))
        budget = Recorder(method.request(state, spending), sampler, spending=spending)
        measurement = method.measure(PrivateSnapshot(snapshot, budget, engine), state)
        synthesis = sampler.source.bits(63)
        state = method.update(state, measurement)
        spending = spending.record(budget.booked)
        drawn, repaired = (
            edges_of(_reconstructed(state, synthesis, engine, postprocess=each))
            for each in (False, True)
        )
        order = budget.groups
        groups = (
            []
            if order is None
            else [sorted(order[at : at + SUPERNODE].tolist()) for at in range(0, NODES, SUPERNODE)]
        )
        noisy = budget.results.get("super-graph edges")
        steps.append(Step(snapshot, measurement, state, groups, noisy, drawn, repaired))
    return steps


def _reconstructed(state: Any, seed: int, engine: LocalEngine, *, postprocess: bool) -> Any:
    return reconstruct(
        labels=state.labels,
        inner_degrees=state.fused_inner_degrees,
        outer_degrees=state.fused_outer_degrees,
        community_pairs=state.community_pairs,
        community_edges=state.community_edges,
        edge_count=state.noisy_edge_count,
        between="printed",
        postprocess=postprocess,
        engine=engine,
        rng=np.random.Generator(np.random.PCG64(seed)),
    )


@dataclass(frozen=True)
class PlusStep:
    """One timestamp of PSGraph+: truth, measurement, estimate and what it may keep."""

    snapshot: Snapshot
    measurement: Any
    state: Any
    most_kept: int
    edges: frozenset[Pair]


def plus_steps(seed: int = PLUS_SEED) -> list[PlusStep]:
    """Run PSGraph+ on the stream."""
    method, engine, steps = PSGraphPlus(), LocalEngine(), []
    state, previous, spending, graph = None, None, Accountant(GUARANTEE), None
    for timestamp, snapshot in enumerate(stream()):
        sampler = Sampler(RandomSource.seeded(seed, timestamp=timestamp))
        budget = Budget(method.request(state, spending), sampler, spending=spending)
        private = PrivateSnapshot(snapshot, budget, engine, previous=previous)
        measurement = method.measure(private, state)
        state = method.update(state, measurement)
        bits, share = sampler.source.bits(63), kept_share(state.persistence)
        _, most_kept = old_edges(graph, snapshot.roster, state.numbers, share)
        rng = np.random.Generator(np.random.PCG64(bits))
        graph = method.synthesise(state, graph, rng, engine)
        steps.append(PlusStep(snapshot, measurement, state, most_kept, edges_of(graph)))
        spending, previous = spending.record(budget.booked), Previous.of(snapshot, budget.trace)
    return steps
