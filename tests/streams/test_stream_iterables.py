"""Streams from Python objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import igraph
import networkx
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
import scipy.sparse

from psgraph.errors import DataError, InvalidArgument, OutsideRoster, RosterError
from psgraph.graph import Dropped, Roster, Snapshot, SyntheticGraph
from psgraph.streams import read_stream
from psgraph.streams.rosters import TimedRoster

EDGES = [(1, 2), (2, 3), (3, 2), (1, 1)]
HEADS, TAILS = [1, 2, 3, 1], [2, 3, 2, 1]
GRAPHS = [
    networkx.MultiGraph([*EDGES]),
    scipy.sparse.coo_array((np.ones(4), (HEADS, TAILS)), shape=(5, 5)),
]
OTHERS = [
    EDGES,
    set(EDGES),
    [(*edge, "weight") for edge in EDGES],
    (HEADS, TAILS),
    (np.array(HEADS), np.array(TAILS)),
    (pa.array(HEADS), polars.Series(TAILS)),
    np.array(EDGES),
    pa.table({"u": HEADS, "v": TAILS}),
    pandas.DataFrame({"u": HEADS, "v": TAILS}),
    polars.DataFrame({"u": HEADS, "v": TAILS}),
    polars.LazyFrame({"u": HEADS, "v": TAILS}),
]


@pytest.mark.parametrize("item", [*GRAPHS, *OTHERS], ids=lambda item: type(item).__name__)
def test_every_kind_of_item_gives_the_same_snapshot(item: Any) -> None:
    if not scipy.sparse.issparse(item):  # whose rows are the roster, whatever their number
        stream = read_stream([item, item], roster=range(5))
        assert [snapshot.time for snapshot in stream] == ["0", "1"]
        assert [snapshot.to_edges() for snapshot in stream] == [[(1, 2), (2, 3)]] * 2
        assert stream.length == 2
        assert next(iter(stream)).dropped == Dropped(self_loops=1, duplicates=1)
    (snapshot,) = read_stream([item], roster_from_edges=True)
    assert snapshot.roster == Roster([1, 2, 3], declared="edges")
    assert snapshot.to_edges() == [(1, 2), (2, 3)]
    assert snapshot.dropped.self_loops == 1


OBJECTS = [
    networkx.path_graph(4),
    igraph.Graph(n=4, edges=[(0, 1)]),
    scipy.sparse.csr_matrix((4, 4)),
]


@pytest.mark.parametrize("item", OBJECTS, ids=lambda item: type(item).__module__)
def test_graph_objects_need_a_declaration_of_their_nodes(item: Any) -> None:
    with pytest.raises(RosterError):
        read_stream([item])
    with pytest.raises(RosterError):
        list(read_stream(iter([item])))
    for items in ([item], iter([item])):
        (snapshot,) = read_stream(items, nodes_are_public=True)
        assert snapshot.roster == Roster(range(4), declared="nodes")


def test_snapshots_carry_the_roster_they_were_declared_with() -> None:
    item = Snapshot(Roster("ab"), [0], [1])
    (snapshot,) = read_stream(iter([item]))
    assert snapshot.roster == Roster("ab")


@pytest.mark.parametrize("item", OTHERS, ids=lambda item: type(item).__name__)
def test_edges_alone_do_not_say_who_the_nodes_are(item: Any) -> None:
    with pytest.raises(RosterError, match="roster_from_edges"):
        read_stream([Snapshot(Roster("ab"), [0], [1]), item])
    with pytest.raises(RosterError):
        read_stream([networkx.path_graph(3), item], nodes_are_public=True)
    with pytest.raises(RosterError, match="roster_from_edges"):
        list(read_stream(item for item in [item]))


def test_snapshots_pass_through_untouched() -> None:
    snapshots = [Snapshot(Roster.range(3), [0], [1], time="mon"), Snapshot(Roster.range(4), [], [])]
    assert all(one is other for one, other in zip(read_stream(snapshots), snapshots, strict=True))
    again = read_stream(read_stream(snapshots))
    assert list(again) == snapshots
    assert again.length == 2
    given = list(read_stream([snapshots[0]], roster=range(3)))
    assert (given, given[0].time) == ([snapshots[0]], "mon")
    with pytest.raises(RosterError, match="roster"):
        list(read_stream(snapshots, roster=range(3)))
    (converted,) = read_stream([SyntheticGraph(Roster.range(2), [0], [1])])
    assert type(converted) is Snapshot


def test_items_are_taken_one_at_a_time() -> None:
    taken = []

    def days() -> Iterator[list[tuple[int, int]]]:
        for day in range(1_000_000_000):
            taken.append(day)
            yield [(day, day + 1)]

    stream = read_stream(days(), roster_from_edges=True)
    assert taken == []
    assert stream.length is None
    snapshots = iter(stream)
    assert [next(snapshots).time for _ in range(3)] == ["0", "1", "2"]
    assert taken == [0, 1, 2]
    with pytest.raises(DataError):
        iter(stream)


def test_numbers_are_the_times_of_a_changing_roster() -> None:
    roster = TimedRoster([1, 2, 3], [None, None, 1], [None, 1, None])
    first, second = read_stream([[(1, 2)], [(1, 3)]], roster=roster)
    assert (first.roster, second.roster) == (Roster([1, 2]), Roster([1, 3]))
    with pytest.raises(OutsideRoster, match="'1'"):
        list(read_stream([[(1, 2)], [(1, 2)]], roster=roster))


@pytest.mark.parametrize(
    "source",
    [7, None, networkx.path_graph(3), Snapshot(Roster.range(2), [0], [1])],
)
def test_single_graphs_and_other_things_are_no_streams(source: Any) -> None:
    with pytest.raises(InvalidArgument):
        read_stream(source, roster=range(3))


SECRET = "SECRET_NODE_4711"


@pytest.mark.parametrize(
    "item",
    [
        SECRET,
        SECRET.encode(),
        7,
        None,
        [SECRET, 7],
        [(SECRET,)],
        [(SECRET, 1)],
        [(SECRET, "b")],
        ([SECRET], ["a", "b"]),
        [(1, None)],
        np.array([1, 2]),
        np.array([[SECRET], ["b"]]),
        pa.table({SECRET: [1]}).rename_columns(["x"]),
        networkx.Graph([(SECRET, "b")]),
        pandas.DataFrame({"u": [SECRET, 1], "v": [1, 2]}),
        {SECRET: 1},
    ],
    ids=str,
)
def test_broken_items_are_refused_without_showing_them(item: Any) -> None:
    with pytest.raises(DataError, match="'0'") as caught:
        list(read_stream([item], roster=["a", "b"]))
    assert SECRET not in str(caught.value)
    assert str(caught.value).count("the snapshot at") == 1


def test_arguments_that_contradict_each_other() -> None:
    with pytest.raises(InvalidArgument, match="roster_from_edges"):
        read_stream([], roster=[1], roster_from_edges=True)
    with pytest.raises(InvalidArgument, match="every"):
        read_stream([], roster=[1], every="1d")
    with pytest.raises(InvalidArgument, match="cumulative"):
        read_stream([], roster=[1], cumulative=True)
    with pytest.raises(RosterError):
        read_stream([], roster=[1, 1])
