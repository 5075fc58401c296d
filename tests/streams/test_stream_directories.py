"""Streams from directories and patterns with one file per timestamp."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Dropped, Roster, Snapshot
from psgraph.streams import read_stream
from psgraph.streams.rosters import TimedRoster

SECRET = "SECRET_NODE_4711"
SNAP = "# Undirected graph\r\n# Nodes: 3\tEdges: 2\r\n# FromNodeId\tToNodeId\r\n"


def edges_of(
    source: Path | str, **options: object
) -> dict[str | None, list[tuple[object, object]]]:
    options = options or {"roster_from_edges": True}
    stream = read_stream(source, **options)  # type: ignore[arg-type]
    found = {snapshot.time: snapshot.to_edges() for snapshot in stream}
    assert stream.length == len(found)
    return found


@pytest.mark.parametrize(
    "content",
    [
        SNAP + "1\t2\r\n2\t3\r\n",
        "1 2\n2 3\n",
        "  1   2\n2\t 3  \n",
        "1,2\n2,3\n",
        "1\t2\t-1\n2\t3\t0\n",
        "u,v\n1,2\n2,3",
        "weight;target;source\n0.5;2;1\n0.1;3;2\n",
        "% a comment of KONECT\n\n1 2 1 1073260800\n2 3 1 1073260800\n",
        "2 1\n1 2\n3 2\n3 3\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_one_file_in_many_dresses(tmp_path: Path, content: str, packed: bool) -> None:
    body = content.encode()
    if packed:
        (tmp_path / "as19971108.txt.gz").write_bytes(gzip.compress(body))
    else:
        (tmp_path / "as19971108.txt").write_bytes(body)
    assert edges_of(tmp_path) == {"as19971108": [(1, 2), (2, 3)]}


def test_parquet_files_and_empty_snapshots(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [0], "v": ["b"], "u": ["a"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"u": pa.array([], pa.string()), "v": pa.array([], pa.string())}),
                   tmp_path / "2.parquet")  # fmt: skip
    (tmp_path / "3.csv").write_text("u,v\n")
    (tmp_path / "4.txt").write_text("# nothing today\n")
    pq.write_table(pa.table({"u": ["b"], "v": ["c"]}).cast(
        pa.schema({"u": pa.dictionary(pa.int8(), pa.string()), "v": pa.large_string()})),
        tmp_path / "5.parquet")  # fmt: skip
    expected = {"1": [("a", "b")], "2": [], "3": [], "4": [], "5": [("b", "c")]}
    assert edges_of(tmp_path) == expected
    assert edges_of(tmp_path, roster=list("abc")) == expected


def test_names_are_ordered_as_people_count(tmp_path: Path) -> None:
    for number in (10, 9, 1, 100):
        (tmp_path / f"day{number}.txt").write_text(f"{number} 0\n")
    assert list(edges_of(tmp_path)) == ["day1", "day9", "day10", "day100"]
    assert list(edges_of(f"{tmp_path}/day1*.txt")) == ["day1", "day10", "day100"]


@given(st.lists(st.dates(), min_size=1, max_size=6, unique=True))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_dated_names_come_in_the_order_of_time(tmp_path: Path, dates: list[object]) -> None:
    for file in tmp_path.iterdir():
        file.unlink()
    for day in dates:
        (tmp_path / f"{day}.txt").write_text("1 2\n")
    assert list(edges_of(tmp_path)) == sorted(str(day) for day in dates)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 2\n")
    (tmp_path / ".hidden.txt").write_text("x")
    (tmp_path / "README.md").write_text("About")
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "deeper.txt").mkdir()
    assert edges_of(tmp_path) == {"a": [(1, 2)]}
    assert edges_of(f"{tmp_path}/*.txt") == {"a": [(1, 2)]}


def test_drops_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 2\n2 1\n3 3\n")
    (snapshot,) = read_stream(tmp_path, roster=[1, 2, 3])
    assert snapshot.dropped == Dropped(self_loops=1, duplicates=1)


def test_file_names_are_the_times_of_a_changing_roster(tmp_path: Path) -> None:
    for day in ("2004-01-05", "2004-01-06"):
        (tmp_path / f"{day}.txt").write_text("1 2\n")
    roster = TimedRoster([1, 2, 3], [None, None, None], [None, None, "2004-01-06"])
    assert [snapshot.roster for snapshot in read_stream(tmp_path, roster=roster)] == [
        Roster([1, 2, 3]),
        Roster([1, 2]),
    ]


def test_text_once_is_text_for_good(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("ann bob\n")
    (tmp_path / "2.txt").write_text("1911 1984\n")
    assert edges_of(tmp_path) == {"1": [("ann", "bob")], "2": [("1911", "1984")]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1 2\n", f"{SECRET} b\n"),
        ("1 2\n", pa.table({"u": [SECRET], "v": ["b"]})),
        (pa.table({"u": [SECRET], "v": ["b"]}), pa.table({"u": [1], "v": [2]})),
    ],
)
def test_types_must_not_change_between_files(
    tmp_path: Path, first: str | pa.Table, second: str | pa.Table
) -> None:
    for number, content in enumerate([first, second]):
        if isinstance(content, str):
            (tmp_path / f"{number}.txt").write_text(content)
        else:
            pq.write_table(content, tmp_path / f"{number}.parquet")
    with pytest.raises(DataError, match="mix types") as caught:
        list(read_stream(tmp_path, roster_from_edges=True))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\n2\n", "has one column"),
        (f"{SECRET}\nb\n".encode(), "has one column"),
        (f"1 2\n3 {SECRET}\n".encode(), "line 2: node ids mix types"),
        (f"1 {SECRET}\n".encode(), "mix types in the first row"),
        (f"{SECRET} name\n1 2\n".encode(), "first line is unlike the second"),
        (b"node,name\n1,2\n", "expected columns 'u' and 'v', found 'node' and 1 other"),
        (b"1 2\n3\n", "line 2: 1 columns where the first line has 2"),
        (b"# c\n1,2\n3,\n", "line 3: no value for v"),
        (b"1 99999999999999999999\n", "mix types in the first row"),
        (b"1,2\r3,4\r", "carriage returns"),
        ("\u2003\n1 2\n".encode(), "first line is unlike the second"),
        ("1 2\n\u0661 \u0662\n".encode(), "line 2: node ids mix types"),
        (b"\x89PNG\0\0\0", "not text"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        list(read_stream(tmp_path, roster_from_edges=True))
    assert SECRET not in str(caught.value)


def test_a_parquet_file_without_ends_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="found 'a', 'b'"):
        list(read_stream(tmp_path, roster_from_edges=True))


def test_directories_that_can_not_be_used(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read_stream(tmp_path, roster_from_edges=True)
    with pytest.raises(DataError):
        read_stream(f"{tmp_path}/*.txt", roster_from_edges=True)
    (tmp_path / "a.txt").write_text("1 2\n")
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(DataError):
        read_stream(tmp_path, roster_from_edges=True)
    with pytest.raises(InvalidArgument, match="every"):
        read_stream(tmp_path, roster_from_edges=True, every="1d")


def test_files_that_can_not_be_opened(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError):
        list(read_stream(tmp_path, roster_from_edges=True))
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.txt").write_text("1 2\n")
    (tmp_path / "a.txt").chmod(0)
    if not os.access(tmp_path / "a.txt", os.R_OK):  # root may read everything
        with pytest.raises(DataError):
            list(read_stream(tmp_path, roster_from_edges=True))


def test_a_pattern_that_is_a_real_name_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "odd[1].csv").write_text("t,u,v\n0,1,2\n")
    (snapshot,) = read_stream(tmp_path / "odd[1].csv", roster_from_edges=True)
    assert snapshot == Snapshot.from_edges([(1, 2)], roster_from_edges=True)
