"""networkx graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import DataError, MissingExtra
from psgraph.graph import Graph, Roster
from psgraph.graph.blueprint import SIDES, Blueprint

if TYPE_CHECKING:
    import networkx

__all__ = ["from_networkx", "to_networkx"]

GraphType = TypeVar("GraphType", bound=Graph)


def _library() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingExtra("networkx", "networkx") from None
    return networkx


def to_networkx(graph: Graph) -> networkx.Graph:
    """Build a `networkx.Graph`, of a directed graph a `DiGraph`. O(n + m) Python objects.

    Weights are the edge attribute ``weight``. The nodes of a two-sided graph have the attribute
    ``bipartite``: 0 on the left and 1 on the right. They are the ids, if no id is on both sides,
    and otherwise pairs such as ``("left", 7)`` and ``("right", 7)``. Public labels are node
    attributes; a node without one lacks the attribute.

    >>> from psgraph.graph import SyntheticGraph, TwoSidedRoster
    >>> to_networkx(SyntheticGraph(Roster("abc"), [0], [1])).edges
    EdgeView([('a', 'b')])
    >>> to_networkx(SyntheticGraph(TwoSidedRoster([7], [7]), [0], [1])).nodes(data="bipartite")
    NodeDataView({('left', 7): 0, ('right', 7): 1}, data='bipartite')
    """
    library = _library()
    built = library.DiGraph() if graph.kind.directed else library.Graph()
    if graph.kind.two_sided:
        sides = _keys(graph.roster)
        for number, keys in enumerate(sides):
            built.add_nodes_from(keys, bipartite=number)
        nodes = [key for keys in sides for key in keys]
    else:
        nodes = graph.roster.ids.tolist()
        built.add_nodes_from(nodes)
    if graph.roster.labels is not None:
        for name, values in graph.roster.labels.to_dict().items():
            named = {node: value for node, value in zip(nodes, values, strict=True) if value}
            library.set_node_attributes(built, named, name)
    ends = ([nodes[position] for position in each.tolist()] for each in (graph.u, graph.v))
    if graph.weight is None:
        built.add_edges_from(zip(*ends, strict=True))
    else:
        built.add_weighted_edges_from(zip(*ends, graph.weight.tolist(), strict=True))
    return built


def _keys(roster: Roster) -> list[list[Any]]:
    """Return distinct names for the nodes of both sides."""
    sides = [side.ids.tolist() for side in roster.sides]
    if {*sides[0]}.isdisjoint(sides[1]):
        return sides
    return [[(name, key) for key in keys] for name, keys in zip(SIDES, sides, strict=True)]


def from_networkx(graph: networkx.Graph, blueprint: Blueprint[GraphType]) -> GraphType:
    """Read any networkx graph. Keys of parallel edges and other attributes are dropped.

    The edges of an undirected graph object are those of an undirected graph, or of a two-sided one
    with their ends in any order; those of a directed one lead from the left to the right. Weights
    are the edge attribute ``weight``, 1 where there is none.

    >>> import networkx
    >>> from psgraph.graph import Snapshot
    >>> from_networkx(networkx.path_graph(4), Blueprint.of(Snapshot, nodes_are_public=True))
    Snapshot(4 nodes, edges private)
    """
    if not isinstance(graph, _library().Graph):
        raise DataError(f"expected a networkx graph, not {type(graph).__name__}")
    kind = blueprint.kind
    blueprint.refuse_undirected(graph.is_directed())
    weight = [each for *_, each in graph.edges(data="weight", default=1)] if kind.weighted else None
    if kind.two_sided:
        return _from_sides(graph, weight, blueprint)
    edges = list(graph.edges())
    nodes = Roster(list(graph.nodes), declared="nodes") if blueprint.declared == "nodes" else None
    heads, tails = [edge[0] for edge in edges], [edge[1] for edge in edges]
    return blueprint.from_ids(heads, tails, weight, nodes=nodes)


def _from_sides(
    graph: networkx.Graph, weight: list[Any] | None, blueprint: Blueprint[GraphType]
) -> GraphType:
    nodes = list(graph.nodes)
    numbers = {node: number for number, node in enumerate(nodes)}
    ends = ((numbers[u], numbers[v]) for u, v, *_ in graph.edges())
    pairs = np.array([*ends], dtype=np.int64).reshape(-1, 2)
    right = _right(graph, nodes)
    if nodes and all(_is_pair(node) for node in nodes):  # as `to_networkx` names them
        if right is None:
            right = np.array([node[0] == SIDES[1] for node in nodes])
        nodes = [node[1] for node in nodes]
    ordered = graph.is_directed()
    return blueprint.from_sides(nodes, right, pairs[:, 0], pairs[:, 1], weight, ordered=ordered)


def _is_pair(node: Any) -> bool:
    return isinstance(node, tuple) and len(node) == 2 and node[0] in SIDES


def _right(graph: networkx.Graph, nodes: list[Any]) -> NDArray[np.bool_] | None:
    """Which nodes are on the right by their attribute; None if no node has it."""
    sides = [graph.nodes[node].get("bipartite") for node in nodes]
    if sides and all(side is None for side in sides):
        return None
    if not all(isinstance(side, int | np.integer) and side in (0, 1) for side in sides):
        raise DataError(
            "the attribute bipartite is 0 or 1 for some nodes only\n"
            "Set it for every node: 0 on the left, 1 on the right.",
            code="sides",
        )
    return np.array(sides, dtype=bool)
