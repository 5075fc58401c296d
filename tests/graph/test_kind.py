"""The pair space: normal form, keys, numbering and number of pairs."""

import itertools
import pickle

import numpy as np
import pytest

from psgraph.errors import InvalidArgument, UnknownKind
from psgraph.graph.kind import (
    UNDIRECTED,
    Kind,
    find_kind,
    first_end,
    first_key,
    pack,
    pack_pair,
    pack_unordered,
    second_end,
    triangle,
    triangle_row,
    triangular_cell,
    unpack,
)

DIRECTED = Kind("directed", sides=2)
TWO_SIDED = Kind("two-sided", sides=2, rosters=2)


def all_pairs(kind: Kind, nodes: int, others: int) -> list[tuple[int, int]]:
    """List the pairs that can be edges, ascending, straight from the definition."""
    columns = others if kind.rosters == 2 else nodes
    return [
        (u, v)
        for u, v in itertools.product(range(nodes), range(columns))
        if (kind.rosters == 2 or u != v) and (kind.sides == 2 or u < v)
    ]


@pytest.mark.parametrize("kind", [UNDIRECTED, DIRECTED, TWO_SIDED], ids=lambda kind: kind.name)
@pytest.mark.parametrize(("nodes", "others"), [(1, 1), (2, 3), (5, 4), (7, 9)])
def test_pairs_are_counted_and_numbered_as_the_definition_lists_them(kind, nodes, others):
    listed = all_pairs(kind, nodes, others)
    more = others if kind.rosters == 2 else None
    assert kind.pairs(nodes, more) == len(listed)
    inside = kind.rosters == 2
    u, v = np.array(listed, dtype=np.int64).reshape(-1, 2).T
    numbers = np.arange(len(listed))
    np.testing.assert_array_equal(kind.cell_of(u, v, nodes, more, inside=inside), numbers)
    back = kind.pair_of(numbers, nodes, more, inside=inside)
    assert list(zip(back[0].tolist(), back[1].tolist(), strict=True)) == listed
    degrees = np.bincount(u, minlength=nodes)
    if kind.sides == 1:
        degrees = degrees + np.bincount(v, minlength=nodes)
    assert kind.largest_degree(nodes, more) == degrees.max()
    rows = sum(kind.pairs_of_rows(row, row + 1, nodes, more) for row in range(nodes))
    assert rows == len(listed) == kind.pairs_of_rows(0, nodes, nodes, more)


def test_cells_of_blocks_include_a_block_and_itself_on_request():
    a, b = np.triu_indices(6)
    cells = UNDIRECTED.cell_of(a, b, 6, inside=True)
    np.testing.assert_array_equal(cells, np.arange(UNDIRECTED.cell_count(6, inside=True)))
    np.testing.assert_array_equal(UNDIRECTED.pair_of(cells, 6, inside=True), (a, b))


