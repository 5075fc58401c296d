"""The Dask engine writes the same graphs as the local one, also while workers die."""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from distributed import Client

from psgraph import Publisher, WEventPrivacy
from psgraph.engines.dask import DaskEngine
from psgraph.engines.dask.connection import connect, unencrypted
from psgraph.engines.dask.tasks import Call
from psgraph.errors import EngineError
from psgraph.graph import Roster, SyntheticGraph
from psgraph.methods.plus import parts, synthesis
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import CommunityChoices, InnerDegrees, block_counts
from psgraph.methods.registry import choose_method
from psgraph.privacy.randomness import RandomSource
from tests.engines.cluster import (
    PART_NODES,
    DiesOnce,
    in_memory,
    local_engine,
    on_disk,
    random_snapshot,
    scale,
    with_parts,
)
from tests.methods.plus.test_parts import NODES, target

GUARANTEE = WEventPrivacy("20", window=2)

STREAMS = 17  # for each number of workers
AT_ONCE = 4
METHODS = ["privgraph", "ldpgen", "psgraph", "psgraph-plus", "ldpgen"]


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch):
    """Have PSGraph+ draw small graphs in parts and close triangles in them."""
    monkeypatch.setattr(parts, "WIDTH", PART_NODES)
    monkeypatch.setattr(synthesis, "MOST_SWAPPED", 0)


def published(engine, method: str, stream, seed: int) -> list[SyntheticGraph]:
    with Publisher(choose_method(method), GUARANTEE, seed=seed, engine=engine) as publisher:
        return [publisher.publish(snapshot).graph for snapshot in stream]


@pytest.fixture(params=[1, 2, 3], ids="{} workers".format)
def resized(request, dask_engine) -> Iterator[DaskEngine]:
    """The engine with another number of workers; with two again after the test."""
    scale(dask_engine, request.param)
    yield dask_engine
    scale(dask_engine, 2)


def test_random_streams_give_the_same_graphs(resized, tmp_path):
    with ThreadPoolExecutor(AT_ONCE) as pool:  # a cluster answers slowly, so don't wait for each
        same = list(pool.map(partial(is_the_same, resized, tmp_path), range(STREAMS)))
    assert same == [True] * STREAMS


def is_the_same(cluster: DaskEngine, directory: Path, seed: int) -> bool:
    """Whether a random stream gives the same graphs with the local engine and on the cluster."""
    rng = np.random.default_rng([len(cluster.client.nthreads()), seed])
    nodes, length = int(rng.integers(18, 70)), 1 + seed % 2
    stored, released = int(rng.choice([9, 16, 100])), nodes // int(rng.integers(1, 4)) + 1
    snapshots = [
        random_snapshot(100 * seed + at, nodes=nodes, edges=int(rng.integers(3, 6)) * nodes)
        for at in range(length)
    ]
    method = METHODS[seed % len(METHODS)]
    expected = published(local_engine(released, threads=1 + seed % 3), method, snapshots, seed)
    place = directory / str(seed)
    place.mkdir()
    stream = [on_disk(snapshot, stored, place) for snapshot in snapshots]
    return published(with_parts(cluster, released), method, stream, seed) == expected


def test_threads_of_one_worker_do_not_disturb_each_other(dask_engine, tmp_path):
    assert set(dask_engine.client.nthreads().values()) == {2}
    snapshot = random_snapshot(4, nodes=20_000, edges=200_000)  # tasks run long enough to overlap
    expected = published(local_engine(2500), "psgraph", [snapshot], 3)
    stored, engine = on_disk(snapshot, 2500, tmp_path), with_parts(dask_engine, 2500)
    assert published(engine, "psgraph", [stored], 3) == expected


def test_signals_meant_for_the_driver_do_not_stop_its_workers(dask_engine):
    before = dask_engine.client.run(os.getpid)
    for process in before.values():
        os.kill(process, signal.SIGINT)
        os.kill(process, signal.SIGTERM)
    assert dask_engine.client.run(os.getpid) == before


