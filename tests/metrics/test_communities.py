"""Modularity and the agreement of partitions against networkx, igraph and the formula."""

from __future__ import annotations

from collections import Counter
from math import isnan, log

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics import (
    Pair,
    adjusted_rand_index,
    find_communities,
    modularity,
    mutual_information,
)
from psgraph.metrics.communities import COMMUNITIES

from .graphs import as_networkx, from_networkx, pairs

LABELS = st.integers(1, 40).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(-2, 5), min_size=size, max_size=size)] * 2)
)


def by_the_formula(first: list[int], second: list[int]) -> float:
    size = len(first)
    one, other, joint = (
        {label: count / size for label, count in Counter(labels).items()}
        for labels in (first, second, list(zip(first, second, strict=True)))
    )
    information = sum(share * log(share / (one[a] * other[b])) for (a, b), share in joint.items())
    entropy = sum(-share * log(share) for shares in (one, other) for share in shares.values())
    return 2 * information / entropy if entropy else 1.0


@given(pairs(), st.data())
@settings(max_examples=200, deadline=None)
def test_modularity_of_given_labels_agrees_with_networkx(pair, data):
    graph, nodes = pair[1], len(pair[1].roster)
    labels = data.draw(st.lists(st.integers(-1, 4), min_size=nodes, max_size=nodes))
    sets = [{node for node in range(nodes) if labels[node] == label} for label in set(labels)]
    expected = nx.community.modularity(as_networkx(graph), sets) if graph.u.size else 0.0
    assert modularity(graph, labels) == pytest.approx(expected, abs=1e-12)


@given(LABELS)
@settings(max_examples=300, deadline=None)
def test_mutual_information_agrees_with_the_formula_and_igraph(labels):
    found = mutual_information(*labels)
    assert found == pytest.approx(by_the_formula(*labels), abs=1e-12)
    assert found == pytest.approx(mutual_information(*reversed(labels)), abs=1e-12)
    assert 0 <= found <= 1
    plain = [np.unique(side, return_inverse=True)[1].tolist() for side in labels]
    assert found == pytest.approx(igraph.compare_communities(*plain, method="nmi"), abs=1e-12)


@given(LABELS)
@settings(max_examples=300, deadline=None)
def test_the_adjusted_rand_index_agrees_with_igraph(labels):
    found = adjusted_rand_index(*labels)
    assert found == adjusted_rand_index(*reversed(labels))
    plain = [np.unique(side, return_inverse=True)[1].tolist() for side in labels]
    if len(plain[0]) > 1:  # igraph has no value for one node
        expected = igraph.compare_communities(*plain, method="adjusted_rand")
        assert found == pytest.approx(1.0 if isnan(expected) else expected, abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Pairs put together: 2 and 2 of 6, none of them by both.
        ([0, 0, 1, 1], [0, 1, 0, 1], (0 - 2 * 2 / 6) / (2 - 2 * 2 / 6)),
        # 4 and 6 of 15, 3 of them by both.
        ([0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 1, 2], (3 - 4 * 6 / 15) / (5 - 4 * 6 / 15)),
        # All nodes apart: no pair to agree on.
        ([0, 0, 1, 1], [0, 1, 2, 3], 0.0),
        ([0, 0, 0, 0], [0, 0, 1, 1], 0.0),
        ([0, 1, 2], [2, 1, 0], 1.0),
        ([0, 0, 0], [1, 1, 1], 1.0),
    ],
)
def test_the_adjusted_rand_index_by_hand(first, second, expected):
    assert adjusted_rand_index(first, second) == pytest.approx(expected, abs=1e-15)


def test_shuffled_labels_have_an_adjusted_rand_index_of_zero_on_average():
    rng = np.random.default_rng(3)
    labels = np.arange(60) // 10
    found = [adjusted_rand_index(labels, rng.permutation(labels)) for _ in range(400)]
    assert abs(np.mean(found)) < 4 * np.std(found) / 20


@given(LABELS)
@settings(max_examples=100, deadline=None)
def test_other_names_for_the_same_labels_agree_perfectly(labels):
    renamed = [f"community {7 - label}" for label in labels[0]]
    assert mutual_information(labels[0], renamed) == 1.0
    assert adjusted_rand_index(labels[0], renamed) == 1.0


