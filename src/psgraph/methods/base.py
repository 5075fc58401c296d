"""The protocol every method follows, and how methods are found.

A method lives in three steps. `measure` alone sees private edges, and only through the budget it
is handed; `update` and `synthesise` see what came out and can be repeated at will::

    measurement = method.measure(snapshot, state, budget, engine)   # private edges → noisy values
    state       = method.update(state, measurement)                 # noisy values + past → estimate
    graph       = method.synthesise(state, rng, engine)             # estimate → synthetic graph

The constructor takes public parameters only. Measurements and states are frozen dataclasses:
nothing in them may be changed, nothing in them is private, and `psgraph.publication.records` can
store them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from psgraph.engines.base import Engine
from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.privacy.budget import Budget

__all__ = ["Caveat", "Method", "NoisePlan", "caveat_of", "find_method", "method_names"]

Parameter = str | int | bool
Measurement = TypeVar("Measurement")
State = TypeVar("State")


@dataclass(frozen=True)
class NoisePlan:
    """One measurement a method would make, and how noisy it would be."""

    case: str
    label: str
    epsilon: Fraction
    sensitivity: int

    @property
    def scale(self) -> float:
        """Of the Laplace noise: its mean absolute size."""
        return float(self.sensitivity / self.epsilon)

    def to_dict(self) -> dict[str, object]:
        return {
            "case": self.case,
            "label": self.label,
            "epsilon": exact_decimal(self.epsilon),
            "sensitivity": self.sensitivity,
            "noise_scale": self.scale,
        }


@dataclass(frozen=True)
class Caveat:
    """How the privacy a method provides differs from the epsilon it is charged.

    Attributes
    ----------
    factor
        What it provides, in multiples of the epsilon charged; None where it provides none. With
        a factor of 1 the guarantee stands, under the condition that `text` names.
    text
        The reason in a sentence, for the certificate.
    """

    factor: Fraction | None
    text: str


@runtime_checkable
class Method(Protocol[Measurement, State]):
    """What the publisher asks of a method.

    A method that does not provide exactly the epsilon it is charged also has an attribute
    ``caveat``, a `Caveat`, which every certificate then states. One that came to draw from other
    distributions than its earlier versions has an attribute ``law``, an integer above 1: ledgers
    begun under another law are then refused.
    """

    @property
    def name(self) -> str:
        """The name it is registered under."""
        ...

    @property
    def records(self) -> tuple[type, ...]:
        """The dataclasses its measurements and states are made of, for reading them back."""
        ...

    def parameters(self) -> Mapping[str, Parameter]:
        """The public parameters, as they stand in the certificate."""
        ...

    def plan(self, epsilon: Fraction, *, nodes: int) -> list[NoisePlan]:
        """What `measure` would spend `epsilon` on, without looking at data."""
        ...

    def measure(
        self, snapshot: Snapshot, state: State | None, budget: Budget, engine: Engine
    ) -> Measurement:
        """Learn noisy values from one snapshot. `state` is None at the first timestamp."""
        ...

    def update(self, state: State | None, measurement: Measurement) -> State:
        """Combine a measurement with the past."""
        ...

    def synthesise(self, state: State, rng: np.random.Generator, engine: Engine) -> SyntheticGraph:
        """Draw a graph."""
        ...

    def summary(self, state: State) -> Mapping[str, Any]:
        """Released facts worth a column in a table."""
        ...


def caveat_of(method: Method[Any, Any]) -> Caveat | None:
    """What a method's certificates have to add; None if it provides what it is charged.

    >>> from psgraph.methods.psgraph import PSGraph
    >>> caveat_of(PSGraph()) is None
    True
    """
    caveat: Caveat | None = getattr(method, "caveat", None)
    return caveat


def method_names() -> list[str]:
    """The methods installed here, psgraph's own and plug-ins.

    >>> "psgraph" in method_names()
    True
    """
    return sorted({point.name for point in entry_points(group="psgraph.methods")})


def find_method(name: str) -> type[Method[Any, Any]]:
    """The class of a method by its name."""
    for point in entry_points(group="psgraph.methods"):
        if point.name == name:
            found: type[Method[Any, Any]] = point.load()
            return found
    raise InvalidArgument(
        f"there is no method called {name!r}\nInstalled methods: {', '.join(method_names())}"
    )
