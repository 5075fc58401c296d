"""Measure → update → synthesise over a stream, under a guarantee."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Self

import numpy as np

from psgraph._version import __version__
from psgraph.certificate import Certificate, Release
from psgraph.engines.base import Engine
from psgraph.engines.local import LocalEngine
from psgraph.errors import InvalidArgument, MethodError
from psgraph.graph import Snapshot
from psgraph.methods.base import Method, caveat_of
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import WEventPrivacy
from psgraph.privacy.mechanisms import Budget
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import OpenDPSampler, Sampler

__all__ = ["Publisher"]


class Publisher:
    """Publishes snapshots one after the other, never beyond the guarantee.

    Parameters
    ----------
    method
        What turns snapshots into synthetic graphs, for example ``PSGraph()``.
    guarantee
        What is promised of all releases.
    seed
        For research: makes the run repeatable, and its releases not private.
    noise
        ``"exact"`` for psgraph's own sampler, ``"opendp"`` to draw Laplace noise with OpenDP.

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
        seed: int | None = None,
        noise: str = "exact",
        engine: Engine | None = None,
    ) -> None:
        if noise not in ("exact", "opendp"):
            raise InvalidArgument(f"noise must be 'exact' or 'opendp', not {noise!r}")
        source = RandomSource.secure() if seed is None else RandomSource.seeded(seed)
        self.method, self.guarantee = method, guarantee
        self._source = source
        self._sampler = OpenDPSampler(source) if noise == "opendp" else Sampler(source)
        self._engine = engine or LocalEngine()
        self._accountant = Accountant(guarantee)
        self._state: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def budget(self) -> Accountant:
        """Spent and left in the current window."""
        return self._accountant

    def publish_all(self, stream: Iterable[Snapshot]) -> Iterator[Release]:
        """Publish every snapshot of a stream, each as soon as it is asked for."""
        for snapshot in stream:
            yield self.publish(snapshot)

    def publish(self, snapshot: Snapshot) -> Release:
        """Publish one snapshot.

        The window is checked before anything is measured, and the whole share of the timestamp
        is booked whether or not the method used all of it.
        """
        if not isinstance(snapshot, Snapshot):
            raise InvalidArgument(
                f"publish takes a Snapshot, not {type(snapshot).__name__}\n"
                "Build one with Snapshot.from_edges(...), or read a stream with read_stream(...)."
            )
        allowance: Fraction = self.guarantee.per_timestamp
        self._accountant.check(allowance)
        budget = Budget(allowance, self._sampler)
        measurement = self.method.measure(snapshot, self._state, budget, self._engine)
        if budget.spent > allowance:
            raise MethodError(f"method {self.method.name!r} spent more than it was allowed")
        accountant = self._accountant.record(allowance)
        state = self.method.update(self._state, measurement)
        rng = np.random.Generator(np.random.PCG64(self._source.bits(64)))
        graph = self.method.synthesise(state, rng, self._engine)
        if graph.roster != snapshot.roster:
            raise MethodError(f"method {self.method.name!r} changed the roster")
        caveat = caveat_of(self.method)
        certificate = Certificate(
            timestamp=self._accountant.timestamps,
            time=snapshot.time,
            guarantee=self.guarantee,
            charges=budget.trace,
            spent=allowance,
            window_spent=accountant.window_spent,
            method=self.method.name,
            version=__version__,
            parameters=self.method.parameters(),
            roster=snapshot.roster.statement,
            nodes=len(snapshot.roster),
            edges=graph.edge_count,
            private=self._sampler.private and (caveat is None or caveat.factor is not None),
            summary=self.method.summary(state),
            caveat=caveat,
        )
        self._accountant, self._state = accountant, state
        return Release(graph, certificate)
