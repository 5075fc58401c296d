"""What a stream has accepted and not yet released: the queue, snapshots, events, originals.

The queue holds public facts and keyed digests, in the database of the service. The private data of
a stream are in a directory that only its owner can open, and on disk before a post is answered. A
snapshot is deleted once it is sealed and released, unless the terms keep originals for comparisons.
Files hold ids in canonical order, so equal data give equal bytes.
"""

from __future__ import annotations

import hmac
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from psgraph._runtime.durable import make_directory, write_whole
from psgraph.errors import LedgerError
from psgraph.graph import UNDIRECTED, Kind, Roster, Snapshot
from psgraph.service.database import Database, OpenDatabases, SqliteDatabase
from psgraph.streams.nodes import build_snapshot
from psgraph.streams.overflow import Rows

__all__ = ["Entry", "Inbox", "Marks", "Queue", "QueueState"]

QueueState = Literal["queued", "released", "refused"]


@dataclass(frozen=True)
class Entry:
    """A timestamp that was posted.

    Attributes
    ----------
    mark
        A keyed digest that recognises its data; None if there were none.
    file
        The stored snapshot, until it is released.
    reason
        Why it was refused.
    """

    timestamp: int
    time: str | None
    state: QueueState
    mark: bytes | None = None
    file: str | None = None
    reason: str | None = None


_COLUMNS = "timestamp, time, state, mark, file, reason"


class Queue:
    """Which timestamps of all streams are accepted, released or refused."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, stream: str, timestamp: int) -> Entry | None:
        """Return the entry of a timestamp."""
        row = self._database.row(
            f"SELECT {_COLUMNS} FROM queue WHERE stream = ? AND timestamp = ?", (stream, timestamp)
        )
        return None if row is None else Entry(*row)

    def waiting(self) -> dict[tuple[str, int], Entry]:
        """Return the entries that are not released, by stream and timestamp."""
        rows = self._database.rows(
            f"SELECT stream, {_COLUMNS} FROM queue WHERE state != 'released'"
        )
        return {(stream, row[0]): Entry(*row) for stream, *row in rows}

    def put(self, stream: str, entry: Entry) -> None:
        """Add or replace an entry; durable when this returns."""
        self._database.write(
            "INSERT INTO queue VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (stream, timestamp) DO "
            "UPDATE SET time = excluded.time, state = excluded.state, mark = excluded.mark, "
            "file = excluded.file, reason = excluded.reason",
            (
                stream,
                entry.timestamp,
                entry.time,
                entry.state,
                entry.mark,
                entry.file,
                entry.reason,
            ),
        )

    def queued(self, stream: str) -> list[Entry]:
        """Return the entries of a stream that wait for the worker, in order."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM queue WHERE stream = ? AND state = 'queued' "
            "ORDER BY timestamp",
            (stream,),
        )
        return [Entry(*row) for row in rows]

    def unreleased(self) -> dict[str, set[str]]:
        """Return the states of the entries that are not released, by stream."""
        found: dict[str, set[str]] = {}
        for stream, state in self._database.rows(
            "SELECT DISTINCT stream, state FROM queue WHERE state != 'released'"
        ):
            found.setdefault(stream, set()).add(state)
        return found

    def backlog(self) -> dict[str, int]:
        """Return how many snapshots wait for a worker, by stream."""
        return dict(
            self._database.rows(
                "SELECT stream, count(*) FROM queue WHERE state = 'queued' GROUP BY stream"
            )
        )

    def has_queued(self, stream: str) -> bool:
        """Whether an entry of a stream waits for the worker."""
        found = self._database.row(
            "SELECT 1 FROM queue WHERE stream = ? AND state = 'queued' LIMIT 1", (stream,)
        )
        return found is not None

    def files(self, stream: str) -> set[str]:
        """Return the names of the stored snapshots that entries refer to."""
        rows = self._database.rows(
            "SELECT file FROM queue WHERE stream = ? AND file IS NOT NULL", (stream,)
        )
        return {str(file) for (file,) in rows}


_KEY_BYTES = 32


