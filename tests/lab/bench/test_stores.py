"""Synthetic stores: the size asked for, from the cache the second time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from psgraph.stores import open_store
from psgraph_lab.bench.synthetic import cached_store


def test_a_store_has_exactly_the_edges_asked_for_and_a_heavy_tail(tmp_path: Path) -> None:
    path = cached_store(tmp_path, nodes=20_000, edges=60_000)
    (snapshot,) = open_store(path)
    assert len(snapshot.roster) == 20_000
    assert snapshot.u.size == 60_000
    degrees = np.bincount(np.concatenate([snapshot.u, snapshot.v]), minlength=20_000)
    assert degrees.max() > 15 * degrees.mean()


def test_later_snapshots_are_a_little_unlike_the_first(tmp_path: Path) -> None:
    path = cached_store(tmp_path, nodes=5_000, edges=20_000, timestamps=3)
    keys = [each.u.astype(np.int64) << 32 | each.v for each in open_store(path)]
    assert [each.size for each in keys] == [20_000] * 3
    shares = [np.isin(each, keys[0]).mean() for each in keys]
    assert np.allclose(shares, [1, 0.98, 0.96], atol=0.005)


def test_the_same_size_is_written_once(tmp_path: Path) -> None:
    seen: list[int] = []
    for _ in range(2):
        path = cached_store(tmp_path, nodes=900, edges=999, progress=lambda a, _: seen.append(a))
    assert seen == [999]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_edges_are_drawn_again_where_too_many_are_repeats(
    tmp_path: Path,
) -> None:
    path = cached_store(tmp_path, nodes=60, edges=900)
    (snapshot,) = open_store(path)
    assert snapshot.u.size == 900


def test_a_store_is_the_same_each_time_it_is_written(tmp_path: Path) -> None:
    paths = [cached_store(tmp_path / name, nodes=500, edges=1_000) for name in ("one", "two")]
    one, two = (next(iter(open_store(path))) for path in paths)
    assert (one.u == two.u).all()
    assert (one.v == two.v).all()
