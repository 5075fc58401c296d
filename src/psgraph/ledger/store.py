"""The durable record of a stream: one SQLite file, one writer, one transaction per timestamp.

A timestamp is *sealed* when its noisy measurement, its spend, the next state and the seed of its
synthesis are committed together. Only then may anything about it leave the process. Rows form a
chain of digests, and each row holds the digest of the certificate before it, so that no byte can
change unnoticed. The format is described in docs/ledger.md.

The ledger file is as sensitive as the data: it holds the key of the snapshots' fingerprints.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Self

import numpy as np

from psgraph.errors import LedgerBusy, LedgerError, OutOfOrder, TermsChanged, exact_decimal
from psgraph.graph import Roster, Snapshot
from psgraph.ledger.packing import (
    chain_digest,
    pack_charges,
    pack_roster,
    unpack_charges,
    unpack_roster,
)
from psgraph.ledger.terms import Seal, Terms
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.mechanisms import Charge

__all__ = ["Ledger"]

APPLICATION = 0x50534752  # "PSGR"
FORMAT = 1
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {}
"""From a format to the next: what to do to a ledger written by an older version."""

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE rosters (digest TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE seals (
    timestamp INTEGER PRIMARY KEY, time TEXT, spent TEXT NOT NULL, charges TEXT NOT NULL,
    seed INTEGER NOT NULL, snapshot BLOB NOT NULL, measurement BLOB NOT NULL,
    state BLOB NOT NULL, version TEXT NOT NULL, previous BLOB NOT NULL, digest BLOB NOT NULL,
    certificate BLOB, certificate_mark BLOB
);
CREATE TABLE state (only INTEGER PRIMARY KEY CHECK (only = 0), content BLOB NOT NULL);
"""


