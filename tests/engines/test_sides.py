"""Drawing and counting where edges have two sides: each ordered pair with its own probability."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from psgraph import Publisher, WEventPrivacy
from psgraph.engines.rank_one import Blocks, block_job
from psgraph.engines.sampling import PairCounts, sample
from psgraph.engines.sides import Sides
from psgraph.engines.threads import LocalEngine
from psgraph.graph import (
    DIRECTED,
    TWO_SIDED,
    Kind,
    Roster,
    Snapshot,
    SyntheticGraph,
    TwoSidedRoster,
)
from psgraph.graph.kind import unpack
from psgraph.graph.parts import MemoryParts
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import CommunityChoices, block_counts, degrees
from psgraph.methods.registry import choose_method
from tests.engines.cluster import PART_NODES
from tests.engines.drawing import RUNNERS, keys

ENGINE = LocalEngine(threads=1)
SMALL = {"directed": Sides(DIRECTED, (8,)), "two-sided": Sides(TWO_SIDED, (5, 4))}
LARGE = {"directed": Sides(DIRECTED, (300,)), "two-sided": Sides(TWO_SIDED, (180, 120))}


def model(sides: Sides, *, blocks: int, rate: float, seed: int = 4) -> Blocks:
    """Edges inside all blocks and from each block to the others, at rates of their own."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(sides.nodes) % blocks).astype(np.int32)
    a, b = (ends.astype(np.int32) for ends in np.indices((blocks, blocks)).reshape(2, -1))
    rates = rate * rng.uniform(0.2, 1.0, a.size)
    return Blocks(rng.pareto(1.2, sides.degrees) + 0.2, labels, a, b, rates, sides)


def probabilities(blocks: Blocks) -> np.ndarray:
    """By definition, pair by pair: zero for what can't be an edge."""
    sides = blocks.sides
    cells = zip(blocks.heads.tolist(), blocks.tails.tolist(), blocks.rates, strict=True)
    rate_of = {(a, b): rate for a, b, rate in cells}
    chances = np.zeros((sides.nodes, sides.nodes))
    for x, y in product(range(sides.nodes), repeat=2):
        can_be = x < sides.offset <= y if sides.kind.two_sided else x != y
        if can_be:
            rate = rate_of[blocks.labels[x], blocks.labels[y]]
            chances[x, y] = rate * blocks.weights[x] * blocks.weights[y + sides.shift]
    return np.minimum(chances, 1.0)


@pytest.mark.parametrize("piece_edges", [1 << 20, 1], ids=["whole blocks", "pieces"])
@pytest.mark.parametrize("sides", SMALL.values(), ids=SMALL.keys())
def test_ordered_pairs_are_independent_with_their_probabilities(
    sides: Sides, piece_edges: int
) -> None:
    blocks, draws = model(sides, blocks=2, rate=0.3), 2000
    if piece_edges == 1:
        assert (block_job(blocks, key=0, piece_edges=1).shared[4].one >= 0).any()
    found = np.zeros((draws, sides.nodes, sides.nodes), dtype=bool)
    for index in range(draws):
        job = block_job(blocks, key=index, piece_edges=piece_edges)
        drawn = np.concatenate([job.work(item, *job.shared) for item in job.items])
        found[index][unpack(drawn)] = True
        assert found[index].sum() == drawn.size  # no pair twice
    chances = probabilities(blocks)
    frequency = found.mean(axis=0)
    assert (frequency[chances == 0] == 0).all()
    assert (frequency[chances == 1] == 1).all()
    common = (draws * chances * (1 - chances)) >= 10
    p = chances[common]
    assert p.size > 10
    z = (frequency[common] - p) / np.sqrt(p * (1 - p) / draws)
    assert stats.chi2.sf((z**2).sum(), p.size) > 1e-3
    scaled = (found[:, common] - p) / np.sqrt(p * (1 - p))
    correlations = (scaled.T @ scaled / draws)[np.triu_indices(p.size, 1)]
    assert stats.chi2.sf((correlations**2).sum() * draws, correlations.size) > 1e-3


def exact(sides: Sides, *, blocks: int, most: float) -> PairCounts:
    """Exact numbers of edges from each block to each other one."""
    labels = (np.arange(sides.nodes) % blocks).astype(np.int32)
    a, b = np.indices((blocks, blocks)).reshape(2, -1)
    a, b = (ends[a != b].astype(np.int32) for ends in (a, b))
    first, second = sides.members(labels, blocks)
    counts = (np.random.default_rng(5).random(a.size) * most * first[a] * second[b]).astype(int)
    return PairCounts(labels, a, b, counts, sides)


@pytest.mark.parametrize("sides", LARGE.values(), ids=LARGE.keys())
def test_each_ordered_pair_of_blocks_gets_exactly_its_edges(sides: Sides) -> None:
    wanted = exact(sides, blocks=4, most=1.0)
    u, v = sample(ENGINE, wanted, seed=1).whole()
    assert sides.kind.is_normal(u, v)
    assert u.max() < sides.sizes[0]
    assert v.min() >= sides.offset
    for a, b, count in zip(wanted.heads, wanted.tails, wanted.counts, strict=True):
        assert ((wanted.labels[u] == a) & (wanted.labels[v] == b)).sum() == count
    assert u.size == wanted.counts.sum() > 1000


