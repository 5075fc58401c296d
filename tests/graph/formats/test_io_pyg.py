"""PyTorch Geometric: against the library where it is installed, always against its structure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from psgraph.errors import DataError, InvalidArgument, MissingExtra, RosterError
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.streams import read_stream


class Tensor:
    """What the converters ask of a tensor."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.array

    def tolist(self) -> Any:
        return self.array.tolist()


class Data:
    """The documented structure of `torch_geometric.data.Data`, as far as it is used."""

    def __init__(self, edge_index: Any = None, **stored: Any) -> None:
        self.__dict__ |= stored
        self.edge_index = edge_index

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    @property
    def num_nodes(self) -> int | None:
        if "num_nodes" not in self:  # inferred, as the library does
            return int(self.edge_index.array.max()) + 1
        stored = self["num_nodes"]
        return stored if isinstance(stored, int) else None

    @num_nodes.setter
    def num_nodes(self, number: Any) -> None:
        self.__dict__["num_nodes"] = number


class HeteroData:
    """The documented structure of `torch_geometric.data.HeteroData`, as far as it is used."""

    def __init__(self) -> None:
        self.stores: dict[Any, Data] = {}

    def __getitem__(self, key: Any) -> Data:
        return self.stores.setdefault(key, Data())

    @property
    def edge_types(self) -> list[tuple[str, str, str]]:
        return [key for key in self.stores if isinstance(key, tuple)]


for each in (Data, HeteroData):
    each.__module__ = "torch_geometric.data.data"


@pytest.fixture(params=["library", "structure"])
def library(request: Any, monkeypatch: Any) -> Iterator[tuple[Any, Any]]:
    """The module `torch_geometric.data`, and the function that makes a tensor."""
    if request.param == "library":
        geometric = pytest.importorskip(
            "torch_geometric.data", reason="the extra [pyg] is not installed"
        )
        yield geometric, sys.modules["torch"].tensor
        return
    geometric, torch = ModuleType("torch_geometric"), ModuleType("torch")
    geometric.data = ModuleType("torch_geometric.data")  # type: ignore[attr-defined]
    geometric.data.Data = Data  # type: ignore[attr-defined]
    geometric.data.HeteroData = HeteroData  # type: ignore[attr-defined]
    torch.from_numpy = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch_geometric", geometric)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", geometric.data)
    yield geometric.data, Tensor


@pytest.mark.parametrize("ids", [["ann", "bob", "cid"], [10, 20, 40]])
def test_a_graph_survives_the_round_trip(library: Any, ids: list[Any]) -> None:
    graph = SyntheticGraph(Roster(ids), [0, 1], [1, 2], time="2024-01")
    data = graph.to_pyg()
    assert data.num_nodes == 3
    assert data.snapshot_time == "2024-01"
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert SyntheticGraph.from_pyg(data, roster=graph.roster) == graph
    assert SyntheticGraph.from_pyg(data, nodes_are_public=True).to_edges() == graph.to_edges()


def test_nodes_without_ids_take_those_of_a_list_in_its_order(library: Any) -> None:
    geometric, tensor = library
    data = geometric.Data(edge_index=tensor([[0, 1], [1, 2]]), num_nodes=3)
    assert Snapshot.from_pyg(data, roster=["c", "a", "b"]).to_edges() == [("a", "b"), ("a", "c")]
    assert Snapshot.from_pyg(data, nodes_are_public=True).roster == Roster(
        range(3), declared="nodes"
    )
    with pytest.raises(DataError):
        Snapshot.from_pyg(data, roster=["a", "b"])


def test_the_number_of_nodes_is_never_guessed_from_the_edges(library: Any) -> None:
    geometric, tensor = library
    data = geometric.Data(edge_index=tensor([[0], [7]]))
    with pytest.raises(DataError, match="num_nodes"):
        Snapshot.from_pyg(data, nodes_are_public=True)
    with pytest.raises(RosterError):
        Snapshot.from_pyg(data)
    assert len(Snapshot.from_pyg(data, roster_from_edges=True).roster) == 2


