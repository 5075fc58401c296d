"""What every engine must do: the same numbers, however a snapshot is cut and whoever counts it."""

from __future__ import annotations

import numpy as np
import pytest

from psgraph.engines.parallel import mapped, summed
from psgraph.engines.runner import Runner
from psgraph.engines.threads import LocalEngine
from psgraph.errors import DataError
from psgraph.graph import Roster, Snapshot
from psgraph.methods import queries
from psgraph.methods.ldpgen import GroupDegrees
from psgraph.methods.plus.queries import KeptEdges
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import (
    CommunityChoices,
    EdgeCount,
    InnerDegrees,
    OuterDegrees,
    block_counts,
)
from tests.engines.cluster import in_memory, on_disk, random_snapshot

NODES, BLOCKS = 90, 6
CUTS = ["memory, 100", "memory, 7", "disk, 100", "disk, 7", "disk, 1"]
CASES = [
    *((engine, cut) for engine in ("one thread", "three threads") for cut in CUTS),
    ("dask", "memory, 40"),
    ("dask", "disk, 16"),
]


@pytest.fixture(params=CASES, ids=" from ".join)
def case(request) -> tuple[str, str]:
    """An engine, and where and in parts of how many nodes it finds a snapshot."""
    return request.param


@pytest.fixture
def engine(case, request) -> Runner:
    if case[0] == "dask":
        return request.getfixturevalue("dask_engine")
    return LocalEngine(threads=1 if case[0] == "one thread" else 3)


@pytest.fixture
def cut(case, tmp_path):
    """Cut a snapshot into parts."""
    where, part_nodes = case[1].split(", ")
    if where == "memory":
        return lambda snapshot: in_memory(snapshot, int(part_nodes))
    return lambda snapshot: on_disk(snapshot, int(part_nodes), tmp_path)


LABELS = np.random.default_rng(3).integers(0, BLOCKS, NODES).astype(np.int32)
PLAIN = LocalEngine(threads=1)


def kept(engine, one: Snapshot, other: Snapshot) -> int:
    return KeptEdges().answer(PrivateEdges(one, engine, previous=other))


def test_edges_are_counted(engine, cut):
    snapshot = random_snapshot(1)
    assert EdgeCount().answer(PrivateEdges(cut(snapshot), engine)) == snapshot.u.size


@pytest.mark.parametrize("most_cells", [1 << 24, -1], ids=["written down", "sparse"])
@pytest.mark.parametrize("inside", [True, False])
def test_edges_per_pair_of_blocks(engine, cut, inside, most_cells, monkeypatch):
    snapshot = random_snapshot(2)
    expected = block_counts(PrivateEdges(snapshot, PLAIN), LABELS, BLOCKS, inside=inside)
    monkeypatch.setattr(queries, "MOST_CELLS", most_cells)
    found = block_counts(PrivateEdges(cut(snapshot), engine), LABELS, BLOCKS, inside=inside)
    for one, other in zip(found, expected, strict=True):
        assert one.tolist() == other.tolist()


def test_degrees_inside_and_outside(engine, cut):
    snapshot = random_snapshot(3)
    edges = PrivateEdges(cut(snapshot), engine)
    for query in (InnerDegrees(LABELS), OuterDegrees(LABELS)):
        found, wanted = query.answer(edges), query.answer(PrivateEdges(snapshot, PLAIN))
        assert found.tolist() == wanted.tolist()
        assert found.dtype == np.int64


def test_neighbours_per_group(engine, cut):
    snapshot = random_snapshot(4)
    query = GroupDegrees("degrees", LABELS, BLOCKS)
    expected = query.answer(PrivateEdges(snapshot, PLAIN))
    assert query.answer(PrivateEdges(cut(snapshot), engine)).tolist() == expected.tolist()


def test_scores_are_the_neighbours_per_group(engine, cut):
    snapshot = random_snapshot(5)
    groups = GroupDegrees("degrees", LABELS, BLOCKS)
    expected = groups.answer(PrivateEdges(snapshot, PLAIN)).reshape(-1, BLOCKS)
    found = np.zeros_like(expected)
    scores = CommunityChoices(LABELS).answer(PrivateEdges(cut(snapshot), engine))
    for _ in range(2):  # they can be read again
        found[:] = 0
        for first, starts, communities, counts in scores:
            rows = first + np.repeat(np.arange(starts.size - 1), np.diff(starts))
            found[rows, communities] = counts
        assert found.tolist() == expected.tolist()


def test_common_edges(engine, cut):
    one, other = random_snapshot(6), random_snapshot(7)
    expected = len(set(one.to_edges()) & set(other.to_edges()))
    assert kept(engine, cut(one), cut(other)) == expected > 0
    assert kept(engine, cut(one), other) == expected


def test_common_edges_are_matched_by_id(engine, cut):
    one = random_snapshot(8)
    other = Snapshot.from_edges(
        [(x + 30, y + 30) for x, y in random_snapshot(9).to_edges()], roster=range(30, 120)
    )
    expected = len(set(one.to_edges()) & set(other.to_edges()))
    assert kept(engine, cut(one), cut(other)) == expected > 0


@pytest.mark.parametrize("nodes", [0, 1, 5])
def test_a_snapshot_without_edges(engine, cut, nodes):
    snapshot = cut(Snapshot(Roster.range(nodes), [], []))
    labels = np.zeros(nodes, dtype=np.int32)
    edges = PrivateEdges(snapshot, engine)
    assert EdgeCount().answer(edges) == kept(engine, snapshot, snapshot) == 0
    assert block_counts(edges, labels, 1, inside=True)[0].size == 0
    assert InnerDegrees(labels).answer(edges).tolist() == [0] * nodes
    ranges = list(CommunityChoices(labels).answer(edges))
    assert sum(each.starts.size - 1 for each in ranges) == nodes


def test_an_error_in_a_part_is_raised(engine, tmp_path):
    snapshot = on_disk(random_snapshot(1), 7, tmp_path)
    (tmp_path / "store-7-0" / "000000" / "edges-00005.parquet").unlink()
    with pytest.raises(DataError):
        InnerDegrees(LABELS).answer(PrivateEdges(snapshot, engine))
    with pytest.raises(DataError):
        list(CommunityChoices(LABELS).answer(PrivateEdges(snapshot, engine)))


def test_results_come_in_order_and_few_are_computed_ahead():
    begun = []
    tasks = [lambda number=number: begun.append(number) or number for number in range(20)]
    results = mapped(tasks, threads=2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    assert len(begun) <= 6
    assert list(results) == list(range(3, 20))


def test_every_part_is_added_once():
    (total,) = summed(
        [lambda number=number: number for number in range(100)],
        lambda: (np.zeros(1, dtype=np.int64),),
        lambda number, total: np.add(total, number, out=total),
        threads=4,
    )
    assert total.tolist() == [4950]
