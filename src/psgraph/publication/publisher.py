"""Measure → seal → synthesise over a stream, under a guarantee.

Private edges are read in a method's `measure` and nowhere else. What it learned is sealed in the
ledger before anything is shown; the rest is made from sealed values and a stored seed, and comes
out the same whenever it is made.
"""

from __future__ import annotations

import hashlib
import operator
import os
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np

from psgraph._runtime.timing import phase
from psgraph._version import __version__
from psgraph.engines.base import Engine
from psgraph.engines.local import LocalEngine
from psgraph.errors import (
    DataError,
    InvalidArgument,
    LedgerError,
    MethodError,
    OutOfOrder,
    ReplayConflict,
    TermsChanged,
    VerificationFailed,
    exact_decimal,
)
from psgraph.graph import Snapshot
from psgraph.methods.base import Method, check_caveat, find_method, measure_with
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import OpenDPSampler, Sampler
from psgraph.publication.certificate import Certificate, Release
from psgraph.publication.ledger import Ledger, Seal, Terms
from psgraph.publication.records import decode, encode
from psgraph.publication.releases import LEDGER_NAME, ReleaseDirectory, graph_bytes

__all__ = ["Publisher"]


class Publisher:
    """Publishes snapshots one after the other, never beyond the guarantee.

    Parameters
    ----------
    method
        What turns snapshots into synthetic graphs, for example ``PSGraph()``.
    guarantee
        What is promised of all releases.
    ledger
        The durable record of the stream. With it a publication survives crashes and restarts:
        a timestamp that is already sealed is handed back instead of measured again.
    out
        The directory to write releases to. Its ledger is ``out/ledger.sqlite`` unless another is
        named.
    seed
        For research: makes the run repeatable, and its releases not private.
    noise
        ``"exact"`` for psgraph's own sampler, ``"opendp"`` to draw Laplace noise with OpenDP.

    Without `ledger` and `out` nothing is kept: fit for experiments, not for publishing.

    Examples
    --------
    >>> from psgraph.graph import Roster
    >>> from psgraph.methods.psgraph import PSGraph
    >>> snapshot = Snapshot(Roster.range(40), range(39), range(1, 40))
    >>> with Publisher(PSGraph(), WEventPrivacy("1", window=5), seed=1) as publisher:
    ...     release = publisher.publish(snapshot)
    >>> release.certificate.private, release.certificate.spent
    (False, Fraction(1, 5))
    """

    def __init__(
        self,
        method: Method[Any, Any],
        guarantee: WEventPrivacy,
        *,
        ledger: str | Path | None = None,
        out: str | Path | None = None,
        seed: int | None = None,
        noise: str = "exact",
        engine: Engine | None = None,
    ) -> None:
        if noise not in ("exact", "opendp"):
            raise InvalidArgument(f"noise must be 'exact' or 'opendp', not {noise!r}")
        if noise == "opendp" and seed is not None:
            raise InvalidArgument("OpenDP draws from the operating system and can't be seeded")
        self.method, self.guarantee, self.seed = method, guarantee, seed
        self._noise = noise
        self._sampler = self._make_sampler(0)
        self._engine = engine or LocalEngine()
        self._accountant = Accountant(guarantee)
        self._state: Any = None
        self._previous: str | None = None
        self._unfinished: Seal | None = None
        self._from_edges: bool | None = None
        self._cursor = 0
        self._latest: tuple[int, Snapshot] | None = None  # for methods that read two snapshots
        self._directory = None if out is None else ReleaseDirectory(out)
        self._ledger: Ledger | None = None
        # States are rebuilt in order when old releases are made again: (timestamps done, state).
        self._rebuilt: tuple[int, Any] = (0, None)
        if ledger is None and out is not None:
            ledger = Path(out) / LEDGER_NAME
        if ledger is not None:
            self._open_ledger(Path(ledger))

    def _open_ledger(self, path: Path) -> None:
        """Begin the ledger or take it up again, and finish what was left unfinished."""
        terms = Terms(
            epsilon=exact_decimal(self.guarantee.epsilon),
            window=self.guarantee.window,
            method=self.method.name,
            law=self.method.distribution_version,
            parameters=dict(self.method.parameters()),
            seed=self.seed,
            out=_relative(self._directory, path),
        )
        if self._directory is not None:
            self._directory.check_usable(ledger=path)
        self._ledger = Ledger(path, terms)
        try:
            sealed = self._ledger.sealed
            self._refuse_stale_ledger(sealed)
            self._accountant = self._ledger.accountant()
            self._from_edges = self._ledger.roster_from_edges()
            if sealed:
                self._state = self._decode(self._ledger.latest_state())
                last = self._ledger.seal_of(sealed - 1)
                self._previous = last.previous.hex() if sealed > 1 else None
                if last.certificate is None:
                    self._unfinished = last
                    self._finish()
                else:
                    self._previous = last.certificate.hex()
        except BaseException:
            self.close()
            raise

    def _refuse_stale_ledger(self, sealed: int) -> None:
        """A ledger put back from a backup would measure again what is already published."""
        newest = self._directory.timestamps()[-1:] if self._directory is not None else []
        if newest and newest[0] >= sealed:
            raise LedgerError(
                f"the ledger has sealed {sealed} timestamps, but timestamp {newest[0]} is already "
                "published\n"
                "It looks like an older copy of the ledger. Put the newest copy back; going on "
                "would spend the budget of those timestamps twice."
            )

    @classmethod
    def resume(
        cls, ledger: str | Path, *, out: str | Path | None = None, replay: bool = False
    ) -> Self:
        """Go on with a ledger where it stopped, under the terms it was begun with.

        `publish` then expects the first snapshot that is not sealed yet. With `replay` it starts
        over at the first timestamp and hands back what is sealed.
        """
        path = Path(ledger)
        with Ledger(path) as opened:  # for writing, which brings an older format up to date
            terms = opened.terms
        if out is None and terms.out is not None:
            out = path.parent / terms.out
        try:
            method = find_method(terms.method)(**terms.parameters)
        except TypeError:
            raise TermsChanged(
                f"method {terms.method!r} does not know all parameters that {path} was begun with\n"
                "Install the version of the method that began it."
            ) from None
        publisher = cls(method, terms.guarantee, ledger=path, out=out, seed=terms.seed)
        if not replay:
            publisher._cursor = publisher._accountant.timestamps
        return publisher

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the ledger."""
        if self._ledger is not None:
            self._ledger.close()

    @property
    def budget(self) -> Accountant:
        """Spent and left in the current window."""
        return self._accountant

    @property
    def ledger(self) -> Path | None:
        """The file of the ledger."""
        return None if self._ledger is None else self._ledger.path

    @property
    def out(self) -> Path | None:
        """The directory releases are written to."""
        return None if self._directory is None else self._directory.path

    def times(self) -> list[str | None]:
        """The times of the timestamps in the ledger, in order."""
        return [] if self._ledger is None else [time for _, time, _ in self._ledger.spends()]

    @property
    def private(self) -> bool:
        """Whether the noise comes from a secret source."""
        return self._sampler.private

    # ---- publishing ----

    def publish_all(self, stream: Iterable[Snapshot]) -> Iterator[Release]:
        """Publish every snapshot of a stream, each as soon as it is asked for."""
        for snapshot in stream:
            yield self.publish(snapshot)

    def publish(self, snapshot: Snapshot, *, timestamp: int | None = None) -> Release:
        """Publish one snapshot.

        Parameters
        ----------
        timestamp
            Its place in the stream, from 0; the next one unless given. A place that is sealed
            hands back its release if the data are the same, and refuses other data.

        The window is checked before anything is measured, and the whole share of the timestamp
        is booked whether or not the method used all of it.
        """
        if not isinstance(snapshot, Snapshot):
            raise InvalidArgument(
                f"publish takes a Snapshot, not {type(snapshot).__name__}\n"
                "Build one with Snapshot.from_edges(...), or read a stream with read_stream(...)."
            )
        self._finish()
        self._check_snapshot(snapshot)
        place = self._cursor if timestamp is None else _whole(timestamp)
        if place > self._accountant.timestamps or place < 0:
            raise OutOfOrder(
                f"timestamp {place} can't be published before timestamp "
                f"{self._accountant.timestamps}\nPublish the snapshots in order, without gaps."
            )
        if place == self._accountant.timestamps:
            release = self._publish_next(snapshot)
        else:
            release = self._hand_back(place, snapshot)
        self._cursor = place + 1
        if self.method.remembers_snapshot:
            self._latest = (place, snapshot)
        return release

    def _check_snapshot(self, snapshot: Snapshot) -> None:
        """Refuse a time that can't be written, and another kind of roster than before."""
        if snapshot.time is not None and not _is_text(snapshot.time):
            raise DataError(
                "the time of a snapshot is not plain Unicode text\nRename the file it comes from."
            )
        from_edges = snapshot.roster.from_edges
        if self._from_edges is None or self._from_edges == from_edges:
            return
        given, read = "a roster given from outside", "rosters read off the edges"
        raise TermsChanged(
            f"this stream was begun with {given if from_edges else read}, "
            f"now it has {read if from_edges else given}\n"
            "That changes what is public about the nodes. Go on as before, or begin a new ledger."
        )

    def _finish(self) -> None:
        """Release what is sealed and was not released, because something was in the way."""
        if self._unfinished is not None:
            self._release(self._unfinished, self._state)

    def _publish_next(self, snapshot: Snapshot) -> Release:
        timestamp = self._accountant.timestamps
        allowance = self.method.request(self._state, self._accountant)
        self._accountant.check(allowance)
        if self.seed is not None:
            self._sampler = self._make_sampler(timestamp)
        budget = Budget(allowance, self._sampler, spending=self._accountant)
        before, previous = self._latest or (-1, None)
        if before != timestamp - 1:
            previous = None
        measurement = measure_with(
            self.method, snapshot, self._state, budget, self._engine, previous=previous
        )
        if budget.spent > allowance:
            raise MethodError(f"method {self.method.name!r} spent more than it was allowed")
        check_caveat(self.method, budget.trace)
        state = self.method.update(self._state, measurement)
        seal = Seal(
            timestamp=timestamp,
            time=snapshot.time,
            spent=allowance,
            charges=budget.trace,
            seed=self._sampler.source.bits(63),
            snapshot=b"",
            roster=snapshot.roster.digest,
            state=b"",
            version=__version__,
            previous=b"",
            certificate=None,
        )
        if self._ledger is not None:
            with phase("seal"):
                self._seal(self._ledger, seal, snapshot, measurement, state)
            self._unfinished = seal
        self._accountant, self._state = self._accountant.record(allowance), state
        self._from_edges = snapshot.roster.from_edges
        return self._release(seal, state)

    def _seal(
        self, ledger: Ledger, seal: Seal, snapshot: Snapshot, measurement: Any, state: Any
    ) -> None:
        measured, rosters = encode(measurement)
        stored_state, more_rosters = encode(state)
        ledger.seal(
            timestamp=seal.timestamp,
            time=seal.time,
            spent=seal.spent,
            charges=seal.charges,
            seed=seal.seed,
            snapshot=ledger.fingerprint(snapshot),
            roster=snapshot.roster,
            measurement=measured,
            state=stored_state,
            version=seal.version,
            rosters=rosters | more_rosters,
        )

    def _release(self, seal: Seal, state: Any) -> Release:
        """Make, write and note the release of the last sealed timestamp."""
        release, content = self._synthesise(seal, state, self._previous)
        if self._directory is not None:
            with phase("write"):
                self._directory.write(content, release.certificate)
        if self._ledger is not None:
            with phase("seal"):
                digest = release.certificate.digest
                self._ledger.record_release(seal.timestamp, bytes.fromhex(digest))
                self._previous = digest
                self._unfinished = None
        return release

    def _synthesise(
        self, seal: Seal, state: Any, previous: str | None
    ) -> tuple[Release, memoryview]:
        """The release of a sealed timestamp, and its file: always the same."""
        rng = np.random.Generator(np.random.PCG64(seal.seed))
        graph = self.method.synthesise(state, rng, self._engine)
        roster = graph.roster
        if roster.digest != seal.roster:
            raise MethodError(f"method {self.method.name!r} changed the roster")
        content = memoryview(b"")
        if self._ledger is not None:
            with phase("write"):
                content = graph_bytes(graph)
        caveat = self.method.caveat
        certificate = Certificate(
            timestamp=seal.timestamp,
            time=seal.time,
            guarantee=self.guarantee,
            charges=seal.charges,
            spent=seal.spent,
            window_spent=self._window_spent(seal.timestamp),
            method=self.method.name,
            version=seal.version,
            parameters=self.method.parameters(),
            roster=roster.statement,
            nodes=len(roster),
            edges=graph.edge_count,
            private=self.private and (caveat is None or caveat.factor is not None),
            summary=self.method.summary(state),
            caveat=caveat,
            previous=previous,
            graph_sha256=hashlib.sha256(content).hexdigest() if self._ledger else None,
        )
        return Release(graph, certificate), content

    # ---- handing back what is sealed ----

    def _hand_back(self, timestamp: int, snapshot: Snapshot) -> Release:
        ledger = self._ledger
        if ledger is None:
            raise OutOfOrder(
                f"timestamp {timestamp} is already published\n"
                "Give the publisher a ledger to have earlier releases handed back."
            )
        seal = ledger.seal_of(timestamp)
        if ledger.fingerprint(snapshot) != seal.snapshot:
            raise ReplayConflict(
                f"timestamp {timestamp} is already published, from other data\n"
                "Publishing it again would spend its budget twice. Restore the input it was "
                "published from, or append the new data as a later timestamp."
            )
        if self._directory is not None and self._directory.has(timestamp):
            release = self._directory.read(timestamp, snapshot.roster)
        else:
            before = ledger.seal_of(timestamp - 1).certificate if timestamp else None
            state = self._state_at(timestamp)
            release, content = self._synthesise(seal, state, before.hex() if before else None)
            if self._directory is not None and self._matches(release, seal):
                self._directory.write(content, release.certificate)
        if not self._matches(release, seal):
            raise VerificationFailed(
                f"the release of timestamp {timestamp} is not the one the ledger knows\n"
                "Its files or the ledger were changed, or the installed libraries write other "
                "bytes than those it was made with. psgraph verify tells which."
            )
        return release

    @staticmethod
    def _matches(release: Release, seal: Seal) -> bool:
        return bytes.fromhex(release.certificate.digest) == seal.certificate

    def _state_at(self, timestamp: int) -> Any:
        """The state after a sealed timestamp, from the stored measurements before it."""
        assert self._ledger is not None
        done, state = self._rebuilt
        if done > timestamp + 1:
            done, state = 0, None
        for earlier in range(done, timestamp + 1):
            measurement = self._decode(self._ledger.measurement_of(earlier))
            state = self.method.update(state, measurement)
        self._rebuilt = (timestamp + 1, state)
        return state

    def _decode(self, content: bytes) -> Any:
        assert self._ledger is not None
        return decode(content, classes=self.method.records, rosters=self._ledger.roster)

    def _window_spent(self, timestamp: int) -> Fraction:
        """What the window that ends with a timestamp has spent."""
        if timestamp == self._accountant.timestamps - 1:
            return self._accountant.window_spent
        assert self._ledger is not None
        return self._ledger.accountant(before=timestamp + 1).window_spent

    def _make_sampler(self, timestamp: int) -> Sampler:
        if self.seed is None:
            source = RandomSource.secure()
        else:
            source = RandomSource.seeded(self.seed, timestamp=timestamp)
        return OpenDPSampler(source) if self._noise == "opendp" else Sampler(source)


def _whole(timestamp: int) -> int:
    try:
        return operator.index(timestamp)
    except TypeError:
        raise InvalidArgument(
            f"a timestamp is a whole number, not {type(timestamp).__name__}"
        ) from None


def _is_text(time: str) -> bool:
    """Whether UTF-8 can hold it; a file name need not be text."""
    try:
        time.encode()
    except UnicodeEncodeError:
        return False
    return True


def _relative(directory: ReleaseDirectory | None, ledger: Path) -> str | None:
    """Where releases go, seen from the ledger, so that both can be moved together."""
    if directory is None:
        return None
    return os.path.relpath(directory.path.absolute(), ledger.absolute().parent)