class Ledger:
    """Opens, or begins, the record of a stream.

    Parameters
    ----------
    path
        The SQLite file, made readable by its owner only.
    terms
        What is to be published. A new ledger is begun under these terms; an existing one must
        have been begun under the same. None takes the terms of an existing ledger.
    writing
        Whether to lock the ledger for this process. Without, it can only be read.
    """

    def __init__(self, path: str | Path, terms: Terms | None = None, *, writing: bool = True):
        self.path = Path(path)
        self._lock: int | None = None
        if not self.path.exists() and terms is None:
            raise LedgerError(f"there is no ledger at {self.path}")
        try:
            if writing:
                self._take_lock()
            self._database = self._connect(writing)
            with self._typed_errors():
                self._open(terms, writing)
        except BaseException:
            self.close()
            raise

    # ---- opening and closing ----

    def _take_lock(self) -> None:
        """One writer at a time; the system lets go of the lock when the process ends."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_name(f"{self.path.name}.lock")
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LedgerBusy(
                f"another process is publishing with {self.path}\n"
                "Wait until it has finished, or stop it. Nothing was measured."
            ) from None
        except OSError as error:
            raise LedgerError(
                f"{self.path} can't be locked: {error.strerror}\n"
                "Choose a directory you may write to."
            ) from None

    def _connect(self, writing: bool) -> sqlite3.Connection:
        try:
            if writing:
                # SQLite gives its side files the mode of the main file.
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            mode = "rw" if writing else "ro"
            location = f"{self.path.absolute().as_uri()}?mode={mode}"
            return sqlite3.connect(location, uri=True, isolation_level=None, timeout=5)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or "it can't be opened"
            raise LedgerError(f"{self.path} can't be used as a ledger: {reason}") from None

    def _open(self, terms: Terms | None, writing: bool) -> None:
        database = self._database
        application = database.execute("PRAGMA application_id").fetchone()[0]
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables == 0 and application == 0:
            if terms is None or not writing:
                raise LedgerError(f"{self.path} is empty and not a ledger")
            self._begin(terms)
        elif application != APPLICATION:
            raise LedgerError(
                f"{self.path} is a database of another program\nName another file for the ledger."
            )
        self._migrate(writing)
        if writing:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
        facts = dict(database.execute("SELECT name, value FROM facts"))
        try:
            self._key: bytes = facts["key"]
            self.terms = Terms(**json.loads(facts["terms"]))
            self.guarantee = self.terms.guarantee
        except (KeyError, ValueError, TypeError):
            raise LedgerError(f"the terms in {self.path} are damaged") from None
        differences = [] if terms is None else list(self.terms.differences(terms))
        if differences:
            raise TermsChanged(
                f"{self.path} was begun under other terms:\n" + "\n".join(differences) + "\n"
                "Go on under the old terms (psgraph resume does), or begin a new ledger in another "
                "place. Two ledgers for one stream of data add up their budgets."
            )

    def _begin(self, terms: Terms) -> None:
        """Write an empty ledger in one transaction, so that it is begun or it is not."""
        with self._transaction() as database:
            for statement in _TABLES.split(";"):
                database.execute(statement)
            database.execute("INSERT INTO facts VALUES ('key', ?)", (os.urandom(32),))
            database.execute("INSERT INTO facts VALUES ('terms', ?)", (terms.to_bytes(),))
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {FORMAT}")

    def _migrate(self, writing: bool) -> None:
        found = self._database.execute("PRAGMA user_version").fetchone()[0]
        if found > FORMAT:
            raise LedgerError(
                f"{self.path} has format {found}; this version of psgraph knows up to {FORMAT}\n"
                "Use the version of psgraph that wrote it, or a newer one."
            )
        while found < FORMAT:
            if found not in MIGRATIONS or not writing:
                raise LedgerError(f"{self.path} has format {found}, which can't be read any more")
            with self._transaction() as database:
                MIGRATIONS[found](database)
                found += 1
                database.execute(f"PRAGMA user_version = {found}")

    def close(self) -> None:
        """Close the file and let go of the lock."""
        database = getattr(self, "_database", None)
        if database is not None:
            database.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", None) or ""
            reason = {
                "SQLITE_FULL": "the disk is full",
                "SQLITE_READONLY": "it can't be written to",
                "SQLITE_NOTADB": "it is not a ledger",
                "SQLITE_CORRUPT": "it is damaged",
                "SQLITE_BUSY": "another program holds it",
                "SQLITE_CANTOPEN": "it can't be opened",
            }.get("_".join(code.split("_")[:2]), "it can't be read or written")
            raise LedgerError(
                f"the ledger {self.path} can't be used: {reason}\nNothing was published."
            ) from None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, flushed to the disk when it is left."""
        with self._typed_errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._commit()
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def _commit(self) -> None:
        self._database.execute("COMMIT")

    # ---- reading ----

    @property
    def sealed(self) -> int:
        """How many timestamps are sealed."""
        with self._typed_errors():
            last = self._database.execute("SELECT max(timestamp) FROM seals").fetchone()[0]
        return 0 if last is None else int(last) + 1

    def seal_of(self, timestamp: int) -> Seal:
        """What was sealed for a timestamp."""
        with self._typed_errors():
            row = self._database.execute(
                "SELECT time, spent, charges, seed, snapshot, state, version, previous, "
                "certificate FROM seals WHERE timestamp = ?",
                (timestamp,),
            ).fetchone()
        if row is None:
            raise LedgerError(f"timestamp {timestamp} is missing in {self.path}")
        time, spent, charges, seed, snapshot, state, version, previous, certificate = row
        try:
            return Seal(
                timestamp,
                time,
                Fraction(spent),
                unpack_charges(charges),
                seed,
                snapshot,
                state,
                version,
                previous,
                certificate,
            )
        except (ValueError, TypeError, ZeroDivisionError):
            raise LedgerError(f"timestamp {timestamp} is damaged in {self.path}") from None

    def measurement_of(self, timestamp: int) -> bytes:
        """The stored measurement of a timestamp."""
        query = "SELECT measurement FROM seals WHERE timestamp = ?"
        return self._one(query, timestamp, f"the measurement of timestamp {timestamp}")

    def latest_state(self) -> bytes:
        """The state after the last sealed timestamp."""
        return self._one("SELECT content FROM state WHERE only = ?", 0, "the state")

    def roster(self, digest: str) -> Roster | None:
        """A roster by its digest."""
        with self._typed_errors():
            row = self._database.execute(
                "SELECT content FROM rosters WHERE digest = ?", (digest,)
            ).fetchone()
        return None if row is None else unpack_roster(row[0])

    def _one(self, query: str, key: object, what: str) -> bytes:
        with self._typed_errors():
            row = self._database.execute(query, (key,)).fetchone()
        if row is None:
            raise LedgerError(f"{what} is missing in {self.path}")
        content: bytes = row[0]
        return content

    def spends(self) -> Iterator[tuple[int, Fraction]]:
        """Timestamps and what they spent, in order."""
        with self._typed_errors():
            for timestamp, spent in self._database.execute(
                "SELECT timestamp, spent FROM seals ORDER BY timestamp"
            ):
                yield timestamp, Fraction(spent)

    def accountant(self) -> Accountant:
        """The account of the current window."""
        sealed = self.sealed
        with self._typed_errors():
            rows = self._database.execute(
                "SELECT spent FROM seals WHERE timestamp >= ? ORDER BY timestamp",
                (sealed - self.guarantee.window,),
            ).fetchall()
        return Accountant(self.guarantee, tuple(Fraction(row[0]) for row in rows), sealed)

    def fingerprint(self, snapshot: Snapshot) -> bytes:
        """A keyed digest of a snapshot. A plain one could be tried out on guessed graphs."""
        mark = hmac.new(self._key, digestmod="sha256")
        time = (snapshot.time or "").encode()
        mark.update(b"%s\0%d\0%s\0" % (snapshot.roster.digest.encode(), len(time), time))
        mark.update(np.ascontiguousarray(snapshot.u).data)
        mark.update(np.ascontiguousarray(snapshot.v).data)
        return mark.digest()

    # ---- writing ----

    def seal(
        self,
        *,
        timestamp: int,
        time: str | None,
        spent: Fraction,
        charges: tuple[Charge, ...],
        seed: int,
        snapshot: bytes,
        measurement: bytes,
        state: bytes,
        version: str,
        rosters: dict[str, Roster],
    ) -> None:
        """Commit a timestamp, after checking every window it is in."""
        with self._transaction() as database:
            sealed = self.sealed
            if timestamp != sealed:
                raise OutOfOrder(
                    f"timestamp {timestamp} can't be sealed: the ledger is at {sealed}"
                )
            self.accountant().check(spent)
            previous = digest_before = self._genesis()
            if timestamp:
                digest_before, previous = database.execute(
                    "SELECT digest, certificate FROM seals WHERE timestamp = ?", (timestamp - 1,)
                ).fetchone()
                if previous is None:
                    raise OutOfOrder(f"the release of timestamp {timestamp - 1} is not finished")
            for digest, roster in rosters.items():
                database.execute(
                    "INSERT OR IGNORE INTO rosters VALUES (?, ?)", (digest, pack_roster(roster))
                )
            columns = (
                timestamp,
                time,
                exact_decimal(spent),
                pack_charges(charges),
                seed,
                snapshot,
                measurement,
                hashlib.sha256(state).digest(),
                version,
                previous,
            )
            database.execute(
                "INSERT INTO seals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
                (*columns, chain_digest(digest_before, columns)),
            )
            database.execute("INSERT OR REPLACE INTO state VALUES (0, ?)", (state,))

    def record_release(self, timestamp: int, certificate: bytes) -> None:
        """Note the digest of the certificate under which a timestamp was released."""
        with self._transaction() as database:
            database.execute(
                "UPDATE seals SET certificate = ?, certificate_mark = ? WHERE timestamp = ?",
                (certificate, self._mark(timestamp, certificate), timestamp),
            )

    def _mark(self, timestamp: int, certificate: bytes) -> bytes:
        return hmac.digest(self._key, b"certificate %d " % timestamp + certificate, "sha256")

    def _genesis(self) -> bytes:
        """What the chain of rows begins with: the terms and the key."""
        key = hashlib.sha256(b"psgraph key\0" + self._key).digest()
        return hashlib.sha256(b"psgraph ledger\0" + key + self.terms.to_bytes()).digest()

    # ---- checking ----

    def problems(self) -> Iterator[str]:
        """Everything in the file that is not as it was written, in words."""
        try:
            with self._typed_errors():
                yield from self._problems()
        except LedgerError as error:
            yield str(error).splitlines()[0]

    def _problems(self) -> Iterator[str]:
        database = self._database
        stored = dict(database.execute("SELECT name, value FROM facts"))
        if stored != {"key": self._key, "terms": self.terms.to_bytes()}:
            yield "the terms of the ledger were changed"
        for digest, content in database.execute("SELECT digest, content FROM rosters"):
            if unpack_roster(content).digest != digest:
                yield "a roster was changed"
        before = previous = self._genesis()
        accountant = Accountant(self.guarantee)
        state = None
        expected = 0
        for row in database.execute("SELECT * FROM seals ORDER BY timestamp"):
            *columns, digest, certificate, mark = row
            timestamp = columns[0]
            name = f"timestamp {timestamp}"
            if timestamp != expected:
                yield f"timestamp {expected} is missing"
            if digest != chain_digest(before, tuple(columns)):
                yield f"{name}: the sealed row was changed"
            if columns[9] != previous:
                yield f"{name}: the certificate before it is another one"
            try:
                if Fraction(columns[2]) > accountant.remaining:
                    yield f"{name}: the window is overspent"
                accountant = Accountant(
                    self.guarantee,
                    (*accountant.recent, Fraction(columns[2]))[-self.guarantee.window :],
                    timestamp + 1,
                )
            except (ValueError, TypeError, ZeroDivisionError):
                yield f"{name}: the spend can't be read"
            if certificate is not None and mark != self._mark(timestamp, certificate):
                yield f"{name}: the digest of the certificate was changed"
            if certificate is None and mark is not None:
                yield f"{name}: the digest of the certificate was removed"
            before, previous, state, expected = digest, certificate, columns[7], timestamp + 1
        if state is not None and hashlib.sha256(self.latest_state()).digest() != state:
            yield "the state was changed"
