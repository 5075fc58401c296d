"""Run the missing cells in parallel processes and store their outcomes."""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from time import monotonic, perf_counter

import numpy as np

from psgraph._runtime.resources import peak_bytes, restart_peak
from psgraph._version import __version__
from psgraph.errors import PsgraphError
from psgraph.graph import Snapshot
from psgraph.methods.registry import find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph_lab.datasets import load_dataset
from psgraph_lab.datasets.owned import find_people
from psgraph_lab.experiments.cells import Cell, Originals, Outcome, RosterKind, publish_cell
from psgraph_lab.experiments.own import known_files, read_again
from psgraph_lab.experiments.store import Needs, Results, source_of

__all__ = [
    "Work",
    "machine",
    "missing_cells",
    "originals_of",
    "result_of",
    "run_cell_of",
    "run_missing",
    "time_missing",
]

ANYTHING = Needs()
#: Runs one cell in a process of its own: the cell, groups of metrics, where data sets are.
Work = Callable[[Cell, tuple[str, ...], Path | None], Outcome]
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
    needs: Needs = ANYTHING,
    directory: Path | None = None,
    workers: int | None = None,
    done: Callable[[Cell], None] = lambda _: None,
    work: Work | None = None,
) -> int:
    """Run the cells missing from `results`; returns how many there were.

    Parameters
    ----------
    results
        Open for writing. Saved every ten seconds, and at the end by the caller who opened it: an
        interruption loses the last few seconds.
    needs
        What outcomes must have. Metrics that a stored outcome has already are kept.
    directory
        Where data sets are searched first.
    workers
        Number of processes; one per core by default.
    done
        Called after every cell.
    work
        What runs a cell: a function of a module, which publishes and compares unless given.
    """
    missing = missing_cells(cells, results, needs)
    saved = monotonic()
    tasks = _Tasks(missing, needs.groups, directory, work or run_cell_of)
    for outcome in _outcomes(tasks, workers or os.cpu_count() or 1):
        known = results.get(outcome.cell)
        if known is not None and not needs.is_stale(known):
            outcome = replace(outcome, values={**known.values, **outcome.values})
        results.add(replace(outcome, series=needs.kept_series(outcome)))
        done(outcome.cell)
        if monotonic() - saved > SAVE_EVERY:
            results.save()
            saved = monotonic()
    return len(missing)


def missing_cells(
    cells: Iterable[Cell], results: Mapping[Cell, Outcome], needs: Needs = ANYTHING
) -> list[Cell]:
    """The cells that have to be run: no outcome is stored, or one that lacks what is needed."""
    return [cell for cell in cells if cell not in results or not needs.met_by(results[cell])]


@dataclass(frozen=True)
class _Tasks:
    """Cells to run, the groups of metrics they need, where their data sets are, and what runs."""

    cells: list[Cell]
    groups: tuple[str, ...]
    directory: Path | None
    work: Work


def _outcomes(tasks: _Tasks, workers: int) -> Iterator[Outcome]:
    """Yield outcomes in order of completion."""
    cells = tasks.cells
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
                running[pool.submit(tasks.work, cell, tasks.groups, tasks.directory)] = cell
                if len(running) >= _AHEAD * workers:
                    break
            if not running:
                break
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            # Outcomes first: a failure that comes with them ends the run.
            for future in sorted(finished, key=lambda each: each.exception() is not None):
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
    from psgraph.metrics.comparison import warm_up_metrics

    read_again(own)
    warm_up_metrics()


def _exit_with_parent() -> None:
    """Exit when the parent process dies; a killed parent sends no signal."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@lru_cache(maxsize=32)
def _stream(dataset: str, directory: Path | None) -> list[Snapshot]:
    return load_dataset(dataset, directory=directory)


@lru_cache(maxsize=32)
def _originals(
    dataset: str,
    timestamps: int | None,
    share: str,
    roster: RosterKind,
    directory: Path | None,
) -> Originals:
    """The snapshots that cells share; their statistics are computed once per process."""
    cell = Cell(dataset, "", "1", 1, 0, timestamps=timestamps, share=share, roster=roster)
    stream, people = cell.of(_stream(dataset, directory)), find_people(dataset)
    if people is None or people.at_most is None:
        return Originals.of(stream)
    return Originals.of(cell.of(_stream(people.truth, directory)), stream)


def originals_of(cell: Cell, directory: Path | None) -> Originals:
    """The snapshots a cell is run on, kept for the next cell that uses them."""
    return _originals(cell.dataset, cell.timestamps, cell.share, cell.roster, directory)


def run_cell_of(cell: Cell, groups: tuple[str, ...], directory: Path | None) -> Outcome:
    """Publish a cell and compare with the original."""
    values, series = publish_cell(cell, originals_of(cell, directory), groups=groups)
    return Outcome(
        cell,
        values=values,
        series={name: np.array(numbers, dtype=np.float32) for name, numbers in series.items()},
        version=__version__,
        machine=machine(),
        source=source_of(cell.method),
    )


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
