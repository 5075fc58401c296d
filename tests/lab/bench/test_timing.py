"""How a case is timed: in alternation, the fastest pass of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from psgraph_lab.bench import timing
from psgraph_lab.bench.cases import find_case


def test_publishing_and_floor_alternate_and_the_fastest_of_each_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    order: list[str] = []
    seconds = {"publish": iter([3.0, 1.0, 2.0]), "floor": iter([0.5, 0.7, 0.25])}

    def publish(*_: Any) -> dict[str, Any]:
        order.append("publish")
        total = {"total": next(seconds["publish"])}
        return {"timestamps": 1, "nodes": 2, "edges": 1, "seconds": total, "draws": [], "files": []}

    def floor(*_: Any) -> dict[str, float]:
        order.append("floor")
        return {"total": next(seconds["floor"])}

    monkeypatch.setattr(timing, "_publish", publish)
    monkeypatch.setattr(timing, "_floor", floor)
    monkeypatch.setattr(timing, "warm_up", lambda _: None)
    found = timing.time_case(find_case("million-finding"), tmp_path, tmp_path)
    assert order == ["publish", "floor"] * 3
    assert (found["seconds"]["total"], found["floor_seconds"]["total"]) == (1.0, 0.25)
    assert found["ratio"] == 4.0
    assert found["passes"] == [3.0, 1.0, 2.0]
    assert found["floor_passes"] == [0.5, 0.7, 0.25]
