"""A method on a stream, watched by a recorder: what every attack from outside starts with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from psgraph.audit.transcripts import Recorder
from psgraph.engines.base import Engine
from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.methods.base import Method
from psgraph.methods.private import Previous, PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.history import Measured
from psgraph.publication.measuring import Measuring

__all__ = ["measure_first", "measure_stream", "synthesise"]


def measure_first(
    method: Method[Any, Any],
    snapshot: Snapshot,
    guarantee: WEventPrivacy,
    engine: Engine,
    recorder: Recorder,
) -> None:
    """Measure the first timestamp and no more: the transcript is in the recorder."""
    accountant = Accountant(guarantee)
    granted = method.request(None, accountant)
    accountant.check(granted)
    unused = Sampler(RandomSource.seeded(0))  # the recorder has its own
    budget = recorder.budget(granted, unused, spending=accountant)
    method.measure(PrivateSnapshot(snapshot, budget, engine), None)


def measure_stream(
    method: Method[Any, Any],
    stream: Sequence[Snapshot],
    guarantee: WEventPrivacy,
    engine: Engine,
    recorder: Recorder,
    *,
    seed: int = 1,
) -> Iterator[Measured]:
    """Measure one snapshot after the other, as a publication does, in memory."""
    accountant, state, previous = Accountant(guarantee), None, None
    with recorder.listening():
        runner = Measuring(method, engine, seed=seed, noise="exact")
        for snapshot in stream:
            measured = runner.measure(snapshot, state, accountant, times=None, previous=previous)
            accountant, state = accountant.record(measured.spent), measured.state
            yield measured
            previous = Previous.of(snapshot, measured.charges)


def synthesise(
    method: Method[Any, Any],
    measured: Measured,
    previous: SyntheticGraph | None,
    engine: Engine,
) -> SyntheticGraph:
    """The synthetic graph of a measured timestamp, given the one before."""
    rng = np.random.Generator(np.random.PCG64(measured.seed))
    return method.synthesise(measured.state, previous, rng, engine)
