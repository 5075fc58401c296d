"""Budget booked for a later query, and the public history a budget carries."""

from __future__ import annotations

from fractions import Fraction

import pytest

from psgraph.errors import BudgetExceeded
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler


def budget(**options) -> Budget:
    return Budget(Fraction(1), Sampler(RandomSource.seeded(1)), **options)


def test_a_reservation_is_charged_and_shows_in_the_trace():
    one = budget()
    one.reserve(Fraction(1, 4), label="edges kept, at the next timestamp")
    assert one.remaining == Fraction(3, 4)
    (charge,) = one.trace
    assert (charge.mechanism, charge.epsilon) == ("reserved", Fraction(1, 4))


def test_more_than_is_left_cannot_be_reserved():
    one = budget()
    with pytest.raises(BudgetExceeded):
        one.reserve(Fraction(2), label="too much")
    assert one.trace == ()


def test_a_budget_carries_the_history_of_spends():
    history = Accountant(WEventPrivacy("4", window=3)).record(Fraction(1))
    one = budget(spending=history)
    assert one.spending is history
    (part,) = one.parallel(Fraction(1, 2), "inside")
    assert part.spending is history


def test_without_a_history_a_budget_is_a_window_of_its_own():
    assert budget().spending == Accountant(WEventPrivacy("1", window=1))
