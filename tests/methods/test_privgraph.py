from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psgraph.engines.sampling import PairCounts, sample
from psgraph.engines.threads import LocalEngine
from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.methods.ldpgen import LDPGen
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.privgraph import PrivGraph, PrivGraphState, _rounded
from psgraph.methods.steps.consistency import norm_sub, norm_sub_within
from psgraph.methods.tmf import TmF
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.publisher import Publisher
from tests.methods.real import as733, mean_fidelity

ENGINE = LocalEngine()


def budget(epsilon: str = "1", seed: int = 0) -> Budget:
    return Budget(Fraction(epsilon), Sampler(RandomSource.seeded(seed)))


def asking(snapshot: Snapshot, money: Budget) -> PrivateSnapshot:
    return PrivateSnapshot(snapshot, money, ENGINE)


def labels_of(*labels: int) -> np.ndarray:
    return np.array(labels, dtype=np.int32)


# ---- distinct pairs between blocks ----


@given(st.data())
def test_pairs_are_distinct_and_between_their_blocks(data):
    labels = np.array(
        data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=30)), dtype=np.int32
    )
    sizes = np.bincount(labels, minlength=5)
    blocks = [pair for pair in combinations(range(5), 2) if data.draw(st.booleans())]
    counts = [data.draw(st.integers(0, int(sizes[a] * sizes[b]))) for a, b in blocks]
    heads, tails = (np.array(blocks, dtype=np.int32).reshape(-1, 2)).T
    model = PairCounts(labels, heads, tails, np.array(counts, dtype=np.int64))
    edges = sample(ENGINE, model, seed=data.draw(st.integers(0, 99))).whole()
    assert (edges.u < edges.v).all()
    assert len(set(zip(edges.u.tolist(), edges.v.tolist(), strict=True))) == sum(counts)
    ends = np.sort(np.stack([labels[edges.u], labels[edges.v]]), axis=0).T
    for (a, b), count in zip(blocks, counts, strict=True):
        assert (ends == [a, b]).all(axis=1).sum() == count


def test_every_set_of_pairs_is_equally_likely():
    labels = labels_of(0, 1, 0, 1, 1)
    model = PairCounts(labels, labels[:1], labels[1:2], np.array([2]))
    seen: dict[tuple, int] = {}
    for seed in range(4000):
        edges = sample(ENGINE, model, seed=seed).whole()
        kept = tuple(zip(edges.u.tolist(), edges.v.tolist(), strict=True))
        seen[kept] = seen.get(kept, 0) + 1
    assert len(seen) == 15  # 6 pairs, two of them
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


@given(st.lists(st.tuples(st.integers(-30, 30), st.integers(0, 5)), max_size=40))
def test_consistency_within_communities_is_consistency_of_each(rows):
    noisy = np.array([row[0] for row in rows], dtype=np.int64)
    labels = np.array([row[1] for row in rows], dtype=np.int32)
    found = norm_sub_within(noisy, labels)
    for label in set(labels.tolist()):
        assert found[labels == label] == pytest.approx(norm_sub(noisy[labels == label]))


@given(st.floats(0, 1e6), st.integers(0, 99))
def test_rounding_at_random_stays_within_one(value, seed):
    (rounded,) = _rounded(np.array([value]), np.random.default_rng(seed))
    assert abs(rounded - value) < 1
    assert value != int(value) or rounded == value


# ---- what is measured ----


def test_a_third_for_each_part():
    used = budget("0.3")
    snapshot = Snapshot(Roster.range(60), range(59), range(1, 60))
    PrivGraph().measure(asking(snapshot, used), None)
    assert [(c.label, c.epsilon, c.sensitivity, c.part) for c in used.trace] == [
        ("super-graph edges", Fraction(1, 10), 1, ""),
        ("community choice", Fraction(1, 10), 1, ""),
        ("inner degrees", Fraction(1, 10), 2, "inside communities"),
        ("community edges", Fraction(1, 10), 1, "between communities"),
    ]
    assert used.remaining == 0


def test_a_graph_without_edges_takes_the_path_of_any_other():
    """The published code returns single nodes here, which gives the empty graph away."""
    method, roster = PrivGraph(), Roster.range(120)
    empty, one_edge = Snapshot(roster, [], []), Snapshot(roster, [5], [9])
    sizes = [
        [
            int(method.measure(asking(snapshot, budget("0.2", seed)), None).labels.max()) + 1
            for seed in range(40)
        ]
        for snapshot in (empty, one_edge)
    ]
    assert stats.ks_2samp(*sizes).pvalue > 0.5
    assert max(sizes[0]) < 120


