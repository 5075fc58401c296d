"""A small stream to post, and what a ledger says about it afterwards."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.service.server import Answer, Server, tree

CSV = {"Content-Type": "text/csv"}
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}
NODES = 40
METHOD = "psgraph"

Edges = list[tuple[int, int]]
_numbers = count()


def edges(timestamp: int, *, variant: int = 0, nodes: int = NODES) -> Edges:
    """A small graph, the same one for the same timestamp and variant."""
    rng = np.random.default_rng([timestamp, variant])
    ring = [(node, (node + 1) % nodes) for node in range(nodes)]
    chords = rng.integers(0, nodes, (nodes, 2)).tolist()
    return [*ring, *((u, v) for u, v in chords if u != v)]


def as_csv(rows: Sequence[tuple[object, ...]], header: str = "u,v") -> bytes:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def as_parquet(rows: Edges) -> bytes:
    u, v = zip(*rows, strict=True)
    file = io.BytesIO()
    pq.write_table(pa.table({"u": list(u), "v": list(v)}), file)
    return file.getvalue()


def roster(nodes: int = NODES) -> bytes:
    return as_csv([(node,) for node in range(nodes)], "id")


def new_stream(
    server: Server, name: str | None = None, *, nodes: int = NODES, **terms: object
) -> str:
    """Create a stream with its roster; a name of its own unless given."""
    name = name or f"stream-{next(_numbers):04d}"  # no name is part of another
    wanted = {"name": name, "epsilon": "1", "window": 3, "method": METHOD, **terms}
    created = server.call("POST", "/streams", content=wanted)
    assert created.status == 201, created.text
    if wanted.get("roster", "list") == "list":
        put = server.call("PUT", f"/streams/{name}/roster", body=roster(nodes), headers=CSV)
        assert put.status == 200, put.text
    return name


def post(server: Server, stream: str, timestamp: int, body: bytes, **options: object) -> Answer:
    """Post a snapshot as CSV."""
    return server.call(
        "POST",
        f"/streams/{stream}/snapshots/{timestamp}",
        body=body,
        headers=CSV,
        **options,  # type: ignore[arg-type]
    )


def seals(ledger: Path) -> list[tuple[int, Fraction, bytes, bytes | None]]:
    """Every sealed timestamp of a ledger: number, spent, digest, digest of its certificate."""
    connection = sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)
    try:
        rows = connection.execute(
            "SELECT timestamp, spent, digest, certificate FROM seals ORDER BY timestamp"
        ).fetchall()
    finally:
        connection.close()
    return [(row[0], Fraction(row[1]), row[2], row[3]) for row in rows]


def largest_window(ledger: Path, window: int) -> Fraction:
    """What the most expensive window of a ledger spent."""
    spent = [each[1] for each in seals(ledger)]
    windows = [sum(spent[max(0, end - window + 1) : end + 1]) for end in range(len(spent))]
    return max([Fraction(0), *map(Fraction, windows)])


def stored(server: Server, stream: str) -> dict[str, object]:
    """Everything that a stream has stored and spent, to compare before and after.

    SQLite moves its pages when it likes, so the rows of a database are compared, not its bytes.
    """
    home = server.directory / "streams" / stream
    files = {name: content for name, content in tree(home).items() if ".sqlite" not in name}
    received = {path.name for path in (server.directory / "incoming").iterdir()}
    ledger = home / "releases.ledger" / "ledger.sqlite"
    return {
        "files": files,
        "received": received,
        "streams": {path.name for path in (server.directory / "streams").iterdir()},
        "seals": seals(ledger),
        "queue": rows_of(
            server.directory / "service.sqlite",
            f"SELECT timestamp, state, mark, file FROM queue WHERE stream = '{stream}'",
        ),
        "events": rows_of(home / "events.sqlite", "SELECT timestamp, content FROM events"),
        "posts": rows_of(home / "events.sqlite", "SELECT key, mark FROM posts"),
    }


def rows_of(database: Path, query: str) -> list[tuple[object, ...]]:
    """The rows of a query, none if the database is not there yet."""
    if not database.exists():
        return []
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    try:
        return sorted(connection.execute(query).fetchall())
    finally:
        connection.close()


def is_a_refusal(answer: Answer, status: int | tuple[int, ...], error: str | None = None) -> None:
    """Check the one shape of all errors, and that it tells nothing of what was sent."""
    assert answer.status in (status if isinstance(status, tuple) else (status,)), answer.text
    told = answer.json
    assert set(told) == {"status", "title", "error", "message", "remedy"}
    assert told["message"]
    assert told["remedy"]
    assert len(answer.body) == 1024, "errors have one size"
    assert error is None or told["error"] == error
    for word in ("Traceback", "/tmp", ".py", "SELECT", "pyarrow", "pydantic"):
        assert word not in answer.text
