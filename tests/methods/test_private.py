"""What `measure` is handed: queries are checked and paid for before anything is counted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from psgraph.errors import BudgetExceeded, KindMismatch, MethodError
from psgraph.graph import Roster, Snapshot
from psgraph.methods.plus.queries import KeptEdges
from psgraph.methods.private import Previous, PrivateEdges, PrivateSnapshot
from psgraph.methods.queries import EdgeCount
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.laplace import LaplaceCount, LaplaceCounts
from psgraph.privacy.query import CountQuery

from .streams import ENGINE, asking, budget

HALF = Fraction(1, 2)
SECRET = 987_654
PATH = Snapshot(Roster.range(4), [0, 1, 2], [1, 2, 3])


class NeverAnswered(EdgeCount):
    def answer(self, edges: PrivateEdges) -> int:
        raise AssertionError("counted before it was refused")


class OfAnotherKind(NeverAnswered):
    kinds = frozenset({"hypergraph"})


@dataclass(frozen=True)
class Misstated(CountQuery):
    """States one mechanism and builds another."""

    built: Mechanism[Any]
    label, sensitivity, proof = "edges", 1, "none"

    def answer(self, edges: PrivateEdges) -> int:
        return edges.parts.edge_count

    def mechanism(self, answer: int) -> Mechanism[Any]:
        return self.built


def test_it_shows_nothing_of_the_edges() -> None:
    private = asking(PATH)
    public = {name for name in dir(private) if not name.startswith("_")}
    assert not {"snapshot", "parts", "edges", "engine", "budget", "u", "v"} & public
    assert "3" not in repr(private)
    assert "3" not in repr(private._edges)


@pytest.mark.parametrize("epsilon", [Fraction(2), Fraction(0), 0.5])
def test_what_can_not_be_paid_is_not_counted(epsilon: Any) -> None:
    private = asking(PATH, "1")
    with pytest.raises((BudgetExceeded, MethodError)):
        private.ask(NeverAnswered(), epsilon=epsilon)
    assert private.remaining == 1


def test_a_query_for_other_kinds_of_graphs_is_not_counted() -> None:
    with pytest.raises(KindMismatch):
        asking(PATH).ask(OfAnotherKind(), epsilon=HALF)


def test_only_queries_can_be_asked() -> None:
    with pytest.raises(MethodError):
        asking(PATH).ask(LaplaceCount(SECRET, 1), epsilon=HALF)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "built",
    [
        LaplaceCount(SECRET, 2),
        LaplaceCounts(np.array([SECRET, SECRET]), 1),
    ],
    ids=["sensitivity", "shape"],
)
def test_a_mechanism_that_is_not_the_one_stated_is_refused(built: Mechanism[Any]) -> None:
    money = budget()
    with pytest.raises(MethodError) as caught:
        asking(PATH, money).ask(Misstated(built), epsilon=HALF)
    assert str(SECRET) not in str(caught.value)
    assert (money.spent, money.trace) == (0, ())


def paid(epsilon: Fraction) -> Previous:
    """The path as the timestamp before, which has reserved `epsilon`."""
    money = budget()
    asking(PATH, money).reserve(KeptEdges(), epsilon=epsilon)
    assert money.spent == epsilon
    return Previous.of(PATH, money.trace)


def test_two_snapshots_are_compared_for_what_the_one_before_has_paid() -> None:
    money = budget()
    private = PrivateSnapshot(PATH, money, ENGINE, previous=paid(Fraction(1, 4)))
    with pytest.raises(BudgetExceeded):
        private.ask(KeptEdges(), epsilon=HALF)
    assert money.spent == 0
    private.ask(KeptEdges(), epsilon=Fraction(1, 4))
    assert [(charge.label, charge.epsilon) for charge in money.trace] == [
        ("edges kept", Fraction(1, 4))
    ]


def test_without_the_timestamp_before_nothing_of_it_is_read() -> None:
    private = asking(PATH)
    assert not private.has_previous
    with pytest.raises(BudgetExceeded):
        private.ask(KeptEdges(), epsilon=HALF)
    unpaid = PrivateSnapshot(PATH, budget(), ENGINE, previous=Previous.of(PATH, ()))
    with pytest.raises(BudgetExceeded):
        unpaid.ask(KeptEdges(), epsilon=HALF)


def test_a_reservation_pays_once() -> None:
    private = PrivateSnapshot(PATH, budget(), ENGINE, previous=paid(Fraction(1, 4)))
    private.ask(KeptEdges(), epsilon=Fraction(1, 4))
    with pytest.raises(BudgetExceeded):
        private.ask(KeptEdges(), epsilon=Fraction(1, 4))


def test_parts_share_what_is_paid_for_all_of_them() -> None:
    money = budget()
    inside, between = asking(PATH, money).parallel(HALF, "inside", "between")
    inside.ask(EdgeCount(), epsilon=HALF)
    between.ask(EdgeCount(), epsilon=HALF)
    assert money.spent == HALF
    assert [charge.part for charge in money.trace] == ["inside", "between"]
    with pytest.raises(BudgetExceeded):
        inside.ask(NeverAnswered(), epsilon=HALF)
