"""Made-up streams: the sizes asked for, a tail, communities, and little change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.streams import read_stream
from psgraph_lab.bench.synthetic import planted_stream, write_stream


@settings(max_examples=25)
@given(
    nodes=st.integers(50, 3_000),
    degree=st.floats(1, 8),
    timestamps=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_sizes_and_form(nodes: int, degree: float, timestamps: int, seed: int) -> None:
    edges = int(nodes * degree / 2)
    size = {"nodes": nodes, "edges": edges, "timestamps": timestamps, "seed": seed}
    stream = list(planted_stream(**size))
    assert len(stream) == timestamps
    for u, v in stream:
        keys = u.astype(np.int64) << 32 | v
        assert keys.size == edges
        assert (keys[1:] > keys[:-1]).all()
        assert (u < v).all()
        assert edges == 0 or (u.min() >= 0 and v.max() < nodes)
    for (u, v), (again_u, again_v) in zip(stream, planted_stream(**size), strict=True):
        assert (u == again_u).all()
        assert (v == again_v).all()


def test_degrees_have_a_tail_and_communities_are_planted() -> None:
    import networkx as nx

    ((u, v), (next_u, next_v)) = planted_stream(nodes=20_000, edges=60_000, timestamps=2)
    degrees = np.bincount(np.concatenate([u, v]), minlength=20_000)
    assert degrees.max() > 15 * degrees.mean()
    graph = nx.Graph(zip(u.tolist(), v.tolist(), strict=True))
    found = nx.community.louvain_communities(graph, seed=1)
    assert nx.community.modularity(graph, found) > 0.5
    kept = np.isin(u.astype(np.int64) << 32 | v, next_u.astype(np.int64) << 32 | next_v).mean()
    assert kept == pytest.approx(0.98, abs=0.005)


def test_files_are_a_stream(tmp_path: Path) -> None:
    write_stream(tmp_path, nodes=100, edges=200, timestamps=3)
    snapshots = list(read_stream(tmp_path, roster=range(100)))
    assert [snapshot.u.size for snapshot in snapshots] == [200, 200, 200]
    assert snapshots[0].dropped.total == 0
