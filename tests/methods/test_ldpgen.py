from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.cluster.vq import kmeans2

from psgraph.engines.threads import LocalEngine
from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.methods.ldpgen import (
    GroupDegrees,
    LDPGen,
    LDPGenMeasurement,
    LDPGenState,
    _blocks,
    _move,
    k_means,
)
from psgraph.methods.private import PrivateEdges, PrivateSnapshot
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.publisher import Publisher
from tests.methods.real import as733, mean_fidelity, surplus

ENGINE = LocalEngine()


def budget(epsilon: str = "1", seed: int = 0) -> Budget:
    return Budget(Fraction(epsilon), Sampler(RandomSource.seeded(seed)))


def random_snapshot(nodes: int, edges: int, seed: int = 0) -> Snapshot:
    rng = np.random.default_rng(seed)
    return Snapshot(
        Roster.range(nodes), rng.integers(0, nodes, edges), rng.integers(0, nodes, edges)
    )


# ---- counting and clustering ----


def counted(snapshot: Snapshot, labels: np.ndarray, groups: int) -> np.ndarray:
    query = GroupDegrees("degrees", labels, groups)
    return query.answer(PrivateEdges(snapshot, ENGINE)).reshape(-1, groups)


@given(st.integers(1, 20), st.integers(0, 60), st.integers(1, 5), st.integers(0, 99))
def test_group_degrees_count_neighbours_in_each_group(nodes, edges, groups, seed):
    snapshot = random_snapshot(nodes, edges, seed)
    labels = np.random.default_rng(seed).integers(0, groups, nodes).astype(np.int32)
    expected = np.zeros((nodes, groups), dtype=np.int64)
    for x, y in zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True):
        expected[x, labels[y]] += 1
        expected[y, labels[x]] += 1
    assert (counted(snapshot, labels, groups) == expected).all()


def spread(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(
        ((points[labels == c] - points[labels == c].mean(axis=0)) ** 2).sum()
        for c in np.unique(labels)
    )


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 40), st.integers(0, 9))
def test_k_means_ends_where_every_point_is_at_its_nearest_mean(clusters, columns, rows, seed):
    points = np.random.default_rng(seed).integers(-20, 20, (rows, columns))
    labels = k_means(points, clusters, iterations=1000, seed=seed)
    assert labels.shape == (rows,)
    assert ((labels >= 0) & (labels < clusters)).all()
    used = np.unique(labels)
    if rows == 0:
        return
    centres = np.array([points[labels == c].mean(axis=0) for c in used])
    distances = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
    own = distances[np.arange(rows), np.searchsorted(used, labels)]
    assert own == pytest.approx(distances.min(axis=1))
    # No cluster is wasted while there are different points left to give it.
    assert used.size == min(clusters, np.unique(points, axis=0).shape[0])


def test_k_means_is_as_good_as_another_implementation():
    rng = np.random.default_rng(1)
    points = rng.integers(-60, 60, (600, 3)) + 80 * rng.integers(0, 3, (600, 1))
    ours = min(spread(points, k_means(points, 6, iterations=50, seed=seed)) for seed in range(5))
    theirs = min(
        spread(points, kmeans2(points.astype(float), 6, iter=50, minit="++", rng=seed)[1])
        for seed in range(5)
    )
    assert ours <= 1.05 * theirs


def test_an_empty_cluster_starts_again_from_the_point_that_fits_worst():
    points = np.array([[0.0], [10.0], [1.0]])
    centres, labels = np.zeros((3, 1)), np.zeros(3, dtype=np.int32)
    _move(points, centres, labels, np.array([0.0, 100.0, 1.0]))
    assert centres[:, 0] == pytest.approx([11 / 3, 10, 1])


# ---- what is measured ----


@pytest.mark.parametrize(("ldp_scale", "sensitivity"), [(False, 2), (True, 1)])
def test_half_for_each_phase_and_noise_of_that_scale(ldp_scale, sensitivity):
    used = budget("0.4")
    method = LDPGen(ldp_scale=ldp_scale)
    empty = Snapshot(Roster.range(3000), [], [])
    measured = method.measure(PrivateSnapshot(empty, used, ENGINE), None)
    assert [(c.epsilon, c.sensitivity) for c in used.trace] == [(Fraction(1, 5), sensitivity)] * 2
    q = np.exp(-0.2 / sensitivity)
    assert measured.noisy_group_degrees.var() == pytest.approx(2 * q / (1 - q) ** 2, rel=0.15)


def test_an_edge_counts_at_both_ends():
    """Which is why the scale of the local model is worth 2·ε only."""
    labels = np.zeros(4, dtype=np.int32)
    one, other = (
        counted(Snapshot(Roster.range(4), *ends), labels, 1)
        for ends in (([0], [1]), ([0, 2], [1, 3]))
    )
    assert np.abs(one - other).sum() == 2


def test_the_certificate_of_the_local_scale_says_two_epsilon():
    with Publisher(
        LDPGen(ldp_scale=True), WEventPrivacy("1.5", window=3), not_private=True
    ) as publisher:
        certificate = publisher.publish(random_snapshot(50, 80)).certificate
    assert certificate.private is True
    assert certificate.promise.provides == WEventPrivacy("3", window=3)
    assert certificate.to_dict()["provides_epsilon"] == "3"
    assert "ε = 3:" in certificate.promise.text
    with Publisher(LDPGen(), WEventPrivacy("1.5", window=3)) as publisher:
        assert (
            publisher.publish(random_snapshot(50, 80)).certificate.to_dict()["provides_epsilon"]
            == "1.5"
        )


