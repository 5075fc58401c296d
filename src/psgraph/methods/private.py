"""What `Method.measure` is handed: something to ask, never a snapshot.

`PrivateSnapshot.ask` is the one place where private edges are counted for a method. It charges the
budget, lets the query count on the engine, adds the noise and leaves a trace. `PrivateEdges` is the
other side of it: what a query may read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from psgraph._runtime.arrays import Integers
from psgraph.engines.runner import Runner
from psgraph.errors import BudgetExceeded, KindMismatch, MethodError
from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import Kind
from psgraph.graph.parts import EdgeParts, RepeatedParts
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import RESERVED, Budget, Charge
from psgraph.privacy.query import Query
from psgraph.privacy.unit import Unit

__all__ = ["Previous", "PrivateEdges", "PrivateSnapshot"]

Output = TypeVar("Output")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Previous:
    """The snapshot of the timestamp before, and what that timestamp paid for in advance.

    Attributes
    ----------
    snapshot
        Its private edges.
    reserved
        ε by label, for queries of this timestamp that read it.
    """

    snapshot: Snapshot
    reserved: Mapping[str, Fraction]

    @classmethod
    def of(cls, snapshot: Snapshot, charges: Iterable[Charge]) -> Previous:
        """Find the reservations among the charges of a timestamp."""
        reserved: dict[str, Fraction] = {}
        for charge in charges:
            if charge.mechanism == RESERVED:
                reserved[charge.label] = reserved.get(charge.label, Fraction(0)) + charge.epsilon
        return cls(snapshot, reserved)

    def __repr__(self) -> str:
        return f"Previous({self.snapshot!r})"


class PrivateEdges:
    """The private edges of one timestamp, as queries read them.

    Parameters
    ----------
    snapshot
        The snapshot.
    engine
        Where edge-sized work runs.
    previous
        The snapshot of the timestamp before, for queries that read two.
    """

    def __init__(
        self, snapshot: Snapshot, engine: Runner, *, previous: Snapshot | None = None
    ) -> None:
        self._snapshot, self._previous = snapshot, previous
        self.engine: Runner = engine
        self._remembered: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return f"PrivateEdges({self.nodes} nodes)"

    @property
    def roster(self) -> Roster:
        """The public nodes."""
        return self._snapshot.roster

    @property
    def kind(self) -> Kind:
        """Which pairs can be edges: public."""
        return self._snapshot.kind

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each roster, as the methods of a kind take them: public."""
        return self._snapshot.roster.sizes

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self._snapshot.roster)

    @property
    def parts(self) -> EdgeParts:
        """The edges, part by part; of flows every row."""
        parts = self._snapshot.parts
        return RepeatedParts(parts) if self.kind.flows else parts

    @property
    def owner_sizes(self) -> Integers:
        """The number of edges (of flows: of rows) of each owner with any, before the bound."""
        sizes = self._snapshot.owner_sizes
        if sizes is None:
            raise MethodError("the edges of this stream have no owners")
        return sizes

    @property
    def previous(self) -> PrivateEdges:
        """The edges of the timestamp before."""
        if self._previous is None:
            raise MethodError("the snapshot of the timestamp before is not available")
        return PrivateEdges(self._previous, self.engine)

    def once(self, key: Hashable, count: Callable[[], Value]) -> Value:
        """Return what `count` returns, counted once for all queries of this timestamp."""
        if key not in self._remembered:
            self._remembered[key] = count()
        value: Value = self._remembered[key]
        return value


