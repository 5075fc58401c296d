"""Streams from event tables, against a reference that walks the calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument, OutsideRoster
from psgraph.graph import Roster
from psgraph.graph.formats import parquet, text
from psgraph.graph.formats.files import open_table
from psgraph.streams import Stream, events, read_stream
from psgraph.streams.nodes import Nodes
from psgraph.streams.periods import Period, Span
from psgraph.streams.rosters import TimedRoster
from psgraph.streams.times import microseconds

EPOCH = datetime(1970, 1, 1)
Event = tuple[int, int, datetime]


def read_all(source: Path, **options: Any) -> Stream:
    """Read a stream to its last period, whether it is over or not."""
    return read_stream(source, close_last="every" in options, **options)


def period_start(moment: datetime, count: int, unit: str) -> datetime:
    """Walk from 1970 (weeks: from the Monday before it) in whole periods."""
    if unit in ("mo", "y"):
        months = count * (12 if unit == "y" else 1)
        number = (moment.year * 12 + moment.month - 1 - 1970 * 12) // months * months
        return datetime(1970 + number // 12, number % 12 + 1, 1)
    origin = datetime(1969, 12, 29) if unit == "w" else EPOCH
    names = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    step = timedelta(**{names[unit]: count})
    return origin + (moment - origin) // step * step


def next_start(start: datetime, count: int, unit: str) -> datetime:
    later = start
    while period_start(later, count, unit) == start:
        later += timedelta(seconds=1) if unit == "s" else timedelta(minutes=1)
        if unit in ("mo", "y", "w", "d"):
            later += timedelta(hours=23, minutes=59)
    return period_start(later, count, unit)


def reference(
    rows: list[Event], count: int, unit: str, cumulative: bool
) -> list[tuple[str, set[tuple[int, int]]]]:
    start, last = (period_start(row[2], count, unit) for row in (rows[0], rows[-1]))
    found, edges = [], set()
    while start <= last:
        now = {
            (min(u, v), max(u, v))
            for u, v, time in rows
            if u != v and period_start(time, count, unit) == start
        }
        edges = edges | now if cumulative else now
        short = unit in ("s", "min", "h")
        found.append((start.isoformat() if short else start.date().isoformat(), edges))
        start = next_start(start, count, unit)
    return found


SPANS = {"s": 40, "min": 3600, "h": 2 * 86_400, "d": 20 * 86_400, "w": 90 * 86_400}


@st.composite
def cuts(draw: st.DrawFn) -> tuple[list[Event], int, str]:
    unit = draw(st.sampled_from(["s", "min", "h", "d", "w", "mo", "y"]))
    count = draw(st.integers(1, 3))
    first = draw(st.datetimes(datetime(1960, 1, 1), datetime(2030, 1, 1))).replace(microsecond=0)
    seconds = st.integers(0, SPANS.get(unit, 1500 * 86_400))
    node = st.integers(0, 5)
    rows = draw(st.lists(st.tuples(node, node, seconds), min_size=1, max_size=12))
    ordered = sorted(rows, key=lambda row: row[2])
    return [(u, v, first + timedelta(seconds=gap)) for u, v, gap in ordered], count, unit


def write(rows: list[Event], file: Path, form: str) -> None:
    u, v, times = ([row[i] for row in rows] for i in range(3))
    if form == "csv":
        lines = [f"{u},{v},{time}" for u, v, time in rows]
        file.write_text("\n".join(["u,v,Time", *lines]) + "\n")
        return
    stamps = pa.array(times, pa.timestamp("ms"))
    column = {
        "timestamp": stamps,
        "zoned": stamps.cast(pa.timestamp("us", "UTC")),
        "text": pa.array([time.isoformat() for time in times]),
        "zoned text": pa.array([time.isoformat() + "Z" for time in times]),
        "seconds": pa.array([int((time - EPOCH).total_seconds()) for time in times]),
        "floats": pa.array([(time - EPOCH).total_seconds() for time in times]),
    }[form]
    pq.write_table(pa.table({"DateTime": column, "u": u, "v": v}), file, row_group_size=3)


FORMS = ["csv", "timestamp", "zoned", "text", "zoned text", "seconds", "floats"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cumulative", [False, True])
@given(cut=cuts())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_periods_agree_with_the_calendar(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    cumulative: bool,
    cut: tuple[list[Event], int, str],
) -> None:
    monkeypatch.setattr(text, "BLOCK_BYTES", 24)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 2)
    rows, count, unit = cut
    file = tmp_path / ("events.csv" if form == "csv" else "events.parquet")
    write(rows, file, form)
    every = f"{count}{unit}"
    expected = reference(rows, count, unit, cumulative)
    stream = read_all(file, roster=range(6), every=every, cumulative=cumulative)
    assert [(s.time, set(s.to_edges())) for s in stream] == expected
    assert stream.length == (None if form in ("csv", "text", "zoned text") else len(expected))
    stream = read_all(file, roster_from_edges=True, every=every, cumulative=cumulative)
    for snapshot, (time, edges) in zip(stream, expected, strict=True):
        assert (snapshot.time, set(snapshot.to_edges())) == (time, edges)
        assert snapshot.roster.ids.tolist() == sorted({end for edge in edges for end in edge})
        assert snapshot.roster.from_edges


@pytest.mark.parametrize(
    ("every", "time", "start"),
    [
        ("1w", "2004-01-07", "2004-01-05"),
        ("1mo", "2004-02-29T23:59:59", "2004-02-01"),
        ("3mo", "2004-02-29", "2004-01-01"),
        ("1y", "2004-12-31", "2004-01-01"),
        ("6h", "2004-01-05T13:00", "2004-01-05T12:00:00"),
        ("15min", "2004-01-05T13:59:59.9", "2004-01-05T13:45:00"),
        ("1d", "1969-12-31T23:59:59", "1969-12-31"),
    ],
)
def test_periods_begin_where_people_expect(
    tmp_path: Path, every: str, time: str, start: str
) -> None:
    (tmp_path / "a.csv").write_text(f"u,v,time\n1,2,{time}\n")
    (snapshot,) = read_all(tmp_path / "a.csv", roster=[1, 2], every=every)
    assert snapshot.time == start


@pytest.mark.parametrize("name", ["time", "timestamp", "date", "datetime", "TIMESTAMP"])
@pytest.mark.parametrize(
    "value", ["2004-01-05", "1073260800", "1073260800.5", "2004-01-05 00:00:01"]
)
def test_names_and_forms_of_times(tmp_path: Path, name: str, value: str) -> None:
    (tmp_path / "a.tsv").write_text(f"u\tv\t{name}\n1\t2\t{value}\n")
    stream = read_all(tmp_path / "a.tsv", roster=[1, 2], every="1d", cumulative=True)
    assert [snapshot.time for snapshot in stream] == ["2004-01-05"]
    assert stream.description == "a.tsv, every 1d, cumulative"


def test_fractions_of_a_second_before_1970_are_in_the_second_before() -> None:
    assert microseconds(pa.array([-0.5, 0.0, 1.25])).tolist() == [-500_000, 0, 1_250_000]
    assert Period.parse("1s").numbers(microseconds(pa.array([-0.5, 0.5]))).tolist() == [-1, 0]


def test_dates_and_zones(tmp_path: Path) -> None:
    zone = timezone(timedelta(hours=2))
    for column in (
        pa.array([date(2004, 1, 4)]),
        pa.array([datetime(2004, 1, 5, 1, tzinfo=zone)], pa.timestamp("us", "+02:00")),
        pa.array(["2004-01-05T01:00:00+02:00"]),
    ):
        table = pa.table({"u": [1], "v": [2], "time": column})
        pq.write_table(table, tmp_path / "a.parquet")
        (snapshot,) = read_all(tmp_path / "a.parquet", roster=[1, 2], every="1d")
        assert snapshot.time == "2004-01-04"
    (tmp_path / "a.csv").write_text("u,v,time\n1,2,2004-01-05T01:00:00+02:00\n")
    (snapshot,) = read_all(tmp_path / "a.csv", roster=[1, 2], every="1d")
    assert snapshot.time == "2004-01-04"
    assert datetime(2004, 1, 5, 1, tzinfo=zone).astimezone(UTC).day == 4


def test_the_reddit_format(tmp_path: Path) -> None:
    (tmp_path / "reddit.tsv").write_text(
        "SOURCE_SUBREDDIT\tTARGET_SUBREDDIT\tPOST_ID\tTIMESTAMP\tLINK_SENTIMENT\tPROPERTIES\n"
        "leagueoflegends\tteamredditteams\t1u4nrps\t2013-12-31 16:39:58\t1\t345.0,298.0\n"
        "theredlion\tsoccer\t1u4qkd\t2014-02-01 00:00:00\t-1\t101.0,98.0\n"
    )
    stream = read_all(tmp_path / "reddit.tsv", roster_from_edges=True, every="1mo")
    assert [(s.time, len(s.roster)) for s in stream] == [
        ("2013-12-01", 2),
        ("2014-01-01", 0),
        ("2014-02-01", 2),
    ]


def test_cumulative_snapshots_follow_a_changing_roster(tmp_path: Path) -> None:
    rows = ["1,2,2004-01-01", "2,3,2004-01-02", "1,3,2004-01-03", "1,2,2004-01-04"]
    (tmp_path / "a.csv").write_text("\n".join(["u,v,time", *rows]) + "\n")
    roster = TimedRoster(
        [1, 2, 2, 3],
        [None, None, "2004-01-04", None],
        [None, "2004-01-03", None, None],
    )
    stream = read_all(tmp_path / "a.csv", roster=roster, every="1d", cumulative=True)
    assert [snapshot.to_edges() for snapshot in stream] == [
        [(1, 2)],
        [(1, 2), (2, 3)],
        [(1, 3)],  # 2 is away
        [(1, 2), (1, 3), (2, 3)],  # and back, with what it had
    ]
    assert [snapshot.roster for snapshot in stream][2] == Roster([1, 3])


def test_a_new_edge_of_a_node_that_left_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("u,v,time\n1,2,2004-01-01\n1,2,2004-01-02\n")
    roster = TimedRoster([1, 2], [None, None], [None, "2004-01-02"])
    with pytest.raises(OutsideRoster, match="2004-01-02"):
        list(read_all(tmp_path / "a.csv", roster=roster, every="1d", cumulative=True))


@pytest.mark.parametrize(
    "every", ["", "d", "0d", "1", "1m", "-1d", "1.5d", "1 d", "d1", "1D", "1e3s"]
)
def test_lengths_that_are_none_are_refused(every: str) -> None:
    with pytest.raises(InvalidArgument, match="every"):
        Period.parse(every)


SECRET = "SECRET_NODE_4711"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("t,u,v\n0,1,2\n", "no times to cut by.*found 't', 'u', 'v'"),
        (f"{SECRET},b,2004-01-01\n", "first line does not name"),
        (f"a,time\n{SECRET},2004-01-01\n", "expected columns 'u', 'v' and 'time'"),
        ("u,v,time\n", "has no rows"),
        ("u,v,time,date\n1,2,2004-01-01,2004-01-01\n", "mean the same"),
        (f"u,v,time\n{SECRET},b,soon\n", "line 2: a time can't be read"),
        (f"u,v,time\n1,2,2004-01-02\n1,2,{SECRET}\n", "line 3: time is not a time"),
        ("u,v,time\n1,2,2004-01-02\n1,2,\n", "line 3: no value for time"),
        ("u,v,time\n1,2,2004-01-02\n1,2,5\n", "line 3: time is not a time"),
        ("u,v,time\n1,2,5\n1,2,2004-01-01\n", "line 3: time is not an integer"),
        ("u,v,time\n1,2,5\n1,2,1073260800000\n", "line 3: a time lies outside the years"),
        ("u,v,time\n1,2,0001-01-01\n1,2,2004-01-01\n", "line 3: more than 1,000,000 periods"),
    ],
)
def test_broken_event_tables_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    every = "1min" if "0001" in content else "1d"
    with pytest.raises(DataError, match=message) as caught:
        list(read_all(tmp_path / "a.csv", roster_from_edges=True, every=every))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (pa.array(["2004-01-01", "2004-01-02", SECRET]), "row 3: a time can't be read"),
        (pa.array(["2004-01-01", "2004-01-02T00:00Z", ""]), "row 3: a time can't be read"),
        (pa.array([1, 2, 2**60]), "row 3: a time lies outside"),
        (pa.array([1.0, float("nan"), 2.0]), "row 2: a time lies outside"),
        (pa.array([True, True, False]), "not bool"),
        (pa.array([1, None, 2]), "row 2: no value for time"),
    ],
)
def test_broken_times_in_parquet_are_refused(tmp_path: Path, times: Any, message: str) -> None:
    table = pa.table({"u": [1, 2, 1], "v": [2, 3, 3], "time": times})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=message) as caught:
        list(read_all(tmp_path / "a.parquet", roster=range(4), every="1s"))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("rows", [1, 3, 1 << 18])
@pytest.mark.parametrize("run", [1, 4, 1 << 20])
def test_unsorted_events_are_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, run: int
) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", rows)
    monkeypatch.setattr(events, "RUN_ROWS", run)
    hours = np.random.default_rng(run).permutation(np.arange(100))
    table = pa.table({"u": hours, "v": hours + 1, "time": hours * 3600})
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.sort_by("time"), tmp_path / "b.parquet")
    shuffled, ordered = (
        [
            (snapshot.time, snapshot.to_edges())
            for snapshot in read_all(tmp_path / name, roster=range(101), every="1d")
        ]
        for name in ("a.parquet", "b.parquet")
    )
    assert shuffled == ordered
    assert len(ordered) == 5


def test_sorting_leaves_no_private_rows_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setenv("TMPDIR", str(spool))
    monkeypatch.setattr(events, "RUN_ROWS", 1)
    monkeypatch.setattr(text, "BLOCK_BYTES", 24)
    (tmp_path / "a.csv").write_text("u,v,time\n1,2,2004-01-02\n1,2,2004-01-01\n")
    reading = iter(read_all(tmp_path / "a.csv", roster=[1, 2], every="1d"))
    next(reading)
    (directory,) = spool.iterdir()
    assert directory.stat().st_mode & 0o077 == 0
    next(reading)
    assert next(reading, None) is None
    assert not list(spool.iterdir())


def test_long_event_tables_are_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 1000)
    u, v = np.random.default_rng(1).integers(0, 50, (2, 300_000))
    table = pa.table({"u": u, "v": v, "time": np.arange(u.size)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=5000)
    size = table.nbytes
    del table, u, v
    before = pa.total_allocated_bytes()
    stream = read_all(tmp_path / "a.parquet", roster=range(50), every="10min")
    held = [pa.total_allocated_bytes() - before for _ in stream]
    assert len(held) == stream.length == 500
    assert max(held) < size / 20


def test_silence_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_EMPTY", 3)
    (tmp_path / "a.csv").write_text("u,v,time\n1,2,0\n1,2,3\n1,2,7\n")
    stream = iter(read_all(tmp_path / "a.csv", roster=[1, 2], every="1s"))
    assert [next(stream).time for _ in range(3)][-1] == "1970-01-01T00:00:02"
    with pytest.raises(DataError, match="more than 3 periods"):
        list(stream)


def test_two_tables_that_are_read_at_once_keep_their_bad_rows_apart(tmp_path: Path) -> None:
    every = Period.parse("1d")
    ends = every.moment("2024-01-01"), every.moment("2024-01-03")
    span = Span(every, *ends, close_last=True, present=ends[1])

    def opened(name: str, *times: str) -> Stream:
        path = tmp_path / name
        path.write_text("u,v,time\n" + "".join(f"1,2,{time}\n" for time in times))
        return events.event_stream(open_table(path), Nodes.choose(Roster([1, 2])), span=span)

    paused = iter(opened("good.csv", "2024-01-01", "2024-01-02"))
    next(paused)
    with pytest.raises(DataError, match="before the declared start"):
        list(opened("bad.csv", "2024-01-01", "2023-12-31"))
    assert len(list(paused)) == 1


@pytest.mark.parametrize(
    ("start", "until", "close_last", "remarks"),
    [
        (None, None, False, 0),
        ("2024-01-01", "2024-03-01", False, 0),
        ("2024-01-01", "2024-03-01", True, 0),
        ("2024-01-02", "2024-03-01", False, 1),  # the first month is partial
        ("2024-01-01", "2024-03-05", False, 0),  # March is held back
        ("2024-01-01", "2024-03-05", True, 1),  # March is partial
        (None, None, True, 1),  # the last period may be partial
        ("2024-01-01", "2999-01-01", False, 1),  # empty months up to today
    ],
)
def test_partial_and_future_ends_are_told_from_what_was_declared(
    start: str | None, until: str | None, close_last: bool, remarks: int
) -> None:
    span = Span.parse(start, until, every=Period.parse("1mo"), close_last=close_last)
    assert len(span.remarks()) == remarks
