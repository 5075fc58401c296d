"""PrivHRG: counts against recomputation, the chain against its exact target, blocks, drawing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from psgraph.engines.threads import LocalEngine
from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.methods.private import PrivateEdges, PrivateSnapshot
from psgraph.methods.privhrg import PrivHRG, dendrogram_walk
from psgraph.methods.privhrg.dendrogram import (
    DEGREE,
    EDGES,
    FIRST,
    LEFT,
    PARENT,
    RIGHT,
    SIZE,
    Dendrogram,
    Layout,
    edges_across,
    find_blocks,
    pairs_in,
    random_dendrogram,
)
from psgraph.methods.privhrg.dendrogram_walk import (
    DendrogramWalk,
    branching_fits,
    likelihood_sensitivity,
    log_likelihood,
    walk_dendrogram,
)
from psgraph.methods.privhrg.method import draw_edges
from psgraph.methods.queries import adjacency
from psgraph.privacy.budget import Budget
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.testing import check_method
from tests.methods.real import as733, mean_fidelity, surplus

Shape = Any  # a leaf's number, or a frozenset of two shapes
UNLIKELY = 1e-5  # seeds are fixed: a test that passes once passes always


def sampler(seed: int = 1) -> Sampler:
    return Sampler(RandomSource.seeded(seed))


def some_tree(nodes: int, seed: int = 1) -> Dendrogram:
    source = sampler(seed)
    return random_dendrogram(source.permutation(nodes), source.permutation(max(nodes - 1, 0)))


def snapshot_of(nodes: int, edges: list[tuple[int, int]]) -> Snapshot:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return Snapshot(Roster.range(nodes), ends[:, 0], ends[:, 1])


def lists(nodes: int, edges: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return adjacency(PrivateEdges(snapshot_of(nodes, edges), LocalEngine()))


def random_edges(nodes: int, share: float, seed: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    return [pair for pair in combinations(range(nodes), 2) if rng.random() < share]


def children(tree: Dendrogram, node: int) -> tuple[int, int]:
    return int(tree.left[node - tree.leaves]), int(tree.right[node - tree.leaves])


def below(tree: Dendrogram, node: int) -> set[int]:
    if node < tree.leaves:
        return {node}
    one, other = children(tree, node)
    return below(tree, one) | below(tree, other)


def shape(tree: Dendrogram, node: int | None = None) -> Shape:
    node = tree.root if node is None else node
    if node < tree.leaves:
        return node
    return frozenset(shape(tree, child) for child in children(tree, node))


def all_shapes(leaves: tuple[int, ...]) -> Iterator[Shape]:
    """Every binary tree over the leaves."""
    if len(leaves) == 1:
        yield leaves[0]
    first, rest = leaves[0], leaves[1:]
    for size in range(len(rest)):
        for chosen in combinations(rest, size):
            others = tuple(leaf for leaf in rest if leaf not in chosen)
            for one in all_shapes((first, *chosen)):
                for other in all_shapes(others):
                    yield frozenset([one, other])


def shape_leaves(part: Shape) -> set[int]:
    return {part} if isinstance(part, int) else set().union(*map(shape_leaves, part))


def shape_likelihood(part: Shape, edges: list[tuple[int, int]]) -> float:
    """The log-likelihood by its definition."""
    if isinstance(part, int):
        return 0.0
    one, other = part
    left, right = shape_leaves(one), shape_leaves(other)
    pairs = len(left) * len(right)
    crossing = sum((u in left and v in right) or (u in right and v in left) for u, v in edges)
    here = sum(
        count * math.log(count / pairs) for count in (crossing, pairs - crossing) if count > 0
    )
    return here + shape_likelihood(one, edges) + shape_likelihood(other, edges)


# ---- dendrograms ----


@given(st.integers(1, 40), st.integers(0, 9))
def test_subtrees_are_stretches(nodes: int, seed: int) -> None:
    tree = some_tree(nodes, seed)
    assert below(tree, tree.root) == set(range(nodes))
    layout = Layout.of(tree)
    assert (layout.order[layout.position] == np.arange(nodes)).all()
    assert sorted(layout.top_down) == list(range(nodes, 2 * nodes - 1))
    for node in layout.top_down.tolist():
        _, _, _, size, first, *_ = layout.table[node]
        begin = layout.position[first]
        assert set(layout.order[begin : begin + size].tolist()) == below(tree, node)
    again = layout.tree()
    assert shape(again) == shape(tree)


def test_random_trees_are_those_of_binary_search() -> None:
    # Of four leaves: the first split halves them with probability 1/3, in one of 3 ways; else it
    # takes off one of 4 leaves, and one of the 3 ways to go on is taken.
    distribution = {
        part: 1 / 9 if all(len(shape_leaves(side)) == 2 for side in part) else 2 / 3 / 12
        for part in all_shapes((0, 1, 2, 3))
    }
    assert len(distribution) == 15
    source = sampler()
    drawn = Counter(
        shape(random_dendrogram(source.permutation(4), source.permutation(3))) for _ in range(6_000)
    )
    assert drawn.keys() <= distribution.keys()
    expected = np.array(list(distribution.values())) * 6_000
    assert stats.chisquare([drawn[part] for part in distribution], expected).pvalue > UNLIKELY


@given(st.integers(2, 30), st.floats(0, 1), st.integers(0, 9))
def test_edges_across_are_counted(nodes: int, share: float, seed: int) -> None:
    edges = random_edges(nodes, share, seed)
    tree = some_tree(nodes, seed)
    layout = Layout.of(tree)
    edges_across(layout, *lists(nodes, edges))
    for node in range(nodes, 2 * nodes - 1):
        one, other = (below(tree, child) for child in children(tree, node))
        crossing = sum((u in one and v in other) or (u in other and v in one) for u, v in edges)
        assert layout.table[node, EDGES] == crossing
    assert layout.table[nodes:, EDGES].sum() == len(edges)
    exact = shape_likelihood(shape(tree), edges)
    assert log_likelihood(tree, *lists(nodes, edges)) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("nodes", [3, 4, 5])
def test_the_sensitivity_is_reached_and_not_exceeded(nodes: int) -> None:
    worst = 0.0
    pairs = list(combinations(range(nodes), 2))
    shapes = list(all_shapes(tuple(range(nodes))))
    for size in range(min(len(pairs), 4)):
        for edges in combinations(pairs[1:], size):
            for part in shapes:
                gain = shape_likelihood(part, [pairs[0], *edges])
                worst = max(worst, abs(gain - shape_likelihood(part, list(edges))))
    assert worst == pytest.approx(likelihood_sensitivity(nodes))


# ---- the chain ----


@settings(max_examples=40)
@given(st.integers(3, 40), st.floats(0, 1), st.integers(0, 9), st.sampled_from([0.0, 0.5, 50.0]))
def test_increments_agree_with_recomputing_everything(
    nodes: int, share: float, seed: int, rate: float
) -> None:
    starts, neighbours = lists(nodes, random_edges(nodes, share, seed))
    tree = some_tree(nodes, seed)
    layout = Layout.of(tree)
    edges_across(layout, starts, neighbours)
    fits = branching_fits(layout)
    spare = np.empty(nodes, dtype=np.int32)
    arrays = (layout.table, fits, layout.order, layout.position, spare)
    for chunk in range(10):
        sampler(100 * seed + chunk).run(
            20,
            lambda done, words, place: dendrogram_walk._walk(
                *arrays, tree.root, starts, neighbours, rate, done, 20, words, place
            ),
        )
        # What the walk keeps up to date, against the same tree laid out and counted again.
        now = layout.tree()
        fresh = Layout.of(now)
        edges_across(fresh, starts, neighbours)
        kept = [PARENT, LEFT, RIGHT, SIZE, DEGREE, EDGES]
        assert (layout.table[:-1, kept] == fresh.table[:-1, kept]).all()
        np.testing.assert_allclose(fits, branching_fits(fresh), atol=1e-9)
        assert (layout.order[layout.position] == np.arange(nodes)).all()
        for node in range(2 * nodes - 1):
            begin = layout.position[layout.table[node, FIRST]]
            stretch = layout.order[begin : begin + layout.table[node, SIZE]]
            assert set(stretch.tolist()) == below(now, node)


@pytest.mark.parametrize(
    ("edges", "rate", "steps", "chains"),
    [
        ([(0, 1), (1, 2), (0, 2)], 1.0, 60, 6_000),
        ([(0, 1), (1, 2), (2, 3), (3, 4), (1, 4)], 0.7, 100, 12_000),
    ],
)
def test_long_chains_reach_the_exponential_mechanism(
    edges: list[tuple[int, int]], rate: float, steps: int, chains: int
) -> None:
    nodes = max(map(max, edges)) + (2 if len(edges) == 3 else 1)
    weights = {
        part: math.exp(rate * shape_likelihood(part, edges))
        for part in all_shapes(tuple(range(nodes)))
    }
    total = math.fsum(weights.values())
    source, (starts, neighbours) = sampler(), lists(nodes, edges)
    start = some_tree(nodes)
    drawn = Counter(
        shape(walk_dendrogram(source, start, starts, neighbours, steps=steps, rate=rate))
        for _ in range(chains)
    )
    expected = np.array(list(weights.values())) * chains / total
    assert expected.min() > 5
    observed = [drawn[part] for part in weights]
    assert stats.chisquare(observed, expected).pvalue > UNLIKELY
    # The test can tell: it would not take the chain for one without a preference.
    assert stats.chisquare(observed).pvalue < 1e-20


def test_short_chains_and_small_trees() -> None:
    starts, neighbours = lists(3, [(0, 1)])
    tree = some_tree(3)
    assert shape(walk_dendrogram(sampler(), tree, starts, neighbours, steps=0, rate=1.0)) == shape(
        tree
    )
    for nodes in (0, 1, 2):
        tree, nobody = some_tree(nodes), lists(nodes, [])
        assert walk_dendrogram(sampler(), tree, *nobody, steps=9, rate=1.0) is tree
        assert likelihood_sensitivity(nodes) == 0


def test_the_chain_finds_two_cliques() -> None:
    edges = [*combinations(range(8), 2), *combinations(range(8, 16), 2)]
    adjacency, start = lists(16, edges), some_tree(16)
    budget = Budget(Fraction(10), sampler())
    walk = DendrogramWalk(start, *adjacency, steps=4_000)
    tree = budget.run(walk, epsilon=Fraction(10), label="dendrogram")
    assert log_likelihood(start, *adjacency) < -20
    assert log_likelihood(tree, *adjacency) == 0
    assert {frozenset(below(tree, child)) for child in children(tree, tree.root)} == {
        frozenset(range(8)),
        frozenset(range(8, 16)),
    }
    assert budget.remaining == 0


# ---- blocks ----


def textbook_blocks(tree: Dendrogram, node: int, epsilon: Fraction) -> list[frozenset]:
    """The pairs of each block, by the recursion of the paper."""
    if node < tree.leaves:
        return []
    one, other = (below(tree, child) for child in children(tree, node))
    pairs, size = len(one) * len(other), len(one) + len(other)
    if 1 / (epsilon * pairs) >= Fraction(5, 100) and (
        1 / (epsilon * (size * (size - 1) // 2)) >= Fraction(1, 100)
    ):
        return [frozenset(combinations(sorted(one | other), 2))]
    here = frozenset((min(u, v), max(u, v)) for u in one for v in other)
    return [here] + [
        block for child in children(tree, node) for block in textbook_blocks(tree, child, epsilon)
    ]


def block_pairs(order: np.ndarray, begin: int, middle: int, end: int) -> frozenset:
    places = order.tolist()
    if begin == middle:
        pairs = combinations(places[begin:end], 2)
    else:
        pairs = ((u, v) for u in places[begin:middle] for v in places[middle:end])
    return frozenset((min(pair), max(pair)) for pair in pairs)


@settings(max_examples=50)
@given(
    st.integers(0, 60),
    st.integers(0, 9),
    st.sampled_from(
        [Fraction(1, 10**30), Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(40)]
    ),
)
def test_blocks_are_those_of_the_recursion(nodes: int, seed: int, epsilon: Fraction) -> None:
    edges = random_edges(nodes, 0.2, seed)
    tree = some_tree(nodes, seed)
    blocks = find_blocks(tree, epsilon)
    bounds = np.stack([blocks.begin, blocks.middle, blocks.end], axis=1).tolist()
    found = [block_pairs(blocks.layout.order, *ends) for ends in bounds]
    assert Counter(found) == Counter(textbook_blocks(tree, tree.root, epsilon))
    # Every pair is in one block, so an edge is counted once: sensitivity 1.
    everyone = Counter(pair for block in found for pair in block)
    assert everyone == Counter(combinations(range(nodes), 2))
    assert pairs_in(blocks.begin, blocks.middle, blocks.end).tolist() == list(map(len, found))
    assert blocks.edges(*lists(nodes, edges)).tolist() == [
        len(block & set(edges)) for block in found
    ]


# ---- drawing ----


def test_every_pair_is_drawn_with_its_probability() -> None:
    order = np.array([3, 0, 4, 2, 1, 5], dtype=np.int32)
    bounds = np.array([[0, 2, 6], [0, 0, 2], [2, 2, 6]], dtype=np.int32)
    chances, draws = np.array([0.2, 1.0, 0.55]), 10_000
    rng = np.random.default_rng(3)
    pairs = pairs_in(*bounds.T)
    drawn: Counter[tuple[int, int]] = Counter()
    together: Counter[int] = Counter()
    for _ in range(draws):
        u, v = draw_edges(order, *bounds.T.copy(), chances, pairs=pairs, rng=rng)
        edges = {(min(pair), max(pair)) for pair in zip(u.tolist(), v.tolist(), strict=True)}
        assert len(edges) == u.size
        drawn.update(edges)
        together[len(edges & block_pairs(order, 2, 2, 6))] += 1
    for ends, chance in zip(bounds.tolist(), chances, strict=True):
        for pair in block_pairs(order, *ends):
            spread = math.sqrt(draws * chance * (1 - chance))
            assert abs(drawn[pair] - draws * chance) <= 5 * spread
    # Independent: the number of edges in a block is binomial.
    distribution = stats.binom(6, 0.55).pmf(range(7)) * draws
    assert stats.chisquare([together[count] for count in range(7)], distribution).pvalue > UNLIKELY


def test_nothing_is_drawn_where_the_probability_is_zero() -> None:
    bounds = [np.array([end], dtype=np.int32) for end in (0, 1, 3)]
    order = np.arange(3, dtype=np.int32)
    rng = np.random.default_rng(1)
    u, _ = draw_edges(order, *bounds, np.zeros(1), pairs=pairs_in(*bounds), rng=rng)
    assert u.size == 0


# ---- the method ----


@pytest.mark.parametrize("mcmc", [True, False])
def test_it_keeps_the_protocol(mcmc: bool) -> None:
    check_method(PrivHRG(mcmc=mcmc, steps_per_node=20))


def test_what_is_charged_and_what_is_said_of_it() -> None:
    snapshot = snapshot_of(60, random_edges(60, 0.1, 1))
    expected = {
        True: [("Markov chain", "dendrogram", 1), ("discrete Laplace", "block edges", 1)],
        False: [("discrete Laplace", "block edges", 2)],
    }
    for mcmc, lines in expected.items():
        budget = Budget(Fraction(2), sampler())
        method = PrivHRG(mcmc=mcmc)
        method.measure(PrivateSnapshot(snapshot, budget, LocalEngine()), None)
        assert [(c.mechanism, c.label, c.epsilon) for c in budget.trace] == lines
    caveat = PrivHRG().caveat
    assert caveat is not None
    assert "Markov chain" in caveat.text
    assert "not known" in caveat.text
    assert PrivHRG(mcmc=False).caveat is None


def test_without_noise_every_block_has_its_edges() -> None:
    edges = random_edges(200, 0.05, 4)
    method = PrivHRG(mcmc=False)
    budget = Budget(Fraction(10**4), sampler())
    private = PrivateSnapshot(snapshot_of(200, edges), budget, LocalEngine())
    measurement = method.measure(private, None)
    assert measurement.noisy_edges.sum() == len(edges)
    assert measurement.noisy_edges.size == 199  # no block is too small to be kept apart
    state = method.update(None, measurement)
    counts = [
        method.synthesise(state, None, np.random.default_rng(seed), LocalEngine()).edge_count
        for seed in range(60)
    ]
    assert abs(np.mean(counts) - len(edges)) < 5 * np.std(counts) / math.sqrt(60)


@pytest.mark.parametrize("steps", [0, -1, True])
def test_wrong_parameters_are_refused(steps: int) -> None:
    with pytest.raises(InvalidArgument):
        PrivHRG(steps_per_node=steps)


def test_facts_on_real_graphs(real_data: Path) -> None:
    snapshots = as733(real_data)
    # Noise below zero is cut off, so small budgets make more edges than there were.
    assert surplus(PrivHRG(), snapshots, epsilon="0.5") > surplus(
        PrivHRG(mcmc=False), snapshots, epsilon="0.5"
    )
    assert 1 < surplus(PrivHRG(), snapshots, epsilon="4") < 1.5
    chain, chance = (
        mean_fidelity(method, snapshots, epsilon="4") for method in (PrivHRG(), PrivHRG(mcmc=False))
    )
    assert chain.assortativity_error < chance.assortativity_error
    assert chain.eigenvector_overlap > chance.eigenvector_overlap
