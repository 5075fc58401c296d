"""The accountant against the list of all spends and all windows, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from psgraph.errors import BudgetError, BudgetExceeded, exact_decimal
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

amounts = st.fractions(min_value=0, max_value=2, max_denominator=10**6)


class Windows(RuleBasedStateMachine):
    """The model remembers everything and looks at every window that holds the new timestamp."""

    @initialize(
        epsilon=st.fractions(min_value=Fraction(1, 10**6), max_value=3),
        window=st.integers(1, 5),
    )
    def begin(self, epsilon: Fraction, window: int) -> None:
        if epsilon == 0:
            epsilon = Fraction(1)
        self.epsilon, self.window = epsilon, window
        self.accountant = Accountant(WEventPrivacy(epsilon, window))
        self.spends: list[Fraction] = []

    def fits(self, amount: Fraction) -> bool:
        trial = [*self.spends, amount]
        return all(
            sum(trial[first : first + self.window]) <= self.epsilon for first in range(len(trial))
        )

    @rule(amount=amounts)
    def spend(self, amount: Fraction) -> None:
        before = self.accountant
        if self.fits(amount):
            self.accountant = before.record(amount)
            self.spends.append(amount)
        else:
            with pytest.raises(BudgetExceeded) as caught:
                before.record(amount)
            error = caught.value
            assert error.requested == amount
            assert error.remaining == before.remaining
            lines = str(error).splitlines()
            assert lines[0].startswith(f"timestamp {len(self.spends)} ")
            assert lines[1].split() == ["requested", exact_decimal(amount)]
            assert lines[2].split() == ["remaining", exact_decimal(before.remaining)]
            difference = exact_decimal(amount - before.remaining)
            assert lines[3].split() == ["difference", difference]
            assert self.accountant is before  # a refusal leaves no mark

    @rule()
    def spend_all_that_is_left(self) -> None:
        left = self.accountant.remaining
        assert self.fits(left)
        assert not self.fits(left + Fraction(1, 10**30))
        self.spend(left)

    @rule()
    def spend_the_even_share_if_it_fits(self) -> None:
        self.spend(self.epsilon / self.window)

    @rule(amount=amounts)
    def refuse_less_than_nothing(self, amount: Fraction) -> None:
        with pytest.raises(BudgetError):
            self.accountant.check(-amount - Fraction(1, 7))

    @invariant()
    def says_what_the_model_says(self) -> None:
        if not hasattr(self, "accountant"):
            return
        accountant, w = self.accountant, self.window
        assert accountant.timestamps == len(self.spends)
        assert accountant.window_spent == sum(self.spends[-w:])
        before = self.spends[len(self.spends) - w + 1 :] if len(self.spends) >= w else self.spends
        assert accountant.remaining == self.epsilon - sum(before)
        assert accountant.remaining >= 0


TestWindows = Windows.TestCase
TestWindows.settings = settings(max_examples=100, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("epsilon", ["1", "1/3", "0.1"])
def test_the_even_share_can_be_spent_for_ever_and_not_a_bit_more(epsilon, window):
    accountant = Accountant(WEventPrivacy(epsilon, window))
    share = accountant.guarantee.per_timestamp
    for _ in range(40):
        accountant = accountant.record(share)
    assert accountant.remaining == share
    with pytest.raises(BudgetExceeded):
        accountant.check(share + Fraction(1, 10**40))
