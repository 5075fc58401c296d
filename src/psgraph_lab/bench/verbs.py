"""Publishing from a store, with the seconds of every verb of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from psgraph._runtime.arrays import Integers
from psgraph._runtime.resources import peak_bytes
from psgraph.engines.runner import Job, Runner
from psgraph.engines.threads import LocalEngine
from psgraph.graph.parts import EdgeParts
from psgraph.stores import open_store
from psgraph_lab.bench.cases import Case
from psgraph_lab.bench.timing import time_case

__all__ = ["TimedEngine", "time_store"]


def time_store(
    case: Case, store: Path, scratch: Path, *, engine: str, workers: int | None
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
        found = time_case(case, store, scratch, engine=timed)
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

    def shuffle(self, jobs: Iterable[Job], *, nodes: int) -> EdgeParts:
        with self._waiting("shuffle"):
            return self._engine.shuffle(jobs, nodes=nodes)

    def store(self, job: Job, *, nodes: int) -> EdgeParts:
        with self._waiting(_work_name(job)):
            return self._engine.store(job, nodes=nodes)

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
