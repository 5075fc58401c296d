"""Weights: their distribution, their total, and which edges keep theirs."""

from __future__ import annotations

import numpy as np
import pytest

from psgraph.graph import Roster, Snapshot, TwoSidedRoster
from psgraph.graph.kind import DIRECTED, TWO_SIDED, UNDIRECTED
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.plus.state import WeightedState
from psgraph.methods.plus.weights import Weights, class_bounds, drawn_weights, next_weights
from psgraph.publication.records import decode, encode

from .snapshots import publish, released

LARGEST = 40


def weighted(kind, *, seed: int = 0, weight_seed: int = 0, edges: int = 1200) -> Snapshot:
    """A graph whose weights fall like a power law."""
    rng, other = np.random.default_rng(seed), np.random.default_rng(weight_seed)
    roster = TwoSidedRoster(range(150), range(100)) if kind.two_sided else Roster.range(200)
    u, v = rng.integers(0, 100, edges), roster.offset + rng.integers(0, 100, edges)
    plain = Snapshot(roster, u, v, kind=kind)
    weight = np.minimum(other.zipf(2.0, plain.u.size), LARGEST)
    return Snapshot(roster, plain.u, plain.v, kind=kind.with_weights(LARGEST), weight=weight)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    points = np.arange(LARGEST + 1)
    shares = [np.searchsorted(np.sort(each), points, "right") / each.size for each in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def graphs_of(stream, *, epsilon="30"):
    rows = publish(PSGraphPlus(), stream, epsilon=epsilon, window=3)
    return list(released(row[3] for row in rows))


@pytest.mark.parametrize("kind", [UNDIRECTED, DIRECTED, TWO_SIDED], ids=str)
def test_weights_have_the_distribution_and_the_total_of_the_truth(kind):
    true = weighted(kind)
    *_, graph = graphs_of([true] * 4)
    assert graph.kind == kind.with_weights(LARGEST)
    assert graph.weight.min() >= 1
    assert graph.weight.max() <= LARGEST
    assert distance(true.weight, graph.weight) < 0.05
    assert graph.weight.sum() == pytest.approx(true.weight.sum(), rel=0.1)


def test_edges_keep_their_weights_as_often_as_in_truth():
    def kept(stream) -> float:
        before, after = graphs_of(stream)[-2:]
        keys, old = (DIRECTED.keys(each.u, each.v) for each in (after, before))
        common, here, there = np.intersect1d(keys, old, return_indices=True)
        assert common.size > 500
        return float((after.weight[here] == before.weight[there]).mean())

    same = weighted(DIRECTED)
    changing = [weighted(DIRECTED, weight_seed=seed) for seed in range(7)]
    assert kept([same] * 7) > 0.9
    assert kept(changing) < 0.6


def test_few_weights_have_a_class_each_and_many_double():
    assert class_bounds(5).tolist() == [1, 2, 3, 4, 5]
    assert class_bounds(40).tolist() == [1, 2, 4, 8, 16, 32, 40]


def test_noise_in_empty_classes_of_large_weights_adds_little_to_the_total():
    rng = np.random.default_rng(2)
    edges, true = 300, np.array([180, 80, 30, 10, 0, 0, 0, 0])
    totals = []
    for _ in range(40):
        noisy = true + np.rint(rng.laplace(0, 5, true.size)).astype(np.int64)
        known = next_weights(
            Weights.start(128),
            noisy_classes=noisy,
            noisy_same=None,
            edges=edges,
            edges_before=0,
            epsilon=0.2,
            epsilon_same=1.0,
        )
        ends = np.arange(edges, dtype=np.int32)
        totals.append(drawn_weights(known, ends, ends + 1, None, 0.0, rng).sum())
    expected = (true * np.array([1, 2, 3.4, 6.2, 12, 23, 46, 92])).sum()
    positive = (np.maximum(noisy, 0) * np.array([1, 2, 3.4, 6.2, 12, 23, 46, 92])).sum()
    assert np.mean(totals) == pytest.approx(expected, rel=0.35)
    assert positive > 1.3 * expected  # what the noisy classes alone would give


def test_states_with_weights_survive_storage():
    method = PSGraphPlus()
    stream = [weighted(UNDIRECTED), weighted(UNDIRECTED, seed=1)]
    for _, _, measurement, state in publish(method, stream, epsilon="4", window=2):
        assert isinstance(state, WeightedState)
        for record in (measurement, state):
            data, rosters = encode(record)
            again = decode(data, classes=method.records, rosters=rosters.get)
            assert encode(again)[0] == data


def test_a_roster_that_changes_keeps_the_weights_of_its_edges():
    small, large = (Roster.range(nodes) for nodes in (100, 150))
    first = weighted(DIRECTED, edges=2500)
    kind = first.kind
    stream = [Snapshot(small, first.u, first.v, kind=kind, weight=first.weight)] * 6
    stream += [Snapshot(large, first.u, first.v, kind=kind, weight=first.weight)]
    before, after = graphs_of(stream)[-2:]
    keys, old = (DIRECTED.keys(each.u, each.v) for each in (after, before))
    _, here, there = np.intersect1d(keys, old, return_indices=True)
    assert (after.weight[here] == before.weight[there]).mean() > 0.8
