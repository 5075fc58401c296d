"""The queries and answers of each timestamp: recorded once, then forced on another run.

A `Recorder` temporarily replaces the budget class. While recording, mechanisms draw as always and
every call is kept with the private values it was made on. While forcing, nothing is drawn: a call
has to match the recorded one in everything public, and returns its output.

Every attack from outside runs a method with `measured_stream`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.audit.neighbours import Answers
from psgraph.engines.runner import Runner
from psgraph.graph import Snapshot
from psgraph.methods import timestamp
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.timestamp import Timestamp
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.query import Query
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.records import decode, encode
from psgraph.testing.cases import leaves

__all__ = [
    "Call",
    "Divergence",
    "ListeningBudget",
    "ListeningSnapshot",
    "Recorder",
    "Transcript",
    "measured_stream",
    "same_values",
]


Output = TypeVar("Output")


class Divergence(Exception):
    """Something depends on private edges that must not, or is not paid for.

    Attributes
    ----------
    code
        What: "request", "queries", "results", "sensitivity", "charge", "window" or "loss".
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Call:
    """One call: a query, a reservation, a give-back, a split or a draw without data.

    Attributes
    ----------
    facts
        Everything public about it: what was called, and with which public arguments.
    query
        The query; None for calls that depend on no data.
    mechanism
        What was drawn from, with its private values; None for calls that depend on no data.
    epsilon
        What it cost.
    sensitivity
        How far one unit can move the exact answer, as the query states.
    output
        What came out.
    distance
        How far the private values were from the recorded ones; while recording 0.
    """

    facts: tuple[Any, ...]
    output: Any
    query: Query[Any] | None = None
    mechanism: Mechanism[Any] | None = None
    epsilon: Fraction = Fraction(0)
    sensitivity: int = 1
    distance: int = 0


@dataclass
class Transcript:
    """The calls of one timestamp, in order."""

    granted: Fraction
    calls: list[Call] = field(default_factory=list)

    @property
    def loss(self) -> Fraction:
        """The privacy loss between the two runs, at most: ε · distance/sensitivity, added up."""
        return sum(
            (
                call.epsilon * call.distance / call.sensitivity
                for call in self.calls
                if call.query is not None
            ),
            start=Fraction(0),
        )

    @property
    def reserves(self) -> bool:
        """Whether it pays for a query of the next timestamp."""
        return any(call.facts[0] == "reserve" for call in self.calls)


