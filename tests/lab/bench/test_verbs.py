"""Seconds by verb: calls pass through unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep

from psgraph_lab.bench.verbs import TimedEngine


class Slow:
    threads = 3

    def edge_count(self, size: int) -> int:
        sleep(0.01)
        return size

    def community_scores(self) -> Iterator[int]:
        for number in range(2):
            sleep(0.01)
            yield number


def test_every_verb_is_timed_also_what_is_read_later() -> None:
    engine = TimedEngine(Slow())
    assert engine.threads == 3
    assert engine.edge_count(5) == 5
    scores = engine.community_scores()
    for expected, found in zip(range(2), scores, strict=True):
        assert found == expected
        sleep(0.05)  # what the driver does with a result is not the engine's time
    assert 0.01 <= engine.seconds["edge_count"] < 0.05
    assert 0.02 <= engine.seconds["community_scores"] < 0.07
