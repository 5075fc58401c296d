"""Components against networkx; outbreaks against an epidemic simulated node by node."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from psgraph.graph import Graph, Roster, SyntheticGraph
from psgraph.metrics import METRICS, component_sizes, largest_component, outbreak_size
from psgraph.metrics.spreading import transmission_of

from .graphs import as_networkx, pairs, random_graph


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_components_are_those_of_networkx(pair):
    graph = as_networkx(pair[0])
    expected = sorted(len(each) for each in nx.connected_components(graph))
    assert sorted(component_sizes(pair[0]).tolist()) == expected
    assert largest_component(pair[0]) == (max(expected) / len(graph) if expected else 0.0)


def simulated(graph: Graph, transmission: float, runs: int) -> np.ndarray:
    """Final sizes of epidemics simulated step by step, from a random first case each."""
    neighbours = {node: list(each) for node, each in as_networkx(graph).adjacency()}
    nodes, rng = list(neighbours), np.random.default_rng(5)
    sizes = []
    for _ in range(runs):
        infected = {nodes[rng.integers(len(nodes))]}
        ill = list(infected)
        while ill:
            node = ill.pop()
            for each in neighbours[node]:
                if each not in infected and rng.random() < transmission:
                    infected.add(each)
                    ill.append(each)
        sizes.append(len(infected) / len(nodes))
    return np.array(sizes)


@pytest.mark.parametrize("transmission", [0.2, 0.5])
def test_an_outbreak_is_as_large_as_a_simulated_one(transmission):
    graph = random_graph(60, 110, seed=3)
    found = outbreak_size(graph, transmission=transmission)
    sizes = simulated(graph, transmission, 4000)
    error = np.hypot(found.standard_error, sizes.std() / np.sqrt(sizes.size))
    assert found.standard_error < 0.03 * found.mean
    assert abs(found.mean - sizes.mean()) < 4 * error


def test_a_node_of_average_degree_infects_two():
    """Nodes without an edge say nothing about how infectious a disease is."""
    ring = [(node, (node + step) % 20) for node in range(20) for step in (1, 2)]
    graph = SyntheticGraph(Roster.range(50), *zip(*ring, strict=True))
    assert transmission_of(graph) == 2 / 4
    assert transmission_of(SyntheticGraph(Roster.range(3), [0], [1])) == 1.0
    assert transmission_of(SyntheticGraph(Roster.range(3), [], [])) == 0.0


def test_the_disease_is_the_same_in_both_graphs():
    """A release with twice the edges has larger outbreaks; its own degrees would hide that."""
    original, dense = random_graph(200, 400, seed=1), random_graph(200, 800, seed=2)
    found = METRICS["outbreak_size_error"](original, dense)
    small, large = outbreak_size(original), outbreak_size(dense, transmission=0.5)
    assert found == pytest.approx(large.mean / small.mean - 1, rel=0.2)
    assert outbreak_size(dense).mean < 0.9 * large.mean
