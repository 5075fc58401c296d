"""The database of the service: tokens, streams, the queue and the audit log; no private edges.

A SQLite file in the directory of the service, or PostgreSQL (`psgraph.service.postgres`). Both take
the same statements, have one writer at a time, and a change is durable when its transaction ends.
Private uploads and events are in the directories of their streams.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from psgraph.errors import LedgerError

__all__ = ["APPLICATION", "MIGRATIONS", "Database", "OpenDatabases", "SqliteDatabase"]

APPLICATION = 0x70736773  # "psgs"

_VERSION_1 = """
CREATE TABLE tokens (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL, role TEXT NOT NULL, label TEXT NOT NULL,
    streams TEXT, created TEXT NOT NULL, expires TEXT, revoked TEXT
) STRICT;
CREATE TABLE streams (
    name TEXT PRIMARY KEY, terms TEXT NOT NULL, out TEXT NOT NULL, created TEXT NOT NULL,
    adopted INTEGER NOT NULL
) STRICT;
CREATE TABLE queue (
    stream TEXT NOT NULL, timestamp INTEGER NOT NULL, time TEXT, state TEXT NOT NULL,
    mark BLOB, file TEXT, reason TEXT, PRIMARY KEY (stream, timestamp)
) STRICT;
CREATE TABLE audit (
    log TEXT NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (log, number)
) STRICT;
CREATE TRIGGER audit_keeps BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
"""

_VERSION_2 = """
DROP TRIGGER audit_stays;
UPDATE audit SET log = 'curators' WHERE log = 'events';
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TABLE key_check (value BLOB NOT NULL) STRICT;
CREATE TABLE contents (
    mark BLOB NOT NULL, stream TEXT NOT NULL, PRIMARY KEY (mark, stream)
) STRICT;
"""

_VERSION_3 = """
CREATE INDEX queue_waiting ON queue (stream, timestamp) WHERE state = 'queued';
"""

_VERSION_4 = """
CREATE INDEX audit_streams ON audit (log, json_extract(content, '$.stream'), number);
"""

# What lists of entries select by, as columns; sessions; who publishes which stream, and how far it
# is, for several processes; what curators change after a stream is created.
_VERSION_5 = """
DROP INDEX audit_streams;
ALTER TABLE audit ADD COLUMN stream TEXT AS (json_extract(content, '$.stream')) VIRTUAL;
ALTER TABLE audit ADD COLUMN action TEXT AS (json_extract(content, '$.action')) VIRTUAL;
ALTER TABLE audit ADD COLUMN token TEXT AS (json_extract(content, '$.token')) VIRTUAL;
ALTER TABLE audit ADD COLUMN at TEXT AS (json_extract(content, '$.at')) VIRTUAL;
CREATE INDEX audit_streams ON audit (log, stream, number);
ALTER TABLE streams ADD COLUMN title TEXT;
ALTER TABLE streams ADD COLUMN activity TEXT NOT NULL DEFAULT 'active';
ALTER TABLE tokens ADD COLUMN used TEXT;
CREATE TABLE sessions (name TEXT PRIMARY KEY, token TEXT NOT NULL, ends REAL NOT NULL) STRICT;
CREATE TABLE workers (worker TEXT PRIMARY KEY, seen REAL NOT NULL, since REAL NOT NULL) STRICT;
CREATE TABLE work (
    stream TEXT PRIMARY KEY, worker TEXT, until REAL NOT NULL, sealed INTEGER NOT NULL,
    taken INTEGER NOT NULL, measuring INTEGER, trouble TEXT, stopped INTEGER NOT NULL,
    catches_up INTEGER NOT NULL
) STRICT;
CREATE INDEX queue_open ON queue (stream, state) WHERE state != 'released';
"""

# How many releases of each stream are at the address that they are copied to.
_VERSION_6 = """
CREATE TABLE copies (stream TEXT PRIMARY KEY, released INTEGER NOT NULL) STRICT;
"""

MIGRATIONS: tuple[str, ...] = (
    *(_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5),
    _VERSION_6,
)
"""The scripts that bring a SQLite database from version i to version i + 1."""


class Statements(Protocol):
    """What a transaction offers: statements with ``?`` for values, in both databases."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Any:
        """Run a statement; return a cursor."""


