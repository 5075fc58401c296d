"""Direction, sides and weights of edges: what readers make of them, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from psgraph import read_stream
from psgraph.errors import DataError, InvalidArgument, OutsideRoster
from psgraph.graph import DIRECTED, TWO_SIDED, UNDIRECTED, Snapshot
from psgraph.streams.overflow import Overflow
from psgraph.streams.rosters import TimedRoster

TABLE = "t,source,target,weight\n0,1,2,3\n0,2,1,1\n0,1,2,2\n1,3,1,900\n"
VIEWS = "u,v,time\nann,7,2024-01-01\nann,7,2024-01-01\nbob,9,2024-01-02\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "edges.csv"
    file.write_text(text)
    return file


def weighted_edges(snapshot: Snapshot) -> dict[tuple[Any, Any], int]:
    assert snapshot.weight is not None
    return dict(zip(snapshot.to_edges(), snapshot.weight.tolist(), strict=True))


def test_direction_is_kept_and_weights_of_repeats_are_added_up(tmp_path: Path) -> None:
    stream = read_stream(written(tmp_path, TABLE), roster=[1, 2, 3], kind="directed", weights=50)
    first, second = stream
    assert stream.kind == first.kind == DIRECTED.with_weights(50)
    assert weighted_edges(first) == {(1, 2): 5, (2, 1): 1}
    assert weighted_edges(second) == {(3, 1): 50}


def test_without_options_edges_are_undirected_and_unweighted_and_that_is_said(
    tmp_path: Path,
) -> None:
    stream = read_stream(written(tmp_path, TABLE), roster=[1, 2, 3])
    assert stream.dropped == ("direction", "weights")
    assert [each.to_edges() for each in stream] == [[(1, 2)], [(1, 3)]]
    meant = read_stream(
        written(tmp_path, TABLE), roster=[1, 2, 3], kind="undirected", weights="none"
    )
    assert meant.dropped == ()
    assert list(meant) == list(stream)


@pytest.mark.parametrize(
    ("columns", "dropped"),
    [
        ("u,v", ()),
        ("caller,callee", ("direction",)),
        ("From,To", ("direction",)),
        ("u,v,weight", ("weights",)),
    ],
)
def test_columns_alone_decide_what_is_said_to_be_left_out(
    tmp_path: Path, columns: str, dropped: tuple[str, ...]
) -> None:
    names = columns.split(",")
    for rows in ("", "0,1,2,1\n0,2,1,1\n"):  # with both directions, or without a row
        text = (
            "t,"
            + columns
            + "\n"
            + "\n".join(",".join(row.split(",")[: len(names) + 1]) for row in rows.splitlines())
        )
        stream = read_stream(
            written(tmp_path, text),
            roster=[1, 2],
            times="0..0",
            columns={"u": names[0], "v": names[1]},
        )
        assert stream.dropped == dropped


def test_rows_of_an_edge_are_counted_where_there_is_no_column_of_weights(tmp_path: Path) -> None:
    sides = {"left": ["ann", "bob"], "right": [7, 8, 9]}
    stream = read_stream(written(tmp_path, VIEWS), every="1d", close_last=True, weights=5, **sides)
    assert stream.kind == TWO_SIDED.with_weights(5)
    assert [weighted_edges(each) for each in stream] == [{("ann", 7): 2}, {("bob", 9): 1}]


def test_an_id_may_be_on_both_sides_and_on_the_wrong_one_it_is_unknown(tmp_path: Path) -> None:
    file = written(tmp_path, "t,u,v\n0,7,7\n0,7,8\n")
    (snapshot,) = read_stream(file, left=[7], right=[7, 8])
    assert snapshot.to_edges() == [(7, 7), (7, 8)]
    assert snapshot.pair_count == 2
    with pytest.raises(OutsideRoster, match="on the left"):
        list(read_stream(file, left=[7, 8], right=[7]))


def test_sides_from_the_edges_have_the_nodes_with_an_edge(tmp_path: Path) -> None:
    stream = read_stream(
        written(tmp_path, VIEWS),
        every="1d",
        close_last=True,
        roster_from_edges=True,
        kind="two-sided",
    )
    first, second = stream
    assert [each.roster.sizes for each in (first, second)] == [(1, 1), (1, 1)]
    assert first.roster.declared == "edges"


def test_a_side_may_change_over_time(tmp_path: Path) -> None:
    users = TimedRoster(["ann", "bob"], [None, "2024-01-02"], [None, None])
    stream = read_stream(
        written(tmp_path, VIEWS), every="1d", close_last=True, left=users, right=[7, 8, 9]
    )
    assert [each.roster.sizes for each in stream] == [(1, 3), (2, 3)]


def test_cumulative_snapshots_keep_kind_and_weights(tmp_path: Path) -> None:
    stream = read_stream(
        written(tmp_path, VIEWS + "ann,7,2024-01-02\n"),
        every="1d",
        close_last=True,
        cumulative=True,
        weights=5,
        left=["ann", "bob"],
        right=[7, 8, 9],
    )
    assert [weighted_edges(each) for each in stream] == [
        {("ann", 7): 2},
        {("ann", 7): 3, ("bob", 9): 1},
    ]


@pytest.mark.parametrize("weight", ["0", "-1", "1.5", "x", "", str(10**20)])
def test_a_weight_that_is_no_positive_integer_makes_a_bad_row(tmp_path: Path, weight: str) -> None:
    file = written(tmp_path, f"t,u,v,weight\n0,1,2,1\n0,2,3,{weight}\n")
    with pytest.raises(DataError) as caught:
        list(read_stream(file, roster=[1, 2, 3], weights=8))
    assert weight == "" or weight not in str(caught.value)
    (snapshot,) = read_stream(file, roster=[1, 2, 3], weights=8, bad_rows="skip", times="0..0")
    assert weighted_edges(snapshot) == {(1, 2): 1}


def test_a_weight_beyond_the_largest_counts_as_the_largest(tmp_path: Path) -> None:
    file = written(tmp_path, f"t,u,v,weight\n0,1,2,{10**18}\n0,2,1,{10**18}\n")
    (snapshot,) = read_stream(file, roster=[1, 2], weights=8)
    assert weighted_edges(snapshot) == {(1, 2): 8}


def test_a_frame_of_fractions_is_refused_and_one_of_whole_floats_is_not() -> None:
    frame = pd.DataFrame({"t": [0, 0], "u": [1, 2], "v": [2, 3], "weight": [2.0, 1.0]})
    (snapshot,) = read_stream(frame, roster=[1, 2, 3], weights=8)
    assert weighted_edges(snapshot) == {(1, 2): 2, (2, 3): 1}
    with pytest.raises(DataError):
        list(read_stream(frame.assign(weight=[2.5, 1.0]), roster=[1, 2, 3], weights=8))
    with pytest.raises(DataError):
        list(read_stream(frame.assign(weight=["a", "b"]), roster=[1, 2, 3], weights=8))


@pytest.mark.parametrize(
    "options",
    [
        {"left": [1]},
        {"right": [1]},
        {"left": [1], "right": [2], "roster": [1]},
        {"left": [1], "right": [2], "kind": "directed"},
        {"left": [1], "right": [2], "roster_from_edges": True},
        {"roster": [1], "kind": "two-sided"},
        {"roster": [1], "kind": "signed"},
        {"roster": [1], "weights": 1},
        {"roster": [1], "weights": 1.5},
        {"roster": [1], "weights": "many"},
    ],
)
def test_options_that_contradict_each_other_are_refused_before_anything_is_read(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgument):
        read_stream(tmp_path / "missing.csv", **options)


@pytest.mark.parametrize("most", [0, 10**6])
@pytest.mark.parametrize("kind", ["undirected", "directed", "two-sided"])
def test_snapshots_are_the_same_in_memory_and_on_disk(tmp_path: Path, kind: str, most: int) -> None:
    rows = "".join(f"0,{n % 7},{n * n % 5},{n % 3 + 1}\n" for n in range(200))
    file = written(tmp_path, "t,u,v,weight\n" + rows)
    nodes: dict[str, Any] = {"roster": [*range(7)], "kind": kind}
    if kind == "two-sided":
        nodes = {"left": [*range(7)], "right": [*range(5)]}
    (expected,) = read_stream(file, weights=9, **nodes)
    with Overflow(most=most) as overflow:
        (found,) = overflow.read(read_stream(file, weights=9, store=overflow, **nodes))
        assert found == expected
        assert found.kind.weighted
    assert expected.kind != UNDIRECTED