def test_numbers_near_the_largest_graph_come_back():
    nodes = 2**31 - 1
    last = UNDIRECTED.pairs(nodes) - 1
    numbers = np.array([0, 1, nodes - 2, nodes - 1, last // 2, last - 1, last])
    a, b = UNDIRECTED.pair_of(numbers, nodes, inside=False)
    assert (a < b).all()
    np.testing.assert_array_equal(UNDIRECTED.cell_of(a, b, nodes, inside=False), numbers)


def test_undirected_pairs_have_one_key_in_either_order():
    a, b = np.array([3, 2**31 - 2]), np.array([1, 7])
    np.testing.assert_array_equal(UNDIRECTED.keys(a, b), UNDIRECTED.keys(b, a))
    assert [ends.tolist() for ends in unpack(UNDIRECTED.keys(a, b))] == [[1, 7], [3, 2**31 - 2]]


def test_directed_pairs_keep_their_order():
    u, v, dropped = DIRECTED.normalise(np.array([2, 1, 1, 2]), np.array([1, 2, 1, 1]))
    assert (u.tolist(), v.tolist()) == ([1, 2], [2, 1])
    assert (dropped.self_loops, dropped.duplicates) == (1, 1)


def test_two_rosters_have_no_self_loops():
    u, v, dropped = TWO_SIDED.normalise(np.array([1, 0]), np.array([1, 0]))
    assert (u.tolist(), v.tolist(), dropped.total) == ([0, 1], [0, 1], 0)


def test_keys_ascend_like_pairs():
    pairs = list(itertools.product([0, 1, 2, 2**31 - 1], repeat=2))
    keys = pack(*np.array(pairs).T)
    assert (np.diff(keys) > 0).all()
    assert first_key(2) == pack_pair(2, 0)


@pytest.mark.parametrize("compiled", [True, False])
def test_functions_for_kernels_agree_with_those_for_arrays(compiled):
    def call(function, *arguments):
        return (function if compiled else function.py_func)(*arguments)

    for u, v in [(0, 1), (3, 9), (5, 2**31 - 1)]:
        key = call(pack_unordered, np.int32(v), np.int32(u))
        assert key == call(pack_pair, np.int32(u), np.int32(v)) == pack([u], [v])[0]
        assert (call(first_end, key), call(second_end, key)) == (u, v)
    for row in (1, 2, 3, 1000, 2**31 - 1):
        number = call(triangle, np.int64(row))
        assert number == UNDIRECTED.pairs(row)
        assert call(triangle_row, number) == row
        assert call(triangle_row, number + row - 1) == row
    for inside in (True, False):
        for a, b in itertools.combinations(range(5), 2):
            cell = UNDIRECTED.cell_of(np.array([a]), np.array([b]), 5, inside=inside)[0]
            assert call(triangular_cell, b, a, 5, inside) == cell
    assert call(triangular_cell, 2, 2, 5, False) == -1


def test_a_kind_of_a_later_version_is_refused():
    assert find_kind("directed", 8) == DIRECTED.with_weights(8)
    for name, largest in (("signed", None), ("directed", 1), ("directed", 2**31)):
        with pytest.raises(UnknownKind):
            find_kind(name, largest)


def test_kinds_are_values():
    assert pickle.loads(pickle.dumps(UNDIRECTED)) == UNDIRECTED
    assert len({UNDIRECTED, Kind("undirected"), DIRECTED}) == 2


@pytest.mark.parametrize("kind", [DIRECTED, TWO_SIDED])
def test_flows_can_be_read_back(kind: Kind) -> None:
    flows = kind.with_flows()
    assert Kind.from_dict(flows.to_dict()) == flows
    assert find_kind(flows.name, flows.largest_weight, True) == flows
    assert flows.weighted
    assert flows.unweighted == kind
    assert flows.with_weights(5) == kind.with_weights(5)


@pytest.mark.parametrize("stated", [{"flows": 1.5}, {"flows": True, "weights": 3}, {"flows": "no"}])
def test_flows_of_another_form_are_an_unknown_kind(stated: dict[str, object]) -> None:
    with pytest.raises(UnknownKind):
        Kind.from_dict({"kind": "directed", **stated})


def test_undirected_graphs_have_no_flows() -> None:
    with pytest.raises(InvalidArgument):
        UNDIRECTED.with_flows()


def test_flows_are_tables_of_origin_destination_and_count() -> None:
    from pathlib import Path

    from psgraph.graph import Roster, SyntheticGraph
    from psgraph.graph.formats.parquet import decode_table, edge_bytes, kind_of_table, read_pairs

    flows, roster, path = DIRECTED.with_flows(), Roster("abc"), Path("a.parquet")
    graph = SyntheticGraph(roster, [0, 0, 2], [1, 1, 0], kind=flows)
    assert graph.to_arrow().to_pylist() == [
        {"origin": "a", "destination": "b", "count": 2},
        {"origin": "c", "destination": "a", "count": 1},
    ]
    assert graph.to_networkx()["a"]["b"]["weight"] == 2
    content = edge_bytes(roster, graph.parts.whole(), flows)
    assert kind_of_table(decode_table(content, path)) == flows
    assert read_pairs(content, path, roster, flows).weight.tolist() == [2, 1]  # type: ignore[union-attr]
