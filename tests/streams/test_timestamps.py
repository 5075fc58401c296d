"""Which timestamps a stream has and what they are called must not depend on single edges."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import networkx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument, PsgraphError
from psgraph.graph import Roster
from psgraph.streams import Stream, read_stream
from psgraph.streams.rosters import TimedRoster
from psgraph.streams.time_source import TimeSource
from psgraph.streams.timestamps import read_times
from tests.refusals import refused

SECRET = "SECRET_VALUE_4711"


def table(tmp_path: Path, text: str) -> Path:
    (tmp_path / "edges.csv").write_text(text)
    return tmp_path / "edges.csv"


def published(stream: Stream) -> list[tuple[str | None, list[Any]]]:
    return [(snapshot.time, snapshot.to_edges()) for snapshot in stream]


# ---- names of timestamps ----


@pytest.mark.parametrize("name", ["label", "name", "time"])
def test_no_column_names_the_times_unless_it_was_chosen(tmp_path: Path, name: str) -> None:
    file = table(tmp_path, f"t,u,v,{name}\n0,1,2,{SECRET}\n1,1,2,friend\n")
    stream = read_stream(file, roster=range(4))
    assert [snapshot.time for snapshot in stream] == ["0", "1"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_chosen_column_names_the_times(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"edges.{kind}"
    if kind == "csv":
        file.write_text("V,Season, T ,extra,U\n2,spring,0,,1\n3,spring,0,,1\n1,fall,1,,2\n")
    else:
        columns = {"t": [0, 0, 1], "season": ["spring", "spring", "fall"]}
        pq.write_table(pa.table({**columns, "u": [1, 1, 2], "v": [2, 3, 1]}), file)
    stream = read_stream(file, roster=range(4), time_label="season")
    assert published(stream) == [("spring", [(1, 2), (1, 3)]), ("fall", [(1, 2)])]
    assert stream.times is not None
    assert "column 'season', declared public by the publisher" in str(stream.times)


@pytest.mark.parametrize("block", [1, 1 << 20])
def test_a_label_that_differs_between_rows_is_refused_without_showing_it(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psgraph.graph.formats.text.BLOCK_BYTES", block)
    file = table(tmp_path, f"t,u,v,label\n0,1,2,friend\n0,1,3,{SECRET}\n1,1,2,friend\n")
    with pytest.raises(DataError, match="label") as caught:
        list(read_stream(file, roster=range(4), time_label="label"))
    assert SECRET not in str(caught.value)
    assert "friend" not in str(caught.value)


def test_a_missing_label_is_refused(tmp_path: Path) -> None:
    file = table(tmp_path, f"t,u,v,label\n0,1,2,\n1,1,3,{SECRET}\n")
    with pytest.raises(DataError, match="line 2: ") as caught:
        list(read_stream(file, roster=range(4), time_label="label"))
    assert SECRET not in str(caught.value)


def test_a_label_can_not_name_a_timestamp_without_rows(tmp_path: Path) -> None:
    file = table(tmp_path, f"t,u,v,label\n0,1,2,{SECRET}\n2,1,3,b\n")
    with pytest.raises(DataError, match="columns t and label") as caught:
        list(read_stream(file, roster=range(4), time_label="label"))
    assert SECRET not in str(caught.value)
    (tmp_path / "times.csv").write_text("t,label\n0,mon\n1,tue\n2,wed\n")
    stream = read_stream(file, roster=range(4), times=tmp_path / "times.csv")
    assert [snapshot.time for snapshot in stream] == ["mon", "tue", "wed"]


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("weight", DataError, "'weight'"),
        ("u", InvalidArgument, "one of t, u and v"),
    ],
)
def test_a_column_that_can_not_name_times(
    tmp_path: Path, name: str, error: type[Exception], message: str
) -> None:
    file = table(tmp_path, "t,u,v,label\n0,1,2,a\n")
    with pytest.raises(error, match=message):
        read_stream(file, roster=range(4), time_label=name)


# ---- timestamps without edges ----


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_removing_the_only_edge_of_a_timestamp_leaves_the_timestamp(
    tmp_path: Path, kind: str
) -> None:
    rows = [(0, 1, 2), (1, 1, 3), (2, 2, 3)]
    streams = []
    for number, kept in enumerate((rows, [rows[0], rows[2]])):
        file = tmp_path / f"{number}.{kind}"
        if kind == "csv":
            lines = [",".join(map(str, row)) for row in kept]
            file.write_text("\n".join(["t,u,v", *lines, ""]))
        else:
            columns = zip("tuv", map(list, zip(*kept, strict=True)), strict=True)
            pq.write_table(pa.table(dict(columns)), file)
        streams.append(read_stream(file, roster=range(4)))
    one, other = streams
    assert [s.time for s in one] == [s.time for s in other] == ["0", "1", "2"]
    assert one.times == other.times
    assert one.length == other.length == (3 if kind == "parquet" else None)
    assert published(other)[1] == ("1", [])


def test_integers_far_apart_are_refused_before_anything_is_filled_in(tmp_path: Path) -> None:
    file = table(tmp_path, "t,u,v\n0,1,2\n1000000000,1,2\n")
    with pytest.raises(DataError, match="line 3: more than 1,000,000 ") as caught:
        list(read_stream(file, roster=range(4)))
    assert "1000000000" not in str(caught.value)


def test_a_changing_roster_is_looked_up_for_timestamps_without_rows(tmp_path: Path) -> None:
    file = table(tmp_path, "t,u,v\n0,1,2\n3,1,3\n")
    roster = TimedRoster([1, 2, 3], [None, None, 2], [None, 2, None])
    assert [s.roster for s in read_stream(file, roster=roster)] == [
        Roster([1, 2]), Roster([1, 2]), Roster([1, 3]), Roster([1, 3]),
    ]  # fmt: skip


def test_the_stream_says_what_was_read_off_the_edges(tmp_path: Path) -> None:
    file = table(tmp_path, "t,u,v\n0,1,2\n")
    assert str(read_stream(file, roster=[1, 2]).times) == (
        "integers from the first to the last row, both ends read off the edges"
    )
    file = table(tmp_path, "t,u,v\nmon,1,2\n")
    assert str(read_stream(file, roster=[1, 2]).times) == (
        "the values of t that occur, read off the edges"
    )
    assert str(read_stream(tmp_path, roster=[1, 2]).times) == "one per file, by file name"
    stream = read_stream([[(1, 2)]], roster=[1, 2])
    assert stream.times == read_stream(stream).times == TimeSource("items")


# ---- declared timestamps ----


def test_declared_timestamps_do_not_depend_on_rows(tmp_path: Path) -> None:
    expected = ["0", "1", "2", "3"]
    for rows in ("", "0,1,2\n", "2,1,2\n", "3,1,2\n", "1,1,2\n2,1,3\n"):
        stream = read_stream(table(tmp_path, f"t,u,v\n{rows}"), roster=range(4), times="0..3")
        assert [snapshot.time for snapshot in stream] == expected
        assert stream.length == 4
        assert str(stream.times) == "consecutive integers from 0, declared by the publisher"
    assert stream.times == read_stream(  # when the stream grows, what was declared stays
        tmp_path / "edges.csv", roster=range(4), times="0..9"
    ).times  # fmt: skip


def test_an_empty_parquet_table_with_declared_timestamps(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [], "u": [], "v": []}), tmp_path / "a.parquet")
    for nodes in ({"roster": ["a", "b"]}, {"roster": [1]}, {"roster_from_edges": True}):
        stream = read_stream(tmp_path / "a.parquet", times=range(2), **nodes)  # type: ignore[arg-type]
        assert published(stream) == [("0", []), ("1", [])]


@pytest.mark.parametrize("rows", [f"0,1,2\n{SECRET},1,2\n", "0,1,2\n12345,1,2\n", "7,1,2\n"])
def test_rows_outside_the_declared_times_are_refused_without_showing_them(
    tmp_path: Path, rows: str
) -> None:
    with pytest.raises(DataError, match="line") as caught:
        list(read_stream(table(tmp_path, f"t,u,v\n{rows}"), roster=range(4), times="0..3"))
    assert not any(value in str(caught.value) for value in (SECRET, "12345", "7"))


@pytest.mark.parametrize(
    ("values", "times"),
    [
        (pa.array([date(2004, 1, 5), date(2004, 1, 7)]), "2004-01-05\n2004-01-06\n2004-01-07\n"),
        (
            pa.array([datetime(2004, 1, 5), datetime(2004, 1, 7)], pa.timestamp("ns")),
            "t\n2004-01-05\n2004-01-06\n2004-01-07\n",
        ),
        (pa.array(["a", "c"]), "when\na\nb\nc\n".replace("when", "t")),
        (pa.array(["z", "a"]), "z\nm\na\n"),  # the order is the list's
        (pa.array([3, 7]), "3\n5\n7\n"),
    ],
)
def test_a_file_lists_the_times(tmp_path: Path, values: pa.Array, times: str) -> None:
    pq.write_table(pa.table({"t": values, "u": [1, 1], "v": [2, 3]}), tmp_path / "a.parquet")
    (tmp_path / "times.txt").write_text(times)
    stream = read_stream(tmp_path / "a.parquet", roster=range(4), times=tmp_path / "times.txt")
    names = [line for line in times.split() if line != "t"]
    assert published(stream) == [(names[0], [(1, 2)]), (names[1], []), (names[2], [(1, 3)])]
    assert str(stream.times) == "listed by the publisher"


def test_declared_times_from_parquet_and_python(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": pa.array([date(2004, 1, 5)])}), tmp_path / "times.parquet")
    file = table(tmp_path, "t,u,v\n2004-01-05,1,2\n")
    for times in (tmp_path / "times.parquet", ["2004-01-05"], [date(2004, 1, 5)]):
        stream = read_stream(file, roster=range(4), times=times)
        assert published(stream) == [("2004-01-05", [(1, 2)])]


def test_rows_have_to_come_in_the_order_of_the_declared_times(tmp_path: Path) -> None:
    file = table(tmp_path, "t,u,v\na,1,2\nz,1,2\n")
    with pytest.raises(DataError, match="line 3: 't' "):
        list(read_stream(file, roster=range(4), times=["z", "a"]))


@pytest.mark.parametrize(
    ("times", "error", "code"),
    [
        ("5..3", InvalidArgument, "no_times"),
        ([], InvalidArgument, "no_times"),
        ("0..1000000000", InvalidArgument, "too_many_times"),
        ([1.5], InvalidArgument, "not_a_time"),
        ("0-11", DataError, ""),
        ([0, 2, 1], DataError, "times_order"),
        ([0, 0], DataError, "times_order"),
        (["mon"], DataError, "times_type"),
    ],
)
def test_times_that_can_not_be_declared(
    tmp_path: Path, times: Any, error: type[PsgraphError], code: str
) -> None:
    with refused(error, code):
        read_stream(table(tmp_path, "t,u,v\n0,1,2\n"), roster=range(4), times=times)


@pytest.mark.parametrize("content", ["a,b\nc,d\n", "label,x,y\n1,2,3\n"])
def test_a_file_that_is_no_list_of_times(tmp_path: Path, content: str) -> None:
    (tmp_path / "times.csv").write_text(content)
    with refused(DataError, "times_columns"):
        read_times(tmp_path / "times.csv")


def test_labels_can_be_chosen_only_once(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("t,label\n0,mon\n")
    file = table(tmp_path, "t,u,v,label\n0,1,2,mon\n")
    with pytest.raises(InvalidArgument, match="time_label"):
        read_stream(file, roster=range(4), times=tmp_path / "times.csv", time_label="label")


@pytest.mark.parametrize("option", [{"times": "0..3"}, {"time_label": "label"}])
def test_options_of_tables_are_refused_elsewhere(tmp_path: Path, option: dict[str, Any]) -> None:
    table(tmp_path, "u,v,time\n1,2,0\n")
    for source, more in (
        (tmp_path, {}),
        (tmp_path / "edges.csv", {"every": "1d"}),
    ):
        with pytest.raises(InvalidArgument, match=next(iter(option))):
            read_stream(source, roster=range(4), **option, **more)  # type: ignore[arg-type]


# ---- declared ends of event tables ----


def events(tmp_path: Path, *days: str) -> Path:
    rows = "".join(f"1,2,{day}\n" for day in days)
    return table(tmp_path, f"u,v,time\n{rows}")


@pytest.mark.parametrize("days", [(), ("2024-01-02",), ("2024-01-01", "2024-01-03T23:59:59")])
def test_declared_ends_do_not_depend_on_events(tmp_path: Path, days: tuple[str, ...]) -> None:
    ends = {"start": "2024-01-01", "until": date(2024, 1, 4)}
    stream = read_stream(events(tmp_path, *days), roster=[1, 2], every="1d", **ends)  # type: ignore[arg-type]
    assert [s.time for s in stream] == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert stream.length == 3
    assert str(stream.times) == "periods of 1d, the first and the last declared by the publisher"
    assert [bool(s.u.size) for s in stream] == [
        any(day.startswith(str(s.time)) for day in days) for s in stream
    ]


def test_one_declared_end(tmp_path: Path) -> None:
    file = events(tmp_path, "2024-01-02", "2024-01-03")
    stream = read_stream(file, roster=[1, 2], every="1d", start="2024-01-01", close_last=True)
    assert [s.time for s in stream] == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert stream.times is not None
    assert "the last read off the edges" in str(stream.times)
    stream = read_stream(file, roster=[1, 2], every="1mo", until="2024-03-01")
    assert [s.time for s in stream] == ["2024-01-01", "2024-02-01"]
    stream = read_stream(file, roster=[1, 2], every="1d")
    assert str(stream.times) == (
        "periods of 1d, from the first to the last event, both ends read off the edges"
    )


def test_events_before_the_declared_start_are_refused(tmp_path: Path) -> None:
    day = "2023-12-31T23:59:59"
    file = events(tmp_path, day, "2024-01-02")
    with pytest.raises(DataError, match="before the declared start") as caught:
        list(read_stream(file, roster=[1, 2], every="1d", start="2024-01-01", until="2024-01-04"))
    assert day not in str(caught.value)


@pytest.mark.parametrize("days", [["2024-01-02", "2024-01-04"], ["2024-01-05", "2024-01-02"]])
@pytest.mark.parametrize("end", [{}, {"start": "2024-01-01"}])
def test_events_after_the_declared_end_wait_and_change_nothing(
    tmp_path: Path, days: list[str], end: dict[str, Any]
) -> None:
    def read(*times: str) -> tuple[Any, ...]:
        file = events(tmp_path, *times)
        stream = read_stream(file, roster=[1, 2], every="1d", until="2024-01-04", **end)
        snapshots = [(each.time, each.to_edges()) for each in stream]
        return snapshots, stream.held_back, stream.skipped, stream.later

    *alone, none = read("2024-01-02")
    *found, later = read(*days)
    assert found == alone
    assert (none, later) == (0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "2024-01-01"}, "Give every"),
        ({"every": "1d", "start": "soon"}, "is not a time"),
        ({"every": "1d", "start": "2024-01-02", "until": "2024-01-02"}, "start and until"),
        ({"every": "1s", "start": "2004-01-02", "until": "2024-01-02"}, "periods of 1s apart"),
    ],
)
def test_ends_that_can_not_be_declared(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        read_stream(events(tmp_path, "2024-01-02"), roster=[1, 2], **options)


# ---- empty files ----


@pytest.mark.parametrize("name", ["2.csv", "2.txt.gz", "2.parquet"])
def test_an_empty_file_is_an_empty_snapshot(tmp_path: Path, name: str) -> None:
    (tmp_path / "1.csv").write_text("u,v\n1,2\n")
    (tmp_path / name).write_bytes(b"")
    (tmp_path / "3.csv").write_text("u,v\n")
    stream = read_stream(tmp_path, roster=[1, 2])
    assert published(stream) == [("1", [(1, 2)]), ("2", []), ("3", [])]
    assert published(read_stream(tmp_path, roster_from_edges=True))[1] == ("2", [])


def test_column_names_that_are_nodes_too_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("u v\nv w\n")
    with refused(DataError, "header_or_edge"):
        list(read_stream(tmp_path, roster=["u", "v", "w"]))


@pytest.mark.parametrize("lookalike", ["#tag,x", "%tag,x", "u,v", "To,From"])
def test_a_row_that_would_be_no_edge_at_the_top_is_no_edge_below(
    tmp_path: Path, lookalike: str
) -> None:
    """Without a header line, removing the first edge would remove the second one too."""
    ids = {"x", "y", *lookalike.split(",")}
    (tmp_path / "1.txt").write_text(f"x,y\n{lookalike}\n")
    for nodes in ({"roster": ids}, {"roster_from_edges": True}):
        with pytest.raises(DataError, match="looks like a comment, like column") as caught:
            list(read_stream(tmp_path, **nodes))  # type: ignore[arg-type]
        assert "tag" not in str(caught.value)
    (tmp_path / "1.txt").write_text(f"source,target\nx,y\n{lookalike}\n")
    (snapshot,) = read_stream(tmp_path, roster=ids)
    assert len(snapshot.to_edges()) == 2


def test_an_edge_never_decides_how_others_are_split(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("a b\na x;y\n")  # the second line alone: "a x" and "y"
    with pytest.raises(DataError, match="holds another delimiter"):
        list(read_stream(tmp_path, roster_from_edges=True))
    (tmp_path / "1.txt").write_text("New York,Oslo\nOslo,Rome\n")
    (snapshot,) = read_stream(tmp_path, roster_from_edges=True)
    assert snapshot.to_edges() == [("New York", "Oslo"), ("Oslo", "Rome")]


# ---- all of it together ----

NODES = ["a", "b", "c", "1", "u", "v"]
some_edges = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(NODES), st.sampled_from(NODES)),
    min_size=1,
    max_size=8,
).map(sorted)


def as_table(rows: list[tuple[int, str, str]], path: Path) -> Stream:
    body = "".join(f"{t},{u},{v}\n" for t, u, v in rows)
    path.with_suffix(".csv").write_text(f"t,u,v\n{body}")
    return read_stream(path.with_suffix(".csv"), roster=NODES, times="0..4")


def as_events(rows: list[tuple[int, str, str]], path: Path) -> Stream:
    body = "".join(f"{u},{v},{t * 86_400}\n" for t, u, v in rows)
    path.with_suffix(".csv").write_text(f"u,v,time\n{body}")
    ends = {"start": "1970-01-01", "until": "1970-01-06"}
    return read_stream(path.with_suffix(".csv"), roster=NODES, every="1d", **ends)  # type: ignore[arg-type]


def as_messy_events(rows: list[tuple[int, str, str]], path: Path) -> Stream:
    """Unsorted, in a time zone, with times of every form and rows that can't be read."""
    forms = ("1970-01-0{day}", "1970-01-0{day}T12:00Z", "{seconds}", "soon", "1970-01-0{day}T03:00")
    body = ""
    for t, u, v in reversed(rows):
        form = forms[(t + ord(u[0]) + 2 * ord(v[0])) % len(forms)]
        body += f"{form.format(day=t + 1, seconds=t * 86_400)},{u},{v}\n"
    path.with_suffix(".csv").write_text(f"when,caller,callee\n{body}")
    return read_stream(
        path.with_suffix(".csv"),
        roster=NODES,
        every="1d",
        start="1970-01-01",
        until="1970-01-05T12:00",
        columns="u=caller,v=callee,time=when",
        ids="text",
        timezone="Europe/Berlin",
        bad_rows="skip",
    )


