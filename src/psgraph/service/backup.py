"""A backup of a running service: a copy from which it can continue, though it was writing.

What is copied later may be newer, never older, than what refers to it: first the database, then the
private files of each stream, then its releases, and its ledger last. So every release in the copy
is sealed in the ledger beside it, and what the copied queue still holds is found to be sealed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from psgraph._runtime.durable import make_directory
from psgraph.errors import InvalidArgument, LedgerError, OutputError, PsgraphError
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_at
from psgraph.service.database import Database, SqliteDatabase
from psgraph.service.streams import RELEASES

__all__ = ["Backup", "back_up"]

_TABLES = {
    "tokens": "id, hash, role, label, streams, created, expires, revoked, used",
    "streams": "name, terms, out, created, adopted, title, activity",
    "queue": "stream, timestamp, time, state, mark, file, reason",
    "audit": "log, number, content, digest",
    "key_check": "value",
    "contents": "mark, stream",
}


@dataclass
class Backup:
    """What was copied.

    Attributes
    ----------
    sealed
        How many timestamps are sealed in the copied ledger of each stream.
    elsewhere
        Streams whose releases and ledger are outside the directory, by name: not copied.
    """

    sealed: dict[str, int] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)


def back_up(directory: Path, to: Path, database: Database | None = None) -> Backup:
    """Copy the directory of a service while it runs.

    Parameters
    ----------
    to
        A new directory. It gets its name when it is complete.
    database
        A PostgreSQL database; it is copied into the file that a service without one has. By
        default that file is copied.

    Raises
    ------
    InvalidArgument
        There is no service, or `to` exists or is inside its directory.
    OutputError
        The copy can't be written.
    """
    source = directory / "service.sqlite"
    if not (directory / "key").exists() or (database is None and not source.exists()):
        raise InvalidArgument(f"{directory} is not the directory of a service\nCheck its name.")
    if to.exists() or to.absolute().is_relative_to(directory.absolute()):
        raise InvalidArgument(f"{to} exists, or is part of the service\nName a new directory.")
    part = to.with_name(f".{to.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        make_directory(part, mode=0o700)
        if database is None:
            _copy_sqlite(source, part / "service.sqlite")
        else:
            _copy_tables(database, part / "service.sqlite")
        _copy_file(directory / "key", part / "key")
        with closing(sqlite3.connect(part / "service.sqlite")) as copied:
            streams = copied.execute("SELECT name, out, adopted FROM streams ORDER BY name")
            found = streams.fetchall()
        backup = Backup()
        for name, out, adopted in found:
            _copy_stream(directory, part, name, out if adopted else None, backup)
        for path in (part, *(each for each in part.rglob("*"))):
            _flush(path)
        part.rename(to)
        _flush(to.absolute().parent)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise OutputError(
            f"the backup could not be written: {reason}\n"
            "Free some space or choose another place, and start again. The service is unharmed."
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return backup


def _copy_stream(
    directory: Path, part: Path, name: str, elsewhere: str | None, backup: Backup
) -> None:
    home, target = directory / "streams" / name, part / "streams" / name
    make_directory(target, mode=0o700)
    out, later = home / RELEASES, set()
    if elsewhere is None:
        ledger = ledger_at(out)
        later = {out.name, ledger.name if ledger.parent == home else ledger.parent.name}
    for path in sorted(home.iterdir()):
        if path.name not in later and path.name != "lock" and not _beside_sqlite(path):
            _copy(path, target / path.name)
    if elsewhere is not None:
        backup.elsewhere[name] = elsewhere
        return
    _copy(out, target / out.name)
    copied = target / ledger.relative_to(home)
    make_directory(copied.parent, mode=0o700)
    for path in ledger.parent.iterdir() if ledger.parent != home else ():
        if path.name != ledger.name and path.suffix != ".lock" and not _beside_sqlite(path):
            _copy(path, copied.parent / path.name)
    _copy_sqlite(ledger, copied)
    try:
        with Ledger(copied, writing=False) as opened:
            backup.sealed[name] = opened.sealed
    except PsgraphError:
        raise LedgerError(
            f"the ledger of {name} can't be read, so there is nothing to back up\n"
            "psgraph verify says what is wrong with it."
        ) from None


def _beside_sqlite(path: Path) -> bool:
    return path.name.endswith((".sqlite-wal", ".sqlite-shm", ".sqlite-journal"))


def _copy(source: Path, target: Path) -> None:
    """Copy a file or a directory; what vanishes meanwhile was published, or was not finished."""
    if source.name.startswith("."):
        return
    if source.is_dir():
        make_directory(target, mode=0o700)
        for path in sorted(source.iterdir()):
            _copy(path, target / path.name)
        return
    copy: Callable[[Path, Path], None] = _copy_sqlite if source.suffix == ".sqlite" else _copy_file
    try:
        copy(source, target)
    except FileNotFoundError:
        target.unlink(missing_ok=True)


def _copy_file(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    shutil.copystat(source, target)


def _copy_sqlite(source: Path, target: Path) -> None:
    """Copy a SQLite database at one moment, while others write to it."""
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    address = f"{source.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=30)) as opened,
        closing(sqlite3.connect(target)) as copy,
    ):
        opened.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


def _copy_tables(database: Database, target: Path) -> None:
    """Copy a database into a SQLite file, at one moment."""
    copy = SqliteDatabase(target)
    try:
        with database.transaction() as source, copy.transaction() as connection:
            for table, columns in _TABLES.items():
                places = ", ".join("?" * len(columns.split(", ")))
                for row in source.execute(f"SELECT {columns} FROM {table}").fetchall():
                    statement = f"INSERT INTO {table} ({columns}) VALUES ({places})"
                    connection.execute(statement, row)
    finally:
        copy.close()


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
