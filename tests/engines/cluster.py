"""What the tests of engines share: snapshots in parts, and one Dask cluster for all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from distributed import LocalCluster, WorkerPlugin

from psgraph.engines.dask import DaskEngine
from psgraph.engines.dask.engine import Statistics
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, Snapshot
from psgraph.graph.parts import MemoryParts
from psgraph.stores import new_store, open_store

PART_NODES = 16
"""Nodes in a part of a released graph, so that small graphs have several."""


def random_snapshot(seed: int, *, nodes: int = 90, edges: int = 400) -> Snapshot:
    """Return a snapshot of random edges."""
    ends = np.random.default_rng(seed).integers(0, nodes, (2, edges))
    return Snapshot(Roster.range(nodes), ends[0], ends[1])


def in_memory(snapshot: Snapshot, part_nodes: int) -> Snapshot:
    """Cut a snapshot into parts that are in memory."""
    u, v = snapshot.parts.whole()
    parts = MemoryParts(u, v, nodes=len(snapshot.roster), part_nodes=part_nodes)
    return Snapshot.from_parts(snapshot.roster, parts)


def on_disk(snapshot: Snapshot, part_nodes: int, directory: Path) -> Snapshot:
    """Cut a snapshot into parts of a store."""
    path = directory / f"store-{part_nodes}-{len(list(directory.iterdir()))}"
    with new_store(path, part_nodes=part_nodes) as store:
        store.add(snapshot)
    (stored,) = open_store(path)
    return stored


def local_engine(part_nodes: int = PART_NODES, *, threads: int = 1) -> LocalEngine:
    """Return a local engine that cuts released graphs into small parts."""
    return LocalEngine(threads=threads, part_nodes=part_nodes)


def scale(engine: DaskEngine, workers: int) -> None:
    """Start or stop workers of a local cluster, and wait until there are exactly so many."""
    engine.client.cluster.scale(workers)
    deadline = time.monotonic() + 120
    while len(engine.client.nthreads()) != workers:
        assert time.monotonic() < deadline, f"no cluster of {workers} workers after two minutes"
        time.sleep(0.05)


def with_parts(engine: DaskEngine, part_nodes: int) -> DaskEngine:
    """Return an engine on the same cluster that cuts released graphs into parts of this size.

    It counts for itself, so that threads can use one each. Don't close it.
    """
    other = copy(engine)
    other.statistics, other.part_nodes = Statistics(), part_nodes
    other._values = OrderedDict()
    return other


@contextmanager
def cluster_with_worker(
    directory: Path, *, code: str | None = None
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a cluster as a user would: a scheduler, and a worker with two threads.

    The worker runs in `directory`. Its psgraph consists of `code` if there is any.
    """
    environment = dict(os.environ)
    if code is not None:
        (directory / "psgraph").mkdir()
        (directory / "psgraph" / "__init__.py").write_text(code)
        environment["PYTHONPATH"] = str(directory)
    with LocalCluster(
        n_workers=0, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        address = cluster.scheduler_address
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny",
             "--no-dashboard", "--host", "127.0.0.1", "--nthreads", "2", "--local-directory", "."],
            cwd=directory,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield address, worker
        finally:
            worker.kill()
            worker.wait()


class DiesOnce(WorkerPlugin):  # type: ignore[misc]
    """Kills its worker process when the n-th task of psgraph begins on any worker, once."""

    name = "dies-once"

    def __init__(self, directory: Path, tasks: int) -> None:
        self.directory, self.tasks = directory, tasks

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Count tasks with files, which all workers see."""
        if finish != "executing" or not str(key).startswith("psgraph-"):
            return
        (self.directory / str(key)).touch()
        if len(list(self.directory.iterdir())) >= self.tasks:
            dead = self.directory.with_suffix(".dead")
            try:
                dead.touch(exist_ok=False)
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)
