"""The block sampler draws independent edges, each with exactly its probability."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from psgraph.engines import sampling
from psgraph.engines.rank_one import Blocks, block_job, weight_classes
from psgraph.engines.threads import LocalEngine
from psgraph.graph.kind import Edges

ENGINE = LocalEngine(threads=1)


def sample(*models: Blocks, seed: int) -> Edges:
    return Edges(*sampling.sample(ENGINE, *models, seed=seed).whole())


def make_blocks(weights, labels, listed) -> Blocks:
    """`listed` holds (block, block, rate)."""
    heads, tails, rates = (
        (list(column) for column in zip(*listed, strict=True))
        if listed
        else (
            [],
            [],
            [],
        )
    )
    return Blocks(
        np.array(weights, dtype=np.float64),
        np.array(labels, dtype=np.int32),
        np.array(heads, dtype=np.int32),
        np.array(tails, dtype=np.int32),
        np.array(rates, dtype=np.float64),
    )


def probabilities(blocks: Blocks) -> np.ndarray:
    """By definition, pair by pair."""
    nodes = blocks.labels.size
    rate_of = {
        (int(a), int(b)): rate
        for a, b, rate in zip(blocks.heads, blocks.tails, blocks.rates, strict=True)
    }
    chances = np.zeros((nodes, nodes))
    for x, y in combinations(range(nodes), 2):
        a, b = int(blocks.labels[x]), int(blocks.labels[y])
        rate = rate_of.get((a, b), rate_of.get((b, a), 0.0))
        chances[x, y] = min(1.0, rate * blocks.weights[x] * blocks.weights[y])
    return chances


def draw_many(*parts: Blocks, draws: int, seed: int) -> np.ndarray:
    """Adjacency (upper triangle) of many graphs, as draws × n × n booleans."""
    nodes = parts[0].labels.size
    found = np.zeros((draws, nodes, nodes), dtype=bool)
    for index in range(draws):
        edges = sample(*parts, seed=seed * draws + index)
        assert (edges.u < edges.v).all()
        found[index, edges.u, edges.v] = True
        assert found[index].sum() == edges.u.size  # no pair twice
    return found


def check_bernoulli(found: np.ndarray, chances: np.ndarray) -> None:
    """Frequencies, certain and impossible pairs, totals and pairwise independence."""
    draws = found.shape[0]
    x, y = np.triu_indices(chances.shape[0], 1)
    chance, frequency = chances[x, y], found[:, x, y].mean(axis=0)
    assert (frequency[chance == 0] == 0).all()
    assert (frequency[chance == 1] == 1).all()
    # Pairs too rare to be judged one by one are judged together.
    open_ = (chance > 0) & (chance < 1)
    common = open_ & (draws * chance * (1 - chance) >= 10)
    p, rare = chance[common], chance[open_ & ~common].sum()
    z = (frequency[common] - p) / np.sqrt(p * (1 - p) / draws)
    assert stats.chi2.sf((z**2).sum(), p.size) > 1e-3
    seen = draws * frequency[open_ & ~common].sum()
    assert abs(seen - draws * rare) <= 4 * np.sqrt(draws * rare)
    # The number of edges has the variance of independent edges.
    totals = found.sum(axis=(1, 2))
    variance = (chance * (1 - chance)).sum()
    assert abs(totals.mean() - chance.sum()) < 4 * np.sqrt(variance / draws)
    assert totals.var() / variance == pytest.approx(1, abs=5 * np.sqrt(2 / draws))
    # Any two edges are uncorrelated.
    samples = found[:, x, y][:, common] - p
    scaled = samples / np.sqrt(p * (1 - p))
    correlations = (scaled.T @ scaled / draws)[np.triu_indices(p.size, 1)]
    assert stats.chi2.sf((correlations**2).sum() * draws, correlations.size) > 1e-3


RNG = np.random.default_rng(42)
CASES = {
    "one block, equal weights": ([1.0] * 7, [0] * 7, [(0, 0, 0.3)]),
    "one block, many classes": (
        [0.01, 0.1, 0.4, 1.0, 3.0, 3.1, 9.0, 20.0],
        [0] * 8,
        [(0, 0, 0.02)],
    ),
    "certain pairs": ([0.5, 1.0, 2.0, 4.0, 8.0], [0] * 5, [(0, 0, 0.25)]),
    "all pairs certain": ([1.0, 2.0, 3.0, 4.0], [0] * 4, [(0, 0, 1.0)]),
    "weights of zero": ([0.0, 1.0, 0.0, 2.0, 0.0, 1.0], [0] * 6, [(0, 0, 0.3)]),
    "two blocks across": ([1.0, 0.2, 5.0, 0.3, 2.0, 1.0], [0, 0, 0, 1, 1, 1], [(0, 1, 0.15)]),
    "inside and across": (
        RNG.uniform(0.1, 4.0, 9).tolist(),
        [2, 0, 1, 0, 2, 1, 1, 0, 2],
        [(0, 0, 0.2), (2, 2, 0.4), (0, 1, 0.05), (1, 2, 0.3)],
    ),
    "blocks left out": ([1.0] * 6, [0, 1, 2, 0, 1, 2], [(0, 2, 0.5)]),
    "light classes joined": (
        [0.1] * 4 + [0.3] * 3 + [4.0, 5.0],
        [0] * 9,
        [(0, 0, 0.5)],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_edges_are_independent_with_their_probabilities(case):
    blocks = make_blocks(*case)
    chances = probabilities(blocks)
    found = draw_many(blocks, draws=2000, seed=1)
    if ((chances > 0) & (chances < 1)).sum() > 2:
        check_bernoulli(found, chances)
    else:
        assert np.array_equal(found.mean(axis=0), chances)


def test_the_comparison_notices_five_per_cent():
    weights, labels, listed = CASES["inside and across"]
    found = draw_many(make_blocks(weights, labels, listed), draws=2000, seed=1)
    off = make_blocks(weights, labels, [(a, b, 1.05 * rate) for a, b, rate in listed])
    with pytest.raises(AssertionError):
        check_bernoulli(found, probabilities(off))


def test_some_of_the_cases_join_classes():
    """The last case is there for joined classes; see that it has some."""
    weights, labels, _ = CASES["light classes joined"]
    classes = weight_classes(np.array(weights), np.array(labels, dtype=np.int32), 1)
    exponents = {int(np.frexp(weight)[1]) for weight in weights}
    assert len(classes.tops) < len(exponents)
    assert classes.bounds.tolist() == sorted(classes.bounds.tolist())


def test_parts_do_not_disturb_each_other():
    weights, labels, _ = CASES["inside and across"]
    inside = make_blocks(weights, labels, [(0, 0, 0.2), (1, 1, 0.1)])
    across = make_blocks(weights, labels, [(0, 1, 0.1), (1, 2, 0.3)])
    found = draw_many(inside, across, draws=2000, seed=3)
    check_bernoulli(found, probabilities(inside) + probabilities(across))


@pytest.mark.parametrize(
    ("weights", "labels", "listed"),
    [
        ([], [], []),
        ([1.0], [0], [(0, 0, 1.0)]),
        ([0.0, 0.0], [0, 0], [(0, 0, 1.0)]),
        ([1.0, 1.0], [0, 0], []),
        ([1.0, 1.0], [0, 0], [(0, 0, 0.0)]),
    ],
)
def test_nothing_to_draw(weights, labels, listed):
    edges = sample(make_blocks(weights, labels, listed), seed=1)
    assert edges.u.size == edges.v.size == 0


@pytest.mark.parametrize("rate", [1e-300, 1e-18, 1e18, 1e300])
def test_extreme_rates(rate):
    edges = sample(make_blocks([1.0] * 20, [0] * 20, [(0, 0, rate)]), seed=1)
    assert edges.u.size == (0 if rate < 1 else 190)


@given(st.data())
@settings(max_examples=60)
def test_always_a_simple_graph_between_the_listed_blocks(data):
    nodes = data.draw(st.integers(1, 30))
    blocks = data.draw(st.integers(1, 4))
    weights = data.draw(
        st.lists(st.floats(0, 100, allow_subnormal=False), min_size=nodes, max_size=nodes)
    )
    labels = data.draw(st.lists(st.integers(0, blocks - 1), min_size=nodes, max_size=nodes))
    labels[0] = blocks - 1
    pairs = [(a, b) for a in range(blocks) for b in range(a, blocks)]
    listed = [
        (a, b, data.draw(st.floats(0, 2)))
        for a, b in data.draw(st.lists(st.sampled_from(pairs), unique=True))
    ]
    part = make_blocks(weights, labels, listed)
    edges = sample(part, seed=data.draw(st.integers(0, 99)))
    keys = edges.u.astype(np.int64) * nodes + edges.v
    assert (edges.u < edges.v).all()
    assert (np.diff(keys) > 0).all()
    chances = probabilities(part)
    assert (chances[edges.u, edges.v] > 0).all()
    certain = np.argwhere(chances == 1)
    assert {tuple(pair) for pair in certain.tolist()} <= set(
        zip(edges.u.tolist(), edges.v.tolist(), strict=True)
    )


def keys_of(job) -> list[int]:
    """What all tasks draw, the last one first."""
    return [int(key) for item in job.items[::-1] for key in job.work(item, *job.shared)]


def test_blocks_that_are_cut_into_pieces_draw_the_same_distribution():
    weights, labels, (_, *listed) = CASES["inside and across"]
    blocks = make_blocks(weights, labels, [(0, 0, 0.015), *listed])
    pieces = block_job(blocks, key=0, piece_edges=1).shared[4]
    assert (pieces.one < 0).sum() == 1  # the other three blocks are cut
    assert (pieces.begin > 0).any()
    found = np.zeros((2000, 9, 9), dtype=bool)
    for index in range(2000):
        keys = np.array(keys_of(block_job(blocks, key=index, piece_edges=1)), dtype=np.int64)
        found[index, keys >> 32, keys & 0xFFFFFFFF] = True
        assert found[index].sum() == keys.size  # no pair twice
    check_bernoulli(found, probabilities(blocks))


def test_edges_do_not_depend_on_how_pieces_are_spread_over_tasks():
    rng = np.random.default_rng(6)
    weights, labels = rng.pareto(1.5, 300) + 1, np.arange(300) % 9
    rate = 2 / weights.sum()
    listed = [(a, b, rate) for a in range(9) for b in range(a, 9)]
    blocks = make_blocks(weights, labels, listed)
    jobs = [block_job(blocks, key=7, task_edges=most, piece_edges=30) for most in (1 << 20, 40, 1)]
    assert [len(job.items) > 1 for job in jobs] == [False, True, True]
    drawn = [sorted(keys_of(job)) for job in jobs]
    assert drawn[0] == drawn[1] == drawn[2]
    assert len(drawn[0]) > 300
    assert drawn[0] != sorted(keys_of(block_job(blocks, key=8, piece_edges=30)))


def test_a_task_draws_more_edges_than_there_was_room_for_at_first():
    edges = sample(make_blocks([1.0] * 120, [0] * 120, [(0, 0, 1.0)]), seed=1)
    assert edges.u.size == 7140  # all pairs, more than the 4096 a task makes room for


def test_a_large_graph_has_the_expected_degrees():
    rng = np.random.default_rng(8)
    weights = (1 - rng.random(20_000)) ** -0.6
    part = make_blocks(weights, np.zeros(20_000), [(0, 0, 1 / weights.sum())])
    edges = sample(part, seed=8)
    degrees = np.bincount(edges.u, minlength=20_000) + np.bincount(edges.v, minlength=20_000)
    top = np.argsort(-weights)[:200]
    rate = 1 / weights.sum()
    wanted = np.minimum(1, rate * weights[top, None] * weights[None, :]).sum(axis=1)
    wanted -= np.minimum(1, rate * weights[top] ** 2)
    z = (degrees[top] - wanted) / np.sqrt(wanted)
    assert stats.chi2.sf((z**2).sum(), z.size) > 1e-3
