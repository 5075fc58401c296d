"""Parts that stay in memory: bounded, the first ones, never pickled."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from psgraph.graph import Roster, Snapshot
from psgraph.graph.parts import Pairs
from psgraph.stores import new_store, open_store
from psgraph.stores import part_files as stored
from psgraph.stores.part_files import Kept


def _part(edges: int) -> Pairs:
    return Pairs(np.zeros(edges, dtype=np.int32), np.ones(edges, dtype=np.int32))


def test_the_first_parts_that_fit_are_kept_and_no_more() -> None:
    kept, reads = Kept(30), list[str]()
    for _ in range(2):
        for name, edges in (("a", 2), ("b", 3), ("c", 1)):
            kept.get(name, lambda name=name, edges=edges: reads.append(name) or _part(edges))
    assert reads == ["a", "b", "c", "b"]  # 16 and 8 bytes fit, 24 more don't


def test_a_pickled_part_leaves_the_edges_behind() -> None:
    kept = Kept(1 << 20)
    kept.get("a", lambda: _part(1_000))
    assert len(pickle.dumps(kept)) < 200
    assert pickle.loads(pickle.dumps(kept)).most_bytes == 1 << 20


def test_a_stored_snapshot_decodes_its_edges_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store"
    with new_store(path, part_nodes=2) as store:
        store.add(Snapshot(Roster.range(6), [0, 1, 2, 4], [1, 2, 5, 5]))
    reads: list[str] = []
    read = stored.read_part
    monkeypatch.setattr(
        stored,
        "read_part",
        lambda place, file, names: reads.append(file.name) or read(place, file, names),
    )
    (snapshot,) = open_store(path)
    for _ in range(2):
        assert sum(part().u.size for part in snapshot.parts.edges()) == 4
    assert len(reads) == 3


def test_parts_that_were_let_go_are_read_each_time() -> None:
    kept, reads = Kept(16), list[str]()
    for _ in range(2):
        for _ in range(2):
            kept.get("a", lambda: reads.append("a") or _part(2))
        kept.stop()
    assert reads == ["a"] * 3
