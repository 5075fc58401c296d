"""Time and memory of a cell: one run at a time, each in its own process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from psgraph._runtime.memory import peak_bytes, restart_peak
from psgraph._version import __version__
from psgraph.methods.base import find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph_lab.datasets import load_dataset
from psgraph_lab.experiments.cells import Cell, Outcome
from psgraph_lab.experiments.own import known_files, read_again
from psgraph_lab.experiments.runner import machine, result_of
from psgraph_lab.experiments.store import Results

__all__ = ["time_missing"]

_MEGABYTE = 1e6


def time_missing(
    cells: Iterable[Cell],
    results: Results,
    *,
    directory: Path | None = None,
    done: Callable[[Cell], None] = lambda _: None,
) -> int:
    """Time the cells missing from `results`, one at a time; returns how many there were."""
    missing = [cell for cell in cells if cell not in results]
    for cell in missing:
        # A process per cell, so that its peak memory is its own.
        with ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=read_again, initargs=(known_files(),)
        ) as pool:
            results.add(result_of(pool.submit(_time, cell, directory), cell))
        results.save()
        done(cell)
    return len(missing)


def _time(cell: Cell, directory: Path | None) -> Outcome:
    """Publish in memory; everything is loaded and compiled before the clock starts."""
    from psgraph.publication.warmup import warm_up

    snapshots = cell.of(load_dataset(cell.dataset, directory=directory))
    method = find_method(cell.method)(**dict(cell.parameters))
    warm_up(method)
    publisher = Publisher(method, WEventPrivacy(cell.epsilon, window=cell.window), seed=cell.seed)
    before = restart_peak()
    begin = perf_counter()
    for _ in publisher.publish_all(snapshots):
        pass
    seconds = perf_counter() - begin
    peak = peak_bytes()
    return Outcome(
        cell,
        values={
            "seconds": seconds,
            "peak_megabytes": peak / _MEGABYTE,
            "added_megabytes": (peak - before) / _MEGABYTE,
            "edges": float(sum(snapshot.u.size for snapshot in snapshots)),
        },
        version=__version__,
        machine=machine(),
    )
