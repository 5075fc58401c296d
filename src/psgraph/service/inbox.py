"""The private data of a stream between acceptance and release: snapshots, events, originals.

Everything is in a directory that only its owner can open, and on the disk before a post is
answered. A snapshot is deleted once it is sealed and released, unless the terms keep originals for
comparisons. Files hold ids in canonical order, so equal data give equal bytes.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from psgraph._runtime.durable import make_directory, write_whole
from psgraph.graph import Roster, Snapshot
from psgraph.graph.formats.tables import from_columns
from psgraph.service.database import Database

__all__ = ["Inbox"]

_EVENTS = (
    """
    CREATE TABLE posts (key TEXT PRIMARY KEY, mark BLOB NOT NULL, at REAL NOT NULL) STRICT;
    CREATE TABLE events (timestamp INTEGER NOT NULL, content BLOB NOT NULL) STRICT;
    CREATE INDEX events_by_timestamp ON events (timestamp);
    """,
)
_KEYS_KEPT = 30 * 86_400.0  # seconds


class Inbox:
    """The private data of one stream.

    Parameters
    ----------
    home
        The private directory of the stream.
    """

    def __init__(self, home: Path) -> None:
        self._uploads, self._originals = home / "uploads", home / "originals"
        for directory in (self._uploads, self._originals):
            make_directory(directory, mode=0o700)
        self._events = Database(home / "events.sqlite", _EVENTS)

    def close(self) -> None:
        """Close its database."""
        self._events.close()

    # ---- snapshots ----

    def store(self, snapshot: Snapshot) -> str:
        """Write a snapshot durably; return the name of its file."""
        name = f"{secrets.token_hex(8)}.parquet"
        sink = pa.BufferOutputStream()
        pq.write_table(snapshot.to_arrow(), sink, compression="zstd")
        write_whole(self._uploads / name, memoryview(sink.getvalue()), owner_only=True)
        return name

    def load(self, name: str, roster: Roster | None, *, time: str) -> Snapshot:
        """Read a stored snapshot over the roster of now; without one, over its own nodes."""
        return _snapshot([pq.read_table(self._uploads / name)], roster, time)

    def remove(self, name: str) -> None:
        """Delete a stored snapshot."""
        (self._uploads / name).unlink(missing_ok=True)

    def clear_except(self, names: set[str]) -> None:
        """Delete files that no accepted post refers to: their post was interrupted."""
        for file in self._uploads.iterdir():
            if file.name not in names:
                file.unlink(missing_ok=True)

    # ---- events ----

    def add_events(self, key: str, mark: bytes, pieces: Sequence[tuple[int, Snapshot]]) -> None:
        """Store the events of one post durably, all or none, by timestamp."""
        with self._events.transaction() as connection:
            connection.execute("INSERT INTO posts VALUES (?, ?, ?)", (key, mark, time.time()))
            for timestamp, snapshot in pieces:
                content = _packed(snapshot.to_arrow())
                connection.execute("INSERT INTO events VALUES (?, ?)", (timestamp, content))

    def mark_of(self, key: str) -> bytes | None:
        """Return the keyed digest of an earlier post with this idempotency key."""
        row = self._events.row("SELECT mark FROM posts WHERE key = ?", (key,))
        return None if row is None else bytes(row[0])

    def events_at(self, timestamp: int, roster: Roster | None, *, time: str) -> Snapshot:
        """Return the snapshot of all events of a timestamp; it may be empty."""
        rows = self._events.rows("SELECT content FROM events WHERE timestamp = ?", (timestamp,))
        tables = [pa.ipc.open_stream(content).read_all() for (content,) in rows]
        return _snapshot(tables, roster, time)

    def forget_events(self, before: int) -> None:
        """Delete the events of all timestamps before one, and old idempotency keys."""
        with self._events.transaction() as connection:
            connection.execute("DELETE FROM events WHERE timestamp < ?", (before,))
            connection.execute("DELETE FROM posts WHERE at < ?", (time.time() - _KEYS_KEPT,))

    # ---- originals, for comparisons ----

    def keep(self, timestamp: int, snapshot: Snapshot) -> None:
        """Keep the original of a released timestamp."""
        sink = pa.BufferOutputStream()
        pq.write_table(snapshot.to_arrow(), sink, compression="zstd")
        path = self._originals / f"{timestamp:06d}.parquet"
        write_whole(path, memoryview(sink.getvalue()), owner_only=True)

    def originals(self) -> list[int]:
        """Return the timestamps whose originals are kept, in order."""
        return sorted(int(file.stem) for file in self._originals.glob("[0-9]*.parquet"))

    def original(self, timestamp: int, roster: Roster, *, time: str | None) -> Snapshot:
        """Read a kept original over the roster it was published with."""
        table = pq.read_table(self._originals / f"{timestamp:06d}.parquet")
        return _snapshot([table], roster, time)

    def purge(self, days: float) -> Iterator[int]:
        """Delete originals older than some days; yield their timestamps."""
        limit = time.time() - days * 86_400
        for timestamp in self.originals():
            file = self._originals / f"{timestamp:06d}.parquet"
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < limit:
                    file.unlink()
                    yield timestamp


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _snapshot(tables: Sequence[pa.Table], roster: Roster | None, time: str | None) -> Snapshot:
    filled = [table for table in tables if table.num_rows]
    nothing = pa.table({"u": pa.array([], pa.int64()), "v": pa.array([], pa.int64())})
    edges = pa.concat_tables(filled) if filled else nothing
    return from_columns(
        edges.column("u"),
        edges.column("v"),
        graph_type=Snapshot,
        roster=roster,
        roster_from_edges=roster is None,
        time=time,
    )
