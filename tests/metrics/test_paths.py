"""Shortest paths against networkx and igraph; sampled ones against all of them."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics import length_distance, path_lengths
from psgraph.metrics.metric import Pair
from psgraph.metrics.paths import PATHS, SOURCES

from .graphs import as_networkx, from_networkx, pairs, random_graph

PERFECT = {
    "path_length_distance": 0.0,
    "connected_pairs_error": 0.0,
    "diameter_error": 0.0,
    "effective_diameter_error": 0.0,
}


def expected_lengths(graph: SyntheticGraph) -> list[int]:
    """Every finite distance between two different nodes, both ways."""
    return [
        length
        for _, lengths in nx.all_pairs_shortest_path_length(as_networkx(graph))
        for length in lengths.values()
        if length
    ]


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_agrees_with_networkx(pair):
    graph, nodes = pair[1], len(pair[1].roster)
    lengths, found = expected_lengths(graph), path_lengths(graph)
    counted = Counter(lengths)
    assert found.counts.tolist() == [
        counted[length] for length in range(max(lengths, default=0) + 1)
    ]
    assert found.pairs == nodes * max(nodes - 1, 0)
    assert found.connected == (len(lengths) / found.pairs if found.pairs else 1.0)
    assert found.diameter == max(lengths, default=0)


@pytest.mark.parametrize(("nodes", "edges"), [(64, 100), (65, 90), (300, 500), (500, 400)])
def test_agrees_with_igraph_beyond_one_word_of_sources(nodes, edges):
    graph = random_graph(nodes, edges, seed=nodes)
    reference = graph.to_igraph()
    found = path_lengths(graph)
    bins = [count for _, _, count in reference.path_length_hist(directed=False).bins()]
    assert (found.counts[1:] // 2).tolist() == bins  # igraph counts every pair once
    assert found.diameter == reference.diameter(unconn=True)


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_distance_is_that_of_scipy(pair):
    lengths = [expected_lengths(graph) or [0] for graph in pair]
    distance = length_distance(*map(path_lengths, pair))
    assert distance == pytest.approx(wasserstein_distance(*lengths))
    assert distance == pytest.approx(length_distance(*map(path_lengths, reversed(pair))))


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_effective_diameter_covers_nine_of_ten_pairs(pair):
    found, lengths = path_lengths(pair[1]), np.array(expected_lengths(pair[1]))
    if not lengths.size:
        assert found.effective_diameter == 0
        return
    assert np.mean(lengths <= np.ceil(found.effective_diameter)) >= 0.9
    assert np.mean(lengths <= np.ceil(found.effective_diameter) - 1) < 0.9
    assert 0 < found.effective_diameter <= found.diameter


def test_effective_diameter_by_hand():
    # A path of five nodes: 8, 6, 4 and 2 ordered pairs at 1, 2, 3 and 4 steps; 18 of 20 within 3.
    assert path_lengths(from_networkx(nx.path_graph(5))).effective_diameter == 3.0
    # A complete graph: nine tenths of the way from 0 to 1, as SNAP has it.
    assert path_lengths(from_networkx(nx.complete_graph(6))).effective_diameter == 0.9


@given(st.integers(2, 60), st.integers(1, 20), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_diameter_of_a_tree_is_found_from_any_sources(nodes, sources, seed):
    tree = nx.random_labeled_tree(nodes, seed=seed)
    found = path_lengths(from_networkx(tree), sources=sources)
    assert found.diameter == nx.diameter(tree)


@given(pairs(max_nodes=30), st.integers(1, 29))
@settings(max_examples=100, deadline=None)
def test_sampled_sources_are_some_of_all(pair, sources):
    graph, nodes = pair[1], len(pair[1].roster)
    everything, some = path_lengths(graph), path_lengths(graph, sources=sources)
    assert some.pairs == min(sources, nodes) * max(nodes - 1, 0)
    assert some.counts.size <= everything.counts.size
    assert (some.counts <= everything.counts[: some.counts.size]).all()
    assert some.counts.size - 1 <= some.diameter <= everything.diameter
    if sources >= nodes:
        assert some.counts.tolist() == everything.counts.tolist()


def test_a_sample_is_close_and_always_the_same():
    graph = random_graph(4 * SOURCES, 10 * SOURCES, seed=3)
    everything, some = path_lengths(graph, sources=4 * SOURCES), path_lengths(graph)
    assert length_distance(everything, some) < 0.1
    assert some.connected == pytest.approx(everything.connected, abs=0.05)
    assert some.effective_diameter == pytest.approx(everything.effective_diameter, rel=0.05)
    assert some.diameter >= everything.diameter - 1
    assert path_lengths(graph).counts.tolist() == some.counts.tolist()


def test_a_long_path_costs_no_more_than_its_steps():
    # Were every node looked at in every round, this would take minutes.
    path = from_networkx(nx.path_graph(50_000))
    assert path_lengths(path, sources=8).diameter == 49_999


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_a_copy_is_perfect_and_every_pair_has_a_value(pair):
    original = pair[0]
    copy = SyntheticGraph(original.roster, original.u, original.v)
    assert PATHS.compute(Pair.of(original, copy)) == PERFECT
    assert all(
        np.isfinite(value) and value >= 0 for value in PATHS.compute(Pair.of(*pair)).values()
    )


def test_falling_apart_is_seen():
    ring = from_networkx(nx.cycle_graph(10))
    original = Snapshot(ring.roster, ring.u, ring.v)
    nothing = SyntheticGraph(original.roster, [], [])
    assert PATHS.compute(Pair.of(original, nothing)) == {
        "path_length_distance": pytest.approx(path_lengths(ring).counts @ np.arange(6) / 90),
        "connected_pairs_error": 1.0,
        "diameter_error": 1.0,
        "effective_diameter_error": 1.0,
    }


@pytest.mark.parametrize("nodes", [0, 1])
def test_no_pairs_at_all(nodes):
    graph = SyntheticGraph(Roster.range(nodes), [], [])
    found = path_lengths(graph)
    assert (found.counts.tolist(), found.pairs, found.diameter) == ([0], 0, 0)
    assert (found.connected, found.effective_diameter) == (1.0, 0.0)
