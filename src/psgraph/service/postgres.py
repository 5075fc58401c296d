"""PostgreSQL as the database of a service, so that web and worker processes can share it.

It takes the statements of the SQLite database, and behaves like it: transactions run one after the
other, under one lock. A connection that is lost is opened again by the next call. Needs the extra
``postgres``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from psgraph._runtime.extras import require_postgres
from psgraph.errors import InvalidArgument, LedgerError
from psgraph.service.database import APPLICATION, MIGRATIONS

__all__ = ["DatabaseLost", "PostgresDatabase"]

_FIRST_VERSION = 5
"""The first version of the tables that PostgreSQL can hold; later scripts are shared."""

# What `_VERSION_1` to `_VERSION_5` leave in a SQLite database.
_TABLES = """
CREATE TABLE tokens (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL, role TEXT NOT NULL, label TEXT NOT NULL,
    streams TEXT, created TEXT NOT NULL, expires TEXT, revoked TEXT, used TEXT
);
CREATE TABLE streams (
    name TEXT PRIMARY KEY, terms TEXT NOT NULL, out TEXT NOT NULL, created TEXT NOT NULL,
    adopted INTEGER NOT NULL, title TEXT, activity TEXT NOT NULL DEFAULT 'active'
);
CREATE TABLE queue (
    stream TEXT NOT NULL, timestamp INTEGER NOT NULL, time TEXT, state TEXT NOT NULL,
    mark BLOB, file TEXT, reason TEXT, PRIMARY KEY (stream, timestamp)
);
CREATE INDEX queue_waiting ON queue (stream, timestamp) WHERE state = 'queued';
CREATE TABLE audit (
    log TEXT NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL, digest TEXT NOT NULL,
    stream TEXT GENERATED ALWAYS AS (content::jsonb ->> 'stream') STORED,
    action TEXT GENERATED ALWAYS AS (content::jsonb ->> 'action') STORED,
    token TEXT GENERATED ALWAYS AS (content::jsonb ->> 'token') STORED,
    at TEXT GENERATED ALWAYS AS (content::jsonb ->> 'at') STORED,
    PRIMARY KEY (log, number)
);
CREATE INDEX audit_streams ON audit (log, stream, number);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$;
CREATE TRIGGER audit_keeps BEFORE DELETE OR UPDATE OR TRUNCATE ON audit
EXECUTE FUNCTION refuse_change();
CREATE TABLE key_check (value BLOB NOT NULL);
CREATE TABLE contents (mark BLOB NOT NULL, stream TEXT NOT NULL, PRIMARY KEY (mark, stream));
CREATE TABLE sessions (name TEXT PRIMARY KEY, token TEXT NOT NULL, ends REAL NOT NULL);
CREATE TABLE workers (worker TEXT PRIMARY KEY, seen REAL NOT NULL, since REAL NOT NULL);
CREATE TABLE work (
    stream TEXT PRIMARY KEY, worker TEXT, until REAL NOT NULL, sealed INTEGER NOT NULL,
    taken INTEGER NOT NULL, measuring INTEGER, trouble TEXT, stopped INTEGER NOT NULL,
    catches_up INTEGER NOT NULL
);
CREATE INDEX queue_open ON queue (stream, state) WHERE state != 'released';
"""

_TYPES = {"INTEGER": "BIGINT", "BLOB": "BYTEA", "REAL": "DOUBLE PRECISION", ") STRICT": ")"}

_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "connect_timeout": 5,
    "application_name": "psgraph",
    # A process that hangs in a transaction must not keep the others waiting for ever.
    "options": "-c idle_in_transaction_session_timeout=30s -c lock_timeout=20s",
    "keepalives_idle": 10,
    "tcp_user_timeout": 15_000,
}


_PAUSE = 0.5
"""Seconds after a failed connection in which requests fail at once: none waits for another's."""


class DatabaseLost(OSError):
    """The database can't be reached, or ended the connection. Nothing is said about statements."""


