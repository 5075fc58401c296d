"""Streams from data frames and from graphs in memory."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import networkx
import pandas
import polars
import pyarrow as pa
import pytest

from psgraph.errors import DataError, InvalidArgument, RosterError
from psgraph.graph import Roster
from psgraph.graph.formats.frames import FrameTable
from psgraph.streams import read_stream
from psgraph.streams.rosters import TimedRoster

EVENTS = pandas.DataFrame(
    {
        "u": ["ann", "bob", "cid", "ann"],
        "v": ["bob", "cid", "ann", "cid"],
        "time": pandas.to_datetime(["2024-03-05", "2024-01-01", "2024-01-20", "2024-03-07"]),
    }
)
ARROW = pa.table({name: pa.array(EVENTS[name]) for name in EVENTS})
STAFF = ["ann", "bob", "cid", "dan"]
MONTHS = [
    ("2024-01-01", [("ann", "cid"), ("bob", "cid")]),
    ("2024-02-01", []),
    ("2024-03-01", [("ann", "bob"), ("ann", "cid")]),
]
FRAMES = {
    "pandas": EVENTS,
    "pandas, times in the index": EVENTS.set_index("time"),
    "pandas, categories": EVENTS.astype({"u": "category"}),
    "pandas, a column of anything": EVENTS.assign(note=[{}, 1, "text", None]),
    "polars": polars.from_arrow(ARROW),
    "polars, lazy": polars.from_arrow(ARROW).lazy(),  # type: ignore[union-attr]
    "Arrow table": ARROW,
    "Arrow batch": ARROW.combine_chunks().to_batches()[0],
    "Arrow table in chunks": pa.concat_tables([ARROW[:1], ARROW[1:3], ARROW[3:]]),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_every_kind_of_frame_is_cut_into_the_same_months(frame: Any) -> None:
    stream = read_stream(frame, every="1mo", until="2024-04-01", roster=STAFF)
    found = [(snapshot.time, snapshot.to_edges()) for snapshot in stream]
    assert found == MONTHS
    assert {len(snapshot.roster) for snapshot in stream} == {4}


class Interchange:
    """A frame that only has the older interchange protocol."""

    columns = ("u", "v", "time")

    def __dataframe__(self, **options: Any) -> Any:
        return ARROW.__dataframe__(**options)


def test_a_frame_with_the_interchange_protocol_alone_is_read() -> None:
    stream = read_stream(Interchange(), every="1mo", until="2024-04-01", roster=STAFF)
    assert [snapshot.time for snapshot in stream] == [time for time, _ in MONTHS]


def test_a_frame_of_timestamps_fills_gaps_and_need_not_be_sorted() -> None:
    frame = pandas.DataFrame({"t": [3, 0, 1], "u": [1, 2, 3], "v": [2, 3, 4]})
    found = list(read_stream(frame, roster=range(5)))
    assert [snapshot.time for snapshot in found] == ["0", "1", "2", "3"]
    assert [snapshot.to_edges() for snapshot in found] == [[(2, 3)], [(3, 4)], [], [(1, 2)]]


def test_labels_of_a_frame_keep_their_declared_order() -> None:
    frame = pa.table({"t": ["spring", "autumn"], "u": [1, 1], "v": [2, 3]})
    stream = read_stream(frame, roster=range(5), times=["spring", "summer", "autumn"])
    assert [len(snapshot.u) for snapshot in stream] == [1, 0, 1]


WRONG: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (EVENTS, {"roster": STAFF}, DataError, "every='1d'"),
    (EVENTS, {"every": "1mo"}, RosterError, "no roster given"),
    (EVENTS, {"every": "1mo", "nodes_are_public": True}, RosterError, "a table lists edges"),
    (EVENTS[["v", "time"]], {"every": "1mo", "roster": STAFF}, DataError, "expected columns 'u'"),
    (EVENTS[:0], {"every": "1mo", "roster": STAFF}, DataError, "has no rows"),
    (
        EVENTS.assign(u=["ann", 4711, None, 0.5]),
        {"every": "1mo", "roster": STAFF},
        DataError,
        "mixes types",
    ),
    (
        EVENTS.assign(time=[None, *EVENTS.time[1:]]),
        {"every": "1mo", "roster": STAFF},
        DataError,
        "row 0: no value for time",
    ),
    (
        EVENTS.assign(u=["ann", "bob", None, "ann"]),
        {"every": "1mo", "roster": STAFF},
        DataError,
        "row 2: no value for u",
    ),
]


@pytest.mark.parametrize(("frame", "options", "error", "text"), WRONG)
def test_unusable_frames_are_refused_without_showing_a_cell(
    frame: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text) as caught:
        list(read_stream(frame, **options))
    assert "4711" not in str(caught.value)


def test_a_refused_row_is_named_by_its_place_in_the_frame_and_not_in_the_sorted_rows() -> None:
    frame = pandas.DataFrame({"u": [1, 2], "v": [2, 3], "time": ["2024-02-01", "2023-12-31"]})
    with pytest.raises(DataError, match="row 1: "):
        list(read_stream(frame, every="1mo", roster=range(5), start="2024-01-01"))


def test_incomplete_rows_can_be_reported_and_left_out() -> None:
    frame = FrameTable(pa.table({"u": [1, None, 3], "v": [4, 5, 6], "t": [1, 0, 0]}))
    reported: list[tuple[str, str, str]] = []
    columns = {name: (index, pa.int64()) for index, name in enumerate("uvt")}
    (batch,) = frame.batches(columns, bad=lambda *row: reported.append(row))
    assert reported == [("row 1", "no value for u\nRepair the row or leave it out.", "")]
    assert batch.columns["v"].to_pylist() == [6, 4]
    assert [batch.locate(row) for row in range(2)] == ["row 2", "row 0"]


def test_a_mapping_from_time_to_graph_is_a_stream() -> None:
    graphs = {"2024-01": networkx.path_graph(3), "2024-02": networkx.star_graph(3)}
    stream = read_stream(graphs, nodes_are_public=True)
    assert [snapshot.time for snapshot in stream] == ["2024-01", "2024-02"]
    assert str(stream.times) == "listed by the publisher"
    assert stream.length == 2


def test_graphs_at_declared_times_follow_a_changing_roster() -> None:
    roster = TimedRoster([0, 1, 2], [None, None, "2024-02"], [None, None, None])
    graphs = [networkx.path_graph(2), networkx.path_graph(3)]
    first, second = read_stream(graphs, roster=roster, times=["2024-01", "2024-02"])
    assert (first.roster, second.roster) == (Roster([0, 1]), Roster([0, 1, 2]))


def test_graphs_and_declared_times_must_be_equally_many() -> None:
    graph = networkx.path_graph(2)
    with pytest.raises(InvalidArgument, match=r"2 times .* 1 graphs"):
        read_stream([graph], nodes_are_public=True, times=["a", "b"])
    with pytest.raises(DataError):
        list(read_stream((each for each in [graph, graph]), nodes_are_public=True, times=["a"]))
    with pytest.raises(InvalidArgument, match="times"):
        read_stream({"a": graph}, nodes_are_public=True, times=["a"])


def test_an_arrow_table_is_read_without_pandas_and_polars() -> None:
    program = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name in ('pandas', 'polars'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import pyarrow as pa\n"
        "from psgraph.streams import read_stream\n"
        "print(*read_stream(pa.table({'t': [0], 'u': [1], 'v': [2]}), roster=[1, 2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "Snapshot(2 nodes, edges private, time='0')"
