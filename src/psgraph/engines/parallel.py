"""Threads that work on the parts of a graph; results do not depend on their number.

Neither kernels nor reading files hold the interpreter lock, so threads use all cores. A sum of
integers is the same in any order, and a map is returned in the order of its parts.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["mapped", "summed", "thread_count"]

Part = TypeVar("Part")
Result = TypeVar("Result")
Sums = tuple[NDArray[np.int64], ...]


def thread_count() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def summed(
    parts: Sequence[Callable[[], Part]],
    begin: Callable[[], Sums],
    add: Callable[..., Any],
    *,
    threads: int,
) -> Sums:
    """Call ``add(part, *sums)`` for every part and return the sums.

    Each thread adds to its own arrays, made by `begin`; they are added up at the end.

    >>> def count(part, total):
    ...     total += len(part)
    >>> summed([lambda: "ab", lambda: "c"], lambda: (np.zeros(1, int),), count, threads=2)
    (array([3]),)
    """
    left, lock = iter(parts), threading.Lock()

    def work() -> Sums:
        sums = begin()
        while True:
            with lock:
                read = next(left, None)
            if read is None:
                return sums
            add(read(), *sums)

    workers = min(threads, len(parts))
    if workers <= 1:
        return work()
    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(work) for _ in range(workers)]
        first, *others = [each.result() for each in running]
    for other in others:
        for total, more in zip(first, other, strict=True):
            total += more
    return first


def mapped(tasks: Iterable[Callable[[], Result]], *, threads: int) -> Iterator[Result]:
    """Yield the results of tasks in order, with at most `threads` of them computed ahead.

    >>> list(mapped([lambda: 1, lambda: 2, lambda: 3], threads=2))
    [1, 2, 3]
    """
    left = iter(tasks)
    several = list(islice(left, 2))
    if min(threads, len(several)) <= 1:
        yield from (task() for task in chain(several, left))
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[Result]] = deque()
        try:
            for task in chain(several, left):
                running.append(pool.submit(task))
                if len(running) > threads:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for each in running:
                each.cancel()
