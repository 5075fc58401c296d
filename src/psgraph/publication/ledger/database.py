"""The file of a ledger: one SQLite database with one writer and atomic changes.

The format is here; older formats are in `psgraph.publication.legacy`.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from psgraph._runtime.durable import is_running, make_directory, put_in_place
from psgraph.errors import LedgerBusy, LedgerError, OutputError
from psgraph.publication import legacy

__all__ = ["APPLICATION", "FORMAT", "TABLES", "Database"]

APPLICATION = 0x50534752  # "PSGR"
FORMAT = 2

TABLES = {
    "facts": "CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "rosters": (
        "CREATE TABLE rosters (digest TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID"
    ),
    "seals": (
        "CREATE TABLE seals (timestamp INTEGER PRIMARY KEY, time TEXT, spent TEXT NOT NULL, "
        "charges TEXT NOT NULL, seed INTEGER NOT NULL, snapshot BLOB NOT NULL, "
        "roster TEXT NOT NULL, measurement BLOB NOT NULL, state BLOB NOT NULL, "
        "version TEXT NOT NULL, previous BLOB NOT NULL, noise TEXT, times TEXT, "
        "digest BLOB NOT NULL, certificate BLOB, certificate_mark BLOB)"
    ),
    "state": (
        "CREATE TABLE state (only INTEGER PRIMARY KEY CHECK (only = 0), content BLOB NOT NULL)"
    ),
}
"""The tables of a ledger, exactly as SQLite keeps them. See docs/reference/ledger.md."""


Change = Callable[[sqlite3.Connection], None]

_REASONS = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it can't be written to",
    "SQLITE_NOTADB": "it is not a ledger",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_BUSY": "another program has locked it",
    "SQLITE_CANTOPEN": "it can't be opened",
}


class Database:
    """A ledger's file, opened for reading, or for writing by this process alone.

    Parameters
    ----------
    path
        The file. SQLite's side files and a permanent lock file are beside it.
    fill
        Writes the first rows of a new ledger; None refuses to create one.
    writing
        Whether to lock it for this process. A ledger of an older format is migrated then.
    """

    def __init__(self, path: Path, *, fill: Change | None, writing: bool) -> None:
        self.path = path
        self._lock: int | None = None
        self._connection: sqlite3.Connection | None = None
        if not self._is_there() and fill is None:
            raise LedgerError(f"there is no ledger at {path}")
        try:
            if writing:
                self._take_lock()
                self._clear_away()
                self._refuse_second_name()
                if fill is not None and not self._is_there():
                    self._create(fill)
            self._connection = self._connect(self.path, writing)
            self._open(writing)
        except BaseException:
            self.close()
            raise

    # ---- opening and closing ----

    def _is_there(self) -> bool:
        """Whether the file has content; refuse anything but a file (a pipe would block)."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError):
            raise LedgerError(
                "the path of the ledger can't be used\nCheck it.", code="unusable_path"
            ) from None
        if not stat.S_ISREG(status.st_mode):
            raise LedgerError(f"{self.path} is not a file\nName a file for the ledger.")
        return status.st_size > 0

    def _take_lock(self) -> None:
        """Admit one writer at a time; the system releases the lock when the process ends."""
        try:
            target = self.path.resolve()  # a link to a ledger is locked like the ledger
            make_directory(target.parent, mode=0o700)
            lock = target.with_name(f"{target.name}.lock")
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LedgerBusy(
                f"another process is publishing with {self.path}\n"
                "Wait until it has finished, or stop it. Nothing was measured."
            ) from None
        except OutputError as error:
            raise LedgerError(str(error)) from None
        except OSError as error:
            raise LedgerError(
                f"{self.path} can't be locked: {error.strerror}\n"
                "Choose a directory you may write to."
            ) from None

    def _clear_away(self) -> None:
        """Remove files of processes that died while creating a ledger."""
        own = re.compile(rf"\.{re.escape(self.path.name)}\.(?:(\d+)-\w+\.)?part.*", re.ASCII)
        with suppress(OSError):
            for left in self.path.parent.iterdir():
                match = own.fullmatch(left.name)
                if match is None:
                    continue
                with suppress(OSError):
                    # A second name of the finished ledger goes even if its process id runs again.
                    running = match[1] and is_running(int(match[1]))
                    if not running or left.samefile(self.path):
                        left.unlink()

    def _refuse_second_name(self) -> None:
        """Refuse a hard link: under its other name the same file would have another lock."""
        try:
            links = self.path.stat().st_nlink
        except OSError:
            return  # there is no file yet; any other error shows when it is opened
        if links > 1:
            raise LedgerError(
                f"{self.path} is one of {links} names of the same file (hard links)\n"
                "Two processes could publish with it at the same time. Remove the other names, "
                "or make this one a copy: cp FILE COPY, then mv COPY FILE. Nothing was measured.",
                code="hard_link",
            )

    def _create(self, fill: Change) -> None:
        """Make a new ledger under a name of this process's own, then give it its name.

        Where files can't be locked several processes may be here. With a name that they share,
        one would remove or link what another has open.
        """
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}-{secrets.token_hex(8)}.part")
        try:
            # SQLite gives its side files the mode of the main file.
            os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            self._connection = self._connect(part, writing=True)
            with self.transaction() as connection:
                for statement in TABLES.values():
                    connection.execute(statement)
                fill(connection)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._run("PRAGMA journal_mode = WAL")
            self._connection.close()
            put_in_place(part, self.path, replace=False)
        except FileExistsError:
            pass  # another process was faster
        except OSError as error:
            raise LedgerError(
                f"{self.path} can't be made: {error.strerror}\n"
                "Free some space or choose another directory. Nothing was published."
            ) from None
        finally:
            if self._connection is not None:
                self._connection.close()
            for ending in ("", "-journal", "-wal", "-shm"):
                with suppress(OSError):
                    part.with_name(part.name + ending).unlink(missing_ok=True)

    def _connect(self, path: Path, writing: bool) -> sqlite3.Connection:
        location = f"{path.absolute().as_uri()}?mode={self._mode(writing)}"
        with self._typed_errors():
            connection = sqlite3.connect(
                location,
                uri=True,
                isolation_level=None,
                timeout=5,
                check_same_thread=False,  # the publisher's lock lets one thread in at a time
            )
            connection.execute("PRAGMA synchronous = FULL")
            return connection

    def _mode(self, writing: bool) -> str:
        """The mode SQLite opens the file in.

        It makes side files even for reading, and removes them only if it can write. Where it
        can't make them, as on a mounted backup, it must be told that the file is immutable.
        """
        here = os.access(self.path.parent, os.W_OK)
        if writing or (here and os.access(self.path, os.W_OK)):
            return "rw"
        journal = self.path.with_name(f"{self.path.name}-wal")
        return "ro" if here or journal.exists() else "ro&immutable=1"

    def _open(self, writing: bool) -> None:
        if not writing:
            self._run("BEGIN")  # one consistent snapshot, even while another process writes
        if self._pragma("application_id") != APPLICATION:
            empty = not self._run("SELECT name FROM sqlite_master")
            what = "empty and not a ledger" if empty else "a database of another program"
            raise LedgerError(
                f"{self.path} is {what}\nName another file for the ledger.", code="foreign_file"
            )
        found = self._pragma("user_version")
        self._refuse_unknown(found)
        if writing:
            self._migrate(found)
            found = FORMAT
        tables = TABLES | legacy.OLD_TABLES.get(found, {})
        if dict(self._run("SELECT name, sql FROM sqlite_master")) != tables:
            raise LedgerError(
                f"the tables of {self.path} are not those of a ledger", code="other_tables"
            )
        if writing:
            with suppress(PermissionError):  # it may belong to another user of the group
                self.path.chmod(0o600)
            self._run("PRAGMA journal_mode = WAL")
        else:
            if found in legacy.VIEWS:
                self._run(legacy.VIEWS[found])
            self._run("PRAGMA query_only = ON")

    def _refuse_unknown(self, found: int) -> None:
        if found > FORMAT:
            raise LedgerError(
                f"{self.path} has format {found}; this version of psgraph reads formats up to "
                f"{FORMAT}\nUse the version of psgraph that wrote it, or a newer one.",
                code="newer_format",
            )
        if found != FORMAT and found not in legacy.MIGRATIONS:
            raise LedgerError(
                f"{self.path} has format {found}, which can't be read any more", code="older_format"
            )

    def _migrate(self, found: int) -> None:
        """Bring an older ledger up to date, one transaction for each format."""
        for older in range(found, FORMAT):
            with self.transaction() as connection:
                legacy.MIGRATIONS[older](connection, TABLES)
                connection.execute(f"PRAGMA user_version = {older + 1}")

    def close(self) -> None:
        """Close the file and release the lock."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # ---- reading and writing ----

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a result, one at a time."""
        with self._typed_errors():
            for row in self._open_connection.execute(query, values):  # noqa: UP028
                yield row  # not `yield from`, which closes the cursor after its database

    def row(self, query: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The only row of a result, or None."""
        return next(iter(self._run(query, values)), None)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block in one transaction, durable when the block is left."""
        with self._typed_errors():
            connection = self._open_connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                self._commit()
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _commit(self) -> None:
        self._open_connection.execute("COMMIT")

    def _run(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._typed_errors():
            return self._open_connection.execute(query, values).fetchall()

    def _pragma(self, name: str) -> int:
        return int(self._run(f"PRAGMA {name}")[0][0])

    @property
    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise LedgerError(f"{self.path} is closed\nOpen it again.", code="closed")
        return self._connection

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", None) or ""
            family = "_".join(code.split("_")[:2])
            reason = _REASONS.get(family, "it can't be read or written")
            raise LedgerError(
                f"the ledger {self.path} can't be used: {reason}",
                code=family.lower(),
            ) from None
        except (OverflowError, UnicodeDecodeError):  # values that no ledger holds
            raise LedgerError(f"the ledger {self.path} can't be used: it is damaged") from None
