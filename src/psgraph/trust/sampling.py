"""Running a method on released graphs as if they were the truth.

Releases are public and so is the method, so this is post-processing: it reads no private edge and
costs no ε. A release is to such a rerun what the private stream was to the release, which is what
the parametric bootstrap rests on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph.engines.local import LocalEngine
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Graph, Snapshot, SyntheticGraph
from psgraph.methods.base import Method, find_method
from psgraph.methods.private import Previous, PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

if TYPE_CHECKING:
    from psgraph.publication.certificate import Certificate

__all__ = ["derived_seed", "method_of", "rerun"]


def rerun(
    graphs: Iterable[Graph], method: Method[Any, Any], guarantee: WEventPrivacy, *, seed: int
) -> Iterator[SyntheticGraph]:
    """Publish graphs again with seeded noise, one timestamp at a time.

    Privacy: for graphs that are already public. Nothing here is private, and nothing is charged
    to anyone; the budget only makes the noise as large as it was in the real run.

    Parameters
    ----------
    graphs
        The graphs of a stream, in order, each read when its release is asked for.
    method, guarantee
        Those of the real run.

    Examples
    --------
    >>> from psgraph.graph import Roster
    >>> ring = SyntheticGraph(Roster.range(40), range(39), range(1, 40))
    >>> method = find_method("tmf")()
    >>> first, second = rerun([ring, ring], method, WEventPrivacy("2", window=2), seed=1)
    >>> first.roster == ring.roster
    True
    """
    engine, accountant = LocalEngine(), Accountant(guarantee)
    state, previous, made = None, None, None
    for timestamp, graph in enumerate(graphs):
        snapshot = Snapshot(graph.roster, graph.u, graph.v, time=graph.time)
        sampler = Sampler(RandomSource.seeded(seed, timestamp=timestamp))
        granted = method.request(state, accountant)
        budget = Budget(granted, sampler, spending=accountant)
        private = PrivateSnapshot(snapshot, budget, engine, previous=previous)
        measurement = method.measure(private, state)
        accountant = accountant.record(granted)
        state = method.update(state, measurement)
        rng = np.random.Generator(np.random.PCG64(sampler.source.bits(63)))
        made = method.synthesise(state, made if method.grows_from_release else None, rng, engine)
        yield made
        previous = Previous.of(snapshot, budget.trace)


def method_of(certificates: Sequence[Certificate]) -> tuple[Method[Any, Any], WEventPrivacy]:
    """Return the method and the guarantee that all certificates state.

    Raises
    ------
    DataError
        If they differ, or the method is not installed here.
    """
    last = certificates[-1]
    terms = {(each.method, repr(sorted(each.parameters.items()))) for each in certificates}
    if len(terms) > 1:
        names = ", ".join(sorted({name for name, _ in terms}))
        raise DataError(
            f"the releases were not all made by one method with one set of parameters ({names})\n"
            "Predict the errors of each publication separately."
        )
    if len({each.guarantee for each in certificates}) > 1:
        raise DataError(
            "the releases were not all made under one guarantee\n"
            "Predict the errors of each publication separately."
        )
    try:
        # By its installed name only: a certificate comes from elsewhere and must not run code.
        method = find_method(last.method)(**last.parameters)
    except InvalidArgument:
        raise DataError(
            f"method {last.method!r}, which made the releases, is not installed here\n"
            "Install the package it comes from. `psgraph methods` lists what is installed."
        ) from None
    except TypeError:
        raise DataError(
            f"method {last.method!r} does not know all parameters that the releases state\n"
            f"Install the version that made them; psgraph was {last.version}."
        ) from None
    return method, last.guarantee


def derived_seed(seed: int, repetition: int) -> int:
    """Return the seed of one rerun; no two reruns share their noise.

    >>> derived_seed(0, 0) == derived_seed(0, 1)
    False
    """
    facts = ("psgraph trust", str(seed), str(repetition), "1")
    digest = hashlib.sha256("\0".join(facts).encode()).digest()
    return int.from_bytes(digest[:8]) >> 1
