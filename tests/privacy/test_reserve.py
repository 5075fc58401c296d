"""Budget booked for a later query or given back, and the public history a budget carries."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import BudgetExceeded, MethodError
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import GIVEN_BACK, Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanisms.laplace import LaplaceCount
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


def test_what_is_given_back_is_not_booked_and_can_not_be_spent():
    one = budget()
    one.run(LaplaceCount(5, 1), epsilon=Fraction(1, 4), label="edges")
    one.give_back(Fraction(1, 2))
    assert (one.booked, one.remaining) == (Fraction(1, 2), Fraction(1, 4))
    assert (one.trace[-1].mechanism, one.trace[-1].epsilon) == (GIVEN_BACK, Fraction(1, 2))
    with pytest.raises(BudgetExceeded):
        one.run(LaplaceCount(5, 1), epsilon=Fraction(3, 8), label="edges")
    assert len(one.trace) == 2


@pytest.mark.parametrize("amount", [Fraction(7, 8), Fraction(0), Fraction(-1, 8), 0.125])
def test_what_was_spent_or_never_granted_can_not_be_given_back(amount):
    one = budget()
    one.reserve(Fraction(1, 4), label="edges kept, at the next timestamp")
    with pytest.raises((BudgetExceeded, MethodError)):
        one.give_back(amount)
    assert (one.booked, len(one.trace)) == (1, 1)


def test_a_part_gives_nothing_back():
    """The other part may have spent as much, and the split was charged once for both."""
    one = budget()
    inside, _ = one.parallel(Fraction(1, 2), "inside", "between")
    with pytest.raises(MethodError):
        inside.give_back(Fraction(1, 4))
    assert one.booked == 1


shares = st.fractions(0, 1, max_denominator=1000)


@given(
    st.lists(st.tuples(shares, shares, shares), min_size=1, max_size=25),
    st.integers(1, 6),
    st.fractions(Fraction(1, 100), 50),
)
def test_no_window_draws_more_than_epsilon_whatever_is_given_back(amounts, window, epsilon):
    """Each timestamp requests all that is free, or part of it, and gives part of that back."""
    spending, drawn = Accountant(WEventPrivacy(epsilon, window)), []
    for requested, spent, given_back in amounts:
        granted = spending.remaining * requested
        spending.check(granted)
        one = Budget(granted, Sampler(RandomSource.seeded(1)), spending=spending)
        if first := granted * spent:
            one.reserve(first, label="before")
        if amount := one.remaining * given_back:
            one.give_back(amount)
        if rest := one.remaining:
            one.reserve(rest, label="after")
        assert one.spent == one.booked
        spending = spending.record(one.booked)
        drawn.append(one.spent)
        assert sum(drawn[-window:]) <= epsilon
