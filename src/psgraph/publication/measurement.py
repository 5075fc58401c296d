"""Measure the timestamps of a publication, and what is sealed of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from psgraph._version import __version__
from psgraph.engines.runner import Runner
from psgraph.errors import InvalidArgument
from psgraph.graph import Snapshot
from psgraph.methods.base import Method, check_caveat
from psgraph.methods.private import Previous
from psgraph.methods.timestamp import measure_timestamp
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Charge
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import OpenDPSampler, Sampler
from psgraph.streams.time_source import TimeSource

__all__ = ["Measured", "Measurer", "Seal", "check_noise", "seal_of"]


@dataclass(frozen=True)
class Measured:
    """A timestamp that was measured and is not sealed yet. It must not be shown.

    Attributes
    ----------
    fingerprint
        The keyed digest of the snapshot, so that sealing reads no private edge.
    spent
        What the timestamp is charged: all that was granted and not given back, whether or not it
        was used.
    seed
        Of the synthesis.
    measurement, state
        What the method learned, and what that makes of its past: noisy values only.
    noise, times
        The sampler, and where the times of the stream come from.
    """

    timestamp: int
    snapshot: Snapshot
    fingerprint: bytes
    spent: Fraction
    charges: tuple[Charge, ...]
    seed: int
    measurement: Any
    state: Any
    version: str
    noise: str
    times: TimeSource | None


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
    times: TimeSource | None


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


_SAMPLERS: dict[str, type[Sampler]] = {"exact": Sampler, "opendp": OpenDPSampler}


def check_noise(noise: str, seed: int | None) -> None:
    """Refuse a sampler that does not exist, or that can't be seeded."""
    if noise not in _SAMPLERS:
        known = " or ".join(map(repr, _SAMPLERS))
        raise InvalidArgument(f"noise must be {known}, not {noise!r}", code="noise")
    if noise == "opendp" and seed is not None:
        raise InvalidArgument(
            "OpenDP draws from the operating system and can't be seeded", code="noise_seed"
        )


class Measurer:
    """Measures one timestamp after the other with one method, engine and source of noise.

    Parameters
    ----------
    seed
        None for a private stream: the random words then come from the operating system.
        proofs/randomness.md.
    noise
        The sampler: "exact" or "opendp".
    """

    def __init__(
        self, method: Method[Any, Any], engine: Runner, *, seed: int | None, noise: str
    ) -> None:
        check_noise(noise, seed)
        self._method, self._engine = method, engine
        self._seed, self._noise = seed, noise
        self._sampler = self._sampler_of(0)

    @property
    def private(self) -> bool:
        """Whether the noise comes from a secret source."""
        return self._sampler.private

    def measure(
        self,
        snapshot: Snapshot,
        state: Any,
        accountant: Accountant,
        *,
        fingerprint: bytes,
        times: TimeSource | None,
        previous: Previous | None = None,
        begin: Callable[[], object] = lambda: None,
    ) -> Measured:
        """Measure the next timestamp. The result must be sealed before anything is shown.

        `previous` is the timestamp before, for queries that read two snapshots. `begin` is called
        when the budget is granted, before anything is measured.

        Privacy: as `psgraph.methods.timestamp.measure_timestamp`. All that was granted
        and not given back is charged, whether or not the method spends it.
        """
        number = accountant.timestamps
        if self._seed is not None:
            self._sampler = self._sampler_of(number)
        timestamp = measure_timestamp(
            self._method,
            snapshot,
            state,
            accountant,
            self._sampler,
            self._engine,
            previous=previous,
            begin=begin,
        )
        check_caveat(self._method, timestamp.charges)
        return Measured(
            timestamp=number,
            snapshot=snapshot,
            fingerprint=fingerprint,
            spent=timestamp.booked,
            charges=timestamp.charges,
            seed=timestamp.seed,
            measurement=timestamp.measurement,
            state=timestamp.state,
            version=__version__,
            noise=self._noise,
            times=times,
        )

    def _sampler_of(self, timestamp: int) -> Sampler:
        """The source of all noise of a timestamp; a private stream has one for all."""
        if self._seed is None:
            return _SAMPLERS[self._noise](RandomSource.secure())
        return _SAMPLERS[self._noise](RandomSource.seeded(self._seed, timestamp=timestamp))
