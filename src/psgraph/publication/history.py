"""What a publisher remembers of a stream: in a ledger, or in memory for the length of a run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self

from psgraph._runtime.durable import as_path
from psgraph.errors import InvalidArgument, LedgerError, OutOfOrder, TermsChanged
from psgraph.graph import Kind, Roster, Snapshot
from psgraph.graph.roster import DeclaredNodes
from psgraph.methods.base import Method
from psgraph.methods.registry import find_method
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.ledger import Ledger
from psgraph.publication.ledger.reader import fingerprint
from psgraph.publication.locations import ledger_at, ledger_of, name_in_terms, releases_of
from psgraph.publication.measurement import Measured, Seal, check_noise, seal_of
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.terms import Terms, check_unit, refuse_without_promise
from psgraph.streams.time_source import TimeSource

__all__ = [
    "History",
    "MemoryHistory",
    "OpenStream",
    "check_history",
    "open_stream",
    "reopen_stream",
]


class History(Protocol):
    """The record a publisher seals into before anything is shown."""

    @property
    def path(self) -> Path | None:
        """The file it is kept in."""

    @property
    def durable(self) -> bool:
        """Whether releases are chained by their bytes, and can be handed back."""

    @property
    def sealed(self) -> int:
        """The number of sealed timestamps."""

    def accountant(self) -> Accountant:
        """The spends of the current window."""

    def declared_nodes(self) -> DeclaredNodes | None:
        """What was declared about the nodes at the start; None before the first timestamp."""

    def stated_times(self) -> TimeSource | None:
        """Where the times of the stream come from, as stated last; None if that was never said."""

    def times(self) -> list[str | None]:
        """The times of the sealed timestamps, in order."""

    def latest_state(self, classes: Iterable[type]) -> Any:
        """The state after the last sealed timestamp; None before the first."""

    def unfinished(self) -> Seal | None:
        """The last sealed timestamp, if its release is not finished."""

    def fingerprint(self, snapshot: Snapshot) -> bytes:
        """A keyed digest of a snapshot, by which the same data are recognised."""

    def check_attempts(self, *, again: bool = False) -> None:
        """Refuse if the next timestamp was measured too often; with `again`, if it was not."""

    def begin_attempt(self, timestamp: int) -> None:
        """Count an attempt to measure a timestamp; refuse it after too many."""

    def allow_again(self) -> None:
        """Record that a person allows the next timestamp, measured too often, to be measured."""

    def seal(self, measured: Measured) -> Seal:
        """Record a timestamp, after checking every window it is in."""

    def record_release(self, timestamp: int, certificate: str) -> None:
        """Record that a timestamp is released, under the certificate with this digest."""

    def previous_certificate(self, timestamp: int) -> str | None:
        """The digest of the certificate before a timestamp, which its own refers to."""

    def as_sealed(self, timestamp: int, snapshot: Snapshot) -> Snapshot:
        """The snapshot as it was sealed: without nodes that joined the roster since.

        Other data than the timestamp was made from are refused.
        """

    def seal_of(self, timestamp: int) -> Seal:
        """What was sealed for a timestamp."""

    def certificate_of(self, timestamp: int) -> str | None:
        """The digest of the certificate a timestamp was released under."""

    def measurement_of(self, timestamp: int, classes: Iterable[type]) -> Any:
        """What the method learned at a sealed timestamp."""

    def roster(self, digest: str) -> Roster | None:
        """A roster by its digest."""

    def take_kind(self, kind: Kind, dropped: tuple[str, ...]) -> WEventPrivacy:
        """Fix the kind of the graphs before the first is sealed, and refuse others afterwards.

        Returns the guarantee, in the words for this kind.
        """

    @property
    def dropped(self) -> tuple[str, ...]:
        """What edges have in the input and not in the releases, as the terms say."""

    def close(self) -> None:
        """Release the file."""


class MemoryHistory:
    """Keeps the accountant, the state and the last seal. For experiments, not for publishing."""

    path: Path | None = None
    durable = False

    def __init__(self, guarantee: WEventPrivacy) -> None:
        self._key = os.urandom(32)
        self._accountant = Accountant(guarantee)
        self._state: Any = None
        self._declared_nodes: DeclaredNodes | None = None
        self._stated_times: TimeSource | None = None
        self._times: list[str | None] = []
        self._unfinished: Seal | None = None
        self._kind: Kind | None = None
        self.dropped: tuple[str, ...] = ()

    @property
    def sealed(self) -> int:
        return self._accountant.timestamps

    def take_kind(self, kind: Kind, dropped: tuple[str, ...]) -> WEventPrivacy:
        if self._kind is None:
            guarantee = self._accountant.guarantee
            guarantee = guarantee.on(
                directed=kind.directed, weighted=kind.weighted, flows=kind.flows
            )
            self._accountant = Accountant(guarantee)
            self._kind, self.dropped = kind, dropped
        if kind != self._kind:
            raise TermsChanged(
                f"this stream was started with graphs that are {self._kind}, and this one is "
                f"{kind}\nPublish graphs of one kind, or start a new stream.",
                changed={"kind": (str(self._kind), str(kind))},
            )
        return self._accountant.guarantee

    def accountant(self) -> Accountant:
        return self._accountant

    def declared_nodes(self) -> DeclaredNodes | None:
        return self._declared_nodes

    def stated_times(self) -> TimeSource | None:
        return self._stated_times

    def times(self) -> list[str | None]:
        return list(self._times)

    def latest_state(self, classes: Iterable[type]) -> Any:
        del classes
        return self._state

    def unfinished(self) -> Seal | None:
        return self._unfinished

    def fingerprint(self, snapshot: Snapshot) -> bytes:
        return fingerprint(self._key, snapshot)

    def check_attempts(self, *, again: bool = False) -> None:
        if again:
            raise InvalidArgument(
                "attempts are counted in a ledger, and there is none\nLeave out measure_again.",
                code="not_stopped",
            )

    def begin_attempt(self, timestamp: int) -> None:
        pass

    def allow_again(self) -> None:
        self.check_attempts(again=True)

    def seal(self, measured: Measured) -> Seal:
        self._accountant = self._accountant.record(measured.spent)
        self._state = measured.state
        self._declared_nodes = measured.snapshot.roster.declaration
        self._stated_times = measured.times or self._stated_times
        self._times.append(measured.snapshot.time)
        self._unfinished = seal_of(measured, self._accountant.window_spent)
        return self._unfinished

    def record_release(self, timestamp: int, certificate: str) -> None:
        del timestamp, certificate
        self._unfinished = None

    def previous_certificate(self, timestamp: int) -> str | None:
        del timestamp
        return None

    def as_sealed(self, timestamp: int, snapshot: Snapshot) -> Snapshot:
        del snapshot
        self._refuse(timestamp)

    def seal_of(self, timestamp: int) -> Seal:
        self._refuse(timestamp)

    def certificate_of(self, timestamp: int) -> str | None:
        self._refuse(timestamp)

    def measurement_of(self, timestamp: int, classes: Iterable[type]) -> Any:
        del classes
        self._refuse(timestamp)

    def roster(self, digest: str) -> Roster | None:
        del digest
        return None

    def close(self) -> None:
        pass

    def _refuse(self, timestamp: int) -> NoReturn:
        raise OutOfOrder(
            f"timestamp {timestamp} is already published\n"
            "Give the publisher a ledger to have earlier releases handed back.",
            code="already_published",
        )


@dataclass(frozen=True)
class OpenStream:
    """A stream that can be published: its terms are checked and its ledger is locked.

    Attributes
    ----------
    history
        The ledger; without one, what is kept in memory.
    directory
        Where the releases go, if anywhere.
    """

    method: Method[Any, Any]
    guarantee: WEventPrivacy
    seed: int | None
    noise: str
    history: History
    directory: ReleaseDirectory | None

    @property
    def out(self) -> Path | None:
        """The directory releases are written to."""
        return None if self.directory is None else self.directory.path

    def close(self) -> None:
        """Release the ledger."""
        self.history.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_stream(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    *,
    ledger: Path | None,
    out: Path | None,
    seed: int | None,
    noise: str,
) -> OpenStream:
    """Open or start the ledger of a stream; without `ledger` and `out`, use memory only.

    The first snapshot says what an edge is: see `History.take_kind`.
    """
    guarantee = guarantee.on(directed=False, weighted=False)
    directory = None if out is None else ReleaseDirectory(out)
    history: History = MemoryHistory(guarantee)
    if ledger is None and directory is not None:
        ledger = ledger_of(directory.path)
    if ledger is not None:
        terms = _terms(
            method, guarantee, ledger=ledger, directory=directory, seed=seed, noise=noise
        )
        if directory is not None:
            directory.check_usable(ledger=ledger)
        history = Ledger(ledger, terms)
        guarantee = history.guarantee
        _close_unless_current(history, directory)
    return OpenStream(method, guarantee, seed, noise, history, directory)


def reopen_stream(ledger: str | Path, out: str | Path | None = None) -> OpenStream:
    """Open the ledger of a stream under the terms it was started with. It is opened once.

    Parameters
    ----------
    ledger
        Its file, or the directory of its releases.
    out
        Where releases go, if not where the terms say.
    """
    path = ledger_at(ledger)
    opened = Ledger(path)
    try:
        terms, noise = opened.terms, opened.noise or "exact"
        chosen = releases_of(path, terms.out) if out is None else as_path(out, "out")
        directory = None if chosen is None else ReleaseDirectory(chosen)
        method, guarantee = _method_of(terms, path), terms.guarantee
        check_unit(method, guarantee)
        check_noise(noise, terms.seed)
        if directory is not None:
            directory.check_usable(ledger=path)
        opened.require(
            _terms(
                method, guarantee, ledger=path, directory=directory, seed=terms.seed, noise=noise
            )
        )
    except BaseException:
        opened.close()
        raise
    _close_unless_current(opened, directory)
    return OpenStream(method, guarantee, terms.seed, noise, opened, directory)


def check_history(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    *,
    ledger: Path,
    out: str | Path | None,
    seed: int | None,
    noise: str,
    not_private: bool = False,
    large_epsilon: bool = False,
    measure_again: bool = False,
    kind: Kind | None = None,
) -> None:
    """Refuse what a publisher would refuse: sampler, promise, directory, terms, lock, attempts.

    Nothing is started.

    It is quick, so a command can call it before it reads its input and compiles kernels.
    """
    check_noise(noise, seed)
    refuse_without_promise(
        method, guarantee, seed=seed, not_private=not_private, large_epsilon=large_epsilon
    )
    directory = None if out is None else Path(out)
    if directory is not None:
        ReleaseDirectory(directory).check_usable(ledger=ledger)
    if ledger.exists():
        with open_stream(
            method, guarantee, ledger=ledger, out=directory, seed=seed, noise=noise
        ) as opened:
            opened.history.check_attempts(again=measure_again)
            if kind is not None and opened.history.sealed:
                opened.history.take_kind(kind, ())


def _terms(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    *,
    ledger: Path,
    directory: ReleaseDirectory | None,
    seed: int | None,
    noise: str,
) -> Terms:
    """The terms of a stream."""
    return Terms(
        guarantee=guarantee,
        method=method.name,
        distribution_version=method.distribution_version,
        parameters=dict(method.parameters()),
        seed=seed,
        noise=noise,
        out=None if directory is None else name_in_terms(ledger, directory.path),
    )


def _method_of(terms: Terms, ledger: Path) -> Method[Any, Any]:
    """Build the method a ledger was started with."""
    try:
        return find_method(terms.method)(**terms.parameters)
    except TypeError:
        raise TermsChanged(
            f"method {terms.method!r} does not know all parameters that {ledger} was started with\n"
            "Install the version of the method that it was started with.",
            code="unknown_parameters",
        ) from None


def _close_unless_current(ledger: Ledger, directory: ReleaseDirectory | None) -> None:
    """Refuse a restored backup that would measure again what is already published."""
    try:
        sealed = ledger.sealed
        newest = [] if directory is None else directory.timestamps()[-1:]
        if newest and newest[0] >= sealed:
            raise LedgerError(
                f"the ledger has sealed {sealed} timestamps, but timestamp {newest[0]} is already "
                "published\n"
                "It looks like an older copy of the ledger. Restore the newest copy; continuing "
                "would spend the budget of those timestamps twice.",
                code="older_copy",
            )
    except BaseException:
        ledger.close()
        raise