class PostgresDatabase:
    """A PostgreSQL database shared by threads and processes.

    Parameters
    ----------
    address
        ``postgresql://user@host/name``. It is never shown, since it may contain a password.

    Raises
    ------
    InvalidArgument
        It can't be reached.
    LedgerError
        It has tables of another program or of a newer version.
    """

    def __init__(self, address: str) -> None:
        require_postgres()
        self._address = address
        self._lock, self._reading = threading.RLock(), threading.Lock()
        self._writer: int | None = None  # the thread in a transaction
        self._open: dict[str, Any] = {}
        self._retry_at = 0.0
        try:
            self._migrate()
        except DatabaseLost:
            raise InvalidArgument(
                "the database can't be reached\n"
                "Check --database (or PSGRAPH_DATABASE) and that PostgreSQL is running."
            ) from None

    def _migrate(self) -> None:
        with self.transaction() as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS psgraph (application BIGINT, version BIGINT)"
            )
            row = connection.execute("SELECT application, version FROM psgraph").fetchone()
            found, version = (APPLICATION, 0) if row is None else row
            there = connection.execute("SELECT to_regclass('audit')").fetchone()[0] is not None
            if found != APPLICATION or (there and not version):
                raise LedgerError(
                    "the database has tables of another program\nUse an empty database."
                )
            if version > len(MIGRATIONS):
                raise LedgerError(
                    "the database was written by a newer version of psgraph\nInstall that version."
                )
            scripts = [] if version else [_TABLES]
            scripts += MIGRATIONS[max(version, _FIRST_VERSION) :]
            for script in scripts:
                connection.execute(_in_postgres(script))
            connection.execute("DELETE FROM psgraph")
            connection.execute("INSERT INTO psgraph VALUES (?, ?)", (APPLICATION, len(MIGRATIONS)))

    # ---- the interface of a database ----

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a result; read again once if the connection was lost."""
        if self._writer == threading.get_ident():
            return self._run("writer", query, values).fetchall()
        with self._reading:
            try:
                return self._run("reader", query, values).fetchall()
            except DatabaseLost:
                return self._run("reader", query, values).fetchall()

    def row(self, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a result, or None."""
        return next(iter(self.rows(query, values)), None)

    @contextmanager
    def transaction(self) -> Iterator[PostgresDatabase]:
        """Run a block in one transaction, durable at the end of the block; may be nested."""
        with self._lock:
            if self._writer is not None:
                yield self
                return
            self._begin()
            self._writer = threading.get_ident()
            try:
                yield self
                self.execute("COMMIT")
            except BaseException:
                with suppress(DatabaseLost):
                    self._run("writer", "ROLLBACK", ()) if "writer" in self._open else None
                raise
            finally:
                self._writer = None

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement of the transaction of this thread."""
        assert self._writer == threading.get_ident()
        return self._run("writer", statement, values)

    def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run one statement in its own transaction; return how many rows it changed."""
        with self.transaction() as connection:
            return int(connection.execute(statement, values).rowcount)

    def now(self) -> float:
        """Return the seconds since 1970 by the clock of the database."""
        row = self.row("SELECT extract(epoch FROM clock_timestamp())::double precision")
        assert row is not None
        return float(row[0])

    def close(self) -> None:
        """Close all connections."""
        with self._lock, self._reading:
            for name in tuple(self._open):
                self._drop(name)

    # ---- connections ----

    def _begin(self) -> None:
        """Start a transaction under the lock of all writers; connect again if that was lost."""
        lock = "SELECT pg_advisory_xact_lock(?, hashtext(current_schema()))"
        for attempt in range(2):
            try:
                self._run("writer", "BEGIN", ())
                self._run("writer", lock, (APPLICATION,))
                return
            except DatabaseLost:
                if attempt:
                    raise

    def _run(self, name: str, statement: str, values: Sequence[Any]) -> Any:
        import psycopg

        try:
            if name not in self._open:
                if time.monotonic() < self._retry_at:
                    raise DatabaseLost("the database can't be reached")
                self._open[name] = self._connect()
            # A script of several statements has no values.
            return self._open[name].execute(_with_placeholders(statement), values or None)
        except (psycopg.OperationalError, psycopg.InterfaceError):
            self._drop(name)
            raise DatabaseLost("the database can't be reached") from None

    def _connect(self) -> Any:
        import psycopg

        try:
            return psycopg.connect(self._address, **_OPTIONS)
        except psycopg.OperationalError:
            self._retry_at = time.monotonic() + _PAUSE
            raise

    def _drop(self, name: str) -> None:
        connection = self._open.pop(name, None)
        if connection is not None:
            with suppress(Exception):
                connection.close()


@cache
def _with_placeholders(statement: str) -> str:
    """Write a statement of SQLite for psycopg.

    >>> _with_placeholders("SELECT a FROM b WHERE c = ?")
    'SELECT a FROM b WHERE c = %s'
    """
    return statement.replace("?", "%s")


def _in_postgres(script: str) -> str:
    """Write the definition of a table with the types of PostgreSQL.

    >>> _in_postgres("CREATE TABLE t (a INTEGER, b BLOB) STRICT;")
    'CREATE TABLE t (a BIGINT, b BYTEA);'
    """
    for sqlite, postgres in _TYPES.items():
        script = script.replace(sqlite, postgres)
    return script
