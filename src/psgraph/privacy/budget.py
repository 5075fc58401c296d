"""A budget for one timestamp: it runs mechanisms, charges for them and keeps a trace.

Methods don't hold a budget: they ask queries (`psgraph.methods.private`), and each query runs one
mechanism here.

Composition is explicit: calls on one budget are sequential and add up; `Budget.parallel` makes
budgets for parts of the edge set that don't overlap, of which only the largest counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from psgraph._runtime.arrays import Integers
from psgraph.errors import BudgetExceeded, MethodError, exact_decimal
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy, exact_fraction
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.samplers import Sampler
from psgraph.privacy.unit import Unit

__all__ = ["GIVEN_BACK", "RESERVED", "Budget", "Charge", "PartBudget", "composed"]

Result = TypeVar("Result")

RESERVED = "reserved"
"""What the trace has instead of a mechanism where a later query is paid for."""

GIVEN_BACK = "given back"
"""What the trace has instead of a mechanism where the window keeps part of the grant."""


@dataclass(frozen=True)
class Charge:
    """One line of the trace: what was drawn and what it cost. Holds no private value.

    `split` numbers the splits that `part` comes from, outermost first. It is empty, and left out
    of certificates, where each of them is the first of its budget.
    """

    mechanism: str
    label: str
    epsilon: Fraction
    sensitivity: int
    shape: tuple[int, ...]
    part: str = ""
    proven: bool = True
    split: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the charge as it is written in a certificate."""
        return {
            "label": self.label,
            "mechanism": self.mechanism,
            "epsilon": exact_decimal(self.epsilon),
            "sensitivity": self.sensitivity,
            "shape": list(self.shape),
            **({"part": self.part} if self.part else {}),
            **({} if self.proven else {"proven": False}),
            **({"split": list(self.split)} if self.split else {}),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Charge:
        """The inverse of `to_dict`."""
        return cls(
            content["mechanism"],
            content["label"],
            exact_fraction(content["epsilon"]),
            content["sensitivity"],
            tuple(content["shape"]),
            content.get("part", ""),
            content.get("proven", True),
            tuple(content.get("split", ())),
        )


class Budget:
    """The epsilon of one timestamp, and the noise it buys.

    Parameters
    ----------
    epsilon
        What may be spent.
    sampler
        Where noise comes from.
    spending
        The guarantee, which names the unit that is protected, and the public history of spends
        before this timestamp; by default one edge, and none, in a window of one.

    Examples
    --------
    >>> from psgraph.privacy.mechanisms.laplace import LaplaceCount
    >>> from psgraph.privacy.randomness import RandomSource
    >>> budget = Budget(Fraction(1), Sampler(RandomSource.seeded(5)))
    >>> noisy_edge_count = budget.run(
    ...     LaplaceCount(120, 1), epsilon=Fraction(1, 4), label="edges"
    ... )
    >>> budget.remaining
    Fraction(3, 4)
    >>> budget.trace[0].label, budget.trace[0].epsilon
    ('edges', Fraction(1, 4))
    """

    def __init__(
        self,
        epsilon: Fraction,
        sampler: Sampler,
        *,
        spending: Accountant | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.spending = spending or Accountant(WEventPrivacy(epsilon, window=1))
        self.spent = Fraction(0)
        self.given_back = Fraction(0)
        self._slack = Fraction(0)
        self._sampler = sampler
        self._trace: list[Charge] = []
        self._part = ""
        self._split: tuple[int, ...] = ()
        self._splits = 0

    def __repr__(self) -> str:
        return f"Budget({exact_decimal(self.remaining)} of {exact_decimal(self.epsilon)} left)"

    @property
    def unit(self) -> Unit:
        """What is protected."""
        return self.spending.guarantee.unit

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self.epsilon - self.spent - self.given_back

    @property
    def booked(self) -> Fraction:
        """What the window is charged: all that was granted and not given back."""
        return self.epsilon - self.given_back

    @property
    def trace(self) -> tuple[Charge, ...]:
        """Every mechanism call so far, in order."""
        return tuple(self._trace)

    def run(
        self,
        mechanism: Mechanism[Result],
        *,
        epsilon: Fraction,
        label: str,
        sensitivity: int | None = None,
        weight_sensitivity: int = 0,
    ) -> Result:
        """Charge for a mechanism, add it to the trace and return what it draws.

        Parameters
        ----------
        mechanism
            What to draw from; it states its sensitivity to one edge.
        epsilon
            What it costs: a positive fraction, at most what remains.
        label
            What is measured, for the trace.
        sensitivity
            How far one unit moves what is measured; by default the sensitivity to one edge times
            the edges of the unit.
        weight_sensitivity
            How far another weight of one edge moves what is measured.

        Notes
        -----
        Privacy: `epsilon` for the unit, if the mechanism keeps what its proof note states for one
        edge: it draws with ε divided by how many times further a unit moves the answer than an
        edge does. The charge is booked before anything is drawn, so nothing is drawn that was not
        paid for. proofs/w-event-composition.md. Another weight of one edge is covered by the same
        charges: what it loses more than an edge loses at some queries, it must have lost less at
        those before. proofs/weights.md.
        """
        if not isinstance(mechanism, Mechanism):
            raise MethodError(f"{label}: a {type(mechanism).__name__} is not a mechanism")
        of_an_edge = mechanism.sensitivity
        of_a_unit = self.unit.edges * of_an_edge if sensitivity is None else sensitivity
        if of_an_edge < 1 or of_a_unit < 1:
            raise MethodError(f"{label}: a sensitivity must be at least 1")
        self.check(epsilon, label)
        slack = self._slack + epsilon - epsilon * weight_sensitivity / of_an_edge
        if slack < 0:
            raise MethodError(
                f"{label}: another weight of an edge would lose more than is charged\n"
                "Query weights after edges, with at most as large an ε."
            )
        self._take(epsilon, label)
        self._slack = slack
        self._record(
            Charge(
                mechanism=mechanism.name,
                label=label,
                epsilon=epsilon,
                sensitivity=of_a_unit,
                shape=tuple(mechanism.shape),
                part=self._part,
                proven=mechanism.proven,
                split=self._numbered(),
            )
        )
        return mechanism.draw(self._sampler, epsilon * of_an_edge / of_a_unit)

    def reserve(self, epsilon: Fraction, *, label: str, sensitivity: int = 1) -> None:
        """Charge this timestamp for a query of the next one that will read this snapshot too.

        Privacy: the later query pays for one unit of its own snapshot, this charge pays for one
        unit of this one. The reservation must be made on a schedule that is public or already
        released. proofs/psgraph-plus.md.
        """
        self._take(epsilon, label)
        self._record(
            Charge(RESERVED, label, epsilon, sensitivity, (), self._part, split=self._numbered())
        )

    def parallel(self, epsilon: Fraction, *parts: str) -> tuple[Budget, ...]:
        """Return budgets of `epsilon` each for parts of the edge set that have no edge in common.

        Privacy: ε once for all of them, since one edge is in one part only; of a unit of several
        edges, each is charged its share wherever it lies. What decides which part an edge is in
        must be public or already released. proofs/parallel-composition.md, proofs/people.md.
        """
        self._take(epsilon, " ∥ ".join(parts))
        self._splits += 1
        return tuple(PartBudget(epsilon, self, name) for name in parts)

    def give_back(self, epsilon: Fraction) -> None:
        """Leave part of what was granted to the window. It can't be spent here any more.

        Privacy: the amount must be a function of public and released values, those of this
        timestamp included. proofs/w-event-composition.md.
        """
        self.check(epsilon, GIVEN_BACK)
        self.given_back += epsilon
        self._record(Charge(GIVEN_BACK, "left to the window", epsilon, 0, ()))

    # ---- draws that depend on no data and cost nothing ----

    def random_order(self, size: int) -> Integers:
        """Return a uniformly random order of 0, …, size − 1."""
        return self._sampler.permutation(size)

    def random_labels(self, size: int, choices: int) -> Integers:
        """Draw independent uniform integers below `choices`, which may be 0 if `size` is."""
        if size and choices < 1:
            raise MethodError(f"labels need at least 1 choice, not {choices}")
        return self._sampler.integers(size, choices)

    def random_seed(self) -> int:
        """Draw 32 random bits for a library that takes a seed."""
        return self._sampler.source.bits(32)

    # ---- bookkeeping ----

    def check(self, epsilon: Fraction, label: str) -> None:
        """Refuse a charge that is not a positive fraction or exceeds what remains."""
        if not isinstance(epsilon, Fraction) or epsilon <= 0:
            raise MethodError(f"{label}: epsilon must be a positive Fraction, not {epsilon!r}")
        if epsilon > self.remaining:
            raise BudgetExceeded(requested=epsilon, remaining=self.remaining, what=label)

    def _take(self, epsilon: Fraction, label: str) -> None:
        self.check(epsilon, label)
        self.spent += epsilon

    def _numbered(self) -> tuple[int, ...]:
        return self._split if any(self._split) else ()

    def _record(self, charge: Charge) -> None:
        self._trace.append(charge)


class PartBudget(Budget):
    """The budget of one part; its charges also go into the trace of the whole."""

    def __init__(self, epsilon: Fraction, whole: Budget, name: str) -> None:
        super().__init__(epsilon, whole._sampler, spending=whole.spending)
        self._whole = whole
        self._part = f"{whole._part} / {name}" if whole._part else name
        self._split = (*whole._split, whole._splits - 1)

    def run(
        self,
        mechanism: Mechanism[Result],
        *,
        epsilon: Fraction,
        label: str,
        sensitivity: int | None = None,
        weight_sensitivity: int = 0,
    ) -> Result:
        if sensitivity is not None and sensitivity < self.unit.edges * mechanism.sensitivity:
            raise MethodError(
                f"{label}: in parts of the edges every edge of {self.unit.noun} has to be charged\n"
                "They may lie in several parts."
            )
        return super().run(
            mechanism,
            epsilon=epsilon,
            label=label,
            sensitivity=sensitivity,
            weight_sensitivity=weight_sensitivity,
        )

    def give_back(self, epsilon: Fraction) -> None:
        raise MethodError(
            f"{self._part}: a part can't give back {exact_decimal(epsilon)}\n"
            "Other parts may have spent as much: give back what the whole has left."
        )

    def _record(self, charge: Charge) -> None:
        super()._record(charge)
        self._whole._record(charge)


# ---- what a trace costs ----


def composed(trace: Iterable[Charge]) -> Fraction:
    """What a trace costs, without what was given back.

    Charges on one budget add up, and so do its splits; of the parts of one split, the most
    expensive counts. A `ValueError` if a charge numbers more or fewer splits than its part has.
    """
    return _cost(
        [(_path(charge), charge.epsilon) for charge in trace if charge.mechanism != GIVEN_BACK]
    )


_Path = tuple[tuple[int, str], ...]


def _path(charge: Charge) -> _Path:
    """The number of the split and the name of the part, from the outermost split inwards."""
    if not charge.part:
        return ()
    names = charge.part.split(" / ", len(charge.split) - 1)
    return tuple(zip(charge.split or [0] * len(names), names, strict=True))


def _cost(charges: list[tuple[_Path, Fraction]]) -> Fraction:
    total = Fraction(0)
    splits: dict[int, dict[str, list[tuple[_Path, Fraction]]]] = {}
    for path, epsilon in charges:
        if path:
            (number, name), *inner = path
            parts = splits.setdefault(number, {})
            parts.setdefault(name, []).append((tuple(inner), epsilon))
        else:
            total += epsilon
    return total + sum(max(map(_cost, parts.values())) for parts in splits.values())
