"""Small graphs for the tests of the metrics, and the same as networkx sees them."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from psgraph.graph import Graph, Roster, Snapshot, SyntheticGraph


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
