"""Modularity and mutual information against networkx, igraph and the formula."""

from __future__ import annotations

from collections import Counter
from math import log

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics import find_communities, modularity, mutual_information
from psgraph.metrics.communities import community_errors

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
@settings(max_examples=100, deadline=None)
def test_other_names_for_the_same_labels_agree_perfectly(labels):
    renamed = [f"community {7 - label}" for label in labels[0]]
    assert mutual_information(labels[0], renamed) == 1.0


def test_no_nodes_agree():
    assert mutual_information([], []) == 1.0


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


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_a_copy_is_perfect_and_every_pair_has_a_value(pair):
    original = pair[0]
    copy = SyntheticGraph(original.roster, original.u, original.v)
    assert community_errors(original, copy) == {"modularity_error": 0.0, "community_agreement": 1.0}
    found = community_errors(*pair)
    assert found["modularity_error"] >= 0
    assert 0 <= found["community_agreement"] <= 1


def test_the_same_communities_elsewhere_agree_on_modularity_only():
    planted = from_networkx(nx.planted_partition_graph(4, 30, 0.5, 0.0, seed=2))
    original = Snapshot(planted.roster, planted.u, planted.v)
    shuffled = np.random.default_rng(1).permutation(120)
    moved = SyntheticGraph(Roster.range(120), shuffled[planted.u], shuffled[planted.v])
    found = community_errors(original, moved)
    assert found["modularity_error"] < 1e-12
    assert found["community_agreement"] < 0.2