class Marks:
    """Keyed digests that recognise data that were posted before.

    A plain digest could be tested against guessed graphs. Neither the key nor the digests leave
    the directory of the service.

    Parameters
    ----------
    path
        The file of the key, created at the first start.
    database
        Knows which key it was used with.

    Raises
    ------
    LedgerError
        The key is missing, or is not the one that the database was used with.
    """

    def __init__(self, path: Path, database: Database) -> None:
        self._database = database
        known = database.row("SELECT value FROM key_check")
        used = known is not None or database.row("SELECT 1 FROM streams LIMIT 1") is not None
        if not path.exists():
            if used:
                raise _unusable(path, "is missing")
            write_whole(path, os.urandom(_KEY_BYTES), owner_only=True)
        self._key = path.read_bytes()
        if len(self._key) != _KEY_BYTES or (known and not self.same(known[0], self._check())):
            raise _unusable(path, "is not the one that this service was used with")
        if known is None:
            database.write("INSERT INTO key_check VALUES (?)", (self._check(),))

    @staticmethod
    def replace_key(path: Path, database: Database) -> None:
        """Make a new key, and forget the digests made with the lost one.

        Released timestamps are then recognised by their ledgers. A snapshot in the queue is not
        recognised until it is released.
        """
        with database.transaction() as connection:
            connection.execute("UPDATE queue SET mark = NULL")
            connection.execute("DELETE FROM contents")
            connection.execute("DELETE FROM key_check")
        write_whole(path, os.urandom(_KEY_BYTES), owner_only=True)

    def _check(self) -> bytes:
        return hmac.digest(self._key, b"the key of this database", "sha256")

    def of_snapshot(self, stream: str, snapshot: Snapshot) -> bytes:
        """Return the digest of a snapshot: its time and edges by id, independent of the roster."""
        return self._of_edges(f"snapshot {stream} {snapshot.time}\n", snapshot)

    def of_edges(self, snapshot: Snapshot) -> bytes | None:
        """Return the digest of the edges alone, the same in all streams; None without edges."""
        return self._of_edges("edges\n", snapshot) if snapshot.u.size else None

    def _of_edges(self, prefix: str, snapshot: Snapshot) -> bytes:
        mark = hmac.new(self._key, prefix.encode(), "sha256")
        for ids in snapshot.to_ids():
            if ids.dtype == object:
                for name in ids.tolist():
                    mark.update(name.encode() + b"\0")
            else:
                mark.update(np.ascontiguousarray(ids, dtype="<i8").data)
            mark.update(b"\n")
        if snapshot.weight is not None:
            mark.update(np.ascontiguousarray(snapshot.weight, dtype="<i8").data)
        return mark.digest()

    def of_file(self, stream: str, path: Path) -> bytes:
        """Return the digest of a file posted to a stream."""
        mark = hmac.new(self._key, f"file {stream}\n".encode(), "sha256")
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                mark.update(piece)
        return mark.digest()

    @staticmethod
    def same(first: bytes | None, second: bytes) -> bool:
        """Whether two digests are equal, in constant time."""
        return first is not None and hmac.compare_digest(first, second)

    # ---- the same edges in two streams ----

    def note_edges(self, stream: str, edges: bytes | None) -> None:
        """Remember that edges, by their digest, were posted to a stream."""
        if edges is not None:
            self._database.write(
                "INSERT INTO contents VALUES (?, ?) ON CONFLICT DO NOTHING", (edges, stream)
            )

    def others_with(self, stream: str, edges: bytes | None) -> list[str]:
        """Return the other streams that the same edges were posted to."""
        rows = self._database.rows(
            "SELECT stream FROM contents WHERE mark = ? AND stream != ? ORDER BY stream",
            (edges, stream),
        )
        return [str(name) for (name,) in rows]


