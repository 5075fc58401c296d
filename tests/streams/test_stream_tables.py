"""Streams from one table t, u, v."""

from __future__ import annotations

import gc
import gzip
import itertools
import tracemalloc
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psgraph.errors import DataError
from psgraph.graph import Roster, Snapshot
from psgraph.graph.formats import parquet, text
from psgraph.streams import Stream, read_stream
from psgraph.streams.rosters import TimedRoster
from tests.refusals import refused

Row = tuple[Any, Any, Any]
rows_of_edges = st.tuples(
    st.sampled_from([st.integers(0, 30), st.text("abcé", min_size=1, max_size=3)]),
    st.sampled_from([st.integers(0, 4), st.dates(date(2004, 1, 1), date(2004, 1, 5))]),
).flatmap(lambda kinds: st.lists(st.tuples(kinds[1], kinds[0], kinds[0]), min_size=1, max_size=25))


def reference(rows: list[Row]) -> list[tuple[str, Snapshot]]:
    """The snapshots of sorted rows; integers between the first and the last all occur."""
    groups = {t: list(group) for t, group in itertools.groupby(rows, key=lambda row: row[0])}
    times = sorted(groups)
    if isinstance(times[0], int):
        times = list(range(times[0], times[-1] + 1))
    dtype = object if isinstance(rows[0][1], str) else np.int64
    found = []
    for t in times:
        heads, tails = (
            np.array([row[end] for row in groups.get(t, [])], dtype=dtype) for end in (1, 2)
        )
        found.append((str(t), Snapshot.from_ids(heads, tails, roster_from_edges=True)))
    return found


def found(stream: Stream) -> list[tuple[str | None, Snapshot]]:
    return [(snapshot.time, snapshot) for snapshot in stream]


def text_table(rows: list[Row], separator: str = ",", end: str = "\n") -> bytes:
    lines = [separator.join(map(str, row)) for row in [("t", "u", "v"), *rows]]
    return (end.join(lines) + end).encode()


def as_csv(rows: list[Row], file: Path) -> None:
    file.write_bytes(text_table(rows))


