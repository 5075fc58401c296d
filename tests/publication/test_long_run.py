"""3,000 timestamps; `make crash` publishes 100,000."""

from __future__ import annotations

from pathlib import Path

from psgraph.publication.ledger import Ledger
from psgraph.publication.publisher import Publisher
from tests.crash.scenario import workspace

from .longrun import long_run, tiny


def steps_of_next(path: Path) -> int:
    """How much SQLite has to do to publish one more timestamp."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with Publisher.resume(path) as publisher:
        ledger = publisher._history
        assert isinstance(ledger, Ledger)
        connection = ledger._database._connection
        assert connection is not None
        connection.set_progress_handler(count, 10)
        publisher.publish(tiny(publisher.spending.timestamps))
        connection.set_progress_handler(None, 0)
    return steps


def test_costs_stay_the_same() -> None:
    with workspace() as base:
        long_run(base / "short.sqlite", 50)
        report = long_run(base / "long.sqlite", 3_000)
        assert steps_of_next(base / "long.sqlite") <= steps_of_next(base / "short.sqlite") + 5
    assert report["memory_growth"] < 8 << 20
    assert report["overhead_bytes_per_timestamp"] <= 1024
    assert report["resume_seconds"] <= 2
