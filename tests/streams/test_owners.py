"""At most θ edges or rows of an owner are used, and which ones says nothing about anybody else."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import psgraph as pg
from psgraph.errors import DataError, InvalidArgument, UnitMismatch
from psgraph.graph.bound import Bound
from psgraph.graph.kind import DIRECTED, TWO_SIDED, Kind
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import EdgeCount
from psgraph.privacy.unit import Owner
from psgraph.streams import overflow, owners
from psgraph.streams.owners import Owners, unit_of

NODES = 3


def _table(rows: list[tuple[int, int, int]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    names = ("rider", "u", "v")
    made = {n: pa.array(c, pa.int64()) for n, c in zip(names, columns, strict=True)}
    return pa.table({"t": pa.array([0] * len(rows), pa.int64()), **made})


def _read(rows: list[tuple[int, int, int]], column: str, at_most: int, **more: Any) -> pg.Snapshot:
    options: dict[str, Any] = {"roster": range(NODES), "kind": "directed", "times": "0..0"}
    options |= more
    (snapshot,) = pg.read_stream(_table(rows), **options, owner=column, at_most=at_most)
    return snapshot


def _pairs(snapshot: pg.Snapshot) -> set[tuple[int, int]]:
    return {*zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True)}


# ---- all tables of three owners and three targets ----


@pytest.fixture(scope="module", params=[1, 2])
def tables(request: pytest.FixtureRequest) -> tuple[int, dict[tuple[bool, ...], pg.Snapshot]]:
    """Every table of three owners on the left and three targets on the right, bounded."""
    roster = pg.TwoSidedRoster(range(3), range(3))
    bound = Owners(Owner("u", request.param), TWO_SIDED)
    cells = [(u, v + 3) for u in range(3) for v in range(3)]
    made = {}
    for there in product((False, True), repeat=9):
        rows = [cell for cell, here in zip(cells, there, strict=True) if here]
        u, v = np.array(rows, dtype=np.int32).reshape(-1, 2).T
        made[there] = bound.of_graph(pg.Snapshot(roster, u, v))
    return request.param, made


def _without(there: tuple[bool, ...], owner: int) -> tuple[bool, ...]:
    return tuple(here and place // 3 != owner for place, here in enumerate(there))


def test_the_edges_in_use_of_others_are_equal_with_and_without_an_owner(tables: Any) -> None:
    at_most, made = tables
    for there, snapshot in made.items():
        for owner in range(3):
            others = {pair for pair in _pairs(snapshot) if pair[0] != owner}
            assert others == _pairs(made[_without(there, owner)])
            assert len(_pairs(snapshot) - others) == min(sum(there[3 * owner :][:3]), at_most)


def test_every_sensitivity_to_an_owner_holds_and_is_attained(tables: Any) -> None:
    at_most, made = tables
    largest: dict[str, float] = {}
    for there, snapshot in made.items():
        for owner in range(3):
            one, other = _counts(snapshot), _counts(made[_without(there, owner)])
            for name, counts in one.items():
                distance = float(np.abs(counts - other[name]).sum())
                largest[name] = max(largest.get(name, 0), distance)
    assert largest == {
        "edges": at_most,
        "degrees on the right": at_most,
        "degrees on the left": at_most,
        "curve on the right": at_most,
        "curve on the left": at_most,
        "cells": at_most,
        "owners": 1,
        "owners by edges": 1,
    }


def _counts(snapshot: pg.Snapshot) -> dict[str, np.ndarray]:
    assert snapshot.owner_sizes is not None
    left, right = np.bincount(snapshot.u, minlength=3), np.bincount(snapshot.v - 3, minlength=3)
    thresholds = np.arange(1, 4)[:, None]
    return {
        "edges": np.array([snapshot.u.size]),
        "degrees on the left": left,
        "degrees on the right": right,
        "curve on the left": (left >= thresholds).sum(axis=1),
        "curve on the right": (right >= thresholds).sum(axis=1),
        "cells": np.bincount(left[snapshot.u] * 3 + (snapshot.v - 3) % 2, minlength=12),
        "owners": np.array([snapshot.owner_sizes.size]),
        "owners by edges": np.bincount(snapshot.owner_sizes, minlength=4),
    }


# ---- which edges are used ----

ROWS = [(rider, u, v) for rider in range(4) for u in range(NODES) for v in range(NODES)]


@pytest.mark.parametrize("flows", [False, True])
@pytest.mark.parametrize("column", ["rider", "u", "v"])
def test_the_order_of_rows_does_not_matter(column: str, flows: bool) -> None:
    rows = ROWS + ROWS[::2]
    shuffled = [rows[k] for k in np.random.default_rng(1).permutation(len(rows))]
    assert _read(rows, column, 2, flows=flows) == _read(shuffled, column, 2, flows=flows)


def test_a_larger_bound_uses_the_same_edges_and_more() -> None:
    used = [_pairs(_read(ROWS, "u", at_most)) for at_most in (1, 2, 9)]
    assert used[0] < used[1] <= used[2]


def test_repeated_rows_are_one_edge_of_an_owner_and_several_rows_of_a_flow() -> None:
    rows = [(7, 0, 1)] * 4 + [(7, 0, 2)]
    assert _read(rows, "rider", 2).owner_sizes.tolist() == [2]  # type: ignore[union-attr]
    flow = _read(rows, "rider", 3, flows=True)
    assert flow.owner_sizes.tolist() == [5]  # type: ignore[union-attr]
    assert flow.weight is not None
    assert flow.weight.sum() == 3


def test_self_pairs_and_unknown_nodes_go_before_the_bound() -> None:
    rows = [(1, 0, 0), (1, 1, 1), (1, 0, 1), (1, 0, 99)]
    snapshot = _read(rows, "rider", 1, unknown_nodes="drop")
    assert _pairs(snapshot) == {(0, 1)}
    assert snapshot.owner_sizes.tolist() == [1]  # type: ignore[union-attr]


def test_both_directions_of_an_undirected_pair_are_one_edge() -> None:
    one = _read([(1, 0, 1), (1, 1, 0), (1, 2, 0)], "rider", 1, kind="undirected")
    assert one.owner_sizes.tolist() == [2]  # type: ignore[union-attr]
    assert one.parts.edge_count == 1


def test_weights_are_added_up_for_the_edges_in_use() -> None:
    table = _table([(1, 0, 1), (1, 0, 1), (2, 0, 1)]).append_column("weight", pa.array([2, 3, 10]))
    (snapshot,) = pg.read_stream(
        table, roster=range(3), kind="directed", weights=100, owner="rider", at_most=1
    )
    assert snapshot.weight is not None
    assert snapshot.weight.tolist() == [15]


def test_a_timestamp_without_rows_has_no_owners() -> None:
    snapshot = _read([], "rider", 2)
    assert snapshot.owner_sizes.tolist() == []  # type: ignore[union-attr]
    assert snapshot.bound is not None


def test_an_owner_may_be_text() -> None:
    table = pa.table({"t": [0, 0], "u": [0, 0], "v": [1, 2], "rider": ["ann", "ann"]})
    (snapshot,) = pg.read_stream(table, roster=range(3), owner="rider", at_most=1)
    assert snapshot.parts.edge_count == 1


# ---- all readers ----


def _csv(rows: list[tuple[int, int, int]], time: str = "") -> str:
    lines = [f"{rider},{u},{v}{time and ',' + time}" for rider, u, v in rows]
    return "\n".join([f"rider,u,v{time and ',time'}", *lines, ""])


@pytest.mark.parametrize("flows", [False, True])
@pytest.mark.parametrize("column", ["rider", "u"])
def test_every_reader_uses_the_same_edges(tmp_path: Path, column: str, flows: bool) -> None:
    expected = _read(ROWS, column, 2, flows=flows)
    options: dict[str, Any] = {
        "roster": range(NODES), "kind": "directed", "owner": column, "at_most": 2, "flows": flows
    }  # fmt: skip
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "0.csv").write_text(_csv(ROWS))
    (tmp_path / "events.csv").write_text(_csv(ROWS, "2024-01-05"))
    pa.parquet.write_table(_table(ROWS), tmp_path / "table.parquet")
    made = pg.prepare(tmp_path / "table.parquet", tmp_path / "store", **options)
    events = pg.read_stream(tmp_path / "events.csv", every="1d", close_last=True, **options)
    assert (
        _read(ROWS, column, 2, flows=flows, roster=None, roster_from_edges=True).u.size
        if (column == "rider")
        else True
    )
    for stream in (
        pg.read_stream(tmp_path / "days", **options),
        events,
        pg.read_stream(tmp_path / "table.parquet", **options),
        pg.read_stream(made.path),
    ):
        (snapshot,) = stream
        assert _pairs(snapshot) == _pairs(expected)
        assert np.array_equal(snapshot.owner_sizes, expected.owner_sizes)  # type: ignore[arg-type]
        assert snapshot.bound == expected.bound
        assert stream.unit == unit_of(snapshot) == Owner(column, 2, flows)


@pytest.mark.parametrize("weights", [None, 50])
def test_rows_that_do_not_fit_into_memory_give_the_same_snapshot(
    monkeypatch: pytest.MonkeyPatch, weights: int | None
) -> None:
    expected = _read(ROWS * 2, "rider", 2, weights=weights)
    for name in ("LOOKED_UP", "MOST_HELD"):
        monkeypatch.setattr(owners, name, 5)
    with overflow.Overflow(most=3) as store:
        found = _read(ROWS * 2, "rider", 2, weights=weights, store=store)
        assert _pairs(found) == _pairs(expected)
        assert found.bound == expected.bound
        assert np.array_equal(found.owner_sizes, expected.owner_sizes)  # type: ignore[arg-type]
        if weights:
            assert np.array_equal(found.weight, expected.weight)  # type: ignore[arg-type]


def test_events_that_are_not_sorted_keep_their_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    from psgraph.streams import events

    monkeypatch.setattr(events, "RUN_ROWS", 4)
    rows = [(r, u, v, f"2024-01-0{1 + (r + u + v) % 2}") for r, u, v in ROWS]
    columns = dict(zip(("rider", "u", "v", "time"), zip(*rows, strict=True), strict=True))
    options: dict[str, Any] = {"roster": range(NODES), "every": "1d", "close_last": True}
    options |= {"kind": "directed", "owner": "rider", "at_most": 1}
    table = {name: list(values) for name, values in columns.items()}
    mixed = list(pg.read_stream(pa.table(table), **options))
    order = np.argsort(table["time"], kind="stable")
    ordered = pa.table(table).take(pa.array(order))
    assert mixed == list(pg.read_stream(ordered, **options))


def test_graphs_of_libraries_have_owners_at_their_ends() -> None:
    import networkx as nx

    graph = nx.DiGraph([(0, 1), (0, 2), (1, 2)])
    (snapshot,) = pg.read_stream([graph], roster=range(3), kind="directed", owner="u", at_most=1)
    assert snapshot.owner_sizes.tolist() == [1, 2]  # type: ignore[union-attr]
    assert [*pg.read_stream([snapshot], roster=range(3), kind="directed", owner="u", at_most=1)]
    for column, at_most in (("rider", 1), ("u", 2)):
        with pytest.raises(InvalidArgument):
            list(
                pg.read_stream(
                    [snapshot], roster=range(3), kind="directed", owner=column, at_most=at_most
                )
            )


# ---- what is refused ----


@pytest.mark.parametrize(
    "options",
    [
        {"owner": "u"},
        {"at_most": 2},
        {"owner": "u", "at_most": 0},
        {"owner": "u", "at_most": "few"},
        {"owner": " ", "at_most": 1},
        {"owner": "u", "at_most": 2, "kind": "undirected"},
        {"owner": "v", "at_most": 2, "kind": None},
        {"owner": "u", "at_most": 2, "roster": None, "roster_from_edges": True},
        {"owner": "rider", "at_most": 2, "every": "1d", "cumulative": True},
        {"flows": True, "kind": "undirected"},
        {"flows": True, "weights": 5},
    ],
)
def test_what_can_not_be_promised_is_refused_before_anything_is_read(
    options: dict[str, Any],
) -> None:
    given = {"roster": range(3), "kind": "directed", **options}
    with pytest.raises(InvalidArgument):
        pg.read_stream("no-such-file.csv", **given)


def test_a_column_of_owners_has_to_be_there(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("t,u,v,who\n0,0,1,\n")
    options: dict[str, Any] = {"roster": range(3), "kind": "directed", "at_most": 1}
    with pytest.raises(DataError, match="no column 'rider'"):
        pg.read_stream(path, owner="rider", **options)
    with pytest.raises(InvalidArgument):
        pg.read_stream(path, owner="t", **options)
    with pytest.raises(DataError, match="no value for owner"):
        list(pg.read_stream(path, owner="who", **options))
    floats = pa.table({"t": [0], "u": [0], "v": [1], "who": [1.5]})
    with pytest.raises(DataError, match="integers or text"):
        pg.read_stream(floats, owner="who", **options)


def test_a_store_keeps_the_owners_it_was_prepared_for(tmp_path: Path) -> None:
    options: dict[str, Any] = {"roster": range(3), "kind": "directed"}
    plain = pg.prepare(_table(ROWS), tmp_path / "plain", **options)
    owned = pg.prepare(_table(ROWS), tmp_path / "owned", owner="u", at_most=2, **options)
    assert pg.read_stream(owned.path).unit == Owner("u", 2)
    assert pg.read_stream(owned.path, kind="directed", owner="u", at_most=2).unit == Owner("u", 2)
    for path, at_most in ((plain.path, 2), (owned.path, 3)):
        with pytest.raises(InvalidArgument, match="was prepared"):
            pg.read_stream(path, kind="directed", owner="u", at_most=at_most)


# ---- the guarantee and the stream agree ----


@pytest.mark.parametrize(
    ("read", "protected"),
    [(None, Owner("u", 2)), (("u", 2), None), (("u", 2), Owner("u", 1)), (("u", 2), Owner("v", 2))],
)
def test_a_publisher_refuses_edges_bounded_for_others(read: Any, protected: Owner | None) -> None:
    snapshot = pg.Snapshot(
        pg.Roster(range(3)),
        [0],
        [1],
        kind=DIRECTED,
        owner_sizes=None if read is None else [1],
        bound=None if read is None else Bound(*read),
    )
    unit = {} if protected is None else {"unit": protected}
    guarantee = pg.WEventPrivacy("1", window=2, **unit)
    with pg.Publisher(pg.TmF(), guarantee, seed=1) as publisher, pytest.raises(UnitMismatch):
        publisher.publish(snapshot)
    stream = pg.read_stream([snapshot])
    with pg.Publisher(pg.TmF(), guarantee, seed=1) as publisher, pytest.raises(UnitMismatch):
        list(publisher.publish_all(stream))


@pytest.mark.parametrize("method", ["tmf", "psgraph", "privgraph", "psgraph-plus"])
def test_every_method_publishes_for_owners_and_resumes(tmp_path: Path, method: str) -> None:
    table = pa.concat_tables([_table(ROWS), _table(ROWS).set_column(0, "t", [[1] * len(ROWS)])])
    options: dict[str, Any] = {"roster": range(NODES), "kind": "directed", "method": method}
    options |= {"epsilon": 2, "window": 2, "out": tmp_path / "out"}
    releases = pg.publish(table, owner="rider", at_most=2, **options)
    certificate = releases[1].certificate
    assert certificate.guarantee.unit == Owner("rider", 2)
    assert all(each.sensitivity % 2 == 0 for each in certificate.charges if each.sensitivity)
    assert "rows of one person (column rider)" in certificate.promise.text
    again = pg.publish(table, owner="rider", at_most=2, **options)
    assert again[1].certificate == certificate
    assert pg.verify(tmp_path / "out").timestamps == 2
    others: list[dict[str, Any]] = [
        {},
        {"owner": "rider", "at_most": 3},
        {"owner": "u", "at_most": 2},
    ]
    for other in others:
        with pytest.raises(pg.PsgraphError):
            pg.publish(table, **other, **options)


def test_other_rows_of_an_owner_beyond_the_bound_are_other_data(tmp_path: Path) -> None:
    options: dict[str, Any] = {"roster": range(NODES), "kind": "directed", "epsilon": 2}
    options |= {"window": 2, "out": tmp_path / "out", "owner": "u", "at_most": 1, "method": "tmf"}
    pg.publish(_table([(0, 0, 1), (0, 0, 2)]), **options)
    used = _pairs(_read([(0, 0, 1), (0, 0, 2)], "u", 1))
    with pytest.raises(pg.PsgraphError):
        pg.publish(_table([(0, u, v) for u, v in used]), **options)


def test_a_thin_budget_is_warned_of(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="this is noise"):
        pg.publish(
            _table(ROWS),
            epsilon=1,
            window=2,
            out=tmp_path / "out",
            roster=range(NODES),
            kind="directed",
            owner="u",
            at_most=200,
            method="tmf",
        )


def test_a_query_of_edges_says_the_same_whatever_the_order_of_owners() -> None:
    from psgraph.engines.threads import LocalEngine

    snapshot = _read(ROWS, "rider", 1)
    edges = PrivateEdges(snapshot, LocalEngine())
    assert EdgeCount().answer(edges) == snapshot.u.size
    assert edges.owner_sizes.tolist() == sorted(edges.owner_sizes.tolist())


@pytest.mark.parametrize("kind", [DIRECTED, TWO_SIDED])
def test_coins_are_pseudorandom(kind: Kind) -> None:
    bound = Owners(Owner("rider", 1), kind)
    words = np.arange(4096, dtype=np.uint64)
    owner = np.stack([words, words], axis=1)
    coins = bound.coins(owner, words, words, np.zeros(4096, dtype=np.int64))
    assert len(np.unique(coins[:, 0])) == 4096
    assert abs(np.bitwise_count(coins).mean() - 32) < 0.5
