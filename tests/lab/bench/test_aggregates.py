"""The same aggregates with every library that is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psgraph.stores import new_store, open_store
from psgraph_lab.bench.aggregates import LIBRARIES, missing_library, time_aggregates
from psgraph_lab.bench.synthetic import cached_store

IN_PROCESS = ("psgraph, local engine", "DuckDB", "polars")


@pytest.mark.parametrize("name", [name for name in IN_PROCESS if not missing_library(name)])
def test_libraries_give_the_same_answers(tmp_path: Path, name: str) -> None:
    whole = cached_store(tmp_path, nodes=3_000, edges=9_000)
    (snapshot,) = open_store(whole)
    parts = tmp_path / "parts"
    with new_store(parts, part_nodes=1_000) as store:
        store.add(snapshot)
    reference = time_aggregates("psgraph, local engine", whole)
    found = time_aggregates(name, parts)
    assert found["digests"] == reference["digests"]
    assert set(found["seconds"]) == {"edge count", "degrees", "block counts"}


def test_other_edges_give_other_answers(tmp_path: Path) -> None:
    one, two = (cached_store(tmp_path, nodes=100, edges=edges) for edges in (200, 201))
    digests = [time_aggregates("psgraph, local engine", store)["digests"] for store in (one, two)]
    assert all(digests[0][name] != digests[1][name] for name in digests[0])


def test_what_is_not_installed_is_known_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(LIBRARIES, "nothing", ("no_such_module", np.zeros))
    assert missing_library("nothing")
    assert not missing_library("psgraph, local engine")
