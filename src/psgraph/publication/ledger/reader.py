"""Reading what a ledger holds: seals, spends, measurements, states and rosters."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Self

import numpy as np

from psgraph._runtime.arrays import Positions
from psgraph.engines.parallel import mapped, thread_count
from psgraph.errors import LedgerError, ReplayConflict, RosterChanged
from psgraph.graph import Roster, Snapshot
from psgraph.graph.roster import DeclaredNodes
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import exact_fraction
from psgraph.publication.ledger.chain import Facts, unpack_charges, unpack_roster
from psgraph.publication.ledger.database import Database
from psgraph.publication.measurement import Seal
from psgraph.publication.records import decode
from psgraph.streams.time_source import TimeSource

__all__ = ["LedgerReader", "RosterGrowth", "fingerprint"]


class LedgerReader:
    """The reading half of a `psgraph.publication.ledger.Ledger`.

    Attributes
    ----------
    terms, guarantee
        What the ledger was started for.
    """

    durable = True

    def __init__(self, database: Database) -> None:
        self._database = database
        self.path = database.path
        try:
            self._facts = Facts.read(dict(database.rows("SELECT name, value FROM facts")))
            self.terms = self._facts.terms
        except ValueError:
            raise LedgerError(f"the terms in {self.path} are damaged") from None
        self.guarantee = self.terms.guarantee
        self._growth = RosterGrowth(self.roster)

    @property
    def dropped(self) -> tuple[str, ...]:
        """What edges have in the input and not in the releases, as the terms say."""
        return self.terms.dropped

    def close(self) -> None:
        """Close the file and release the lock."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def sealed(self) -> int:
        """The number of sealed timestamps."""
        # SQLite looks up one extreme at a time, but scans all rows for two at once.
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
        time, spent, charges, seed, roster, version, noise, times = self._columns(
            timestamp, "time, spent, charges, seed, roster, version, noise, times"
        )
        try:
            return Seal(
                timestamp=timestamp,
                time=time,
                spent=exact_fraction(spent),
                window_spent=self.accountant(before=timestamp + 1).window_spent,
                charges=unpack_charges(charges),
                seed=seed,
                roster=roster,
                version=version,
                noise=noise,
                times=None if times is None else TimeSource.loads(times),
            )
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError, ZeroDivisionError):
            raise LedgerError(f"timestamp {timestamp} is damaged in {self.path}") from None

    def as_sealed(self, timestamp: int, snapshot: Snapshot) -> Snapshot:
        """The snapshot as it was sealed; refuse other data than the timestamp was made from."""
        fingerprint, roster = self._columns(timestamp, "snapshot, roster")
        snapshot = self._growth.reduced(snapshot, roster, timestamp)
        if self.fingerprint(snapshot) != fingerprint:
            raise ReplayConflict(
                f"timestamp {timestamp} is already published, from other data\n"
                "Publishing it again would spend its budget twice. Restore the input it was "
                "published from, or append the new data as a later timestamp."
            )
        return snapshot

    def unfinished(self) -> Seal | None:
        """The last sealed timestamp, if its release is not finished."""
        last = self.sealed - 1
        return self.seal_of(last) if last >= 0 and self.certificate_of(last) is None else None

    def certificate_of(self, timestamp: int) -> str | None:
        """The digest of the certificate a timestamp was released under, if it was."""
        (certificate,) = self._columns(timestamp, "certificate")
        if certificate is not None and not isinstance(certificate, bytes):
            raise LedgerError(f"timestamp {timestamp} is damaged in {self.path}")
        return None if certificate is None else certificate.hex()

    def previous_certificate(self, timestamp: int) -> str | None:
        """The digest of the certificate before a timestamp."""
        return self.certificate_of(timestamp - 1) if timestamp else None

    def measurement_of(self, timestamp: int, classes: Iterable[type]) -> Any:
        """What the method learned at a timestamp, built from its record `classes`."""
        (content,) = self._columns(timestamp, "measurement")
        return self._decode(content, f"the measurement of timestamp {timestamp}", classes)

    def latest_state(self, classes: Iterable[type]) -> Any:
        """The state after the last sealed timestamp; None before the first."""
        return self._decode(self._state(), "the state", classes) if self.sealed else None

    def _state(self) -> object:
        row = self._database.row("SELECT content FROM state WHERE only = 0")
        return None if row is None else row[0]

    def _decode(self, content: object, what: str, classes: Iterable[type]) -> Any:
        if not isinstance(content, bytes):
            raise LedgerError(f"{what} is missing in {self.path}")
        return decode(content, classes=classes, rosters=self.roster)

    def _columns(self, timestamp: int, names: str) -> tuple[Any, ...]:
        row = self._database.row(f"SELECT {names} FROM seals WHERE timestamp = ?", (timestamp,))
        if row is None:
            raise LedgerError(f"timestamp {timestamp} is missing in {self.path}")
        return row

    def roster(self, digest: str) -> Roster | None:
        """A roster by its digest."""
        row = self._database.row("SELECT content FROM rosters WHERE digest = ?", (digest,))
        if row is None:
            return None
        roster = unpack_roster(row[0])
        if roster.digest != digest:
            raise LedgerError(f"a roster in {self.path} was changed")
        return roster

    def declared_nodes(self) -> DeclaredNodes | None:
        """What was declared about the nodes at the start; None before the first timestamp."""
        if not self.sealed:
            return None
        (digest,) = self._columns(0, "roster")
        roster = self.roster(digest)
        if roster is None:
            raise LedgerError(f"a roster is missing in {self.path}")
        return roster.declaration

    @property
    def noise(self) -> str | None:
        """The sampler of the stream; None if no version that records it has used the ledger."""
        if self.terms.noise is not None or not self.sealed:
            return self.terms.noise
        (noise,) = self._columns(self.sealed - 1, "noise")
        return None if noise is None else str(noise)

    def stated_times(self) -> TimeSource | None:
        """Where the times of the stream come from, as stated last; None if that was never said."""
        row = self._database.row(
            "SELECT times FROM seals WHERE times IS NOT NULL ORDER BY timestamp DESC LIMIT 1"
        )
        return None if row is None else TimeSource.loads(str(row[0]))

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

    def times(self) -> list[str | None]:
        """The times of the sealed timestamps, in order."""
        return [time for _, time, _ in self.spends()]

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
        """A keyed digest of a snapshot. A plain digest could be tested against guessed graphs."""
        return fingerprint(self._facts.key, snapshot)

    def _has_roster(self, digest: object) -> bool:
        row = self._database.row("SELECT 1 FROM rosters WHERE digest = ?", (digest,))
        return row is not None


