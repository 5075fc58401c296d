"""The worker: one thread that publishes what is due, at ticks or when it is woken."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from psgraph.service import clock
from psgraph.service.finishing import Finishing
from psgraph.service.logs import log
from psgraph.service.problems import places_of
from psgraph.service.publishing import Publishing

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["Worker"]

_LONGEST_PAUSE = 30.0
_TRY_AGAIN = 1.0
_LONGEST_WAIT = 300.0
_PURGE_EVERY = 3600.0


class Worker(threading.Thread):
    """Publishes the timestamps of all streams, one at a time."""

    def __init__(self, service: Service) -> None:
        super().__init__(name="psgraph-worker", daemon=True)
        self._service = service
        self._publishing = Publishing(service, self.due)
        self._wake, self._stop_now = threading.Event(), threading.Event()
        self._started_at = clock.now()
        self._retry_at: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._purge_at = 0.0

    def wake(self) -> None:
        """Have it look for work now."""
        self._wake.set()

    def stop(self) -> None:
        """End after the timestamp in progress, and release all ledgers."""
        self._stop_now.set()
        self._wake.set()
        if self.is_alive():
            self.join()
        self._publishing.close()

    def due_at(self, stream: Stream, timestamp: int) -> float | None:
        """Return when a timestamp is released; None without a schedule.

        Ticks that passed while the service was stopped are due one delay after its start, so
        that clients can still deliver. Both moments are public.
        """
        if stream.schedule is None:
            return None
        tick = stream.schedule.due(timestamp)
        return max(tick, self._started_at + stream.schedule.delay) if tick < clock.now() else tick

    def due(self, stream: Stream, timestamp: int) -> bool:
        """Whether the tick of a timestamp has passed, so that no data are accepted for it."""
        at = self.due_at(stream, timestamp)
        return at is not None and at <= clock.now()

    def run(self) -> None:
        """Publish until it is stopped."""
        while not self._stop_now.is_set():
            self._wake.clear()
            self.publish_due()
            self._purge()
            self._wake.wait(self._pause())

    def publish_due(self) -> None:
        """Publish everything that is due now, stream by stream."""
        for stream in self._service.streams:
            if time.monotonic() >= self._retry_at.get(stream.name, 0.0):
                self._serve(stream)

    def _serve(self, stream: Stream) -> None:
        self._retry_at.pop(stream.name, None)
        try:
            while not self._stop_now.is_set() and self._publishing.step(stream):
                pass
            stream.trouble = None
            self._failures.pop(stream.name, None)
        except Exception as error:
            self._postpone(stream, error)
        finally:
            stream.measuring = None

    def _postpone(self, stream: Stream, error: Exception) -> None:
        """Try again later, after ever longer pauses. The text of an error may hold anything."""
        kind = type(error).__name__
        stream.trouble = f"Publishing failed ({kind}) and is tried again."
        failures = self._failures[stream.name] = self._failures.get(stream.name, 0) + 1
        wait = min(_LONGEST_WAIT, _TRY_AGAIN * 2**failures)
        self._retry_at[stream.name] = time.monotonic() + wait
        self._publishing.close(stream.name)
        log("worker_failed", stream=stream.name, error=kind, places=places_of(error))

    def _pause(self) -> float:
        """Return how long nothing is due."""
        present, pause = clock.now(), _LONGEST_PAUSE
        for stream in self._service.streams:
            at = self.due_at(stream, stream.sealed)
            if at is not None and at > present:
                pause = min(pause, at - present)
            retry = self._retry_at.get(stream.name)
            if retry is not None:
                pause = min(pause, max(0.1, retry - time.monotonic()))
        return pause

    def _purge(self) -> None:
        """Delete old originals, now and then; a failure does not end the thread."""
        if time.monotonic() < self._purge_at:
            return
        self._purge_at = time.monotonic() + _PURGE_EVERY
        try:
            Finishing(self._service).purge()
        except Exception as error:
            log("purge_failed", error=type(error).__name__, places=places_of(error))
