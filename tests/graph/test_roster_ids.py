"""Rosters given as plain lists of ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas
import pytest

from psgraph.errors import InvalidArgument, OutsideRoster
from psgraph.graph import Roster, Snapshot


@pytest.mark.parametrize(
    "ids",
    [[3, 1, 2], (1, 2, 3), {1, 2, 3}, range(1, 4), np.array([1, 2, 3]), pandas.Series([3, 2, 1])],
)
def test_a_list_of_ids_is_a_roster(ids: Any) -> None:
    snapshot = Snapshot.from_edges([(1, 2)], roster=ids)
    assert snapshot.roster == Roster([1, 2, 3])
    assert snapshot.roster.declared == "given"


def test_every_way_in_takes_a_list_of_ids() -> None:
    table = pandas.DataFrame({"u": [1], "v": [2]})
    graph = networkx.Graph([(1, 2)])
    for snapshot in (
        Snapshot.from_table(table, roster=[1, 2, 3]),
        Snapshot.from_networkx(graph, roster=[1, 2, 3]),
        Snapshot.from_ids([1], [2], roster=[1, 2, 3]),
    ):
        assert snapshot == Snapshot(Roster([1, 2, 3]), [0], [1])


def test_rows_of_a_matrix_follow_the_list_and_not_the_sorted_roster() -> None:
    matrix = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    assert Snapshot.from_scipy(matrix, roster=[30, 10, 20]).to_edges() == [(10, 30)]
    assert Snapshot.from_scipy(matrix, roster=Roster([30, 10, 20])).to_edges() == [(10, 20)]


def test_an_edge_outside_the_list_is_refused() -> None:
    with pytest.raises(OutsideRoster):
        Snapshot.from_edges([(1, 4)], roster=[1, 2, 3])


@pytest.mark.parametrize(
    ("roster", "remedy"),
    [
        ("nodes.csv", "read_roster"),
        (Path("nodes.csv"), "read_roster"),
        (pandas.DataFrame({"id": [1]}), r"frame\['id'\]"),
        (3, r"roster=\[1, 2, 3\]"),
    ],
)
def test_what_is_not_a_list_of_ids_is_refused_with_the_remedy(roster: Any, remedy: str) -> None:
    with pytest.raises(InvalidArgument, match=remedy):
        Snapshot.from_edges([(1, 2)], roster=roster)


def test_positions_need_a_roster_whose_order_is_known() -> None:
    with pytest.raises(InvalidArgument, match="from_edges"):
        Snapshot([3, 1, 2], [0], [1])  # type: ignore[arg-type]