def _unusable(path: Path, problem: str) -> LedgerError:
    return LedgerError(
        f"{path}, the key by which repeated posts are recognised, {problem}\n"
        "Restore the file from a backup of the directory. If it is lost, start once with "
        "--new-key."
    )


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
    databases
        Opens its database when it is used.
    """

    def __init__(self, home: Path, databases: OpenDatabases | None = None) -> None:
        self._uploads, self._originals = home / "uploads", home / "originals"
        for directory in (self._uploads, self._originals):
            make_directory(directory, mode=0o700)
        self._path, self._databases = home / "events.sqlite", databases or OpenDatabases()

    def close(self) -> None:
        """Close its database."""
        self._databases.close(self._path)

    def _events(self) -> AbstractContextManager[SqliteDatabase]:
        return self._databases.use(self._path, _EVENTS)

    # ---- snapshots ----

    def store(self, snapshot: Snapshot) -> str:
        """Write a snapshot durably; return the name of its file."""
        name = f"{secrets.token_hex(8)}.parquet"
        sink = pa.BufferOutputStream()
        pq.write_table(snapshot.to_arrow(), sink, compression="zstd")
        write_whole(self._uploads / name, memoryview(sink.getvalue()), owner_only=True)
        return name

    def load(
        self, name: str, roster: Roster | None, *, time: str, kind: Kind = UNDIRECTED
    ) -> Snapshot:
        """Read a stored snapshot over the current roster; without one, over its own nodes."""
        return _snapshot([pq.read_table(self._uploads / name)], roster, time, kind)

    def remove(self, name: str) -> None:
        """Delete a stored snapshot."""
        (self._uploads / name).unlink(missing_ok=True)

    def clear_except(self, names: set[str]) -> None:
        """Delete files of interrupted posts, to which no queue entry refers."""
        for file in self._uploads.iterdir():
            if file.name not in names:
                file.unlink(missing_ok=True)

    # ---- events ----

    def add_events(self, key: str, mark: bytes, pieces: Sequence[tuple[int, Snapshot]]) -> None:
        """Store the events of one post by timestamp: durably, all or none."""
        with self._events() as events, events.transaction() as connection:
            connection.execute("INSERT INTO posts VALUES (?, ?, ?)", (key, mark, time.time()))
            for timestamp, snapshot in pieces:
                content = _packed(snapshot.to_arrow())
                connection.execute("INSERT INTO events VALUES (?, ?)", (timestamp, content))

    def forget_posts(self) -> None:
        """Forget all idempotency keys. Events that are posted again add no edge."""
        if self._path.exists():
            with self._events() as events:
                events.write("DELETE FROM posts")

    def mark_of(self, key: str) -> bytes | None:
        """Return the keyed digest of an earlier post with this idempotency key."""
        with self._events() as events:
            row = events.row("SELECT mark FROM posts WHERE key = ?", (key,))
        return None if row is None else bytes(row[0])

    def events_at(
        self, timestamp: int, roster: Roster | None, *, time: str, kind: Kind = UNDIRECTED
    ) -> Snapshot:
        """Return the snapshot of all events of a timestamp; it may be empty."""
        if not self._path.exists():
            return _snapshot([], roster, time, kind)
        with self._events() as events:
            rows = events.rows("SELECT content FROM events WHERE timestamp = ?", (timestamp,))
        tables = [pa.ipc.open_stream(content).read_all() for (content,) in rows]
        return _snapshot(tables, roster, time, kind)

    def forget_events(self, before: int) -> None:
        """Delete the events of all timestamps below `before`, and old idempotency keys."""
        if not self._path.exists():
            return
        with self._events() as events, events.transaction() as connection:
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

    def original(self, timestamp: int, roster: Roster, *, time: str | None, kind: Kind) -> Snapshot:
        """Read a kept original over the roster it was published with."""
        table = pq.read_table(self._originals / f"{timestamp:06d}.parquet")
        return _snapshot([table], roster, time, kind)

    def purge(self, days: float) -> Iterator[int]:
        """Delete originals older than `days`; yield their timestamps."""
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


def _snapshot(
    tables: Sequence[pa.Table], roster: Roster | None, time: str | None, kind: Kind
) -> Snapshot:
    filled = [table for table in tables if table.num_rows]
    nothing = pa.table({name: pa.array([], pa.int64()) for name in ("u", "v")})
    edges = pa.concat_tables(filled) if filled else nothing
    weight = edges.column("weight") if "weight" in edges.column_names else None
    rows = Rows(edges.column("u"), edges.column("v"), weight)
    return build_snapshot(rows, roster, time=time, kind=kind)
