"""Rosters from files and rosters that change over time."""

from __future__ import annotations

import gzip
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import PsgraphError, RosterError
from psgraph.graph import Roster
from psgraph.streams.rosters import TimedRoster, read_roster

SECRET = "SECRET_NODE_4711"


def written(directory: Path, content: str | bytes, name: str = "nodes.csv") -> Path:
    file = directory / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


# ---- files ----


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ("1\n2\n3\n", [1, 2, 3]),
        ("id\n1\n2\n", [1, 2]),
        ("NODE\r\n1\r\n2", [1, 2]),
        ("# from the registry\n\n1\n\n2\n", [1, 2]),
        ("\ufeffid\n7\n", [7]),
        ("ann\nbob\n", ["ann", "bob"]),
        ("1911\nann\n", ["1911", "ann"]),
        ("007\n12\n", ["007", "12"]),
        ("id\nNew York\n Rome \n", ["New York", "Rome"]),
        ("name,id\nx,2\ny,1\n", [1, 2]),
        ("node\tage\nann\t3\n", ["ann"]),
        ('id\n"Smith, J"\n', ["Smith, J"]),
        ("id;x\n1;2\n", [1]),
        ("-5\n0\n", [-5, 0]),
    ],
)
def test_text_rosters(tmp_path: Path, content: str, ids: list[Any]) -> None:
    assert read_roster(written(tmp_path, content)) == Roster(ids)
    packed = gzip.compress(content.encode())
    assert read_roster(str(written(tmp_path, packed, "nodes.txt.gz"))) == Roster(ids)


@pytest.mark.parametrize("ids", [[3, 1, 2], ["b", "a"]])
def test_parquet_rosters(tmp_path: Path, ids: list[Any]) -> None:
    file = tmp_path / "nodes.parquet"
    pq.write_table(pa.table({"whatever": ids}), file)
    assert read_roster(file) == Roster(ids)
    pq.write_table(pa.table({"x": ids, "node": pa.array(ids).dictionary_encode()}), file)
    assert read_roster(file) == Roster(ids)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("# only a comment\n", "lists no node"),
        ("id\n", "lists no node"),
        ("\n\ufeff", "lists no node"),
        (f"1\n{SECRET}\n{SECRET}\n", "1 of 3 ids are repeated"),
        ("1\n2\n1\n", "1 of 3 ids are repeated"),
        (f"{SECRET},x\nb,y\n", "2 columns"),
        (f"id,from\n{SECRET},\n,3\n", "line 3: no value for id"),
        (f"id,x\n{SECRET}\n", "line 2: 1 columns where the first line has 2"),
        (f"id,node,x\n{SECRET},1,2\n", "found 'id', 'node' and 1 other"),
        ("label,t\n1,2\n", "found 'label', 't'"),
        ("people\n3\n1\n2\n", "--roster-column people"),
        ("Phone\n0171\n+4917\n", "--roster-column Phone"),
        ("name\nann\nbob\n", "--roster-column name .*--roster-no-header"),
        ("t\nu\nv\n", "--roster-no-header"),
        ("msisdn\n", "--roster-no-header"),
        (f"{SECRET}_id\nann\nbob\n", "--roster-column NAME"),
        ("Secret\ne1\ne2\n", "--roster-column NAME"),
        (
            "name,phone,team\nann,1,x\n",
            "(?s)3 columns.*'name', 'phone' and 1 other.*--roster-column",
        ),
        (f"{SECRET},x\nb,y\n", "2 with other names"),
        (b"a\n\xff\xfe\n", "line 2: this is not UTF-8"),
        (b"a\0b\n", "not text"),
        ("id,from\na,soon\n", "can't be compared"),
        ("id,from,until\na,5,5\n", "1 of 1 stays"),
        ("id,from,until\na,1,5\na,4,9\nb,,\n", "1 of 3 rows list a node"),
        ("id,from,until\na,,\na,4,9\n", "1 of 2 rows list a node"),
    ],
)
def test_broken_rosters_are_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(RosterError, match=message) as caught:
        read_roster(written(tmp_path, content))
    assert SECRET not in str(caught.value)


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(RosterError):
        read_roster(tmp_path / "none.csv")
    with pytest.raises(RosterError):
        read_roster(tmp_path)
    with pytest.raises(RosterError):
        read_roster(written(tmp_path, gzip.compress(b"1\n2\n")[:-6], "cut.csv.gz"))
    pq.write_table(pa.table({"id": [1, None]}), tmp_path / "null.parquet")
    with pytest.raises(RosterError, match=r"row 2: .* id"):
        read_roster(tmp_path / "null.parquet")
    whole = (tmp_path / "null.parquet").read_bytes()
    with pytest.raises(RosterError):
        read_roster(written(tmp_path, whole[:-20], "cut.parquet"))
    pq.write_table(pa.table({"id": [1], "from": [[2]]}), tmp_path / "list.parquet")
    with pytest.raises(RosterError):
        read_roster(tmp_path / "list.parquet")


