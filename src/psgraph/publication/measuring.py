"""Measuring a snapshot: the method asks, the accountant decides, the budget charges."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from psgraph._version import __version__
from psgraph.engines.base import Engine
from psgraph.errors import MethodError
from psgraph.graph import Snapshot
from psgraph.methods.base import Method, check_caveat
from psgraph.methods.private import Previous, PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.publication.history import Measured
from psgraph.publication.noise import check_noise, make_sampler

__all__ = ["Measuring"]


class Measuring:
    """Runs a method's `measure` under a budget: the only place that hands it private edges.

    Parameters
    ----------
    seed
        None for a private stream.
    noise
        The sampler: "exact" or "opendp".
    """

    def __init__(
        self, method: Method[Any, Any], engine: Engine, *, seed: int | None, noise: str
    ) -> None:
        check_noise(noise, seed)
        self._method, self._engine = method, engine
        self._seed, self._noise = seed, noise
        self._sampler = make_sampler(noise, seed, 0)

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

        Privacy: ε of what the accountant granted, for one edge; all of it is charged, whether or
        not the method spends it. The request depends on released values only.
        proofs/w-event-composition.md.
        """
        allowance = self._request(state, accountant)
        accountant.check(allowance)
        timestamp = accountant.timestamps
        if self._seed is not None:
            self._sampler = make_sampler(self._noise, self._seed, timestamp)
        budget = Budget(allowance, self._sampler, spending=accountant)
        private = PrivateSnapshot(snapshot, budget, self._engine, previous=previous)
        measurement = self._method.measure(private, state)
        if budget.spent > allowance:
            raise MethodError(f"method {self._method.name!r} spent more than it was allowed")
        check_caveat(self._method, budget.trace)
        return Measured(
            timestamp=timestamp,
            snapshot=snapshot,
            spent=allowance,
            charges=budget.trace,
            seed=self._sampler.source.bits(63),
            measurement=measurement,
            state=self._method.update(state, measurement),
            version=__version__,
            noise=self._noise,
            times=times,
        )

    def _request(self, state: Any, accountant: Accountant) -> Fraction:
        """What the method asks for the next timestamp; it can be nothing."""
        wanted: object = self._method.request(state, accountant)
        if isinstance(wanted, bool) or not isinstance(wanted, Fraction | int):
            raise MethodError(
                f"method {self._method.name!r} requested a {type(wanted).__name__}\n"
                "A request is an exact number: return a Fraction."
            )
        return Fraction(wanted)
