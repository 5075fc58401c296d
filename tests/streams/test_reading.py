"""Real tables: other column names, ids that look like numbers, time zones, bad rows, gaps."""

from __future__ import annotations

import csv
import io
import stat
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psgraph.errors import DataError, InvalidArgument, OutsideRoster
from psgraph.streams import Stream, read_stream
from psgraph.streams.rosters import TimedRoster

SECRET = "SECRET_VALUE_4711"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def published(stream: Stream) -> list[tuple[str | None, list[Any]]]:
    return [(snapshot.time, snapshot.to_edges()) for snapshot in stream]


def listed(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


# ---- columns ----


@pytest.mark.parametrize(
    "columns",
    [
        "u=caller,v=callee,t=day",
        "u=CALLER, v=callee, t=Day",
        {"u": "caller", "v": "callee", "t": "day"},
        "u=2,v=4,t=1",
        {"u": 2, "v": 4, "t": 1},
    ],
)
def test_columns_are_the_ones_that_were_named(tmp_path: Path, columns: Any) -> None:
    head = "" if "2" in str(columns) else "Day,Caller,weight,callee\n"
    file = write(tmp_path / "a.csv", f"{head}0,1,9,2\n1,2,9,3\n")
    stream = read_stream(file, roster=range(5), columns=columns)
    assert published(stream) == [("0", [(1, 2)]), ("1", [(2, 3)])]


def test_named_columns_work_for_events_parquet_and_directories(tmp_path: Path) -> None:
    days = tmp_path / "days"
    days.mkdir()
    write(days / "1.csv", "caller,callee\n1,2\n")
    (snapshot,) = read_stream(days, roster=range(4), columns="u=caller,v=callee")
    assert snapshot.to_edges() == [(1, 2)]
    table = pa.table({"callee": [2], "start": [0], "caller": [1]})
    pq.write_table(table, tmp_path / "a.parquet")
    columns = "u=caller,v=callee,time=start"
    options: dict[str, Any] = {"every": "1d", "close_last": True, "columns": columns}
    assert published(read_stream(tmp_path / "a.parquet", roster=range(4), **options)) == [
        ("1970-01-01", [(1, 2)])
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("u=caller", "does not say|expected columns"),
        ("u", "does not say which column is which"),
        ("u=a,v=a", "names a column twice"),
        ("u=a,u=b", "does not say which"),
        ("w=a,v=b", "does not say which"),
        ("u=a,v=b,t=c,time=d", "t and time"),
        ("u=nobody,v=callee,t=day", "not name the columns 'day', 'nobody' and 'callee'"),
        ("u=9,v=1,t=2", "does not name"),
    ],
)
def test_columns_that_are_not_there_are_refused(tmp_path: Path, columns: str, message: str) -> None:
    file = write(tmp_path / "a.csv", f"day,caller,callee,{SECRET}\n0,1,2,3\n")
    with pytest.raises((DataError, InvalidArgument), match=message) as caught:
        read_stream(file, roster=range(4), columns=columns)
    assert SECRET not in str(caught.value)


def test_the_message_about_columns_lists_the_names_that_are_recognised(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "t,caller,callee\n0,1,2\n")
    with pytest.raises(DataError, match=r"--columns.* source and target.* timestamp"):
        read_stream(file, roster=range(4))


# ---- ids ----

PHONES = ["0049171", "49171", "12345678901234567890"]


@pytest.mark.parametrize("ids", ["auto", "text"])
def test_phone_numbers_and_long_ids_are_text(tmp_path: Path, ids: str) -> None:
    roster = write(tmp_path / "nodes.csv", "id\n" + "\n".join(PHONES))
    file = write(tmp_path / "a.csv", f"t,u,v\n0,49171,0049171\n0,49171,{PHONES[2]}\n")
    (snapshot,) = read_stream(file, roster=roster, ids=ids)
    assert snapshot.to_edges() == [("0049171", "49171"), (PHONES[2], "49171")]