@pytest.mark.parametrize(
    ("method", "tasks"), [("psgraph", 2), ("psgraph", 30), ("psgraph-plus", 60)]
)
def test_a_worker_that_dies_changes_nothing(dask_engine, tmp_path, method, tasks):
    out, count = tmp_path / "out", tmp_path / "count"
    count.mkdir()
    plugin = DiesOnce(count, tasks)
    dask_engine.client.register_plugin(plugin)
    try:
        snapshot = on_disk(random_snapshot(5), 16, tmp_path)
        with Publisher(choose_method(method), GUARANTEE, out=out, engine=dask_engine) as one:
            one.publish(snapshot)
            assert one.spending.timestamps == 1
            assert method != "psgraph" or str(one.spending.spent) == "10"
    finally:
        dask_engine.client.unregister_worker_plugin(plugin.name)
    assert count.with_suffix(".dead").exists()
    files = {path.name: path.read_bytes() for path in (out / "000000").iterdir()}
    assert len(files) == -(-90 // PART_NODES)
    shutil.rmtree(out / "000000")
    with Publisher(choose_method(method), GUARANTEE, out=out, engine=local_engine()) as other:
        other.publish(snapshot)  # sealed: made again from the ledger, for nothing
        assert other.spending.timestamps == 1
    assert {path.name: path.read_bytes() for path in (out / "000000").iterdir()} == files


@pytest.mark.parametrize("method", ["psgraph", "psgraph-plus"])
def test_a_task_that_runs_twice_changes_nothing(dask_engine, monkeypatch, method):
    snapshot = in_memory(random_snapshot(6), 16)
    expected = published(local_engine(), method, [snapshot], 1)
    submit, twice = DaskEngine._submit, []

    def submit_twice(runner, *task):
        twice.append(submit(runner, *task))
        return submit(runner, *task)

    monkeypatch.setattr(DaskEngine, "_submit", submit_twice)
    assert published(dask_engine, method, [snapshot], 1) == expected
    assert len(twice) > 20


def test_parts_of_a_release_stay_on_the_workers(dask_engine):
    (graph,) = published(dask_engine, "psgraph", [random_snapshot(7)], 2)
    moved = [
        each.bytes_to_driver for each in dask_engine.statistics.calls if each.operation == "shuffle"
    ]
    assert moved[-1] == 8 * len(graph.parts.edges())  # the number of edges of each
    assert graph == pickle.loads(pickle.dumps(graph))


def test_every_operation_is_timed_and_its_bytes_are_counted(dask_engine):
    dask_engine.statistics.clear()
    edges = PrivateEdges(random_snapshot(8), dask_engine)
    labels = np.zeros(90, dtype=np.int32)
    InnerDegrees(labels).answer(edges)
    list(CommunityChoices(labels).answer(edges))
    degrees, scores = dask_engine.statistics.calls
    assert (degrees.operation, scores.operation) == ("sum", "map")
    assert degrees.bytes_to_driver == 2 * 90  # small counts need a byte each
    assert degrees.seconds > 0
    assert scores.tasks == 1


def test_labels_are_sent_once(dask_engine):
    snapshot = random_snapshot(9, nodes=3000, edges=3000)
    labels = np.arange(3000, dtype=np.int32)
    dask_engine.statistics.clear()
    for _ in range(2):
        block_counts(PrivateEdges(snapshot, dask_engine), labels, 3000, inside=True)
    first, second = (each.bytes_to_workers for each in dask_engine.statistics.calls)
    assert first - second == pytest.approx(labels.nbytes, abs=500)


# ---- who can see what ----


def test_the_cluster_listens_on_this_machine_only(dask_engine):
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    addresses = {
        each.laddr.ip
        for process in processes
        for each in process.net_connections()
        if each.status == psutil.CONN_LISTEN
    }
    assert addresses == {"127.0.0.1"}


def test_without_the_keys_of_the_run_nobody_can_connect(dask_engine):
    address = dask_engine.client.scheduler.address
    with pytest.raises(EngineError), connect(address, 1.0):
        pass


def test_the_inputs_of_a_task_are_not_shown():
    assert "secret" not in repr(Call(b"secret"))


@pytest.mark.parametrize(
    ("address", "exposed"),
    [
        ("tcp://10.0.0.7:8786", True),
        ("10.0.0.7:8786", True),
        ("host:8786", True),
        ("tcp://[2001:db8::1]:8786", True),
        ("tcp://localhost.example:8786", True),
        ("ucx://host:8786", True),
        ("tls://host:8786", False),
        ("tcp://127.0.0.1:8786", False),
        ("localhost:8786", False),
        ("tcp://[::1]:8786", False),
    ],
)
def test_an_address_is_unencrypted_if_it_leaves_this_machine_without_tls(address, exposed):
    assert unencrypted([address]) == ([address] if exposed else [])


# ---- clusters that can't be used ----


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_an_unreachable_scheduler_is_named():
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(EngineError, match=address):
        connect(address, 0.5).__enter__()


def test_a_failed_connection_is_closed_at_once():
    """Dask hangs if a half-open client is collected while it starts another one."""
    before = {id(each) for each in gc.get_objects() if isinstance(each, Client)}
    gc.disable()
    try:
        with pytest.raises(EngineError):
            connect(f"tcp://127.0.0.1:{free_port()}", 0.5).__enter__()
        clients = [each for each in gc.get_objects() if isinstance(each, Client)]
    finally:
        gc.enable()
    assert {id(each) for each in clients} <= before


def allow_noise(allowed: bool) -> None:
    """Have a worker fail where it would draw noise, or no longer."""

    def refuse(*_: object) -> None:
        raise AssertionError("a worker draws noise")

    if not allowed:
        RandomSource.drawing, RandomSource.peek = RandomSource.peek, refuse
    else:
        RandomSource.peek = RandomSource.drawing


def test_workers_draw_no_noise(dask_engine, tmp_path):
    engine = with_parts(dask_engine, 45)
    dask_engine.client.run(allow_noise, False)
    try:
        for method in ("psgraph", "privgraph", "ldpgen"):
            with Publisher(choose_method(method), GUARANTEE, engine=engine) as publisher:
                publisher.publish(on_disk(random_snapshot(10), 40, tmp_path))
    finally:
        dask_engine.client.run(allow_noise, True)


def test_graphs_from_tables_of_stubs_are_the_same_on_workers(resized, monkeypatch):
    monkeypatch.setattr(parts, "WIDTH", 128)
    roster, wanted = Roster.range(NODES), target()
    numbers = np.random.default_rng(3).integers(1 << 52, size=NODES, dtype=np.uint64)
    found = []
    for engine in (local_engine(), resized):
        more = parts.More(400, numbers)
        first = parts.draw_parts(wanted, None, 8, engine, more)
        last = parts.Last(SyntheticGraph.from_parts(roster, first), roster, numbers, 0.8)
        later = parts.draw_parts(target(2), last, 9, engine, more)
        found.append(np.concatenate([*first.whole(), *later.whole()]))
    assert np.array_equal(*found)
