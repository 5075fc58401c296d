"""The durable record of a stream: what was promised, measured, spent and released.

A timestamp is *sealed* when its noisy measurement, its spend, the next state and the seed of its
synthesis are committed together. Only then may anything about it leave the process. Rows form a
chain of digests, and each row holds the digest of the certificate before it, so that no byte can
change unnoticed. The format is described in docs/ledger.md.

The ledger file is as sensitive as the data: it holds the key of the snapshots' fingerprints.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Self

import numpy as np

from psgraph.errors import (
    LedgerError,
    OutOfOrder,
    TermsChanged,
    VerificationFailed,
    exact_decimal,
)
from psgraph.graph import Roster, Snapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Charge
from psgraph.privacy.guarantee import exact_fraction
from psgraph.publication.ledger.chain import COLUMNS, Link, chain_problems
from psgraph.publication.ledger.database import Database
from psgraph.publication.ledger.packing import (
    chain_digest,
    pack_charges,
    pack_roster,
    unpack_charges,
    unpack_roster,
)
from psgraph.publication.ledger.terms import Seal, Terms

__all__ = ["Ledger"]

_KEY_BYTES = 32


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
        fill = None if terms is None else lambda connection: _fill(connection, terms)
        self._database = Database(self.path, fill=fill, writing=writing)
        try:
            self._read_terms()
            if terms is not None:
                self._refuse_other(terms)
            if writing:
                self._refuse_damage()
        except BaseException:
            self.close()
            raise

    def _read_terms(self) -> None:
        facts = dict(self._database.rows("SELECT name, value FROM facts"))
        try:
            self._key: bytes = facts["key"]
            self.terms = Terms.from_bytes(facts["terms"])
            self.guarantee = self.terms.guarantee
            if not isinstance(self._key, bytes) or facts != _facts(self._key, self.terms):
                raise ValueError
        except (KeyError, ValueError):
            raise LedgerError(f"the terms in {self.path} are damaged") from None

    def _refuse_other(self, terms: Terms) -> None:
        differences = list(self.terms.differences(terms))
        if differences:
            raise TermsChanged(
                f"{self.path} was begun under other terms:\n" + "\n".join(differences) + "\n"
                "Go on under the old terms (psgraph resume does), or begin a new ledger in another "
                "place. Two ledgers for one stream of data add up their budgets."
            )

    def _refuse_damage(self) -> None:
        """Look at all that publishing goes by: the rows of the current window and the state."""
        for problem in self.problems(since=max(0, self.sealed - self.guarantee.window)):
            raise VerificationFailed(
                f"{self.path} is not as it was written: {problem}\n"
                "psgraph verify looks at all of it. Put the newest backup back; nothing was "
                "measured."
            )

    def close(self) -> None:
        """Close the file and let go of the lock."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- reading ----

    @property
    def sealed(self) -> int:
        """How many timestamps are sealed."""
        # SQLite looks up one extreme at a time, but goes through all rows for two at once.
        row = self._database.row(
            "SELECT (SELECT min(timestamp) FROM seals), (SELECT max(timestamp) FROM seals)"
        )
        first, last = row or (None, None)
        if last is None:
            return 0
        if first != 0:
            raise LedgerError(f"timestamp 0 is missing in {self.path}")
        return int(last) + 1

    def seal_of(self, timestamp: int) -> Seal:
        """What was sealed for a timestamp."""
        row = self._database.row(
            "SELECT time, spent, charges, seed, snapshot, roster, state, version, previous, "
            "certificate FROM seals WHERE timestamp = ?",
            (timestamp,),
        )
        if row is None:
            raise LedgerError(f"timestamp {timestamp} is missing in {self.path}")
        time, spent, charges, *others = row
        try:
            return Seal(timestamp, time, exact_fraction(spent), unpack_charges(charges), *others)
        except (RecursionError, TypeError, ValueError, ZeroDivisionError):
            raise LedgerError(f"timestamp {timestamp} is damaged in {self.path}") from None

    def measurement_of(self, timestamp: int) -> bytes:
        """The stored measurement of a timestamp."""
        query = "SELECT measurement FROM seals WHERE timestamp = ?"
        return self._blob(query, timestamp, f"the measurement of timestamp {timestamp}")

    def latest_state(self) -> bytes:
        """The state after the last sealed timestamp."""
        return self._blob("SELECT content FROM state WHERE only = ?", 0, "the state")

    def _blob(self, query: str, key: int, what: str) -> bytes:
        row = self._database.row(query, (key,))
        if row is None or not isinstance(row[0], bytes):
            raise LedgerError(f"{what} is missing in {self.path}")
        return row[0]

    def roster(self, digest: str) -> Roster | None:
        """A roster by its digest."""
        row = self._database.row("SELECT content FROM rosters WHERE digest = ?", (digest,))
        if row is None:
            return None
        roster = unpack_roster(row[0])
        if roster.digest != digest:
            raise LedgerError(f"a roster in {self.path} was changed")
        return roster

    def roster_from_edges(self) -> bool | None:
        """Whether the rosters of this stream are read off the edges; None before the first."""
        if not self.sealed:
            return None
        roster = self.roster(self.seal_of(0).roster)
        if roster is None:
            raise LedgerError(f"a roster is missing in {self.path}")
        return roster.from_edges

    def spends(self, *, since: int = 0) -> Iterator[tuple[int, str | None, Fraction]]:
        """Timestamps, their times and what they spent, in order."""
        rows = self._database.rows(
            "SELECT timestamp, time, spent FROM seals WHERE timestamp >= ? ORDER BY timestamp",
            (since,),
        )
        for expected, (timestamp, time, spent) in enumerate(rows, start=since):
            if timestamp != expected:
                raise LedgerError(f"timestamp {expected} is missing in {self.path}")
            try:
                yield timestamp, time, exact_fraction(spent)
            except (ValueError, ZeroDivisionError):
                raise LedgerError(f"timestamp {timestamp} is damaged in {self.path}") from None

    def accountant(self, *, before: int | None = None) -> Accountant:
        """The account of the window that ends with the last timestamp, or before a given one."""
        end = self.sealed if before is None else before
        recent: list[Fraction] = []
        for timestamp, _, spent in self.spends(since=max(0, end - self.guarantee.window)):
            if timestamp == end:
                break
            recent.append(spent)
        return Accountant(self.guarantee, tuple(recent), end)

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
        roster: Roster,
        measurement: bytes,
        state: bytes,
        version: str,
        rosters: dict[str, Roster],
    ) -> None:
        """Commit a timestamp, after checking every window it is in."""
        with self._database.transaction() as connection:
            sealed = self.sealed
            if timestamp != sealed:
                raise OutOfOrder(
                    f"timestamp {timestamp} can't be sealed: the ledger is at {sealed}\n"
                    "Another process may have published it. Open the ledger again."
                )
            _, digest_before, previous, accountant = self._link(timestamp)
            accountant.check(spent)
            if previous is None:
                raise OutOfOrder(f"the release of timestamp {timestamp - 1} is not finished")
            for digest, found in (rosters | {roster.digest: roster}).items():
                if not self._has_roster(digest):
                    content = pack_roster(found)
                    connection.execute("INSERT INTO rosters VALUES (?, ?)", (digest, content))
            columns = (
                timestamp,
                time,
                exact_decimal(spent),
                pack_charges(charges),
                seed,
                snapshot,
                roster.digest,
                measurement,
                hashlib.sha256(state).digest(),
                version,
                previous,
            )
            connection.execute(
                f"INSERT INTO seals ({COLUMNS}) VALUES ({'?, ' * len(columns)}?, NULL, NULL)",
                (*columns, chain_digest(digest_before, columns)),
            )
            connection.execute("INSERT OR REPLACE INTO state VALUES (0, ?)", (state,))

    def record_release(self, timestamp: int, certificate: bytes) -> None:
        """Note, once and for all, the digest of the certificate of a timestamp."""
        with self._database.transaction() as connection:
            noted = connection.execute(
                "UPDATE seals SET certificate = ?1, certificate_mark = ?2 "
                "WHERE timestamp = ?3 AND (certificate IS NULL OR certificate = ?1)",
                (certificate, self._mark(timestamp, certificate), timestamp),
            )
            if noted.rowcount != 1:
                raise VerificationFailed(
                    f"timestamp {timestamp} was released under another certificate\n"
                    "Another process may have published it. psgraph verify looks at all of it."
                )

    def _mark(self, timestamp: int, certificate: bytes) -> bytes:
        return hmac.digest(self._key, b"certificate %d " % timestamp + certificate, "sha256")

    # ---- checking ----

    def problems(self, *, since: int = 0) -> Iterator[str]:
        """Everything in the file that is not as it was written, in words.

        Parameters
        ----------
        since
            Look only at this timestamp and later ones.
        """
        try:
            if not since:
                for digest, content in self._database.rows("SELECT digest, content FROM rosters"):
                    if unpack_roster(content).digest != digest:
                        yield "a roster was changed"
            rows = self._database.rows(
                f"SELECT {COLUMNS} FROM seals WHERE timestamp >= ? ORDER BY timestamp", (since,)
            )
            state = hashlib.sha256(self.latest_state()).digest() if self.sealed else None
            yield from chain_problems(
                rows,
                self._link(since),
                has_roster=self._has_roster,
                mark=self._mark,
                current_state=state,
            )
        except LedgerError as error:
            yield str(error).splitlines()[0]

    def _has_roster(self, digest: object) -> bool:
        row = self._database.row("SELECT 1 FROM rosters WHERE digest = ?", (digest,))
        return row is not None

    def _link(self, timestamp: int) -> Link:
        """What the row of a timestamp is chained to."""
        if not timestamp:
            genesis = _genesis(self._key, self.terms)
            return Link(0, genesis, genesis, Accountant(self.guarantee))
        row = self._database.row(
            "SELECT digest, certificate FROM seals WHERE timestamp = ?", (timestamp - 1,)
        )
        if row is None or not isinstance(row[0], bytes):
            raise LedgerError(f"timestamp {timestamp - 1} is missing in {self.path}")
        return Link(timestamp, row[0], row[1], self.accountant(before=timestamp))


def _fill(connection: sqlite3.Connection, terms: Terms) -> None:
    """The rows of a new ledger."""
    for fact in _facts(os.urandom(_KEY_BYTES), terms).items():
        connection.execute("INSERT INTO facts VALUES (?, ?)", fact)


def _facts(key: bytes, terms: Terms) -> dict[str, bytes]:
    content = terms.to_bytes()
    return {"key": key, "terms": content, "mark": hmac.digest(key, b"terms " + content, "sha256")}


def _genesis(key: bytes, terms: Terms) -> bytes:
    """What the chain of rows begins with: the terms and the key."""
    key = hashlib.sha256(b"psgraph key\0" + key).digest()
    return hashlib.sha256(b"psgraph ledger\0" + key + terms.to_bytes()).digest()
