"""Time publishing a case, and its floor: the work no method can avoid.

The floor is reading the Parquet input, drawing the same number of noise values with the same
scales, and writing the same Parquet output durably. Output is read back file by file off the
clock, so that the floor needs memory for one file. Passes of publishing and of the floor alternate
in one process and the fastest of each counts, so that a machine that is busy for a moment slows
down neither alone.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph._runtime.durable import write_all_whole
from psgraph._runtime.resources import peak_bytes, phase, restart_peak, stopwatch
from psgraph.engines.runner import Job, Runner
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.parts import EdgeParts
from psgraph.methods.base import Method
from psgraph.methods.registry import find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.warmup import warm_up
from psgraph.stores import is_store, open_store
from psgraph.streams import Stream, read_stream
from psgraph_lab.bench.cases import Case

__all__ = [
    "GUARANTEE",
    "Draws",
    "TimedEngine",
    "recorded_draws",
    "time_case",
    "time_floor",
    "time_store",
    "written_files",
]

Draws = list[tuple[int, Fraction]]

_AT_ONCE = 1 << 22  # noise values


@contextmanager
def recorded_draws() -> Iterator[Draws]:
    """Record how many noise values are drawn inside the block, and at which rates."""
    draws: Draws = []
    draw = Sampler.discrete_laplace

    def recording(sampler: Sampler, size: int, rate: Fraction) -> NDArray[np.int64]:
        draws.append((size, rate))
        return draw(sampler, size, rate)

    with patch.object(Sampler, "discrete_laplace", recording):
        yield draws


def written_files(out: Path, timestamps: Iterable[int]) -> list[list[Path]]:
    """Return the Parquet files of some timestamps, as they were written together.

    That is the node list, if it is new, with the graph or its first part; or a further part.
    """
    directory, known = ReleaseDirectory(out), set[str]()
    written: list[list[Path]] = []
    for timestamp in timestamps:
        certificate = directory.certificate(timestamp)
        nodes = certificate.nodes_sha256
        assert nodes is not None
        new = [] if nodes in known else [directory.nodes_path(nodes)]
        first, *more = [file.path for file in directory.graph(certificate)]
        written += [[*new, first], *([part] for part in more)]
        known.add(nodes)
    return written


def time_floor(
    inputs: Sequence[Path], draws: Draws, outputs: Sequence[Sequence[Path]], scratch: Path
) -> dict[str, float]:
    """Read `inputs`, draw noise, write copies of `outputs`; returns seconds by phase.

    ``total`` is their sum, ``cpu`` the processor time of all threads.
    """
    sampler = Sampler(RandomSource.secure())
    target = scratch / "floor"
    target.mkdir()
    cpu = 0.0
    with stopwatch() as seconds:
        begin = process_time()
        with phase("read"):
            for path in inputs:
                pq.read_table(path, columns=["u", "v"])
        with phase("noise"):
            for size, rate in draws:
                for done in range(0, size, _AT_ONCE):
                    sampler.discrete_laplace(min(_AT_ONCE, size - done), rate)
        cpu += process_time() - begin
        for together in outputs:
            tables = [(path.name, pq.read_table(path)) for path in together]
            begin = process_time()
            with phase("write"):
                write_all_whole([(target / name, _encoded(table)) for name, table in tables])
            cpu += process_time() - begin
    shutil.rmtree(target)
    return {"total": sum(seconds.values()), **seconds, "cpu": cpu}


def _encoded(table: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=False)
    return memoryview(sink.getvalue())


GUARANTEE = WEventPrivacy("1", window=5)


def time_case(
    case: Case,
    source: Path,
    scratch: Path,
    *,
    method: str = "psgraph",
    engine: Runner | None = None,
    most_seconds: float = math.inf,
) -> dict[str, Any]:
    """Time publishing and its floor, alternately; returns the fastest pass of each.

    Parameters
    ----------
    source
        A Parquet file (real data, nodes from the edges), a directory of them (synthetic), or a
        store.
    scratch
        An empty directory to write to.
    engine
        Where edge-sized work runs; the local machine unless given.
    most_seconds
        Of passes before the last begins: a slow method gets fewer than the case has.

    Returns
    -------
    dict
        ``method``; ``seconds`` and ``floor_seconds`` of the fastest passes, by phase, with the
        processor time of all threads as ``cpu``; ``ratio`` of their totals; ``passes`` and
        ``floor_passes``, the totals of all passes in order; ``peak_bytes`` of publishing.
    """
    publishing = find_method(method)()
    warm_up(publishing)
    runs: list[dict[str, Any]] = []
    floors, peaks = [], []
    while len(runs) < case.repeats and sum(run["seconds"]["total"] for run in runs) < most_seconds:
        restart_peak()
        run = _publish(publishing, case, source, scratch / f"{method}-{len(runs)}", engine)
        peaks.append(peak_bytes())
        floors.append(_floor(case, source, run.pop("draws"), run.pop("files"), scratch))
        runs.append(run)
    best = min(runs, key=lambda run: float(run["seconds"]["total"]))
    floor = min(floors, key=lambda seconds: seconds["total"])
    return {
        "method": method,
        **best,
        "peak_bytes": max(peaks),
        "floor_seconds": floor,
        "ratio": best["seconds"]["total"] / floor["total"],
        "passes": [run["seconds"]["total"] for run in runs],
        "floor_passes": [seconds["total"] for seconds in floors],
    }


def _open(case: Case, source: Path) -> Stream:
    if is_store(source):
        return read_stream(source)
    if source.is_dir():
        return read_stream(source, roster=Roster.range(case.nodes))
    return read_stream(source, roster_from_edges=True)


def _publish(
    method: Method[Any, Any],
    case: Case,
    source: Path,
    out: Path,
    engine: Runner | None = None,
) -> dict[str, Any]:
    """Publish once; the clock starts after the untimed timestamps."""
    done = edges = nodes = 0
    summary: dict[str, Any] = {}
    with (
        stopwatch() as seconds,
        recorded_draws() as draws,
        Publisher(method, GUARANTEE, out=out, not_private=True, engine=engine) as publisher,
    ):
        begin, cpu = perf_counter(), process_time()
        with phase("read"):
            releases = islice(publisher.publish_all(_open(case, source)), case.timestamps)
        while True:
            if done == case.untimed > 0:
                seconds.clear()
                draws.clear()
                restart_peak()
                begin, cpu = perf_counter(), process_time()
            release = next(releases, None)
            if release is None:
                break
            nodes = max(nodes, release.certificate.nodes)
            edges = max(edges, release.certificate.edges)
            summary = dict(release.certificate.summary)
            done += 1
            del release
        total, cpu = perf_counter() - begin, process_time() - cpu
    return {
        "timestamps": done - case.untimed,
        "nodes": nodes,
        "edges": edges,
        "communities": summary.get("communities"),
        "seconds": {"total": total, **seconds, "cpu": cpu},
        "draws": draws,
        "files": written_files(out, range(case.untimed, done)),
    }


def _floor(
    case: Case, source: Path, draws: Draws, files: list[list[Path]], scratch: Path
) -> dict[str, float]:
    return time_floor(_inputs(case, source), draws, files, scratch)


def _inputs(case: Case, source: Path) -> list[Path]:
    """Return the Parquet files with the edges of the timed snapshots."""
    if is_store(source):
        entries = open_store(source).manifest.snapshots[case.untimed : case.timestamps]
        return [source / file.name for entry in entries for file in entry.edges]
    return sorted(source.iterdir())[case.untimed :] if source.is_dir() else [source]


# ---- publishing from a store, with the seconds of every verb of the engine ----


def time_store(
    case: Case, store: Path, scratch: Path, *, method: str, engine: str, workers: int | None
) -> dict[str, Any]:
    """Time publishing a store like `psgraph_lab.bench.timing.time_case`.

    Parameters
    ----------
    engine
        ``"local"`` or ``"dask"``.
    workers
        Threads of the local engine, or worker processes; as many as cores unless given.

    Returns
    -------
    dict
        Also ``verbs`` and ``verbs_cpu``, the mean seconds by verb, and ``parts``. With Dask
        ``moved``, tasks and bytes by verb over all passes, and ``worker_peak_bytes`` of the
        largest worker.
    """
    entry = open_store(store).manifest.snapshots[0]
    with _opened(engine, workers) as opened:
        timed = TimedEngine(opened)
        found = time_case(case, store, scratch, method=method, engine=timed)
        cluster = _cluster_facts(opened) if engine == "dask" else {}
    return {
        **found,
        "edges": sum(file.rows for file in entry.edges),
        "parts": len(entry.edges),
        "verbs": _mean(timed.seconds, case.repeats),
        "verbs_cpu": _mean(timed.cpu_seconds, case.repeats),
        **cluster,
    }


def _mean(totals: dict[str, float], passes: int) -> dict[str, float]:
    return {name: total / passes for name, total in totals.items()}


def _cluster_facts(engine: Any) -> dict[str, Any]:
    """Return what a cluster moved, by verb over all passes, and its memory."""
    moved: dict[str, dict[str, int]] = {}
    for call in engine.statistics.calls:
        totals = moved.setdefault(call.operation, {"tasks": 0, "to_driver": 0, "to_workers": 0})
        totals["tasks"] += call.tasks
        totals["to_driver"] += call.bytes_to_driver
        totals["to_workers"] += call.bytes_to_workers
    return {"moved": moved, "worker_peak_bytes": max(engine.client.run(peak_bytes).values())}


@contextmanager
def _opened(engine: str, workers: int | None) -> Iterator[Any]:
    if engine == "local":
        yield LocalEngine(threads=workers)
        return
    with import_module("psgraph.engines.dask").DaskEngine(workers=workers) as opened:
        yield opened


class TimedEngine:
    """A runner that passes every job on to another one and adds up how long the driver waits.

    A job counts under the name of its work, and a shuffle as ``shuffle``. What `map` returns, to be
    read later, is counted while it is read. Private values pass through unchanged and unseen.

    Attributes
    ----------
    seconds, cpu_seconds
        Elapsed time by verb, and the processor time of all threads of this process meanwhile.
    """

    def __init__(self, engine: Runner) -> None:
        self._engine = engine
        self.part_nodes = engine.part_nodes
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}

    def map(self, job: Job) -> Iterator[Any]:
        name = _work_name(job)
        with self._waiting(name):
            results = iter(self._engine.map(job))
        while True:
            try:
                with self._waiting(name):
                    result = next(results)
            except StopIteration:
                return
            yield result

    def sum(self, job: Job, *, sizes: Sequence[int]) -> tuple[Integers, ...]:
        with self._waiting(_work_name(job)):
            return self._engine.sum(job, sizes=sizes)

    def reduce(self, job: Job, combine: Callable[[Sequence[Any]], Any]) -> Any:
        with self._waiting(_work_name(job)):
            return self._engine.reduce(job, combine)

    def shuffle(self, jobs: Iterable[Job], *, nodes: int, kind: Kind = UNDIRECTED) -> EdgeParts:
        with self._waiting("shuffle"):
            return self._engine.shuffle(jobs, nodes=nodes, kind=kind)

    def store(self, job: Job, *, nodes: int, kind: Kind = UNDIRECTED) -> EdgeParts:
        with self._waiting(_work_name(job)):
            return self._engine.store(job, nodes=nodes, kind=kind)

    @contextmanager
    def _waiting(self, verb: str) -> Iterator[None]:
        """Add the time of the block to a verb."""
        begin, cpu = perf_counter(), process_time()
        try:
            yield
        finally:
            self.seconds[verb] = self.seconds.get(verb, 0.0) + perf_counter() - begin
            self.cpu_seconds[verb] = self.cpu_seconds.get(verb, 0.0) + process_time() - cpu


def _work_name(job: Job) -> str:
    """The name of what a job does, such as "block_counts"."""
    work = job.work.func if isinstance(job.work, partial) else job.work
    return work.__name__.lstrip("_").removeprefix("add_")
