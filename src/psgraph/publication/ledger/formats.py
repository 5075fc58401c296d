"""The format of a ledger's file. Older formats: `psgraph.publication.legacy`."""

from __future__ import annotations

__all__ = ["APPLICATION", "FORMAT", "TABLES"]

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