# ---- time ----


def test_a_timed_roster_from_text(tmp_path: Path) -> None:
    content = "until,id,From\n5,ann,\n,bob,2\n3,cid,1\n9,cid,7\n"
    roster = read_roster(written(tmp_path, content))
    assert isinstance(roster, TimedRoster)
    expected = {0: ["ann"], 1: ["ann", "cid"], 2: ["ann", "bob", "cid"], 3: ["ann", "bob"]}
    expected |= {5: ["bob"], 7: ["bob", "cid"], 9: ["bob"]}
    for time, ids in expected.items():
        assert roster.at(time) == roster.at(str(time)) == Roster(ids)
    assert roster.everyone == Roster(["ann", "bob", "cid"])


@pytest.mark.parametrize(
    "bounds",
    [
        pa.array([date(2004, 3, 1), None]),
        pa.array([datetime(2004, 3, 1), None], pa.timestamp("ns")),
        pa.array([datetime(2004, 3, 1, tzinfo=UTC), None], pa.timestamp("ms", "Europe/Paris")),
        pa.array(["2004-03-01", None]),
        pa.array(["2004-03", None]),
        pa.array([20040301, None]),
        pa.array([20040301.0, None]),
        pa.array(["2004-03-01T01:00:00+01:00", None]),
    ],
)
def test_times_compare_as_instants(tmp_path: Path, bounds: pa.Array) -> None:
    pq.write_table(pa.table({"id": [1, 2], "from": bounds}), tmp_path / "nodes.parquet")
    roster = read_roster(tmp_path / "nodes.parquet")
    assert isinstance(roster, TimedRoster)
    for before in ("2004-02-29", "2004-02", "2004-02-29T23:59:59.999999", date(2004, 2, 29)):
        assert roster.at(before) == Roster([2])
    for after in ("2004-03-01", "2004-03", "20040301", "2004-03-01T00:00:00Z", date(2005, 1, 1)):
        assert roster.at(after) == Roster([1, 2])


@pytest.mark.parametrize("time", ["as19971108", "", None, "3"])
def test_times_that_do_not_compare_are_refused(time: Any) -> None:
    roster = TimedRoster(["a"], ["2004-01-01"], [None])
    with pytest.raises(RosterError):
        roster.at(time)


def test_integers_that_are_no_dates_do_not_compare_with_dates() -> None:
    with pytest.raises(RosterError):
        TimedRoster(["a"], [3], [None]).at("2004-01-01")


def test_without_bounds_any_time_will_do() -> None:
    roster = TimedRoster(["a", "b"], [None, None], [None, None])
    assert roster.at("as19971108") is roster.at(None)
    assert roster.at(3) == Roster("ab")


def test_a_stay_that_passes_into_the_next_changes_nothing() -> None:
    roster = TimedRoster(["a", "b", "a"], [5, None, 1], [9, None, 5])
    assert roster.at(4) is roster.at(5) is roster.at(8)
    assert roster.at(8) == Roster("ab")
    assert roster.at(9) == Roster("b")


def test_every_id_needs_its_bounds() -> None:
    with pytest.raises(RosterError):
        TimedRoster([1, 2], [None], [None])
    with pytest.raises(RosterError):
        TimedRoster([1, "a"], [None, None], [None, None])


stays = st.lists(
    st.tuples(
        st.integers(0, 4), st.none() | st.integers(0, 10), st.none() | st.integers(0, 10)
    ),
    max_size=6,
)  # fmt: skip


