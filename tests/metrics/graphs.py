"""Small graphs for the tests of the metrics, and the same as networkx sees them."""

from __future__ import annotations

from typing import TypeVar

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from psgraph.graph import Graph, Kind, Roster, Snapshot, SyntheticGraph, TwoSidedRoster

AnyGraph = TypeVar("AnyGraph", bound=Graph)


def as_networkx(graph: Graph) -> nx.Graph:
    other = nx.Graph()
    other.add_nodes_from(range(len(graph.roster)))
    other.add_edges_from(zip(graph.u.tolist(), graph.v.tolist(), strict=True))
    return other


def from_networkx(graph: nx.Graph, *, nodes: int | None = None) -> SyntheticGraph:
    roster = Roster.range(graph.number_of_nodes() if nodes is None else nodes)
    edges = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
    return SyntheticGraph(roster, edges[:, 0], edges[:, 1])


@st.composite
def pairs(draw: st.DrawFn, *, max_nodes: int = 14) -> tuple[Snapshot, SyntheticGraph]:
    """Two graphs over one roster: anything from no nodes to complete."""
    nodes = draw(st.integers(0, max_nodes))
    roster = Roster.range(nodes)
    node = st.integers(0, max(nodes - 1, 0))
    edges = st.lists(st.tuples(node, node), max_size=4 * nodes if nodes else 0)
    arrays = [np.array(draw(edges), dtype=np.int64).reshape(-1, 2) for _ in range(2)]
    return (
        Snapshot(roster, arrays[0][:, 0], arrays[0][:, 1]),
        SyntheticGraph(roster, arrays[1][:, 0], arrays[1][:, 1]),
    )


def random_graph(nodes: int, edges: int, *, seed: int) -> SyntheticGraph:
    """A graph with hubs: ends are drawn in proportion to Pareto weights."""
    rng = np.random.default_rng(seed)
    weights = (1 - rng.random(nodes)) ** -0.7
    ends = rng.choice(nodes, size=(2, edges), p=weights / weights.sum())
    return SyntheticGraph(Roster.range(nodes), ends[0], ends[1])


@st.composite
def sided_pairs(draw: st.DrawFn, kind: Kind) -> tuple[Snapshot, SyntheticGraph]:
    """Two graphs of a kind over one roster: anything from no nodes to complete."""
    sizes = draw(st.tuples(st.integers(0, 8), st.integers(0, 8)))
    if not kind.two_sided:
        sizes = (sizes[0], sizes[0])
    first, second = (st.integers(0, max(size - 1, 0)) for size in sizes)
    most = 3 * sum(sizes) if min(sizes) else 0
    edges = st.lists(st.tuples(first, second, st.integers(1, 30)), max_size=most)
    left, right = (Roster.range(size) for size in sizes)
    roster = TwoSidedRoster(left, right) if kind.two_sided else left

    def drawn(graph_type: type[AnyGraph]) -> AnyGraph:
        u, v, weight = np.array(draw(edges), dtype=np.int64).reshape(-1, 3).T
        weights = weight if kind.weighted else None
        return graph_type(roster, u, v + roster.offset, kind=kind, weight=weights)

    return drawn(Snapshot), drawn(SyntheticGraph)
