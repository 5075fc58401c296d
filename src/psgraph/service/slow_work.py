"""Slow work: what takes seconds has a few threads of its own and a bounded queue.

Other requests have other threads, so none of them waits for a drawing or an export.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal

__all__ = ["SlowWork", "Waiting"]

Result = TypeVar("Result")

_MOST_WAITING = 16  # or running
_MOST_REMEMBERED = 128
_PATIENCE = 30.0  # seconds that a request waits for its job


class SlowWork:
    """A few threads and the jobs that wait for them.

    Parameters
    ----------
    threads
        How many jobs run at the same time.
    """

    def __init__(self, *, threads: int = 1) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._unfinished: dict[Hashable, Future[Any]] = {}
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        self._threads = [
            threading.Thread(target=self._work, name="psgraph-slow-work", daemon=True)
            for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Start no more jobs. One that is running ends with the process at the latest."""
        for _ in self._threads:
            self._jobs.put(None)

    async def run(
        self,
        caller: Identity,
        key: Hashable,
        make: Callable[[], Result],
        *,
        remember: bool = False,
        patience: float = _PATIENCE,
    ) -> Result:
        """Make something in a thread of this pool.

        Parameters
        ----------
        caller
            Who waits. Without a token, half of the places in the queue are available.
        key
            Identifies the result: callers with equal keys wait for the same job.
        remember
            Whether to keep the result for later calls.
        patience
            Seconds to wait for the job.

        Raises
        ------
        Refusal
            503 if too many jobs are waiting, or this one takes long. It is finished nevertheless.
        """
        most = _MOST_WAITING if caller.token is not None else _MOST_WAITING // 2
        future = self._future(key, make, most=most, remember=remember)
        if future is None:
            raise _busy("Too many drawings, exports and checks are waiting.")
        try:
            async with asyncio.timeout(patience):
                return await asyncio.shield(asyncio.wrap_future(future))
        except TimeoutError:
            raise _busy("This takes long, and is not ready yet.") from None

    def prepare(self, key: Hashable, make: Callable[[], Any]) -> None:
        """Make something for later calls of `run`, if there is a place in the queue."""
        self._future(key, make, most=_MOST_WAITING // 2, remember=True)

    def _future(
        self, key: Hashable, make: Callable[[], Result], *, most: int, remember: bool
    ) -> Future[Result] | None:
        """Return the result to come, or None if `most` jobs are unfinished."""
        future: Future[Result]
        with self._lock:
            if key in self._results:
                future = Future()
                self._results.move_to_end(key)
                future.set_result(self._results[key])
                return future
            if key in self._unfinished:
                return self._unfinished[key]
            if len(self._unfinished) >= most:
                return None
            future = self._unfinished[key] = Future()
        self._jobs.put(lambda: self._make(key, make, future, remember))
        return future

    def _make(
        self, key: Hashable, make: Callable[[], Result], future: Future[Result], remember: bool
    ) -> None:
        try:
            result = make()
        except BaseException as error:
            with self._lock:
                del self._unfinished[key]
            future.set_exception(error)
            return
        with self._lock:
            del self._unfinished[key]
            if remember:
                self._results[key] = result
                if len(self._results) > _MOST_REMEMBERED:
                    self._results.popitem(last=False)
        future.set_result(result)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


class Waiting:
    """How many requests may wait for something to happen, at the same time."""

    def __init__(self, most: int) -> None:
        self._most, self._number = most, 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[bool]:
        """Take a place during the block; say whether there was one."""
        admitted = self._number < self._most
        self._number += admitted
        try:
            yield admitted
        finally:
            self._number -= admitted


def _busy(message: str) -> Refusal:
    return Refusal(503, "busy", message, "Try again in a moment.", {"Retry-After": "5"})
