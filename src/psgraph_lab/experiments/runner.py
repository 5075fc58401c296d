"""Runs the cells that are not there yet, in parallel processes, and keeps what comes."""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from time import monotonic

import numpy as np

from psgraph._version import __version__
from psgraph.errors import PsgraphError
from psgraph.graph import Snapshot
from psgraph_lab.datasets import load_dataset
from psgraph_lab.experiments.cells import Cell, Outcome, run_cell
from psgraph_lab.experiments.store import Results

__all__ = ["machine", "result_of", "run_missing"]

SAVE_EVERY = 10.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_AHEAD = 2  # tasks handed out per process: enough to keep it busy, few enough to stop soon


def machine() -> str:
    """What ran it, in a few words."""
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, NumPy {np.__version__}"
    )


def run_missing(
    cells: Iterable[Cell],
    results: Results,
    *,
    directory: Path | None = None,
    workers: int | None = None,
    done: Callable[[Cell], None] = lambda _: None,
) -> int:
    """Run the cells that `results` lacks; returns how many there were.

    Parameters
    ----------
    results
        Open for writing. Saved every ten seconds, and by whoever opened it at the end: what an
        interruption costs is the last seconds.
    directory
        Where data sets are looked for first.
    workers
        Processes; one per core if not given.
    done
        Called after every cell.
    """
    missing = [cell for cell in cells if cell not in results]
    saved = monotonic()
    for outcome in _outcomes(missing, directory, workers or os.cpu_count() or 1):
        results.add(outcome)
        done(outcome.cell)
        if monotonic() - saved > SAVE_EVERY:
            results.save()
            saved = monotonic()
    return len(missing)


def _outcomes(cells: list[Cell], directory: Path | None, workers: int) -> Iterator[Outcome]:
    """The outcomes in the order in which they come."""
    if not cells:
        return
    # Every core has a process; threads of linear algebra beside them would only get in their way.
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    # Started anew rather than forked: threads of Arrow and numba don't survive a fork.
    pool = ProcessPoolExecutor(
        min(workers, len(cells)), mp_context=get_context("spawn"), initializer=_prepare
    )
    waiting = iter(cells)
    running: dict[Future[Outcome], Cell] = {}
    try:
        while True:
            for cell in waiting:
                running[pool.submit(_run, cell, directory)] = cell
                if len(running) >= _AHEAD * workers:
                    break
            if not running:
                break
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                cell = running.pop(future)
                yield result_of(future, cell)
    finally:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def result_of(future: Future[Outcome], cell: Cell) -> Outcome:
    """What a process found, or that it did not come to an end."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise PsgraphError(
            f"a process that ran {cell.method} on {cell.dataset} was ended from outside, maybe for "
            "lack of memory\nWhat was finished is kept. Run the same command again, with fewer "
            "--workers."
        ) from None


def _prepare() -> None:
    """A fresh process: Ctrl-C is for the one that leads, and kernels are loaded once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_leader, daemon=True).start()
    from psgraph.metrics.warmup import warm_up_metrics

    warm_up_metrics()


def _end_with_the_leader() -> None:
    """Who leads may be killed, and nobody would ever tell the others."""
    leader = parent_process()
    if leader is not None:
        leader.join()
        os._exit(1)


@lru_cache(maxsize=8)
def _stream(dataset: str, directory: Path | None) -> list[Snapshot]:
    return load_dataset(dataset, directory=directory)


def _run(cell: Cell, directory: Path | None) -> Outcome:
    values, series = run_cell(cell, _stream(cell.dataset, directory))
    return Outcome(
        cell,
        values=values,
        series={name: np.array(numbers, dtype=np.float32) for name, numbers in series.items()},
        version=__version__,
        machine=machine(),
    )
