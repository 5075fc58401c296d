"""What a method asked and got at one timestamp: recorded once, then forced upon another run.

A `Recorder` takes the place of the budget class for a while. While recording, mechanisms draw as
always and every call is written down with the private values it was made on. While forcing,
nothing is drawn: a call has to match the recorded one in everything public, and gets its output.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from psgraph._runtime.arrays import Integers
from psgraph.audit.mutation import Patch
from psgraph.methods import timestamp
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

__all__ = ["Call", "Divergence", "ListeningBudget", "Recorder", "Transcript"]


class Divergence(Exception):
    """Something that should depend on released values and public facts depends on the edges."""


@dataclass(frozen=True)
class Call:
    """One call on a budget.

    Attributes
    ----------
    facts
        Everything public about it: what was called, and with which public arguments.
    mechanism
        What was drawn from, with its private values; None for draws that depend on no data.
    epsilon
        What it cost.
    output
        What came out.
    distance
        How far the private values were from the recorded ones; while recording 0.
    """

    facts: tuple[Any, ...]
    mechanism: Mechanism[Any] | None
    epsilon: Fraction
    output: Any
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
                call.epsilon * call.distance / call.mechanism.sensitivity
                for call in self.calls
                if call.mechanism is not None
            ),
            start=Fraction(0),
        )

    @property
    def reserves(self) -> bool:
        """Whether part of it pays for a query of the next timestamp."""
        return any(call.facts[0] == "reserve" for call in self.calls)


class Recorder:
    """Writes the transcripts of a run, or forces an earlier recorder's upon it.

    Parameters
    ----------
    forced
        The transcripts to force; None to record.
    seed
        Where the noise of a recording comes from.
    """

    def __init__(self, forced: list[Transcript] | None = None, *, seed: int = 0) -> None:
        self.transcripts: list[Transcript] = []
        self._forced, self._seed = forced, seed

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hand out budgets that record or force, wherever a timestamp is measured."""
        with Patch(timestamp, "Budget", self.budget).applied():
            yield

    def budget(
        self,
        epsilon: Fraction,
        sampler: Sampler,
        *,
        spending: Accountant | None = None,
    ) -> Budget:
        """A budget for the next timestamp."""
        del sampler  # it stays untouched, so that later draws of the publication are the same
        number = len(self.transcripts)
        self.transcripts.append(Transcript(epsilon))
        if self._forced is not None and self._forced[number].granted != epsilon:
            raise Divergence("what the method requests depends on the edges")
        own = Sampler(RandomSource.seeded(self._seed, timestamp=number))
        return ListeningBudget(self, epsilon, own, spending=spending)

    def run(self, mechanism: Mechanism[Any], facts: tuple[Any, ...], epsilon: Fraction) -> Any:
        """Record what a mechanism draws, or compare it with the recorded one and return that."""
        if (recorded := self._next(facts)) is None:
            return None
        assert recorded.mechanism is not None
        distance = mechanism.distance(recorded.mechanism)
        self.add(Call(facts, mechanism, epsilon, recorded.output, distance))
        return recorded

    def free(self, facts: tuple[Any, ...]) -> Call | None:
        """The recorded draw that depends on no data; None while recording."""
        recorded = self._next(facts)
        if recorded is not None:
            self.add(recorded)
        return recorded

    def add(self, call: Call) -> None:
        self.transcripts[-1].calls.append(call)

    def _next(self, facts: tuple[Any, ...]) -> Call | None:
        if self._forced is None:
            return None
        here, there = self.transcripts[-1], self._forced[len(self.transcripts) - 1]
        number = len(here.calls)
        if number == len(there.calls):
            raise Divergence(f"one of two neighbours asks more: {facts[:3]}")
        if there.calls[number].facts != facts:
            raise Divergence(f"neighbours ask differently: {there.calls[number].facts} and {facts}")
        return there.calls[number]

    def check_complete(self) -> None:
        """Raise if a forced run asked less than the recorded one."""
        if self._forced is not None:
            for here, there in zip(self.transcripts, self._forced, strict=True):
                if len(here.calls) != len(there.calls):
                    raise Divergence("one of two neighbours asks less")


class _Forced(Mechanism[Any]):
    """Stands for a mechanism whose output is already known."""

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
    """A budget that tells its recorder about every call."""

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
        self._recorder, self._whole, self._part = recorder, whole, part

    def run(
        self,
        mechanism: Mechanism[Any],
        *,
        epsilon: Fraction,
        label: str,
        sensitivity: int | None = None,
    ) -> Any:
        facts = (
            "run",
            label,
            type(mechanism).__name__,
            getattr(mechanism, "name", ""),
            epsilon,
            mechanism.sensitivity,
            sensitivity,
            tuple(mechanism.shape),
            self._part,
        )
        recorded = self._recorder.run(mechanism, facts, epsilon)
        if recorded is not None:
            mechanism = _Forced(mechanism, recorded.output)
            return super().run(mechanism, epsilon=epsilon, label=label, sensitivity=sensitivity)
        output = super().run(mechanism, epsilon=epsilon, label=label, sensitivity=sensitivity)
        self._recorder.add(Call(facts, mechanism, epsilon, output))
        return output

    def reserve(self, epsilon: Fraction, *, label: str, sensitivity: int = 1) -> None:
        self._free(("reserve", label, epsilon, self._part), lambda: None)
        super().reserve(epsilon, label=label, sensitivity=sensitivity)

    def parallel(self, epsilon: Fraction, *parts: str) -> tuple[Budget, ...]:
        self._free(("parallel", epsilon, parts, self._part), lambda: None)
        self._take(epsilon, " ∥ ".join(parts))
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
        self._recorder.add(Call(facts, None, Fraction(0), output))
        return output

    def _record(self, charge: Any) -> None:
        super()._record(charge)
        if self._whole is not None:
            self._whole._record(charge)
