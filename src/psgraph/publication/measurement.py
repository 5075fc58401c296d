"""Measuring the timestamps of a publication: who draws the noise, and from which random words."""

from __future__ import annotations

from typing import Any

from psgraph._version import __version__
from psgraph.engines.base import Engine
from psgraph.errors import InvalidArgument
from psgraph.graph import Snapshot
from psgraph.methods.base import Method, check_caveat
from psgraph.methods.private import Previous
from psgraph.methods.timestamp import measure_timestamp
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import OpenDPSampler, Sampler
from psgraph.publication.history import Measured

__all__ = ["Measuring", "check_noise"]

_SAMPLERS: dict[str, type[Sampler]] = {"exact": Sampler, "opendp": OpenDPSampler}


def check_noise(noise: str, seed: int | None) -> None:
    """Refuse a sampler that does not exist, or that can't be seeded."""
    if noise not in _SAMPLERS:
        known = " or ".join(map(repr, _SAMPLERS))
        raise InvalidArgument(f"noise must be {known}, not {noise!r}")
    if noise == "opendp" and seed is not None:
        raise InvalidArgument("OpenDP draws from the operating system and can't be seeded")


class Measuring:
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
        self, method: Method[Any, Any], engine: Engine, *, seed: int | None, noise: str
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
        times: str | None,
        previous: Previous | None = None,
    ) -> Measured:
        """Measure the next timestamp. The result must be sealed before anything is shown.

        `previous` is the timestamp before, for queries that read two snapshots.

        Privacy: as `psgraph.methods.timestamp.measure_timestamp`. All that was granted is
        charged, whether or not the method spends it.
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
        )
        check_caveat(self._method, timestamp.charges)
        return Measured(
            timestamp=number,
            snapshot=snapshot,
            spent=timestamp.granted,
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
