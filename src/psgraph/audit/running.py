"""A method on a stream, watched by a recorder: what every attack from outside starts with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from psgraph.audit.transcripts import Recorder
from psgraph.engines.base import Engine
from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.methods import timestamp
from psgraph.methods.base import Method
from psgraph.methods.timestamp import Timestamp, draw_graph, measure_timestamp
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

__all__ = ["measure_first", "measure_stream", "synthesise"]


def measure_first(
    method: Method[Any, Any],
    snapshot: Snapshot,
    guarantee: WEventPrivacy,
    engine: Engine,
    recorder: Recorder,
) -> None:
    """Measure the first timestamp and no more: the transcript is in the recorder."""
    unused = Sampler(RandomSource.seeded(0))  # the recorder has its own
    with recorder.listening():
        measure_timestamp(method, snapshot, None, Accountant(guarantee), unused, engine)


def measure_stream(
    method: Method[Any, Any],
    stream: Sequence[Snapshot],
    guarantee: WEventPrivacy,
    engine: Engine,
    recorder: Recorder,
    *,
    seed: int = 1,
) -> Iterator[Timestamp]:
    """Measure one snapshot after the other, as a publication does, in memory."""
    with recorder.listening():
        yield from timestamp.measure_stream(
            method,
            stream,
            guarantee,
            engine,
            samplers=lambda number: Sampler(RandomSource.seeded(seed, timestamp=number)),
        )


def synthesise(
    method: Method[Any, Any],
    measured: Timestamp,
    previous: SyntheticGraph | None,
    engine: Engine,
) -> SyntheticGraph:
    """The synthetic graph of a measured timestamp, given the one before."""
    return draw_graph(method, measured.state, previous, measured.seed, engine)
