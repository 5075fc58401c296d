"""The protocol every method follows.

A method has three steps. No step holds a private edge: `measure` is handed something to ask, and
what comes back is noisy. `update` and `synthesise` see what was released and can be repeated at
will::

    measurement = method.measure(private, state)                    # queries → noisy values
    state       = method.update(state, measurement)                 # noisy values + past → estimate
    graph       = method.synthesise(state, previous, rng, engine)   # estimate → synthetic graph

The constructor takes public parameters only. Measurements and states are frozen dataclasses:
nothing in them may be changed, nothing in them is private, and `psgraph.publication.records` can
store them.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from psgraph.engines.runner import Runner
from psgraph.errors import MethodError, exact_decimal
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.methods.audit_cases import AuditCases
from psgraph.methods.parameters import read_settings
from psgraph.methods.private import PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Charge
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.query import Counted, Query
from psgraph.privacy.unit import Edge, Owner, Row, Unit

__all__ = [
    "Caveat",
    "Method",
    "NoisePlan",
    "Parameter",
    "SummaryChart",
    "check_caveat",
]

Parameter = str | int | bool
Measurement = TypeVar("Measurement")
State = TypeVar("State")


@dataclass(frozen=True)
class NoisePlan:
    """One measurement a method would make, and how noisy it would be.

    Attributes
    ----------
    case
        When it is made, such as ``"every timestamp"``. A method whose timestamps differ has
        several cases, each with all measurements of such a timestamp.
    label
        What the trace calls it.
    epsilon, sensitivity
        What it costs, and how much one unit of the guarantee moves it; None where that depends on
        values that are still to be released.
    subject
        What one noisy value is about, such as ``"a node's inner degree"``.
    counts
        What one noisy value counts, if it is one of the two quantities that every graph has:
        ``"edges"`` for all edges of the graph, ``"degree"`` for the edges of one node. Several
        rows of one case that count the same add up to it.
    terms
        How many noisy values of this row add up to what it counts.
    noise
        The mechanism.
    at_least
        Whether `epsilon` is a lower bound: the row also gets what others leave over.
    unit
        The unit that `sensitivity` is stated for; one edge unless given.
    """

    case: str
    label: str
    epsilon: Fraction
    sensitivity: int | None
    subject: str = ""
    counts: Counted = ""
    terms: int = 1
    noise: str = LaplaceCounts.name
    at_least: bool = False
    unit: Unit | None = None

    def under(self, unit: Unit) -> NoisePlan:
        """Return the row for a unit; one that is stated for a unit already stays.

        >>> NoisePlan("once", "edges", Fraction(1), 2).under(Owner("u", at_most=5)).sensitivity
        10
        """
        if self.unit is not None or self.sensitivity is None:
            return self
        return replace(self, sensitivity=unit.edges * self.sensitivity, unit=unit)

    @classmethod
    def of(
        cls,
        case: str,
        query: Query[Any] | type[Query[Any]],
        epsilon: Fraction,
        *,
        unit: Unit | None = None,
        terms: int = 1,
    ) -> NoisePlan:
        """Return the row of a query, from what the query states.

        A query whose statement depends on no field may be given as its class.

        >>> from psgraph.methods.queries import Degrees
        >>> NoisePlan.of("every timestamp", Degrees, Fraction(1, 2)).scale
        4.0
        """
        stated = query.sensitivity
        sensitivity = stated * (unit or Edge()).edges if isinstance(stated, int) else None
        if not isinstance(query, type):
            sensitivity = query.sensitivity_for(unit or Edge())
        return cls(
            case,
            query.label,
            epsilon,
            sensitivity,
            query.subject,
            query.counts,
            terms,
            query.noise,
            unit=unit,
        )

    @property
    def scale(self) -> float | None:
        """The scale of the Laplace noise, which is its mean absolute value; None for other noise.

        Also None where the sensitivity depends on values that are still to be released.
        """
        if self.noise != LaplaceCounts.name or self.sensitivity is None:
            return None
        return float(self.sensitivity / self.epsilon)

    @property
    def described(self) -> str:
        """What one noisy value is about, in words."""
        return self.subject or f"each value of {self.label}"

    def to_dict(self) -> dict[str, object]:
        return {
            "case": self.case,
            "label": self.label,
            "subject": self.described,
            "unit": self.counts,
            "epsilon": exact_decimal(self.epsilon),
            "sensitivity": self.sensitivity,
            "mechanism": self.noise,
            "noise_scale": self.scale,
        }


@dataclass(frozen=True)
class Caveat:
    """How the privacy a method provides differs from the epsilon it is charged.

    Attributes
    ----------
    factor
        What it provides, in multiples of the epsilon charged; None where it provides none. With
        a factor of 1 the guarantee holds under the condition that `text` names.
    text
        The reason in a sentence, for the certificate.
    """

    factor: Fraction | None
    text: str


@dataclass(frozen=True)
class SummaryChart:
    """A number of a method's `summary` that reports draw over time.

    `key` is its key there and what is counted, `one` the same in the singular. `renewed` is the key
    of a boolean: whether it was recomputed at a timestamp, or reused; None if it is always
    recomputed. `reason` is a sentence on when that happens.
    """

    key: str
    one: str
    renewed: str | None = None
    reason: str = ""


class Method(ABC, Generic[Measurement, State]):
    """What a publisher asks of a method. A new method writes `plan`, `measure` and `synthesise`.

    The constructor takes public parameters only, by keyword, each with a default, and keeps each
    as an attribute of the same name.

    Attributes
    ----------
    name
        The name it is registered under.
    title, colour, marker
        How reports and charts show it: in words (by default the name), in a colour such as
        ``"#0072b2"``, with a marker of matplotlib (by default those of an unknown method).
    summary_chart
        What reports draw of its `summary`, if anything.
    records
        The dataclasses its measurements and states are made of, for reading them back.
    queries
        The kinds of queries `measure` asks: for the documentation and the auditor, and so that
        the publisher knows whether one of them reads the timestamp before.
    kinds
        Names of the kinds of graphs it publishes. A stream of another kind is refused before
        anything is read.
    publishes_weights
        Whether it publishes the weights of edges. Otherwise a stream with weights is refused.
    publishes_flows
        Whether it publishes flows, which are numbers of rows. Otherwise they are refused.
    uses_labels
        Whether public labels on the roster change what it does, perhaps with some parameters.
    units
        The units of privacy it can be run under; a guarantee with another one is refused. Every
        query is charged for all edges of a unit, so that owners need no support by the method.
    grows_from_release
        Whether `synthesise` takes the release of the timestamp before. It is public; a publisher
        reads it from its files, or makes it again.
    needs_all_edges
        Whether measuring or drawing takes all edges of a graph in the memory of one machine,
        instead of sums over parts of them. Publishing from a store says so first.
    rehearsal_epsilons
        The ε of a window of 2 under which `rehearsals` are run: enough of them to reach every
        kernel.
    added_parameters
        Parameters that a later version added. At their defaults they are not written, so that
        ledgers of earlier versions continue.
    distribution_version
        Incremented when ledgers started with an earlier version of the method must not be
        continued, because what they hold would be read as something else; they are refused. A
        change that keeps the promise, and reads old measurements and states as they were meant,
        leaves it alone: sealed values stay sealed, and later timestamps are measured by the new
        version, which their certificates name. proofs/seal-and-replay.md, invariant C.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    colour: ClassVar[str | None] = None
    marker: ClassVar[str | None] = None
    summary_chart: ClassVar[SummaryChart | None] = None
    records: ClassVar[tuple[type, ...]]
    distribution_version: ClassVar[int] = 1
    added_parameters: ClassVar[frozenset[str]] = frozenset()
    queries: ClassVar[tuple[type[Query[Any]], ...]] = ()
    kinds: ClassVar[frozenset[str]] = frozenset({"undirected"})
    publishes_weights: ClassVar[bool] = False
    publishes_flows: ClassVar[bool] = False
    uses_labels: ClassVar[bool] = False
    units: ClassVar[tuple[type[Unit], ...]] = (Edge, Row, Owner)
    grows_from_release: ClassVar[bool] = False
    rehearsal_epsilons: ClassVar[tuple[str, ...]] = ("8",)
    needs_all_edges: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Give a method with a name of its own that title, and no look of the class it extends."""
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            for look, value in (("title", cls.name), ("colour", None), ("marker", None)):
                setattr(cls, look, vars(cls).get(look, value))

    @property
    def caveat(self) -> Caveat | None:
        """How the privacy it provides differs from what it is charged; None if it does not."""
        return None

    @classmethod
    def reads_previous(cls) -> bool:
        """Return whether a query reads the snapshot of the timestamp before."""
        return any(query.reads_previous for query in cls.queries)

    def parameters(self) -> dict[str, Parameter]:
        """Return the public parameters, as they are written in the certificate."""
        return {
            name: _plain(getattr(self, name))
            for name, default in _parameter_names(type(self))
            if name not in self.added_parameters or getattr(self, name) != default
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, str]) -> Self:
        """Build a method from text, reading each parameter by its annotation.

        >>> from psgraph.methods.tmf import TmF
        >>> TmF.from_settings({"filter": "linear"}).parameters()
        {'count_share': '0.1', 'filter': 'linear'}
        """
        return cls(**read_settings(cls, settings))

    def holds_all_edges(self, kind: Kind) -> bool:
        """Return whether publishing graphs of a kind takes all edges in memory.

        By default for all kinds or for none: `needs_all_edges`.
        """
        del kind
        return self.needs_all_edges

    def rehearsals(self) -> Sequence[Method[Any, Any]]:
        """Return variants that together compile every kernel (used for warm-up)."""
        return [self]

    def audit_cases(self) -> AuditCases:
        """Return small cases of its own mechanisms for `psgraph audit`; by default none."""
        return AuditCases()

    def request(self, state: State | None, spending: Accountant) -> Fraction:
        """Return how much of the window's ε the next timestamp wants; by default ε/w.

        The accountant grants it or refuses, before anything is measured, and books what it
        granted whether or not `measure` spends it all. What `measure` does not need it can give
        back (`PrivateSnapshot.give_back`).

        Privacy: `state` holds released values and `spending` is public, so the request tells
        nothing about the edges. proofs/w-event-composition.md.
        """
        del state
        return spending.guarantee.per_timestamp

    def check_roster(self, roster: Roster) -> None:
        """Refuse a roster that the method can't use, before anything is measured; by default none.

        Raises
        ------
        RosterError
            For example labels that a parameter asks for and the roster lacks.
        """
        del roster

    @abstractmethod
    def plan(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        """Say what `measure` would spend a guarantee on, without looking at data."""

    def plan_with_labels(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        """Say the same for a roster with public labels; by default they change nothing."""
        return self.plan(guarantee, nodes=nodes, **({} if kind == UNDIRECTED else {"kind": kind}))

    def plan_remarks(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[str]:
        """Return sentences that help to read the plan; by default none."""
        del guarantee, nodes, kind
        return []

    @abstractmethod
    def measure(self, private: PrivateSnapshot, state: State | None) -> Measurement:
        """Ask queries of one snapshot. `state` is None at the first timestamp."""

    def update(self, state: State | None, measurement: Measurement) -> State:
        """Combine a measurement with the past; by default the measurement is the state."""
        del state
        return cast("State", measurement)

    @abstractmethod
    def synthesise(
        self,
        state: State,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        """Draw a graph.

        Parameters
        ----------
        state
            After this timestamp.
        previous
            The release of the timestamp before, for a method with `grows_from_release`; None for
            others, and at the first timestamp.
        rng
            Random numbers from the sealed seed: the only source of random choices here.
        engine
            Where edge-sized work runs.
        """

    def summary(self, state: State) -> Mapping[str, Any]:
        """Released facts worth a column in a table; by default none."""
        del state
        return {}


def check_caveat(method: Method[Any, Any], charges: Iterable[Charge]) -> None:
    """Refuse a measurement from an unproven mechanism by a method that states no caveat.

    Without a caveat the certificate would promise a privacy that nobody has proved.
    """
    unproven = sorted({charge.mechanism for charge in charges if not charge.proven})
    if unproven and method.caveat is None:
        raise MethodError(
            f"method {method.name!r} ran a mechanism that is not proven to be private "
            f"({', '.join(unproven)}), but states no caveat\n"
            "Nothing was published. Return a Caveat from the method's `caveat` property, which "
            "the certificate then shows, or run a proven mechanism."
        )


@lru_cache(maxsize=64)
def _parameter_names(kind: type) -> tuple[tuple[str, Any], ...]:
    """The parameters of a method, each with its default."""
    return tuple(
        (name, parameter.default) for name, parameter in inspect.signature(kind).parameters.items()
    )


def _plain(value: Any) -> Parameter:
    """Return a parameter as it is written in a certificate: exact numbers as text."""
    return exact_decimal(value) if isinstance(value, Fraction) else value