def as_windows_tsv(rows: list[Row], file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf# made by hand\r\n\r\n" + text_table(rows, "\t", "\r\n"))


def as_blanks(rows: list[Row], file: Path) -> None:
    file.write_bytes(text_table(rows, "  ").replace(b"\n", b" \n "))


def as_gzip(rows: list[Row], file: Path) -> None:
    file.write_bytes(gzip.compress(text_table(rows, ";")))


def as_parquet(rows: list[Row], file: Path) -> None:
    columns = dict(zip("tuv", map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table({"x": [None] * len(rows), **columns}), file, row_group_size=7)


WRITERS = [as_csv, as_windows_tsv, as_blanks, as_gzip, as_parquet]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("size", [1, 64, 1 << 20])
@given(rows=rows_of_edges)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_format_and_block_size_gives_the_same_snapshots(
    write: Callable[[list[Row], Path], None],
    size: int,
    rows: list[Row],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text, "BLOCK_BYTES", size)
    monkeypatch.setattr(parquet, "BATCH_ROWS", size)
    rows = sorted(rows, key=lambda row: row[0])
    file = tmp_path / ("table.parquet" if write is as_parquet else "table")
    write(rows, file)
    stream = read_stream(file, roster_from_edges=True)
    expected = reference(rows)
    assert found(stream) == expected
    assert found(stream) == expected  # files can be read again
    assert [s.dropped for s in stream] == [s.dropped for _, s in expected]
    assert stream.length in (None, len(expected))
    if write is as_parquet:
        assert stream.length == len(expected)
    everyone = Roster(sorted({end for row in rows for end in row[1:]}))
    for time, snapshot in found(read_stream(str(file), roster=everyone)):
        assert snapshot.roster is everyone
        assert snapshot.to_edges() == dict(expected)[str(time)].to_edges()


@given(rows_of_edges, st.randoms(use_true_random=False))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_unsorted_timestamps_are_refused(tmp_path: Path, rows: list[Row], random: Any) -> None:
    random.shuffle(rows)
    times = [row[0] for row in rows]
    for write in (as_csv, as_parquet):
        file = tmp_path / ("table.parquet" if write is as_parquet else "table.csv")
        write(rows, file)
        stream = read_stream(file, roster_from_edges=True)
        if times == sorted(times):
            assert found(stream) == reference(rows)
        else:
            step = next(i for i in range(1, len(times)) if times[i] < times[i - 1])
            where = f"row {step + 1}:" if write is as_parquet else f"line {step + 2}:"
            with pytest.raises(DataError, match=where):
                list(stream)


@pytest.mark.parametrize(
    ("values", "times"),
    [
        (pa.array([3, 4], pa.uint8()), ["3", "4"]),
        (pa.array([date(2004, 1, 5), date(2004, 1, 6)]), ["2004-01-05", "2004-01-06"]),
        (
            pa.array([datetime(2004, 1, 5, 1), datetime(2004, 1, 6)], pa.timestamp("ns")),
            ["2004-01-05T01:00:00", "2004-01-06T00:00:00"],
        ),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
    ],
)
def test_timestamps_of_many_types(tmp_path: Path, values: pa.Array, times: list[str]) -> None:
    pq.write_table(pa.table({"t": values, "u": [1, 1], "v": [2, 3]}), tmp_path / "a.parquet")
    stream = read_stream(tmp_path / "a.parquet", roster=range(4))
    assert [snapshot.time for snapshot in stream] == times
    assert stream.length == 2
    assert stream.description == "a.parquet"


@pytest.mark.parametrize("names", ["source,target", "SRC,DST", "from,to", "FromNodeId,ToNodeId"])
def test_ends_under_other_names(tmp_path: Path, names: str) -> None:
    (tmp_path / "a.csv").write_text(f"{names},t\n1,2,0\n")
    assert [s.to_edges() for s in read_stream(tmp_path / "a.csv", roster=range(3))] == [[(1, 2)]]


def test_the_first_row_of_a_text_file_decides_the_type_of_ids(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("t,u,v\n0,ann,bob\n0,1911,ann\n")
    (snapshot,) = read_stream(file, roster_from_edges=True)
    assert snapshot.roster.ids.tolist() == ["1911", "ann", "bob"]
    file.write_text("t,u,v\n0,1911,1984\n0,ann,1911\n")
    with pytest.raises(DataError, match="line 3: "):
        list(read_stream(file, roster_from_edges=True))
    (snapshot,) = read_stream(file, roster=["1911", "1984", "ann"])  # a roster of names
    assert snapshot.to_edges() == [("1911", "1984"), ("1911", "ann")]
    file.write_text("t,u,v\n0,007,7\n")
    with refused(DataError, "mixed_ids"):
        read_stream(file, roster_from_edges=True)


def test_the_roster_may_change_between_snapshots(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,u,v\n0,1,2\n1,1,2\n2,1,3\n")
    roster = TimedRoster([1, 2, 3], [None, None, 2], [None, 2, None])
    first, second, third = read_stream(tmp_path / "a.csv", roster=roster)
    assert first.roster is second.roster
    assert third.roster == Roster([1, 3])


# ---- memory ----


ROWS = 2000  # of a snapshot


def write_long(file: Path, snapshots: int, kind: str) -> None:
    t = np.repeat(np.arange(snapshots), ROWS)
    u, v = np.random.default_rng(snapshots).integers(0, 300, (2, t.size))
    table = pa.table({"t": t, "u": u, "v": v})
    if kind == "parquet":
        pq.write_table(table, file, row_group_size=10_000)
    else:
        pa.csv.write_csv(table, file)


def peak_memory(file: Path) -> int:
    """The most that Python and Arrow hold while reading a stream, above what they held before."""
    stream = read_stream(file, roster_from_edges=True)
    gc.collect()
    before, most = pa.total_allocated_bytes(), 0
    tracemalloc.start()
    try:
        for _ in stream:
            most = max(most, pa.total_allocated_bytes() - before)
        return most + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_memory_does_not_grow_with_the_stream(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow frees blocks in its own threads: the lowest of three peaks is compared."""
    monkeypatch.setattr(text, "BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 1 << 12)
    short, long = 10, 500
    peaks = []
    for snapshots in (short, short, long):  # the first run pays for what is loaded once
        file = tmp_path / f"{snapshots}.{kind}"
        write_long(file, snapshots, kind)
        peaks.append(min(peak_memory(file) for _ in range(3 if snapshots == long else 1)))
    more = ROWS * (long - short)
    assert peaks[2] - peaks[1] < more  # less than a byte for each row more; a column has 8