def test_noise_has_the_scale_that_is_charged():
    method = PrivGraph(supernode_size=200)
    snapshot = Snapshot(Roster.range(2000), [], [])
    noisy = method.measure(asking(snapshot, budget("0.6")), None).noisy_inner_degrees
    q = np.exp(-0.1)  # ε/3 over a sensitivity of 2
    assert noisy.var() == pytest.approx(2 * q / (1 - q) ** 2, rel=0.15)


# ---- what is drawn ----


def state(labels: np.ndarray, degrees, pairs, edges) -> PrivGraphState:
    heads, tails = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return PrivGraphState(
        Roster.range(labels.size), labels, np.array(degrees, float), (heads, tails), np.array(edges)
    )


def test_edges_between_communities_end_in_these_two():
    labels = labels_of(*[0] * 10, *[1] * 10, *[2] * 10)
    drawn = PrivGraph().synthesise(
        state(labels, np.zeros(30), [(0, 1)], [40.0]), None, np.random.default_rng(1), ENGINE
    )
    assert drawn.edge_count == 40
    assert set(labels[drawn.u].tolist()) == {0}
    assert set(labels[drawn.v].tolist()) == {1}


def test_degrees_and_counts_come_out_on_average():
    labels = labels_of(*[0] * 8, *[1] * 8)
    wanted = np.array([4, 3, 2, 2, 1, 1, 1, 0, 3, 3, 3, 2, 2, 1, 0, 0], float)
    estimate = state(labels, wanted, [(0, 1)], [2.5])
    rng, rounds = np.random.default_rng(3), 1500
    degrees, between = np.zeros(16), 0
    for _ in range(rounds):
        graph = PrivGraph().synthesise(estimate, None, rng, ENGINE)
        inside = labels[graph.u] == labels[graph.v]
        between += np.count_nonzero(~inside)
        degrees += np.bincount(graph.u[inside], minlength=16)
        degrees += np.bincount(graph.v[inside], minlength=16)
    assert between / rounds == pytest.approx(2.5, abs=0.1)
    # d_x · (Σd − d_x) / Σd: nobody is joined to itself.
    totals = np.bincount(labels, weights=wanted)[labels]
    assert degrees / rounds == pytest.approx(wanted * (totals - wanted) / totals, abs=0.12)


@given(st.integers(0, 2**32), st.integers(0, 40), st.sampled_from(["0.01", "1", "30"]))
def test_estimates_stay_within_what_communities_allow(seed, nodes, epsilon):
    method = PrivGraph(supernode_size=5)
    snapshot = Snapshot(Roster.range(nodes), range(nodes - 1), range(1, nodes))
    estimate = method.update(None, method.measure(asking(snapshot, budget(epsilon, seed)), None))
    sizes = np.bincount(estimate.labels, minlength=estimate.communities)
    assert (estimate.inner_degrees >= 0).all()
    assert (estimate.inner_degrees <= np.maximum(sizes[estimate.labels] - 1, 0)).all()
    a, b = estimate.community_pairs
    assert (estimate.community_edges <= sizes[a] * sizes[b]).all()
    assert (estimate.community_edges > 0).all()
    assert (a < b).all()


def test_much_epsilon_keeps_planted_communities():
    rng = np.random.default_rng(4)
    truth = np.arange(200) // 50
    pairs = np.array(list(combinations(range(200), 2)))
    chance = np.where(truth[pairs[:, 0]] == truth[pairs[:, 1]], 0.4, 0.004)
    edges = pairs[rng.random(len(pairs)) < chance]
    snapshot = Snapshot(Roster.range(200), edges[:, 0], edges[:, 1])
    # One node a super-node: Louvain then sees the graph itself, with next to no noise.
    with Publisher(
        PrivGraph(supernode_size=1), WEventPrivacy("300", window=1), seed=2
    ) as publisher:
        graph = publisher.publish(snapshot).graph
    inside = truth[graph.u] == truth[graph.v]
    assert graph.edge_count == pytest.approx(len(edges), rel=0.1)
    assert inside.mean() > 0.9


@pytest.mark.parametrize("wrong", [{"supernode_size": 0}, {"choice_constant": "loose"}])
def test_wrong_parameters_are_refused_before_any_data(wrong):
    with pytest.raises(InvalidArgument):
        PrivGraph(**wrong)


def test_facts_of_the_paper(real_data):
    """A low divergence of degrees, and the weakest assortativity of all."""
    snapshots = as733(real_data)
    for epsilon in ("0.5", "4"):
        found = mean_fidelity(PrivGraph(), snapshots, epsilon=epsilon)
        for other in (TmF(), LDPGen()):
            compared = mean_fidelity(other, snapshots, epsilon=epsilon)
            assert found.degree_divergence < compared.degree_divergence
            assert found.assortativity_error > compared.assortativity_error
    assert found.density_error < 0.1
