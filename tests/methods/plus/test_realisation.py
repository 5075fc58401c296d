from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.errors import InvalidArgument
from psgraph.graph.kind import Edges
from psgraph.methods.plus import realisation, stubs
from psgraph.methods.plus.realisation import Target, realise

from .graphs import (
    NONE,
    assert_simple,
    block_counts,
    complete,
    degrees,
    graph,
    pairs_of,
    random_graph,
    star,
    target_of,
)


def build(target: Target, *, seed: int = 0, kept: Edges | None = None) -> Edges:
    ends = NONE if kept is None else (kept.u, kept.v)
    return realise(target, kept=ends, rng=np.random.default_rng(seed))


@st.composite
def any_target(draw: st.DrawFn) -> tuple[Target, tuple[np.ndarray, np.ndarray]]:
    """Degrees, quotas and edge count that need not agree with each other."""
    nodes = draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(1, 4))
    a, b = (half.astype(np.int32) for half in np.triu_indices(count))
    kept = rng.integers(0, max(nodes, 1), size=(2, 8 if nodes else 0)).astype(np.int32)
    target = Target(
        degrees=rng.integers(-1, nodes + 2, size=nodes),
        labels=rng.integers(0, count, size=nodes).astype(np.int32),
        block_a=a,
        block_b=b,
        quotas=rng.integers(0, 12, size=a.size),
        edge_count=draw(st.integers(0, nodes * (nodes - 1) // 2)),
    )
    return target, (kept[0], kept[1])


@given(any_target(), st.integers(0, 1000))
@settings(max_examples=300, deadline=None)
def test_any_target_gives_a_simple_graph_with_exactly_the_edge_count(
    case: tuple[Target, tuple[np.ndarray, np.ndarray]], seed: int
) -> None:
    target, kept = case
    edges = realise(target, kept=kept, rng=np.random.default_rng(seed))
    assert edges.u.size == target.edge_count
    assert_simple(edges, target.degrees.size)


@pytest.mark.parametrize("hubs", [0, 20])
def test_a_heavy_tailed_graph_is_met_exactly_in_degrees_and_blocks(hubs: int) -> None:
    target = target_of(random_graph(2000, 6000, seed=1, tail=0.8), 2000, hubs=hubs)
    edges = build(target)
    np.testing.assert_array_equal(degrees(edges, 2000), target.degrees)
    wanted = np.zeros_like(block_counts(edges, target.labels))
    wanted[target.block_a, target.block_b] = target.quotas
    assert np.abs(block_counts(edges, target.labels) - wanted).sum() <= 0.001 * target.edge_count


@pytest.mark.parametrize(
    ("edges", "nodes"),
    [
        (graph([]), 1),
        (graph([]), 2),
        (graph([(0, 1)]), 2),
        (graph([]), 50),
        (complete(3), 3),
        (complete(30), 30),
        (star(300), 300),
    ],
    ids=["one node", "two nodes", "one edge", "empty", "triangle", "complete", "star"],
)
def test_a_graph_that_its_degrees_determine_comes_back(edges: Edges, nodes: int) -> None:
    assert pairs_of(build(target_of(edges, nodes))) == pairs_of(edges)


def test_no_nodes_give_no_edges() -> None:
    assert build(target_of(graph([]), 0)).u.size == 0


@pytest.mark.parametrize("share", [0.6, 0.9, 0.99])
def test_a_dense_graph_meets_its_degrees(share: float) -> None:
    everything = complete(60)
    chosen = np.random.default_rng(2).random(everything.u.size) < share
    target = target_of(Edges(everything.u[chosen], everything.v[chosen]), 60)
    off = degrees(build(target), 60) != target.degrees
    assert off.mean() <= 0.05


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_edges_are_kept_while_quotas_allow(share: float) -> None:
    everything = complete(60)
    chosen = np.random.default_rng(3).random(everything.u.size) < share
    before = Edges(everything.u[chosen], everything.v[chosen])
    assert pairs_of(build(target_of(before, 60), kept=before)) == pairs_of(before)


def test_the_first_edges_are_kept_when_a_degree_allows_no_more() -> None:
    one = np.zeros(1, dtype=np.int32)
    target = Target(np.array([2, 1, 1, 0]), np.zeros(4, dtype=np.int32), one, one, np.array([2]), 2)
    first = np.array([0, 0, 0], dtype=np.int32), np.array([2, 1, 3], dtype=np.int32)
    edges = realise(target, kept=first, rng=np.random.default_rng(0))
    assert pairs_of(edges) == {(0, 1), (0, 2)}


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_no_more_edges_are_kept_than_wanted(share: float) -> None:
    everything = complete(60)
    chosen = np.random.default_rng(3).random(everything.u.size) < share
    before = everything.u[chosen], everything.v[chosen]
    target = target_of(Edges(*before), 60)
    rng = np.random.default_rng(1)
    some = realise(target, kept=before, most_kept=100, rng=rng)
    assert len(pairs_of(some) & pairs_of(Edges(*before))) < before[0].size
    none = realise(target, kept=before, most_kept=0, rng=np.random.default_rng(1))
    assert pairs_of(none) == pairs_of(realise(target, rng=np.random.default_rng(1)))


def test_a_kept_edge_without_a_block_quota_is_dropped() -> None:
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    a, b = np.array([0], dtype=np.int32), np.array([1], dtype=np.int32)
    target = Target(np.ones(4, dtype=np.int64), labels, a, b, np.array([2]), 2)
    edges = build(target, kept=graph([(0, 1), (2, 3)]))
    assert pairs_of(edges) in ({(0, 2), (1, 3)}, {(0, 3), (1, 2)})


def test_loops_and_repeated_kept_edges_are_ignored() -> None:
    target = target_of(graph([(0, 1), (2, 3)]), 4)
    ends = np.array([0, 0, 1], dtype=np.int32), np.array([0, 1, 0], dtype=np.int32)
    edges = realise(target, kept=ends, rng=np.random.default_rng(0))
    assert pairs_of(edges) == {(0, 1), (2, 3)}


def test_degrees_that_sum_to_too_little_are_padded_to_the_edge_count() -> None:
    target = replace(target_of(random_graph(200, 300, seed=4), 200), edge_count=900)
    edges = build(target)
    assert edges.u.size == 900
    assert_simple(edges, 200)


def test_padding_prefers_nodes_of_high_degree() -> None:
    before = random_graph(400, 800, seed=5, tail=0.7)
    target = target_of(before, 400)
    more = degrees(build(replace(target, edge_count=1600)), 400) - target.degrees
    assert more[:40].mean() > 3 * more[200:].mean()


def test_the_same_generator_gives_the_same_graph() -> None:
    target = target_of(random_graph(500, 1500, seed=6, tail=0.6), 500, hubs=10)
    one, again, other = build(target, seed=1), build(target, seed=1), build(target, seed=2)
    assert pairs_of(one) == pairs_of(again) != pairs_of(other)


def test_the_target_and_the_kept_edges_are_left_as_they_are() -> None:
    before = random_graph(50, 100, seed=7)
    target = target_of(before, 50)
    wanted, quotas = target.degrees.copy(), target.quotas.copy()
    build(target, kept=before)
    np.testing.assert_array_equal(target.degrees, wanted)
    np.testing.assert_array_equal(target.quotas, quotas)


def test_more_edges_than_pairs_are_refused() -> None:
    target = replace(target_of(complete(4), 4), edge_count=7)
    with pytest.raises(InvalidArgument, match="0 to 6 edges, not 7"):
        build(target)


@pytest.mark.skipif("PSGRAPH_DATA" not in os.environ, reason="needs the data directory")
def test_an_internet_snapshot_is_met_in_nearly_all_degrees() -> None:
    table = pq.read_table(Path(os.environ["PSGRAPH_DATA"]) / "as733.parquet")
    first = table.column("t").to_numpy() == 0
    ends = [table.column(name).to_numpy()[first] for name in ("u", "v")]
    ids, positions = np.unique(np.concatenate(ends), return_inverse=True)
    u, v = np.split(positions, 2)
    before = graph(list(zip(u.tolist(), v.tolist(), strict=True)))
    for hubs in (0, 90):
        target = target_of(before, ids.size, hubs=hubs)
        exact = degrees(build(target), ids.size) == target.degrees
        assert exact.mean() >= 0.995


@pytest.mark.parametrize(("labels", "quota"), [(1, 885), (1, 101), (2, 101), (2, 295)])
def test_numbers_drawn_ahead_are_used_as_if_they_were_not(
    monkeypatch: pytest.MonkeyPatch, labels: int, quota: int
) -> None:
    nodes = 60
    own = (np.arange(nodes) % labels).astype(np.int32)
    a, b = (half.astype(np.int32) for half in np.triu_indices(labels))
    # Half of all pairs: many draws fail, and some edges are switched.
    target = Target(np.full(nodes, 29), own, a, b, np.full(a.size, quota), 870)
    compiled = stubs.fill_blocks
    drawn = []
    for large in (0, 1 << 62):
        monkeypatch.setattr(stubs, "_LARGE", large)
        monkeypatch.setattr(realisation, "fill_blocks", getattr(compiled, "py_func", compiled))
        rng = np.random.default_rng(3)
        drawn.append((pairs_of(realise(target, kept=NONE, rng=rng)), rng.random()))
    assert drawn[0] == drawn[1]