def test_integers_are_read_as_text_when_told(tmp_path: Path) -> None:
    roster = write(tmp_path / "nodes.csv", "id\n1\n2\n")
    file = write(tmp_path / "a.csv", "t,u,v\n0,1,2\n")
    pq.write_table(pa.table({"t": [0], "u": [1], "v": [2]}), tmp_path / "a.parquet")
    for source in (file, tmp_path / "a.parquet"):
        (snapshot,) = read_stream(source, roster=roster, ids="text")
        assert snapshot.to_edges() == [("1", "2")]
    (snapshot,) = read_stream(file, roster_from_edges=True, ids="text")
    assert snapshot.to_edges() == [("1", "2")]


def test_a_type_that_contradicts_the_roster_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "t,u,v\n0,1,2\n")
    with pytest.raises(InvalidArgument, match="ids"):
        read_stream(file, roster=[1, 2], ids="text")
    with pytest.raises(InvalidArgument, match="ids"):
        read_stream(file, roster=[1, 2], ids="string")


PADDED = "t,u,v\n0,171,2\n0,0171,3\n"


@pytest.mark.parametrize("spelling", ["0171", "0xAB", '"0171"', " 0171"])
@pytest.mark.parametrize("nodes", [{"roster": [2, 3, 171]}, {"roster_from_edges": True}])
def test_zeros_that_are_lost_are_said_with_the_remedy(
    tmp_path: Path, spelling: str, nodes: dict[str, Any]
) -> None:
    file = write(tmp_path / "a.csv", PADDED.replace("0171", spelling))
    stream = read_stream(file, **nodes)
    with pytest.warns(UserWarning, match="--ids text"):
        assert published(stream) == [("0", [(2, 171), (3, 171)])]
    assert len(stream.curator_notes) == 1