@given(stays)
def test_membership_agrees_with_the_definition(rows: list[tuple[int, Any, Any]]) -> None:
    def present(row: tuple[int, Any, Any], time: int) -> bool:
        return (row[1] is None or row[1] <= time) and (row[2] is None or time < row[2])

    moments = range(-1, 12)
    members = [[row[0] for row in rows if present(row, time)] for time in moments]
    legal = all(any(present(row, time) for time in moments) for row in rows) and all(
        len(set(ids)) == len(ids) for ids in members
    )
    try:
        roster = TimedRoster([row[0] for row in rows], [r[1] for r in rows], [r[2] for r in rows])
    except RosterError:
        assert not legal
        return
    assert legal
    found = [roster.at(time) for time in moments]
    assert [sorted(ids) for ids in members] == [one.ids.tolist() for one in found]
    for one, other, before, after in zip(found, found[1:], members, members[1:], strict=False):
        assert (one is other) == (sorted(before) == sorted(after))


@given(st.binary(max_size=80), st.sampled_from(["r.csv", "r.txt", "r.csv.gz", "r.parquet"]))
def test_any_bytes_give_a_roster_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    file = written(tmp_path_factory.getbasetemp(), content, name)
    with suppress(PsgraphError):
        read_roster(file)


# ---- headers ----


@pytest.mark.parametrize(
    ("content", "column", "ids"),
    [
        ("phone\n0171\n0172\n", "phone", ["0171", "0172"]),
        ("Phone\n171\n172\n", "phone", [171, 172]),
        ("name,team\nann,x\nbob,y\n", "name", ["ann", "bob"]),
        ("id,msisdn\n1,7\n2,8\n", "msisdn", [7, 8]),
        ("5,6\n1,7\n2,8\n", "6", [7, 8]),
    ],
)
def test_the_named_column_holds_the_ids(
    tmp_path: Path, content: str, column: str, ids: list[Any]
) -> None:
    assert read_roster(written(tmp_path, content), column=column) == Roster(ids)


def test_a_named_column_may_have_periods(tmp_path: Path) -> None:
    roster = read_roster(written(tmp_path, "phone,from\n017,\n018,3\n"), column="phone")
    assert isinstance(roster, TimedRoster)
    assert roster.at(2) == Roster(["017"])


def test_a_named_column_of_a_parquet_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2], "phone": ["a", "b"]}), tmp_path / "nodes.parquet")
    assert read_roster(tmp_path / "nodes.parquet", column="phone") == Roster("ab")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{SECRET},id\nb,1\n", "'phone'.*'id' and 1 other"),
        ("phone,phone\n1,2\n", "several columns 'phone'"),
    ],
)
def test_a_column_that_is_not_there_or_twice_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    with pytest.raises(RosterError, match=message) as caught:
        read_roster(written(tmp_path, content), column="phone")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("content", ["name\nann\n", "id\n2\n", "t\nu\n", "admin\nuser1\n"])
def test_without_a_header_the_first_line_is_a_node(tmp_path: Path, content: str) -> None:
    assert read_roster(written(tmp_path, content), header=False) == Roster(content.split())


def test_names_that_look_like_names_need_no_answer(tmp_path: Path) -> None:
    assert len(read_roster(written(tmp_path, "ann\nbob\nuser7\n")).ids) == 3  # type: ignore[union-attr]


def test_label_columns_are_read_beside_the_ids(tmp_path):
    file = tmp_path / "nodes.csv"
    file.write_text("id,team,site\nann,red,north\nbob,,south\neve,blue,north\n")
    roster = read_roster(file, labels="team,site")
    assert roster.labels.to_dict() == {
        "team": ["red", None, "blue"],
        "site": ["north", "south", "north"],
    }
    assert read_roster(file).labels is None


def test_a_node_that_changes_its_label_has_two_stays_and_the_roster_changes_then(tmp_path):
    file = tmp_path / "nodes.csv"
    file.write_text(
        "id,from,until,team\nann,,2004-03-01,red\nann,2004-03-01,,blue\nbob,,,red\neve,,,blue\n"
    )
    roster = read_roster(file, labels="team")
    before, after = roster.at("2004-02-01"), roster.at("2004-04-01")
    assert before.ids.tolist() == after.ids.tolist()
    assert before.labels.column("team") == ["red", "red", "blue"]
    assert after.labels.column("team") == ["blue", "red", "blue"]


def test_a_node_with_two_labels_at_one_time_is_refused(tmp_path):
    file = tmp_path / "nodes.csv"
    file.write_text("id,team\nann,red\nann,blue\nbob,red\n")
    with pytest.raises(RosterError):
        read_roster(file, labels="team")
    file.write_text("id,from,until,team\nann,,,red\nann,2004-03-01,,blue\nbob,,,red\n")
    with pytest.raises(RosterError):
        read_roster(file, labels="team")