def fingerprint(key: bytes, snapshot: Snapshot) -> bytes:
    """The digest of a snapshot under a key."""
    mark = hmac.new(key, digestmod="sha256")
    time = (snapshot.time or "").encode()
    mark.update(b"%s\0%d\0%s\0" % (snapshot.roster.digest.encode(), len(time), time))
    if stated := snapshot.kind.to_dict():
        mark.update(repr(stated).encode() + b"\0")
    if snapshot.bound is not None:  # all rows, also of edges that are not in use
        mark.update(repr(tuple(snapshot.bound)).encode() + b"\0")
    # All smaller ends, then all larger ones, whatever parts the edges are read in.
    for end in (0, 1):
        for part in mapped(snapshot.parts.edges(), threads=thread_count()):
            mark.update(np.ascontiguousarray(part[end]).data)
    if snapshot.kind.weighted:
        for part in mapped(snapshot.parts.edges(), threads=thread_count()):
            mark.update(np.ascontiguousarray(part.weight, dtype=np.int64).data)
    return mark.digest()


# ---- rosters that grew since ----


class RosterGrowth:
    """Reduces snapshots to the rosters they were published with.

    A roster may grow. Ids that were appended to it belong to no timestamp that is already
    published, so the snapshot of such a timestamp is compared without them.

    Parameters
    ----------
    find
        Finds a roster by its digest.
    """

    def __init__(self, find: Callable[[str], Roster | None]) -> None:
        self._find = find
        self._last: tuple[Roster, Roster, Positions] | None = None

    def reduced(self, snapshot: Snapshot, digest: str, timestamp: int) -> Snapshot:
        """The snapshot over the roster of a digest; as it is where that is impossible.

        Raises
        ------
        RosterChanged
            A node of the published roster is missing. That is public, as rosters are.
        """
        roster = snapshot.roster
        if roster.digest == digest or roster.declared != "given":
            return snapshot  # a roster taken from the edges changes with them
        published, positions = self._positions(roster, digest, timestamp)
        if published.declared != "given":
            return snapshot
        u, v = positions[snapshot.u], positions[snapshot.v]
        if u.size and min(u.min(), v.min()) < 0:
            return snapshot  # such an edge can't have been there
        return Snapshot(
            published,
            u,
            v,
            time=snapshot.time,
            dropped=snapshot.dropped,
            kind=snapshot.kind,
            weight=snapshot.weight,
            owner_sizes=snapshot.owner_sizes,
            bound=snapshot.bound,
        )

    def _positions(self, roster: Roster, digest: str, timestamp: int) -> tuple[Roster, Positions]:
        """The published roster, and the positions in it of the nodes of `roster`, −1 if new."""
        if self._last is not None and self._last[0] is roster and self._last[1].digest == digest:
            return self._last[1:]
        published = self._find(digest)
        if published is None:
            raise LedgerError(f"the roster of timestamp {timestamp} is missing")
        _refuse_change(published, roster, timestamp)
        positions = published.positions_of(roster)
        self._last = roster, published, positions
        return published, positions


def _refuse_change(published: Roster, roster: Roster, timestamp: int) -> None:
    """Refuse a roster that lacks a node it was published with."""
    changed = f"the roster of timestamp {timestamp}, which is already published, was changed: "
    if len(published.sizes) != len(roster.sizes):
        raise RosterChanged(
            f"{changed}the number of its sides differs\nGive the same rosters as before.",
            code="sides",
        )
    for old, new in zip(published.sides, roster.sides, strict=True):
        _refuse_other_ids(old, new, changed)
    missing = int(np.count_nonzero(roster.positions_of(published) < 0))
    if missing:
        raise RosterChanged(
            f"{changed}{missing} of its {len(published)} nodes are missing now\n"
            "The past of a roster can't change, but a roster may grow: put these nodes back. A "
            "node that leaves gets the time in the column `until`; a node that joins gets it in "
            "`from`, or is appended to a plain list and counts from the next timestamp on.",
            code="nodes_missing",
        )
    labels = None if roster.labels is None else roster.labels.take(roster.positions_of(published))
    if labels != published.labels:
        raise RosterChanged(
            f"{changed}its labels differ\n"
            "The past of a roster can't change. A node that changes its label gets a second row "
            "with the time in `from`, and that time in `until` of the first row.",
            code="labels",
        )


def _refuse_other_ids(published: Roster, roster: Roster, changed: str) -> None:
    """Refuse ids of another type than those a roster was published with."""
    if len(published) and len(roster) and published.strings != roster.strings:
        before, now = ("text", "integers") if published.strings else ("integers", "text")
        raise RosterChanged(
            f"{changed}its ids were {before} and are {now} now\n"
            f"Keep the ids of the roster {before}. One id that is not an integer makes all of a "
            "text file text.",
            code="id_type",
        )
