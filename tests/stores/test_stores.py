"""A store holds the stream it was made from: in parts, out of core, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from psgraph import read_stream
from psgraph.errors import (
    DataError,
    InvalidArgument,
    OutputError,
    OutsideRoster,
    RosterError,
    UnknownKind,
)
from psgraph.graph import UNDIRECTED, Roster, Snapshot
from psgraph.graph.parts import MemoryParts
from psgraph.stores import Store, new_store, open_store
from psgraph.stores.store import MANIFEST, manifest_digest
from psgraph.streams.input import prepare

NODES, PART_NODES = 50, 7


def random_pairs(edges: int = 400, seed: int = 1) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Pairs with loops, repeats and both directions."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, NODES, (2, edges)).astype(np.int32)
    return a, b


def stored(path: Path, *, run_keys: int = 1 << 20, batches: int = 8) -> Snapshot:
    """The snapshot of `random_pairs`, written in batches and read back."""
    with new_store(path, part_nodes=PART_NODES, run_keys=run_keys) as store:
        writer = store.begin(Roster.range(NODES), time="monday")
        for a, b in zip(*(np.array_split(ends, batches) for ends in random_pairs()), strict=True):
            writer.add(a, b)
        writer.finish()
    (snapshot,) = open_store(path)
    return snapshot


@pytest.mark.parametrize("run_keys", [1 << 20, 60], ids=["in memory", "with runs on disk"])
def test_a_stored_snapshot_is_the_snapshot_in_memory(tmp_path, run_keys):
    expected = Snapshot(Roster.range(NODES), *random_pairs(), time="monday")
    found = stored(tmp_path / "store", run_keys=run_keys)
    assert found == expected
    assert (found.time, found.dropped) == (expected.time, expected.dropped)
    assert found.parts.edge_count == expected.u.size


def test_parts_are_cut_by_public_ranges_of_the_smaller_end(tmp_path):
    snapshot = stored(tmp_path / "store")
    for number, read in enumerate(snapshot.parts.edges()):
        assert set(read().u // PART_NODES) <= {number}
    assert len(snapshot.parts.edges()) == -(-NODES // PART_NODES)


@pytest.mark.parametrize("part_nodes", [PART_NODES, 64])
def test_rows_are_the_neighbour_lists(tmp_path, part_nodes):
    expected = [[] for _ in range(NODES)]
    for x, y in Snapshot(Roster.range(NODES), *random_pairs()).to_edges():
        expected[x].append(y)
        expected[y].append(x)
    expected = [sorted(row) for row in expected]
    with new_store(tmp_path / "store", part_nodes=part_nodes) as store:
        store.add(Snapshot(Roster.range(NODES), *random_pairs()))
    (snapshot,) = open_store(tmp_path / "store")
    memory = MemoryParts(*snapshot.parts.whole(), nodes=NODES, part_nodes=part_nodes)
    for parts in (snapshot.parts, memory):
        found = []
        for read in parts.rows():
            rows = read()
            assert rows.first == len(found)
            found += [
                rows.neighbours[begin:end].tolist()
                for begin, end in zip(rows.starts[:-1], rows.starts[1:], strict=True)
            ]
        assert found == expected


def test_a_pickled_snapshot_reads_its_own_parts(tmp_path):
    snapshot = stored(tmp_path / "store")
    _ = snapshot.u
    content = pickle.dumps(snapshot.parts)
    assert b"_whole" not in content
    assert pickle.loads(content).whole().u.tolist() == snapshot.u.tolist()


def test_nobody_else_can_enter_a_store(tmp_path):
    stored(tmp_path / "store")
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700


def test_an_interrupted_store_is_not_there(tmp_path):
    def interrupted() -> None:
        with new_store(tmp_path / "store") as store:
            store.add(Snapshot(Roster.range(3), [0], [1]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_are_gone(tmp_path):
    stored(tmp_path / "store", run_keys=60)
    names = {path.suffix for path in (tmp_path / "store" / "000000").iterdir()}
    assert names == {".parquet"}


def test_an_edge_outside_the_roster_is_refused(tmp_path):
    with pytest.raises(OutsideRoster), new_store(tmp_path / "store") as store:
        store.begin(Roster.range(3), time=None).add(np.array([0]), np.array([3]))
    assert not (tmp_path / "store").exists()


def test_a_full_disk_is_noticed_before_it_is_full(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OutputError):
        stored(tmp_path / "store", run_keys=60)
    assert not (tmp_path / "store").exists()


# ---- damaged stores ----


def part(path: Path) -> Path:
    return path / "000000" / "edges-00002.parquet"


def test_a_missing_part_is_named_before_anything_is_read(tmp_path):
    stored(tmp_path / "store")
    part(tmp_path / "store").unlink()
    with pytest.raises(DataError, match=r"edges-00002\.parquet"):
        open_store(tmp_path / "store")


def test_a_part_that_disappears_while_reading_is_named(tmp_path):
    snapshot = stored(tmp_path / "store")
    part(tmp_path / "store").unlink()
    with pytest.raises(DataError, match=r"edges-00002\.parquet"):
        _ = snapshot.u


def test_a_changed_part_is_refused(tmp_path):
    snapshot = stored(tmp_path / "store")
    content = part(tmp_path / "store").read_bytes()
    part(tmp_path / "store").write_bytes(content[:-9] + b"x" + content[-8:])
    with pytest.raises(DataError):
        _ = snapshot.u


def reseal(path: Path, change: dict[str, object]) -> None:
    """Replace a field of the manifest, with the right digest."""
    fields = json.loads((path / MANIFEST).read_text())
    fields.pop("sha256")
    fields |= change
    (path / MANIFEST).write_text(json.dumps({**fields, "sha256": manifest_digest(fields)}))


def test_a_manifest_of_undirected_graphs_does_not_mention_the_kind(tmp_path):
    snapshot = stored(tmp_path / "store")
    assert "kind" not in json.loads((tmp_path / "store" / MANIFEST).read_text())
    assert snapshot.kind == snapshot.parts.kind == UNDIRECTED


def test_a_store_of_a_kind_that_is_not_known_is_refused(tmp_path):
    stored(tmp_path / "store")
    reseal(tmp_path / "store", {"kind": "signed"})
    with pytest.raises(UnknownKind):
        open_store(tmp_path / "store")


def test_a_part_with_another_schema_is_refused(tmp_path):
    stored(tmp_path / "store")
    pq.write_table(pa.table({"u": [1], "v": [2]}), part(tmp_path / "store"))
    sha256 = hashlib.sha256(part(tmp_path / "store").read_bytes()).hexdigest()
    fields = json.loads((tmp_path / "store" / MANIFEST).read_text())
    fields["snapshots"][0]["edges"][2]["sha256"] = sha256
    reseal(tmp_path / "store", {"snapshots": fields["snapshots"]})
    (snapshot,) = open_store(tmp_path / "store")
    with pytest.raises(DataError):
        _ = snapshot.u


def test_a_changed_manifest_is_refused(tmp_path):
    stored(tmp_path / "store")
    text = (tmp_path / "store" / MANIFEST).read_text()
    (tmp_path / "store" / MANIFEST).write_text(text.replace("monday", "sunday"))
    with pytest.raises(DataError):
        open_store(tmp_path / "store")


def test_a_store_of_another_version_is_refused(tmp_path):
    stored(tmp_path / "store")
    reseal(tmp_path / "store", {"version": 3})
    with pytest.raises(DataError, match=r"\b3\b"):
        open_store(tmp_path / "store")


def test_changed_nodes_are_refused(tmp_path):
    stored(tmp_path / "store")
    (nodes,) = (tmp_path / "store" / "nodes").iterdir()
    nodes.write_bytes(b"PAR1")
    with pytest.raises(DataError):
        list(open_store(tmp_path / "store"))


# ---- streams ----


@pytest.fixture
def csv(tmp_path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("t,u,v\n0,1,2\n0,2,1\n0,2,3\n2,1,3\n2,3,3\n")
    return path


def test_a_prepared_stream_is_the_stream(tmp_path, csv):
    made = prepare(csv, tmp_path / "store", roster=[1, 2, 3, 4])
    raw, read = read_stream(csv, roster=[1, 2, 3, 4]), read_stream(tmp_path / "store")
    assert list(read) == list(raw)
    assert [each.time for each in read] == ["0", "1", "2"]
    assert (read.times, read.length, read.prepared) == (raw.times, 3, True)
    assert (made.self_loops, made.duplicates) == (1, 1)


@pytest.mark.parametrize("reading", [{"roster_from_edges": True}, {"roster": [1, 2, 3]}])
def test_events_can_be_prepared_cumulatively(tmp_path, reading):
    path = tmp_path / "events.csv"
    path.write_text("u,v,time\n1,2,2024-01-05\n2,3,2024-02-05\n1,3,2024-03-05\n")
    reading = {"every": "1mo", "cumulative": True, "close_last": True, **reading}
    prepare(path, tmp_path / "store", **reading)
    assert list(read_stream(tmp_path / "store")) == list(read_stream(path, **reading))


def test_text_ids_can_be_prepared(tmp_path):
    days = tmp_path / "days"
    days.mkdir()
    (days / "1.csv").write_text("u,v\nann,bob\ncarl,ann\n")
    (days / "2.csv").write_text("")
    prepare(days, tmp_path / "store", roster=["ann", "bob", "carl"])
    expected = read_stream(days, roster=["ann", "bob", "carl"])
    assert list(read_stream(tmp_path / "store")) == list(expected)


def test_a_store_is_never_overwritten(tmp_path, csv):
    prepare(csv, tmp_path / "store", roster=[1, 2, 3])
    with pytest.raises(OutputError):
        prepare(csv, tmp_path / "store", roster=[1, 2, 3])
    with pytest.raises(InvalidArgument):
        prepare(tmp_path / "store", tmp_path / "other")


def test_another_roster_than_that_of_the_store_is_refused(tmp_path, csv):
    prepare(csv, tmp_path / "store", roster=[1, 2, 3])
    assert read_stream(tmp_path / "store", roster=[3, 2, 1]).length == 3
    with pytest.raises(RosterError):
        read_stream(tmp_path / "store", roster=[1, 2, 3, 4])
    with pytest.raises(InvalidArgument):
        read_stream(tmp_path / "store", roster_from_edges=True)


def test_options_of_raw_input_are_refused_for_a_store(tmp_path, csv):
    prepare(csv, tmp_path / "store", roster=[1, 2, 3])
    for option in ({"columns": "u=u,v=v"}, {"times": "0..2"}, {"every": "1d"}):
        with pytest.raises(InvalidArgument):
            read_stream(tmp_path / "store", **option)


def test_bad_input_leaves_no_store(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("t,u,v\n0,1,2\n0,1,9\n")
    with pytest.raises(OutsideRoster):
        prepare(path, tmp_path / "store", roster=[1, 2, 3])
    assert [path.name for path in tmp_path.iterdir()] == ["edges.csv"]


def test_a_store_is_opened_without_reading_edges(tmp_path, monkeypatch):
    stored(tmp_path / "store")
    monkeypatch.setattr(pq, "read_table", None)
    assert len(open_store(tmp_path / "store")) == 1
    assert isinstance(open_store(tmp_path / "store"), Store)
