"""Several processes on one service: who publishes which stream, and how far each stream is.

A worker that publishes has a *lease* of the stream, in the database. It ends by itself if its
worker dies. A lease only saves work: the ledger's own lock is what prevents a second draw, so one
that is lost early costs time and nothing else.

Web processes learn from the same table how far workers are. What must not be decided on old
knowledge is decided under the lock of the stream, after `Team.look`.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from psgraph.service import clock
from psgraph.service.problems import failure, log

if TYPE_CHECKING:
    from psgraph.service.database import Database
    from psgraph.service.streams import Stream

__all__ = ["Alone", "StreamLock", "Team"]

LEASE = 8.0
"""Seconds until the streams of a worker that died are published by others."""

LOOK = 0.5
"""Seconds between looks at what other processes did."""

_BEAT = 2.0


class Alone:
    """The one process of a service: everything is in its memory.

    Attributes
    ----------
    pause
        The longest pause of a worker, in seconds.
    turn
        How long a worker stays with one stream, in seconds; 0: for one timestamp.
    """

    shared = False
    name = ""
    pause = 30.0
    turn = 0.0

    def __init__(self) -> None:
        self._started = clock.now()

    def since(self) -> float:
        """Return since when someone publishes: ticks that passed before are due later."""
        return self._started

    def problem(self, *, needs_worker: bool = True) -> str | None:
        """Return what is wrong with the other processes."""
        del needs_worker
        return None

    def start(self, look: Callable[[], None], *, works: bool) -> None:
        """Start to look for what other processes do, and to announce this one if it `works`."""

    def stop(self) -> None:
        """Give everything back."""

    def add(self, streams: Sequence[Stream]) -> None:
        """Take note of streams."""

    def busy(self) -> set[str]:
        """Return the streams that others publish now."""
        return set()

    def take(self, stream: Stream) -> bool:
        """Take the lease of a stream; return whether this worker has it."""
        del stream
        return True

    def give(self, stream: Stream, *, keep: float = 0.0) -> None:
        """Give a lease back and tell how far the stream is; `keep` it for some seconds."""

    def mark(self, stream: Stream, timestamp: int) -> None:
        """Tell, under the lock of the stream, that a timestamp takes no more data."""

    def look(self, stream: Stream) -> None:
        """Learn, under the lock of the stream, how far it is."""

    def look_at(self, streams: Mapping[str, Stream]) -> None:
        """Learn how far all streams are."""

    def continue_stopped(self, stream: Stream) -> None:
        """Tell that a curator allowed a stopped stream to continue."""
        stream.stopped, stream.trouble = False, None

    def catch_up(self, stream: Stream, until: int) -> None:
        """Tell that timestamps below `until` are published although their periods passed."""
        stream.catches_up = until


class Team(Alone):
    """One of several processes that share a database and the directories of the streams."""

    shared = True
    pause = LOOK
    turn = 1.0

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.name = secrets.token_hex(6)
        self._database = database
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._publishing: float | None = None  # since when; None: no one does
        self._held: set[str] = set()  # what only this worker changes
        self._reachable = True

    # ---- workers ----

    def start(self, look: Callable[[], None], *, works: bool) -> None:
        """Look regularly; a worker says that it is alive, and who was first."""
        self._see()
        jobs = [(look, LOOK)]
        if works:
            self._join()
            jobs.append((self._beat, _BEAT))
        for job, pause in jobs:
            arguments = (job, pause)
            thread = threading.Thread(target=self._repeat, args=arguments, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End the threads, and give back all leases."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        with suppress(Exception), self._database.transaction() as connection:
            connection.execute(
                "UPDATE work SET worker = NULL, until = 0 WHERE worker = ?", (self.name,)
            )
            connection.execute("DELETE FROM workers WHERE worker = ?", (self.name,))

    def _repeat(self, job: Callable[[], None], pause: float) -> None:
        while not self._over.wait(pause):
            try:
                job()
                self._see()
                self._reachable = True
            except Exception as error:
                if self._reachable:  # once is enough: this may last
                    log("look_failed", **failure(error))
                self._reachable = False

    def _join(self) -> None:
        now = self._database.now()
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM workers WHERE seen < ?", (now - LEASE,))
            (first,) = connection.execute("SELECT min(since) FROM workers").fetchone()
            connection.execute(
                "INSERT INTO workers (worker, seen, since) VALUES (?, ?, ?)",
                (self.name, now, clock.now() if first is None else first),
            )
        self._see()

    def _beat(self) -> None:
        now = self._database.now()
        with self._database.transaction() as connection:
            known = connection.execute(
                "UPDATE workers SET seen = ? WHERE worker = ?", (now, self.name)
            ).rowcount
            connection.execute(
                "UPDATE work SET until = ? WHERE worker = ? AND until < ?",
                (now + LEASE, self.name, now + LEASE),
            )
        if not known:  # the database was away for so long that others took over
            self._join()

    def _see(self) -> None:
        row = self._database.row(
            "SELECT min(since) FROM workers WHERE seen >= ?", (self._database.now() - LEASE,)
        )
        self._publishing = None if row is None or row[0] is None else float(row[0])

    def since(self) -> float:
        """Return since when there was always a worker; now if there is none."""
        return clock.now() if self._publishing is None else self._publishing

    def problem(self, *, needs_worker: bool = True) -> str | None:
        """Return that no one publishes, or that the database is away."""
        if not self._reachable:
            return "The database can't be reached. Nothing can be accepted or released meanwhile."
        if needs_worker and self._publishing is None:
            return "No worker is running, so nothing is released. Start psgraph worker."
        return None

    # ---- streams ----

    def add(self, streams: Sequence[Stream]) -> None:
        """Make the rows that are missing, in one transaction, and learn how far streams are."""
        there = {name for (name,) in self._database.rows("SELECT stream FROM work")}
        if missing := [each for each in streams if each.name not in there]:
            with self._database.transaction() as connection:
                for stream in missing:
                    connection.execute(
                        "INSERT INTO work (stream, until, sealed, taken, stopped, catches_up) "
                        "VALUES (?, 0, ?, ?, 0, 0) ON CONFLICT DO NOTHING",
                        (stream.name, stream.sealed, stream.sealed),
                    )
        self.look_at({each.name: each for each in streams})

    def busy(self) -> set[str]:
        """Return the streams that others publish now."""
        rows = self._database.rows(
            "SELECT stream FROM work WHERE worker != ? AND until > ?",
            (self.name, self._database.now()),
        )
        return {str(name) for (name,) in rows}

    def take(self, stream: Stream) -> bool:
        """Take the lease of a stream; return whether this worker has it."""
        now = self._database.now()
        taken = self._database.write(
            "UPDATE work SET worker = ?, until = ? "
            "WHERE stream = ? AND (worker IS NULL OR worker = ? OR until < ?)",
            (self.name, now + LEASE, stream.name, self.name, now),
        )
        if taken:
            self.look(stream)
            self._held.add(stream.name)
        return bool(taken)

    def give(self, stream: Stream, *, keep: float = 0.0) -> None:
        """Give a lease back and tell how far the stream is; `keep` it for some seconds."""
        holder, until = (self.name, self._database.now() + keep) if keep else (None, 0.0)
        self._database.write(
            "UPDATE work SET worker = ?, until = ?, sealed = ?, measuring = ?, trouble = ?, "
            "stopped = ? WHERE stream = ? AND worker = ?",
            (
                *(holder, until, stream.sealed, stream.measuring, stream.trouble),
                *(int(stream.stopped), stream.name, self.name),
            ),
        )
        self._held.discard(stream.name)

    def mark(self, stream: Stream, timestamp: int) -> None:
        """Tell that a timestamp takes no more data, before these are read."""
        if stream.taken <= timestamp:
            stream.taken = timestamp + 1
            self._database.write(
                "UPDATE work SET taken = ? WHERE stream = ? AND taken < ?",
                (stream.taken, stream.name, stream.taken),
            )

    def look(self, stream: Stream) -> None:
        """Learn how far a stream is."""
        row = self._database.row(f"SELECT {_COLUMNS} FROM work WHERE stream = ?", (stream.name,))
        if row is not None:
            _learn(stream, row)

    def look_at(self, streams: Mapping[str, Stream]) -> None:
        """Learn how far all streams are."""
        for name, *row in self._database.rows(f"SELECT stream, {_COLUMNS} FROM work"):
            if name in streams and name not in self._held:
                _learn(streams[name], row)

    def continue_stopped(self, stream: Stream) -> None:
        """Tell that a curator allowed a stopped stream to continue."""
        super().continue_stopped(stream)
        self._database.write(
            "UPDATE work SET trouble = NULL, stopped = 0 WHERE stream = ?", (stream.name,)
        )

    def catch_up(self, stream: Stream, until: int) -> None:
        """Tell that timestamps below `until` are published although their periods passed."""
        super().catch_up(stream, until)
        self._database.write(
            "UPDATE work SET catches_up = ? WHERE stream = ?", (until, stream.name)
        )


_COLUMNS = "sealed, taken, measuring, trouble, stopped, catches_up"


def _learn(stream: Stream, row: tuple[object, ...] | list[object]) -> None:
    """Take over a row; what never decreases is not taken from an older one."""
    sealed, taken, measuring, trouble, stopped, catches_up = row
    stream.sealed = max(stream.sealed, int(sealed))  # type: ignore[call-overload]
    stream.taken = max(stream.taken, int(taken))  # type: ignore[call-overload]
    stream.measuring = measuring  # type: ignore[assignment]
    stream.stopped, stream.catches_up = bool(stopped), int(catches_up)  # type: ignore[call-overload]
    if not stream.damaged:
        stream.trouble = trouble  # type: ignore[assignment]


class StreamLock:
    """The lock of a stream, for the threads of a process and, with a file, for all processes.

    A thread that holds it can take it again.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._lock = path, threading.RLock()
        self._depth, self._file = 0, -1

    def __enter__(self) -> Self:
        self._lock.acquire()
        try:
            if self._path is not None and not self._depth:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._file, fcntl.LOCK_EX)
            self._depth += 1
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._path is not None and not self._depth:
            os.close(self._file)  # which releases it
        self._lock.release()
