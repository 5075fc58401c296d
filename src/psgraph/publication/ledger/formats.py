"""The format of a ledger's file, and what to do with files of older formats."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

__all__ = ["APPLICATION", "FORMAT", "MIGRATIONS", "OLD_TABLES", "TABLES", "VIEWS", "Change"]

Change = Callable[[sqlite3.Connection], None]

APPLICATION = 0x50534752  # "PSGR"
FORMAT = 2

_SEALS_1 = (
    "CREATE TABLE seals (timestamp INTEGER PRIMARY KEY, time TEXT, spent TEXT NOT NULL, "
    "charges TEXT NOT NULL, seed INTEGER NOT NULL, snapshot BLOB NOT NULL, "
    "roster TEXT NOT NULL, measurement BLOB NOT NULL, state BLOB NOT NULL, "
    "version TEXT NOT NULL, previous BLOB NOT NULL, digest BLOB NOT NULL, "
    "certificate BLOB, certificate_mark BLOB)"
)

TABLES = {
    "facts": "CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "rosters": (
        "CREATE TABLE rosters (digest TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID"
    ),
    "seals": _SEALS_1.replace(
        "previous BLOB NOT NULL, ", "previous BLOB NOT NULL, noise TEXT, times TEXT, "
    ),
    "state": (
        "CREATE TABLE state (only INTEGER PRIMARY KEY CHECK (only = 0), content BLOB NOT NULL)"
    ),
}
"""The tables of a ledger, exactly as SQLite keeps them. See docs/reference/ledger.md."""

OLD_TABLES = {1: TABLES | {"seals": _SEALS_1}}
"""The tables of older formats that can still be read."""


def _add_sampler_and_times(connection: sqlite3.Connection) -> None:
    """Format 1 to 2: which sampler drew the noise, and where the times come from."""
    old = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(seals)"))
    connection.execute("ALTER TABLE seals RENAME TO old")
    connection.execute(TABLES["seals"])
    connection.execute(f"INSERT INTO seals ({old}) SELECT {old} FROM old")
    connection.execute("DROP TABLE old")


MIGRATIONS: dict[int, Change] = {1: _add_sampler_and_times}
"""From a format to the next: what to do to a ledger that is opened for writing."""

VIEWS = {
    1: (
        "CREATE TEMP VIEW seals AS "
        "SELECT *, NULL AS noise, NULL AS times FROM main.seals"  # a temporary view hides a table
    )
}
"""How a ledger of an older format is read without changing it."""