class PrivateSnapshot:
    """A snapshot that can be asked queries, and nothing else.

    Parameters
    ----------
    snapshot
        The snapshot.
    budget
        What the queries are charged to.
    engine
        Where edge-sized work runs.
    previous
        The timestamp before, if it is available: not at the first timestamp, nor after a restart.

    Examples
    --------
    >>> from psgraph.engines.threads import LocalEngine
    >>> from psgraph.methods.queries import EdgeCount
    >>> from psgraph.privacy.randomness import RandomSource
    >>> from psgraph.privacy.samplers import Sampler
    >>> budget = Budget(Fraction(1), Sampler(RandomSource.seeded(5)))
    >>> triangle = Snapshot(Roster.range(3), [0, 0, 1], [1, 2, 2])
    >>> private = PrivateSnapshot(triangle, budget, LocalEngine())
    >>> noisy_edge_count = private.ask(EdgeCount(), epsilon=Fraction(1, 4))
    >>> private.remaining, budget.trace[0].label
    (Fraction(3, 4), 'edges')
    """

    def __init__(
        self,
        snapshot: Snapshot,
        budget: Budget,
        engine: Runner,
        *,
        previous: Previous | None = None,
    ) -> None:
        before = None if previous is None else previous.snapshot
        self._edges = PrivateEdges(snapshot, engine, previous=before)
        self._budget = budget
        self._reserved = None if previous is None else dict(previous.reserved)
        self._steps = 1  # what the ε that is asked with is multiplied by

    def __repr__(self) -> str:
        return f"PrivateSnapshot({len(self.roster)} nodes, {self._budget!r})"

    # ---- what is public ----

    @property
    def roster(self) -> Roster:
        """The public nodes."""
        return self._edges.roster

    @property
    def kind(self) -> Kind:
        """Which pairs can be edges: public."""
        return self._edges.kind

    @property
    def unit(self) -> Unit:
        """What is protected: public."""
        return self._budget.unit

    @property
    def epsilon(self) -> Fraction:
        """What this timestamp was granted."""
        return self._budget.epsilon

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self._budget.remaining

    @property
    def spending(self) -> Accountant:
        """The public history of spends before this timestamp."""
        return self._budget.spending

    @property
    def has_previous(self) -> bool:
        """Whether queries can read the timestamp before: depends on restarts, not on edges."""
        return self._reserved is not None

    # ---- what costs ----

    def ask(self, query: Query[Output], *, epsilon: Fraction) -> Output:
        """Charge for a query and return its noisy answer.

        Privacy: `epsilon` for one unit of this snapshot, as the query's proof note shows. A query
        that reads the timestamp before moves by as much for one unit of that snapshot, which has
        paid for it in advance: the reservation is used up by `epsilon`, and without enough of it
        the query is refused.

        Raises
        ------
        BudgetExceeded
            If less remains, here or in what the timestamp before reserved.
        KindMismatch
            If the query is not defined on graphs of this kind.
        MethodError
            If the mechanism, its sensitivity or its shape differs from what the query states.
        """
        if not isinstance(query, Query):
            raise MethodError(f"a {type(query).__name__} is not a query")
        epsilon *= self._steps
        self._check(query, epsilon)
        mechanism = query.mechanism(query.answer(self._edges))
        stated = query.noise, query.sensitivity, query.shape(self._edges.nodes)
        if (mechanism.name, mechanism.sensitivity, tuple(mechanism.shape)) != stated:
            raise MethodError(
                f"{query.label}: the mechanism, its sensitivity or its shape is not the one stated"
            )
        if query.reads_previous and self._reserved is not None:
            self._reserved[_reserved_label(query)] -= epsilon
        return self._budget.run(
            mechanism,
            epsilon=epsilon,
            label=query.label,
            sensitivity=query.sensitivity_for(self._budget.unit),
            weight_sensitivity=self._weight_sensitivity(query),
        )

    def reserve(self, query: Query[Any], *, epsilon: Fraction) -> None:
        """Pay in advance for a query of the next timestamp that will read this snapshot too.

        Privacy: see `ask`. The reservation must be made on a schedule that is public or already
        released. proofs/psgraph-plus.md.
        """
        if query.weight_sensitivity > query.sensitivity:
            raise MethodError(
                f"{query.label}: another weight of an edge of the timestamp before would lose more "
                "than was reserved"
            )
        self._budget.reserve(
            self._steps * epsilon,
            label=_reserved_label(query),
            sensitivity=query.sensitivity_for(self._budget.unit),
        )

    def give_back(self, epsilon: Fraction) -> None:
        """Leave part of what was granted to later timestamps of the window.

        Privacy: the amount must be a function of public and released values.
        proofs/w-event-composition.md.
        """
        self._budget.give_back(self._steps * epsilon)

    def parallel(self, epsilon: Fraction, *parts: str) -> tuple[PrivateSnapshot, ...]:
        """Return this snapshot once for each of some parts of its edges without a common edge.

        What is asked of a part must depend on the edges of that part only.

        Privacy: ε once for all of them, since an edge is in one part only. What decides which
        part an edge is in must be public or already released. proofs/parallel-composition.md.
        """
        return tuple(self._with_budget(budget) for budget in self._budget.parallel(epsilon, *parts))

    @property
    def per_edge(self) -> PrivateSnapshot:
        """The same snapshot, for a method that counts in the ε of one edge.

        What is asked, reserved or given back there costs as many times more as the unit has edges,
        which leaves the noise of an edge with that ε to every query without a sharper bound.
        """
        found = copy.copy(self)
        found._steps = self._budget.unit.edges
        return found

    # ---- draws that depend on no data and cost nothing ----

    def random_order(self, size: int) -> Integers:
        """Return a uniformly random order of 0, …, size − 1."""
        return self._budget.random_order(size)

    def random_labels(self, size: int, choices: int) -> Integers:
        """Draw independent uniform integers below `choices`, which may be 0 if `size` is."""
        return self._budget.random_labels(size, choices)

    def random_seed(self) -> int:
        """Draw 32 random bits for a library that takes a seed."""
        return self._budget.random_seed()

    # ---- inside ----

    def _weight_sensitivity(self, query: Query[Any]) -> int:
        """How far another weight of an edge can move the answer.

        Where several owners share a pair, an owner's rows may change its weight only. A query that
        reads the owners themselves then still moves by all that is charged for it.
        """
        if not self.kind.weighted or self.kind.flows:
            return 0
        return query.sensitivity if query.counts_owners else query.weight_sensitivity

    def _check(self, query: Query[Any], epsilon: Fraction) -> None:
        """Refuse a query before anything is counted."""
        self._budget.check(epsilon, query.label)
        if self.kind.name not in query.kinds:
            raise KindMismatch(f"{query.label}: not defined on {self.kind.name} graphs")
        if query.counts_rows and not self.kind.flows:
            raise KindMismatch(f"{query.label}: not defined on graphs without flows")
        if self.kind.flows and query.weight_sensitivity > query.sensitivity:
            # One row more is a new edge, or another weight of an old one.
            raise KindMismatch(f"{query.label}: one row of a flow moves it further than is stated")
        if query.reads_previous:
            paid = (self._reserved or {}).get(_reserved_label(query), Fraction(0))
            if epsilon > paid:
                what = f"{query.label}, at the timestamp before"
                raise BudgetExceeded(requested=epsilon, remaining=paid, what=what)

    def _with_budget(self, budget: Budget) -> PrivateSnapshot:
        part = object.__new__(type(self))
        part._edges, part._budget, part._reserved = self._edges, budget, self._reserved
        part._steps = self._steps
        return part


def _reserved_label(query: Query[Any]) -> str:
    return f"{query.label}, at the next timestamp"
