"""Eigenvector centrality against dense linear algebra and networkx; the overlap of the top 1 %."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from psgraph.graph import Roster, SyntheticGraph
from psgraph.metrics import eigenvector_centrality, eigenvector_overlap, most_central

from .graphs import as_networkx, from_networkx, pairs, random_graph


def dense_centrality(graph: SyntheticGraph) -> np.ndarray:
    """The uniform vector projected on the eigenspace of the largest eigenvalue."""
    n = len(graph.roster)
    matrix = np.zeros((n, n))
    matrix[graph.u, graph.v] = matrix[graph.v, graph.u] = 1
    values, vectors = np.linalg.eigh(matrix)
    space = vectors[:, values > values[-1] - 1e-9]
    projection = space @ (space.T @ np.ones(n))
    return projection / np.linalg.norm(projection)


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_agrees_with_dense_linear_algebra(pair):
    graph = pair[1]
    assume(len(graph.roster) > 0)
    np.testing.assert_allclose(
        eigenvector_centrality(graph), dense_centrality(graph), rtol=0, atol=1e-7
    )


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_agrees_with_networkx(pair):
    graph = pair[1]
    assume(len(graph.roster) > 0)
    try:
        expected = nx.eigenvector_centrality(as_networkx(graph), max_iter=20_000, tol=1e-11)
    except nx.PowerIterationFailedConvergence:
        assume(False)
    np.testing.assert_allclose(
        eigenvector_centrality(graph), list(expected.values()), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(300),
        nx.cycle_graph(301),
        nx.complete_bipartite_graph(20, 31),
        nx.disjoint_union_all([nx.complete_graph(6)] * 40),
        nx.disjoint_union(nx.star_graph(50), nx.barabasi_albert_graph(400, 3, seed=1)),
        nx.connected_caveman_graph(12, 9),
        nx.random_regular_graph(4, 200, seed=2),
        nx.hypercube_graph(7),
    ],
    ids=lambda graph: f"{graph.number_of_nodes()}-{graph.number_of_edges()}",
)
def test_hard_spectra(graph):
    graph = from_networkx(nx.convert_node_labels_to_integers(graph))
    np.testing.assert_allclose(
        eigenvector_centrality(graph), dense_centrality(graph), rtol=0, atol=1e-6
    )


def test_restarts_are_reached_and_converge():
    # A long path has eigenvalues so close that a basis of 16 vectors is not enough.
    graph = from_networkx(nx.path_graph(500))
    positions = np.arange(1, 501)
    expected = np.sin(np.pi * positions / 501)
    expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(eigenvector_centrality(graph), expected, rtol=0, atol=1e-5)


def test_large_graph_satisfies_the_eigenvalue_equation():
    graph = random_graph(5000, 20_000, seed=3)
    x = eigenvector_centrality(graph)
    image = np.bincount(graph.u, x[graph.v], 5000) + np.bincount(graph.v, x[graph.u], 5000)
    eigenvalue = float(x @ image)
    assert np.linalg.norm(image - eigenvalue * x) < 1e-8 * eigenvalue
    assert np.array_equal(x, eigenvector_centrality(graph))


@pytest.mark.parametrize(("nodes", "wanted"), [(1, 1), (99, 1), (199, 1), (200, 2), (2900, 29)])
def test_one_percent_is_rounded_as_in_privgraph(nodes, wanted):
    assert most_central(random_graph(nodes, 3 * nodes, seed=nodes)).size == wanted
    assert wanted == max(1, int(np.int64(0.01 * nodes)))


def test_ties_go_to_the_first_in_the_roster():
    ring = from_networkx(nx.cycle_graph(500))
    assert most_central(ring).tolist() == [0, 1, 2, 3, 4]
    twins = from_networkx(nx.disjoint_union(nx.star_graph(99), nx.star_graph(99)))
    assert most_central(twins).tolist() == [0, 100]
    edgeless = SyntheticGraph(Roster.range(300), [], [])
    assert most_central(edgeless).tolist() == [0, 1, 2]


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_ranking_follows_a_renaming_of_the_nodes(seed):
    graph = random_graph(400, 1500, seed=seed)
    permutation = np.random.default_rng(seed).permutation(400)
    renamed = SyntheticGraph(graph.roster, permutation[graph.u], permutation[graph.v])
    np.testing.assert_allclose(
        eigenvector_centrality(renamed)[permutation], eigenvector_centrality(graph), atol=1e-8
    )


def test_overlap_counts_the_common_share():
    roster = Roster.range(400)
    hubs = [[0, 1, 2, 3], [2, 3, 4, 5]]
    graphs = [
        SyntheticGraph(roster, np.repeat(four, 90), np.tile(np.arange(10, 100), 4)) for four in hubs
    ]
    assert eigenvector_overlap(graphs[0], graphs[1]) == 0.5
    assert eigenvector_overlap(graphs[0], graphs[0]) == 1.0


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_overlap_is_a_share_and_full_with_itself(pair):
    original, synthetic = pair
    assert 0 <= eigenvector_overlap(original, synthetic) <= 1
    assert eigenvector_overlap(original, original) == 1
