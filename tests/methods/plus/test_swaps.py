from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.graph.kind import Edges
from psgraph.methods.plus.neighbours import (
    adjacent,
    common_neighbours,
    neighbour_lists,
    to_edges,
)
from psgraph.methods.plus.swaps import swap_triangles
from psgraph.methods.plus.triangles import count_triangles

from .graphs import (
    assert_simple,
    block_counts,
    complete,
    degree_labels,
    degrees,
    graph,
    pairs_of,
    random_graph,
    star,
)


def swap(edges: Edges, nodes: int, triangles: int, *, hubs: int = 0, seed: int = 0) -> Edges:
    labels = degree_labels(edges, nodes, hubs=hubs)
    rng = np.random.default_rng(seed)
    return swap_triangles(edges, nodes=nodes, labels=labels, triangles=triangles, rng=rng)


@given(
    st.integers(2, 60),
    st.integers(0, 300),
    st.integers(0, 10**6),
    st.floats(0, 1),
    st.floats(0, 4),
    st.integers(0, 5),
)
@settings(max_examples=150, deadline=None)
def test_degrees_and_block_counts_never_change(
    nodes: int, edge_count: int, seed: int, tail: float, ratio: float, hubs: int
) -> None:
    edges = random_graph(nodes, edge_count, seed=seed, tail=tail)
    wanted = int(ratio * (count_triangles(edges, nodes) + 5))
    after = swap(edges, nodes, wanted, hubs=hubs, seed=seed)
    assert_simple(after, nodes)
    labels = degree_labels(edges, nodes, hubs=hubs)
    np.testing.assert_array_equal(degrees(after, nodes), degrees(edges, nodes))
    np.testing.assert_array_equal(block_counts(after, labels), block_counts(edges, labels))


@pytest.mark.parametrize("tail", [0.0, 0.6])
@pytest.mark.parametrize("ratio", [0.8, 1.3])
def test_the_wanted_number_of_triangles_is_reached(tail: float, ratio: float) -> None:
    edges = random_graph(1000, 6000, seed=1, tail=tail)
    wanted = int(ratio * count_triangles(edges, 1000))
    reached = count_triangles(swap(edges, 1000, wanted), 1000)
    assert abs(reached - wanted) <= max(5, 0.02 * wanted)


@pytest.mark.parametrize("ratio", [0.2, 3.0])
def test_a_wanted_number_out_of_reach_is_approached(ratio: float) -> None:
    edges = random_graph(1000, 3000, seed=2, tail=0.8)
    before = count_triangles(edges, 1000)
    wanted = int(ratio * before)
    reached = count_triangles(swap(edges, 1000, wanted, hubs=30), 1000)
    assert abs(reached - wanted) < abs(before - wanted)


def test_more_work_brings_more_triangles() -> None:
    edges = random_graph(1000, 3000, seed=3, tail=0.5)
    labels = degree_labels(edges, 1000)
    reached = [
        count_triangles(
            swap_triangles(
                edges,
                nodes=1000,
                labels=labels,
                triangles=10**6,
                rng=np.random.default_rng(0),
                work=work,
            ),
            1000,
        )
        for work in (0, 20_000, 200_000)
    ]
    assert count_triangles(edges, 1000) == reached[0] < reached[1] < reached[2]


def test_a_number_that_is_close_enough_changes_nothing() -> None:
    edges = random_graph(300, 2000, seed=4)
    wanted = count_triangles(edges, 300) + 2
    assert swap(edges, 300, wanted) is edges


@pytest.mark.parametrize(
    ("edges", "nodes"),
    [(graph([]), 1), (graph([]), 2), (graph([(0, 1)]), 2), (complete(8), 8), (star(30), 30)],
    ids=["one node", "no edge", "one edge", "complete", "star"],
)
@pytest.mark.parametrize("wanted", [0, 100])
def test_a_graph_that_its_degrees_determine_stays(edges: Edges, nodes: int, wanted: int) -> None:
    assert pairs_of(swap(edges, nodes, wanted)) == pairs_of(edges)


def test_the_same_generator_gives_the_same_swaps() -> None:
    edges = random_graph(300, 1500, seed=5, tail=0.5)
    one, again, other = (swap(edges, 300, 2000, seed=seed) for seed in (1, 1, 2))
    assert pairs_of(one) == pairs_of(again) != pairs_of(other)


@pytest.mark.parametrize("tail", [0.0, 0.9])
def test_neighbour_lists_know_adjacency_and_common_neighbours(tail: float) -> None:
    edges = random_graph(60, 700, seed=6, tail=tail)
    lists = neighbour_lists(edges, 60)
    sets: list[set[int]] = [set() for _ in range(60)]
    for x, y in pairs_of(edges):
        sets[x].add(y)
        sets[y].add(x)
    for x in range(60):
        for y in range(60):
            if x != y:
                assert adjacent(lists, x, y) == (y in sets[x])
                assert common_neighbours(lists, x, y)[0] == len(sets[x] & sets[y])
    assert pairs_of(to_edges(lists)) == pairs_of(edges)


@pytest.mark.parametrize("ratio", [0.8, 1.3])
def test_spared_edges_stay_while_others_suffice(ratio: float) -> None:
    edges = random_graph(1000, 6000, seed=1, tail=0.6)
    wanted = int(ratio * count_triangles(edges, 1000))
    chosen = np.random.default_rng(0).permutation(edges.u.size)[:2000]
    after = swap_triangles(
        edges,
        nodes=1000,
        labels=degree_labels(edges, 1000),
        triangles=wanted,
        rng=np.random.default_rng(0),
        work=10**7,
        spared=(edges.u[chosen], edges.v[chosen]),
    )
    assert abs(count_triangles(after, 1000) - wanted) <= 0.02 * wanted
    assert pairs_of(graph_of(edges, chosen)) <= pairs_of(after)


def test_the_most_lasting_edges_are_never_swapped() -> None:
    edges = random_graph(1000, 6000, seed=1, tail=0.6)
    order = np.random.default_rng(0).permutation(edges.u.size)
    after = swap_triangles(
        edges,
        nodes=1000,
        labels=degree_labels(edges, 1000),
        triangles=3 * count_triangles(edges, 1000),
        rng=np.random.default_rng(0),
        spared=(edges.u[order], edges.v[order]),
    )
    stay, lasting = pairs_of(after), round(0.4 * order.size)
    assert pairs_of(graph_of(edges, order[:lasting])) <= stay
    assert not pairs_of(graph_of(edges, order[lasting:])) <= stay


def graph_of(edges: Edges, chosen: np.ndarray) -> Edges:
    return Edges(edges.u[chosen], edges.v[chosen])
