"""networkx, igraph and SciPy: there and back, and against what those libraries say."""

from __future__ import annotations

import sys
from itertools import combinations
from typing import Any

import igraph
import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument, MissingExtra, OutsideRoster, RosterError
from psgraph.graph import Dropped, Kind, Roster, Snapshot, SyntheticGraph


@st.composite
def graphs(draw: st.DrawFn) -> SyntheticGraph:
    kind = draw(st.sampled_from([st.integers(-5, 10**12), st.text("abc", max_size=3)]))
    ids = draw(st.lists(kind, max_size=7, unique=True))
    position = st.integers(0, max(len(ids) - 1, 0))
    pairs = draw(st.lists(st.tuples(position, position), max_size=15)) if ids else []
    return SyntheticGraph(Roster(ids), [a for a, _ in pairs], [b for _, b in pairs])


@given(graphs())
def test_networkx_there_and_back(graph: SyntheticGraph) -> None:
    other = graph.to_networkx()
    assert sorted(other.nodes) == graph.roster.ids.tolist()
    assert {tuple(sorted(edge)) for edge in other.edges} == set(graph.to_edges())
    assert SyntheticGraph.from_networkx(other, roster=graph.roster) == graph


@given(graphs())
def test_igraph_there_and_back(graph: SyntheticGraph) -> None:
    other = graph.to_igraph()
    assert other.vs["name"] == graph.roster.ids.tolist()
    assert set(other.get_edgelist()) == set(zip(graph.u.tolist(), graph.v.tolist(), strict=True))
    assert SyntheticGraph.from_igraph(other, roster=graph.roster) == graph


@given(graphs())
def test_scipy_there_and_back(graph: SyntheticGraph) -> None:
    matrix = graph.to_scipy()
    dense = matrix.toarray()
    assert (dense == dense.T).all()
    assert set(dense.ravel().tolist()) <= {0, 1}
    assert dense.sum() == 2 * graph.edge_count
    assert (dense[graph.u, graph.v] == 1).all()
    rows = np.split(matrix.indices, matrix.indptr[1:-1])
    assert all((np.diff(row) > 0).all() for row in rows)
    assert SyntheticGraph.from_scipy(matrix, roster=graph.roster) == graph


GRAPH_OBJECTS = {
    "networkx": networkx.from_edgelist([(0, 1), (1, 3)]),
    "igraph": igraph.Graph(n=4, edges=[(0, 1), (1, 3)]),
    "scipy": scipy.sparse.coo_array(([1, 1], ([0, 1], [1, 3])), shape=(4, 4)),
}


@pytest.mark.parametrize("library", GRAPH_OBJECTS)
def test_the_nodes_of_a_graph_object_are_no_roster_unless_declared(library: str) -> None:
    with pytest.raises(RosterError, match=r"roster=….*nodes_are_public=True.*roster_from_edges"):
        getattr(Snapshot, f"from_{library}")(GRAPH_OBJECTS[library])


@pytest.mark.parametrize("library", GRAPH_OBJECTS)
def test_the_three_declarations_of_a_graph_object(library: str) -> None:
    item, build = GRAPH_OBJECTS[library], getattr(Snapshot, f"from_{library}")
    given = build(item, roster=Roster.range(4))
    nodes = build(item, nodes_are_public=True)
    edges = build(item, roster_from_edges=True)
    assert [each.roster.declared for each in (given, nodes, edges)] == ["given", "nodes", "edges"]
    assert given.to_edges() == nodes.to_edges() == edges.to_edges() == [(0, 1), (1, 3)]
    assert nodes.roster.ids.tolist() == ([0, 1, 3] if library == "networkx" else [0, 1, 2, 3])
    assert edges.roster.ids.tolist() == [0, 1, 3]


@pytest.mark.parametrize("library", GRAPH_OBJECTS)
def test_declarations_that_contradict_each_other_are_refused(library: str) -> None:
    item, build = GRAPH_OBJECTS[library], getattr(Snapshot, f"from_{library}")
    choices = {"roster": Roster.range(4), "nodes_are_public": True, "roster_from_edges": True}
    for one, other in combinations(choices, 2):
        with pytest.raises(InvalidArgument):
            build(item, **{one: choices[one], other: choices[other]})


