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

    def __getattr__(self, name: str) -> Any:
        if name == "num_nodes":  # inferred, as the library does
            return int(self.edge_index.array.max()) + 1
        raise AttributeError(name)


Data.__module__ = "torch_geometric.data.data"


@pytest.fixture(params=["library", "structure"])
def library(request: Any, monkeypatch: Any) -> Iterator[tuple[Any, Any]]:
    """The class `Data`, and the function that makes a tensor."""
    if request.param == "library":
        geometric = pytest.importorskip(
            "torch_geometric.data", reason="the extra [pyg] is not installed"
        )
        yield geometric.Data, sys.modules["torch"].tensor
        return
    geometric, torch = ModuleType("torch_geometric"), ModuleType("torch")
    geometric.data = ModuleType("torch_geometric.data")  # type: ignore[attr-defined]
    geometric.data.Data = Data  # type: ignore[attr-defined]
    torch.from_numpy = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch_geometric", geometric)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", geometric.data)
    yield Data, Tensor


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
    data_type, tensor = library
    data = data_type(edge_index=tensor([[0, 1], [1, 2]]), num_nodes=3)
    assert Snapshot.from_pyg(data, roster=["c", "a", "b"]).to_edges() == [("a", "b"), ("a", "c")]
    assert Snapshot.from_pyg(data, nodes_are_public=True).roster == Roster(
        range(3), declared="nodes"
    )
    with pytest.raises(DataError):
        Snapshot.from_pyg(data, roster=["a", "b"])


def test_the_number_of_nodes_is_never_guessed_from_the_edges(library: Any) -> None:
    data_type, tensor = library
    data = data_type(edge_index=tensor([[0], [7]]))
    with pytest.raises(DataError, match="num_nodes"):
        Snapshot.from_pyg(data, nodes_are_public=True)
    with pytest.raises(RosterError):
        Snapshot.from_pyg(data)
    assert len(Snapshot.from_pyg(data, roster_from_edges=True).roster) == 2


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
