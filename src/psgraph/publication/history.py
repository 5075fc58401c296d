"""What a publisher remembers of a stream: in a ledger, or in memory for the length of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, Protocol

from psgraph.errors import OutOfOrder
from psgraph.graph import Roster, Snapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Charge
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["History", "Measured", "MemoryHistory", "Seal", "seal_of"]


@dataclass(frozen=True)
class Measured:
    """A timestamp that was measured and is not sealed yet. It must not be shown.

    Attributes
    ----------
    spent
        What the timestamp is charged: all that was granted, whether or not it was used.
    seed
        Of the synthesis.
    measurement, state
        What the method learned, and what that makes of its past: noisy values only.
    noise, times
        The sampler, and where the times of the stream come from.
    """

    timestamp: int
    snapshot: Snapshot
    spent: Fraction
    charges: tuple[Charge, ...]
    seed: int
    measurement: Any
    state: Any
    version: str
    noise: str
    times: str | None


@dataclass(frozen=True)
class Seal:
    """A sealed timestamp: with the state, everything its release is made of.

    Attributes
    ----------
    window_spent
        What the window that ends with this timestamp has spent.
    roster
        The digest of the snapshot's roster.
    noise
        None if it was sealed by version 0.1.0, which did not record it.
    """

    timestamp: int
    time: str | None
    spent: Fraction
    window_spent: Fraction
    charges: tuple[Charge, ...]
    seed: int
    roster: str
    version: str
    noise: str | None
    times: str | None


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
        """The kind of roster the stream was begun with; None before the first timestamp."""

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


def seal_of(measured: Measured, window_spent: Fraction) -> Seal:
    """The seal of a timestamp that was just recorded."""
    return Seal(
        timestamp=measured.timestamp,
        time=measured.snapshot.time,
        spent=measured.spent,
        window_spent=window_spent,
        charges=measured.charges,
        seed=measured.seed,
        roster=measured.snapshot.roster.digest,
        version=measured.version,
        noise=measured.noise,
        times=measured.times,
    )