class Recorder:
    """Records the transcripts of a run, or forces those of an earlier recorder on it.

    Parameters
    ----------
    forced
        The transcripts to force; None to record.
    seed
        The seed of the noise while recording.
    answers
        Those that replace drawn ones while recording.
    """

    def __init__(
        self,
        forced: list[Transcript] | None = None,
        *,
        seed: int = 0,
        answers: Answers | None = None,
    ) -> None:
        self.transcripts: list[Transcript] = []
        self._forced, self._seed, self._answers = forced, seed, answers or Answers()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hand out budgets and snapshots that record or force, wherever a timestamp is measured."""
        names = vars(timestamp)
        real = {name: names[name] for name in ("Budget", "PrivateSnapshot")}
        names.update(Budget=self.budget, PrivateSnapshot=ListeningSnapshot)
        try:
            yield
        finally:
            names.update(real)

    def budget(
        self,
        epsilon: Fraction,
        sampler: Sampler,
        *,
        spending: Accountant | None = None,
    ) -> Budget:
        """Return a budget for the next timestamp."""
        del sampler  # left untouched, so that later draws of the publication are the same
        number = len(self.transcripts)
        self.transcripts.append(Transcript(epsilon))
        if self._forced is not None and self._forced[number].granted != epsilon:
            raise Divergence("request", "the requested ε depends on the edges")
        own = Sampler(RandomSource.seeded(self._seed, timestamp=number))
        return ListeningBudget(self, epsilon, own, spending=spending)

    def forced(
        self, facts: tuple[Any, ...], query: Query[Any], mechanism: Mechanism[Any]
    ) -> Call | None:
        """Compare an answer with the recorded one and return that; None while recording."""
        if (recorded := self._next(facts)) is None:
            return None
        assert recorded.mechanism is not None
        if not same_values(query, recorded.query):
            raise Divergence("queries", f"{facts[1]!r} is asked with arguments read off the edges")
        distance = mechanism.distance(recorded.mechanism)
        self.add(replace(recorded, mechanism=mechanism, distance=distance))
        return recorded

    def free(self, facts: tuple[Any, ...]) -> Call | None:
        """Return the recorded draw that depends on no data; None while recording."""
        recorded = self._next(facts)
        if recorded is not None:
            self.add(recorded)
        return recorded

    def add(self, call: Call) -> None:
        self.transcripts[-1].calls.append(call)

    def answered(self, query: Query[Any], drawn: Any) -> Any:
        """What a query is answered while recording."""
        here = len(self.transcripts) - 1
        return self._answers.given(here, len(self.transcripts[here].calls), query, drawn)

    def _next(self, facts: tuple[Any, ...]) -> Call | None:
        if self._forced is None:
            return None
        here, there = self.transcripts[-1], self._forced[len(self.transcripts) - 1]
        number = len(here.calls)
        if number == len(there.calls):
            raise Divergence("queries", f"only one of two neighbours makes the call {facts[:3]}")
        if there.calls[number].facts != facts:
            calls = f"{there.calls[number].facts} and {facts}"
            raise Divergence("queries", f"neighbours make different calls: {calls}")
        return there.calls[number]

    def check_complete(self) -> None:
        """Raise if a forced run made fewer calls than the recorded one."""
        if self._forced is not None:
            for here, there in zip(self.transcripts, self._forced, strict=True):
                if len(here.calls) != len(there.calls):
                    raise Divergence("queries", "one of two neighbours makes fewer calls")


class _Forced(Mechanism[Any]):
    """A mechanism whose output is already known."""

    def __init__(self, mechanism: Mechanism[Any], output: Any) -> None:
        self.name, self.proof, self.proven = (  # type: ignore[misc]
            mechanism.name,
            mechanism.proof,
            mechanism.proven,
        )
        self.sensitivity = mechanism.sensitivity
        self._shape, self._output = mechanism.shape, output

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Any:
        del sampler, epsilon
        return self._output


class ListeningBudget(Budget):
    """A budget that reports every call to its recorder."""

    def __init__(
        self,
        recorder: Recorder,
        epsilon: Fraction,
        sampler: Sampler,
        *,
        spending: Accountant | None = None,
        whole: ListeningBudget | None = None,
        part: str = "",
    ) -> None:
        super().__init__(epsilon, sampler, spending=spending)
        self.query: Query[Any] | None = None
        self._recorder, self._whole, self._part = recorder, whole, part
        if whole is not None:
            self._split = (*whole._split, whole._splits - 1)

    def run(
        self,
        mechanism: Mechanism[Any],
        *,
        epsilon: Fraction,
        label: str,
        sensitivity: int | None = None,
        weight_sensitivity: int = 0,
    ) -> Any:
        query = self.query
        if query is None:
            raise Divergence("queries", f"{label!r} is drawn without a query")
        moves = query.sensitivity_for(self.unit)
        facts = (
            "ask",
            label,
            type(query).__name__,
            type(mechanism).__name__,
            epsilon,
            (mechanism.sensitivity, sensitivity, moves),
            weight_sensitivity,
            tuple(mechanism.shape),
            self._part,
        )
        run = partial(
            super().run,
            epsilon=epsilon,
            label=label,
            sensitivity=sensitivity,
            weight_sensitivity=weight_sensitivity,
        )
        recorded = self._recorder.forced(facts, query, mechanism)
        if recorded is not None:
            return run(_Forced(mechanism, recorded.output))
        drawn = run(mechanism)
        output = self._recorder.answered(query, drawn)
        self._recorder.add(Call(facts, output, query, mechanism, epsilon, moves))
        return output

    def reserve(self, epsilon: Fraction, *, label: str, sensitivity: int = 1) -> None:
        self._free(("reserve", label, epsilon, self._part), lambda: None)
        super().reserve(epsilon, label=label, sensitivity=sensitivity)

    def give_back(self, epsilon: Fraction) -> None:
        self._free(("give back", epsilon, self._part), lambda: None)
        super().give_back(epsilon)

    def parallel(self, epsilon: Fraction, *parts: str) -> tuple[Budget, ...]:
        self._free(("parallel", epsilon, parts, self._part), lambda: None)
        self._take(epsilon, " ∥ ".join(parts))
        self._splits += 1
        return tuple(
            ListeningBudget(
                self._recorder,
                epsilon,
                self._sampler,
                spending=self.spending,
                whole=self,
                part=f"{self._part} / {name}" if self._part else name,
            )
            for name in parts
        )

    def random_order(self, size: int) -> Integers:
        drawn = partial(super().random_order, size)
        order: Integers = self._free(("order", size), drawn)
        return order.copy()

    def random_labels(self, size: int, choices: int) -> Integers:
        labels: Integers = self._free(
            ("labels", size, choices),
            lambda: super(ListeningBudget, self).random_labels(size, choices),
        )
        return labels.copy()

    def random_seed(self) -> int:
        seed: int = self._free(("seed",), super().random_seed)
        return seed

    def _free(self, facts: tuple[Any, ...], draw: Any) -> Any:
        recorded = self._recorder.free(facts)
        if recorded is not None:
            return recorded.output
        output = draw()
        self._recorder.add(Call(facts, output))
        return output

    def _record(self, charge: Any) -> None:
        super()._record(charge)
        if self._whole is not None:
            self._whole._record(charge)


class ListeningSnapshot(PrivateSnapshot):
    """A private snapshot that says which query its budget is charged for."""

    def ask(self, query: Query[Output], *, epsilon: Fraction) -> Output:
        budget: Any = self._budget
        budget.query = query
        try:
            return super().ask(query, epsilon=epsilon)
        finally:
            budget.query = None


def same_values(mine: Any, theirs: Any) -> bool:
    """Whether two records hold the same plain values and arrays."""
    one, other = leaves(mine), leaves(theirs)
    return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)


def _equal(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, np.ndarray):
        same_kind = isinstance(theirs, np.ndarray) and mine.dtype == theirs.dtype
        if not same_kind:
            return False
        return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    if isinstance(mine, float) and mine != mine:  # not a number, on both sides
        return isinstance(theirs, float) and theirs != theirs
    return type(mine) is type(theirs) and bool(mine == theirs)


def measured_stream(
    method: Method[Any, Any],
    stream: Sequence[Snapshot],
    guarantee: WEventPrivacy,
    engine: Runner,
    recorder: Recorder,
    *,
    seed: int = 1,
    restarts: Collection[int] = (),
) -> Iterator[Timestamp]:
    """Measure one snapshot after the other, as a publication does, in memory.

    `restarts` are the timestamps before which it is interrupted: the state is read back from its
    stored form, and the snapshot before is gone.
    """

    def resumed(number: int, state: Any) -> tuple[bool, Any]:
        if number not in restarts or state is None:
            return False, state
        stored, rosters = encode(state)
        return True, decode(stored, classes=method.records, rosters=rosters.get)

    with recorder.listening():
        yield from timestamp.measure_stream(
            method,
            stream,
            guarantee,
            engine,
            samplers=lambda number: Sampler(RandomSource.seeded(seed, timestamp=number)),
            resumed=resumed,
        )
