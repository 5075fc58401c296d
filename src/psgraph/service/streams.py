"""The streams of a service: their terms, their directories, and who sees them.

A stream's releases are in an ordinary release directory with its ledger beside it. Once the service
is stopped, `psgraph publish`, `resume`, `verify`, `budget` and `export` work on it, and a stream
that was published by these commands can be adopted, in place.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from psgraph._runtime.durable import make_directory
from psgraph.errors import (
    InvalidArgument,
    KindMismatch,
    PsgraphError,
    TermsChanged,
)
from psgraph.graph.kind import find_kind
from psgraph.methods.base import Caveat
from psgraph.methods.registry import build_method, check_kind
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.certificate import Certificate
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_at, releases_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.releases import Releases
from psgraph.publication.terms import Promise, refuse_without_promise
from psgraph.service.audit_log import SERVICE, AuditLog
from psgraph.service.clock import now_text
from psgraph.service.copies import CopiedReleases
from psgraph.service.database import Database, OpenDatabases
from psgraph.service.inbox import Inbox
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal
from psgraph.service.rosters import StoredRoster, StoredSides
from psgraph.service.schedule import Schedule
from psgraph.service.schemas import Activity, NewStream, StreamChange
from psgraph.service.team import Alone, StreamLock
from psgraph.service.terms import (
    guarantee_of,
    latest_roster,
    promise_of,
    resolved,
    terms_of_ledger,
)
from psgraph.stores.part_files import Address
from psgraph.streams.time_source import TimeSource

__all__ = ["RELEASES", "Stream", "Streams"]

RELEASES = "releases"
_ACTIONS = {
    "active": "continue stream",
    "paused": "pause stream",
    "archived": "archive stream",
}


class Stream:
    """One stream.

    Attributes
    ----------
    terms
        Its terms as created; public.
    out
        The directory of its releases.
    home
        The private directory of its node list, uploads and events.
    inbox
        Its accepted and unpublished private data.
    lock
        Held while data are accepted or taken for a timestamp.
    sealed
        How many timestamps are sealed, as far as the worker knows.
    promise
        What its releases promise.
    measuring
        The timestamp that the worker is publishing, also between attempts.
    trouble
        Why the worker can't continue, for curators; it may depend on private data.
    taken
        Timestamps below this one take no more data, as far as this process knows.
    activity
        "active"; "paused": nothing is published; "archived": nothing is accepted either.
    copied
        Whether this process only has its releases, from an address that others copy them to.
    damaged
        Whether a file of the stream can't be read; it is not published until the next start.
    catches_up
        Timestamps below this one are published although their periods passed long ago.
    stopped
        Whether a timestamp was measured too often, and a curator has to allow more.
    """

    def __init__(
        self,
        terms: NewStream,
        home: Path,
        out: Path,
        databases: OpenDatabases,
        *,
        created: str,
        adopted: bool,
        shared: bool,
        copies: Address | None = None,
        title: str | None = None,
        activity: Activity = "active",
    ) -> None:
        self.terms, self.home, self.out = terms, home, out
        self.created, self.adopted = created, adopted
        self.activity, self._title = activity, title
        self.lock = StreamLock(home / "lock" if shared else None)
        self._tick: tuple[int, float] | None = None
        self.copied = copies is not None
        self.releases = (
            Releases(ReleaseDirectory(out)) if copies is None else CopiedReleases(out, copies)
        )
        self.kind = find_kind(terms.kind, terms.weights)
        self.roster: StoredRoster | StoredSides = (
            StoredSides(home) if self.kind.two_sided else StoredRoster(home / "roster.parquet")
        )
        self.inbox = Inbox(home, databases)
        self.measuring: int | None = None
        self.trouble: str | None = None
        self.stopped, self.damaged, self.catches_up, self.taken = False, False, 0, 0
        self.sealed, self.promise = self._read_ledger()
        self.known_releases()
        if not self.roster.readable:
            self.block("The node list")

    def _read_ledger(self) -> tuple[int, Promise]:
        """Return how many timestamps are sealed, released or not, and the promise."""
        if self.copied:
            return 0, promise_of(self.terms)
        try:
            with Ledger(ledger_at(self.out), writing=False) as ledger:
                return ledger.sealed, Promise.under(ledger.terms)
        except PsgraphError as error:
            self.block("The ledger", error)
            unknown = Caveat(None, "its ledger can't be read.")
            return len(self.known_releases()), Promise(self.guarantee, unknown)

    def all_files(self) -> Path:
        """Return the directory, with the files of all releases."""
        if isinstance(self.releases, CopiedReleases):
            self.releases.complete()
        return self.out

    def known_releases(self) -> tuple[Certificate, ...]:
        """Return the certificates of all releases; without those behind a damaged one."""
        try:
            return self.releases.refresh()
        except (PsgraphError, OSError, ValueError) as error:
            self.block("A certificate", error)
            return self.releases.certificates

    def block(self, what: str, error: Exception | None = None) -> None:
        """Publish nothing until a damaged file is restored; other streams continue."""
        kind = "" if error is None else f" ({type(error).__name__})"
        self.damaged = True
        self.trouble = (
            f"{what} can't be read{kind}. Restore the files of this stream from a backup, then "
            "restart the service."
        )

    @property
    def name(self) -> str:
        return self.terms.name

    @property
    def title(self) -> str:
        """The title, which is no part of the terms and can change."""
        return self.terms.title if self._title is None else self._title

    def rename(self, title: str | None, activity: Activity) -> None:
        """Take over what curators change."""
        self._title, self.activity = title, activity

    @property
    def active(self) -> bool:
        """Whether it is published."""
        return self.activity == "active" and not (self.stopped or self.damaged)

    @property
    def waits(self) -> bool:
        """Whether its ticks wait for a snapshot."""
        return self.terms.source == "snapshots" and self.terms.missing == "wait"

    def tick(self, timestamp: int) -> float:
        """Return when a timestamp of a schedule is due; the latest result is kept."""
        assert self.schedule is not None
        known = self._tick
        if known is None or known[0] != timestamp:
            known = self._tick = timestamp, self.schedule.due(timestamp)
        return known[1]

    @property
    def guarantee(self) -> WEventPrivacy:
        return guarantee_of(self.terms)

    @cached_property
    def schedule(self) -> Schedule | None:
        """Its ticks; None if a timestamp is published as soon as it is posted."""
        terms = self.terms
        if terms.period is None:
            return None
        return Schedule.starting(
            terms.period, terms.timezone, terms.first_period, float(terms.delay_seconds)
        )

    @property
    def times(self) -> TimeSource | None:
        """Where its times come from; None for an adopted stream, whose ledger states it."""
        if self.schedule is not None:
            return self.schedule.times
        return None if self.adopted else TimeSource("files", uploaded=True)


class Streams:
    """All streams of a service."""

    def __init__(
        self,
        directory: Path,
        database: Database,
        audit: AuditLog,
        team: Alone | None = None,
        *,
        copies: Address | None = None,
    ) -> None:
        self._copies = copies
        self._directory, self._database, self._audit = directory, database, audit
        self._team = Alone() if team is None else team
        self._lock = threading.Lock()
        self._streams: dict[str, Stream] = {}
        self._databases = OpenDatabases()
        self.look()

    def look(self) -> None:
        """Learn about streams of other processes, and how far all are."""
        with self._lock:
            known = self._streams
            rows = self._database.rows("SELECT name, title, activity FROM streams ORDER BY name")
            for name, title, activity in rows:
                if name in known:
                    known[name].rename(title, activity)
            new = [self._opened(name) for name, *_ in rows if name not in known]
            if new:
                self._team.add(new)
                self._streams = {**known, **{each.name: each for each in new}}
        self._team.look_at(self._streams)
        if self._copies is not None:
            for name, released in self._database.rows("SELECT stream, released FROM copies"):
                if name in self._streams:
                    releases = self._streams[name].releases
                    assert isinstance(releases, CopiedReleases)
                    releases.announced = released

    def _opened(self, name: str) -> Stream:
        row = self._database.row(
            "SELECT terms, out, created, adopted, title, activity FROM streams WHERE name = ?",
            (name,),
        )
        assert row is not None  # streams are never removed
        terms, out, created, adopted, title, activity = row
        if self._copies is not None:
            make_directory(self.home(name), mode=0o700)
        return Stream(
            NewStream.model_validate_json(terms),
            self.home(name),
            Path(out)
            if adopted and self._copies is None
            else self.home(name) / RELEASES,  # also if it was moved
            self._databases,
            created=created,
            adopted=bool(adopted),
            shared=self._team.shared,
            copies=None if self._copies is None else self._copies / name,
            title=title,
            activity=activity,
        )

    def home(self, name: str) -> Path:
        """Return the private directory of a stream."""
        return self._directory / "streams" / name

    def __iter__(self) -> Iterator[Stream]:
        return iter(sorted(self._streams.values(), key=lambda each: each.name))

    def __len__(self) -> int:
        return len(self._streams)

    def seen_by(self, identity: Identity) -> list[Stream]:
        """Return the streams that exist for a caller."""
        return [each for each in self if identity.sees(each.name, public=each.terms.public)]

    def visible(self, name: str, identity: Identity) -> Stream:
        """Return a stream by its name; refuse a hidden one as if it did not exist."""
        stream = self._streams.get(name)
        if stream is None and self._team.shared and identity.sees(name, public=True):
            self.look()  # another process may have created it just now
            stream = self._streams.get(name)
        if stream is not None and identity.sees(name, public=stream.terms.public):
            return stream
        if identity.role == "public":
            raise Refusal(
                401,
                "unauthorised",
                "There is no public stream of this name.",
                "Send the header Authorization: Bearer TOKEN, or check the name.",
                {"WWW-Authenticate": "Bearer"},
            )
        raise Refusal(
            404,
            "not_found",
            "This token sees no stream of this name.",
            "List the streams, or ask a curator for a token.",
        )

    def create(self, new: NewStream, by: Identity) -> Stream:
        """Create a stream and its ledger, which fixes the guarantee."""
        terms = resolved(new)
        guarantee, kind = guarantee_of(terms), find_kind(terms.kind, terms.weights)
        method = build_method(terms.method, terms.parameters, guarantee)
        try:
            check_kind(method, kind)
        except KindMismatch as error:
            message, _, remedy = str(error).partition("\n")
            raise Refusal(422, "invalid", message, remedy) from None
        refuse_without_promise(method, guarantee, seed=terms.seed, not_private=False)
        with self._lock:
            if terms.name in self._streams:
                raise _taken()
            home = self.home(terms.name)
            make_directory(home, mode=0o700)
            out = home / RELEASES
            try:
                Publisher(method, guarantee, out=out, seed=terms.seed, kind=kind).close()
            except TermsChanged:  # another service left this directory
                raise _taken() from None
            return self._register(terms, out, by, adopted=False)

    def adopt(self, name: str, out: Path) -> Stream:
        """Register the stream of a release directory under a name; its terms are in its ledger.

        A stream that is already registered is returned, so that every start can name it.

        Raises
        ------
        InvalidArgument
            The name is taken or not valid, or the directory has no releases.
        """
        for known in self:
            if known.name == name and known.adopted and known.out.resolve() == out.resolve():
                return known
        path = ledger_at(out)
        Publisher.resume(path).close()  # finishes a release that was interrupted
        with Ledger(path, writing=False) as ledger:
            directory = releases_of(path, ledger.terms.out)
            terms, roster = terms_of_ledger(name, ledger), latest_roster(ledger)
        if directory is None:
            raise InvalidArgument(
                f"the stream of {path} is not written to a directory\n"
                "The service can only adopt a stream that is."
            )
        with self._lock:
            if terms.name in self._streams:
                raise InvalidArgument(f"{_taken().message}\n{_taken().remedy}")
            make_directory(self.home(terms.name), mode=0o700)
            stream = self._register(terms, directory.absolute(), SERVICE, adopted=True)
        if roster is not None and terms.roster == "list":
            stream.roster.grow(roster)
        return stream

    def measure_again(self, stream: Stream, by: Identity) -> None:
        """Allow a timestamp that was measured too often, and never sealed, to be measured.

        Raises
        ------
        InvalidArgument
            The stream was not stopped.
        """
        with stream.lock:
            with Publisher.resume(ledger_at(stream.out), measure_again=True) as publisher:
                timestamp = publisher.spending.timestamps
            self._audit.add(by, "measure again", stream=stream.name, timestamp=timestamp)
            self._team.continue_stopped(stream)

    def catch_up(self, stream: Stream, by: Identity) -> None:
        """Publish the periods that passed while the service was stopped."""
        assert stream.schedule is not None
        self._audit.add(by, "catch up", stream=stream.name, timestamp=stream.sealed)
        self._team.catch_up(stream, stream.schedule.current())

    def change(self, stream: Stream, change: StreamChange, by: Identity) -> None:
        """Pause, archive or continue a stream, or change its title."""
        title = stream.title if change.title is None else change.title
        activity = change.activity or stream.activity
        actions = [] if title == stream.title else ["retitle stream"]
        if activity != stream.activity:
            actions.append(_ACTIONS[activity])
        with stream.lock, self._database.transaction() as connection:
            connection.execute(
                "UPDATE streams SET title = ?, activity = ? WHERE name = ?",
                (title, activity, stream.name),
            )
            for action in actions:
                self._audit.add(by, action, stream=stream.name)
        if _ACTIONS["active"] in actions and stream.schedule is not None:
            self._team.catch_up(stream, stream.schedule.current())
        stream.rename(title, activity)

    def _register(self, terms: NewStream, out: Path, by: Identity, *, adopted: bool) -> Stream:
        with self._database.transaction() as connection:
            known = "SELECT 1 FROM streams WHERE name = ?"
            if connection.execute(known, (terms.name,)).fetchone() is not None:
                raise _taken()
            connection.execute(
                "INSERT INTO streams (name, terms, out, created, adopted) VALUES (?, ?, ?, ?, ?)",
                (terms.name, terms.model_dump_json(), str(out), now_text(), int(adopted)),
            )
            action = "adopt stream" if adopted else "create stream"
            self._audit.add(by, action, stream=terms.name)
        stream = self._opened(terms.name)
        self._team.add([stream])
        self._streams = {**self._streams, terms.name: stream}
        return stream


def _taken() -> Refusal:
    return Refusal(
        409,
        "name_taken",
        "A stream of this name already exists.",
        "Choose another name. The guarantee of a stream can't be changed.",
    )