def test_ids_read_as_text_keep_their_zeros(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", PADDED)
    roster = write(tmp_path / "nodes.csv", "id\n2\n3\n171\n")
    with pytest.raises(OutsideRoster):
        list(read_stream(file, roster=roster, ids="text"))
    (snapshot,) = read_stream(file, roster_from_edges=True, ids="text")
    assert {*snapshot.roster.ids} == {"2", "3", "171", "0171"}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("row", ["0,0,2", "0,10,2", "00,2,3", "0,-10,2"])
def test_other_integers_are_read_without_a_word(tmp_path: Path, row: str) -> None:
    file = write(tmp_path / "a.csv", f"t,u,v,time\n0,2,3,x\n{row}, 05:00\n")
    list(read_stream(file, roster=[-10, 0, 2, 3, 10]))


# ---- time zones ----


def test_days_are_those_of_the_time_zone(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "u,v,time\n1,2,2024-03-30T23:30Z\n1,3,2024-03-31T21:59Z\n")
    options: dict[str, Any] = {"every": "1d", "close_last": True, "roster": range(4)}
    assert published(read_stream(file, timezone="Europe/Berlin", **options)) == [
        ("2024-03-31", [(1, 2), (1, 3)])  # a day of 23 hours
    ]
    assert [time for time, _ in published(read_stream(file, **options))] == [
        "2024-03-30", "2024-03-31",
    ]  # fmt: skip


def test_times_without_a_zone_are_local(tmp_path: Path) -> None:
    rows = "1,2,2024-10-27T00:30\n1,3,2024-10-27T23:30\n"  # a day of 25 hours
    file = write(tmp_path / "a.csv", f"u,v,time\n{rows}")
    options: dict[str, Any] = {"close_last": True, "roster": range(4), "timezone": "Europe/Berlin"}
    assert len(list(read_stream(file, every="1d", **options))) == 1
    stream = read_stream(file, every="1h", **options)
    times = [snapshot.time for snapshot in stream]
    assert len(times) == 25
    assert (times[0], times[-1]) == ("2024-10-27T00:00:00+02:00", "2024-10-27T23:00:00+01:00")
    assert stream.times is not None
    assert str(stream.times).startswith("periods of 1h in Europe/Berlin")


def test_the_declared_ends_are_local_too(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "u,v,time\n1,2,2024-03-31T22:30Z\n")
    options: dict[str, Any] = {"every": "1mo", "roster": [1, 2], "timezone": "Europe/Berlin"}
    ends = {"start": "2024-04-01", "until": "2024-05-01"}
    assert published(read_stream(file, **options, **ends)) == [("2024-04-01", [(1, 2)])]
    with pytest.raises(InvalidArgument, match="timezone"):
        read_stream(file, **{**options, "timezone": "Berlin"})


# ---- the last period ----


@pytest.fixture
def events(tmp_path: Path) -> Path:
    rows = "1,2,2024-01-10\n1,3,2024-02-10\n2,3,2024-03-15\n"
    return write(tmp_path / "a.csv", f"u,v,time\n{rows}")


def months(file: Path, **options: Any) -> tuple[list[str | None], str | None]:
    stream = read_stream(file, roster=range(4), every="1mo", **options)
    times = [snapshot.time[:7] for snapshot in stream]
    return times, stream.held_back


def test_the_last_period_is_held_back_and_said_so(events: Path) -> None:
    with pytest.warns(UserWarning, match="2024-03-01"):
        assert months(events) == (["2024-01", "2024-02"], "2024-03-01")


@pytest.mark.parametrize(
    ("options", "last", "held_back"),
    [
        ({"close_last": True}, "2024-03", None),
        ({"until": "2024-04-01"}, "2024-03", None),
        ({"until": "2024-03-16"}, "2024-02", "2024-03-01"),
        ({"until": "2024-03-16", "close_last": True}, "2024-03", None),
        ({"until": "2024-05-01"}, "2024-04", None),
    ],
)
@pytest.mark.filterwarnings("ignore:Held back")
def test_a_period_is_published_when_it_is_over(
    events: Path, options: dict[str, Any], last: str, held_back: str | None
) -> None:
    times, found = months(events, **options)
    assert (times[-1], found) == (last, held_back)


@pytest.mark.filterwarnings("ignore:Held back")
def test_no_period_is_published_before_it_is_over_by_the_clock(
    events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = {
        "february": 1_707_955_200_000_000,
        "march": 1_711_929_600_000_000,
    }  # the 15th, the 1st of April
    monkeypatch.setattr("psgraph.streams.times.now", lambda: moment["february"])
    assert months(events, until="2030-01-01") == (["2024-01"], "2024-02-01")
    assert months(events) == (["2024-01"], "2024-02-01")
    monkeypatch.setattr("psgraph.streams.times.now", lambda: moment["march"])
    for until in ("2030-01-01", "now"):
        assert months(events, until=until)[0] == ["2024-01", "2024-02", "2024-03"]


@pytest.mark.filterwarnings("ignore:Held back")
def test_which_periods_are_over_does_not_depend_on_an_edge_when_the_end_is_declared(
    events: Path,
) -> None:
    ends = {"start": "2024-01-01", "until": "2024-03-16"}
    before = months(events, **ends)
    rows = events.read_text().splitlines(keepends=True)
    for removed in range(1, len(rows)):
        events.write_text("".join(rows[:removed] + rows[removed + 1 :]))
        assert months(events, **ends) == before


# ---- bad rows ----

BAD = f"t,u,v\n0,1,2\n0,1,{SECRET}\n\n0,1\n1,2,3\n7,1,2\n"
TIMES: dict[str, Any] = {"roster": range(4), "times": "0..1"}


def test_all_bad_rows_are_reported_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", BAD)
    with pytest.raises(DataError, match=r"a\.csv, line 3: ") as caught:
        list(read_stream(file, **TIMES))
    assert "2 more rows can't be used: lines 5, 7" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_no_snapshot_is_handed_out_after_a_bad_row(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", f"t,u,v\n0,1,2\n1,1,{SECRET}\n1,1,2\n2,1,2\n")
    handed_out: list[str | None] = []
    stream = read_stream(file, roster=range(4), times="0..2")
    with pytest.raises(DataError):
        handed_out.extend(snapshot.time for snapshot in stream)
    assert "1" not in handed_out


@pytest.mark.parametrize("policy", ["refuse", "skip"])
def test_bad_rows_are_listed_for_the_owner_alone(tmp_path: Path, policy: str) -> None:
    file, listing = write(tmp_path / "a.csv", BAD), write(tmp_path / "bad.csv", "old")
    stream = read_stream(file, **TIMES, bad_rows=policy, bad_rows_to=listing)
    if policy == "refuse":
        with pytest.raises(DataError, match=r"bad\.csv"):
            list(stream)
    else:
        assert published(stream) == published(stream) == [("0", [(1, 2)]), ("1", [(2, 3)])]
        assert stream.skipped == 3
    assert stat.S_IMODE(listing.stat().st_mode) == 0o600
    assert [row["place"] for row in listed(listing)] == ["line 3", "line 5", "line 7"]
    assert listed(listing)[0]["content"] == f"0,1,{SECRET}"


def test_a_skipped_row_of_another_form_changes_no_other_row(tmp_path: Path) -> None:
    rows = ["1,2,2024-01-01", "1,3,1704067200", "2,3,2024-01-01T00:00Z", "3,1,soon", ",1,0"]
    for first in range(len(rows)):
        body = "\n".join(rows[first:] + rows[:first])
        file = write(tmp_path / "a.csv", f"u,v,time\n{body}\n")
        stream = read_stream(file, roster=range(4), every="1d", bad_rows="skip", close_last=True)
        assert published(stream) == [("2024-01-01", [(1, 2), (1, 3), (2, 3)])]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("0 1 2\n", {"roster": [1, 2]}, "does not name"),
        ("t,u,v\n0,1,2\n", {"roster_from_edges": True, "times": "0..1"}, "needs ids"),
        ("t,u,v\n0,1,2\n", {"roster": [1, 2]}, "needs times"),
    ],
)
def test_rows_are_not_skipped_where_the_first_decides_how_others_are_read(
    tmp_path: Path, content: str, options: dict[str, Any], message: str
) -> None:
    file = write(tmp_path / "a.csv", content)
    with pytest.raises((InvalidArgument, DataError), match=message):
        read_stream(file, bad_rows="skip", **options)
    write(file, "1 2\n")
    with pytest.raises(InvalidArgument):
        list(read_stream(tmp_path, roster=[1, 2], bad_rows="skip"))


def test_another_kind_of_table_is_not_a_table_of_bad_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psgraph.streams.rows.MOST_BAD", 3)
    file = write(tmp_path / "a.csv", "t,u,v\n" + "0,a,b\n" * 4)
    with pytest.raises(DataError, match=r"(?s)a\.csv, line 2: .*More than 3 rows"):
        list(read_stream(file, **TIMES, bad_rows="skip"))


@pytest.mark.parametrize(
    "row",
    ["1,2,2023-01-01", "abe,2,2024-01-01", "12345678901234567890,2,2024-01-01", "1,2,1704067200"],
    ids=["early", "name", "long id", "other time"],
)
def test_many_bad_rows_of_a_block_are_reported_in_linear_time(tmp_path: Path, row: str) -> None:
    file = write(tmp_path / "a.csv", "u,v,time\n1,2,2024-01-01\n" + f"{row}\n" * 30_000)
    stream = read_stream(file, roster=range(4), every="1d", start="2024-01-01")
    started = time.process_time()
    with pytest.raises(DataError, match="line 3: ") as caught:
        list(stream)
    assert time.process_time() - started < 5  # a minute when each row is searched for by itself
    assert "29,999 more rows can't be used: lines 4, 5" in str(caught.value)


# ---- nodes outside the roster ----


def test_all_unknown_nodes_are_listed_and_nothing_is_handed_out_from_the_first_on(
    tmp_path: Path,
) -> None:
    file = write(tmp_path / "a.csv", f"t,u,v\n0,a,b\n1,a,{SECRET}\n2,x,b\n2,a,b\n")
    listing = tmp_path / "unknown.csv"
    handed_out: list[str | None] = []
    stream = read_stream(file, roster=["a", "b"], unknown_nodes_to=listing)
    with pytest.raises(OutsideRoster, match=r"unknown\.csv") as caught:
        handed_out.extend(snapshot.time for snapshot in stream)
    assert handed_out == ["0"]
    assert SECRET not in str(caught.value)
    assert [tuple(row.values()) for row in listed(listing)] == [(SECRET, "1"), ("x", "2")]
    assert stat.S_IMODE(listing.stat().st_mode) == 0o600


def test_unknown_nodes_need_a_roster(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "t,u,v\n0,a,b\n")
    with pytest.raises(InvalidArgument, match="unknown_nodes_to"):
        read_stream(file, roster_from_edges=True, unknown_nodes_to=tmp_path / "x")


@pytest.mark.filterwarnings("ignore:Edges with an end outside the roster")
def test_edges_outside_the_roster_are_dropped_when_told(tmp_path: Path) -> None:
    roster = TimedRoster(["a", "b", "c"], [0, 0, 1], [2, 2, 2])  # nobody is left at 2
    file = write(tmp_path / "a.csv", "t,u,v\n0,a,b\n0,a,c\n1,a,c\n1,x,y\n2,a,b\n")
    listing = tmp_path / "unknown.csv"
    stream = read_stream(file, roster=roster, unknown_nodes="drop", unknown_nodes_to=listing)
    for _ in range(2):  # nothing is left from an earlier reading
        assert published(stream) == [("0", [("a", "b")]), ("1", [("a", "c")]), ("2", [])]
        assert stream.outside_roster == 3
    expected = [("c", "0"), ("x", "1"), ("y", "1"), ("a", "2"), ("b", "2")]
    assert [tuple(row.values()) for row in listed(listing)] == expected


def test_dropping_says_what_the_roster_decides_whatever_the_edges_are(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "t,u,v\n0,a,b\n")
    with pytest.warns(UserWarning, match="the roster decides"):
        read_stream(file, roster=["a", "b"], unknown_nodes="drop")


@pytest.mark.filterwarnings("ignore:Edges with an end outside the roster")
def test_ids_of_another_type_are_refused_and_not_dropped(tmp_path: Path) -> None:
    for ids in (pa.array(["1"]), pa.array([2**63 + 5], pa.uint64())):
        pq.write_table(pa.table({"t": [0], "u": ids, "v": ids}), tmp_path / "a.parquet")
        with pytest.raises(DataError):
            list(read_stream(tmp_path / "a.parquet", roster=[1, 2], unknown_nodes="drop"))


# ---- gaps, compression, standard input ----


def test_gaps_are_refused_when_told(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "t,u,v\n0,1,2\n2,1,2\n")
    assert len(list(read_stream(file, roster=[1, 2], gaps="empty"))) == 3
    with pytest.raises(DataError, match="'1'"):
        list(read_stream(file, roster=[1, 2], gaps="refuse"))
    file = write(tmp_path / "b.csv", "u,v,time\n1,2,2024-01-01\n1,2,2024-01-03\n")
    with pytest.raises(DataError, match="2024-01-02"):
        list(read_stream(file, roster=[1, 2], every="1d", gaps="refuse"))


def test_a_missing_file_is_refused_when_told(tmp_path: Path) -> None:
    for day in ("2024-01-01", "2024-01-02", "2024-01-04"):
        write(tmp_path / f"{day}.csv", "u,v\n1,2\n")
    assert len(list(read_stream(tmp_path, roster=[1, 2]))) == 3
    with pytest.raises(DataError, match="'2024-01-03'"):
        read_stream(tmp_path, roster=[1, 2], gaps="refuse")
    with pytest.raises(InvalidArgument, match="gaps"):
        read_stream(tmp_path, roster=[1, 2], gaps="empty")


@pytest.mark.parametrize(
    "option", [{"columns": "u=a,v=b"}, {"gaps": "refuse"}, {"bad_rows": "skip"}]
)
def test_options_of_rows_are_refused_for_a_list_of_graphs(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(option))):
        read_stream([[(1, 2)]], roster=[1, 2], **option)


def test_zstd_files(tmp_path: Path) -> None:
    days = tmp_path / "days"
    days.mkdir()
    packed = pa.compress(b"u,v\n1,2\n", codec="zstd", asbytes=True)
    (days / "1.csv.zst").write_bytes(packed)
    stream = read_stream(days, roster=[1, 2])
    assert published(stream) == [("1", [(1, 2)])]
    for damaged in (packed[:-3], b"u,v\n"):
        (days / "1.csv.zst").write_bytes(damaged)
        with pytest.raises(DataError, match=r"damaged|not compressed"):
            list(stream)


def test_standard_input_is_kept_for_the_owner_and_can_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"t,u,v\n0,1,2\n0,1,x\n")))
    stream = read_stream("-", roster=[1, 2])
    (kept,) = tmp_path.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    for _ in range(2):
        with pytest.raises(DataError, match="standard input, line 3"):
            list(stream)
