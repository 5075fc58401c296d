"""Killed at random while 200 clients post the same and other data; then everything is counted.

`benchmarks/crash.py` does the same for longer.
"""

from __future__ import annotations

from pathlib import Path

from tests.service.crash_trial import Trial


def test_nothing_is_lost_drawn_twice_or_overspent_when_the_service_is_killed(
    tmp_path: Path,
) -> None:
    trial = Trial(tmp_path / "data", seed=15)
    trial.run(clients=200, kills=3, posts=80)
    report = trial.report()
    assert report["violations"] == []
    assert report["kills"] == 3
    assert report["read"] > 0, "releases were read, and read again after a kill"
    assert report["accepted"] > 3
    assert report["statuses"][409] > 0, "other data were posted too"
