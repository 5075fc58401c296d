"""PyTorch Geometric: one `Data` or `HeteroData` per graph, a list of them for a stream."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.errors import DataError, MissingExtra
from psgraph.graph import Graph, Roster, TwoSidedRoster
from psgraph.graph.blueprint import SIDES, Blueprint
from psgraph.graph.roster import Ids, as_ids

__all__ = ["from_pyg", "to_pyg"]

GraphType = TypeVar("GraphType", bound=Graph)

#: What PyTorch Geometric counts nodes by, if the number is not stored.
_NODE_FEATURES = ("x", "pos", "batch", "node_id")


def _library() -> Any:
    try:
        import torch_geometric.data
    except ImportError:
        raise MissingExtra("PyTorch Geometric", "pyg") from None
    return torch_geometric.data


def to_pyg(graph: Graph) -> Any:
    """Build a `Data`; node *i* is roster position *i*. O(n + m).

    ``edge_index`` holds both directions of the edges of an undirected graph, as PyTorch Geometric
    expects, and ``edge_weight`` their weights. ``node_id`` holds the ids: a tensor of integers, or
    a list of strings. The time, if there is one, is the text ``snapshot_time``. A column of public
    labels is the tensor ``label_NAME`` of numbers, −1 for a missing one, and the list
    ``label_NAME_values`` of what they stand for.

    A two-sided graph becomes a `HeteroData` with the node types ``left`` and ``right``, which are
    numbered from 0 each, and the edge type ``("left", "to", "right")``.
    """
    library = _library()
    import torch

    ends, weight = np.stack([graph.u, graph.v]).astype(np.int64), graph.weight
    if graph.kind.sides == 1:
        ends = np.concatenate([ends, ends[::-1]], axis=1)
        weight = None if weight is None else np.concatenate([weight, weight])
    ends[1] -= graph.roster.offset
    if graph.kind.two_sided:
        data = library.HeteroData()
        left, right = SIDES
        stores, edges = [data[left], data[right]], data[left, "to", right]
    else:
        data = library.Data()
        stores, edges = [data], data
    edges.edge_index = torch.from_numpy(ends)
    if weight is not None:
        edges.edge_weight = torch.from_numpy(weight.copy())
    for store, side in zip(stores, graph.roster.sides, strict=False):
        store.num_nodes = len(side)
        store.node_id = side.ids.tolist() if side.strings else torch.from_numpy(side.ids.copy())
    labels = graph.roster.labels
    for index, name in enumerate(graph.roster.label_columns):
        assert labels is not None
        data[f"label_{name}"] = torch.from_numpy(labels.codes[:, index].astype(np.int64))
        data[f"label_{name}_values"] = list(labels.values[index])
    if graph.time is not None:
        data.snapshot_time = graph.time
    return data


def from_pyg(data: Any, blueprint: Blueprint[GraphType]) -> GraphType:
    """Read an ``edge_index``, and ``edge_weight`` where there is one; features are dropped.

    Ids are in ``node_id``. Without it, node *i* is roster position *i*, or the i-th id of a list,
    or just *i*. An undirected graph may list each edge in both directions.

    A two-sided graph is a `HeteroData` with one type of edges between two types of nodes, or a
    `Data` whose ``edge_index`` counts on each side, with two numbers in ``num_nodes``.
    """
    library = _library()
    if blueprint.kind.two_sided:
        edges, stores = _two_sided(data, library)
    else:
        edges, stores = data if isinstance(data, library.Data) else None, [data, data]
    if edges is None or edges.edge_index is None:
        raise DataError(
            f"expected a torch_geometric.data.Data with an edge_index, not {type(data).__name__}\n"
            "Convert a heterogeneous graph with to_homogeneous(), unless it has one type of edges "
            "between two types of nodes: then it is two-sided."
        )
    heads, tails = edges.edge_index.cpu().numpy().astype(np.int64, copy=False)
    weight = edges.edge_weight.cpu().numpy() if "edge_weight" in edges else None
    sizes = [0, 0]
    if all("node_id" in store for store in stores):
        if blueprint.declared == "nodes":
            _sizes(stores, blueprint)
        return _from_ids(heads, tails, weight, [_ids(store.node_id) for store in stores], blueprint)
    if blueprint.declared != "edges":
        sizes = _sizes(stores, blueprint)
    return blueprint.from_positions(
        heads, tails, (sizes[0], sizes[1]), weight, source="the graph does not have one node"
    )


def _two_sided(data: Any, library: Any) -> tuple[Any, list[Any]]:
    """Return what holds the edges, and what holds the nodes of each side; None if nothing does."""
    if isinstance(data, library.Data):
        return data, [data, data]
    if not isinstance(data, library.HeteroData) or len(data.edge_types) != 1:
        return None, []
    ((left, _, right),) = data.edge_types
    if left == right:
        return None, []
    (edges,) = data.edge_types
    return data[edges], [data[left], data[right]]


def _sizes(stores: list[Any], blueprint: Blueprint[GraphType]) -> list[int]:
    """Return how many nodes each side has, as the object says; refuse to guess it from edges."""
    counted = all(any(name in each for name in ("num_nodes", *_NODE_FEATURES)) for each in stores)
    # As an item: the property of that name knows single numbers only.
    both = stores[0]["num_nodes"] if counted and "num_nodes" in stores[0] else None
    if isinstance(both, tuple | list):  # a `Data` of a two-sided graph
        return [int(size) for size in both]
    one_number = blueprint.kind.two_sided and stores[0] is stores[1]
    if one_number and blueprint.roster is not None:
        return [len(side) for side in blueprint.roster.sides]
    if one_number or (blueprint.declared == "nodes" and not counted):
        numbers = "two numbers of nodes, those of each side" if one_number else "the nodes"
        raise DataError(
            f"num_nodes does not say {numbers}, and it is not guessed from the edges\n"
            "Set data.num_nodes, or give a roster."
        )
    return [int(store.num_nodes or 0) for store in stores]


def _ids(ids: Any) -> Ids:
    return as_ids(ids if isinstance(ids, list) else ids.cpu().numpy())


def _from_ids(
    heads: Integers, tails: Integers, weight: Any, ids: list[Ids], blueprint: Blueprint[GraphType]
) -> GraphType:
    nodes = None
    for numbers, each in zip((heads, tails), ids, strict=True):
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < each.size:
            raise DataError("edge_index has a node that is not in node_id\nList every node in it.")
    if blueprint.declared == "nodes":
        sides = [Roster(each, declared="nodes") for each in ids[: blueprint.kind.rosters]]
        nodes = TwoSidedRoster(*sides) if blueprint.kind.two_sided else sides[0]
    return blueprint.from_ids(ids[0][heads], ids[1][tails], weight, nodes=nodes, mirrored=True)
