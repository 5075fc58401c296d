"""Change one byte somewhere in what was published, and see whether `verify` notices."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from psgraph.errors import VerificationFailed
from psgraph.publication.locations import ledger_of
from psgraph.publication.verification import verify

KEYS = {"facts": "name", "rosters": "digest", "seals": "timestamp", "state": "only"}

Undo = Callable[[], None]


class Tamperer:
    """Changes single bytes of releases, certificates and cells of the ledger, and puts them back.

    Parameters
    ----------
    out
        A directory with releases and their ledger.
    seed
        What to change is drawn at random.
    """

    def __init__(self, out: Path, seed: int) -> None:
        self.out = out
        self.missed: list[str] = []
        self.tried: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._database = sqlite3.connect(ledger_of(out), isolation_level=None)
        self._database.execute("PRAGMA synchronous = OFF")
        self._cells = self._all_cells()

    def close(self) -> None:
        self._database.close()

    def flip(self, times: int) -> None:
        """Change one byte and verify, so many times."""
        for _ in range(times):
            kind = self._chance.choice(["parquet", "json", "nodes", "ledger"])
            where, undo = self._flip_cell() if kind == "ledger" else self._flip_file(kind)
            self.tried[where] += 1
            try:
                verify(self.out)
                self.missed.append(where)
            except VerificationFailed:
                pass
            finally:
                undo()

    def _flipped(self, content: bytes) -> bytes:
        place = self._chance.randrange(len(content))
        changed = content[place] ^ self._chance.randrange(1, 256)
        return content[:place] + bytes([changed]) + content[place + 1 :]

    def _flip_file(self, kind: str) -> tuple[str, Undo]:
        files = "nodes/*.parquet" if kind == "nodes" else f"*.{kind}"
        path = self._chance.choice(sorted(self.out.glob(files)))
        content = path.read_bytes()
        path.write_bytes(self._flipped(content))

        def undo() -> None:
            path.write_bytes(content)

        return kind, undo

    def _all_cells(self) -> dict[tuple[str, str], list[Any]]:
        cells: dict[tuple[str, str], list[Any]] = {}
        for table, key in KEYS.items():
            names = [row[1] for row in self._database.execute(f"PRAGMA table_info({table})")]
            for row in self._database.execute(f"SELECT {key}, * FROM {table}"):
                for name, value in zip(names, row[1:], strict=True):
                    if value not in (None, "", b""):
                        cells.setdefault((table, name), []).append(row[0])
        cells.pop(("state", "only"))  # the table itself allows nothing but 0
        return cells

    def _flip_cell(self) -> tuple[str, Undo]:
        """Change a byte in a cell, every column of every table as likely."""
        while True:
            table, column = self._chance.choice(sorted(self._cells))
            key = self._chance.choice(self._cells[table, column])
            name = KEYS[table]
            (value,) = self._database.execute(
                f"SELECT {column} FROM {table} WHERE {name} = ?", (key,)
            ).fetchone()
            changed, cast = self._flipped_value(value)
            try:
                self._database.execute(
                    f"UPDATE {table} SET {column} = {cast} WHERE {name} = ?", (changed, key)
                )
            except sqlite3.IntegrityError:
                continue  # a timestamp that is there already
            break
        now, place = (changed, cast) if column == name else (key, "?")

        def undo() -> None:
            self._database.execute(
                f"UPDATE {table} SET {column} = ? WHERE {name} = {place}", (value, now)
            )

        return f"{table}.{column}", undo

    def _flipped_value(self, value: Any) -> tuple[Any, str]:
        if isinstance(value, bytes):
            return self._flipped(value), "?"
        if isinstance(value, int):
            content = self._flipped(value.to_bytes(8, "little", signed=True))
            return int.from_bytes(content, "little", signed=True), "?"
        return self._flipped(value.encode()), "CAST(? AS TEXT)"


def flip(out: Path, times: int, *, seed: int = 0) -> dict[str, Any]:
    """Flip bytes and report how many were tried where, and which were not noticed."""
    tamperer = Tamperer(out, seed)
    try:
        tamperer.flip(times)
    finally:
        tamperer.close()
    verify(out)  # everything was put back, so it must be in order again
    return {
        "flips": sum(tamperer.tried.values()),
        "places": dict(sorted(tamperer.tried.items())),
        "missed": tamperer.missed,
    }