class Database(Protocol):
    """A database of a service, shared by threads: one writes at a time, while one reads."""

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a result. Reading does not wait for a writer."""

    def row(self, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a result, or None."""

    def transaction(self) -> AbstractContextManager[Statements]:
        """Run a block in one transaction, durable at the end of the block; may be nested.

        No other transaction, of any process, runs meanwhile.
        """

    def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run one statement in its own transaction; return how many rows it changed."""

    def now(self) -> float:
        """Return the seconds since 1970 by a clock that all processes with this database share."""

    def close(self) -> None:
        """Close all connections."""


class SqliteDatabase:
    """A SQLite file shared by threads: one writes at a time, while one reads.

    Parameters
    ----------
    path
        Created if it does not exist; only its owner can read it.
    migrations
        Scripts that bring the file up to date, one for each version.
    """

    def __init__(self, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
        self.path = path
        self._lock, self._reading = threading.RLock(), threading.Lock()
        self._writer: int | None = None  # the thread in a transaction
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection, self._reader = _connected(path), _connected(path)
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
                self._connection.execute(f"PRAGMA {pragma}")
            self._migrate(migrations)
            self._reader.execute("PRAGMA query_only = ON")
        except (OSError, sqlite3.Error):
            raise LedgerError(
                f"{path} can't be opened as the database of a service\n"
                "Check the directory and its permissions, or restore a backup."
            ) from None

    def _migrate(self, migrations: Sequence[str]) -> None:
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if application not in (0, APPLICATION) or (application == 0 and version):
            raise LedgerError(
                f"{self.path} is a database of another program\nMove it to another directory."
            )
        if version > len(migrations):
            raise LedgerError(
                f"{self.path} was written by a newer version of psgraph\nInstall that version."
            )
        for number, script in enumerate(migrations[version:], start=version + 1):
            self._connection.executescript(
                f"BEGIN;{script};PRAGMA application_id = {APPLICATION};"
                f"PRAGMA user_version = {number};COMMIT;"
            )

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a result. Reading does not wait for a writer."""
        if self._writer == threading.get_ident():
            return self._connection.execute(query, values).fetchall()
        with self._reading:
            return self._reader.execute(query, values).fetchall()

    def row(self, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a result, or None."""
        return next(iter(self.rows(query, values)), None)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block in one transaction, durable at the end of the block; may be nested."""
        with self._lock:
            if self._writer is not None:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            self._writer = threading.get_ident()
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.OperationalError):  # SQLite may have rolled back already
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._writer = None

    def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run one statement in its own transaction; return how many rows it changed."""
        with self.transaction() as connection:
            return connection.execute(statement, values).rowcount

    def now(self) -> float:
        """Return the seconds since 1970: all processes are on one machine."""
        return time.time()

    def close(self) -> None:
        """Close the file."""
        with self._lock, self._reading:
            self._reader.close()
            self._connection.close()


class OpenDatabases:
    """Databases that are opened on demand; beyond a number, the least recently used are closed.

    Parameters
    ----------
    most
        How many stay open while no one uses them.
    """

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._open: OrderedDict[Path, SqliteDatabase] = OrderedDict()
        self._users: Counter[Path] = Counter()

    @contextmanager
    def use(self, path: Path, migrations: Sequence[str]) -> Iterator[SqliteDatabase]:
        """Use a database, which stays open meanwhile."""
        with self._lock:
            database = self._open.pop(path, None) or SqliteDatabase(path, migrations)
            self._open[path] = database
            self._users[path] += 1
        try:
            yield database
        finally:
            with self._lock:
                self._users[path] -= 1
                idle = [each for each in self._open if not self._users[each]]
                for each in idle[: max(len(self._open) - self._most, 0)]:
                    self._close(each)

    def close(self, path: Path) -> None:
        """Close a database if it is open."""
        with self._lock:
            self._close(path)

    def _close(self, path: Path) -> None:
        database = self._open.pop(path, None)
        del self._users[path]
        if database is not None:
            database.close()


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
