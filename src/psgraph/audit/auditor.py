"""The audit: every attack on every method, on one core or several, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any

from psgraph.audit.attacks import QUICK, Attack, Effort, Result, attacks, deliberate_bugs
from psgraph.audit.findings import Audit, Check, Hunt
from psgraph.audit.reach import Reach, all_reached
from psgraph.methods.base import Method
from psgraph.methods.registry import find_method, method_names

__all__ = ["audit", "planned"]

MISSING = "deliberate bugs were not planted: they are in checkouts of psgraph, not in its wheels"


def audit(
    methods: Sequence[str | Method[Any, Any]] = (),
    *,
    effort: Effort = QUICK,
    mutants: bool = True,
    workers: int = 1,
    progress: Callable[[], object] = lambda: None,
) -> Audit:
    """Try to break the promise.

    Parameters
    ----------
    methods
        Names of installed methods, or methods; all installed ones by default.
    effort
        `psgraph.audit.attacks.QUICK` or `FULL`.
    mutants
        Whether to check that deliberate bugs are found; they test the auditor, not the method.
        Without a package that offers any, `Audit.missing` says so.
    workers
        The number of processes. With more than one, a method has to be importable.
    progress
        Called after each of the attacks that `planned` lists.
    """
    start = time.monotonic()
    chosen = _chosen(methods)
    found = Audit(effort.mode, tuple(method.name for method in chosen), workers=workers)
    ahead = planned(chosen, effort, mutants=mutants)
    if mutants and not any(attack.kind == "mutant" for attack in ahead):
        found.missing = MISSING
    results: dict[int, Result] = {}
    reach = {method.name: Reach(method.name) for method in chosen}
    for number, result in _carried_out(ahead, workers, start + effort.longest):
        results[number] = result
        progress()
    for number in range(len(ahead)):
        result = results[number]
        if isinstance(result, Hunt):
            found.hunts.append(result)
            continue
        for part in result:
            if isinstance(part, Reach):
                reach[part.method].add(part)
            else:
                found.checks.append(part)
    found.reached = [row for method in chosen for row in all_reached(method, reach[method.name])]
    found.seconds = time.monotonic() - start
    return found


def planned(
    methods: Sequence[str | Method[Any, Any]] = (), effort: Effort = QUICK, *, mutants: bool = True
) -> list[Attack]:
    """Return everything that `audit` would try."""
    return attacks(_chosen(methods), effort) + (deliberate_bugs(effort) if mutants else [])


def _chosen(methods: Sequence[str | Method[Any, Any]]) -> list[Method[Any, Any]]:
    return [
        find_method(method)() if isinstance(method, str) else method
        for method in (methods or method_names())
    ]


def _carried_out(
    ahead: Sequence[Attack], workers: int, until: float
) -> Iterator[tuple[int, Result]]:
    """Yield numbers and results of attacks as they finish."""
    if workers == 1:
        for number, attack in enumerate(ahead):
            yield number, attack.run() if time.monotonic() < until else _left_out(attack)
        return
    # Spawned rather than forked: threads of Arrow and numba don't survive a fork.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    waiting, running = iter(enumerate(ahead)), dict[Future[Result], int]()
    try:
        while True:
            while len(running) < workers and (following := next(waiting, None)) is not None:
                number, attack = following
                if time.monotonic() < until:
                    running[pool.submit(attack.run)] = number
                else:
                    yield number, _left_out(attack)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:  # also after Ctrl-C, when attacks are still running
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _left_out(attack: Attack) -> list[Check]:
    return [Check(attack.kind, attack.name, attack.method, "not run: the time was up", "failed")]
