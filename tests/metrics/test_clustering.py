"""Triangles and clustering coefficients against networkx."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings

from psgraph.graph import Roster, SyntheticGraph
from psgraph.metrics import Clustering, clustering_coefficients, triangles

from .graphs import as_networkx, from_networkx, pairs, random_graph


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_agrees_with_networkx(pair):
    graph, other = pair[1], as_networkx(pair[1])
    assert triangles(graph).tolist() == list(nx.triangles(other).values())
    coefficients = clustering_coefficients(graph)
    assert coefficients.transitivity == pytest.approx(nx.transitivity(other))
    expected = nx.average_clustering(other) if len(other) else 0.0
    assert coefficients.average == pytest.approx(expected)


def test_agrees_with_networkx_on_a_graph_with_hubs():
    graph = random_graph(2000, 9000, seed=4)
    assert triangles(graph).tolist() == list(nx.triangles(as_networkx(graph)).values())


def test_complete_graph_and_graph_without_triangles():
    assert clustering_coefficients(from_networkx(nx.complete_graph(30))) == Clustering(1.0, 1.0)
    tree = from_networkx(nx.balanced_tree(3, 4))
    assert clustering_coefficients(tree) == Clustering(0.0, 0.0)


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_too_small_for_a_path_of_two(nodes):
    graph = SyntheticGraph(Roster.range(nodes), [0] * (nodes // 2), [1] * (nodes // 2))
    assert clustering_coefficients(graph) == Clustering(0.0, 0.0)
