"""Publishing from a store, with the seconds of every verb of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, cast

from psgraph._runtime.resources import peak_bytes
from psgraph.engines.base import Engine
from psgraph.engines.runner import Job
from psgraph.engines.threads import LocalEngine
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
        found = time_case(case, store, scratch, engine=cast("Engine", timed))
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
    """Passes every call on to an engine and adds up how long the driver waits for each verb.

    A job of the engine's runner counts under the name of its work. Processor time is that of all
    threads of this process meanwhile.

    What a verb returns to be read later, part by part, is counted while it is read. Private
    values pass through unchanged and unseen.

    Attributes
    ----------
    seconds, cpu_seconds
        Elapsed and processor time by verb.
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}

    def __getattr__(self, verb: str) -> Any:
        attribute = getattr(self._engine, verb)
        if verb == "runner":
            runner = TimedEngine(attribute)
            runner.seconds, runner.cpu_seconds = self.seconds, self.cpu_seconds
            return runner
        if verb.startswith("_") or not callable(attribute):
            return attribute

        def timed(*arguments: Any, **options: Any) -> Any:
            name = _work_name(*arguments) or verb
            with self.waiting(name):
                result = attribute(*arguments, **options)
            if isinstance(result, Iterator):
                return iter(_Watched(result, self, name))
            return _Watched(result, self, name) if name == "community_scores" else result

        return timed

    @contextmanager
    def waiting(self, verb: str) -> Iterator[None]:
        """Add the time of the block to a verb."""
        begin, cpu = perf_counter(), process_time()
        try:
            yield
        finally:
            self.seconds[verb] = self.seconds.get(verb, 0.0) + perf_counter() - begin
            self.cpu_seconds[verb] = self.cpu_seconds.get(verb, 0.0) + process_time() - cpu


def _work_name(job: Any = None, *_: Any) -> str:
    """The name of what a job does, such as "block_counts"; "" for other arguments."""
    return job.work.__name__.lstrip("_").removeprefix("add_") if isinstance(job, Job) else ""


class _Watched:
    """An iterable whose items are counted while they are waited for."""

    def __init__(self, items: Any, engine: TimedEngine, verb: str) -> None:
        self._items, self._engine, self._verb = items, engine, verb

    def __iter__(self) -> Iterator[Any]:
        items = iter(self._items)
        while True:
            try:
                with self._engine.waiting(self._verb):
                    item = next(items)
            except StopIteration:
                return
            yield item
