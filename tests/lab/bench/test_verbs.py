"""Seconds by verb: calls pass through unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from psgraph.engines.runner import Job, Runner
from psgraph_lab.bench import timing
from psgraph_lab.bench.timing import TimedEngine


class Clock:
    """Seconds that pass when somebody says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """A runner that takes its time."""

    part_nodes = 7

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def map(self, job: Job) -> Iterator[int]:
        for number in range(2):
            self.clock.now += 2
            yield number

    def sum(self, job: Job, *, sizes: Sequence[int]) -> Any:
        self.clock.now += 3
        return tuple(sizes)

    def reduce(self, job: Job, combine: Callable[[Sequence[Any]], Any]) -> Any:
        self.clock.now += 5
        return combine([1, 2])

    def shuffle(self, jobs: Iterable[Job], *, nodes: int, kind: Any) -> Any:
        self.clock.now += 7
        return nodes

    def store(self, job: Job, *, nodes: int, kind: Any) -> Any:
        self.clock.now += 11
        return nodes


def _add_degrees() -> None: ...


def _scores() -> None: ...


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> TimedEngine:
    clock = Clock()
    monkeypatch.setattr(timing, "perf_counter", clock)
    return TimedEngine(Slow(clock))


def test_every_verb_is_timed_and_passes_its_result_on(engine: TimedEngine) -> None:
    assert isinstance(engine, Runner)
    assert engine.part_nodes == 7
    assert engine.sum(Job(_add_degrees, ()), sizes=(1, 2)) == (1, 2)
    assert engine.reduce(Job(_scores, ()), sum) == 3
    assert engine.shuffle([], nodes=4) == 4
    assert engine.store(Job(_add_degrees, ()), nodes=4) == 4
    assert engine.seconds == {"degrees": 14, "scores": 5, "shuffle": 7}
    assert set(engine.cpu_seconds) == set(engine.seconds)


def test_only_the_wait_for_a_result_is_counted(engine: TimedEngine) -> None:
    clock = timing.perf_counter
    for expected, found in enumerate(engine.map(Job(_scores, ()))):
        assert found == expected
        clock.now += 100  # what the driver does with a result is not the engine's time
    assert engine.seconds == {"scores": 4}
