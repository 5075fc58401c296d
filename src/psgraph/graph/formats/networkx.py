"""networkx graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from psgraph.errors import DataError, MissingExtra
from psgraph.graph import Graph, Roster

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
    """Build a `networkx.Graph` with every node of the roster. O(n + m) Python objects.

    >>> from psgraph.graph import SyntheticGraph
    >>> to_networkx(SyntheticGraph(Roster("abc"), [0], [1])).edges
    EdgeView([('a', 'b')])
    """
    built = _library().Graph()
    built.add_nodes_from(graph.roster.ids.tolist())
    built.add_edges_from(graph.to_edges())
    return built


def from_networkx(
    graph: networkx.Graph, *, kind: type[GraphType], roster: Roster | None = None
) -> GraphType:
    """Read any networkx graph: direction, keys and attributes are left behind.

    The graph object lists its nodes apart from its edges, so they are the roster unless one is
    given.

    >>> import networkx
    >>> from psgraph.graph import Snapshot
    >>> from_networkx(networkx.path_graph(4), kind=Snapshot)
    Snapshot(4 nodes, edges private)
    """
    if not isinstance(graph, _library().Graph):
        raise DataError(f"expected a networkx graph, not {type(graph).__name__}")
    if roster is None:
        roster = Roster(list(graph.nodes))
    return kind.from_edges(list(graph.edges()), roster=roster)