def test_directed_multigraphs_are_normalised() -> None:
    other = networkx.MultiDiGraph([(1, 2), (1, 2), (2, 1), (3, 3)])
    snapshot = Snapshot.from_networkx(other, nodes_are_public=True)
    assert snapshot.to_edges() == [(1, 2)]
    assert snapshot.dropped == Dropped(self_loops=1, duplicates=2)
    turned = igraph.Graph(n=3, edges=[(0, 1), (1, 0), (2, 2)], directed=True)
    assert Snapshot.from_igraph(turned, nodes_are_public=True).dropped == Dropped(1, 1)


def test_entries_of_a_matrix_that_cancel_or_are_zero_are_no_edges() -> None:
    entries = ([1, -1, 0, 5], ([0, 0, 1, 2], [1, 1, 2, 0]))
    matrix = scipy.sparse.coo_array(entries, shape=(3, 3))
    snapshot = Snapshot.from_scipy(matrix, nodes_are_public=True)
    assert snapshot.to_edges() == [(0, 2)]


@pytest.mark.parametrize(
    "matrix", [np.ones((2, 3)), scipy.sparse.eye_array(2, 3), np.ones(3), "no matrix", None]
)
def test_what_is_no_square_matrix_is_refused(matrix: Any) -> None:
    with pytest.raises(DataError):
        Snapshot.from_scipy(matrix, nodes_are_public=True)


def test_a_matrix_needs_a_node_for_every_row() -> None:
    with pytest.raises(DataError) as caught:
        Snapshot.from_scipy(np.eye(3), roster=Roster.range(2))
    assert "3" not in str(caught.value)  # a matrix may be as large as its largest id


def test_nodes_that_can_be_no_ids_are_refused() -> None:
    with pytest.raises(RosterError):
        Snapshot.from_networkx(networkx.Graph([(1, "SECRET_NODE_4711")]), nodes_are_public=True)
    with pytest.raises(RosterError):
        Snapshot.from_networkx(networkx.Graph([((0, 1), (1, 2))]), nodes_are_public=True)
    doubled = igraph.Graph(n=2, edges=[(0, 1)])
    doubled.vs["name"] = ["a", "a"]
    with pytest.raises(RosterError):
        Snapshot.from_igraph(doubled, nodes_are_public=True)


def test_edges_outside_a_given_roster_are_refused() -> None:
    with pytest.raises(OutsideRoster):
        Snapshot.from_networkx(networkx.path_graph(3), roster=Roster.range(2))
    with pytest.raises(OutsideRoster):
        Snapshot.from_igraph(igraph.Graph.Ring(3), roster=Roster.range(2))


@pytest.mark.parametrize("name", ["networkx", "igraph"])
def test_other_objects_are_refused(name: str) -> None:
    with pytest.raises(DataError, match=name):
        getattr(Snapshot, f"from_{name}")([], nodes_are_public=True)


@pytest.mark.parametrize("name", ["networkx", "igraph", "pandas", "polars"])
def test_a_missing_library_is_named_with_its_remedy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    graph = SyntheticGraph(Roster.range(2), [0], [1])
    with pytest.raises(MissingExtra, match=name):
        getattr(graph, f"to_{name}")()


def test_a_kind_with_two_sides_keeps_its_directions() -> None:
    kind = Kind("directed", sides=2)
    graph = SyntheticGraph(Roster("abc"), [1, 0, 1], [0, 1, 2], kind=kind)
    assert graph.kind == kind
    assert set(graph.to_networkx().edges) == {("a", "b"), ("b", "a"), ("b", "c")}
    assert graph.to_igraph().is_directed()
    assert graph.to_scipy().toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 0, 0]]
    assert graph != SyntheticGraph(Roster("abc"), [1, 0, 1], [0, 1, 2])