def test_no_nodes_agree():
    assert mutual_information([], []) == adjusted_rand_index([], []) == 1.0


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_nodes_without_an_edge_are_communities_of_their_own(pair):
    graph, found = pair[1], find_communities(pair[1])
    assert found.shape == (len(graph.roster),)
    sizes = np.bincount(found)
    assert (sizes > 0).all()
    alone = np.setdiff1d(np.arange(found.size), np.append(graph.u, graph.v))
    assert (sizes[found[alone]] == 1).all()


def test_finds_planted_communities_as_well_as_networkx():
    planted = nx.planted_partition_graph(6, 40, 0.3, 0.01, seed=5)
    graph = from_networkx(planted)
    found = find_communities(graph)
    assert mutual_information(found, np.arange(240) // 40) > 0.95
    reference = nx.community.modularity(planted, nx.community.louvain_communities(planted, seed=1))
    assert modularity(graph, found) == pytest.approx(reference, abs=0.02)
    assert find_communities(graph).tolist() == found.tolist()


def errors(original, synthetic):
    return COMMUNITIES.compute(Pair.of(original, synthetic))


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_a_copy_is_perfect_and_every_pair_has_a_value(pair):
    original = pair[0]
    copy = SyntheticGraph(original.roster, original.u, original.v)
    assert errors(original, copy) == {
        "modularity_error": 0.0,
        "community_modularity_error": 0.0,
        "community_agreement": 1.0,
        "adjusted_rand_index": 1.0,
    }
    found = errors(*pair)
    assert found["modularity_error"] >= 0
    assert found["community_modularity_error"] >= 0
    assert 0 <= found["community_agreement"] <= 1
    assert -1 <= found["adjusted_rand_index"] <= 1


def planted(communities: int, size: int) -> Snapshot:
    graph = from_networkx(nx.planted_partition_graph(communities, size, 0.5, 0.0, seed=2))
    return Snapshot(graph.roster, graph.u, graph.v)


def test_the_same_communities_elsewhere_agree_on_modularity_only():
    original = planted(4, 30)
    shuffled = np.random.default_rng(1).permutation(120)
    moved = SyntheticGraph(Roster.range(120), shuffled[original.u], shuffled[original.v])
    found = errors(original, moved)
    assert found["modularity_error"] < 1e-12
    assert found["community_modularity_error"] > 0.9
    assert found["community_agreement"] < 0.2
    assert abs(found["adjusted_rand_index"]) < 0.1


def test_isolated_nodes_score_high_mutual_information_and_no_rand_index():
    original = planted(20, 6)
    empty = SyntheticGraph(original.roster, [], [])
    found = errors(original, empty)
    assert found["community_agreement"] > 0.7
    assert found["adjusted_rand_index"] == 0.0
    assert found["community_modularity_error"] == 1.0


def test_the_modularity_of_the_original_communities_by_hand():
    # Two pairs, Q = 1/2; the release keeps one edge and joins the pairs by another.
    original = Snapshot(Roster.range(4), [0, 2], [1, 3])
    release = SyntheticGraph(original.roster, [0, 1], [1, 2])
    # m = 2, one edge inside, degree sums 3 and 1: Q̂ = 1/2 − (3/4)² − (1/4)² = −1/8.
    assert errors(original, release)["community_modularity_error"] == (0.5 + 0.125) / 0.5


def test_nodes_without_an_edge_in_the_original_do_not_count_in_the_rand_index():
    roster = Roster.range(9)
    original = Snapshot(roster, [0, 1, 0, 3, 4, 3], [1, 2, 2, 4, 5, 5])
    # The same two triangles, and a third among the nodes that had no edge.
    release = SyntheticGraph(roster, [0, 1, 0, 3, 4, 3, 6, 7, 6], [1, 2, 2, 4, 5, 5, 7, 8, 8])
    found = errors(original, release)
    assert found["adjusted_rand_index"] == 1.0
    assert found["community_agreement"] < 1.0
