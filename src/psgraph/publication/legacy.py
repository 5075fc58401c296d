"""What version 0.1.0 left behind: ledgers of format 1, its terms, and releases without node lists.

Version 0.2.0 writes the same files as this one. A directory with its ledger inside, as version
0.1.0 made them, is found by `psgraph.publication.locations`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from psgraph.errors import DataError
from psgraph.graph import Roster, Snapshot

__all__ = [
    "MIGRATIONS",
    "OLD_TABLES",
    "VIEWS",
    "Migration",
    "RosterSource",
    "covered_columns",
    "given_rosters",
    "next_roster",
    "roster_statement",
    "terms_as_written_now",
]

# ---- ledgers ----

Migration = Callable[[sqlite3.Connection, Mapping[str, str]], None]

OLD_TABLES = {
    1: {
        "seals": (
            "CREATE TABLE seals (timestamp INTEGER PRIMARY KEY, time TEXT, spent TEXT NOT NULL, "
            "charges TEXT NOT NULL, seed INTEGER NOT NULL, snapshot BLOB NOT NULL, "
            "roster TEXT NOT NULL, measurement BLOB NOT NULL, state BLOB NOT NULL, "
            "version TEXT NOT NULL, previous BLOB NOT NULL, digest BLOB NOT NULL, "
            "certificate BLOB, certificate_mark BLOB)"
        )
    }
}
"""Formats that can still be read: those of their tables that differ from today's."""


def _add_sampler_and_times(connection: sqlite3.Connection, tables: Mapping[str, str]) -> None:
    """Format 1 to 2: which sampler drew the noise, and where the times come from."""
    old = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(seals)"))
    connection.execute("ALTER TABLE seals RENAME TO old")
    connection.execute(tables["seals"])
    connection.execute(f"INSERT INTO seals ({old}) SELECT {old} FROM old")
    connection.execute("DROP TABLE old")


MIGRATIONS: dict[int, Migration] = {1: _add_sampler_and_times}
"""From a format to the next: what to do to a ledger that is opened for writing."""

VIEWS = {
    1: (
        "CREATE TEMP VIEW seals AS "
        "SELECT *, NULL AS noise, NULL AS times FROM main.seals"  # a temporary view hides a table
    )
}
"""How a ledger of an older format is read without changing it."""


def covered_columns(columns: Sequence[Any], noise: int) -> Sequence[Any]:
    """The columns that a row's digest covers; `noise` is the index of the sampler.

    A row sealed by version 0.1.0 has no sampler, and its digest covers none of the columns from
    there on.
    """
    return columns if columns[noise] is not None else columns[:noise]


def terms_as_written_now(stored: dict[str, Any]) -> dict[str, Any]:
    """Stored terms by the names they have today. Version 0.1.0 did not record the sampler."""
    if "law" not in stored:
        return stored
    renamed = {**stored, "distribution_version": stored["law"], "noise": None}
    del renamed["law"]
    return renamed


_STATEMENTS_0_1 = {
    False: "The roster was given from outside and does not depend on the edges.",
    True: (
        "The roster was read off the edges: which nodes have an edge at each timestamp is public "
        "and not protected."
    ),
}
"""By whether the roster came from edges. Certificates of 0.1.0 are recomputed byte by byte."""


def roster_statement(roster: Roster, noise: str | None) -> str:
    """What a certificate says about the roster, in the words of the version that sealed it."""
    return roster.statement if noise else _STATEMENTS_0_1[roster.from_edges]


# ---- releases without node lists ----

RosterSource = Roster | Iterable[Roster | Snapshot]


def given_rosters(source: RosterSource | None, first: int) -> Iterator[Roster]:
    """Yield rosters given for releases without node lists, from timestamp `first` on."""
    if isinstance(source, Roster):
        while True:
            yield source
    for item in islice(source or (), first, None):
        yield item if isinstance(item, Roster) else item.roster


def next_roster(
    source: RosterSource | None, rosters: Iterator[Roster], *, timestamp: int, releases: int
) -> Roster:
    """Return the roster of a release without a node list; refuse if none was given."""
    if source is None:
        raise DataError(
            "these releases have no node lists: psgraph 0.1.0 wrote them\n"
            "Give the public roster, or the stream, as roster=….",
            code="roster_needed",
        )
    roster = next(rosters, None)
    if roster is None:
        raise DataError(
            f"there are {releases} releases but only {timestamp} snapshots\n"
            "Read the releases with the stream they were made from.",
            code="too_few_snapshots",
        )
    return roster
