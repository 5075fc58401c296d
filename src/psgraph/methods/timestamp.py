"""One timestamp of a stream: request, grant, measure, book, update.

Publishing, rehearsing, rerunning and auditing all measure through `measure_timestamp`, the only
place that lets a method query a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.engines.runner import Runner
from psgraph.errors import MethodError
from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.methods.base import Method
from psgraph.methods.private import Previous, PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget, Charge
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.samplers import Sampler

__all__ = ["Timestamp", "draw_graph", "measure_stream", "measure_timestamp"]


@dataclass(frozen=True)
class Timestamp:
    """A measured timestamp.

    Attributes
    ----------
    snapshot
        What was measured: private. Everything else holds noisy values only.
    booked
        What the window is charged: what was granted and not given back, whether or not it was used.
    spent
        What the method used of it.
    charges
        What it was used for, and what was given back.
    seed
        For drawing the graph.
    measurement, state
        What the method learned, and what that makes of its past.
    spending
        The accountant with this timestamp booked.
    """

    snapshot: Snapshot
    booked: Fraction
    spent: Fraction
    charges: tuple[Charge, ...]
    seed: int
    measurement: Any
    state: Any
    spending: Accountant


def measure_timestamp(
    method: Method[Any, Any],
    snapshot: Snapshot,
    state: Any,
    spending: Accountant,
    sampler: Sampler,
    engine: Runner,
    *,
    previous: Previous | None = None,
    begin: Callable[[], object] = lambda: None,
    measured: Callable[[], object] = lambda: None,
) -> Timestamp:
    """Measure the next timestamp.

    Privacy: ε of what is booked, for one unit of its guarantee: what the accountant granted and
    the method did not give back. Both depend on released values only.
    proofs/w-event-composition.md.

    Parameters
    ----------
    state, spending
        After the timestamp before.
    sampler
        The source of all noise, and of the seed for drawing the graph.
    previous
        The timestamp before, for queries that read two snapshots.
    begin
        Called when the budget is granted, before the first query.
    measured
        Called when the edges have been read for the last time, before `update`.

    Raises
    ------
    BudgetExceeded
        If the window has less left than the method requests. Nothing was measured then.
    MethodError
        If the method breaks its protocol.
    """
    granted = _requested(method, state, spending)
    spending.check(granted)
    budget = Budget(granted, sampler, spending=spending)
    private = PrivateSnapshot(snapshot, budget, engine, previous=previous)
    begin()
    measurement = method.measure(private, state)
    if not budget.spent <= budget.booked <= granted:
        raise MethodError(f"method {method.name!r} spent more than it was allowed")
    seed = sampler.source.bits(63)
    measured()
    return Timestamp(
        snapshot=snapshot,
        booked=budget.booked,
        spent=budget.spent,
        charges=budget.trace,
        seed=seed,
        measurement=measurement,
        state=method.update(state, measurement),
        spending=spending.record(budget.booked),
    )


def measure_stream(
    method: Method[Any, Any],
    stream: Iterable[Snapshot],
    guarantee: WEventPrivacy,
    engine: Runner,
    *,
    samplers: Callable[[int], Sampler],
    resumed: Callable[[int, Any], tuple[bool, Any]] = lambda _, state: (False, state),
) -> Iterator[Timestamp]:
    """Measure one snapshot after the other, in memory: for what is not published.

    Parameters
    ----------
    samplers
        Makes the sampler of a timestamp, by its number.
    resumed
        Called before each timestamp with its number and the state. Returns whether there was a
        restart, after which the snapshot before is no longer there, and the state to continue with.
    """
    spending, state, previous = Accountant(guarantee), None, None
    for number, snapshot in enumerate(stream):
        restarted, state = resumed(number, state)
        previous = None if restarted else previous
        timestamp = measure_timestamp(
            method, snapshot, state, spending, samplers(number), engine, previous=previous
        )
        spending, state = timestamp.spending, timestamp.state
        yield timestamp
        if method.reads_previous():
            previous = Previous.of(snapshot, timestamp.charges)


def draw_graph(
    method: Method[Any, Any],
    state: Any,
    before: SyntheticGraph | None,
    seed: int,
    engine: Runner,
) -> SyntheticGraph:
    """Draw the graph of a timestamp from the state after it, and from the release before.

    Privacy: a function of released values and a seed that depends on no data.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    return method.synthesise(state, before if method.grows_from_release else None, rng, engine)


def _requested(method: Method[Any, Any], state: Any, spending: Accountant) -> Fraction:
    """What the method requests for the next timestamp; it can be nothing."""
    wanted: object = method.request(state, spending)
    if isinstance(wanted, bool) or not isinstance(wanted, Fraction | int):
        raise MethodError(
            f"method {method.name!r} requested a {type(wanted).__name__}\n"
            "A request is an exact number: return a Fraction."
        )
    return Fraction(wanted)