@pytest.mark.parametrize(("threads", "part_nodes", "memory"), RUNNERS)
@pytest.mark.parametrize("sides", LARGE.values(), ids=LARGE.keys())
def test_what_is_drawn_depends_on_neither_threads_nor_parts(
    sides: Sides, threads: int, part_nodes: int, memory: int
) -> None:
    graphs = []
    for runner in (ENGINE, LocalEngine(threads=threads, part_nodes=part_nodes, memory=memory)):
        inside = model(sides, blocks=9, rate=0.005)
        between = exact(sides, blocks=9, most=0.1)
        parts = sample(runner, inside, seed=1), sample(runner, between, seed=1)
        assert {each.kind for each in parts} == {sides.kind}
        graphs.append([keys(each) for each in parts])
    assert graphs[0] == graphs[1]
    assert all(len(each) > 300 for each in graphs[0])


# ---- counting ----


def random_snapshot(kind: Kind, seed: int, *, edges: int = 400) -> Snapshot:
    rng = np.random.default_rng(seed)
    if kind.two_sided:
        roster = TwoSidedRoster(Roster.range(60), Roster.range(35))
        ends = rng.integers(0, 60, edges), 60 + rng.integers(0, 35, edges)
    else:
        roster, ends = Roster.range(90), rng.integers(0, 90, (2, edges))
    return Snapshot(roster, *ends, kind=kind)


def cut(snapshot: Snapshot, part_nodes: int) -> Snapshot:
    parts = MemoryParts(
        *snapshot.parts.whole(),
        nodes=len(snapshot.roster),
        part_nodes=part_nodes,
        kind=snapshot.kind,
    )
    return Snapshot.from_parts(snapshot.roster, parts)


@pytest.mark.parametrize("kind", [DIRECTED, TWO_SIDED], ids=str)
def test_counts_of_parts_are_those_of_the_whole(kind: Kind) -> None:
    snapshot = random_snapshot(kind, 1)
    nodes, labels = len(snapshot.roster), (np.arange(len(snapshot.roster)) % 7).astype(np.int32)
    first, second = (np.bincount(ends, minlength=nodes) for ends in (snapshot.u, snapshot.v))
    expected = np.append(first, second) if kind.directed else first + second
    pairs = labels[snapshot.u] * 7 + labels[snapshot.v]
    for part_nodes in (1 << 17, 20, 7):
        edges = PrivateEdges(cut(snapshot, part_nodes), LocalEngine(threads=2))
        np.testing.assert_array_equal(degrees(edges), expected)
        cells, counts = block_counts(edges, labels, 7, inside=True)
        np.testing.assert_array_equal(cells, np.unique(pairs))
        np.testing.assert_array_equal(counts, np.unique(pairs, return_counts=True)[1])


def test_blocks_of_first_and_of_second_ends_may_differ() -> None:
    snapshot = random_snapshot(DIRECTED, 2)
    heads, tails = ((np.arange(90) % blocks).astype(np.int32) for blocks in (3, 5))
    edges = PrivateEdges(cut(snapshot, 20), ENGINE)
    cells, counts = block_counts(edges, heads, 3, inside=True, tail_labels=tails, tail_blocks=5)
    expected = np.bincount(heads[snapshot.u] * 5 + tails[snapshot.v], minlength=15)
    np.testing.assert_array_equal(counts, expected[cells])
    assert counts.sum() == snapshot.u.size


def test_a_score_counts_out_and_in_neighbours() -> None:
    """Node 0 has edges to and from 1, one to 2 and one from 3."""
    snapshot = Snapshot(Roster.range(4), [0, 1, 0, 3], [1, 0, 2, 0], kind=DIRECTED)
    labels = np.array([0, 1, 1, 2], dtype=np.int32)
    for part_nodes in (1 << 17, 1):
        edges = PrivateEdges(cut(snapshot, part_nodes), ENGINE)
        (first, *_) = CommunityChoices(labels).answer(edges)
        end = first.starts[1]
        communities, scores = first.communities[:end].tolist(), first.counts[:end].tolist()
        assert dict(zip(communities, scores, strict=True)) == {1: 3, 2: 1}


# ---- engines ----


@pytest.mark.parametrize("kind", [DIRECTED, TWO_SIDED], ids=str)
@pytest.mark.parametrize("method", ["psgraph", "privgraph"])
def test_a_cluster_gives_the_same_graphs(dask_engine, method: str, kind: Kind) -> None:
    stream = [cut(random_snapshot(kind, seed), 30) for seed in range(3)]

    def published(engine) -> list[SyntheticGraph]:
        guarantee = WEventPrivacy("20", window=2)
        with Publisher(choose_method(method), guarantee, seed=3, engine=engine) as publisher:
            return [publisher.publish(snapshot).graph for snapshot in stream]

    local = published(LocalEngine(threads=1, part_nodes=PART_NODES))
    assert published(dask_engine) == local
    assert {graph.kind for graph in local} == {kind}
    assert min(graph.edge_count for graph in local) > 50
