"""PyTorch Geometric: one `Data` per graph, a list of them for a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from psgraph.errors import DataError, MissingExtra
from psgraph.graph import Graph, Roster
from psgraph.graph.formats.tables import from_positions
from psgraph.graph.roster import RosterOrIds, as_ids, as_roster, declare

if TYPE_CHECKING:
    import torch_geometric

__all__ = ["from_pyg", "to_pyg"]

GraphType = TypeVar("GraphType", bound=Graph)

#: What PyTorch Geometric counts nodes by, if the number is not stored.
_NODE_FEATURES = ("x", "pos", "batch", "node_id")


def _data_type() -> Any:
    try:
        from torch_geometric.data import Data
    except ImportError:
        raise MissingExtra("PyTorch Geometric", "pyg") from None
    return Data


def to_pyg(graph: Graph) -> torch_geometric.data.Data:
    """Build a `Data`; node *i* is roster position *i*. O(n + m).

    ``edge_index`` holds both directions of the edges of an undirected graph, as PyTorch Geometric
    expects. ``node_id`` holds the ids: a tensor of integers, or a list of strings. The
    time, if there is one, is the text ``snapshot_time``. A column of public labels is the tensor
    ``label_NAME`` of numbers, −1 for a missing one, and the list ``label_NAME_values`` of what they
    stand for.
    """
    data_type = _data_type()
    import torch

    ends = np.stack([graph.u, graph.v])
    if graph.kind.sides == 1:
        ends = np.concatenate([ends, ends[::-1]], axis=1)
    ids = graph.roster.ids
    data = data_type(
        edge_index=torch.from_numpy(ends.astype(np.int64)),
        num_nodes=len(graph.roster),
        node_id=ids.tolist() if graph.roster.strings else torch.from_numpy(ids.copy()),
    )
    labels = graph.roster.labels
    for index, name in enumerate(graph.roster.label_columns):
        assert labels is not None
        data[f"label_{name}"] = torch.from_numpy(labels.codes[:, index].astype(np.int64))
        data[f"label_{name}_values"] = list(labels.values[index])
    if graph.time is not None:
        data.snapshot_time = graph.time
    return data


def from_pyg(
    data: torch_geometric.data.Data,
    *,
    graph_type: type[GraphType],
    roster: RosterOrIds | None = None,
    nodes_are_public: bool = False,
    roster_from_edges: bool = False,
) -> GraphType:
    """Read the ``edge_index`` of a homogeneous graph; direction and features are dropped.

    Ids are in ``node_id``. Without it, node *i* is roster position *i*, or the i-th id of a list,
    or just *i*. Who the nodes are has to be declared, see `psgraph.graph.roster`.
    """
    declared = declare(
        roster, roster_from_edges=roster_from_edges, nodes_are_public=nodes_are_public
    )
    if not isinstance(data, _data_type()) or data.edge_index is None:
        raise DataError(
            f"expected a torch_geometric.data.Data with an edge_index, not {type(data).__name__}\n"
            "Convert a heterogeneous graph with to_homogeneous()."
        )
    heads, tails = data.edge_index.cpu().numpy().astype(np.int64, copy=False)
    if "node_id" in data:
        ids = as_ids(data.node_id if isinstance(data.node_id, list) else data.node_id.cpu().numpy())
        known = Roster(ids, declared="nodes") if declared == "nodes" else as_roster(roster)
        return graph_type.from_ids(
            ids[heads], ids[tails], roster=known, roster_from_edges=roster_from_edges
        )
    if declared == "nodes" and not any(name in data for name in ("num_nodes", *_NODE_FEATURES)):
        raise DataError(
            "num_nodes is not set, so the nodes could only be guessed from the edges\n"
            "Set data.num_nodes, or give a roster."
        )
    return from_positions(
        heads,
        tails,
        0 if declared == "edges" else int(data.num_nodes or 0),
        graph_type=graph_type,
        roster=roster,
        nodes_are_public=nodes_are_public,
        roster_from_edges=roster_from_edges,
        source="the graph does not have one node",
    )
