"""The service: everything that requests and the worker share."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

from starlette.concurrency import run_in_threadpool

from psgraph._runtime.durable import make_directory
from psgraph._runtime.resources import clear_scratch
from psgraph.errors import LedgerBusy
from psgraph.service import clock
from psgraph.service.audit_log import SERVICE, AuditLog
from psgraph.service.authentication import Gate, Sessions
from psgraph.service.database import Database
from psgraph.service.inbox import Marks, Queue
from psgraph.service.middleware import RequestCounts
from psgraph.service.schemas import NewToken
from psgraph.service.settings import Settings
from psgraph.service.slow_work import SlowWork
from psgraph.service.streams import Streams
from psgraph.service.tokens import Tokens
from psgraph.service.uploads import UploadSpace
from psgraph.service.worker import Worker

__all__ = ["Service"]

LEAST_FREE = 64 << 20
"""Bytes left on the disk, below which the service reports a problem."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Service:
    """One service on one directory, which no other process can use at the same time.

    ::

        DIR/service.sqlite           tokens (hashed), terms of streams, queue, audit log
        DIR/key                      key of the digests that recognise repeated posts
        DIR/incoming/                uploads while they are received
        DIR/cache/                   exports and reports, made from public files
        DIR/streams/NAME/            roster, accepted private data, kept originals
        DIR/streams/NAME/releases/   the releases, with their ledger beside them

    Parameters
    ----------
    new_key
        Replace a key that is lost.
    """

    def __init__(self, settings: Settings, *, new_key: bool = False) -> None:
        self.settings = settings
        directory = settings.directory
        make_directory(directory, mode=0o700)
        self._lock = _locked(directory / "service.lock", directory)
        clear_scratch()
        self.incoming, self.cache = directory / "incoming", directory / "cache"
        for folder in (self.incoming, self.cache):
            shutil.rmtree(folder, ignore_errors=True)  # none of their content was accepted
            make_directory(folder, mode=0o700)
        try:
            self.database = Database(directory / "service.sqlite")
            if new_key:
                Marks.replace_key(directory / "key", self.database)
            self.marks = Marks(directory / "key", self.database)
        except BaseException:
            os.close(self._lock)
            raise
        self.audit = AuditLog(self.database)
        self.tokens = Tokens(self.database, self.audit)
        self.sessions = Sessions(settings.session_minutes)
        self.gate = Gate(settings, self.tokens, self.sessions)
        self.queue = Queue(self.database)
        self.streams = Streams(directory, self.database, self.audit)
        self.counts = RequestCounts()
        self.drawing = SlowWork(threads=1)  # matplotlib is not thread-safe
        self.checking = SlowWork(threads=2)
        self.worker = Worker(self)
        self._stopping = False
        for stream in self.streams:
            stream.inbox.clear_except(self.queue.files(stream.name))
            if new_key:
                stream.inbox.forget_posts()
        if new_key:
            self.audit.add(SERVICE, "replace key")

    @cached_property
    def upload_space(self) -> UploadSpace:
        """Limits how many uploads are received and read at the same time."""
        return UploadSpace(self.settings.limits)

    @property
    def status(self) -> Literal["ok", "degraded", "starting", "stopping"]:
        """Whether requests are answered and the worker runs, and whether there are problems."""
        if self._stopping:
            return "stopping"
        if not self.worker.is_alive():
            return "starting"
        return "degraded" if self.problems() else "ok"

    def problems(self) -> list[str]:
        """Return what the operator has to look at; all of it is public."""
        found = []
        if jump := clock.jump():
            found.append(
                f"The clock of the server was set {'forward' if jump > 0 else 'back'} by "
                f"{abs(jump):,.0f} seconds. Releases continue by the time before that. Correct the "
                "clock; if it is right now, restart the service."
            )
        free = shutil.disk_usage(self.settings.directory).free
        if free < LEAST_FREE:
            found.append(
                f"The disk of the service has {free >> 20} MiB left. Nothing can be accepted or "
                "released once it is full. Free some space; nothing is lost meanwhile."
            )
        return found

    def first_token(self, *, again: bool = False) -> str | None:
        """Create a curator token if none is valid, or `again`; this is its only copy."""
        if self.tokens.any_curator() and not again:
            return None
        label = "created on the command line"
        new = NewToken(role="curator", label=label, streams=None, expires_days=None)
        return self.tokens.create(new, SERVICE).token

    async def in_thread(
        self,
        function: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Result:
        """Run a function that waits for the disk without blocking other requests."""
        return await run_in_threadpool(function, *arguments, **options)

    def start(self) -> None:
        """Start the worker."""
        self.worker.start()

    def stop(self) -> None:
        """Stop after the timestamp in progress, and close all files."""
        self._stopping = True
        self.worker.stop()
        self.drawing.stop()
        self.checking.stop()
        for stream in self.streams:
            stream.inbox.close()
        self.database.close()
        os.close(self._lock)


def _locked(path: Path, directory: Path) -> int:
    """Take the lock of a directory; the system releases it when the process ends."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise LedgerBusy(
            f"another service is running on {directory}\nStop it, or use a different directory."
        ) from None
    return lock
