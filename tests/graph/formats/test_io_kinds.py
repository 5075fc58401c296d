"""Directed, two-sided and weighted graphs: there and back through every library, and bad input."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import igraph
import networkx
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import psgraph as pg
from psgraph.errors import DataError, InvalidArgument, OutsideRoster
from psgraph.graph import (
    DIRECTED,
    TWO_SIDED,
    UNDIRECTED,
    Graph,
    Kind,
    Roster,
    Snapshot,
    SyntheticGraph,
    TwoSidedRoster,
)
from psgraph.graph.formats.columns import ColumnNames
from psgraph.graph.formats.features import dropped_features
from psgraph.streams import read_stream

KINDS = (UNDIRECTED, DIRECTED, TWO_SIDED)


def rosters() -> st.SearchStrategy[Roster]:
    texts, integers = st.text("abc", max_size=2), st.integers(-5, 10**12)
    return st.one_of(st.lists(each, max_size=5, unique=True) for each in (texts, integers)).map(
        Roster
    )


@st.composite
def graphs(draw: st.DrawFn) -> SyntheticGraph:
    kind = draw(st.sampled_from(KINDS)).with_weights(draw(st.sampled_from([None, 2, 64])))
    roster = draw(rosters())
    if kind.two_sided:
        roster = TwoSidedRoster(roster, draw(rosters()))
    cells = draw(st.lists(st.integers(0, max(kind.pairs(*roster.sizes) - 1, 0)), max_size=9))
    cells = cells if kind.pairs(*roster.sizes) else []
    u, v = kind.pair_of(np.array(cells, dtype=np.int64), *roster.sizes, inside=kind.two_sided)
    weights = st.lists(st.integers(1, 99), min_size=len(cells), max_size=len(cells))
    weight = draw(weights) if kind.weighted else None
    return SyntheticGraph(roster, u, v + roster.offset, kind=kind, weight=weight)


TABLES: dict[str, Callable[..., SyntheticGraph]] = {
    "networkx": SyntheticGraph.from_networkx,
    "igraph": SyntheticGraph.from_igraph,
    "scipy": SyntheticGraph.from_scipy,
    "arrow": SyntheticGraph.from_table,
    "pandas": SyntheticGraph.from_table,
    "polars": SyntheticGraph.from_table,
    "edges": SyntheticGraph.from_edges,
}


def edges_of(graph: Graph) -> list[tuple[Any, ...]]:
    """The edges as pairs of ids, or as triples with their weights."""
    if graph.weight is None:
        return graph.to_edges()
    return [(*ends, w) for ends, w in zip(graph.to_edges(), graph.weight.tolist(), strict=True)]


@pytest.mark.parametrize("library", TABLES)
@given(graph=graphs())
def test_every_kind_survives_the_round_trip(library: str, graph: SyntheticGraph) -> None:
    there = edges_of(graph) if library == "edges" else getattr(graph, f"to_{library}")()
    assert TABLES[library](there, roster=graph.roster, kind=graph.kind) == graph


@pytest.mark.parametrize("library", ["networkx", "igraph", "scipy"])
@given(graph=graphs())
def test_every_kind_is_read_back_with_the_nodes_of_the_object(
    library: str, graph: SyntheticGraph
) -> None:
    there = getattr(graph, f"to_{library}")()
    back = TABLES[library](there, nodes_are_public=True, kind=graph.kind)
    assert back.roster.sizes == graph.roster.sizes
    if library != "scipy":  # a matrix has no ids
        assert edges_of(back) == edges_of(graph)


def test_a_directed_weighted_graph_in_each_library() -> None:
    graph = SyntheticGraph.from_edges(
        [("a", "b", 3), ("b", "a", 1)], roster=["a", "b", "c"], kind="directed", weights=9
    )
    assert edges_of(graph) == [("a", "b", 3), ("b", "a", 1)]
    other = graph.to_networkx()
    assert isinstance(other, networkx.DiGraph)
    assert dict(other.edges) == {("a", "b"): {"weight": 3}, ("b", "a"): {"weight": 1}}
    drawn = graph.to_igraph()
    assert (drawn.is_directed(), drawn.es["weight"]) == (True, [3, 1])
    assert graph.to_scipy().toarray().tolist() == [[0, 3, 0], [1, 0, 0], [0, 0, 0]]
    assert graph.to_arrow().to_pydict() == {"u": ["a", "b"], "v": ["b", "a"], "weight": [3, 1]}


def test_a_two_sided_graph_in_each_library() -> None:
    graph = SyntheticGraph.from_edges(
        [("ann", 7, 2), ("bob", 9, 4)], left=["ann", "bob"], right=[7, 8, 9], weights=9
    )
    other = graph.to_networkx()
    assert type(other) is networkx.Graph
    assert dict(other.nodes(data="bipartite")) == {"ann": 0, "bob": 0, 7: 1, 8: 1, 9: 1}
    assert networkx.is_bipartite(other)
    drawn = graph.to_igraph()
    assert drawn.is_bipartite()
    assert drawn.vs["type"] == [False, False, True, True, True]
    assert graph.to_scipy().toarray().tolist() == [[2, 0, 0], [0, 0, 4]]
    assert graph.to_arrow().to_pydict() == {"u": ["ann", "bob"], "v": [7, 9], "weight": [2, 4]}


def test_nodes_with_one_id_on_both_sides_stay_apart() -> None:
    graph = SyntheticGraph.from_edges([(7, 7), (8, 7)], left=[7, 8], right=[7])
    other = graph.to_networkx()
    assert set(other.nodes) == {("left", 7), ("left", 8), ("right", 7)}
    assert SyntheticGraph.from_networkx(other, left=[7, 8], right=[7]) == graph
    assert graph.to_igraph().vs["name"] == [7, 8, 7]


# ---- parallel edges, and both directions of a pair ----


@pytest.mark.parametrize(
    ("kind", "edges"),
    [
        (UNDIRECTED, [(1, 2, 6), (2, 3, 1)]),
        (DIRECTED, [(1, 2, 5), (2, 1, 1), (2, 3, 1)]),
    ],
)
def test_the_weights_of_parallel_edges_add_up(kind: Kind, edges: list[Any]) -> None:
    triples = [(1, 2, 2), (1, 2, 3), (2, 1, 1), (2, 3, 1), (3, 3, 5)]
    other = networkx.MultiDiGraph()
    other.add_weighted_edges_from(triples[:3])
    other.add_edges_from([(2, 3), (3, 3)])
    drawn = igraph.Graph(n=4, edges=[triple[:2] for triple in triples], directed=True)
    drawn.es["weight"] = [triple[2] for triple in triples]
    table = pa.table(dict(zip(("u", "v", "weight"), zip(*triples, strict=True), strict=True)))
    options: dict[str, Any] = {"roster": range(4), "kind": kind, "weights": 8}
    assert edges_of(Snapshot.from_networkx(other, **options)) == edges
    assert edges_of(Snapshot.from_igraph(drawn, **options)) == edges
    assert edges_of(Snapshot.from_table(table, **options)) == edges
    assert edges_of(Snapshot.from_edges(triples, **options)) == edges
    assert Snapshot.from_edges(triples, **{**options, "weights": 2}).weight.max() == 2  # type: ignore[union-attr]
    plain = Snapshot.from_networkx(other, roster=range(4))
    assert plain.to_edges() == [(1, 2), (2, 3)]


def test_rows_without_a_weight_count_one_each() -> None:
    table = pa.table({"u": [1, 1, 2], "v": [2, 2, 3]})
    snapshot = Snapshot.from_table(table, roster=range(4), weights=9)
    assert edges_of(snapshot) == [(1, 2, 2), (2, 3, 1)]


def test_a_matrix_of_an_undirected_graph_counts_an_edge_once() -> None:
    symmetric = [[0, 3, 0], [3, 0, 2], [0, 2, 0]]
    for matrix in (symmetric, np.triu(symmetric), np.tril(symmetric)):
        snapshot = Snapshot.from_scipy(np.array(matrix), nodes_are_public=True, weights=9)
        assert edges_of(snapshot) == [(0, 1, 3), (1, 2, 2)]
    directed = Snapshot.from_scipy(np.array(symmetric), nodes_are_public=True, kind="directed")
    assert len(directed.to_edges()) == 4


def test_large_entries_of_a_matrix_are_clipped_before_they_are_added() -> None:
    entries = [10**18] * 20  # their sum needs more than 64 bits
    matrix = scipy.sparse.coo_array((entries, ([0] * 20, [1] * 20)), shape=(2, 2))
    snapshot = Snapshot.from_scipy(matrix, nodes_are_public=True, weights=64)
    assert edges_of(snapshot) == [(0, 1, 64)]


# ---- bad weights ----

BAD = [0, -1, 1.5, math.nan, math.inf, "3", "many", None, True, Decimal("1.5")]


def with_weight(weight: Any) -> dict[str, Callable[..., Snapshot]]:
    other = networkx.Graph()
    other.add_edge(0, 1, weight=weight)
    drawn = igraph.Graph(n=2, edges=[(0, 1)])
    drawn.es["weight"] = [weight]
    columns = {"u": [0], "v": [1], "weight": [weight]}
    return {
        "edges": lambda **options: Snapshot.from_edges([(0, 1, weight)], **options),
        "ids": lambda **options: Snapshot.from_ids([0], [1], [weight], **options),
        "networkx": lambda **options: Snapshot.from_networkx(other, **options),
        "igraph": lambda **options: Snapshot.from_igraph(drawn, **options),
        "arrow": lambda **options: Snapshot.from_table(pa.table(columns), **options),
        "pandas": lambda **options: Snapshot.from_table(pandas.DataFrame(columns), **options),
        "polars": lambda **options: Snapshot.from_table(
            polars.DataFrame(columns, strict=False), **options
        ),
    }


@pytest.mark.parametrize("weight", BAD, ids=repr)
@pytest.mark.parametrize("source", with_weight(1))
def test_a_bad_weight_is_refused_and_not_shown(source: str, weight: Any) -> None:
    build = with_weight(weight)[source]
    with pytest.raises(DataError) as caught:
        build(roster=range(2), weights=4)
    assert caught.value.code == "weights"
    assert str(weight) not in str(caught.value).replace("at least 1", "").replace("None", "")
    assert edges_of(build(roster=range(2))) == [(0, 1)]  # weights that are not read are not checked


@pytest.mark.parametrize("weight", [10**18, 10**30, 1e18, np.uint64(2**63)])
@pytest.mark.parametrize("source", ["edges", "ids", "networkx", "igraph"])
def test_a_large_weight_counts_as_the_largest(source: str, weight: Any) -> None:
    assert edges_of(with_weight(weight)[source](roster=range(2), weights=4)) == [(0, 1, 4)]


def test_a_bad_entry_of_a_matrix_is_refused() -> None:
    for entry in (-1, 1.5, math.nan):
        matrix = np.array([[0, entry], [0, 0]])
        with pytest.raises(DataError) as caught:
            Snapshot.from_scipy(matrix, nodes_are_public=True, weights=4)
        assert caught.value.code == "weights"
    truth = np.array([[False, True], [False, False]])
    assert edges_of(Snapshot.from_scipy(truth, nodes_are_public=True, weights=4)) == [(0, 1, 1)]


# ---- sides ----


def test_ends_in_any_order_are_put_on_their_sides() -> None:
    marked = networkx.Graph([("x", "a"), ("b", "y")])
    networkx.set_node_attributes(marked, {"a": 0, "b": 0, "x": 1, "y": 1}, "bipartite")
    expected = [("a", "x"), ("b", "y")]
    options: dict[str, Any] = {"left": ["a", "b"], "right": ["x", "y"]}
    assert edges_of(Snapshot.from_networkx(marked, **options)) == expected
    for declared in ("nodes_are_public", "roster_from_edges"):
        snapshot = Snapshot.from_networkx(marked, kind="two-sided", **{declared: True})
        assert edges_of(snapshot) == expected
    plain = networkx.Graph([("x", "a"), ("b", "y")])
    assert edges_of(Snapshot.from_networkx(plain, **options)) == expected
    arrows = networkx.DiGraph([("a", "x"), ("b", "y")])
    assert edges_of(Snapshot.from_networkx(arrows, **options)) == expected
    assert Snapshot.from_networkx(
        arrows, kind="two-sided", roster_from_edges=True
    ).roster.sizes == (2, 2)
    drawn = igraph.Graph(n=4, edges=[(2, 0), (1, 3)])
    drawn.vs["name"], drawn.vs["type"] = ["a", "b", "x", "y"], [False, False, True, True]
    assert edges_of(Snapshot.from_igraph(drawn, **options)) == expected


@pytest.mark.parametrize("edge", [("x", "a"), ("a", "b"), ("x", "y"), ("a", "z")])
def test_an_id_on_the_wrong_side_is_an_unknown_node(edge: tuple[str, str]) -> None:
    options: dict[str, Any] = {"left": ["a", "b"], "right": ["x", "y"]}
    table = pa.table({"u": [edge[0]], "v": [edge[1]]})
    with pytest.raises(OutsideRoster):
        Snapshot.from_edges([edge], **options)
    with pytest.raises(OutsideRoster):
        Snapshot.from_table(table, **options)
    with pytest.raises(OutsideRoster):
        Snapshot.from_networkx(networkx.DiGraph([edge]), **options)
    if edge != ("x", "a"):  # an undirected graph object has no order
        with pytest.raises(OutsideRoster):
            Snapshot.from_networkx(networkx.Graph([edge]), **options)


def test_an_edge_inside_one_side_is_refused_also_if_its_id_is_on_both() -> None:
    other = networkx.Graph([(("left", 7), ("left", 8))])
    with pytest.raises(OutsideRoster):
        Snapshot.from_networkx(other, left=[7, 8], right=[7, 8])


def test_sides_that_nobody_declared_are_not_guessed() -> None:
    plain = networkx.Graph([("x", "a")])
    for declared in ("nodes_are_public", "roster_from_edges"):
        with pytest.raises(InvalidArgument):
            Snapshot.from_networkx(plain, kind="two-sided", **{declared: True})
    with pytest.raises(InvalidArgument):  # which 7 is on the left?
        Snapshot.from_networkx(networkx.Graph([(7, 8)]), left=[7, 8], right=[7, 8])
    marked = networkx.Graph([("x", "a")])
    marked.nodes["a"]["bipartite"] = 0
    with pytest.raises(DataError):
        Snapshot.from_networkx(marked, left=["a"], right=["x"])


def test_a_matrix_of_a_two_sided_graph_is_rectangular() -> None:
    matrix = np.array([[0, 2, 0], [5, 0, 0]])
    snapshot = Snapshot.from_scipy(matrix, left=["b", "a"], right=[30, 20, 10], weights=9)
    assert edges_of(snapshot) == [("a", 30, 5), ("b", 20, 2)]  # the order of the lists counts
    snapshot = Snapshot.from_scipy(matrix, kind="two-sided", nodes_are_public=True)
    assert (snapshot.roster.sizes, edges_of(snapshot)) == ((2, 3), [(0, 1), (1, 0)])
    with pytest.raises(DataError):
        Snapshot.from_scipy(matrix, left=["a"], right=[1, 2, 3])


@pytest.mark.parametrize(
    "options",
    [
        {"left": [1]},
        {"right": [1]},
        {"left": [1], "right": [2], "roster": [1]},
        {"left": [1], "right": [2], "kind": "directed"},
        {"left": [1], "right": [2], "roster_from_edges": True},
        {"roster": [1, 2], "kind": "two-sided"},
        {"roster": [1, 2], "kind": "bipartite"},
        {"roster": [1, 2], "kind": 3},
        {"roster": [1, 2], "weights": 1},
        {"roster": [1, 2], "weights": 2.0},
        {"roster": [1, 2], "weights": 4, "kind": DIRECTED.with_weights(8)},
        {"nodes_are_public": True},
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Snapshot.from_edges([(1, 2)], **options)


@pytest.mark.parametrize("source", [networkx.Graph(), igraph.Graph()])
def test_an_undirected_graph_object_gives_no_directions(source: Any) -> None:
    read = getattr(Snapshot, f"from_{type(source).__module__.partition('.')[0]}")
    with pytest.raises(InvalidArgument):
        read(source, kind="directed", nodes_are_public=True)


# ---- what is dropped ----


def test_what_a_graph_object_has_is_told_by_its_type_only() -> None:
    weighted = networkx.Graph()
    weighted.add_edge(0, 1, weight=3)
    assert dropped_features(weighted) == dropped_features(networkx.Graph()) == ()
    assert dropped_features(weighted, look_at_edges=True) == ("weights",)
    assert dropped_features(networkx.MultiDiGraph()) == ("direction", "weights")
    assert dropped_features(networkx.MultiDiGraph(), DIRECTED) == ("weights",)
    assert dropped_features(networkx.MultiDiGraph(), DIRECTED.with_weights(4)) == ()
    matrix = scipy.sparse.coo_array(([3, 1], ([0, 2], [1, 0])), shape=(3, 3))
    assert dropped_features(matrix) == ()
    assert dropped_features(matrix, look_at_edges=True) == ("direction", "weights")
    assert dropped_features([(1, 2)], look_at_edges=True) == ()


def test_what_a_graph_has_is_told_by_the_names_of_its_attributes_and_columns() -> None:
    drawn = igraph.Graph(directed=True)
    drawn.es["weight"] = []
    drawn.vs["type"] = []
    assert dropped_features(drawn) == ("direction", "weights", "sides")
    assert dropped_features(drawn, TWO_SIDED) == ("weights",)
    assert dropped_features(pandas.DataFrame({"Source": [], "Target": [], "t": []})) == (
        "direction",
    )
    assert dropped_features(polars.LazyFrame({"u": [], "v": [], "weight": []})) == ("weights",)
    columns = ColumnNames.parse("u=caller,v=callee,weight=minutes")
    table = pa.table({"caller": [], "callee": [], "minutes": []})
    assert dropped_features(table, columns=columns) == ("direction", "weights")
    assert dropped_features(pa.table({"u": [], "v": []})) == ()


# ---- streams of graph objects ----


def test_a_list_of_directed_weighted_graph_objects_is_a_stream() -> None:
    other = networkx.DiGraph()
    other.add_edge(0, 1, weight=3)
    stream = read_stream([other], roster=range(3), kind="directed", weights=8)
    assert [edges_of(each) for each in stream] == [[(0, 1, 3)]]
    assert (stream.kind, stream.dropped) == (DIRECTED.with_weights(8), ())
    array = np.array([[0, 1, 3], [1, 0, 2]])
    stream = read_stream([array], roster=range(3), kind="directed", weights=8)
    assert [edges_of(each) for each in stream] == [[(0, 1, 3), (1, 0, 2)]]


def test_a_stream_of_graph_objects_says_what_it_drops() -> None:
    other = networkx.MultiDiGraph([(0, 1)])
    assert read_stream([other], roster=range(3)).dropped == ("direction", "weights")
    assert read_stream({"mon": other}, roster=range(3)).dropped == ("direction", "weights")
    assert read_stream([other], roster=range(3), kind="undirected").dropped == ("weights",)


def test_a_list_of_two_sided_graph_objects_is_a_stream() -> None:
    matrix = scipy.sparse.csr_array(np.array([[0, 2, 0], [5, 0, 0]]))
    stream = read_stream([matrix], left=["a", "b"], right=[7, 8, 9], weights=4)
    assert [edges_of(each) for each in stream] == [[("a", 8, 2), ("b", 7, 4)]]


def test_what_a_graph_object_drops_is_said_unless_it_is_meant() -> None:
    calls = networkx.MultiDiGraph([(1, 2), (1, 2), (2, 1)])
    with pytest.warns(UserWarning, match="a direction and weights"):
        assert Snapshot.from_networkx(calls, roster=[1, 2]).to_edges() == [(1, 2)]
    with pytest.warns(UserWarning, match="unweighted"):
        Snapshot.from_networkx(calls, roster=[1, 2], kind="directed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Snapshot.from_networkx(calls, roster=[1, 2], kind="undirected", weights="none")
        Snapshot.from_networkx(calls, roster=[1, 2], kind="directed", weights=8)
        Snapshot.from_networkx(networkx.Graph([(1, 2)]), roster=[1, 2])
        triangle = np.array([[0, 1], [0, 0]])  # an undirected edge may stand once
        Snapshot.from_scipy(triangle, nodes_are_public=True)


def paired() -> networkx.Graph:
    graph = networkx.Graph([(1, 3), (2, 3)])
    networkx.set_node_attributes(graph, {1: 0, 2: 0, 3: 1}, "bipartite")
    return graph


def weighted() -> networkx.Graph:
    graph = networkx.Graph()
    graph.add_edge(1, 2, weight=3)
    return graph


@pytest.mark.parametrize(
    ("made", "words"),
    [(weighted, "unweighted"), (paired, "two sides")],
    ids=["weights of edges", "sides of nodes"],
)
def test_what_edges_and_nodes_carry_is_said_too_but_not_by_certificates(
    made: Callable[[], networkx.Graph], words: str
) -> None:
    with pytest.warns(UserWarning, match=words):
        Snapshot.from_networkx(made(), roster=[1, 2, 3])
    with pytest.warns(UserWarning, match=words):
        stream = pg.read_stream([made()], roster=[1, 2, 3])
    assert stream.dropped == ()


def test_a_graph_object_of_two_sides_is_not_published_as_one_in_silence() -> None:
    graph = igraph.Graph.Bipartite([0, 0, 1], [(0, 2), (1, 2)])
    with pytest.warns(UserWarning, match="two sides"):
        Snapshot.from_igraph(graph, nodes_are_public=True)
    assert pg.read_stream([graph], nodes_are_public=True).dropped == ("sides",)
    meant = pg.read_stream([graph], nodes_are_public=True, kind="undirected")
    assert meant.dropped == ()


def test_an_iterator_of_graph_objects_tells_what_is_dropped_with_the_first(tmp_path: Path) -> None:
    calls = [networkx.DiGraph([(1, 2)]), networkx.DiGraph([(2, 1)])]
    with pytest.warns(UserWarning, match="a direction"):
        pg.publish(
            iter(calls), epsilon=1, window=2, method="tmf", out=tmp_path / "out", roster=[1, 2]
        )
    releases = pg.read_releases(tmp_path / "out")
    assert [each.certificate.dropped for each in releases] == [("direction",)] * 2
