"""Stores of directed, two-sided and weighted graphs: equal to those in memory, and marked."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument, UnknownKind
from psgraph.graph import DIRECTED, TWO_SIDED, UNDIRECTED, Kind, Roster, Snapshot, TwoSidedRoster
from psgraph.graph.kind import pack, summed
from psgraph.graph.parts import MemoryParts
from psgraph.stores import new_store, open_store
from psgraph.stores.store import MANIFEST, manifest_digest
from psgraph.stores.writer import ExternalSort
from psgraph.streams import read_stream
from psgraph.streams.input import prepare

KINDS = [
    each.with_weights(weights)
    for each in (UNDIRECTED, DIRECTED, TWO_SIDED)
    for weights in (None, 5)
]
LEFT, RIGHT, PART_NODES = 20, 30, 7


def roster_of(kind: Kind) -> Roster:
    if kind.two_sided:
        return TwoSidedRoster(Roster.range(LEFT), Roster.range(RIGHT))
    return Roster.range(LEFT + RIGHT)


def rows(kind: Kind, edges: int = 600) -> list[Any]:
    """Ends with repeats (and loops and both directions, where there can be), and weights."""
    rng = np.random.default_rng(1)
    left, right = (LEFT, RIGHT) if kind.two_sided else (25, 25)
    u = rng.integers(0, left, edges).astype(np.int32)
    v = rng.integers(0, right, edges).astype(np.int32) + (LEFT if kind.two_sided else 0)
    weight = rng.choice([1, 2, 10**15], edges)
    return [u, v, *([weight] if kind.weighted else [])]


def in_memory(kind: Kind) -> Snapshot:
    u, v, *weight = rows(kind)
    given = weight[0] if weight else None
    return Snapshot(roster_of(kind), u, v, kind=kind, weight=given, time="monday")


def stored(path: Path, kind: Kind, *, run_keys: int = 1 << 20, part_nodes: int = PART_NODES) -> Any:
    with new_store(path, part_nodes=part_nodes, run_keys=run_keys, kind=kind) as store:
        writer = store.begin(roster_of(kind), time="monday")
        for batch in zip(*(np.array_split(each, 9) for each in rows(kind)), strict=True):
            writer.add(*batch)
        writer.finish()
    (snapshot,) = open_store(path)
    return snapshot


@pytest.mark.parametrize("run_keys", [1 << 20, 60], ids=["in memory", "with runs on disk"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_stored_snapshot_is_the_snapshot_in_memory(
    tmp_path: Path, kind: Kind, run_keys: int
) -> None:
    expected, found = in_memory(kind), stored(tmp_path / "store", kind, run_keys=run_keys)
    assert found.kind == kind
    assert found == expected
    assert found.dropped == expected.dropped
    assert pickle.loads(pickle.dumps(found)) == expected
    pieces = MemoryParts(
        *expected.parts.whole(),
        expected.weight,
        nodes=len(expected.roster),
        part_nodes=PART_NODES,
        kind=kind,
    )
    for read, piece in zip(found.parts.edges(), pieces.edges(), strict=True):
        assert [each.tolist() for each in read()] == [each.tolist() for each in piece()]
        if kind.weighted:
            assert read().weight.tolist() == piece().weight.tolist()
    for read, piece in zip(found.parts.rows(), pieces.rows(), strict=True):
        for one, other in zip(read(), piece(), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_runs_on_disk_give_the_same_bytes(tmp_path: Path, kind: Kind) -> None:
    for name, run_keys in (("one", 1 << 20), ("other", 60)):
        stored(tmp_path / name, kind, run_keys=run_keys)
    one, other = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in files}
        for name in ("one", "other")
        for files in [[p for p in (tmp_path / name).rglob("*") if p.is_file()]]
    )
    assert one == other


@given(st.data(), st.integers(2, 9), st.integers(1, 30))
def test_weights_are_summed_and_clipped_out_of_core_as_in_memory(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, largest: int, run_keys: int
) -> None:
    row = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 12))
    u, v, weight = np.array([(0, 0, 1), *data.draw(st.lists(row, max_size=60))]).T
    sorter = ExternalSort(
        tmp_path_factory.mktemp("runs") / "runs",
        nodes=5,
        part_nodes=2,
        run_keys=run_keys,
        largest_weight=largest,
    )
    for batch in zip(np.array_split(pack(u, v), 5), np.array_split(weight, 5), strict=True):
        sorter.add(*batch)
    found = list(sorter.parts())
    keys, weights = summed(pack(u, v), np.minimum(weight, largest), largest)
    assert np.concatenate([part.keys for part in found]).tolist() == keys.tolist()
    assert np.concatenate([part.weight for part in found]).tolist() == weights.tolist()  # type: ignore[misc]


def test_weights_are_a_column_and_the_kind_is_in_the_manifest(tmp_path: Path) -> None:
    stored(tmp_path / "store", DIRECTED.with_weights(5))
    manifest = json.loads((tmp_path / "store" / MANIFEST).read_text())
    assert (manifest["version"], manifest["kind"], manifest["weights"]) == (2, "directed", 5)
    edges = pq.read_schema(tmp_path / "store" / "000000" / "edges-00000.parquet")
    assert edges.names == ["u", "v", "weight"]
    lower = pq.read_schema(tmp_path / "store" / "000000" / "lower-00000.parquet")
    assert lower.names == ["v", "u"]


def test_a_store_of_undirected_graphs_has_the_format_it_always_had(tmp_path: Path) -> None:
    stored(tmp_path / "store", UNDIRECTED)
    manifest = json.loads((tmp_path / "store" / MANIFEST).read_text())
    assert manifest["version"] == 1
    assert not {"kind", "weights"} & {*manifest}


def changed(path: Path, **fields: Any) -> None:
    manifest = json.loads((path / MANIFEST).read_text()) | fields
    del manifest["sha256"]
    manifest["sha256"] = manifest_digest(manifest)
    (path / MANIFEST).write_text(json.dumps(manifest))


def test_a_manifest_that_does_not_fit_the_files_is_refused(tmp_path: Path) -> None:
    stored(tmp_path / "store", DIRECTED.with_weights(5))
    changed(tmp_path / "store", weights=None)
    (snapshot,) = open_store(tmp_path / "store")
    with pytest.raises(DataError):
        snapshot.parts.edges()[0]()
    changed(tmp_path / "store", weights="many")
    with pytest.raises(UnknownKind):
        open_store(tmp_path / "store")


def test_a_store_takes_one_kind_and_checks_weights(tmp_path: Path) -> None:
    kind = DIRECTED.with_weights(5)
    snapshot = in_memory(kind)
    with new_store(tmp_path / "store", kind=kind) as store:
        store.add(snapshot)
        with pytest.raises(InvalidArgument):
            store.add(in_memory(DIRECTED))
        writer = store.begin(snapshot.roster, time=None)
        for weight in (0, -1, 1.5):
            with pytest.raises(DataError):
                writer.add(np.array([0]), np.array([1]), np.array([weight]))
        writer.finish()
    first, second = open_store(tmp_path / "store")
    assert first == snapshot
    assert second.weight is not None
    assert second.weight.tolist() == []


def test_a_store_without_nodes_has_weights_of_no_edges(tmp_path: Path) -> None:
    kind = UNDIRECTED.with_weights(5)
    empty = Snapshot(Roster([]), [], [], kind=kind)
    with new_store(tmp_path / "store", kind=kind) as store:
        store.add(empty)
    (snapshot,) = open_store(tmp_path / "store")
    assert snapshot == empty


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "directed", "roster": range(20)},
        {"kind": "directed", "roster": range(20), "weights": 4},
        {"roster": range(20), "weights": 4},
        {"left": range(20), "right": range(30), "weights": 4},
    ],
    ids=lambda options: " ".join(options),
)
def test_a_prepared_stream_is_the_stream(tmp_path: Path, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    frame = pa.table(
        {
            "t": np.repeat([0, 1], 300),
            "u": rng.integers(0, 20, 600),
            "v": rng.integers(0, 20, 600),
            "weight": rng.integers(1, 4, 600),
        }
    )
    prepare(frame, to=tmp_path / "store", part_nodes=PART_NODES, **options)
    stream, expected = read_stream(tmp_path / "store"), read_stream(frame, **options)
    assert stream.kind == expected.kind
    assert [*stream] == [*expected]
    assert [each.dropped for each in stream] == [each.dropped for each in expected]
