"""The queue: which timestamps are accepted, released or refused. Public facts and keyed digests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from psgraph.service.database import Database

__all__ = ["Entry", "Queue", "QueueState"]

QueueState = Literal["queued", "released", "refused"]


@dataclass(frozen=True)
class Entry:
    """A timestamp that was posted.

    Attributes
    ----------
    mark
        A keyed digest of its data, to recognise them; None if there were none.
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
    """The timestamps of all streams that went through the service."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, stream: str, timestamp: int) -> Entry | None:
        """Return the entry of a timestamp."""
        row = self._database.row(
            f"SELECT {_COLUMNS} FROM queue WHERE stream = ? AND timestamp = ?", (stream, timestamp)
        )
        return None if row is None else Entry(*row)

    def put(self, stream: str, entry: Entry) -> None:
        """Add or replace an entry; durable when this returns."""
        self._database.write(
            "INSERT OR REPLACE INTO queue VALUES (?, ?, ?, ?, ?, ?, ?)",
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

    def files(self, stream: str) -> set[str]:
        """Return the names of the stored snapshots that entries refer to."""
        rows = self._database.rows(
            "SELECT file FROM queue WHERE stream = ? AND file IS NOT NULL", (stream,)
        )
        return {str(file) for (file,) in rows}
