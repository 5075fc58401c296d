"""Drawing and repairing in parts: the same edges however they are cut, run and repeated."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from psgraph.engines import removing
from psgraph.engines.base import Blocks, PairCounts
from psgraph.engines.key_lists import free_keys
from psgraph.engines.released import Released
from psgraph.engines.repair import _degrees
from psgraph.engines.running import Job
from psgraph.engines.scratch import ReleasedParts
from psgraph.engines.threads import ThreadRunner
from psgraph.errors import OutputError
from psgraph.graph.parts import EdgeParts, MemoryParts

NODES = 300
RUNNERS = [(1, 1 << 17, 0), (1, 100, 0), (3, 64, 10_000), (2, 7, 1 << 20), (3, 7, 3000)]
"""Threads, nodes per part, and bytes of a graph that stay in memory (it has about 10,000)."""


def models() -> tuple[Blocks, PairCounts]:
    """Edges inside nine communities, and exact numbers of edges between them."""
    rng = np.random.default_rng(6)
    labels = (np.arange(NODES) % 9).astype(np.int32)
    weights = rng.pareto(1.5, NODES) + 1
    everyone = np.arange(9, dtype=np.int32)
    rates = np.full(9, 20 / weights.sum())
    a, b = (ends.astype(np.int32) for ends in np.triu_indices(9, 1))
    counts = rng.integers(0, 40, a.size)
    return Blocks(weights, labels, everyone, everyone, rates), PairCounts(labels, a, b, counts)


def drawn(engine: Released, *, seed: int = 1) -> EdgeParts:
    return engine.sample(*models(), seed=seed)


def fixed(engine: Released, parts: EdgeParts, factor: float, *, seed: int = 2) -> EdgeParts:
    """Repair `parts` to `factor` times its edges, with degrees that are lacking here and there."""
    rng = np.random.default_rng(3)
    blocks, _ = models()
    return engine.repair(
        parts,
        labels=blocks.labels,
        inner_degrees=rng.integers(0, 9, NODES).astype(float),
        outer_degrees=rng.integers(0, 15, NODES).astype(float),
        edge_count=int(parts.edge_count * factor),
        seed=seed,
    )


def keys(parts: EdgeParts) -> list[int]:
    pairs = [read() for read in parts.edges()]
    found = [key for u, v in pairs for key in (u.astype(np.int64) << 32 | v).tolist()]
    assert len(found) == parts.edge_count
    assert found == sorted(set(found))
    assert np.array_equal(parts.whole().u, [key >> 32 for key in found])
    return found


@pytest.mark.parametrize(("threads", "part_nodes", "memory"), RUNNERS)
def test_a_drawn_graph_depends_on_neither_threads_nor_parts(threads, part_nodes, memory):
    parts = drawn(Released(ThreadRunner(threads=threads, part_nodes=part_nodes, memory=memory)))
    assert len(parts.edges()) == -(-NODES // part_nodes)
    one_part = drawn(Released(ThreadRunner(threads=1)))
    assert keys(parts) == keys(one_part)
    assert parts.edge_count > 1000


@pytest.mark.parametrize(("threads", "part_nodes", "memory"), RUNNERS)
@pytest.mark.parametrize("factor", [0.4, 0.95, 1.05, 3.0])
def test_a_repaired_graph_depends_on_neither_threads_nor_parts(threads, part_nodes, memory, factor):
    repaired = []
    other = ThreadRunner(threads=threads, part_nodes=part_nodes, memory=memory)
    for runner in (ThreadRunner(threads=1), other):
        engine = Released(runner)
        parts = drawn(engine)
        repaired.append(keys(fixed(engine, parts, factor)))
        assert len(repaired[-1]) == int(parts.edge_count * factor)
    assert repaired[0] == repaired[1]


def test_other_seeds_draw_and_repair_other_graphs():
    engine = Released(ThreadRunner(threads=1))
    parts = drawn(engine)
    assert keys(parts) != keys(drawn(engine, seed=2))
    for factor in (0.9, 1.1):
        assert keys(fixed(engine, parts, factor)) != keys(fixed(engine, parts, factor, seed=3))


def test_models_of_one_graph_have_random_numbers_of_their_own():
    """The same block for two halves of the nodes: their edges must not be copies."""
    labels = np.array([0] * 50 + [1] * 50, dtype=np.int32)
    block, rate = labels[:1], np.array([0.5])
    halves = [Blocks(np.ones(100), half, block, block, rate) for half in (labels, 1 - labels)]
    u, v = Released(ThreadRunner(threads=1)).sample(*halves, seed=1).whole()
    drawn_keys = u % 50 * 50 + v % 50
    repeated = drawn_keys.size - np.unique(drawn_keys).size
    assert 200 < repeated < 420  # 306 expected if they are unrelated


@pytest.mark.parametrize("memory", [0, 1 << 20])
def test_a_part_can_be_read_again(memory):
    parts = drawn(Released(ThreadRunner(threads=2, part_nodes=64, memory=memory)))
    for read in parts.edges():
        once, again = read(), read()
        assert np.array_equal(once.u, again.u)
        assert np.array_equal(once.v, again.v)


@pytest.mark.parametrize("memory", [0, 3000, 8000, 1 << 20])
def test_no_more_stays_in_memory_than_may(tmp_path, monkeypatch, memory):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    parts = drawn(Released(ThreadRunner(threads=1, part_nodes=30, memory=memory)))
    (directory,) = tmp_path.iterdir()
    in_files = sum(file.stat().st_size for file in directory.iterdir())
    assert 8 * parts.edge_count - memory <= in_files <= 16 * parts.edge_count
    assert bool(in_files) == (memory < 1 << 20)


def test_scratch_files_go_with_the_last_of_their_parts(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    parts = drawn(Released(ThreadRunner(threads=1, part_nodes=64, memory=0)))
    assert isinstance(parts, ReleasedParts)
    (directory,) = tmp_path.iterdir()
    assert directory.stat().st_mode & 0o077 == 0
    read = parts.edges()[0]
    edges = read().u.size
    del parts
    gc.collect()
    assert read().u.size == edges > 0  # one part is still in use
    del read
    gc.collect()
    assert not list(tmp_path.iterdir())


def _fail(item: int) -> np.ndarray:
    if item == 3:
        raise ValueError("a task fails")
    return np.arange(50) << 32 | 50


@pytest.mark.parametrize("threads", [1, 2])
def test_scratch_files_go_after_an_error(tmp_path, monkeypatch, threads):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    runner = ThreadRunner(threads=threads, part_nodes=10, memory=0)
    with pytest.raises(ValueError, match="a task fails"):
        runner.shuffle([Job(_fail, range(5))], nodes=51)
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_disk_that_can_not_be_written_is_named_with_its_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with pytest.raises(OutputError, match="TMPDIR"):
        drawn(Released(ThreadRunner(threads=1, part_nodes=64)))


# ---- tiny graphs ----


@pytest.mark.parametrize("part_nodes", [1, 1 << 17])
@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 6])
def test_tiny_graphs_reach_every_number_of_edges(nodes, part_nodes):
    engine = Released(ThreadRunner(threads=1, part_nodes=part_nodes))
    labels = np.zeros(nodes, dtype=np.int32)
    block = labels[:1]
    pairs = nodes * (nodes - 1) // 2
    for rate in (0.0, 1.0):
        blocks = Blocks(np.ones(nodes), labels, block, block, np.full(block.size, rate))
        parts = engine.sample(blocks, seed=1)
        assert parts.edge_count == rate * pairs
        for edge_count in range(pairs + 1):
            for wanted in (np.zeros(nodes), np.full(nodes, 9.0)):
                repaired = engine.repair(
                    parts,
                    labels=labels,
                    inner_degrees=wanted,
                    outer_degrees=wanted,
                    edge_count=edge_count,
                    seed=2,
                )
                assert len(keys(repaired)) == edge_count


# ---- how edges are chosen ----


@given(st.data())
@settings(max_examples=100)
def test_free_pairs_are_numbered_in_order(data):
    nodes = data.draw(st.integers(2, 9))
    first = data.draw(st.integers(0, nodes - 1))
    last = data.draw(st.integers(first, nodes))
    pairs = [u << 32 | v for u in range(first, last) for v in range(u + 1, nodes)]
    taken = [pair for pair in pairs if data.draw(st.booleans())]
    free = sorted(set(pairs) - set(taken))
    ranks = [rank for rank in range(len(free)) if data.draw(st.booleans())]
    arrays = (np.array(column, dtype=np.int64) for column in (taken, ranks))
    found = free_keys(next(arrays), first, last, nodes, next(arrays))
    assert found.tolist() == [free[rank] for rank in ranks]


@pytest.fixture(scope="module")
def removals() -> tuple[np.ndarray, np.ndarray]:
    """How often each edge of a path was removed when one had to go, and its weight."""
    nodes = 6
    u, v = np.arange(5, dtype=np.int32), np.arange(1, 6, dtype=np.int32)
    labels = np.zeros(nodes, dtype=np.int32)
    runner, parts = ThreadRunner(threads=1), MemoryParts(u, v, nodes=nodes)
    degrees = _degrees(parts, labels, runner)
    wanted = np.concatenate([degrees[:nodes] - [0.9, 0.2, 0.5, 0.7, 0.2, 0.4], np.zeros(nodes)])
    seen = np.zeros(5)
    for key in range(4000):
        kept = removing.with_fewer(
            parts, 1, degrees=degrees, wanted=wanted, labels=labels, key=key, runner=runner
        ).whole()
        seen[np.setdiff1d(u, kept.u)] += 1
    stays = -np.log(wanted[:nodes] / degrees[:nodes])
    return seen, stays[u] + stays[v]


def test_edges_are_removed_in_proportion_to_their_weights(removals):
    seen, weights = removals
    assert stats.chisquare(seen, seen.sum() * weights / weights.sum()).pvalue > 1e-3


def test_the_comparison_notices_twenty_per_cent(removals):
    """At a level of 0.1 % the power is above 0.95 against one weight that is off by 20 %."""
    seen, weights = removals
    off = weights * [1.2, 1, 1, 1, 1]
    right, wrong = (4000 * each / each.sum() for each in (weights, off))
    limit = stats.chi2.isf(1e-3, 4)
    assert stats.ncx2.sf(limit, 4, ((right - wrong) ** 2 / wrong).sum()) > 0.95
    assert stats.chisquare(seen, wrong).pvalue < 1e-3
