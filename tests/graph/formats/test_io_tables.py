"""Arrow, pandas and polars tables."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import DataError, OutsideRoster, RosterError
from psgraph.graph import Dropped, Roster, Snapshot, SyntheticGraph

pairs_of_ids = st.sampled_from(
    [st.integers(0, 9), st.text("abcdefé", min_size=1, max_size=2)]
).flatmap(lambda kind: st.lists(st.tuples(kind, kind), min_size=1, max_size=20))


def tables(pairs: list[tuple[Any, Any]]) -> list[Any]:
    u, v = [a for a, _ in pairs], [b for _, b in pairs]
    arrow = pa.table({"u": u, "other": [None] * len(u), "v": v})
    found = [arrow, arrow.to_pandas(), polars.from_arrow(arrow), polars.from_arrow(arrow).lazy()]
    found.append(pa.concat_tables([arrow.slice(0, 1), arrow.slice(1)]))
    for index in (0, 2):
        arrow = arrow.set_column(index, arrow.column_names[index], arrow[index].dictionary_encode())
    return [*found, arrow]


@given(pairs_of_ids)
def test_every_kind_of_table_says_the_same(pairs: list[tuple[Any, Any]]) -> None:
    roster = Roster(sorted({end for pair in pairs for end in pair}))
    given_roster = Snapshot.from_edges(pairs, roster=roster)
    from_edges = Snapshot.from_edges(pairs, roster_from_edges=True)
    for table in tables(pairs):
        one = Snapshot.from_table(table, roster=roster)
        other = Snapshot.from_table(table, roster_from_edges=True)
        assert (one, one.dropped) == (given_roster, given_roster.dropped)
        assert (other, other.dropped) == (from_edges, from_edges.dropped)


@given(pairs_of_ids)
def test_tables_there_and_back(pairs: list[tuple[Any, Any]]) -> None:
    graph = SyntheticGraph.from_edges(pairs, roster_from_edges=True)
    for table in (graph.to_arrow(), graph.to_pandas(), graph.to_polars()):
        assert SyntheticGraph.from_table(table, roster=graph.roster) == graph
    rows = graph.to_arrow().to_pylist()
    assert [(row["u"], row["v"]) for row in rows] == graph.to_edges()
    assert list(graph.to_polars().iter_rows()) == graph.to_edges()
    assert list(graph.to_pandas().itertuples(index=False, name=None)) == graph.to_edges()


@pytest.mark.parametrize("roster", [Roster.range(3), Roster("abc")])
def test_no_edges_there_and_back(roster: Roster) -> None:
    graph = SyntheticGraph(roster, [], [])
    for table in (graph.to_arrow(), graph.to_pandas(), graph.to_polars()):
        assert len(table) == 0
        assert SyntheticGraph.from_table(table, roster=roster) == graph
        assert len(SyntheticGraph.from_table(table, roster_from_edges=True).roster) == 0


def test_columns_may_have_other_names() -> None:
    table = pa.table({"head": ["x"], "tail": ["y"]})
    snapshot = Snapshot.from_table(table, roster=Roster("xy"), columns=("head", "tail"))
    assert snapshot.to_edges() == [("x", "y")]
    with pytest.raises(DataError, match="'head', 'tail'"):
        Snapshot.from_table(table, roster=Roster("xy"))


def test_a_node_with_only_a_loop_is_not_in_a_roster_from_edges() -> None:
    table = pa.table({"u": ["a", "c"], "v": ["b", "c"]})
    snapshot = Snapshot.from_table(table, roster_from_edges=True)
    assert snapshot.roster == Roster("ab", declared="edges")
    assert snapshot.dropped == Dropped(self_loops=1)


SECRET = "SECRET_NODE_4711"


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"u": [1], "v": ["a"]}),
        pandas.DataFrame({"u": [1, SECRET], "v": [1, 2]}),
        pa.table({"u": [1, None], "v": [1, 2]}),
        pandas.DataFrame({"u": [1, None], "v": [1, 2]}),
        pa.table({"u": [SECRET, None], "v": ["a", "b"]}),
        pa.table({"u": [1.5], "v": [1.0]}),
        pa.table({"u": [True], "v": [False]}),
        pa.table({"u": [b"a"], "v": [b"b"]}),
        pa.table({"u": [[1]], "v": [[2]]}),
        pa.table({"u": [1]}),
        pa.table([[1], [1], [2]], names=["u", "u", "v"]),
        pa.table({"u": [SECRET], "v": [SECRET]}),
        object(),
        None,
    ],
)
def test_wrong_tables_are_refused_without_showing_a_cell(table: Any) -> None:
    with pytest.raises(DataError) as caught:
        Snapshot.from_table(table, roster=Roster.range(3))
    assert SECRET not in str(caught.value)


def test_unknown_nodes_and_missing_rosters_are_refused() -> None:
    table = pa.table({"u": [SECRET], "v": ["b"]})
    with pytest.raises(OutsideRoster) as caught:
        Snapshot.from_table(table, roster=Roster("ab"))
    assert SECRET not in str(caught.value)
    with pytest.raises(OutsideRoster):
        Snapshot.from_table(table, roster=Roster([]))
    for columns in ({"u": ["a"], "v": ["b"]}, {"u": [1], "v": [2]}):
        with pytest.raises(RosterError):
            Snapshot.from_table(pa.table(columns))


def test_strings_are_written_without_python_objects() -> None:
    ids = [f"node-{number}" for number in range(1000)]
    u, v = np.random.default_rng(1).integers(0, 1000, (2, 200_000))
    graph = SyntheticGraph(Roster(ids), u, v)
    graph.to_arrow()  # the ids themselves are turned once
    tracemalloc.start()
    try:
        table = graph.to_arrow()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert table.num_rows == graph.edge_count
    assert peak < graph.edge_count  # not one byte of Python's memory for an edge
