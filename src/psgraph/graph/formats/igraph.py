"""igraph graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from psgraph.errors import DataError, MissingExtra
from psgraph.graph import Graph, Roster
from psgraph.graph.blueprint import Blueprint
from psgraph.graph.roster import as_ids

if TYPE_CHECKING:
    import igraph

__all__ = ["from_igraph", "to_igraph"]

GraphType = TypeVar("GraphType", bound=Graph)


def _library() -> Any:
    try:
        import igraph
    except ImportError:
        raise MissingExtra("igraph", "igraph") from None
    return igraph


def to_igraph(graph: Graph) -> igraph.Graph:
    """Build an `igraph.Graph`; vertex *i* is roster position *i*, its id is ``vs[i]["name"]``.

    Weights are in ``es["weight"]``. In a two-sided graph ``vs["type"]`` is False on the left and
    True on the right, as igraph has it for bipartite graphs; a name may be on both sides. Public
    labels are vertex attributes, None where one is missing.

    >>> from psgraph.graph import SyntheticGraph
    >>> to_igraph(SyntheticGraph(Roster("abc"), [0], [1])).vs["name"]
    ['a', 'b', 'c']
    """
    pairs = np.stack([graph.u, graph.v], axis=1).astype(np.int64)
    built = _library().Graph(
        n=len(graph.roster),
        edges=pairs if len(pairs) else [],
        directed=graph.kind.directed,
    )
    built.vs["name"] = graph.roster.ids.tolist()
    if graph.kind.two_sided:
        built.vs["type"] = (np.arange(len(graph.roster)) >= graph.roster.offset).tolist()
    if graph.weight is not None:
        built.es["weight"] = graph.weight.tolist()
    if graph.roster.labels is not None:
        for name, values in graph.roster.labels.to_dict().items():
            built.vs[name] = values
    return built


def from_igraph(graph: igraph.Graph, blueprint: Blueprint[GraphType]) -> GraphType:
    """Read an igraph graph; ids are the vertex attribute ``name``, otherwise vertex numbers.

    The edges of a directed graph object lead from the left to the right of a two-sided graph; those
    of an undirected one have their ends in any order.

    >>> import igraph
    >>> from psgraph.graph import Snapshot
    >>> from_igraph(igraph.Graph.Ring(5), Blueprint.of(Snapshot, nodes_are_public=True))
    Snapshot(5 nodes, edges private)
    """
    if not isinstance(graph, _library().Graph):
        raise DataError(f"expected an igraph graph, not {type(graph).__name__}")
    kind = blueprint.kind
    blueprint.refuse_undirected(graph.is_directed())
    names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weighted = kind.weighted and "weight" in graph.es.attributes()
    weight = graph.es["weight"] if weighted else None
    if kind.two_sided:
        types = graph.vs["type"] if "type" in graph.vs.attributes() else None
        if types is not None and not all(each in (False, True) for each in types):
            raise DataError(
                "the vertex attribute type is not False or True for every vertex\n"
                "Set it: False on the left, True on the right.",
                code="sides",
            )
        right = None if types is None else np.array(types, dtype=bool)
        ordered = graph.is_directed()
        return blueprint.from_sides(names, right, pairs[:, 0], pairs[:, 1], weight, ordered=ordered)
    ids = as_ids(names)
    nodes = Roster(ids, declared="nodes") if blueprint.declared == "nodes" else None
    return blueprint.from_ids(ids[pairs[:, 0]], ids[pairs[:, 1]], weight, nodes=nodes)
