"""igraph graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from psgraph.errors import DataError, MissingExtra
from psgraph.graph import Graph, Roster
from psgraph.graph.roster import as_ids, declare

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

    Public labels are vertex attributes, None where one is missing.

    >>> from psgraph.graph import SyntheticGraph
    >>> to_igraph(SyntheticGraph(Roster("abc"), [0], [1])).vs["name"]
    ['a', 'b', 'c']
    """
    pairs = np.stack([graph.u, graph.v], axis=1).astype(np.int64)
    built = _library().Graph(
        n=len(graph.roster),
        edges=pairs if len(pairs) else [],
        directed=graph.kind.sides == 2,
    )
    built.vs["name"] = graph.roster.ids.tolist()
    if graph.roster.labels is not None:
        for name, values in graph.roster.labels.to_dict().items():
            built.vs[name] = values
    return built


def from_igraph(
    graph: igraph.Graph,
    *,
    graph_type: type[GraphType],
    roster: Roster | None = None,
    nodes_are_public: bool = False,
    roster_from_edges: bool = False,
) -> GraphType:
    """Read an igraph graph; ids are the vertex attribute ``name``, otherwise vertex numbers.

    Who the nodes are has to be declared, see `psgraph.graph.roster`.

    >>> import igraph
    >>> from psgraph.graph import Snapshot
    >>> from_igraph(igraph.Graph.Ring(5), graph_type=Snapshot, nodes_are_public=True)
    Snapshot(5 nodes, edges private)
    """
    declared = declare(
        roster, roster_from_edges=roster_from_edges, nodes_are_public=nodes_are_public
    )
    if not isinstance(graph, _library().Graph):
        raise DataError(f"expected an igraph graph, not {type(graph).__name__}")
    named = "name" in graph.vs.attributes()
    ids = as_ids(graph.vs["name"] if named else np.arange(graph.vcount()))
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    if declared == "nodes":
        roster = Roster(ids, declared="nodes")
    return graph_type.from_ids(
        ids[pairs[:, 0]], ids[pairs[:, 1]], roster=roster, roster_from_edges=roster_from_edges
    )