@pytest.mark.parametrize(
    ("mean_degree", "epsilon", "groups"),
    [(3, Fraction(1, 10), 2), (100, Fraction(1, 5), 7), (100, Fraction(1), 35), (900, 1, 64)],
)
def test_groups_are_as_many_as_the_noise_allows(mean_degree, epsilon, groups):
    """d̄·ε₂ / 2√2, within 2 and 64."""
    noisy = np.full((10, 2), mean_degree // 2)
    noisy[0, 0] += 10 * (mean_degree % 2)
    assert LDPGen()._groups(noisy, Fraction(epsilon)) == groups


# ---- what is drawn ----


def measurement(noisy: np.ndarray, labels: np.ndarray) -> LDPGenMeasurement:
    roster = Roster.range(labels.size)
    return LDPGenMeasurement(roster, noisy.shape[1], labels.astype(np.int32), noisy, seed=1)


def test_averaging_keeps_what_groups_say_of_each_other():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 90)
    noisy = rng.integers(-10, 14, (90, 3))
    estimate = LDPGen().update(None, measurement(noisy, labels))
    degrees = estimate.mean_degrees[estimate.labels, estimate.clusters]
    for group in range(3):
        clamped = np.maximum(noisy[labels == group], 0)
        assert degrees[labels == group].sum(axis=0) == pytest.approx(clamped.sum(axis=0))
    assert np.unique(degrees, axis=0).shape[0] <= 9  # one vector for each group and cluster
    consistent = LDPGen(consistent=True).update(None, measurement(noisy, labels))
    degrees = consistent.mean_degrees[consistent.labels, consistent.clusters]
    assert degrees.sum() == pytest.approx(noisy.sum())


def estimate(groups: int, nodes: int, seed: int) -> LDPGenState:
    rng = np.random.default_rng(seed)
    return LDPGenState(
        Roster.range(nodes),
        rng.integers(0, groups, nodes).astype(np.int32),
        rng.integers(0, groups, nodes).astype(np.int32),
        rng.integers(0, 4, (groups, groups, groups)).astype(float),
    )


def chances_by_definition(state: LDPGenState) -> np.ndarray:
    """p = M_ab · s_x^b / T_ab · s_y^a / T_ba for every pair, written out."""
    labels, nodes = state.labels, state.labels.size
    s = state.mean_degrees[labels, state.clusters]
    groups = s.shape[1]
    totals = np.array([s[labels == a].sum(axis=0) for a in range(groups)])
    chances = np.zeros((nodes, nodes))
    for x, y in combinations(range(nodes), 2):
        a, b = labels[x], labels[y]
        if totals[a, b] > 0 and totals[b, a] > 0:
            edges = (totals[a, b] + totals[b, a]) / 2
            chances[x, y] = edges * s[x, b] / totals[a, b] * s[y, a] / totals[b, a]
    return chances


@given(st.integers(2, 6), st.integers(0, 12), st.integers(0, 99))
def test_blocks_list_every_pair_of_groups_once_with_the_chance_of_the_definition(k, nodes, seed):
    state = estimate(k, nodes, seed)
    chances = np.zeros((nodes, nodes))
    listed = set()
    for part in _blocks(state):
        for a, b, rate in zip(part.heads, part.tails, part.rates, strict=True):
            assert (a, b) not in listed
            listed.add((a, b))
            for x, y in combinations(range(nodes), 2):
                if {(state.labels[x], state.labels[y])} & {(a, b), (b, a)}:
                    chances[x, y] += rate * part.weights[x] * part.weights[y]
    assert chances == pytest.approx(chances_by_definition(state))


def test_graphs_are_drawn_with_these_chances():
    state = estimate(3, 10, 5)
    chances = np.minimum(chances_by_definition(state), 1)
    rng, rounds = np.random.default_rng(6), 2000
    counts = np.zeros((10, 10))
    for _ in range(rounds):
        graph = LDPGen().synthesise(state, None, rng, ENGINE)
        counts[graph.u, graph.v] += 1
    certain = (chances == 0) | (chances == 1)
    assert (counts[certain] == rounds * chances[certain]).all()
    p = chances[~certain]
    score = (counts[~certain] - rounds * p) / np.sqrt(rounds * p * (1 - p))
    assert stats.kstest(score, "norm").pvalue > 1e-3


def test_clamping_makes_too_many_edges_and_consistency_does_not():
    """The surplus of a graph without edges: n·k₁/2 entries with the mean positive noise each."""
    nodes = 2000
    snapshot = Snapshot(Roster.range(nodes), [], [])
    edges = {}
    for consistent in (False, True):
        with Publisher(
            LDPGen(consistent=consistent), WEventPrivacy("2", window=1), seed=3
        ) as publisher:
            edges[consistent] = publisher.publish(snapshot).graph.edge_count
    q = np.exp(-0.5)  # half of ε over a sensitivity of 2
    assert edges[False] == pytest.approx(nodes * 2 / 2 * q / (1 - q * q), rel=0.08)
    assert edges[True] < 0.1 * edges[False]


@pytest.mark.parametrize(
    "wrong", [{"first_groups": 0}, {"most_groups": 1}, {"first_groups": True}, {"most_groups": 2.5}]
)
def test_wrong_parameters_are_refused_before_any_data(wrong):
    with pytest.raises(InvalidArgument):
        LDPGen(**wrong)


def test_facts_of_the_paper(real_data):
    """A surplus of edges that shrinks with epsilon, and degrees far off because of it."""
    snapshots = as733(real_data)
    assert surplus(LDPGen(), snapshots, epsilon="0.5") > 5
    assert 1.5 < surplus(LDPGen(), snapshots, epsilon="4") < 4
    assert mean_fidelity(LDPGen(), snapshots, epsilon="0.5").degree_divergence > 5
    # With noise made consistent instead of clamped the surplus is gone.
    assert surplus(LDPGen(consistent=True), snapshots, epsilon="4") < 1.2
