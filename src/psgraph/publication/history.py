"""What a publisher remembers of a stream: in a ledger, or in memory for the length of a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn, Protocol

from psgraph.errors import LedgerError, OutOfOrder, TermsChanged
from psgraph.graph import Roster, Snapshot
from psgraph.methods.base import Method, find_method
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_of, name_in_terms, releases_of
from psgraph.publication.measurement import Measured, Seal, check_noise, seal_of
from psgraph.publication.promise import refuse_without_promise
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.terms import Terms

__all__ = ["History", "MemoryHistory", "check_history", "open_history", "resumed"]


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

    def roster_kind(self) -> str | None:
        """The kind of roster the stream was started with; None before the first timestamp."""

    def stated_times(self) -> str | None:
        """Where the times of the stream come from, as stated last; None if that was never said."""

    def times(self) -> list[str | None]:
        """The times of the sealed timestamps, in order."""

    def latest_state(self, classes: Iterable[type]) -> Any:
        """The state after the last sealed timestamp; None before the first."""

    def unfinished(self) -> Seal | None:
        """The last sealed timestamp, if its release is not finished."""

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

    def close(self) -> None:
        """Release the file."""


class MemoryHistory:
    """Keeps the accountant, the state and the last seal. For experiments, not for publishing."""

    path: Path | None = None
    durable = False

    def __init__(self, guarantee: WEventPrivacy) -> None:
        self._accountant = Accountant(guarantee)
        self._state: Any = None
        self._roster_kind: str | None = None
        self._stated_times: str | None = None
        self._times: list[str | None] = []
        self._unfinished: Seal | None = None

    @property
    def sealed(self) -> int:
        return self._accountant.timestamps

    def accountant(self) -> Accountant:
        return self._accountant

    def roster_kind(self) -> str | None:
        return self._roster_kind

    def stated_times(self) -> str | None:
        return self._stated_times

    def times(self) -> list[str | None]:
        return list(self._times)

    def latest_state(self, classes: Iterable[type]) -> Any:
        del classes
        return self._state

    def unfinished(self) -> Seal | None:
        return self._unfinished

    def seal(self, measured: Measured) -> Seal:
        self._accountant = self._accountant.record(measured.spent)
        self._state = measured.state
        self._roster_kind = measured.snapshot.roster.declared
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
            "Give the publisher a ledger to have earlier releases handed back."
        )


def open_history(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    *,
    ledger: Path | None,
    directory: ReleaseDirectory | None,
    seed: int | None,
    noise: str,
) -> History:
    """Open or begin the ledger of a stream; without `ledger` and `directory`, use memory only."""
    if ledger is None:
        if directory is None:
            return MemoryHistory(guarantee)
        ledger = ledger_of(directory.path)
    terms = _terms(method, guarantee, ledger=ledger, directory=directory, seed=seed, noise=noise)
    if directory is not None:
        directory.check_usable(ledger=ledger)
    opened = Ledger(ledger, terms)
    try:
        if directory is not None:
            _refuse_stale_ledger(opened, directory)
    except BaseException:
        opened.close()
        raise
    return opened


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
) -> None:
    """Refuse what a publisher would refuse: sampler, promise, directory, terms, lock.

    Nothing is started.

    It is quick, so a command can call it before it reads its input and compiles kernels.
    """
    check_noise(noise, seed)
    refuse_without_promise(
        method, guarantee, seed=seed, not_private=not_private, large_epsilon=large_epsilon
    )
    directory = None if out is None else ReleaseDirectory(out)
    if directory is not None:
        directory.check_usable(ledger=ledger)
    if ledger.exists():
        open_history(
            method, guarantee, ledger=ledger, directory=directory, seed=seed, noise=noise
        ).close()


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


def resumed(ledger: Path, out: str | Path | None) -> dict[str, Any]:
    """The arguments of a publisher that continues with a ledger, under its terms.

    Parameters
    ----------
    out
        Where releases go, if not where the terms say.
    """
    with Ledger(ledger) as opened:  # for writing, which migrates an older format
        terms, noise = opened.terms, opened.noise or "exact"
    out = releases_of(ledger, terms.out) if out is None else out
    return {
        "method": _method_of(terms, ledger),
        "guarantee": terms.guarantee,
        "ledger": ledger,
        "out": out,
        "seed": terms.seed,
        "noise": noise,
        "not_private": True,  # whoever began the ledger has decided that
        "large_epsilon": True,
    }


def _method_of(terms: Terms, ledger: Path) -> Method[Any, Any]:
    """Build the method a ledger was started with."""
    try:
        return find_method(terms.method)(**terms.parameters)
    except TypeError:
        raise TermsChanged(
            f"method {terms.method!r} does not know all parameters that {ledger} was started with\n"
            "Install the version of the method that began it."
        ) from None


def _refuse_stale_ledger(ledger: Ledger, directory: ReleaseDirectory) -> None:
    """Refuse a restored backup that would measure again what is already published."""
    sealed, newest = ledger.sealed, directory.timestamps()[-1:]
    if newest and newest[0] >= sealed:
        raise LedgerError(
            f"the ledger has sealed {sealed} timestamps, but timestamp {newest[0]} is already "
            "published\n"
            "It looks like an older copy of the ledger. Restore the newest copy; continuing "
            "would spend the budget of those timestamps twice."
        )
