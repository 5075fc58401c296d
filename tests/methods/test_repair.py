"""Repairing a graph: exactly the wanted number of edges, a simple graph, closer degrees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from psgraph.engines.rank_one import Blocks
from psgraph.engines.runner import Runner
from psgraph.engines.sampling import sample
from psgraph.engines.threads import LocalEngine
from psgraph.graph.kind import UNDIRECTED, Edges, pack
from psgraph.graph.parts import EdgeParts, MemoryParts
from psgraph.methods.psgraph.additions import free_keys
from psgraph.methods.psgraph.reconstruction import degrees_by_side, repaired, with_fewer
from tests.engines.drawing import NODES, RUNNERS, drawn, keys, models


def simple(nodes: int, keys: list[int]) -> Edges:
    """The pairs with these numbers among all pairs of nodes."""
    x, y = np.triu_indices(nodes, 1)
    chosen = np.array(sorted(set(keys)), dtype=np.int64)
    return Edges(x[chosen].astype(np.int32), y[chosen].astype(np.int32))


def degrees(edges: Edges, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inside = labels[edges.u] == labels[edges.v]
    found = []
    for kind in (inside, ~inside):
        ends = np.concatenate([edges.u[kind], edges.v[kind]])
        found.append(np.bincount(ends, minlength=labels.size).astype(np.float64))
    return found[0], found[1]


def check_simple(edges: Edges, nodes: int) -> None:
    keys = edges.u.astype(np.int64) * max(nodes, 1) + edges.v
    assert (edges.u >= 0).all()
    assert (edges.v < nodes).all()
    assert (edges.u < edges.v).all()  # no loops
    assert (np.diff(keys) > 0).all()  # in order, no pair twice
    assert edges.u.dtype == edges.v.dtype == np.int32


@st.composite
def tasks(draw: st.DrawFn):
    nodes = draw(st.integers(2, 14))
    pairs = UNDIRECTED.pairs(nodes)
    edges = simple(nodes, draw(st.lists(st.integers(0, pairs - 1), max_size=pairs)))
    blocks = draw(st.integers(1, 4))
    labels = np.array(
        draw(st.lists(st.integers(0, blocks - 1), min_size=nodes, max_size=nodes)), dtype=np.int32
    )
    wanted = st.lists(st.floats(0, nodes), min_size=nodes, max_size=nodes)
    edge_count = draw(st.one_of(st.integers(0, pairs), st.sampled_from([0, 1, pairs - 1, pairs])))
    return edges, labels, np.array(draw(wanted)), np.array(draw(wanted)), max(edge_count, 0)


def repair(
    edges, labels, inner, outer, edge_count, *, seed=0, threads=1, part_nodes=1 << 17
) -> Edges:
    parts = MemoryParts(edges.u, edges.v, nodes=labels.size, part_nodes=part_nodes)
    engine = LocalEngine(threads=threads, part_nodes=part_nodes)
    found = repaired(
        parts,
        labels=labels,
        inner_degrees=inner,
        outer_degrees=outer,
        edge_count=edge_count,
        seed=seed,
        runner=engine,
    )
    assert found.edge_count == edge_count
    return Edges(*found.whole())


@given(tasks(), st.integers(0, 1000))
@settings(max_examples=300)
def test_exactly_the_wanted_number_of_edges(task, seed):
    edges, labels, inner, outer, edge_count = task
    before = {(int(x), int(y)) for x, y in zip(edges.u, edges.v, strict=True)}
    found = repair(edges, labels, inner, outer, edge_count, seed=seed)
    check_simple(found, labels.size)
    assert found.u.size == edge_count
    after = {(int(x), int(y)) for x, y in zip(found.u, found.v, strict=True)}
    # It only adds or only removes.
    assert before <= after or after <= before


@given(tasks(), st.integers(0, 1000))
@settings(max_examples=200)
def test_it_leaves_its_arguments_alone_and_repeats(task, seed):
    edges, labels, inner, outer, edge_count = task
    copies = [array.copy() for array in (edges.u, edges.v, labels, inner, outer)]
    once = repair(edges, labels, inner, outer, edge_count, seed=seed)
    again = repair(edges, labels, inner, outer, edge_count, seed=seed)
    assert np.array_equal(once.u, again.u)
    assert np.array_equal(once.v, again.v)
    for array, copy in zip((edges.u, edges.v, labels, inner, outer), copies, strict=True):
        assert np.array_equal(array, copy)


@pytest.mark.parametrize("start", ["empty", "complete"])
def test_degrees_come_close_to_those_wanted(start):
    """From no edges, or from all, towards the degrees of a graph with hubs."""
    rng = np.random.default_rng(4)
    nodes = 120
    pairs = UNDIRECTED.pairs(nodes)
    labels = np.arange(nodes, dtype=np.int32) % 3
    weights = (1 - rng.random(nodes)) ** -0.5
    chances = np.minimum(1, np.outer(weights, weights) / weights.sum() * 3)
    x, y = np.triu_indices(nodes, 1)
    chosen = rng.random(pairs) < chances[x, y]
    target = Edges(x[chosen].astype(np.int32), y[chosen].astype(np.int32))
    inner, outer = degrees(target, labels)
    begin = simple(nodes, [] if start == "empty" else list(range(pairs)))
    found = repair(begin, labels, inner, outer, target.u.size)
    found_inner, found_outer = degrees(found, labels)
    far = np.abs(np.concatenate(degrees(begin, labels)) - np.concatenate([inner, outer])).sum()
    near = np.abs(found_inner - inner).sum() + np.abs(found_outer - outer).sum()
    # Partners are drawn at random (Algorithm 3), so the degrees come near and no nearer.
    assert near < 0.45 * far
    assert np.corrcoef(found_inner + found_outer, inner + outer)[0, 1] > 0.8


def test_the_largest_lack_is_served_first():
    labels = np.zeros(30, dtype=np.int32)
    inner = np.zeros(30)
    inner[[3, 17]] = 6.0, 9.0
    found = repair(simple(30, []), labels, inner, np.zeros(30), 9)
    found, _ = degrees(found, labels)
    assert found[17] == 9


def test_edges_are_added_of_the_kind_that_is_missing():
    labels = np.array([0] * 10 + [1] * 10, dtype=np.int32)
    wanted = np.full(20, 3.0)
    added_inside = repair(simple(20, []), labels, wanted, np.zeros(20), 30)
    assert (labels[added_inside.u] == labels[added_inside.v]).all()
    added_across = repair(simple(20, []), labels, np.zeros(20), wanted, 30)
    assert (labels[added_across.u] != labels[added_across.v]).all()


def test_edges_are_removed_of_the_kind_that_is_too_many():
    labels = np.array([0] * 6 + [1] * 6, dtype=np.int32)
    everything = simple(12, list(range(66)))
    without_inside = repair(everything, labels, np.zeros(12), np.full(12, 6.0), 36)
    assert (labels[without_inside.u] != labels[without_inside.v]).all()


def test_ties_do_not_favour_the_front_of_the_roster():
    """With equal lacks everywhere, every node gets the same share of the new edges."""
    nodes, runs = 20, 1500
    labels = np.zeros(nodes, dtype=np.int32)
    got = np.zeros(nodes)
    for seed in range(runs):
        found = repair(simple(nodes, []), labels, np.ones(nodes), np.zeros(nodes), 3, seed=seed)
        got += degrees(found, labels)[0]
    assert stats.chisquare(got).pvalue > 1e-3


@pytest.mark.parametrize(("begin", "edge_count"), [(0, 3), (10, 7)])
def test_without_wanted_degrees_all_graphs_are_equally_likely(begin, edge_count):
    """Nothing is lacking (or too much) anywhere: what is left to do is done uniformly."""
    nodes, runs = 5, 4000
    labels = np.zeros(nodes, dtype=np.int32)
    wanted = np.zeros(nodes) if begin == 0 else np.full(nodes, 9.0)
    seen: dict[tuple[int, ...], int] = {}
    for seed in range(runs):
        found = repair(
            simple(nodes, list(range(begin))), labels, wanted, wanted, edge_count, seed=seed
        )
        key = tuple((found.u * nodes + found.v).tolist())
        seen[key] = seen.get(key, 0) + 1
    assert len(seen) == 120  # 10 choose 3, both times
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


def test_a_graph_that_needs_nothing_is_handed_back():
    edges = simple(4, [0, 3])
    found = repair(edges, np.zeros(4, dtype=np.int32), np.ones(4), np.ones(4), 2)
    assert found.u is edges.u
    assert found.v is edges.v


def test_nearly_complete_graphs_are_reached():
    """Guessing free pairs would take for ever here."""
    nodes = 60
    pairs = UNDIRECTED.pairs(nodes)
    labels = np.arange(nodes, dtype=np.int32) % 7
    for missing in (0, 1, 5):
        found = repair(
            simple(nodes, list(range(0, pairs, 2))),
            labels,
            np.full(nodes, 59.0),
            np.full(nodes, 59.0),
            pairs - missing,
        )
        check_simple(found, nodes)
        assert found.u.size == pairs - missing


# ---- in parts ----


def fixed(engine: Runner, parts: EdgeParts, factor: float, *, seed: int = 2) -> EdgeParts:
    """Repair `parts` to `factor` times its edges, with degrees that are lacking here and there."""
    rng = np.random.default_rng(3)
    blocks, _ = models()
    return repaired(
        parts,
        labels=blocks.labels,
        inner_degrees=rng.integers(0, 9, NODES).astype(float),
        outer_degrees=rng.integers(0, 15, NODES).astype(float),
        edge_count=int(parts.edge_count * factor),
        seed=seed,
        runner=engine,
    )


@pytest.mark.parametrize(("threads", "part_nodes", "memory"), RUNNERS)
@pytest.mark.parametrize("factor", [0.4, 0.95, 1.05, 3.0])
def test_a_repaired_graph_depends_on_neither_threads_nor_parts(threads, part_nodes, memory, factor):
    graphs = []
    other = LocalEngine(threads=threads, part_nodes=part_nodes, memory=memory)
    for runner in (LocalEngine(threads=1), other):
        parts = drawn(runner)
        graphs.append(keys(fixed(runner, parts, factor)))
        assert len(graphs[-1]) == int(parts.edge_count * factor)
    assert graphs[0] == graphs[1]


@pytest.mark.parametrize("part_nodes", [1, 1 << 17])
@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 6])
def test_tiny_graphs_reach_every_number_of_edges(nodes, part_nodes):
    engine = LocalEngine(threads=1, part_nodes=part_nodes)
    labels = np.zeros(nodes, dtype=np.int32)
    block = labels[:1]
    pairs = UNDIRECTED.pairs(nodes)
    for rate in (0.0, 1.0):
        blocks = Blocks(np.ones(nodes), labels, block, block, np.full(block.size, rate))
        parts = sample(engine, blocks, seed=1)
        assert parts.edge_count == rate * pairs
        for edge_count in range(pairs + 1):
            for wanted in (np.zeros(nodes), np.full(nodes, 9.0)):
                found = repaired(
                    parts,
                    labels=labels,
                    inner_degrees=wanted,
                    outer_degrees=wanted,
                    edge_count=edge_count,
                    seed=2,
                    runner=engine,
                )
                assert len(keys(found)) == edge_count


@given(st.data())
@settings(max_examples=100)
def test_free_pairs_are_numbered_in_order(data):
    nodes = data.draw(st.integers(2, 9))
    first = data.draw(st.integers(0, nodes - 1))
    last = data.draw(st.integers(first, nodes))
    pairs = [int(pack(u, v)) for u in range(first, last) for v in range(u + 1, nodes)]
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
    runner, parts = LocalEngine(threads=1), MemoryParts(u, v, nodes=nodes)
    degrees = degrees_by_side(parts, labels, runner)
    wanted = np.concatenate([degrees[:nodes] - [0.9, 0.2, 0.5, 0.7, 0.2, 0.4], np.zeros(nodes)])
    seen = np.zeros(5)
    for key in range(4000):
        kept = with_fewer(
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


def test_other_seeds_repair_to_other_graphs():
    engine = LocalEngine(threads=1)
    parts = drawn(engine)
    for factor in (0.9, 1.1):
        assert keys(fixed(engine, parts, factor)) != keys(fixed(engine, parts, factor, seed=3))
