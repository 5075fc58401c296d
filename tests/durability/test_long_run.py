"""3,000 timestamps; `make crash` publishes 100,000."""

from __future__ import annotations

from crash.scenario import workspace

from .longrun import long_run


def test_costs_stay_the_same() -> None:
    with workspace() as base:
        report = long_run(base / "ledger.sqlite", 3_000)
    assert report["memory_growth"] < 8 << 20
    assert report["overhead_bytes_per_timestamp"] <= 1024
    assert report["resume_seconds"] <= 2
