"""Whatever a file holds, reading it ends in snapshots or in a clear error that names no node."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument, OutsideRoster, PsgraphError, RosterError
from psgraph.graph import Roster
from psgraph.streams import read_stream

SECRET = "SECRET_NODE_4711"
OTHER = "SECRET_NODE_4712"


def message_of(source: Path | str, **options: Any) -> str:
    """Read a stream to its end; the text of the error, or nothing."""
    try:
        for _ in read_stream(source, **options):
            pass
    except PsgraphError as error:
        return str(error)
    return ""


def test_the_roster_must_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,u,v\n0,1,2\n")
    with pytest.raises(RosterError):
        read_stream(tmp_path / "a.csv")
    with pytest.raises(InvalidArgument, match="roster_from_edges"):
        read_stream(tmp_path / "a.csv", roster=[1], roster_from_edges=True)
    with pytest.raises(RosterError, match=r"none\.csv"):
        read_stream(tmp_path / "a.csv", roster=tmp_path / "none.csv")


def test_rosters_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,u,v\n0,1,2\n")
    (tmp_path / "nodes.txt").write_text("1\n2\n")
    for roster in (tmp_path / "nodes.txt", str(tmp_path / "nodes.txt"), [1, 2], Roster([1, 2])):
        (snapshot,) = read_stream(tmp_path / "a.csv", roster=roster)
        assert snapshot.roster == Roster([1, 2])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("t,u,v\n", "has no rows"),
        ("# nothing\n", "is empty"),
        (f"0,{SECRET},b\n", "does not name the columns"),
        (f"{SECRET} b\n", "does not name the columns"),
        (f"{SECRET},b,c\n0,1,2\n", "does not name the columns"),
        ("t,a,b\n0,1,2\n", "expected columns 't', 'u' and 'v', found 't' and 2 others"),
        ("u,v\n1,2\n", "found 'u', 'v'"),
        (f"t,u,v0,{SECRET},b\n", "found 't', 'u' and 3 others\n"),
        (f"t,u,v0,{SECRET},b\n0,1,2\n", "found 't', 'u' and 3 others\n"),
        (f"{SECRET},id,2004-01-01\n{OTHER},b,2004-01-01\n", "found 'id' and 2 others\n"),
        ("t,u,v,u\n0,1,2,1\n", "mean the same"),
        ("u,v,time\n1,2,2004-01-01\n", "event table\nSay how to cut it"),
        (f"t,u,v\n0,1,2\n0,{SECRET},2\n", "line 3: node ids mix types"),
        (f"t,u,v\n0,1,{SECRET}\n", "mix types in the first row"),
        (f"t,u,v\n0,a,b\n0,{SECRET}\n", "line 3: 2 columns where the first line has 3"),
        (f"t,u,v\n0,a,b\n0,{SECRET},b,c\n", "line 3: 4 columns"),
        (f"t,u,v\n0,a,b\n\n0,,{SECRET}\n", "line 4: no value for u"),
        (f"t,u,v\n0,a,b\n0,  ,{SECRET}\n", "line 3: no value for u"),
        ("t,u,v\n0,1,2\n0,1,NaN\n", "line 3: no value for v"),
        ("t,u,v\n0,1,2\n0,1,null\n", "line 3: no value for v"),
        ("t,u,v\n0,1,2\n,1,2\n", "line 3: no value for t"),
        (f"t,u,v\n0,1,2\n{SECRET},1,2\n", "line 3: t is not an integer"),
        ("t,u,v\n0,1,2\n0.5,1,2\n", "line 3: t is not an integer"),
        ("t,u,v\n0,1,2\n1,1,2\n0,1,2\n", "line 4: 't' is smaller"),
        ("t,u,v\n0,1,2\n0,1,99999999999999999999\n", "line 3: an integer id is beyond 64 bits"),
        (f"t,u,v\n0,{SECRET},b\n".encode() + b"0,\xff,b\n", "line 3: this is not UTF-8"),
        (b"\xff\xfet\0,\0", "is UTF-16"),
        (b"t,u,v\n0,1,2\n0,1,\0\n", "line 3: this is not text"),
        (b"t,u,v\r0,1,2\r", "carriage returns"),
        (b"\x1f\x8b\x08nonsense", "gzip data is damaged"),
        (b"x" * (2 << 20), "no line ends"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    body = content.encode() if isinstance(content, str) else content
    (tmp_path / "a.csv").write_bytes(body)
    found = message_of(tmp_path / "a.csv", roster_from_edges=True)
    assert re.search(message, found)
    assert SECRET not in found


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"t": [0], "u": [1], "w": [2]}, "found 't', 'u', 'w'"),
        ({"t": [], "u": [], "v": []}, "has no rows"),
        ({"t": [0], "u": [1], "v": [SECRET]}, "mix types"),
        ({"t": [0, 0], "u": [SECRET, None], "v": ["a", "b"]}, "row 2: no value for u"),
        ({"t": [0, None], "u": [1, 1], "v": [2, 2]}, "row 2: no value for t"),
        ({"t": [0], "u": [float("nan")], "v": [2.0]}, "missing values"),
        ({"t": [0], "u": [1.5], "v": [2.0]}, "fractions"),
        ({"t": [0], "u": [b"x"], "v": [b"y"]}, "not binary"),
        ({"t": [0.5], "u": [1], "v": [2]}, "'t' must hold integers, dates or text, not double"),
        ({"t": [1, 0], "u": [1, 1], "v": [2, 2]}, "row 2: 't' is smaller"),
        ({"t": ["10", "9"], "u": [1, 1], "v": [2, 2]}, None),
        ({"time": [0], "u": [1], "v": [2]}, "event table"),
    ],
)
def test_wrong_parquet_is_refused(tmp_path: Path, columns: Any, message: str | None) -> None:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    found = message_of(tmp_path / "a.parquet", roster_from_edges=True)
    assert re.search(message, found) if message else found == ""
    assert SECRET not in found


def test_files_that_are_not_there_or_not_whole(tmp_path: Path) -> None:
    for name in ("none.csv", "none/none.csv", "nul\0l.csv", "x" * 5000):
        with pytest.raises(DataError):
            read_stream(tmp_path / name, roster_from_edges=True)
    pq.write_table(pa.table({"t": [0], "u": [SECRET], "v": ["b"]}), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    packed = gzip.compress(f"t,u,v\n0,{SECRET},b\n".encode())
    for name, content, message in [
        ("b.parquet", whole[:-1], "Parquet data is damaged"),
        ("b.parquet", whole[: len(whole) // 2], "Parquet data is damaged"),
        ("b.parquet", b"PAR1", "Parquet data is damaged"),
        ("b.parquet", b"hello", "not a Parquet file"),
        ("b.csv.gz", packed[:-9], "gzip data is damaged"),
        ("b.csv.gz", b"t,u,v\n0,1,2\n", "is not compressed"),
        ("b.csv.gz", b"", "is empty"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message):
            list(read_stream(tmp_path / name, roster_from_edges=True))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_edge_outside_the_roster_names_the_time_and_no_node(tmp_path: Path, kind: str) -> None:
    rows = {"t": [0, 1, 2], "u": ["a", SECRET, "a"], "v": ["b", "b", "b"]}
    file = tmp_path / f"a.{kind}"
    if kind == "csv":
        lines = [",".join(map(str, row)) for row in zip(*rows.values(), strict=True)]
        file.write_text("\n".join(["t,u,v", *lines]) + "\n")
    else:
        pq.write_table(pa.table(rows), file)
    snapshots = iter(read_stream(file, roster=["a", "b"]))
    assert next(snapshots).time == "0"
    with pytest.raises(OutsideRoster, match="'1'") as caught:
        next(snapshots)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("ids", [["1", "2"], ["a", "b"]])
def test_rosters_of_the_other_type(tmp_path: Path, ids: list[str]) -> None:
    pq.write_table(pa.table({"t": [0], "u": [1], "v": [2]}), tmp_path / "a.parquet")
    found = message_of(tmp_path / "a.parquet", roster=ids)
    assert "the ids of the edges are integers and those of the roster are text" in found
    (tmp_path / "b.csv").write_text("t,u,v\n0,a,b\n")
    found = message_of(tmp_path / "b.csv", roster=[1, 2])
    assert "text where the roster or the first row has integers" in found


def test_a_roster_of_text_decides_the_type_of_ids_in_a_text_file(tmp_path: Path) -> None:
    for first in ("0,1,2\n", "0,1,b\n"):  # whatever the first row looks like
        (tmp_path / "a.csv").write_text(f"t,u,v\n{first}0,b,2\n")
        (snapshot,) = read_stream(tmp_path / "a.csv", roster=["1", "2", "b"])
        assert ("2", "b") in snapshot.to_edges()


# ---- fuzz ----

TABLE = f"t,u,v\n0,a,b\n0,{SECRET},a\n1,b,{OTHER}\n1,{SECRET},{OTHER}\n".encode()
EVENTS = f"u,v,time\na,b,2004-01-01\n{SECRET},a,2004-01-02\nb,{OTHER},2004-01-05\n".encode()
SNAP = f"# header\na\tb\n{SECRET}\ta\nb\t{OTHER}\n".encode()
NUMBERS = b"t,u,v\n0,471100001,2\n0,471100001,3\n1,2,471100002\n"
alphabet = st.sampled_from([b"\n", b",", b"\t", b" ", b'"', b"\r", b"\0", b"#", b"-", b"0", b"7"])
edits = st.lists(
    st.tuples(
        st.integers(0, 10**6),
        st.integers(0, 3),
        alphabet | st.binary(max_size=3) | st.sampled_from([b"NaN", b"null", b"1e9", b"0x1f"]),
    ),
    min_size=1,
    max_size=4,
)


def edited(content: bytes, start: int, changes: list[tuple[int, int, bytes]]) -> bytes:
    """Overwrite pieces of a file, below its first row: what a time is stays as it was."""
    for offset, length, piece in changes:
        at = start + offset % (len(content) - start + 1)
        content = content[:at] + piece + content[at + length :]
    return content


CASES = {
    "table": (TABLE, TABLE.index(b"0,a,b\n") + 6, "a.csv", {}),
    "packed": (TABLE, TABLE.index(b"0,a,b\n") + 6, "a.csv.gz", {}),
    "events": (EVENTS, EVENTS.index(b"a,b,2004-01-01\n") + 15, "a.csv", {"every": "1d"}),
    "snap": (SNAP, SNAP.index(b"a\tb\n") + 4, "days/1.txt", {}),
    "numbers": (NUMBERS, NUMBERS.index(b"0,4"), "a.csv", {}),
}


@pytest.mark.parametrize("case", CASES)
@given(changes=edits, given_roster=st.booleans())
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_give_no_other_error_and_no_id(
    tmp_path: Path, case: str, changes: list[tuple[int, int, bytes]], given_roster: bool
) -> None:
    content, start, name, options = CASES[case]
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    body = edited(content, start, changes)
    file.write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
    roster = [1, 2, 3] if case == "numbers" else ["a", "b"]
    nodes = {"roster": roster} if given_roster else {"roster_from_edges": True}
    source = file.parent if case == "snap" else file
    found = message_of(source, **nodes, **options)
    assert "SECRET" not in found
    assert "4711" not in found


@given(content=st.binary(max_size=200), name=st.sampled_from(["a.csv", "a.txt.gz", "a.parquet"]))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_no_other_error(tmp_path: Path, content: bytes, name: str) -> None:
    for prefix in (b"", b"t,u,v\n", b"PAR1", b"\x1f\x8b"):
        (tmp_path / name).write_bytes(prefix + content)
        message_of(tmp_path / name, roster_from_edges=True)
        message_of(tmp_path / name, roster_from_edges=True, every="1d")
        message_of(f"{tmp_path}/a.*", roster_from_edges=True)


@given(cut=st.integers(0, 2000))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parquet_cut_anywhere(tmp_path: Path, cut: int) -> None:
    table = pa.table({"t": [0, 0, 1], "u": [SECRET, "a", "b"], "v": ["a", "b", OTHER]})
    pq.write_table(table, tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: cut % len(whole)])
    found = message_of(tmp_path / "cut.parquet", roster_from_edges=True)
    assert found
    assert "SECRET" not in found
