"""networkx graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from psgraph.errors import DataError, MissingExtra
from psgraph.graph import Graph, Roster
from psgraph.graph.roster import declare

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
    """Build a `networkx.Graph`, or a `DiGraph` if an edge has two sides. O(n + m) Python objects.

    Public labels are node attributes; a node without one lacks the attribute.

    >>> from psgraph.graph import SyntheticGraph
    >>> to_networkx(SyntheticGraph(Roster("abc"), [0], [1])).edges
    EdgeView([('a', 'b')])
    """
    library = _library()
    built = library.Graph() if graph.kind.sides == 1 else library.DiGraph()
    built.add_nodes_from(graph.roster.ids.tolist())
    if graph.roster.labels is not None:
        ids = graph.roster.ids.tolist()
        for name, values in graph.roster.labels.to_dict().items():
            named = {node: value for node, value in zip(ids, values, strict=True) if value}
            library.set_node_attributes(built, named, name)
    built.add_edges_from(graph.to_edges())
    return built


def from_networkx(
    graph: networkx.Graph,
    *,
    graph_type: type[GraphType],
    roster: Roster | None = None,
    nodes_are_public: bool = False,
    roster_from_edges: bool = False,
) -> GraphType:
    """Read any networkx graph: direction, keys and attributes are dropped.

    Who the nodes are has to be declared, see `psgraph.graph.roster`.

    >>> import networkx
    >>> from psgraph.graph import Snapshot
    >>> from_networkx(networkx.path_graph(4), graph_type=Snapshot, nodes_are_public=True)
    Snapshot(4 nodes, edges private)
    """
    declared = declare(
        roster, roster_from_edges=roster_from_edges, nodes_are_public=nodes_are_public
    )
    if not isinstance(graph, _library().Graph):
        raise DataError(f"expected a networkx graph, not {type(graph).__name__}")
    if declared == "nodes":
        roster = Roster(list(graph.nodes), declared="nodes")
    return graph_type.from_edges(
        list(graph.edges()), roster=roster, roster_from_edges=roster_from_edges
    )
