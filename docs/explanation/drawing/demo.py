"""PSGraph+ on the demo stream of 300 nodes, for what twelve nodes are too few to show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph.engines.threads import LocalEngine
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.private import Previous, PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.streams.demo import demo_stream

__all__ = ["GUARANTEE", "Timestamp", "demo_run"]

GUARANTEE = WEventPrivacy(1, window=4)
SEED = 1


@dataclass(frozen=True)
class Timestamp:
    """True, noisy, estimated and synthetic degrees; noisy ones only where they are asked."""

    true: NDArray[np.int64]
    noisy: NDArray[np.int64] | None
    estimated: NDArray[np.float64]
    deviation: NDArray[np.float64]
    synthetic: NDArray[np.int64]


@cache
def demo_run() -> tuple[Timestamp, ...]:
    """Run PSGraph+ over twelve timestamps."""
    method, engine, found = PSGraphPlus(), LocalEngine(), []
    state, previous, spending, graph = None, None, Accountant(GUARANTEE), None
    for timestamp, snapshot in enumerate(demo_stream(nodes=300, timestamps=12)):
        sampler = Sampler(RandomSource.seeded(SEED, timestamp=timestamp))
        budget = Budget(method.request(state, spending), sampler, spending=spending)
        private = PrivateSnapshot(snapshot, budget, engine, previous=previous)
        measurement = method.measure(private, state)
        state = method.update(state, measurement)
        rng = np.random.Generator(np.random.PCG64(sampler.source.bits(63)))
        graph = method.synthesise(state, graph, rng, engine)
        spending, previous = spending.record(budget.booked), Previous.of(snapshot, budget.trace)
        nodes = state.nodes
        found.append(
            Timestamp(
                _degrees(snapshot),
                measurement.sizes.noisy_degrees,
                nodes.degrees,
                np.sqrt(nodes.variance),
                _degrees(graph),
            )
        )
    return tuple(found)


def _degrees(graph: Any) -> NDArray[np.int64]:
    return np.bincount(np.concatenate([graph.u, graph.v]), minlength=len(graph.roster))
