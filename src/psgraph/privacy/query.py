"""What a query is: the only way to find out something about private edges.

A query states in one place what it is called, how far one edge can move its answer, where that is
proven, how the parts of a graph answer it, and what noise its answer gets. Asking it
(`psgraph.methods.private.PrivateSnapshot.ask`) charges the budget, counts on the engine, adds the
noise and leaves a trace; a method never sees the exact answer. The rows of `Method.plan`, the
bounds of the auditor and the table in the documentation come from the same statement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.laplace import LaplaceCount, LaplaceCounts

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges
    from psgraph.privacy.unit import Unit

__all__ = ["CountQuery", "Counted", "CountsQuery", "Query"]

Counted = Literal["", "edges", "degree"]

Output = TypeVar("Output", covariant=True)


class Query(ABC, Generic[Output]):
    """A question about the private edges of a timestamp, and the noise its answer gets.

    A subclass is a frozen dataclass whose fields are public or already released. It writes
    `shape`, `answer` and `mechanism`; most queries are a `CountQuery` or a `CountsQuery`, which
    have discrete Laplace noise and need no `mechanism`.

    Attributes
    ----------
    label
        What traces, certificates and plans call it.
    sensitivity
        How far one edge can move the answer, in the norm its mechanism is stated in (L1 for
        counts). Checked by `psgraph.testing.check_query`.
    weight_sensitivity
        How far another weight of one edge can move the answer. 0 for queries that read which
        edges there are, and no weights.
    noise
        The name of the mechanism that draws the noisy answer.
    proof
        The note that proves the sensitivity.
    subject
        What one noisy value is about, such as ``"a node's degree"``; for plans.
    counts
        What one noisy value counts, if it is one of the two quantities that every graph has:
        ``"edges"`` for all edges of the graph, ``"degree"`` for the edges of one node.
    kinds
        Names of the kinds of graphs it is defined on.
    counts_rows
        Whether it counts the rows of flows. It is defined on flows only, and its sensitivity is
        that to one row.
    counts_owners
        Whether it reads how many edges owners have (`PrivateEdges.owner_sizes`). Its sensitivity to
        one edge then includes that an owner has one edge more, and it states its sensitivity to
        an owner in `sensitivity_for`.
    reads_previous
        Whether it also reads the snapshot of the timestamp before. That timestamp has to pay
        for it in advance: `psgraph.methods.private.PrivateSnapshot.reserve`.
    """

    label: str
    sensitivity: int
    weight_sensitivity: int = 0
    noise: ClassVar[str]
    proof: ClassVar[str]
    subject: ClassVar[str] = ""
    counts: ClassVar[Counted] = ""
    kinds: ClassVar[frozenset[str]] = frozenset({"undirected"})
    counts_rows: ClassVar[bool] = False
    counts_owners: ClassVar[bool] = False
    reads_previous: ClassVar[bool] = False

    def sensitivity_for(self, unit: Unit) -> int:
        """Return how far one `unit` can move the answer.

        By default the sensitivity to one edge times the edges of the unit. A query with a sharper
        bound for some unit states it here, with its proof.
        """
        return unit.edges * self.sensitivity

    @abstractmethod
    def shape(self, nodes: int) -> tuple[int, ...]:
        """Return the shape of the noisy answer on a roster of `nodes` nodes: public."""

    @abstractmethod
    def answer(self, edges: PrivateEdges) -> Any:
        """Return the exact answer: private, for `mechanism` only.

        It must not depend on how the edges are divided into parts.
        """

    @abstractmethod
    def mechanism(self, answer: Any) -> Mechanism[Output]:
        """Return the mechanism that draws the noisy answer from the exact one."""


class CountQuery(Query[int]):
    """A query whose answer is one integer; it gets discrete Laplace noise."""

    noise = LaplaceCount.name

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (1,)

    def mechanism(self, answer: int) -> Mechanism[int]:
        return LaplaceCount(answer, self.sensitivity)


class CountsQuery(Query[Integers]):
    """A query whose answer is an array of integers; each gets discrete Laplace noise."""

    noise = LaplaceCounts.name

    def mechanism(self, answer: Integers) -> Mechanism[Integers]:
        return LaplaceCounts(np.asarray(answer), self.sensitivity)
