"""Seconds by verb: calls pass through unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import pytest

from psgraph.engines.runner import Job
from psgraph_lab.bench import timing
from psgraph_lab.bench.timing import TimedEngine


class Clock:
    """Seconds that pass when somebody says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    threads = 3

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    @property
    def runner(self) -> Runner:
        return Runner(self.clock)

    def edge_count(self, size: int) -> int:
        self.clock.now += 1
        return size

    def community_scores(self) -> Iterable[int]:
        return Scores(self.clock)

    def encode(self) -> Iterator[int]:
        return iter(Scores(self.clock))


class Runner:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def sum(self, job: Job, *, sizes: tuple[int, ...]) -> tuple[int, ...]:
        self.clock.now += 3
        return sizes

    def map(self, job: Job) -> Iterator[int]:
        return iter(Scores(self.clock))


def _add_degrees() -> None: ...


def _scores() -> None: ...


class Scores:
    """Can be read more than once."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def __iter__(self) -> Iterator[int]:
        for number in range(2):
            self.clock.now += 2
            yield number


def test_every_verb_is_timed_also_what_is_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(timing, "perf_counter", clock)
    engine = TimedEngine(Slow(clock))
    assert engine.threads == 3
    assert engine.edge_count(5) == 5
    scores = engine.community_scores()
    for expected, found in zip([0, 1, 0, 1], chain(scores, scores), strict=True):
        assert found == expected
        clock.now += 100  # what the driver does with a result is not the engine's time
    encoded = engine.encode()
    assert (next(encoded), next(encoded), next(encoded, None)) == (0, 1, None)
    assert engine.seconds == {"edge_count": 1, "community_scores": 8, "encode": 4}
    assert set(engine.cpu_seconds) == set(engine.seconds)


def test_jobs_of_the_runner_count_under_the_name_of_their_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(timing, "perf_counter", clock)
    engine = TimedEngine(Slow(clock))
    assert engine.runner.sum(Job(_add_degrees, ()), sizes=(1, 2)) == (1, 2)
    assert list(engine.runner.map(Job(_scores, ()))) == [0, 1]
    assert engine.seconds == {"degrees": 3, "scores": 4}