def as_files(rows: list[tuple[int, str, str]], path: Path) -> Stream:
    path.mkdir(exist_ok=True)
    for t in range(5):
        edges = [f"{u} {v}\n" for time, u, v in rows if time == t]
        (path / f"{t}.txt").write_text("".join(edges))
    return read_stream(path, roster=NODES)


def as_graphs(rows: list[tuple[int, str, str]], path: Path) -> Stream:
    graphs = []
    for t in range(5):
        graph = networkx.Graph()
        graph.add_nodes_from(NODES)
        graph.add_edges_from((u, v) for time, u, v in rows if time == t)
        graphs.append(graph)
    return read_stream(graphs, nodes_are_public=True)


@pytest.mark.parametrize("write", [as_table, as_events, as_messy_events, as_files, as_graphs])
@given(rows=some_edges, data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore:Held back")
def test_neighbours_have_the_same_public_facts_and_differ_by_one_edge(
    tmp_path: Path, write: Any, rows: list[tuple[int, str, str]], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(rows) - 1))
    found = []
    for number, kept in enumerate((rows, rows[:index] + rows[index + 1 :])):
        try:
            stream = write(kept, tmp_path / str(number))
            facts = [(each.time, each.roster.digest, each.roster.statement) for each in stream]
            edges = [set(each.to_edges()) for each in stream]
        except DataError:
            return  # a refused run publishes nothing
        found.append(((facts, stream.times, stream.length, stream.held_back), edges))
    (one, its_edges), (other, others) = found
    assert one == other
    assert sum(len(a ^ b) for a, b in zip(its_edges, others, strict=True)) <= 1
