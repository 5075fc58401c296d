"""The service: everything that requests and the worker share."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar, cast

from starlette.concurrency import run_in_threadpool

from psgraph._runtime.durable import make_directory
from psgraph._runtime.resources import clear_scratch
from psgraph.errors import InvalidArgument, LedgerBusy
from psgraph.service import clock
from psgraph.service.audit_log import SERVICE, AuditLog
from psgraph.service.authentication import Gate, Sessions
from psgraph.service.copies import Copies, address_of
from psgraph.service.database import Database, SqliteDatabase
from psgraph.service.inbox import Marks, Queue
from psgraph.service.middleware import RequestCounts
from psgraph.service.problems import failure, log
from psgraph.service.schemas import NewToken
from psgraph.service.settings import Settings
from psgraph.service.slow_work import SlowWork, Waiting
from psgraph.service.streams import Streams
from psgraph.service.team import Alone, Team
from psgraph.service.tokens import Tokens
from psgraph.service.uploads import UploadSpace
from psgraph.service.worker import Worker

__all__ = ["Service"]

_WRITE_EVERY = 60.0  # seconds
LEAST_FREE = 64 << 20
"""Bytes left on the disk, below which the service reports a problem."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Service:
    """One service on one directory, or one of the processes that run it together.

    A process that does everything has the directory to itself. Web processes and workers share it.

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
        shared = settings.part != "all"
        self._lock = _locked(directory / "service.lock", directory, shared=shared)
        try:
            if shared and new_key:
                raise InvalidArgument(
                    "the key is replaced by one process alone\n"
                    "Stop all processes, start psgraph serve without --workers 0 once with "
                    "--new-key, and stop it again."
                )
            self.cache = directory / "cache"
            if not shared:
                clear_scratch()
                shutil.rmtree(self.cache, ignore_errors=True)
            make_directory(self.cache, mode=0o700)
            with _alone(directory / "start.lock"):
                incoming = directory / "incoming"
                self.incoming, self._incoming_lock = incoming, cast(int | None, None)
                if settings.part != "worker":
                    self.incoming, self._incoming_lock = _own_folder(incoming, shared=shared)
                self.database = _opened(settings)
                if new_key:
                    Marks.replace_key(directory / "key", self.database)
                if not settings.reads_only:
                    self.marks = Marks(directory / "key", self.database)
            if not shared:  # what processes of an earlier team left
                for table in ("work", "workers"):
                    self.database.write(f"DELETE FROM {table}")
        except BaseException:
            os.close(self._lock)
            raise
        self.team = Team(self.database) if shared else Alone()
        self.audit = AuditLog(self.database)
        self.tokens = Tokens(
            self.database, self.audit, shared=shared, reads_only=settings.reads_only
        )
        self.sessions = Sessions(settings.session_minutes, self.database, shared=shared)
        self.gate = Gate(settings, self.tokens, self.sessions)
        self.queue = Queue(self.database)
        address = None if settings.releases is None else address_of(settings.releases)
        shown = address if settings.reads_only else None
        self.streams = Streams(directory, self.database, self.audit, self.team, copies=shown)
        self.copies = (
            Copies(self.streams, address, self.database)
            if address is not None and settings.publishes
            else None
        )
        self.counts = RequestCounts()
        self.drawing = SlowWork(threads=1)  # matplotlib is not thread-safe
        self.checking = SlowWork(threads=2)
        self.waiting = Waiting(settings.limits.connections // 4)
        self.worker = Worker(self)
        self._started = self._stopping = False
        self._write_at = 0.0
        for stream in self.streams:
            if not shared:  # otherwise a post may be in progress
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
        if not self._started or (self.settings.publishes and not self.worker.is_alive()):
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
        if problem := self.team.problem(needs_worker=not self.settings.reads_only):
            found.append(problem)
        if self.copies is not None and self.copies.problem is not None:
            found.append(self.copies.problem)
        free = shutil.disk_usage(self.settings.directory).free
        if free < LEAST_FREE:
            found.append(
                f"The disk of the service has {free >> 20} MiB left. Nothing can be accepted or "
                "released once it is full. Free some space; nothing is lost meanwhile."
            )
        return found

    def new_administrator(self) -> str:
        """Create a token of an administrator; this is its only copy."""
        label = "created on the command line"
        new = NewToken(role="administrator", label=label, streams=None, expires_days=None)
        return self.tokens.create(new, SERVICE).token

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
        """Start the worker, and look for what other processes do."""
        self.team.start(self.look, works=self.settings.part == "worker")
        if self.settings.publishes:
            self.worker.start()
        if self.copies is not None:
            self.copies.start()
        self._started = True

    def write_down(self) -> None:
        """Write down the use of tokens, from time to time; a failure ends no thread."""
        if self.tokens.unwritten and time.monotonic() >= self._write_at:
            self._write_at = time.monotonic() + _WRITE_EVERY
            try:
                self.tokens.write_down()
            except Exception as error:
                log("writing_failed", **failure(error))

    def look(self) -> None:
        """Learn what other processes changed."""
        self.write_down()
        self.streams.look()
        self.tokens.look()
        self.sessions.look()

    def stop(self) -> None:
        """Stop after the timestamp in progress, and close all files."""
        self._stopping = True
        self.worker.stop()
        if self.copies is not None:
            self.copies.stop()
        with suppress(Exception):
            self.tokens.write_down()
        self.team.stop()
        self.drawing.stop()
        self.checking.stop()
        for stream in self.streams:
            stream.inbox.close()
        self.database.close()
        if self._incoming_lock is not None:
            shutil.rmtree(self.incoming, ignore_errors=True)
            os.close(self._incoming_lock)
        os.close(self._lock)


def _opened(settings: Settings) -> Database:
    if settings.database is None:
        return SqliteDatabase(settings.directory / "service.sqlite")
    from psgraph.service.postgres import PostgresDatabase

    return PostgresDatabase(settings.database)


def _locked(path: Path, directory: Path, *, shared: bool) -> int:
    """Take the lock of a directory; the system releases it when the process ends."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        remedy = (
            "Start that one with --workers 0 to share the directory, or stop it."
            if shared
            else "Stop it, or use a different directory."
        )
        raise LedgerBusy(f"another service is running on {directory}\n{remedy}") from None
    return lock


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time make the database, the key and its folder for uploads."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _own_folder(incoming: Path, *, shared: bool) -> tuple[Path, int | None]:
    """Return a folder for uploads, and its lock; delete what dead processes left of theirs.

    Nothing in these folders was accepted.
    """
    if not shared:
        shutil.rmtree(incoming, ignore_errors=True)
        make_directory(incoming, mode=0o700)
        return incoming, None
    make_directory(incoming, mode=0o700)
    for left in incoming.iterdir():
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(lock)
    own = incoming / secrets.token_hex(8)
    make_directory(own, mode=0o700)
    lock = os.open(own, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return own, lock
