"""Reading releases back: what was written comes back, what is broken is named by file."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psgraph.errors import DataError
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics import compare, read_releases


def write(directory, graphs):
    for ordinal, graph in enumerate(graphs):
        heads, tails = graph.to_ids()
        kind = pa.string() if graph.roster.strings else pa.int64()
        table = pa.table({"u": pa.array(heads, kind), "v": pa.array(tails, kind)})
        pq.write_table(table, directory / f"{ordinal:06d}.parquet")


@pytest.mark.parametrize("roster", [Roster([3, 30, 300, 3000]), Roster(["a", "b", "ç", "d"])])
def test_round_trip(tmp_path, roster):
    graphs = [
        SyntheticGraph(roster, u, v) for u, v in [([0, 1], [1, 2]), ([], []), ([0, 0], [3, 2])]
    ]
    write(tmp_path, graphs)
    (tmp_path / "000000.json").write_text("{}")
    (tmp_path / "notes.parquet").write_text("not a release")
    assert list(read_releases(tmp_path, [roster] * 3)) == graphs
    snapshots = [Snapshot(roster, [0], [1], time=str(month)) for month in range(3)]
    read = list(read_releases(str(tmp_path), snapshots))
    assert read == graphs
    assert [graph.time for graph in read] == ["0", "1", "2"]


def test_one_pass_over_the_stream_is_enough(tmp_path):
    roster = Roster.range(5)
    graphs = [SyntheticGraph(roster, [0, 1], [1, index]) for index in (2, 3, 4)]
    write(tmp_path, graphs)
    stream = (Snapshot(roster, graph.u, graph.v) for graph in graphs)
    originals, rosters = itertools.tee(stream)
    comparison = compare(originals, read_releases(tmp_path, rosters))
    assert comparison.mean.eigenvector_overlap == 1
    assert comparison.mean.density_error == 0


def test_reading_is_lazy(tmp_path):
    roster = Roster.range(3)
    write(tmp_path, [SyntheticGraph(roster, [0], [1])] * 2)
    (tmp_path / "000001.parquet").write_bytes(b"broken")
    reader = read_releases(tmp_path, itertools.repeat(roster))
    assert next(reader).edge_count == 1
    with pytest.raises(DataError, match=r"000001\.parquet can't be read as Parquet"):
        next(reader)


def test_gap_is_refused_at_once(tmp_path):
    roster = Roster.range(3)
    write(tmp_path, [SyntheticGraph(roster, [0], [1])] * 3)
    (tmp_path / "000001.parquet").unlink()
    with pytest.raises(DataError, match=r"000001\.parquet is missing"):
        read_releases(tmp_path, [roster] * 3)


def test_not_beginning_at_zero_is_a_gap(tmp_path):
    write(tmp_path, [SyntheticGraph(Roster.range(3), [0], [1])])
    (tmp_path / "000000.parquet").rename(tmp_path / "000001.parquet")
    with pytest.raises(DataError, match=r"000000\.parquet is missing"):
        read_releases(tmp_path, [])


def test_no_directory_and_no_releases(tmp_path):
    with pytest.raises(DataError, match="not a directory"):
        read_releases(tmp_path / "nowhere", [])
    with pytest.raises(DataError, match="holds no releases"):
        read_releases(tmp_path, [])


@pytest.mark.parametrize(("rosters", "word"), [(1, "more"), (3, "fewer")])
def test_counts_that_differ(tmp_path, rosters, word):
    roster = Roster.range(3)
    write(tmp_path, [SyntheticGraph(roster, [0], [1])] * 2)
    with pytest.raises(DataError, match=f"{word} releases than snapshots"):
        list(read_releases(tmp_path, [roster] * rosters))


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"a": [0], "b": [1]}, "no columns u and v"),
        ({"u": [0], "v": [77]}, "outside the roster"),
        ({"u": ["x"], "v": ["y"]}, "integers"),
        ({"u": [0, None], "v": [1, 2]}, "missing values"),
        ({"u": [0], "v": ["y"]}, "mix types"),
        ({"u": [[0]], "v": [[1]]}, "000000.parquet"),
    ],
)
def test_broken_tables_are_named_without_ids(tmp_path, table, complaint):
    pq.write_table(pa.table(table), tmp_path / "000000.parquet")
    with pytest.raises(DataError, match=complaint) as caught:
        list(read_releases(tmp_path, [Roster.range(3)]))
    assert "000000.parquet" in str(caught.value)
    assert "77" not in str(caught.value).replace(str(tmp_path), "")
