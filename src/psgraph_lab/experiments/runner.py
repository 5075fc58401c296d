"""Run the missing cells in parallel processes and store their outcomes."""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
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
from psgraph_lab.experiments.own import known_files, read_again
from psgraph_lab.experiments.store import Results

__all__ = ["machine", "missing_cells", "result_of", "run_missing"]

SAVE_EVERY = 10.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_AHEAD = 2  # tasks handed out per process: enough to keep it busy, few enough to stop soon


def machine() -> str:
    """Describe this machine in a few words."""
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, NumPy {np.__version__}"
    )


def run_missing(
    cells: Iterable[Cell],
    results: Results,
    *,
    over_time: Container[Cell] = (),
    directory: Path | None = None,
    workers: int | None = None,
    done: Callable[[Cell], None] = lambda _: None,
) -> int:
    """Run the cells missing from `results`; returns how many there were.

    Parameters
    ----------
    results
        Open for writing. Saved every ten seconds, and at the end by the caller who opened it: an
        interruption loses the last few seconds.
    over_time
        Cells whose metrics are stored for every timestamp; of the others only the means are.
        Series take twenty times the space of means, and only figures over time draw them.
    directory
        Where data sets are searched first.
    workers
        Number of processes; one per core by default.
    done
        Called after every cell.
    """
    missing = missing_cells(cells, results, over_time=over_time)
    saved = monotonic()
    for outcome in _outcomes(missing, directory, workers or os.cpu_count() or 1):
        kept = outcome if outcome.cell in over_time else replace(outcome, series={})
        results.add(kept)
        done(outcome.cell)
        if monotonic() - saved > SAVE_EVERY:
            results.save()
            saved = monotonic()
    return len(missing)


def missing_cells(
    cells: Iterable[Cell], results: Mapping[Cell, Outcome], *, over_time: Container[Cell] = ()
) -> list[Cell]:
    """The cells that have to be run: no outcome is stored, or not the series that is needed."""
    return [
        cell
        for cell in cells
        if cell not in results or (cell in over_time and not results[cell].series)
    ]


def _outcomes(cells: list[Cell], directory: Path | None, workers: int) -> Iterator[Outcome]:
    """Yield outcomes in order of completion."""
    if not cells:
        return
    # Every core has a process already; linear-algebra threads would only compete with them.
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    # Spawned rather than forked: threads of Arrow and numba don't survive a fork.
    pool = ProcessPoolExecutor(
        min(workers, len(cells)),
        mp_context=get_context("spawn"),
        initializer=_prepare,
        initargs=(known_files(),),
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
    """Return the outcome of a process, or raise if the process was killed."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise PsgraphError(
            f"a process that ran {cell.method} on {cell.dataset} was killed, possibly because "
            "memory ran out\nFinished cells are kept. Run the same command again with fewer "
            "--workers."
        ) from None


def _prepare(own: tuple[Path, ...]) -> None:
    """Initialise a worker: leave Ctrl-C to the parent and load the kernels once.

    Parameters
    ----------
    own
        Definitions whose data sets and methods have to be known here too.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_with_parent, daemon=True).start()
    from psgraph.metrics.warmup import warm_up_metrics

    read_again(own)
    warm_up_metrics()


def _exit_with_parent() -> None:
    """Exit when the parent process dies; a killed parent sends no signal."""
    parent = parent_process()
    if parent is not None:
        parent.join()
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
