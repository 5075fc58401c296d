from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.engines import counting
from psgraph.graph.kind import Edges
from psgraph.methods.plus.triangles import (
    count_triangles,
    largest_common_neighbours,
    second_largest_degree,
    wedge_count,
)

from .graphs import complete, graph, pairs_of, random_graph, star

CASES = [
    pytest.param(random_graph(60, 150, seed=1, tail=0.7), 60, id="heavy tail"),
    pytest.param(random_graph(40, 500, seed=2), 40, id="dense"),
    pytest.param(complete(9), 9, id="complete"),
    pytest.param(star(20), 20, id="star"),
    pytest.param(graph([]), 5, id="empty"),
]


def as_networkx(edges: Edges, nodes: int) -> nx.Graph:
    built = nx.empty_graph(nodes)
    built.add_edges_from(pairs_of(edges))
    return built


def all_common_neighbours(edges: Edges, nodes: int) -> int:
    """The maximum over all pairs, one by one."""
    sets = [set(ends) for _, ends in sorted(as_networkx(edges, nodes).adjacency())]
    return max((len(one & other) for one, other in combinations(sets, 2)), default=0)


@pytest.mark.parametrize(("edges", "nodes"), CASES)
def test_triangles_and_transitivity_agree_with_networkx(edges: Edges, nodes: int) -> None:
    reference = as_networkx(edges, nodes)
    assert count_triangles(edges, nodes) == sum(nx.triangles(reference).values()) // 3
    closed = 3 * count_triangles(edges, nodes) / max(wedge_count(edges, nodes), 1)
    assert closed == pytest.approx(nx.transitivity(reference))


@pytest.mark.parametrize(("edges", "nodes"), CASES)
def test_threads_find_the_same_triangles(
    edges: Edges, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = count_triangles(edges, nodes)
    monkeypatch.setattr(counting, "_LARGE", 0)
    monkeypatch.setattr(counting, "thread_count", lambda: 3)
    assert count_triangles(edges, nodes) == alone


@pytest.mark.parametrize(("edges", "nodes"), CASES)
def test_wedges_are_paths_of_length_two(edges: Edges, nodes: int) -> None:
    reference = as_networkx(edges, nodes)
    assert wedge_count(edges, nodes) == sum(d * (d - 1) // 2 for _, d in reference.degree())


@pytest.mark.parametrize(("edges", "nodes"), CASES)
def test_the_second_largest_degree_bounds_common_neighbours(edges: Edges, nodes: int) -> None:
    degrees = sorted((d for _, d in as_networkx(edges, nodes).degree()), reverse=True)
    assert second_largest_degree(edges, nodes) == degrees[1]
    assert largest_common_neighbours(edges, nodes) <= degrees[1]


@given(st.integers(2, 40), st.integers(0, 200), st.integers(0, 10**6), st.floats(0, 1.2))
@settings(max_examples=200, deadline=None)
def test_the_pruned_search_finds_the_largest_number_of_common_neighbours(
    nodes: int, edge_count: int, seed: int, tail: float
) -> None:
    edges = random_graph(nodes, edge_count, seed=seed, tail=tail)
    assert largest_common_neighbours(edges, nodes) == all_common_neighbours(edges, nodes)


@given(st.integers(2, 15), st.integers(0, 40), st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_one_edge_moves_common_neighbours_and_the_second_largest_degree_by_at_most_one(
    nodes: int, edge_count: int, seed: int
) -> None:
    edges = random_graph(nodes, edge_count, seed=seed, tail=0.5)
    x, y = np.random.default_rng(seed).choice(nodes, size=2, replace=False)
    neighbour = graph(list(pairs_of(edges) ^ {(int(min(x, y)), int(max(x, y)))}))
    for query in (largest_common_neighbours, second_largest_degree):
        assert abs(query(edges, nodes) - query(neighbour, nodes)) <= 1
    change = abs(count_triangles(edges, nodes) - count_triangles(neighbour, nodes))
    assert change <= largest_common_neighbours(edges, nodes)


@pytest.mark.parametrize("nodes", [0, 1])
def test_a_graph_without_a_pair_has_nothing_to_count(nodes: int) -> None:
    for query in (count_triangles, wedge_count, largest_common_neighbours, second_largest_degree):
        assert query(graph([]), nodes) == 0