def test_a_directed_weighted_graph_survives_the_round_trip(library: Any) -> None:
    edges = [("a", "b", 3), ("b", "a", 1)]
    graph = SyntheticGraph.from_edges(edges, roster=["a", "b"], kind="directed", weights=9)
    data = graph.to_pyg()
    assert data.edge_index.tolist() == [[0, 1], [1, 0]]
    assert data.edge_weight.tolist() == [3, 1]
    assert SyntheticGraph.from_pyg(data, roster=graph.roster, kind=graph.kind) == graph
    # Both directions of one undirected edge: the larger weight, not the sum.
    undirected = SyntheticGraph.from_pyg(data, roster=graph.roster, weights=9)
    assert (undirected.to_edges(), undirected.weight.tolist()) == ([("a", "b")], [3])  # type: ignore[union-attr]
    assert SyntheticGraph.from_pyg(undirected.to_pyg(), roster=["a", "b"], weights=9) == undirected


def test_a_two_sided_graph_survives_the_round_trip(library: Any) -> None:
    edges = [(7, "x", 2), (8, "y", 5)]
    graph = SyntheticGraph.from_edges(edges, left=[7, 8], right=["x", "y", "z"], weights=9)
    data = graph.to_pyg()
    assert [data[side].num_nodes for side in ("left", "right")] == [2, 3]
    assert data["left", "to", "right"].edge_index.tolist() == [[0, 1], [0, 1]]
    assert SyntheticGraph.from_pyg(data, roster=graph.roster, weights=9) == graph
    public = SyntheticGraph.from_pyg(data, kind=graph.kind, nodes_are_public=True)
    assert (public.to_edges(), public.roster.sizes) == ([(7, "x"), (8, "y")], (2, 3))
    assert public.weight.tolist() == [2, 5]  # type: ignore[union-attr]
    with pytest.raises(DataError):
        SyntheticGraph.from_pyg(data, roster=[7, 8])


def test_an_edge_index_that_counts_on_each_side_needs_two_numbers_of_nodes(library: Any) -> None:
    geometric, tensor = library
    data = geometric.Data(edge_index=tensor([[0, 1], [2, 0]]), num_nodes=(2, 3))
    snapshot = Snapshot.from_pyg(data, kind="two-sided", nodes_are_public=True)
    assert (snapshot.to_edges(), snapshot.roster.sizes) == ([(0, 2), (1, 0)], (2, 3))
    data = geometric.Data(edge_index=tensor([[0, 1], [2, 0]]), num_nodes=5)
    with pytest.raises(DataError, match="num_nodes"):
        Snapshot.from_pyg(data, kind="two-sided", nodes_are_public=True)
    listed = Snapshot.from_pyg(data, left=["b", "a"], right=[1, 2, 3])
    assert listed.to_edges() == [("a", 1), ("b", 3)]


def test_a_list_of_data_is_a_stream(library: Any) -> None:
    graphs = [SyntheticGraph(Roster.range(4), [0], [each]).to_pyg() for each in (1, 2)]
    stream = read_stream(graphs, roster=range(4), times=["mon", "tue"])
    assert [(each.time, each.to_edges()) for each in stream] == [
        ("mon", [(0, 1)]),
        ("tue", [(0, 2)]),
    ]
    with pytest.raises(InvalidArgument):
        read_stream(graphs[0], nodes_are_public=True)


def test_other_objects_are_refused(library: Any) -> None:
    with pytest.raises(DataError, match="torch_geometric"):
        Snapshot.from_pyg("edges", nodes_are_public=True)


def test_the_install_line_when_it_is_missing(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(MissingExtra, match="pyg"):
        SyntheticGraph(Roster.range(2), [0], [1]).to_pyg()
