"""The durable record of a stream: what was promised, measured, spent and released.

A timestamp is *sealed* when its noisy measurement, its spend, the next state and the seed of its
synthesis are committed together. Only then can anything about it leave the process. Rows form a
chain of digests, and each row has the digest of the certificate before it, so that no byte can
change unnoticed. docs/reference/ledger.md describes the format.

The ledger file is as sensitive as the data: it contains the key of the snapshots' fingerprints.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from psgraph.errors import (
    LedgerError,
    OutOfOrder,
    TermsChanged,
    VerificationFailed,
    exact_decimal,
)
from psgraph.graph import Roster
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.ledger.attempts import Attempts
from psgraph.publication.ledger.chain import (
    COLUMNS,
    SEALED,
    Facts,
    Link,
    chain_problems,
    pack_charges,
    pack_roster,
    row_digest,
    unpack_roster,
)
from psgraph.publication.ledger.database import Database
from psgraph.publication.ledger.reader import LedgerReader
from psgraph.publication.measurement import Measured, Seal, seal_of
from psgraph.publication.records import encode
from psgraph.publication.terms import Terms

__all__ = ["Ledger"]


class Ledger(LedgerReader):
    """Open or create the record of a stream: a `psgraph.publication.history.History`.

    Parameters
    ----------
    path
        The SQLite file, made readable by its owner only.
    terms
        What is to be published. A new ledger is started under these terms; an existing one must
        have been started under the same. None takes the terms of an existing ledger.
    writing
        Whether to lock the ledger for this process. Without, it can only be read.
    """

    def __init__(self, path: str | Path, terms: Terms | None = None, *, writing: bool = True):
        fill = None if terms is None else lambda connection: _fill(connection, terms)
        database = Database(Path(path), fill=fill, writing=writing)
        try:
            super().__init__(database)
            self._attempts = Attempts(self.path, self._facts.genesis.hex()[:16])
            if terms is not None:
                self.require(terms)
            if writing:
                self._refuse_damage()
        except BaseException:
            database.close()
            raise

    def require(self, terms: Terms) -> None:
        """Refuse terms that differ from those the ledger was started under."""
        stored = replace(self.terms, noise=self.noise)
        changed = stored.differences(terms)
        if changed:
            lines = [
                f"  {name:<20} started with {old}, now {new}"
                for name, (old, new) in changed.items()
            ]
            remedy = "under the old terms (psgraph resume does"
            if "method" in changed:
                remedy += f", and so does --method {stored.method}"
            remedy += ")"
            if "distribution_version" in changed and self.sealed:
                remedy = (
                    f"with psgraph {self.seal_of(self.sealed - 1).version}, which it was made with"
                )
            raise TermsChanged(
                f"{self.path} was started under different terms:\n" + "\n".join(lines) + "\n"
                f"Continue {remedy}, or start a new ledger in another directory. Two ledgers for "
                "one stream of data add up their budgets.",
                changed=changed,
            )

    def _refuse_damage(self) -> None:
        """Check everything publishing relies on: the rows of the current window and the state."""
        for problem in self.problems(since=max(0, self.sealed - self.guarantee.window)):
            raise VerificationFailed(
                f"{self.path} is not as it was written: {problem}\n"
                "psgraph verify checks all of it. Restore the newest backup, unless a newer "
                "release was shown. Nothing was measured.",
                code="changed",
            )

    # ---- writing ----

    def take_kind(self, kind: Kind, dropped: tuple[str, ...]) -> WEventPrivacy:
        """Fix the kind of the graphs, which is part of the terms, before the first is sealed."""
        self._refuse_other_kind(kind)
        terms = self.terms.on(kind, dropped)
        if not self.sealed and terms.to_bytes() != self.terms.to_bytes():
            facts = self._facts.restated(terms)
            with self._database.transaction() as connection:
                for name, value in facts.rows().items():
                    connection.execute("UPDATE facts SET value = ? WHERE name = ?", (value, name))
            self._facts, self.terms, self.guarantee = facts, terms, terms.guarantee
            self._attempts.close()
            self._attempts = Attempts(self.path, facts.genesis.hex()[:16])
        return self.guarantee

    def _refuse_other_kind(self, kind: Kind) -> None:
        stored = self.terms.kind or UNDIRECTED
        if self.sealed and kind != stored:
            self.require(self.terms.on(kind))

    def check_attempts(self, *, again: bool = False) -> None:
        """Refuse if the next timestamp was measured too often; with `again`, if it was not."""
        self._attempts.check(self.sealed, again=again)

    def begin_attempt(self, timestamp: int) -> None:
        """Count an attempt to measure a timestamp, before anything is measured.

        What could not be sealed afterwards is refused here already.
        """
        self._link_of_next(timestamp)
        self._attempts.begin(timestamp)

    def allow_again(self) -> None:
        """Record that a person allows the next timestamp, measured too often, to be measured."""
        self._attempts.allow_again(self.sealed)

    def close(self) -> None:
        """Close the files and release the lock."""
        self._attempts.close()
        super().close()

    def seal(self, measured: Measured) -> Seal:
        """Commit a timestamp, after checking every window it is in."""
        timestamp, snapshot = measured.timestamp, measured.snapshot
        measurement, rosters = encode(measured.measurement)
        state, more_rosters = encode(measured.state)
        rosters |= more_rosters | {snapshot.roster.digest: snapshot.roster}
        with self._database.transaction() as connection:
            _, digest_before, previous, accountant = self._link_of_next(timestamp)
            accountant = accountant.record(measured.spent)
            self._store_rosters(connection, rosters)
            columns = (
                timestamp,
                snapshot.time,
                exact_decimal(measured.spent),
                pack_charges(measured.charges),
                measured.seed,
                measured.fingerprint,
                snapshot.roster.digest,
                measurement,
                hashlib.sha256(state).digest(),
                measured.version,
                previous,
                measured.noise,
                None if measured.times is None else measured.times.dumps(),
            )
            assert len(columns) == len(SEALED)
            connection.execute(
                f"INSERT INTO seals ({COLUMNS}) VALUES ({'?, ' * len(columns)}?, NULL, NULL)",
                (*columns, row_digest(digest_before, columns)),
            )
            connection.execute("INSERT OR REPLACE INTO state VALUES (0, ?)", (state,))
        return seal_of(measured, accountant.window_spent)

    def _link_of_next(self, timestamp: int) -> Link:
        """What a timestamp is chained to; refuse one that can't be sealed next."""
        sealed = self.sealed
        if timestamp != sealed:
            raise OutOfOrder(
                f"timestamp {timestamp} can't be sealed: the ledger is at {sealed}\n"
                "Another process may have published it. Open the ledger again."
            )
        link = self._link(timestamp)
        if link.certificate is None:
            raise OutOfOrder(f"the release of timestamp {timestamp - 1} is not finished")
        return link

    def _store_rosters(self, connection: sqlite3.Connection, rosters: dict[str, Roster]) -> None:
        for digest, roster in rosters.items():
            if not self._has_roster(digest):
                content = pack_roster(roster)
                connection.execute("INSERT INTO rosters VALUES (?, ?)", (digest, content))

    def record_release(self, timestamp: int, certificate: str) -> None:
        """Record, once and for all, the digest of the certificate of a timestamp."""
        digest = bytes.fromhex(certificate)
        with self._database.transaction() as connection:
            noted = connection.execute(
                "UPDATE seals SET certificate = ?1, certificate_mark = ?2 "
                "WHERE timestamp = ?3 AND (certificate IS NULL OR certificate = ?1)",
                (digest, self._facts.certificate_mark(timestamp, digest), timestamp),
            )
            if noted.rowcount != 1:
                raise VerificationFailed(
                    f"timestamp {timestamp} was released under another certificate\n"
                    "Another process may have published it. psgraph verify checks all of it."
                )

    # ---- checking ----

    def problems(self, *, since: int = 0) -> Iterator[str]:
        """Describe everything in the file that is not as it was written.

        Parameters
        ----------
        since
            Check only this timestamp and later ones.
        """
        try:
            if not since:
                for digest, content in self._database.rows("SELECT digest, content FROM rosters"):
                    if unpack_roster(content).digest != digest:
                        yield "a roster was changed"
            rows = self._database.rows(
                f"SELECT {COLUMNS} FROM seals WHERE timestamp >= ? ORDER BY timestamp", (since,)
            )
            yield from chain_problems(
                rows,
                self._link(since),
                has_roster=self._has_roster,
                mark=self._facts.certificate_mark,
                current_state=self._state_digest(),
            )
        except LedgerError as error:
            yield str(error).splitlines()[0]

    def _state_digest(self) -> bytes | None:
        if not self.sealed:
            return None
        state = self._state()
        if not isinstance(state, bytes):
            raise LedgerError(f"the state is missing in {self.path}")
        return hashlib.sha256(state).digest()

    def _link(self, timestamp: int) -> Link:
        """What the row of a timestamp is chained to."""
        if not timestamp:
            genesis = self._facts.genesis
            return Link(0, genesis, genesis, Accountant(self.guarantee))
        digest, certificate = self._columns(timestamp - 1, "digest, certificate")
        if not isinstance(digest, bytes):
            raise LedgerError(f"timestamp {timestamp - 1} is missing in {self.path}")
        return Link(timestamp, digest, certificate, self.accountant(before=timestamp))


def _fill(connection: sqlite3.Connection, terms: Terms) -> None:
    """Write the rows of a new ledger."""
    for fact in Facts.begin(terms).rows().items():
        connection.execute("INSERT INTO facts VALUES (?, ?)", fact)
